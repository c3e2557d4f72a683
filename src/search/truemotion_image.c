/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "search/truemotion_parts.h"

/* Columns and rows of a phase plane around the frame: a gradient reaches one px further. */
#define MARGIN (MVF_TM_BORDER + 1)

static int32_t minimum(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static mvf_status alloc_level(mvf_tm_level *level, int32_t width, int32_t height)
{
    size_t stride = (size_t)width + 2 * MVF_TM_BORDER;
    size_t plane = stride * ((size_t)height + 2 * MVF_TM_BORDER);
    size_t luma = (size_t)width * (size_t)height / sizeof(mvf_tm_features) + 1;
    mvf_tm_features *memory = mvf_alloc_aligned(4 * plane + luma, sizeof *memory);
    if (!memory)
        return MVF_ERROR_MEMORY;
    *level = (mvf_tm_level){.width = width,
                            .height = height,
                            .stride_bytes = (ptrdiff_t)(stride * sizeof *memory),
                            .luma = (uint8_t *)(memory + 4 * plane),
                            .memory = memory};
    for (size_t i = 0; i < 4; i++)
        level->phase[i] = memory + i * plane + MVF_TM_BORDER * stride + MVF_TM_BORDER;
    return MVF_OK;
}

mvf_status mvf_tm_image_create(mvf_tm_image **out, int32_t width, int32_t height)
{
    *out = NULL;
    mvf_tm_image *image = mvf_alloc_array(1, sizeof *image);
    if (!image)
        return MVF_ERROR_MEMORY;
    image->width = width;
    image->height = height;
    for (;;) {
        if (alloc_level(&image->levels[image->n_levels], width, height) != MVF_OK) {
            mvf_tm_image_destroy(&image);
            return MVF_ERROR_MEMORY;
        }
        image->n_levels++;
        if (minimum(width, height) < MVF_TM_SMALLEST_TO_HALVE ||
            image->n_levels == MVF_TM_MAX_LEVELS)
            break;
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    *out = image;
    return MVF_OK;
}

void mvf_tm_image_destroy(mvf_tm_image **slot)
{
    mvf_tm_image *image = *slot;
    if (!image)
        return;
    for (int32_t i = 0; i < image->n_levels; i++)
        mvf_free_aligned(image->levels[i].memory);
    free(image);
    *slot = NULL;
}

/* Scratch of one load, for the largest level. */
typedef struct scratch {
    /* The level being made and the one before it, and sums along rows. */
    uint16_t *samples, *previous;
    uint32_t *sums;
    /* One row of samples with margins, rows of half samples, and three rows of a phase. */
    int32_t *wide, *half;
    int16_t *rows;
} scratch;

static void free_scratch(scratch *s)
{
    free(s->samples);
    free(s->previous);
    free(s->sums);
    free(s->wide);
    free(s->half);
    free(s->rows);
}

static mvf_status alloc_scratch(scratch *s, int32_t width, int32_t height)
{
    size_t area = (size_t)width * (size_t)height, wide = (size_t)width + 2 * MARGIN;
    *s = (scratch){.samples = mvf_alloc_array(area, sizeof *s->samples),
                   .previous = mvf_alloc_array(area, sizeof *s->previous),
                   .sums = mvf_alloc_array(area, sizeof *s->sums),
                   .wide = mvf_alloc_array(wide + 3, sizeof *s->wide),
                   .half = mvf_alloc_array(wide * (size_t)height, sizeof *s->half),
                   .rows = mvf_alloc_array(3 * wide, sizeof *s->rows)};
    if (s->samples && s->previous && s->sums && s->wide && s->half && s->rows)
        return MVF_OK;
    free_scratch(s);
    return MVF_ERROR_MEMORY;
}

static void blur_row(uint32_t *out, const uint8_t *row, int32_t width, int32_t bit_depth)
{
    const uint16_t *words = (const uint16_t *)row;
    for (int32_t x = 0; x < width; x++) {
        int32_t left = x ? x - 1 : 0, right = minimum(x + 1, width - 1);
        out[x] = bit_depth > 8 ? 11u * (words[left] + words[right]) + 42u * words[x]
                               : 11u * (row[left] + row[right]) + 42u * row[x];
    }
}

/* Level 0 from the picture. */
static void blur(scratch *s, const uint8_t *picture, ptrdiff_t stride_bytes, int32_t width,
                 int32_t height, int32_t bit_depth)
{
    for (int32_t y = 0; y < height; y++)
        blur_row(s->sums + (ptrdiff_t)y * width, picture + y * stride_bytes, width, bit_depth);
    for (int32_t y = 0; y < height; y++) {
        const uint32_t *row = s->sums + (ptrdiff_t)y * width;
        const uint32_t *above = y ? row - width : row, *below = y < height - 1 ? row + width : row;
        uint16_t *out = s->samples + (ptrdiff_t)y * width;
        for (int32_t x = 0; x < width; x++)
            out[x] =
                (uint16_t)((11 * (above[x] + below[x]) + 42 * row[x] + (1u << (bit_depth - 1))) >>
                           bit_depth);
    }
}

static void halve_row(uint32_t *out, int32_t out_width, const uint16_t *row, int32_t width)
{
    for (int32_t x = 0; x < out_width; x++) {
        int32_t last = width - 1, left = x ? 2 * x - 1 : 0;
        out[x] = row[left] + row[minimum(2 * x + 2, last)] +
                 3u * (row[2 * x] + row[minimum(2 * x + 1, last)]);
    }
}

/* The next level from s->previous. */
static void halve(scratch *s, const mvf_tm_level *from, const mvf_tm_level *to)
{
    int32_t last = from->height - 1, width = to->width;
    for (int32_t y = 0; y <= last; y++)
        halve_row(s->sums + (ptrdiff_t)y * width, width, s->previous + (ptrdiff_t)y * from->width,
                  from->width);
    for (int32_t y = 0; y < to->height; y++) {
        const uint32_t *a = s->sums + (ptrdiff_t)(y ? 2 * y - 1 : 0) * width;
        const uint32_t *b = s->sums + (ptrdiff_t)(2 * y) * width;
        const uint32_t *c = s->sums + (ptrdiff_t)minimum(2 * y + 1, last) * width;
        const uint32_t *d = s->sums + (ptrdiff_t)minimum(2 * y + 2, last) * width;
        uint16_t *out = s->samples + (ptrdiff_t)y * width;
        for (int32_t x = 0; x < width; x++)
            out[x] = (uint16_t)((a[x] + d[x] + 3 * (b[x] + c[x]) + 32) >> 6);
    }
}

/* s->half: each row of the frame with margins,
 * 16 times the samples, or the half samples in x. */
static void half_rows(const scratch *s, const mvf_tm_level *level, int32_t half_x)
{
    int32_t wide = level->width + 2 * MARGIN;
    for (int32_t y = 0; y < level->height; y++) {
        const uint16_t *row = s->samples + (ptrdiff_t)y * level->width;
        int32_t *out = s->half + (ptrdiff_t)y * wide, *padded = s->wide + 1;
        for (int32_t x = -1; x < wide + 2; x++)
            padded[x] = row[mvf_tm_clamp(x - MARGIN, 0, level->width - 1)];
        for (int32_t x = 0; x < wide; x++)
            out[x] = half_x ? 9 * (padded[x] + padded[x + 1]) - padded[x - 1] - padded[x + 2]
                            : 16 * padded[x];
    }
}

static const int32_t *half_row(const scratch *s, const mvf_tm_level *level, int32_t y)
{
    int32_t wide = level->width + 2 * MARGIN;
    return s->half + (ptrdiff_t)mvf_tm_clamp(y, 0, level->height - 1) * wide;
}

/* Row y of a phase, with margins. */
static void phase_row(const scratch *s, const mvf_tm_level *level, int32_t half_y, int32_t y,
                      int16_t *out)
{
    const int32_t *a = half_row(s, level, y - 1), *b = half_row(s, level, y);
    const int32_t *c = half_row(s, level, y + 1), *d = half_row(s, level, y + 2);
    for (int32_t x = 0; x < level->width + 2 * MARGIN; x++) {
        int32_t sum = half_y ? 9 * (b[x] + c[x]) - a[x] - d[x] : 16 * b[x];
        out[x] = (int16_t)mvf_tm_clamp((sum + 128) >> 8, 0, MVF_TM_SAMPLE_MAX);
    }
}

static uint32_t gradient(int32_t before, int32_t after)
{
    return (uint32_t)mvf_tm_clamp(128 + ((after - before + 4) >> 3), 0, 255);
}

static void build_phase(const scratch *s, mvf_tm_level *level, int32_t phase)
{
    ptrdiff_t wide = level->width + 2 * MARGIN;
    int16_t *rows[3] = {s->rows, s->rows + wide, s->rows + 2 * wide};
    phase_row(s, level, phase >> 1, -MARGIN, rows[0]);
    phase_row(s, level, phase >> 1, -MARGIN + 1, rows[1]);
    for (int32_t y = -MVF_TM_BORDER; y < level->height + MVF_TM_BORDER; y++) {
        phase_row(s, level, phase >> 1, y + 1, rows[2]);
        mvf_tm_features *out = level->phase[phase] - MVF_TM_BORDER +
                               y * (level->stride_bytes / (ptrdiff_t)sizeof *out);
        for (int32_t x = 1; x < wide - 1; x++)
            *out++ = (uint32_t)(rows[1][x] + 32) >> 6 |
                     gradient(rows[1][x - 1], rows[1][x + 1]) << 8 |
                     gradient(rows[0][x], rows[2][x]) << 16;
        int16_t *oldest = rows[0];
        rows[0] = rows[1];
        rows[1] = rows[2];
        rows[2] = oldest;
    }
}

static void build_level(const scratch *s, mvf_tm_level *level)
{
    size_t area = (size_t)level->width * (size_t)level->height;
    for (size_t i = 0; i < area; i++)
        level->luma[i] = (uint8_t)minimum((s->samples[i] + 8) >> 4, 255);
    for (int32_t half_x = 0; half_x < 2; half_x++) {
        half_rows(s, level, half_x);
        build_phase(s, level, half_x);
        build_phase(s, level, half_x + 2);
    }
}

mvf_status mvf_tm_image_load(mvf_tm_image *image, const void *samples, ptrdiff_t stride_bytes,
                             int32_t bit_depth)
{
    scratch s;
    if (alloc_scratch(&s, image->width, image->height) != MVF_OK)
        return MVF_ERROR_MEMORY;
    blur(&s, samples, stride_bytes, image->width, image->height, bit_depth);
    build_level(&s, &image->levels[0]);
    for (int32_t i = 1; i < image->n_levels; i++) {
        uint16_t *made = s.samples;
        s.samples = s.previous;
        s.previous = made;
        halve(&s, &image->levels[i - 1], &image->levels[i]);
        build_level(&s, &image->levels[i]);
    }
    free_scratch(&s);
    return MVF_OK;
}
