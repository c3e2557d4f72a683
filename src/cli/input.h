/*
 * cli/input.h - fields from whatever the input is: an mvf file, or a video that is searched or
 * whose codec's vectors are taken.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_INPUT_H
#define MVF_CLI_INPUT_H

#include "cli/run.h"

typedef struct cli_input {
    /* One of the two. */
    mvf_reader *reader;
    mvf_source *source;
    /* Fields that the reader found damaged. */
    int64_t n_damaged;
} cli_input;

/* Opens the input that the options name. Options that do nothing for it are usage errors. */
mvf_status input_open(cli_input *input, const cli_options *options, int keep_other_streams);

/* Hands the fields of the frames that the options ask for to `consume`, without the frames (NULL).
 * MVF_ERROR_INTERRUPTED after a signal. */
mvf_status input_run(cli_input *input, const cli_options *options, run_consumer consume,
                     void *opaque);

/* Says what was damaged; the exit status of a run whose output is complete. */
int input_report(const cli_input *input, const cli_options *options, mvf_status status);

void input_close(cli_input *input);

#endif
