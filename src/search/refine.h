/*
 * search/refine.h - sub-sample refinement, by subpel_rule.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_REFINE_H
#define MVF_SEARCH_REFINE_H

#include "search/engine.h"
#include "search/patch.h"
#include "search/subpel_rule.h"

/* What refines: a config and the functions for it. */
typedef struct mvf_refiner {
    const mvf_search_config *config;
    mvf_metric_function metric;
    mvf_predict_function predict;
} mvf_refiner;

/* The metric is the last one of the search: that of the refinement, or else of the search. */
void mvf_refiner_init(mvf_refiner *refiner, const mvf_search_config *config, mvf_cpu_level level);

/* One block to refine. */
typedef struct mvf_refine_block {
    int32_t x, y, w, h;
    /* The block's samples, and the reference at the integer best with MVF_SUBPEL_MARGIN samples
     * round the block. */
    mvf_patch current, reference;
    /* What the rate measures from. */
    mvf_vector predictor;
} mvf_refine_block;

/* Turns a match in whole samples into one in quarter samples, its cost in the refinement metric. */
mvf_match mvf_refine(const mvf_refiner *refiner, const mvf_refine_block *block, mvf_match match);

/* Refines the matches of one row of the grid, which a search for whole samples has filled in. */
void mvf_refine_row(const mvf_refiner *refiner, const mvf_plane *current,
                    const mvf_plane *reference, mvf_match *matches, int32_t row);

#endif
