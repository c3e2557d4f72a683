/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/shard.h"

#include <string.h>

#include "cli/message.h"
#include "cli/run.h"

/* The first frame at or after `frame` that the options ask for. */
static int64_t first_wanted(const cli_options *options, int64_t frame)
{
    int64_t every = options->every, first = options->first_frame;
    if (frame <= first)
        return first;
    int64_t behind = (frame - first) % every;
    return behind && frame > INT64_MAX - every ? INT64_MAX : frame + (behind ? every - behind : 0);
}

/* Of the frames that the options ask for, those of the part. */
static void narrow(cli_options *options, const mvf_shard *part)
{
    int64_t end = run_end(options), every = options->every;
    end = end < part->end ? end : part->end;
    options->first_frame = first_wanted(options, part->first);
    if (end <= options->first_frame)
        options->n_frames = 0;
    else if (end < INT64_MAX)
        options->n_frames = (end - options->first_frame + every - 1) / every;
}

/* Whether the output is this very part, complete. */
static int holds_part(const cli_shard *shard, const char *path)
{
    mvf_reader *reader;
    mvf_reader_info info = {.struct_size = sizeof info};
    if (!mvf_reader_probe(path) || mvf_reader_open(&reader, path, NULL) != MVF_OK)
        return 0;
    const mvf_shard *held = mvf_reader_get_shard(reader);
    mvf_reader_get_info(reader, &info);
    int same = info.is_complete && held && held->index == shard->part.index &&
               held->count == shard->part.count &&
               !memcmp(held->input, shard->part.input, sizeof held->input) &&
               !strcmp(held->settings, shard->settings);
    mvf_reader_close(&reader);
    return same;
}

mvf_status shard_begin(cli_shard *shard, const cli_options *options, mvf_source *source)
{
    *shard = (cli_shard){.options = *options};
    shard->options.whole_only = 1;
    options_describe(options, shard->settings, sizeof shard->settings);
    shard->part.index = options->shard_index;
    shard->part.count = options->shard_count;
    mvf_status status = mvf_source_identify(source, shard->part.input);
    if (status != MVF_OK)
        return status;
    shard->is_finished =
        !options->overwrite && options->output && holds_part(shard, options->output);
    if (shard->is_finished) {
        message_print(MVF_LOG_INFO, "%s: holds shard %d/%d of %s already, so nothing is to be done",
                      options->output, shard->part.index, shard->part.count, options->input);
        return MVF_OK;
    }
    status = mvf_source_cut(source, options->shard_index, options->shard_count, &shard->part);
    shard->part.settings = shard->settings;
    narrow(&shard->options, &shard->part);
    return status;
}
