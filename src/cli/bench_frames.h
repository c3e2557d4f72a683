/*
 * cli/bench_frames.h - the frames that bench searches, all in memory before the clock starts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_BENCH_FRAMES_H
#define MVF_CLI_BENCH_FRAMES_H

#include "cli/options.h"

typedef struct bench_frames {
    int32_t width, height, bit_depth;
    /* At least 2. */
    int32_t n;
    mvf_picture *pictures;
    /* Who owns the samples: the video's frames, or one buffer. */
    mvf_frame **frames;
    uint8_t *samples;
    /* Copies of all pictures on a GPU, or NULL. */
    mvf_device_picture **copies;
    /* Of the input: EXIT_ALL_FRAMES, or EXIT_DAMAGED. */
    int exit_status;
} bench_frames;

/* Decodes the frames of the input that the options name, or makes some of 1920x1080. Says what is
 * wrong. bench_frames_free() must follow in any case. */
mvf_status bench_frames_load(bench_frames *frames, const cli_options *options);

/* Copies all pictures to the GPU. The logger gets the reason of a failure. */
mvf_status bench_frames_copy(bench_frames *frames, int32_t device, const mvf_logger *logger);

/* Frame `index`, where it was decoded, or on the GPU. */
mvf_picture bench_frames_picture(const bench_frames *frames, int32_t index, int on_gpu);

void bench_frames_free(bench_frames *frames);

#endif
