/*
 * cli/shard.h - one part of a run over a file.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_SHARD_H
#define MVF_CLI_SHARD_H

#include "cli/options.h"

typedef struct cli_shard {
    mvf_shard part;
    char settings[1024];
    /* The user's, for the frames of the part only; n_frames may be 0. */
    cli_options options;
    /* Whether the output holds it already. */
    int is_finished;
} cli_shard;

/* Finds the part of the source that the options ask for. Says what is wrong, or that there is
 * nothing to do. */
mvf_status shard_begin(cli_shard *shard, const cli_options *options, mvf_source *source);

#endif
