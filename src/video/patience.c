/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <libavutil/time.h>

/* The most that counts between two checks: a process that was stopped has not been waiting. */
#define MAX_STEP_US 1000000

void mvf_patience_start(mvf_patience *patience, int64_t n_bytes)
{
    patience->waited_us = 0;
    patience->last_us = av_gettime_relative();
    patience->n_bytes = n_bytes;
}

int mvf_patience_is_out(mvf_patience *patience, int64_t n_bytes)
{
    if (n_bytes != patience->n_bytes)
        mvf_patience_start(patience, n_bytes);
    int64_t now = av_gettime_relative();
    patience->waited_us += FFMIN(now - patience->last_us, MAX_STEP_US);
    patience->last_us = now;
    return patience->limit_us > 0 && patience->waited_us >= patience->limit_us;
}
