/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"

static mvf_status draw_field(void *opaque, mvf_frame *frame, const mvf_field *field)
{
    return mvf_overlay_write(opaque, frame, field);
}

static mvf_status open_overlay(mvf_overlay **overlay, mvf_source *source,
                               const cli_options *options)
{
    mvf_overlay_options overlay_options;
    mvf_overlay_options_init(&overlay_options);
    overlay_options.overwrite = options->overwrite;
    overlay_options.threads = options->search.threads;
    overlay_options.logger = message_logger();
    return mvf_overlay_open(overlay, options->output, source, &overlay_options);
}

int command_overlay(const cli_options *options)
{
    mvf_source *source = NULL;
    mvf_overlay *overlay = NULL;
    mvf_status status = run_open_source(&source, options, 1);
    if (status == MVF_OK)
        status = open_overlay(&overlay, source, options);
    if (status == MVF_OK)
        status = run_fields(source, options, draw_field, overlay);
    int interrupted = status == MVF_ERROR_INTERRUPTED && overlay;
    if (status == MVF_OK || interrupted) {
        mvf_status closed = mvf_overlay_close(&overlay);
        status = closed == MVF_OK ? status : closed;
        interrupted = status == MVF_ERROR_INTERRUPTED;
    }
    int exit_status = status == MVF_OK || interrupted ? run_report(source, options, status)
                                                      : message_exit_status(status);
    mvf_overlay_discard(&overlay);
    mvf_source_close(&source);
    return exit_status;
}
