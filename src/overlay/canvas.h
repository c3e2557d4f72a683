/*
 * overlay/canvas.h - the planes that overlays are drawn on, and colours as their samples.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_CANVAS_H
#define MVF_OVERLAY_CANVAS_H

#include <stddef.h>
#include <stdint.h>

/* How samples encode colour. */
typedef struct mvf_colour_space {
    /* Weights of red and blue in luma: 0.299 and 0.114 for BT.601. */
    double kr, kb;
    int32_t full_range;
} mvf_colour_space;

/*
 * A YUV picture of 8 to 16 bits: one byte a sample up to 8 bits, else two in the machine's byte
 * order. Chroma planes are ceil(size >> shift); without them (4:0:0) both are NULL. The planes hold
 * exactly that many samples a row: nothing outside is read or written.
 */
typedef struct mvf_canvas {
    uint8_t *planes[3];
    ptrdiff_t strides_bytes[3];
    int32_t width, height;
    int32_t chroma_shift_x, chroma_shift_y;
    int32_t bit_depth;
    mvf_colour_space space;
} mvf_canvas;

/* Y, U and V in units of 1/255 of the 8-bit range, whatever the canvas's depth. */
typedef struct mvf_yuv {
    float y, u, v;
} mvf_yuv;

/* Red, green and blue are 0 to 1. */
mvf_yuv mvf_colour_to_yuv(const double rgb[3], const mvf_colour_space *space);

/* A colour that covers what is under it by some share. */
typedef struct mvf_paint {
    /* As in overlay/blend.h: of all planes, and of each. */
    uint8_t hide;
    uint8_t add[3];
} mvf_paint;

/* `opacity` is 0 to 1. */
mvf_paint mvf_paint_make(const mvf_colour_space *space, const double rgb[3], double opacity);

/* A rectangle of luma samples, clipped to the canvas. A chroma sample belongs to the rectangle that
 * holds its first luma sample: neighbours share none. */
void mvf_canvas_fill(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h,
                     const mvf_paint *paint);

/* The same, with every chroma sample that it touches: thin lines keep their colour. */
void mvf_canvas_line(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h,
                     const mvf_paint *paint);

/* The part of `canvas` from luma sample (x, y) on, which must be the first of a chroma sample. */
mvf_canvas mvf_canvas_part(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h);

/*
 * The colour of direction (x, y), y downwards: the wheel of Baker et al., "A Database and
 * Evaluation Methodology for Optical Flow" (2007). Right is red, down yellow, left cyan, up violet.
 */
void mvf_wheel_colour(double x, double y, double rgb[3]);

/* The same for a motion whose length is a share of the largest: white for none, the direction's
 * colour at 1, darker beyond. */
void mvf_wheel_motion_colour(double x, double y, double rgb[3]);

#endif
