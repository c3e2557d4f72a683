/*
 * plane/plane.h - a luma plane with replicated borders, owned by an engine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_PLANE_PLANE_H
#define MVF_PLANE_PLANE_H

#include <stddef.h>
#include <stdint.h>

#include <mvfield/picture.h>
#include <mvfield/status.h>

/* Bytes that may be read (their values never matter) before and after the border of a row, and
 * rows before the first and after the last are whole borders: vector loads need no tests. */
#define MVF_PLANE_SLACK_BYTES 64

typedef struct mvf_plane {
    /* Sample (0, 0), aligned to MVF_ALIGNMENT. */
    uint8_t *origin;
    ptrdiff_t stride_bytes;
    int32_t width, height;
    /* Samples on each side that repeat the nearest edge sample. */
    int32_t border_x, border_y;
    int32_t bit_depth;
    /* 1 up to 8 bits, else 2. */
    int32_t sample_bytes;
    void *memory;
} mvf_plane;

/* Allocates; the samples are undefined. MVF_ERROR_MEMORY leaves nothing to free. */
mvf_status mvf_plane_alloc(mvf_plane *plane, int32_t width, int32_t height, int32_t bit_depth,
                           int32_t border_x, int32_t border_y);

void mvf_plane_free(mvf_plane *plane);

/* Copies a row of samples; words are shifted down, and `to` is aligned to them. */
void mvf_copy_row(uint8_t *to, const uint8_t *from, int32_t width, int32_t sample_bytes,
                  int32_t shift_bits);

/* Copies the picture's samples (host memory) in. */
void mvf_plane_load(mvf_plane *plane, const mvf_picture *picture);

/* Fills the borders of rows first_row to end_row - 1 (the frame's own rows) at left and right. */
void mvf_plane_extend_sides(mvf_plane *plane, int32_t first_row, int32_t end_row);

/* Repeats the first and the last row, sides included, above and below the frame. */
void mvf_plane_extend_ends(mvf_plane *plane);

static inline uint8_t *mvf_plane_at(const mvf_plane *plane, int32_t x, int32_t y)
{
    return plane->origin + y * plane->stride_bytes + (ptrdiff_t)x * plane->sample_bytes;
}

#endif
