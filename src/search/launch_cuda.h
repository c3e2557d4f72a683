/*
 * search/launch_cuda.h - which kernel answers a search, and in what shape it is launched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_LAUNCH_CUDA_H
#define MVF_SEARCH_LAUNCH_CUDA_H

#include "cuda/device.h"
#include "params.h"
#include "search/engine.h"

/* Samples and rows around the frame that a kernel may read. All repeat the nearest edge sample. */
typedef struct mvf_cuda_border {
    int32_t left, right, top, bottom;
} mvf_cuda_border;

mvf_cuda_border mvf_cuda_plane_border(const mvf_search_config *config);

typedef struct mvf_launch_shape mvf_launch_shape;

/* One engine's way to answer batches. */
typedef struct mvf_launch_plan {
    const mvf_launch_shape *shape;
    CUmodule module;
    CUfunction function;
    int32_t shared_bytes;
    /* What is the same for every batch, of a search over a grid or over partitions. */
    mvf_search_params params;
    mvf_partition_params partition;
} mvf_launch_plan;

/* A row of the table of launch shapes; the first that serves a config is taken. */
struct mvf_launch_shape {
    const char *kernel;
    const unsigned char *fatbin;
    /* Threads that search one block of the frame. */
    int32_t team;
    int (*serves)(const mvf_launch_shape *shape, const mvf_search_config *config,
                  const mvf_cuda *cuda);
    /* What `serves` compares: sample size, and the fewest bytes of a block's row. */
    int32_t sample_bytes, row_bytes;
    /* Device memory of its own that each batch of n_jobs needs; NULL: none. */
    size_t (*scratch_bytes)(const mvf_search_config *config, int32_t n_jobs);
    /* Fills in shared_bytes and the parameters. */
    void (*prepare)(mvf_launch_plan *plan, const mvf_search_config *config);
    mvf_status (*enqueue)(mvf_cuda *cuda, const mvf_launch_plan *plan, const mvf_search_pair *pairs,
                          int32_t n_jobs, CUdeviceptr scratch, CUstream stream);
};

/* Chooses and loads. The context is current. On failure nothing is left to close. */
mvf_status mvf_launch_plan_open(mvf_launch_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes);
void mvf_launch_plan_close(mvf_launch_plan *plan, mvf_cuda *cuda);

size_t mvf_launch_scratch_bytes(const mvf_launch_plan *plan, const mvf_search_config *config,
                                int32_t n_jobs);

/* Queues the search of n_jobs (1 to MVF_CUDA_BATCH) pairs. */
mvf_status mvf_launch(mvf_cuda *cuda, const mvf_launch_plan *plan, const mvf_search_pair *pairs,
                      int32_t n_jobs, CUdeviceptr scratch, CUstream stream);

#endif
