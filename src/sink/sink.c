/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "field/check.h"
#include "sink/mvf_file.h"

static const mvf_sink_format_ops *const formats[] = {
    &mvf_sink_csv,   &mvf_sink_jsonl,  &mvf_sink_npy, &mvf_sink_npz, &mvf_sink_flo,
    &mvf_sink_kitti, &mvf_sink_yuview, &mvf_sink_mvf, &mvf_sink_md5, &mvf_sink_null};
#define N_FORMATS (sizeof formats / sizeof formats[0])

void mvf_sink_options_init(mvf_sink_options *options)
{
    *options =
        (mvf_sink_options){.struct_size = sizeof *options, .compression = -1, .frame_rate = {0, 1}};
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
    size_t n = strlen(path), m = extension ? strlen(extension) : 0;
    return m && n > m && !strcmp(path + n - m, extension);
}

/* The format of the given name, or the one with the longest extension that `path` ends in. */
static const mvf_sink_format_ops *find_format(const char *path, const char *name)
{
    const mvf_sink_format_ops *found = NULL;
    for (size_t i = 0; i < N_FORMATS; i++) {
        const mvf_sink_format_ops *ops = formats[i];
        if (name && !strcmp(name, ops->name))
            return ops;
        if (!name && has_extension(path, ops->extension) &&
            (!found || strlen(ops->extension) > strlen(found->extension)))
            found = ops;
    }
    return found;
}

static mvf_status choose_format(const mvf_sink_format_ops **ops, const char *path,
                                const mvf_sink_options *options)
{
    char names[256];
    *ops = find_format(path, options->format);
    list_formats(names, sizeof names);
    if (!*ops && options->format)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "format \"%s\" is not known: it must be one of %s", options->format, names);
    if (!*ops)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "the format cannot be told from the name \"%s\": give one of %s", path,
                        names);
    if (options->compression < -1 || options->compression > 9)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "compression %" PRId32 ": must be 0 to 9, or -1 for the format's own",
                        options->compression);
    if (options->compression > 0 && !(*ops)->compresses)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "format %s cannot be compressed; npz and mvf can", (*ops)->name);
    if (options->shard && !(*ops)->takes_shards)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "format %s cannot hold one part of a run; mvf can", (*ops)->name);
    if ((*ops)->files == MVF_SINK_FILE_A_FIELD && !strcmp(path, "-"))
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "format %s makes one file a field and cannot go to standard output",
                        (*ops)->name);
    return MVF_OK;
}

static mvf_status copy_shard(mvf_sink *sink)
{
    if (!sink->options.shard)
        return MVF_OK;
    const char *settings = sink->options.shard->settings;
    if (settings && strlen(settings) > MVF_SHARD_MAX_BYTES - MVF_SHARD_FIXED_BYTES)
        return mvf_fail(&sink->options.logger, MVF_ERROR_ARGUMENT,
                        "the settings of a part of a run must be shorter than 1 KiB");
    sink->shard = *sink->options.shard;
    sink->options.shard = &sink->shard;
    sink->shard.settings = mvf_strdup(settings ? settings : "");
    return sink->shard.settings ? MVF_OK : MVF_ERROR_MEMORY;
}

static mvf_status prepare(mvf_sink *sink, const char *path)
{
    sink->shard.settings = NULL;
    MVF_TRY(copy_shard(sink));
    sink->state = mvf_alloc_array(1, sink->ops->state_bytes);
    sink->path = mvf_strdup(path);
    if (!sink->state || !sink->path)
        return MVF_ERROR_MEMORY;
    if (sink->ops->files <= MVF_SINK_ONE_SEEKABLE_FILE)
        MVF_TRY(mvf_output_open(&sink->output, path, sink->options.overwrite,
                                sink->ops->files == MVF_SINK_ONE_SEEKABLE_FILE,
                                &sink->options.logger));
    return sink->ops->open ? sink->ops->open(sink) : MVF_OK;
}

mvf_status mvf_sink_open(mvf_sink **out, const char *path, const mvf_sink_options *given)
{
    mvf_sink_options options;
    const mvf_sink_format_ops *ops;
    *out = NULL;
    mvf_sink_options_init(&options);
    if (given)
        memcpy(&options, given,
               given->struct_size < sizeof options ? given->struct_size : sizeof options);
    MVF_TRY(choose_format(&ops, path, &options));
    mvf_sink *sink = mvf_alloc_array(1, sizeof *sink);
    if (!sink)
        return MVF_ERROR_MEMORY;
    sink->ops = ops;
    sink->options = options;
    mvf_status status = prepare(sink, path);
    if (status != MVF_OK)
        mvf_sink_discard(&sink);
    *out = sink;
    return status;
}

mvf_status mvf_sink_put(mvf_sink *sink, const void *bytes, size_t n_bytes)
{
    return mvf_output_put(&sink->output, bytes, n_bytes);
}

mvf_status mvf_sink_open_numbered(mvf_sink *sink, const mvf_field *field)
{
    int64_t number = field->frame == MVF_NO_FRAME ? sink->n_fields : field->frame;
    char *path = mvf_output_numbered_path(sink->path, number);
    if (!path)
        return MVF_ERROR_MEMORY;
    mvf_status status =
        mvf_output_open(&sink->output, path, sink->options.overwrite, 0, &sink->options.logger);
    free(path);
    return status;
}

mvf_status mvf_sink_refuse(mvf_sink *sink, const mvf_field *field, const char *reason)
{
    return mvf_fail(&sink->options.logger, MVF_ERROR_UNSUPPORTED, "%s: frame %" PRId64 ": %s",
                    sink->path, field->frame == MVF_NO_FRAME ? sink->n_fields : field->frame,
                    reason);
}

mvf_status mvf_sink_write(mvf_sink *sink, const mvf_field *field)
{
    char fault[256];
    if (mvf_field_find_fault(field, fault, sizeof fault))
        return mvf_fail(&sink->options.logger, MVF_ERROR_ARGUMENT, "field %" PRId64 ": %s",
                        sink->n_fields, fault);
    MVF_TRY(sink->ops->write(sink, field));
    sink->n_fields++;
    return MVF_OK;
}

static mvf_status complete(mvf_sink *sink)
{
    if (sink->ops->finish)
        MVF_TRY(sink->ops->finish(sink));
    return sink->output.file ? mvf_output_close(&sink->output) : MVF_OK;
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
    mvf_output_discard(&sink->output);
    free((char *)(uintptr_t)sink->shard.settings);
    free(sink->path);
    free(sink->state);
    free(sink);
    *slot = NULL;
}
