/*
 * search/means.h - a plane of means of small cells of 8-bit samples, 16 of which make a block, from
 * which the full search has one lower bound of each candidate. Like the sums (sums.h), rows are
 * made just ahead of the search; rows that it has passed are dropped.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_MEANS_H
#define MVF_SEARCH_MEANS_H

#include "plane/plane.h"
#include "search/kernels.h"

typedef struct mvf_means {
    /* Samples a side of a cell: 4, or 2. */
    int32_t cell;
    /* Tiles of MVF_GROUP candidates each; tile 0 begins at sample first_x, a multiple of that. */
    int32_t first_x, n_tiles;
    /* Rows from `begin` to end - 1 of the reference are held, at most `room` of them. */
    int32_t begin, end, room;
    /* Tile by tile, rows of MVF_TILE_BYTES below each other. */
    uint8_t *memory;
} mvf_means;

/* For candidates from sample x_begin to x_end - 1 and up to n_rows rows at a time, of blocks that
 * begin step_y rows apart. MVF_ERROR_MEMORY leaves nothing to free. */
mvf_status mvf_means_alloc(mvf_means *means, int32_t cell, int32_t x_begin, int32_t x_end,
                           int32_t n_rows, int32_t step_y);
void mvf_means_free(mvf_means *means);

/* Lets go of all rows. */
void mvf_means_reset(mvf_means *means);

/* Makes sure that rows y to y_end - 1 are there, at most n_rows, where y does not go back. */
void mvf_means_extend(mvf_means *means, const mvf_search_kernels *kernels,
                      const mvf_plane *reference, int32_t y, int32_t y_end);

static inline ptrdiff_t mvf_means_tile_bytes(const mvf_means *means)
{
    return (ptrdiff_t)means->room * MVF_TILE_BYTES;
}

/* Row y of the tile that begins at sample x or four cells before it. */
static inline const uint8_t *mvf_means_at(const mvf_means *means, int32_t x, int32_t y)
{
    return means->memory + (x - means->first_x) / MVF_GROUP * mvf_means_tile_bytes(means) +
           (ptrdiff_t)(y - means->begin) * MVF_TILE_BYTES;
}

#endif
