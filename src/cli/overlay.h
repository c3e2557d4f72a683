/*
 * cli/overlay.h - one run of drawing, which overlay and report share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_OVERLAY_H
#define MVF_CLI_OVERLAY_H

#include "cli/options.h"

/* Zeroed before it is opened, but for `watch`. */
typedef struct overlay_run {
    /* What the fields are made by; differs from the user's where two kinds are compared. */
    cli_options options;
    mvf_source *source;
    mvf_overlay *overlay;
    /* What the field is compared with: a file's, or the codec's, which is drawn first if swapped.
     */
    mvf_reader *reader;
    int with_codec, is_swapped;
    /* Whether one has been written. */
    int has_frames;
    /* Called after each frame, if there is one. */
    void (*watch)(void *opaque, const mvf_frame *frame, const mvf_field *field);
    void *watch_opaque;
} overlay_run;

mvf_status overlay_open(overlay_run *run, const cli_options *options);
mvf_status overlay_draw(overlay_run *run);
/* Completes the output, or removes it if `status` is an error, and closes all; the exit status. */
int overlay_finish(overlay_run *run, mvf_status status);

#endif
