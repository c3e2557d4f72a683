/*
 * cli/ahead.h - frames read by a thread of their own, a few ahead of whoever uses them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_AHEAD_H
#define MVF_CLI_AHEAD_H

#include <pthread.h>

#include "cli/line.h"

/* Frames that wait: enough that neither side waits for the other's next one, and few, since a GPU's
 * decoder has few places for them. */
#define AHEAD_LEAST_FRAMES 2
/* Where decoding need not stand still until a GPU is there. */
#define AHEAD_MOST_FRAMES 96

typedef struct ahead_frame {
    mvf_frame *frame;
    /* Of luma, counted as long as more than the least may wait. */
    int64_t n_bytes;
} ahead_frame;

typedef struct ahead {
    line_reader read;
    void *opaque;
    /* Frames that may still be read: a live input must not be asked for more than is wanted. */
    int64_t n_left;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    ahead_frame frames[AHEAD_MOST_FRAMES];
    size_t first, n, n_most;
    int64_t n_taken;
    int64_t n_bytes, most_bytes;
    /* What comes after the frames, once that is known. */
    int has_ended, is_stopping;
    mvf_status ended;
} ahead;

/* Begins to read up to `n_frames` frames. Until the first of them are taken and as long as they are
 * taken no faster than read, up to AHEAD_MOST_FRAMES wait, of `most_bytes` bytes of luma together;
 * else, and with 0, AHEAD_LEAST_FRAMES. MVF_ERROR_MEMORY. */
mvf_status ahead_open(ahead *a, line_reader read, void *opaque, int64_t n_frames,
                      int64_t most_bytes);

/* From here on only AHEAD_LEAST_FRAMES wait. */
void ahead_stay_close(ahead *a);

/* The next frame, or what the reader returned instead, as a line_reader; MVF_EOF after so many. */
mvf_status ahead_read(void *opaque, mvf_frame **frame);

/* Ends the thread, which may be in a read, and frees what it has read. */
void ahead_close(ahead *a);

#endif
