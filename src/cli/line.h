/*
 * cli/line.h - frames in order from one decoder in, their fields in order out, on one thread:
 * searched by one searcher, or the codec's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_LINE_H
#define MVF_CLI_LINE_H

#include <pthread.h>

#include "cli/options.h"
#include "cli/timing.h"

/* Gives the next frame, or MVF_EOF. */
typedef mvf_status (*line_reader)(void *opaque, mvf_frame **frame);

/* Gets each frame with its field, in order. The frame stays the line's, and the field does unless
 * *field is taken and set to NULL. Anything but MVF_OK ends the line with that status. */
typedef mvf_status (*line_consumer)(void *opaque, mvf_frame *frame, mvf_field **field);

/* What lines that work side by side share: only the first says that the CPU takes over. */
typedef struct line_engines {
    pthread_mutex_t mutex;
    int is_cpu;
} line_engines;

int line_engines_init(line_engines *engines);
void line_engines_destroy(line_engines *engines);

/* Frames from number `start` on, and the fields that are wanted: `first` to `end` - 1, as far as
 * the options ask for them. */
typedef struct line_frames {
    line_reader read;
    void *opaque;
    int64_t start, first, end;
} line_frames;

typedef struct line_frame line_frame;

typedef struct line {
    const cli_options *options;
    mvf_options search;
    line_engines *engines;
    line_consumer consume;
    void *opaque;
    /* Each field is handed on before the next frame is waited for. */
    int is_live;
    timing spent;
    /* The line's own. */
    const line_frames *frames;
    mvf_searcher *searcher;
    /* What the searcher was opened for. */
    int32_t width, height, bit_depth;
    /* The frames around the one to search next. */
    line_frame *previous, *current;
    /* Those of the fields in flight, oldest first: a search that fails does not give its own back.
     */
    line_frame *oldest, **end;
} line;

/* A line with the options' search; its public members may be set then. */
void line_init(line *l, const cli_options *options, line_engines *engines, line_consumer consume,
               void *opaque);

/* Hands on the fields of the frames. MVF_ERROR_INTERRUPTED after a signal, with those that were
 * begun handed on. The searcher is kept for more frames, except after other errors. */
mvf_status line_run(line *l, const line_frames *frames);

/* Frees what the line holds; it may be used again. */
void line_reset(line *l);

#endif
