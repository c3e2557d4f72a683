/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/canvas.h"

#include <math.h>

#include "overlay/blend.h"

mvf_yuv mvf_colour_to_yuv(const double rgb[3], const mvf_colour_space *space)
{
    double luma = space->kr * rgb[0] + (1 - space->kr - space->kb) * rgb[1] + space->kb * rgb[2];
    double u = (rgb[2] - luma) / (2 * (1 - space->kb));
    double v = (rgb[0] - luma) / (2 * (1 - space->kr));
    double luma_scale = space->full_range ? 255 : 219;
    double chroma_scale = space->full_range ? 255 : 224;
    return (mvf_yuv){
        .y = (float)((space->full_range ? 0 : 16) + luma_scale * luma),
        .u = (float)fmin(128 + chroma_scale * u, 255),
        .v = (float)fmin(128 + chroma_scale * v, 255),
    };
}

/* Transitions between the wheel's six colours: how many hues each takes, and the channel that
 * rises (+) or falls (-) over them. */
static const struct wheel_part {
    int n_hues;
    int channel;
    int rises;
} wheel_parts[] = {
    {15, 1, 1}, /* red to yellow */
    {6, 0, 0},  /* yellow to green */
    {4, 2, 1},  /* green to cyan */
    {11, 1, 0}, /* cyan to blue */
    {13, 0, 1}, /* blue to magenta */
    {6, 2, 0},  /* magenta to red */
};

#define N_PARTS (sizeof wheel_parts / sizeof wheel_parts[0])
#define N_HUES 55

static void hue_colour(int hue, double rgb[3])
{
    double colour[3] = {1, 0, 0};
    for (size_t i = 0; i < N_PARTS && hue >= 0; i++) {
        const struct wheel_part *part = &wheel_parts[i];
        double done = hue < part->n_hues ? (double)hue / part->n_hues : 1;
        colour[part->channel] = part->rises ? done : 1 - done;
        hue -= part->n_hues;
    }
    for (int c = 0; c < 3; c++)
        rgb[c] = colour[c];
}

void mvf_wheel_colour(double x, double y, double rgb[3])
{
    double place = (atan2(-y, -x) / M_PI + 1) / 2 * (N_HUES - 1);
    int hue = (int)floor(place);
    double low[3], high[3];
    hue_colour(hue, low);
    hue_colour((hue + 1) % N_HUES, high);
    for (int c = 0; c < 3; c++)
        rgb[c] = low[c] + (place - hue) * (high[c] - low[c]);
}

void mvf_wheel_motion_colour(double x, double y, double rgb[3])
{
    double length = hypot(x, y);
    mvf_wheel_colour(x, y, rgb);
    for (int c = 0; c < 3; c++)
        rgb[c] = length <= 1 ? 1 - length * (1 - rgb[c]) : 0.75 * rgb[c];
}

mvf_paint mvf_paint_make(const mvf_colour_space *space, const double rgb[3], double opacity)
{
    mvf_yuv yuv = mvf_colour_to_yuv(rgb, space);
    const float value[3] = {yuv.y, yuv.u, yuv.v};
    mvf_paint paint = {.hide = (uint8_t)lrint(255 * fmin(fmax(opacity, 0), 1))};
    float most = floorf(255 * (float)paint.hide / 256);
    for (int i = 0; i < 3; i++)
        paint.add[i] = (uint8_t)fminf(roundf(value[i] * (float)paint.hide / 256), most);
    return paint;
}

static void fill_plane(const mvf_canvas *canvas, int plane, const int32_t box[4],
                       const mvf_paint *paint)
{
    int32_t n = box[2] - box[0];
    uint8_t *line = canvas->planes[plane] + (ptrdiff_t)box[1] * canvas->strides_bytes[plane];
    for (int32_t y = box[1]; n > 0 && y < box[3]; y++, line += canvas->strides_bytes[plane]) {
        if (canvas->bit_depth > 8)
            mvf_fill_words((uint16_t *)(void *)line + box[0], n, paint->hide, paint->add[plane],
                           canvas->bit_depth);
        else
            mvf_fill_bytes(line + box[0], n, paint->hide, paint->add[plane]);
    }
}

static int32_t shifted_up(int32_t value, int32_t shift)
{
    return (value + (1 << shift) - 1) >> shift;
}

static void fill(const mvf_canvas *canvas, const int32_t box[4], int touched,
                 const mvf_paint *paint)
{
    int32_t shift_x = canvas->chroma_shift_x, shift_y = canvas->chroma_shift_y;
    int32_t chroma[4] = {touched ? box[0] >> shift_x : shifted_up(box[0], shift_x),
                         touched ? box[1] >> shift_y : shifted_up(box[1], shift_y),
                         shifted_up(box[2], shift_x), shifted_up(box[3], shift_y)};
    fill_plane(canvas, 0, box, paint);
    for (int plane = 1; plane < 3 && canvas->planes[plane]; plane++)
        fill_plane(canvas, plane, chroma, paint);
}

static int clip(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h,
                int32_t box[4])
{
    box[0] = x > 0 ? x : 0;
    box[1] = y > 0 ? y : 0;
    box[2] = w < canvas->width - x ? x + w : canvas->width;
    box[3] = h < canvas->height - y ? y + h : canvas->height;
    return box[0] < box[2] && box[1] < box[3];
}

void mvf_canvas_fill(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h,
                     const mvf_paint *paint)
{
    int32_t box[4];
    if (clip(canvas, x, y, w, h, box))
        fill(canvas, box, 0, paint);
}

void mvf_canvas_line(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h,
                     const mvf_paint *paint)
{
    int32_t box[4];
    if (clip(canvas, x, y, w, h, box))
        fill(canvas, box, 1, paint);
}

mvf_canvas mvf_canvas_part(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h)
{
    mvf_canvas part = *canvas;
    ptrdiff_t sample_bytes = canvas->bit_depth > 8 ? 2 : 1;
    for (int i = 0; i < 3 && canvas->planes[i]; i++) {
        int32_t shift_x = i ? canvas->chroma_shift_x : 0, shift_y = i ? canvas->chroma_shift_y : 0;
        part.planes[i] += (ptrdiff_t)(y >> shift_y) * canvas->strides_bytes[i] +
                          (ptrdiff_t)(x >> shift_x) * sample_bytes;
    }
    part.width = w;
    part.height = h;
    return part;
}
