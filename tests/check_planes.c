/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"

#define GUARD_BYTES 64

void check_plane_alloc(check_run *run, check_plane *plane, int32_t width, int32_t height,
                       int32_t bit_depth)
{
    int32_t sample_bytes = bit_depth > 8 ? 2 : 1;
    /* An odd number of samples between rows shows strides taken for widths. */
    int32_t extra = (int32_t)(check_random(run) % 19);
    plane->width = width;
    plane->height = height;
    plane->bit_depth = bit_depth;
    plane->stride_bytes = (ptrdiff_t)(width + extra) * sample_bytes;
    plane->n_bytes = (size_t)plane->stride_bytes * (size_t)height + 2 * GUARD_BYTES;
    plane->memory = malloc(plane->n_bytes);
    if (!plane->memory) {
        fprintf(stderr, "check_kernels: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < plane->n_bytes; i++)
        plane->memory[i] = (uint8_t)check_random(run);
    plane->origin = plane->memory + GUARD_BYTES;
}

void check_plane_free(check_plane *plane)
{
    free(plane->memory);
    plane->memory = NULL;
}

uint32_t check_plane_sample(const check_plane *plane, int32_t x, int32_t y)
{
    const uint8_t *row = plane->origin + y * plane->stride_bytes;
    return plane->bit_depth > 8 ? ((const uint16_t *)row)[x] : row[x];
}

void check_plane_set(check_plane *plane, int32_t x, int32_t y, uint32_t value)
{
    uint8_t *row = plane->origin + y * plane->stride_bytes;
    if (plane->bit_depth > 8)
        ((uint16_t *)row)[x] = (uint16_t)value;
    else
        row[x] = (uint8_t)value;
}

/* Smooth and without a period near the search range. */
static uint32_t texture(int32_t x, int32_t y)
{
    uint32_t sum = 0;
    for (int32_t octave = 0; octave < 3; octave++) {
        int32_t scale = 4 << octave;
        uint32_t h = (uint32_t)(x / scale) * 2654435761u ^ (uint32_t)(y / scale) * 2246822519u;
        h ^= h >> 15;
        h *= 2654435761u;
        sum += (h >> 24) << octave;
    }
    return sum / 7;
}

static uint32_t pattern(check_run *run, check_fill fill, int32_t x, int32_t y, int32_t phase)
{
    switch (fill) {
    case FILL_FLAT:
        return 128;
    case FILL_STRIPES:
        return (x + phase) % 8 < 4 ? 40 : 210;
    case FILL_EXTREMES:
        return check_random(run) & 1 ? 255 : 0;
    case FILL_TEXTURE:
        return (texture(x + 1000 + phase, y + 1000 - phase) * 15 + check_random(run) % 64) / 16;
    case FILL_BLACK:
        return 14 + check_random(run) % 4 + check_random(run) % 4;
    case FILL_PATCHES:
        if ((x / 40 * 7 + y / 24 * 5) % 11 < 3)
            return check_random(run) & 255;
        return pattern(run, FILL_TEXTURE, x, y, phase);
    case FILL_FAINT:
        return ((x + phase) / 48 + y / 48) % 2 * 248 + 3 + check_random(run) % 3;
    default:
        return check_random(run) & 255;
    }
}

void check_plane_fill(check_run *run, check_plane *plane, check_fill fill, int32_t phase)
{
    uint32_t top = (1u << plane->bit_depth) - 1;
    for (int32_t y = 0; y < plane->height; y++)
        for (int32_t x = 0; x < plane->width; x++) {
            uint32_t value = pattern(run, fill, x, y, phase);
            check_plane_set(plane, x, y, value > 255 ? top : value * top / 255);
        }
}

mvf_picture check_plane_picture(const check_plane *plane, int64_t frame)
{
    mvf_picture picture;
    mvf_picture_init(&picture);
    picture.data = plane->origin;
    picture.stride_bytes = plane->stride_bytes;
    picture.frame = frame;
    return picture;
}

const char *check_fill_name(check_fill fill)
{
    static const char *const names[N_FILLS + 1] = {"noise",   "flat",  "stripes", "extremes",
                                                   "texture", "black", "patches", "faint noise"};
    return names[fill];
}
