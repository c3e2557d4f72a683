/*
 * warp.h - reductions over all lanes of a warp, the result in each of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_WARP_H
#define MVF_KERNELS_WARP_H

#include <stdint.h>

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ uint32_t warp_min(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, value);
#else
    for (int lanes = 16; lanes; lanes >>= 1)
        value = min(value, __shfl_xor_sync(ALL_LANES, value, lanes));
    return value;
#endif
}

static __device__ __forceinline__ uint32_t warp_max(uint32_t value)
{
    return ~warp_min(~value);
}

static __device__ __forceinline__ uint32_t warp_sum(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, value);
#else
    for (int lanes = 16; lanes; lanes >>= 1)
        value += __shfl_xor_sync(ALL_LANES, value, lanes);
    return value;
#endif
}

#endif
