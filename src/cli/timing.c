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

void timing_print(const timing *workers, const timing *writer, int32_t n_workers, int64_t n_frames,
                  int64_t wall_ns)
{
    static const char *const names[] = {"decode", "transfer", "search", "write"};
    double seconds = 1e-9 * (double)(wall_ns > 0 ? wall_ns : 1), shares[TIMING_STAGES];
    int longest = 0;
    for (int i = 0; i < TIMING_STAGES; i++) {
        /* Of the time of one thread: the workers share theirs, the writer is alone. */
        shares[i] = 1e-9 * ((double)workers->ns[i] / n_workers + (double)writer->ns[i]) / seconds;
        if (shares[i] > shares[longest])
            longest = i;
    }
    message_report("%" PRId64 " frames in %.3f s, %.1f frames/s, with %" PRId32 " decoder%s",
                   n_frames, seconds, (double)n_frames / seconds, n_workers,
                   n_workers == 1 ? "" : "s");
    for (int i = 0; i < TIMING_STAGES; i++)
        message_report("  %-9s %8.3f s %4.0f %%%s", names[i],
                       1e-9 * (double)(workers->ns[i] + writer->ns[i]), 100 * shares[i],
                       i == longest ? "  the bottleneck" : "");
}
