/*
 * search/reference.h - the full search in plain C: the meaning of rule.h, written to be read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_REFERENCE_H
#define MVF_SEARCH_REFERENCE_H

#include "plane/plane.h"
#include "search/engine.h"

/*
 * All (2 * range_x + 1) * (2 * range_y + 1) candidates, first rank first. Free with free().
 * NULL: no memory.
 */
mvf_vector *mvf_rank_candidates(int32_t range_x, int32_t range_y);

/* Sorts vectors by rank. */
void mvf_rank_sort(mvf_vector *vectors, size_t count);

/*
 * SAD of w x h samples of `sample_bytes` bytes; may stop after any row at which the sum has reached
 * `limit`, and then returns that partial sum.
 */
uint32_t mvf_reference_sad(const uint8_t *current, ptrdiff_t current_stride_bytes,
                           const uint8_t *reference, ptrdiff_t reference_stride_bytes, int32_t w,
                           int32_t h, int32_t sample_bytes, uint32_t limit);

/*
 * The best match of block (col, row). The reference has borders of at least the search range,
 * filled by repetition. `candidates` comes from mvf_rank_candidates() for the config's range.
 */
mvf_match mvf_reference_search_block(const mvf_search_config *config, const mvf_plane *current,
                                     const mvf_plane *reference, const mvf_vector *candidates,
                                     int32_t col, int32_t row);

#endif
