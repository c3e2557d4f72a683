/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/batch.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/shard.h"

static mvf_status write_field(void *opaque, mvf_frame *frame, const mvf_field *field)
{
    (void)frame;
    return mvf_sink_write(opaque, field);
}

static void describe_video(mvf_sink_options *sink_options, const cli_input *input)
{
    if (input->source) {
        const mvf_source_info *info = mvf_source_get_info(input->source);
        sink_options->rotation = info->rotation;
        sink_options->frame_rate = info->frame_rate;
    } else {
        mvf_reader_info info = {.struct_size = sizeof info};
        mvf_reader_get_info(input->reader, &info);
        sink_options->rotation = info.rotation;
        sink_options->frame_rate = info.frame_rate;
    }
}

static mvf_status open_sink(mvf_sink **sink, const cli_options *options, const cli_input *input,
                            const mvf_shard *part)
{
    mvf_sink_options sink_options;
    mvf_sink_options_init(&sink_options);
    sink_options.format = options->format;
    sink_options.overwrite = options->overwrite;
    sink_options.compression = options->compression;
    sink_options.logger = message_logger();
    sink_options.shard = part;
    describe_video(&sink_options, input);
    return mvf_sink_open(sink, options->output ? options->output : "", &sink_options);
}

/* The exit status of a run that ended so; completes the output of one that was not broken off. */
static int finish(mvf_sink **sink, const cli_input *input, const cli_options *options,
                  mvf_status status)
{
    int is_interrupted = status == MVF_ERROR_INTERRUPTED && *sink;
    if (is_interrupted && options->whole_only) {
        message_print(MVF_LOG_ERROR,
                      "%s: interrupted; there is no output, which would be whole or "
                      "not there at all",
                      options->input);
        return EXIT_INTERRUPTED;
    }
    if (status == MVF_OK || is_interrupted) {
        mvf_status closed = mvf_sink_close(sink);
        if (closed == MVF_OK)
            return input_report(input, options, status);
        status = closed;
    }
    return message_exit_status(status);
}

static int extract_part(cli_input *input, const cli_options *options, const mvf_shard *part)
{
    mvf_sink *sink = NULL;
    mvf_status status = open_sink(&sink, options, input, part);
    if (status == MVF_OK && options->n_frames > 0)
        status = input_run(input, options, write_field, sink);
    int exit_status = finish(&sink, input, options, status);
    mvf_sink_discard(&sink);
    return exit_status;
}

static int extract_shard(cli_input *input, const cli_options *options)
{
    cli_shard shard;
    mvf_status status = shard_begin(&shard, options, input->source);
    if (status != MVF_OK)
        return message_exit_status(status);
    return shard.is_finished ? EXIT_ALL_FRAMES : extract_part(input, &shard.options, &shard.part);
}

static int extract_file(const cli_options *options)
{
    cli_input input;
    mvf_status status = run_spare_input(options->input, options->output);
    if (status != MVF_OK)
        return message_exit_status(status);
    status = input_open(&input, options, 0);
    int exit_status = status != MVF_OK       ? message_exit_status(status)
                      : options->shard_count ? extract_shard(&input, options)
                                             : extract_part(&input, options, NULL);
    input_close(&input);
    return exit_status;
}

int command_extract(const cli_options *options)
{
    return options->list ? batch_run(options, extract_file) : extract_file(options);
}
