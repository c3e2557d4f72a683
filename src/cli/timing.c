/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cli/message.h"

int64_t timing_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t timing_add(timing *to, timing_stage stage, int64_t start)
{
    int64_t now = timing_now();
    to->ns[stage] += now - start;
    return now;
}

void timing_gather(timing *sum, timing *mean, const timing *one, int32_t n)
{
    for (int i = 0; i < TIMING_STAGES; i++) {
        sum->ns[i] += one->ns[i];
        mean->ns[i] += one->ns[i] / n;
    }
}

void timing_print(const timing *sum, const timing *mean, int32_t n_workers, int64_t n_frames,
                  int64_t wall_ns)
{
    static const char *const names[] = {"start", "decode", "transfer", "search", "write"};
    double seconds = 1e-9 * (double)(wall_ns > 0 ? wall_ns : 1);
    int longest = 0;
    for (int i = 1; i < TIMING_STAGES; i++)
        if (mean->ns[i] > mean->ns[longest])
            longest = i;
    message_report("%" PRId64 " frames in %.3f s, %.1f frames/s, with %" PRId32 " decoder%s",
                   n_frames, seconds, (double)n_frames / seconds, n_workers,
                   n_workers == 1 ? "" : "s");
    for (int i = 0; i < TIMING_STAGES; i++)
        message_report("  %-9s %8.3f s %4.0f %%%s", names[i], 1e-9 * (double)sum->ns[i],
                       1e-7 * (double)mean->ns[i] / seconds,
                       i == longest ? "  the bottleneck" : "");
}
