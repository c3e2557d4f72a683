/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"

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

static mvf_status open_sink(mvf_sink **sink, const cli_options *options, const cli_input *input)
{
    mvf_sink_options sink_options;
    mvf_sink_options_init(&sink_options);
    sink_options.format = options->format;
    sink_options.overwrite = options->overwrite;
    sink_options.compression = options->compression;
    sink_options.logger = message_logger();
    describe_video(&sink_options, input);
    return mvf_sink_open(sink, options->output ? options->output : "", &sink_options);
}

int command_extract(const cli_options *options)
{
    cli_input input;
    mvf_sink *sink = NULL;
    mvf_status status = input_open(&input, options, 0);
    if (status == MVF_OK)
        status = open_sink(&sink, options, &input);
    if (status == MVF_OK)
        status = input_run(&input, options, write_field, sink);
    int interrupted = status == MVF_ERROR_INTERRUPTED && sink;
    if (status == MVF_OK || interrupted) {
        mvf_status closed = mvf_sink_close(&sink);
        status = closed == MVF_OK ? status : closed;
        interrupted = status == MVF_ERROR_INTERRUPTED;
    }
    int exit_status = status == MVF_OK || interrupted ? input_report(&input, options, status)
                                                      : message_exit_status(status);
    mvf_sink_discard(&sink);
    input_close(&input);
    return exit_status;
}
