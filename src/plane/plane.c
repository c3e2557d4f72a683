/* SPDX-License-Identifier: BSD-2-Clause */
#include "plane/plane.h"

#include <string.h>

#include "base/memory.h"

mvf_status mvf_plane_alloc(mvf_plane *plane, int32_t width, int32_t height, int32_t bit_depth,
                           int32_t border_x, int32_t border_y)
{
    *plane = (mvf_plane){.width = width,
                         .height = height,
                         .border_x = border_x,
                         .border_y = border_y,
                         .bit_depth = bit_depth,
                         .sample_bytes = bit_depth > 8 ? 2 : 1};
    size_t before = (size_t)border_x * (size_t)plane->sample_bytes + MVF_PLANE_SLACK_BYTES;
    size_t row = (size_t)width * (size_t)plane->sample_bytes;
    before = (before + MVF_ALIGNMENT - 1) / MVF_ALIGNMENT * MVF_ALIGNMENT;
    row = (row + MVF_ALIGNMENT - 1) / MVF_ALIGNMENT * MVF_ALIGNMENT;
    size_t stride = 2 * before + row;
    /* An odd number of cache lines, so that the rows of a block do not share a few of its sets. */
    if (stride / MVF_ALIGNMENT % 2 == 0)
        stride += MVF_ALIGNMENT;
    plane->stride_bytes = (ptrdiff_t)stride;
    size_t n_rows = (size_t)height + 2 * (size_t)border_y;
    uint8_t *memory = mvf_alloc_aligned(n_rows, (size_t)plane->stride_bytes);
    if (!memory)
        return MVF_ERROR_MEMORY;
    plane->memory = memory;
    plane->origin = memory + border_y * plane->stride_bytes + (ptrdiff_t)before;
    return MVF_OK;
}

void mvf_plane_free(mvf_plane *plane)
{
    mvf_free_aligned(plane->memory);
    plane->memory = NULL;
    plane->origin = NULL;
}

void mvf_copy_row(uint8_t *to, const uint8_t *from, int32_t width, int32_t sample_bytes,
                  int32_t shift_bits)
{
    memcpy(to, from, (size_t)width * (size_t)sample_bytes);
    uint16_t *words = (uint16_t *)(void *)to;
    for (int32_t x = 0; shift_bits && x < width; x++)
        words[x] = (uint16_t)(words[x] >> shift_bits);
}

void mvf_plane_load(mvf_plane *plane, const mvf_picture *picture)
{
    const uint8_t *from = picture->data;
    for (int32_t y = 0; y < plane->height; y++, from += picture->stride_bytes)
        mvf_copy_row(mvf_plane_at(plane, 0, y), from, plane->width, plane->sample_bytes,
                     picture->shift_bits);
}

static void repeat_sample(uint8_t *to, const uint8_t *sample, int32_t count, int32_t sample_bytes)
{
    if (sample_bytes == 1) {
        memset(to, *sample, (size_t)count);
        return;
    }
    uint16_t *words = (uint16_t *)to;
    for (int32_t i = 0; i < count; i++)
        words[i] = *(const uint16_t *)sample;
}

void mvf_plane_extend_sides(mvf_plane *plane, int32_t first_row, int32_t end_row)
{
    for (int32_t y = first_row; y < end_row; y++) {
        repeat_sample(mvf_plane_at(plane, -plane->border_x, y), mvf_plane_at(plane, 0, y),
                      plane->border_x, plane->sample_bytes);
        repeat_sample(mvf_plane_at(plane, plane->width, y),
                      mvf_plane_at(plane, plane->width - 1, y), plane->border_x,
                      plane->sample_bytes);
    }
}

void mvf_plane_extend_ends(mvf_plane *plane)
{
    size_t row_bytes = (size_t)(plane->width + 2 * plane->border_x) * (size_t)plane->sample_bytes;
    const uint8_t *first = mvf_plane_at(plane, -plane->border_x, 0);
    const uint8_t *last = mvf_plane_at(plane, -plane->border_x, plane->height - 1);
    for (int32_t y = 1; y <= plane->border_y; y++) {
        memcpy(mvf_plane_at(plane, -plane->border_x, -y), first, row_bytes);
        memcpy(mvf_plane_at(plane, -plane->border_x, plane->height - 1 + y), last, row_bytes);
    }
}
