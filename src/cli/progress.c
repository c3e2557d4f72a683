/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    int enabled, shown;
    int64_t n_expected;
    double start, last;
} progress;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_start(progress_mode mode, int64_t n_expected)
{
    progress.enabled = mode == PROGRESS_ALWAYS || (mode == PROGRESS_AUTO && isatty(STDERR_FILENO));
    progress.n_expected = n_expected;
    progress.start = progress.last = seconds();
}

static void print_left(double left)
{
    int total = (int)(left + 0.5);
    if (total >= 3600)
        fprintf(stderr, ", %d:%02d:%02d left", total / 3600, total / 60 % 60, total % 60);
    else
        fprintf(stderr, ", %d:%02d left", total / 60, total % 60);
}

void progress_update(int64_t n_frames)
{
    double now = seconds(), spent = now - progress.start;
    if (!progress.enabled || now - progress.last < 0.2)
        return;
    progress.last = now;
    progress.shown = 1;
    double rate = (double)n_frames / spent;
    fprintf(stderr, "\r\033[K%" PRId64, n_frames);
    if (progress.n_expected >= n_frames)
        fprintf(stderr, " of about %" PRId64, progress.n_expected);
    fprintf(stderr, " frames, %.1f frames/s", rate);
    if (progress.n_expected > n_frames && rate > 0)
        print_left((double)(progress.n_expected - n_frames) / rate);
    fflush(stderr);
}

void progress_clear(void)
{
    if (progress.shown)
        fprintf(stderr, "\r\033[K");
    progress.shown = 0;
}
