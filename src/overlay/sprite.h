/*
 * overlay/sprite.h - one arrow or dot as what it does to the samples under it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_SPRITE_H
#define MVF_OVERLAY_SPRITE_H

#include <mvfield/status.h>

#include "overlay/canvas.h"

/* What all sprites of one canvas share; lengths in px. */
typedef struct mvf_sprite_style {
    int32_t chroma_shift_x, chroma_shift_y;
    int32_t has_chroma;
    mvf_colour_space space;
    float line_radius, outline;
    float max_length;
} mvf_sprite_style;

/* One row of a sprite: `n` samples from `x` on, relative to the anchor, at `offset` in the arrays;
 * there the row is padded to a multiple of MVF_BLEND_LANES with samples that change nothing. */
typedef struct mvf_sprite_row {
    int32_t x, n, offset;
} mvf_sprite_row;

/*
 * Every covered sample becomes sample * (256 - hide) / 256 + add, `add` in units of 8 bits; that
 * sum stays within the depth. Rows `y` to y + n_rows - 1, relative to the anchor.
 */
typedef struct mvf_sprite_plane {
    int32_t y, n_rows;
    /* Bounds of the rows, padding included. */
    int32_t min_x, end_x;
    const mvf_sprite_row *rows;
    const uint8_t *hide;
    /* Luma has one, chroma two (U, V). */
    const uint8_t *add[2];
} mvf_sprite_plane;

typedef struct mvf_sprite {
    mvf_sprite_plane luma, chroma;
    size_t n_bytes;
} mvf_sprite;

typedef struct mvf_sprite_motion {
    /* Length and direction drawn, in px; (0, 0) is a dot. */
    float x, y;
    /* Has a light outline instead of a dark one. */
    int32_t is_future;
} mvf_sprite_motion;

/* An arrow with its tip at the anchor, or a dot. The anchor lies (phase_x, phase_y) luma samples
 * into its chroma sample. One block of memory: release with free(). */
mvf_status mvf_sprite_make(mvf_sprite **sprite, const mvf_sprite_style *style,
                           const mvf_sprite_motion *motion, int32_t phase_x, int32_t phase_y);

/* Draws with the anchor at luma sample (x, y), clipped to the canvas. */
void mvf_sprite_draw(const mvf_sprite *sprite, const mvf_canvas *canvas, int32_t x, int32_t y);

#endif
