/*
 * search/block_search.h - the search with a rate, with metrics other than SAD, round hints and over
 * partitions, on the CPU.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_BLOCK_SEARCH_H
#define MVF_SEARCH_BLOCK_SEARCH_H

#include "plane/plane.h"
#include "search/engine.h"

typedef struct mvf_block_search mvf_block_search;

/* Whether a search is this file's business; else only its refinement is. */
int mvf_block_search_needed(const mvf_search_config *config);

/* Keeps the pointer to the config. NULL: no memory. */
mvf_block_search *mvf_block_search_open(const mvf_search_config *config, mvf_cpu_level level,
                                        int32_t n_workers);
void mvf_block_search_close(mvf_block_search **search);

/* Searches, and refines, row `row` of the grid of largest blocks: fills in the matches of all
 * levels there. One call at a time for each worker. */
void mvf_block_search_row(mvf_block_search *search, const mvf_plane *current,
                          const mvf_plane *reference, const mvf_engine_job *job, int32_t row,
                          int32_t worker);

#endif
