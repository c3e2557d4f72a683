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
    int64_t features, phase_bytes, luma;
    /* Of the level's cells, and of those of half their side. */
    int64_t guide, fine_guide;
} mvf_tm_cuda_level;

#define MVF_TM_N_KERNELS 17

typedef struct mvf_tm_plan {
    /* 0: the method is another one. */
    int32_t n_levels;
    mvf_tm_cuda_level levels[MVF_TM_MAX_LEVELS];
    const mvf_tm_schedule *schedule;
    int32_t step_px, sample_bytes, bit_depth;
    size_t image_bytes, flow_bytes;
    /* What every step is told; offsets in a flow's memory. */
    mvf_tm_params params;
    CUmodule modules[2];
    CUfunction kernels[MVF_TM_N_KERNELS];
    /* Samples of two levels, while images are built one after the other. */
    CUdeviceptr samples;
} mvf_tm_plan;

/* Loads kernels and lays out memory, with method truemotion alone. The context is current.
 * mvf_tm_plan_close() must follow. */
mvf_status mvf_tm_plan_open(mvf_tm_plan *plan, mvf_cuda *cuda, const mvf_search_config *config);
void mvf_tm_plan_close(mvf_tm_plan *plan, mvf_cuda *cuda);

/* Device memory that n_jobs pairs need while they are searched, and pairs that should be. */
size_t mvf_tm_scratch_bytes(const mvf_tm_plan *plan, int32_t n_jobs);
int32_t mvf_tm_most_jobs(const mvf_tm_plan *plan);

/* Queues the building of an image of plan->image_bytes from a picture on the device. */
mvf_status mvf_tm_build(mvf_cuda *cuda, const mvf_tm_plan *plan, CUdeviceptr picture,
                        int64_t stride_bytes, CUdeviceptr image, CUstream stream);

/* Queues the search of n_jobs (1 to MVF_TM_BATCH) pairs of images; matches are mvf_tm_match. */
mvf_status mvf_tm_launch(mvf_cuda *cuda, const mvf_tm_plan *plan, const mvf_search_pair *pairs,
                         int32_t n_jobs, CUdeviceptr scratch, CUstream stream);

#endif
