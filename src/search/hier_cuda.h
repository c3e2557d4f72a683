/*
 * search/hier_cuda.h - method hier on the device: what planes have beside the frame, and the
 * launches that search from level to level.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_HIER_CUDA_H
#define MVF_SEARCH_HIER_CUDA_H

#include "search/launch_cuda.h"
#include "search/rule.h"

/* A level of a plane, with samples around it that repeat its edge. */
typedef struct mvf_hier_plane {
    int32_t width, height;
    int32_t left, top, n_rows;
    int64_t stride_bytes;
    /* From the frame's sample (0, 0) to the level's, and to the first byte of its border. */
    int64_t offset_bytes, begin_bytes;
} mvf_hier_plane;

/* The search of a level below the top. */
typedef struct mvf_hier_stage {
    CUfunction function;
    int32_t n_warps, shared_bytes;
    mvf_hier_below_params params;
} mvf_hier_stage;

/* One engine's way to search by method hier. */
typedef struct mvf_hier_plan {
    int32_t top_level, sample_bytes;
    /* The frame's begin_bytes is not set: the caller makes its border. */
    mvf_hier_plane planes[MVF_HIER_MAX_LEVELS];
    /* What a plane takes in all, the frame included. */
    size_t plane_bytes;
    CUmodule pyramid_module, top_module, below_module;
    CUfunction halve, sum_cells, search_top;
    mvf_cell_params cells;
    int32_t n_cell_rows;
    mvf_hier_top_params top;
    int32_t n_tiles, top_shared_bytes;
    /* Of the levels below the top. */
    mvf_hier_stage stages[MVF_HIER_MAX_LEVELS];
    /* Matches of the levels above the frame: where each level's begin in those of a pair. */
    int64_t first_bytes[MVF_HIER_MAX_LEVELS], pair_bytes;
} mvf_hier_plan;

/* For frames in the layout that mvf_cuda_plane_layout() gives. The context is current. On failure
 * nothing is left to close. */
mvf_status mvf_hier_plan_open(mvf_hier_plan *plan, mvf_cuda *cuda, const mvf_search_config *config,
                              const mvf_cuda_layout *layout);
void mvf_hier_plan_close(mvf_hier_plan *plan, mvf_cuda *cuda);

/* Queues the levels of n_frames (1 to MVF_CUDA_BATCH) whose samples (0, 0) are at `frames`. */
mvf_status mvf_hier_build(mvf_cuda *cuda, const mvf_hier_plan *plan, const CUdeviceptr *frames,
                          int32_t n_frames, CUstream stream);

/* Device memory that a batch of n_jobs needs. */
size_t mvf_hier_scratch_bytes(const mvf_hier_plan *plan, int32_t n_jobs);

/* Queues the search of n_jobs (1 to MVF_CUDA_BATCH) pairs whose levels are built by then. */
mvf_status mvf_hier_launch(mvf_cuda *cuda, const mvf_hier_plan *plan, const mvf_search_pair *pairs,
                           int32_t n_jobs, CUdeviceptr scratch, CUstream stream);

#endif
