/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/input.h"

#include <inttypes.h>

#include "cli/message.h"
#include "cli/workers.h"

static mvf_status open_reader(cli_input *input, const cli_options *options)
{
    mvf_logger logger = message_logger();
    const char *idle = options_find_idle(options, IDLE_WITH_MVF);
    if (idle) {
        message_print(MVF_LOG_ERROR, "--%s has no effect on %s, whose vectors are there already",
                      idle, options->input);
        return MVF_ERROR_ARGUMENT;
    }
    return mvf_reader_open(&input->reader, options->input, &logger);
}

mvf_status input_open(cli_input *input, const cli_options *options, int keep_other_streams)
{
    *input = (cli_input){.reader = NULL};
    if (mvf_reader_probe(options->input))
        return open_reader(input, options);
    return run_open_source(&input->source, options, keep_other_streams);
}

static mvf_status read_fields(cli_input *input, const cli_options *options, run_consumer consume,
                              void *opaque)
{
    int64_t n_done = 0;
    progress_start(options->progress, mvf_reader_count(input->reader));
    /* Where there is no such frame, the fields before it are passed over one by one. */
    mvf_reader_seek(input->reader, options->first_frame);
    for (;;) {
        mvf_field *field;
        mvf_status status =
            run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : mvf_reader_next(input->reader, &field);
        if (status == MVF_ERROR_DATA) {
            input->n_damaged++;
            message_forget_errors();
            continue;
        }
        if (status != MVF_OK)
            return status == MVF_EOF ? MVF_OK : status;
        if (run_is_wanted(options, field->frame))
            status = run_finish_field(options, field);
        if (status == MVF_OK && run_is_wanted(options, field->frame))
            status = consume(opaque, NULL, field);
        mvf_field_free(&field);
        if (status != MVF_OK)
            return status;
        progress_update(++n_done);
    }
}

mvf_status input_run(cli_input *input, const cli_options *options, run_consumer consume,
                     void *opaque)
{
    if (input->source)
        return workers_run(input->source, options, consume, opaque);
    mvf_status status = read_fields(input, options, consume, opaque);
    progress_clear();
    return status;
}

int input_report(const cli_input *input, const cli_options *options, mvf_status status)
{
    if (input->source)
        return run_report(input->source, options, status);
    if (status == MVF_ERROR_INTERRUPTED) {
        message_print(MVF_LOG_ERROR, "interrupted; the output is complete up to there");
        return EXIT_INTERRUPTED;
    }
    if (!input->n_damaged)
        return EXIT_ALL_FRAMES;
    message_print(MVF_LOG_WARNING, "%s is damaged; the output holds all that could be had",
                  options->input);
    return EXIT_DAMAGED;
}

void input_close(cli_input *input)
{
    mvf_reader_close(&input->reader);
    mvf_source_close(&input->source);
}
