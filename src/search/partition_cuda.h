/*
 * search/partition_cuda.h - the launches of the search over square partitions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_PARTITION_CUDA_H
#define MVF_SEARCH_PARTITION_CUDA_H

#include "search/launch_cuda.h"

/* As in mvf_launch_shape. */
int mvf_partition_serves(const mvf_launch_shape *shape, const mvf_search_config *config,
                         const mvf_cuda *cuda);
void mvf_partition_prepare(mvf_launch_plan *plan, const mvf_search_config *config,
                           const mvf_cuda *cuda, int64_t stride_bytes);
mvf_status mvf_partition_enqueue(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                 const mvf_search_pair *before, const mvf_search_pair *pairs,
                                 int32_t n_jobs, CUdeviceptr scratch, CUstream stream);

#endif
