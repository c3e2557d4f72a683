/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"

static mvf_status write_field(void *opaque, mvf_frame *frame, const mvf_field *field)
{
    (void)frame;
    return mvf_sink_write(opaque, field);
}

static mvf_status open_sink(mvf_sink **sink, const cli_options *options)
{
    mvf_sink_options sink_options;
    mvf_sink_options_init(&sink_options);
    sink_options.format = options->format;
    sink_options.overwrite = options->overwrite;
    sink_options.logger = message_logger();
    return mvf_sink_open(sink, options->output ? options->output : "", &sink_options);
}

int command_extract(const cli_options *options)
{
    mvf_source *source = NULL;
    mvf_sink *sink = NULL;
    mvf_status status = run_open_source(&source, options, 0);
    if (status == MVF_OK)
        status = open_sink(&sink, options);
    if (status == MVF_OK)
        status = run_search(source, options, write_field, sink);
    int interrupted = status == MVF_ERROR_INTERRUPTED && sink;
    if (status == MVF_OK || interrupted) {
        mvf_status closed = mvf_sink_close(&sink);
        status = closed == MVF_OK ? status : closed;
        interrupted = status == MVF_ERROR_INTERRUPTED;
    }
    int exit_status = status == MVF_OK || interrupted ? run_report(source, options, status)
                                                      : message_exit_status(status);
    mvf_sink_discard(&sink);
    mvf_source_close(&source);
    return exit_status;
}
