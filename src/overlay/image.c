/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/image.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "overlay/blend.h"

mvf_status mvf_image_alloc(mvf_image *image, int32_t width, int32_t height)
{
    *image = (mvf_image){.width = width, .height = height};
    image->rgba = mvf_alloc_array((size_t)width * (size_t)height, 4);
    return image->rgba ? MVF_OK : MVF_ERROR_MEMORY;
}

void mvf_image_free(mvf_image *image)
{
    free(image->rgba);
    *image = (mvf_image){.rgba = NULL};
}

static uint8_t *pixel_at(const mvf_image *image, int32_t x, int32_t y)
{
    return image->rgba + 4 * ((ptrdiff_t)y * image->width + x);
}

void mvf_image_blend(mvf_image *image, int32_t x, int32_t y, const double rgb[3], double opacity)
{
    if (x < 0 || y < 0 || x >= image->width || y >= image->height || opacity <= 0)
        return;
    uint8_t *pixel = pixel_at(image, x, y);
    double below = pixel[3] / 255.0 * (1 - opacity), alpha = below + opacity;
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)lrint((255 * rgb[c] * opacity + pixel[c] * below) / alpha);
    pixel[3] = (uint8_t)lrint(255 * alpha);
}

void mvf_image_fill(mvf_image *image, int32_t x, int32_t y, int32_t w, int32_t h,
                    const double rgb[3], double opacity)
{
    for (int32_t row = y; row < y + h; row++)
        for (int32_t col = x; col < x + w; col++)
            mvf_image_blend(image, col, row, rgb, opacity);
}

/* A plane of the sprite under construction: samples of 1 << shift pixels each way. */
typedef struct image_plane {
    int32_t shift_x, shift_y, width, height, n_padded;
    mvf_sprite_row *rows;
    uint8_t *hide, *add[2];
} image_plane;

static void set_sample(const image_plane *p, const mvf_image *image, const mvf_colour_space *space,
                       int is_chroma, int32_t x, int32_t y)
{
    double sum[3] = {0, 0, 0}, alpha = 0;
    size_t at = (size_t)y * (size_t)p->n_padded + (size_t)x;
    for (int32_t row = y << p->shift_y; row < (y + 1) << p->shift_y && row < image->height; row++)
        for (int32_t col = x << p->shift_x; col < (x + 1) << p->shift_x && col < image->width;
             col++) {
            const uint8_t *pixel = pixel_at(image, col, row);
            for (int c = 0; c < 3; c++)
                sum[c] += pixel[c] / 255.0 * pixel[3];
            alpha += pixel[3];
        }
    if (alpha <= 0)
        return;
    for (int c = 0; c < 3; c++)
        sum[c] /= alpha;
    mvf_paint paint =
        mvf_paint_make(space, sum, alpha / (255.0 * (1 << p->shift_x) * (1 << p->shift_y)));
    p->hide[at] = paint.hide;
    p->add[0][at] = paint.add[is_chroma];
    if (is_chroma)
        p->add[1][at] = paint.add[2];
}

static void lay_out(image_plane *p, const mvf_image *image, int32_t shift_x, int32_t shift_y)
{
    p->shift_x = shift_x;
    p->shift_y = shift_y;
    p->width = (image->width + (1 << shift_x) - 1) >> shift_x;
    p->height = (image->height + (1 << shift_y) - 1) >> shift_y;
    p->n_padded = (p->width + MVF_BLEND_LANES - 1) / MVF_BLEND_LANES * MVF_BLEND_LANES;
}

static size_t plane_samples(const image_plane *p)
{
    return (size_t)p->n_padded * (size_t)p->height;
}

/* Takes its arrays from `memory`, which is zeroed, and draws them. */
static void build_plane(image_plane *p, const mvf_image *image, const mvf_colour_space *space,
                        int is_chroma, uint8_t **memory, mvf_sprite_plane *plane)
{
    size_t n_samples = plane_samples(p);
    p->hide = *memory;
    p->add[0] = *memory + n_samples;
    p->add[1] = *memory + 2 * n_samples;
    *memory += 3 * n_samples;
    for (int32_t y = 0; y < p->height; y++) {
        p->rows[y] = (mvf_sprite_row){.n = p->width, .offset = y * p->n_padded};
        for (int32_t x = 0; x < p->width; x++)
            set_sample(p, image, space, is_chroma, x, y);
    }
    *plane = (mvf_sprite_plane){.n_rows = p->height,
                                .end_x = p->n_padded,
                                .rows = p->rows,
                                .hide = p->hide,
                                .add = {p->add[0], p->add[1]}};
}

/* The sprite that draws the image with its top left corner at the anchor, which must lie on the
 * first luma sample of a chroma sample. Of the style, the canvas's part counts. */
static mvf_status sprite_from_image(mvf_sprite **sprite, const mvf_sprite_style *style,
                                    const mvf_image *image)
{
    image_plane luma, chroma;
    lay_out(&luma, image, 0, 0);
    lay_out(&chroma, image, style->chroma_shift_x, style->chroma_shift_y);
    size_t n_rows = (size_t)luma.height + (size_t)chroma.height;
    size_t n_bytes = sizeof **sprite + n_rows * sizeof *luma.rows +
                     3 * (plane_samples(&luma) + plane_samples(&chroma));
    mvf_sprite *made = mvf_alloc_array(n_bytes, 1);
    if (!made)
        return MVF_ERROR_MEMORY;
    luma.rows = (mvf_sprite_row *)(made + 1);
    chroma.rows = luma.rows + luma.height;
    uint8_t *memory = (uint8_t *)(chroma.rows + chroma.height);
    build_plane(&luma, image, &style->space, 0, &memory, &made->luma);
    build_plane(&chroma, image, &style->space, 1, &memory, &made->chroma);
    made->n_bytes = n_bytes;
    *sprite = made;
    return MVF_OK;
}

/* Where in the coded picture a pixel of the upright image lies, for a coded image of w x h. */
static void turn(int32_t rotation, int32_t w, int32_t h, int32_t *x, int32_t *y)
{
    int32_t watched_x = *x, watched_y = *y;
    if (rotation == 90) {
        *x = watched_y;
        *y = h - 1 - watched_x;
    } else if (rotation == 180) {
        *x = w - 1 - watched_x;
        *y = h - 1 - watched_y;
    } else if (rotation == 270) {
        *x = w - 1 - watched_y;
        *y = watched_x;
    }
}

static mvf_status turn_image(const mvf_image *image, int32_t rotation, mvf_image *turned)
{
    int sideways = rotation == 90 || rotation == 270;
    MVF_TRY(mvf_image_alloc(turned, sideways ? image->height : image->width,
                            sideways ? image->width : image->height));
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            int32_t to_x = x, to_y = y;
            turn(rotation, turned->width, turned->height, &to_x, &to_y);
            for (int c = 0; c < 4; c++)
                pixel_at(turned, to_x, to_y)[c] = pixel_at(image, x, y)[c];
        }
    return MVF_OK;
}

mvf_status mvf_image_sprite(mvf_sprite **sprite, const mvf_image *image, const mvf_canvas *canvas,
                            int32_t rotation)
{
    mvf_image turned;
    mvf_sprite_style style = {.chroma_shift_x = canvas->chroma_shift_x,
                              .chroma_shift_y = canvas->chroma_shift_y,
                              .has_chroma = canvas->planes[1] != NULL,
                              .space = canvas->space};
    mvf_status status = turn_image(image, rotation, &turned);
    if (status == MVF_OK)
        status = sprite_from_image(sprite, &style, &turned);
    mvf_image_free(&turned);
    return status;
}

void mvf_image_anchor(const mvf_image *image, const mvf_canvas *canvas, int32_t rotation,
                      int32_t *x, int32_t *y)
{
    int32_t last_x = *x + image->width - 1, last_y = *y + image->height - 1;
    turn(rotation, canvas->width, canvas->height, x, y);
    turn(rotation, canvas->width, canvas->height, &last_x, &last_y);
    *x = (*x < last_x ? *x : last_x) & -(1 << canvas->chroma_shift_x);
    *y = (*y < last_y ? *y : last_y) & -(1 << canvas->chroma_shift_y);
}
