/*
 * search/refine_cuda.h - the launches that refine the matches of a search on the device.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_REFINE_CUDA_H
#define MVF_SEARCH_REFINE_CUDA_H

#include "cuda/device.h"
#include "params.h"
#include "search/engine.h"

/* A metric as kernels number it. */
int32_t mvf_cuda_metric(mvf_metric metric);

#define MVF_REFINE_MATRIX_SIZES 3

/* One engine's refinement; without a module there is none. */
typedef struct mvf_refine_plan {
    CUmodule module;
    /* Of refine_matrix.cu by the size of blocks; of refine.cu there is one. */
    CUfunction functions[MVF_REFINE_MATRIX_SIZES];
    /* By refine_matrix.cu, a warp for a piece of a block; else by refine.cu, a thread for a tile.
     */
    int32_t in_pieces;
    /* What is the same for every launch. */
    mvf_refine_params params;
} mvf_refine_plan;

/* The context is current. On failure nothing is left to close. */
mvf_status mvf_refine_plan_open(mvf_refine_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes);
void mvf_refine_plan_close(mvf_refine_plan *plan, mvf_cuda *cuda);

/* Queues the refinement, one launch a level, of n_jobs pairs whose matches are there by then. */
mvf_status mvf_refine_launch(mvf_cuda *cuda, const mvf_refine_plan *plan,
                             const mvf_search_config *config, const mvf_search_pair *pairs,
                             int32_t n_jobs, CUstream stream);

#endif
