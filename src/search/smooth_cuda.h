/*
 * search/smooth_cuda.h - what is done on the device to the matches of a search, so that neighbours
 * agree: the launches of kernels/smooth_paths.cu and kernels/smooth_median.cu.
 *
 * Paths replace the matches. Medians are written beside them, since what is said of a block, its
 * cost and whether its vector lies on the border of the range, stays with the match.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_SMOOTH_CUDA_H
#define MVF_SEARCH_SMOOTH_CUDA_H

#include "cuda/device.h"
#include "params.h"
#include "search/engine.h"

/* One engine's smoothing; without a module there is none. */
typedef struct mvf_smooth_plan {
    CUmodule module;
    CUfunction label, path, choose, median;
    /* Pairs whose paths are made at a time. */
    int32_t n_at_once;
    /* What is the same for every launch: one of the two. */
    mvf_smooth_params paths;
    mvf_median_params medians;
} mvf_smooth_plan;

/* The context is current. On failure nothing is left to close. */
mvf_status mvf_smooth_plan_open(mvf_smooth_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes);
void mvf_smooth_plan_close(mvf_smooth_plan *plan, mvf_cuda *cuda);

/* Device memory that n_jobs pairs need while they are smoothed. */
size_t mvf_smooth_scratch_bytes(const mvf_smooth_plan *plan, int32_t n_jobs);

/*
 * Queues the smoothing of n_jobs (1 to MVF_CUDA_BATCH) pairs whose matches are there by then.
 * Medians go to `medians`, one pair's after the other's: mvf_vector in the matches' unit.
 */
mvf_status mvf_smooth_launch(mvf_cuda *cuda, const mvf_smooth_plan *plan,
                             const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                             CUdeviceptr medians, CUstream stream);

#endif
