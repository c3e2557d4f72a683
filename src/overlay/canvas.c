/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/canvas.h"

#include <math.h>

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
