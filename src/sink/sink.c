/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

static const mvf_sink_format_ops *const formats[] = {&mvf_sink_csv, &mvf_sink_md5, &mvf_sink_null};
#define N_FORMATS (sizeof formats / sizeof formats[0])

void mvf_sink_options_init(mvf_sink_options *options)
{
    *options = (mvf_sink_options){.struct_size = sizeof *options};
}

const char *mvf_sink_format(size_t index)
{
    return index < N_FORMATS ? formats[index]->name : NULL;
}

static void list_formats(char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < N_FORMATS; i++) {
        strncat(text, i ? ", " : "", size - strlen(text) - 1);
        strncat(text, formats[i]->name, size - strlen(text) - 1);
    }
}

static int has_extension(const char *path, const char *extension)
{
    size_t n = strlen(path), m = strlen(extension);
    return n > m && !strcmp(path + n - m, extension);
}

static mvf_status find_format(const mvf_sink_format_ops **ops, const char *path,
                              const mvf_sink_options *options)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        *ops = formats[i];
        if (options->format ? !strcmp(options->format, formats[i]->name)
                            : formats[i]->extension && has_extension(path, formats[i]->extension))
            return MVF_OK;
    }
    char names[256];
    list_formats(names, sizeof names);
    if (options->format)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "format \"%s\" is not known: it must be one of %s", options->format, names);
    return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                    "the format cannot be told from the name \"%s\": give one of %s", path, names);
}

/* Creates the file beside its final name, under one that no other process has. */
static mvf_status open_part(mvf_sink *sink)
{
    size_t size = strlen(sink->path) + 64;
    sink->part_path = mvf_alloc_array(size, 1);
    if (!sink->part_path)
        return MVF_ERROR_MEMORY;
    int file = -1;
    errno = EEXIST;
    for (int attempt = 0; file < 0 && errno == EEXIST && attempt < 1000; attempt++) {
        snprintf(sink->part_path, size, "%s.%ld-%d.part", sink->path, (long)getpid(), attempt);
        file = open(sink->part_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (file >= 0) {
        sink->file = fdopen(file, "wb");
    } else {
        free(sink->part_path);
        sink->part_path = NULL;
    }
    return MVF_OK;
}

static mvf_status open_file(mvf_sink *sink, const mvf_sink_options *options)
{
    struct stat existing;
    if (!strcmp(sink->path, "-")) {
        sink->file = stdout;
        return MVF_OK;
    }
    if (!*sink->path)
        return mvf_fail(&sink->logger, MVF_ERROR_ARGUMENT, "the output has no name");
    int exists = stat(sink->path, &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode))
        return mvf_fail(&sink->logger, MVF_ERROR_IO, "%s: is a directory", sink->path);
    if (exists && S_ISREG(existing.st_mode) && !options->overwrite)
        return mvf_fail(&sink->logger, MVF_ERROR_EXISTS,
                        "%s: exists already (overwrite replaces it)", sink->path);
    /* A device or a pipe cannot be renamed over: it is written in place. */
    if (exists && !S_ISREG(existing.st_mode))
        sink->file = fopen(sink->path, "wbe");
    else
        MVF_TRY(open_part(sink));
    if (!sink->file)
        return mvf_fail(&sink->logger, MVF_ERROR_IO, "%s: cannot be written: %s", sink->path,
                        strerror(errno));
    return MVF_OK;
}

static mvf_status prepare(mvf_sink *sink, const char *path, const mvf_sink_options *options)
{
    sink->state = mvf_alloc_array(1, sink->ops->state_bytes);
    sink->path = mvf_strdup(path);
    if (!sink->state || !sink->path)
        return MVF_ERROR_MEMORY;
    if (!sink->ops->discards)
        MVF_TRY(open_file(sink, options));
    return sink->ops->open(sink);
}

mvf_status mvf_sink_open(mvf_sink **out, const char *path, const mvf_sink_options *options)
{
    const mvf_sink_format_ops *ops;
    *out = NULL;
    MVF_TRY(find_format(&ops, path, options));
    mvf_sink *sink = mvf_alloc_array(1, sizeof *sink);
    if (!sink)
        return MVF_ERROR_MEMORY;
    sink->ops = ops;
    sink->logger = options->logger;
    mvf_status status = prepare(sink, path, options);
    if (status != MVF_OK)
        mvf_sink_discard(&sink);
    *out = sink;
    return status;
}

mvf_status mvf_sink_put(mvf_sink *sink, const void *bytes, size_t n_bytes)
{
    if (fwrite(bytes, 1, n_bytes, sink->file) == n_bytes)
        return MVF_OK;
    return mvf_fail(&sink->logger, MVF_ERROR_IO, "%s: writing failed: %s",
                    sink->file == stdout ? "standard output" : sink->path, strerror(errno));
}

mvf_status mvf_sink_write(mvf_sink *sink, const mvf_field *field)
{
    return sink->ops->write(sink, field);
}

/* Closes the file, whose last bytes may fail to be written only now. */
static mvf_status close_file(mvf_sink *sink)
{
    if (!sink->file)
        return MVF_OK;
    const char *name = sink->file == stdout ? "standard output" : sink->path;
    int failed = sink->file == stdout ? fflush(stdout) : fclose(sink->file);
    sink->file = NULL;
    if (failed)
        return mvf_fail(&sink->logger, MVF_ERROR_IO, "%s: writing failed: %s", name,
                        strerror(errno));
    return MVF_OK;
}

static mvf_status complete(mvf_sink *sink)
{
    MVF_TRY(sink->ops->finish(sink));
    MVF_TRY(close_file(sink));
    if (sink->part_path && rename(sink->part_path, sink->path))
        return mvf_fail(&sink->logger, MVF_ERROR_IO, "%s: cannot be given its name: %s", sink->path,
                        strerror(errno));
    free(sink->part_path);
    sink->part_path = NULL;
    return MVF_OK;
}

mvf_status mvf_sink_close(mvf_sink **slot)
{
    if (!*slot)
        return MVF_OK;
    mvf_status status = complete(*slot);
    mvf_sink_discard(slot);
    return status;
}

void mvf_sink_discard(mvf_sink **slot)
{
    mvf_sink *sink = *slot;
    if (!sink)
        return;
    if (sink->state && sink->ops->release)
        sink->ops->release(sink);
    if (sink->file && sink->file != stdout)
        fclose(sink->file);
    if (sink->part_path)
        unlink(sink->part_path);
    free(sink->part_path);
    free(sink->path);
    free(sink->state);
    free(sink);
    *slot = NULL;
}
