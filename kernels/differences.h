/*
 * differences.h - metrics of a tile whose differences a thread has in registers, by metric_rule.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_DIFFERENCES_H
#define MVF_KERNELS_DIFFERENCES_H

#include "params.h"

template <int32_t Tile> static __device__ inline void transform(int32_t (&d)[Tile * Tile])
{
#pragma unroll
    for (int32_t half = 1; half < Tile * Tile; half *= 2)
#pragma unroll
        for (int32_t i = 0; i < Tile * Tile; i++)
            if (!(i & half)) {
                int32_t a = d[i], b = d[i + half];
                d[i] = a + b;
                d[i + half] = a - b;
            }
}

/* Overwrites the differences. */
template <int32_t Tile>
static __device__ inline uint32_t tile_cost(int32_t (&d)[Tile * Tile], int32_t metric)
{
    uint32_t sum = 0;
    if (metric == MVF_CUDA_METRIC_SATD)
        transform<Tile>(d);
    if (metric == MVF_CUDA_METRIC_SSD) {
#pragma unroll
        for (int32_t i = 0; i < Tile * Tile; i++)
            sum += (uint32_t)(d[i] * d[i]);
        return sum;
    }
#pragma unroll
    for (int32_t i = 0; i < Tile * Tile; i++)
        sum += (uint32_t)abs(d[i]);
    if (metric == MVF_CUDA_METRIC_SAD)
        return sum;
    return Tile == 4 ? (sum + 1) >> 1 : (sum + 2) >> 2;
}

#endif
