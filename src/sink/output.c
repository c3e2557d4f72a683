/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

mvf_status mvf_output_fail(const mvf_output *output)
{
    return mvf_fail(output->logger, MVF_ERROR_IO, "%s: writing failed: %s",
                    strcmp(output->path, "-") ? output->path : "standard output", strerror(errno));
}

static mvf_status fail_existing(const mvf_output *output, const char *when)
{
    return mvf_fail(output->logger, MVF_ERROR_EXISTS, "%s: exists %s (overwrite replaces it)",
                    output->path, when);
}

static mvf_status open_named(mvf_output *output, int overwrite)
{
    if (!*output->path)
        return mvf_fail(output->logger, MVF_ERROR_ARGUMENT, "the output has no name");
    int file = mvf_part_file_open(&output->part, output->path, overwrite);
    if (file < 0 && errno == EEXIST)
        return fail_existing(output, "already");
    if (file >= 0 && !(output->file = fdopen(file, output->part.part_path ? "w+b" : "wb"))) {
        int error = errno;
        close(file);
        errno = error;
    }
    if (!output->file)
        return mvf_fail(output->logger, MVF_ERROR_IO, "%s: cannot be written: %s", output->path,
                        strerror(errno));
    return MVF_OK;
}

static mvf_status make_seekable(mvf_output *output)
{
    if (output->part.part_path)
        return MVF_OK;
    output->target = output->file;
    output->file = mvf_output_scratch(NULL);
    return output->file ? MVF_OK : mvf_output_fail(output);
}

mvf_status mvf_output_open(mvf_output *output, const char *path, int overwrite, int seeks,
                           const mvf_logger *logger)
{
    *output = (mvf_output){.logger = logger, .path = mvf_strdup(path)};
    if (!output->path)
        return MVF_ERROR_MEMORY;
    mvf_status status = MVF_OK;
    if (!strcmp(path, "-"))
        output->file = stdout;
    else
        status = open_named(output, overwrite);
    if (status == MVF_OK && seeks)
        status = make_seekable(output);
    if (status != MVF_OK)
        mvf_output_discard(output);
    return status;
}

mvf_status mvf_output_put(mvf_output *output, const void *bytes, size_t n_bytes)
{
    return fwrite(bytes, 1, n_bytes, output->file) == n_bytes ? MVF_OK : mvf_output_fail(output);
}

mvf_status mvf_output_seek(mvf_output *output, int64_t offset)
{
    return fseeko(output->file, (off_t)offset, SEEK_SET) ? mvf_output_fail(output) : MVF_OK;
}

mvf_status mvf_output_flush(mvf_output *output)
{
    if (output->part.part_path || output->target)
        return MVF_OK;
    return fflush(output->file) ? mvf_output_fail(output) : MVF_OK;
}

static mvf_status copy_to_target(mvf_output *output)
{
    char bytes[1 << 16];
    if (fflush(output->file) || fseeko(output->file, 0, SEEK_SET))
        return mvf_output_fail(output);
    for (;;) {
        size_t n = fread(bytes, 1, sizeof bytes, output->file);
        if (fwrite(bytes, 1, n, output->target) != n || ferror(output->file))
            return mvf_output_fail(output);
        if (n < sizeof bytes)
            break;
    }
    fclose(output->file);
    output->file = output->target;
    output->target = NULL;
    return MVF_OK;
}

static mvf_status complete(mvf_output *output)
{
    if (output->target)
        MVF_TRY(copy_to_target(output));
    /* The last bytes may fail to be written only now. */
    FILE *file = output->file;
    output->file = NULL;
    if (file == stdout ? fflush(file) : fclose(file))
        return mvf_output_fail(output);
    if (mvf_part_file_commit(&output->part) == 0)
        return MVF_OK;
    if (errno == EEXIST)
        return fail_existing(output, "by now");
    return mvf_fail(output->logger, MVF_ERROR_IO, "%s: cannot be given its name: %s", output->path,
                    strerror(errno));
}

mvf_status mvf_output_close(mvf_output *output)
{
    mvf_status status = complete(output);
    mvf_output_discard(output);
    return status;
}

void mvf_output_discard(mvf_output *output)
{
    if (output->file && output->file != stdout)
        fclose(output->file);
    if (output->target && output->target != stdout)
        fclose(output->target);
    mvf_part_file_discard(&output->part);
    free(output->path);
    *output = (mvf_output){.logger = NULL};
}

FILE *mvf_output_scratch(const char *path)
{
    const char *temporary = getenv("TMPDIR"), *slash = path ? strrchr(path, '/') : NULL;
    char name[4096];
    int n = !path || !strcmp(path, "-")
                ? snprintf(name, sizeof name, "%s/mvfield.XXXXXX", temporary ? temporary : "/tmp")
                : snprintf(name, sizeof name, "%.*smvfield.XXXXXX",
                           slash ? (int)(slash + 1 - path) : 0, path);
    if (n < 0 || (size_t)n >= sizeof name)
        return errno = ENAMETOOLONG, NULL;
    int file = mkostemp(name, O_CLOEXEC);
    if (file < 0)
        return NULL;
    unlink(name);
    FILE *stream = fdopen(file, "w+b");
    if (!stream)
        close(file);
    return stream;
}

/* The length of a "%d" or "%0Nd" at `text`, else 0. */
static size_t number_length(const char *text, int *width)
{
    size_t n = 1;
    *width = 0;
    if (text[0] != '%')
        return 0;
    if (text[n] == '0') {
        for (n++; text[n] >= '0' && text[n] <= '9'; n++)
            if (*width < 100)
                *width = *width * 10 + (text[n] - '0');
        *width = *width > 20 ? 20 : *width;
    }
    return text[n] == 'd' ? n + 1 : 0;
}

static const char *find_number(const char *path, size_t *length, int *width)
{
    for (const char *at = path; *at; at++) {
        if (at[0] == '%' && at[1] == '%')
            at++;
        else if ((*length = number_length(at, width)))
            return at;
    }
    return NULL;
}

/* Copies `n` bytes with %% made one percent sign. */
static char *copy_unescaped(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *to++ = from[i];
        if (from[i] == '%' && i + 1 < n && from[i + 1] == '%')
            i++;
    }
    return to;
}

static char *number_extension(const char *path, int64_t number)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path), size = strlen(path) + 32;
    char *numbered = mvf_alloc_array(size, 1);
    if (!numbered)
        return NULL;
    memcpy(numbered, path, stem);
    snprintf(numbered + stem, size - stem, "-%06" PRId64 "%s", number, path + stem);
    return numbered;
}

char *mvf_output_numbered_path(const char *path, int64_t number)
{
    size_t length;
    int width;
    const char *at = find_number(path, &length, &width);
    if (!at)
        return number_extension(path, number);
    size_t size = strlen(path) + 32;
    char *numbered = mvf_alloc_array(size, 1);
    if (!numbered)
        return NULL;
    char *to = copy_unescaped(numbered, path, (size_t)(at - path));
    to += snprintf(to, 32, "%0*" PRId64, width, number);
    copy_unescaped(to, at + length, strlen(at + length));
    return numbered;
}
