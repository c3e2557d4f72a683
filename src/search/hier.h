/*
 * search/hier.h - method hier on the CPU, as rule.h defines it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_HIER_H
#define MVF_SEARCH_HIER_H

#include "search/full.h"
#include "search/rule.h"

/* What is searched at each level, from 0, the frame, to the top. */
typedef struct mvf_hier {
    int32_t top;
    mvf_full_config levels[MVF_HIER_MAX_LEVELS];
} mvf_hier;

/* From the search at level 0 as a full search. rows_at_once holds for all levels. */
void mvf_hier_init(mvf_hier *hier, const mvf_full_config *frame);

/*
 * Rows `row` to row_end - 1 of the blocks of a level below the top. `above`: the matches of the
 * level above, complete. Both planes are that level's.
 */
void mvf_hier_search_rows(const mvf_hier *hier, int32_t level, const mvf_search_kernels *kernels,
                          const mvf_plane *current, const mvf_plane *reference, int32_t row,
                          int32_t row_end, const mvf_match *above, mvf_match *matches);

#endif
