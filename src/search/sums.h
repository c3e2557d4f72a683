/*
 * search/sums.h - planes of sums of square cells of samples, from which the full search has its
 * lower bounds. Made row by row just ahead of the search, so that they are still in the cache.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_SUMS_H
#define MVF_SEARCH_SUMS_H

#include "plane/plane.h"
#include "search/kernels.h"

/* Cells of 4 x 4, 8 x 8 and 16 x 16 samples. */
#define MVF_CELL_LEVELS 3
#define MVF_CELL(level) (4 << (level))

typedef struct mvf_sums {
    /* The highest level that is made. */
    int32_t top_level;
    /* Stored sum = exact sum >> shift, which is below 2^15. */
    int32_t shift[MVF_CELL_LEVELS];
    /* Samples x_begin to x_end - 1 of the reference are summed. */
    int32_t x_begin, x_end;
    ptrdiff_t stride_bytes;
    /* Where sample (0, 0)'s sum would be. Only rows from mvf_sums_begin() on exist. */
    uint8_t *origin[MVF_CELL_LEVELS];
    /* The first row, and each level's next. */
    int32_t first_row, next_row[MVF_CELL_LEVELS];
    void *columns[MVF_CELL_LEVELS];
    uint8_t *memory;
    int32_t n_rows;
} mvf_sums;

/* For references of `width` samples whose samples from -range_x to width + range_x - 1 are summed,
 * n_rows rows at a time. MVF_ERROR_MEMORY leaves nothing to free. */
mvf_status mvf_sums_alloc(mvf_sums *sums, int32_t width, int32_t range_x, int32_t n_rows,
                          int32_t bit_depth, int32_t top_level);
void mvf_sums_free(mvf_sums *sums);

/* Starts anew at row y of the reference. */
void mvf_sums_begin(mvf_sums *sums, int32_t y);

/* Makes the sums of all cells that lie above row y_end, at most n_rows below the first row. */
void mvf_sums_extend(mvf_sums *sums, const mvf_search_kernels *kernels, const mvf_plane *reference,
                     int32_t y_end);

#endif
