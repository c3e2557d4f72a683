/*
 * search/truemotion_cuda.h - true motion on a CUDA device: what kernels/truemotion*.cu are launched
 * for, and in what order. All steps of several pairs follow one another on one stream, without the
 * host in between.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_TRUEMOTION_CUDA_H
#define MVF_SEARCH_TRUEMOTION_CUDA_H

#include "cuda/device.h"
#include "params.h"
#include "search/engine.h"
#include "search/truemotion_parts.h"

/* A level of an image, with offsets in its memory. */
typedef struct mvf_tm_cuda_level {
    int32_t width, height, stride_px;
    int64_t features, phase_bytes;
    /* Where single px are matched, of level 0; else 0. */
    int64_t luma;
    /* Of cells of 4x4 and of 2x2 px; 0 where the level has none. */
    int64_t wide_guide, narrow_guide;
} mvf_tm_cuda_level;

#define MVF_TM_N_KERNELS 16

/* Images on the device at the same time. */
#define MVF_TM_MOST_IMAGES 16

typedef struct mvf_tm_plan {
    /* 0: the method is another one. */
    int32_t n_levels;
    mvf_tm_cuda_level levels[MVF_TM_MAX_LEVELS];
    const mvf_tm_schedule *schedule;
    int32_t step_px, sample_bytes, bit_depth;
    /* What an image takes; one flow of a pair (the other's memory follows); a pair. */
    size_t image_bytes, flow_bytes, pair_bytes;
    /* Images on the device, pictures there that become one, and batches that are searched at the
     * same time. */
    int32_t n_images, n_pictures, n_searches;
    /* What every step is told; offsets in a flow's memory. The finer grid for single px has other
     * ones, for the flow forward alone, which then has all the memory of its pair. */
    mvf_tm_params params, fine_params;
    CUmodule modules[2];
    CUfunction kernels[MVF_TM_N_KERNELS];
    /* Samples of level 0 while an image is built; behind them the picture, then those of level 1,
     * and so on in turn. */
    CUdeviceptr samples;
    size_t sample_bytes_0;
    int64_t picture_stride_bytes;
    size_t picture_bytes;
} mvf_tm_plan;

/*
 * With method truemotion alone: loads kernels and lays out memory. *batch_jobs is how many pairs a
 * batch may have and becomes how many it shall have, 1 to MVF_TM_BATCH: images, pairs and all take
 * less than 600 MB up to 3840x2160 with step 4. The context is current. mvf_tm_plan_close() must
 * follow.
 */
mvf_status mvf_tm_plan_open(mvf_tm_plan *plan, mvf_cuda *cuda, const mvf_search_config *config,
                            int64_t picture_stride_bytes, int32_t *batch_jobs);
void mvf_tm_plan_close(mvf_tm_plan *plan, mvf_cuda *cuda);

/* Queues the building of an image of plan->image_bytes from a picture that is on the device, or, if
 * that is 0, from one in pinned memory. Images are built one after the other, on the same stream.
 */
mvf_status mvf_tm_build(mvf_cuda *cuda, const mvf_tm_plan *plan, CUdeviceptr picture,
                        const void *pinned, CUdeviceptr image, CUstream stream);

/* Queues the search of n_jobs (1 to MVF_TM_BATCH) pairs of images, in plan->pair_bytes of memory
 * each. */
mvf_status mvf_tm_launch(mvf_cuda *cuda, const mvf_tm_plan *plan, const mvf_search_pair *pairs,
                         int32_t n_jobs, CUdeviceptr memory, CUstream stream);

/* Where in that memory the search leaves the matches (mvf_tm_match) of a pair. */
CUdeviceptr mvf_tm_matches(const mvf_tm_plan *plan, CUdeviceptr memory, int32_t pair);

#endif
