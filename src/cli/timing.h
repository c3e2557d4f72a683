/*
 * cli/timing.h - where the time of a run goes, by a clock that is never set.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_TIMING_H
#define MVF_CLI_TIMING_H

#include <stdint.h>

typedef enum timing_stage {
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

/* Where a run's time went, as lines on standard error: `workers` is what n_workers threads waited
 * for, `writer` what the one did that took their fields. */
void timing_print(const timing *workers, const timing *writer, int32_t n_workers, int64_t n_frames,
                  int64_t wall_ns);

#endif
