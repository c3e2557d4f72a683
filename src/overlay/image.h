/*
 * overlay/image.h - small pictures for legends and captions, upright for whoever watches.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_IMAGE_H
#define MVF_OVERLAY_IMAGE_H

#include "overlay/sprite.h"

/* Red, green, blue and alpha (not multiplied into the colours), one byte each. */
typedef struct mvf_image {
    int32_t width, height;
    uint8_t *rgba;
} mvf_image;

/* All transparent. */
mvf_status mvf_image_alloc(mvf_image *image, int32_t width, int32_t height);
void mvf_image_free(mvf_image *image);

/* Lays a colour over one pixel; outside of the image nothing happens. `opacity` is 0 to 1. */
void mvf_image_blend(mvf_image *image, int32_t x, int32_t y, const double rgb[3], double opacity);
void mvf_image_fill(mvf_image *image, int32_t x, int32_t y, int32_t w, int32_t h,
                    const double rgb[3], double opacity);

/*
 * For a canvas that players turn clockwise by `rotation` degrees (0, 90, 180, 270): the sprite that
 * shows the image upright, and the anchor that puts its top left corner, as watched, at (*x, *y),
 * or a few px beside that.
 */
mvf_status mvf_image_sprite(mvf_sprite **sprite, const mvf_image *image, const mvf_canvas *canvas,
                            int32_t rotation);
void mvf_image_anchor(const mvf_image *image, const mvf_canvas *canvas, int32_t rotation,
                      int32_t *x, int32_t *y);

#endif
