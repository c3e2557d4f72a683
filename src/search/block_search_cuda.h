/*
 * search/block_search_cuda.h - the launches of kernels/block_search.cu.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_BLOCK_SEARCH_CUDA_H
#define MVF_SEARCH_BLOCK_SEARCH_CUDA_H

#include "search/launch_cuda.h"

/* As in mvf_launch_shape. */
int mvf_block_serves(const mvf_launch_shape *shape, const mvf_search_config *config,
                     const mvf_cuda *cuda);
void mvf_block_prepare(mvf_launch_plan *plan, const mvf_search_config *config, const mvf_cuda *cuda,
                       int64_t stride_bytes);
mvf_status mvf_block_enqueue(mvf_cuda *cuda, const mvf_launch_plan *plan,
                             const mvf_search_pair *before, const mvf_search_pair *pairs,
                             int32_t n_jobs, CUdeviceptr scratch, CUstream stream);

#endif
