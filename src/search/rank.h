/*
 * search/rank.h - vectors in the order of the rule for equal costs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_RANK_H
#define MVF_SEARCH_RANK_H

#include <stddef.h>

#include <mvfield/field.h>

/*
 * All (2 * range_x + 1) * (2 * range_y + 1) candidates, first rank first. Free with free().
 * NULL: no memory.
 */
mvf_vector *mvf_rank_candidates(int32_t range_x, int32_t range_y);

/* Sorts vectors by rank. */
void mvf_rank_sort(mvf_vector *vectors, size_t count);

#endif
