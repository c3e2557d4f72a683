/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/means.h"

#include <string.h>

#include "base/memory.h"

/* How often rows are moved to the front: once in so many rows of blocks. */
#define STEPS_AHEAD 3

/* Bounds read three rows of cells below the last that they use. */
#define UNUSED_ROWS 20

mvf_status mvf_means_alloc(mvf_means *means, int32_t cell, int32_t x_begin, int32_t x_end,
                           int32_t n_rows, int32_t step_y)
{
    *means = (mvf_means){.cell = cell, .first_x = x_begin & -MVF_GROUP};
    means->n_tiles = (x_end - means->first_x + MVF_GROUP - 1) / MVF_GROUP;
    means->room = n_rows + STEPS_AHEAD * step_y + UNUSED_ROWS;
    means->memory = mvf_alloc_aligned((size_t)means->n_tiles, (size_t)means->room * MVF_TILE_BYTES);
    return means->memory ? MVF_OK : MVF_ERROR_MEMORY;
}

void mvf_means_free(mvf_means *means)
{
    mvf_free_aligned(means->memory);
    means->memory = NULL;
}

void mvf_means_reset(mvf_means *means)
{
    means->begin = means->end = INT32_MIN / 2;
}

static void drop_rows_above(mvf_means *means, int32_t y)
{
    size_t kept = (size_t)(means->end - y) * MVF_TILE_BYTES;
    ptrdiff_t dropped = (ptrdiff_t)(y - means->begin) * MVF_TILE_BYTES;
    for (int32_t tile = 0; tile < means->n_tiles; tile++) {
        uint8_t *rows = means->memory + tile * mvf_means_tile_bytes(means);
        memmove(rows, rows + dropped, kept);
    }
    means->begin = y;
}

void mvf_means_extend(mvf_means *means, const mvf_search_kernels *kernels,
                      const mvf_plane *reference, int32_t y, int32_t y_end)
{
    if (y > means->end)
        means->begin = means->end = y;
    else if (y_end - means->begin > means->room - UNUSED_ROWS)
        drop_rows_above(means, y);
    while (means->end < y_end) {
        int32_t n = y_end - means->end < MVF_TILE_ROWS ? y_end - means->end : MVF_TILE_ROWS;
        kernels->means_tiles(mvf_plane_at(reference, means->first_x, means->end),
                             reference->stride_bytes, means->cell, means->n_tiles, n,
                             (uint8_t *)mvf_means_at(means, means->first_x, means->end),
                             mvf_means_tile_bytes(means));
        means->end += n;
    }
}
