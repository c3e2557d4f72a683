/*
 * cli/batch.h - many inputs in one run.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_BATCH_H
#define MVF_CLI_BATCH_H

#include <sys/types.h>

#include "cli/options.h"

typedef enum batch_state {
    BATCH_WAITING,
    BATCH_RUNNING,
    BATCH_DONE,
    /* Done, but the input is damaged. */
    BATCH_DAMAGED,
    BATCH_FAILED,
    /* The output was there before. */
    BATCH_FINISHED_BEFORE
} batch_state;

typedef struct batch_file {
    char *input;
    /* NULL with format null. */
    char *output;
    /* 0 where that is not known. */
    int64_t n_bytes;
    batch_state state;
    pid_t process;
    /* Its place among those that run at a time. */
    int32_t slot;
} batch_file;

typedef struct batch {
    batch_file *files;
    size_t n;
} batch;

/* batch_list.c: reads the names and makes those of the outputs. Says what is wrong:
 * MVF_ERROR_ARGUMENT if two would have the same output. batch_free() must follow in any case. */
mvf_status batch_read(batch *b, const cli_options *options);
void batch_free(batch *b);

/* Extracts all inputs that the options list; the exit status. */
int batch_run(const cli_options *options, int (*extract)(const cli_options *options));

#endif
