/*
 * search/full.h - the full search on the CPU: exact, by lower bounds that leave few candidates to
 * be compared sample by sample.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_FULL_H
#define MVF_SEARCH_FULL_H

#include "plane/plane.h"
#include "search/engine.h"
#include "search/kernels.h"

/* What is searched: a grid of blocks in frames of one size. */
typedef struct mvf_full_config {
    int32_t width, height, bit_depth, sample_bytes;
    int32_t block_w, block_h, step_x, step_y, cols, rows;
    int32_t range_x, range_y;
    int32_t inside;
    /* Blocks of a level above 0 of method hier, placed by mvf_rule_coarse_origin(); block_w and
     * block_h are still those of level 0. */
    int32_t is_coarse;
    /* Rows of blocks that one call of mvf_full_search_rows() takes at most. */
    int32_t rows_at_once;
} mvf_full_config;

/* Of the blocks of a search's own frame. */
mvf_full_config mvf_full_configure(const mvf_search_config *config, int32_t rows_at_once);

/* What one worker writes. */
typedef struct mvf_full_scratch mvf_full_scratch;

/* NULL: no memory. */
mvf_full_scratch *mvf_full_scratch_open(const mvf_full_config *config,
                                        const mvf_search_kernels *kernels);
void mvf_full_scratch_close(mvf_full_scratch **scratch);

/*
 * Searches rows `row` to row_end - 1 of the grid; matches[0] is the first block of row 0. The
 * reference has borders of at least the range.
 */
void mvf_full_search_rows(const mvf_full_config *config, const mvf_search_kernels *kernels,
                          const mvf_plane *current, const mvf_plane *reference, int32_t row,
                          int32_t row_end, mvf_full_scratch *scratch, mvf_match *matches);

#endif
