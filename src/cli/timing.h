/*
 * cli/timing.h - where the time of a run goes, by a clock that is never set.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_TIMING_H
#define MVF_CLI_TIMING_H

#include <stdint.h>

typedef enum timing_stage {
    /* Until decoders and searchers are there, GPUs included. */
    TIMING_START,
    /* Until the next frame is there: reading, decoding, and luma that has to be converted. */
    TIMING_DECODE,
    /* Until its samples are taken over: planes, uploads. */
    TIMING_TRANSFER,
    /* Until its field is there. */
    TIMING_SEARCH,
    /* Until whoever wanted the field has it. */
    TIMING_WRITE,
    TIMING_STAGES
} timing_stage;

/* What one thread has waited for. */
typedef struct timing {
    int64_t ns[TIMING_STAGES];
} timing;

int64_t timing_now(void);

/* The time since `start` was spent on the stage; returns the present. */
int64_t timing_add(timing *to, timing_stage stage, int64_t start);

/* What `n` threads, of those that work at the same time, have waited for: all of it to `sum`, and
 * to `mean` the part of one of them. */
void timing_gather(timing *sum, timing *mean, const timing *one, int32_t n);

/* Where a run's time went, as lines on standard error: the sums, and the means as shares of the
 * whole. */
void timing_print(const timing *sum, const timing *mean, int32_t n_workers, int64_t n_frames,
                  int64_t wall_ns);

#endif
