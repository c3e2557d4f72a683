/*
 * rank.h - the order of rule.h as one number, for reductions in CUDA.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_RANK_H
#define MVF_KERNELS_RANK_H

#include <stdint.h>

/*
 * Orders vectors as (dx^2 + dy^2, dy, dx) does, in 29 bits for up to 256 px: with the first two
 * equal, dx is known but for its sign.
 */
static __device__ inline uint32_t rank_key(int32_t dx, int32_t dy)
{
    return (uint32_t)(dx * dx + dy * dy) << 11 | (uint32_t)(dy + 256) << 1 | (uint32_t)(dx > 0);
}

static __device__ inline int32_t rank_y(uint32_t key)
{
    return (int32_t)(key >> 1 & 1023) - 256;
}

/* The root of a perfect square below 2^24 is exact in a float. */
static __device__ inline int32_t rank_x(uint32_t key)
{
    int32_t dy = rank_y(key);
    int32_t root = (int32_t)sqrtf((float)((int32_t)(key >> 11) - dy * dy));
    return key & 1 ? root : -root;
}

/*
 * Entry i of the candidates lo..hi of one row or column, by rank: 0, -1, 1, -2, 2, ... and then
 * what is left on the longer side; or away from zero where that lies outside.
 */
static __device__ inline int32_t rank_walk(int32_t i, int32_t lo, int32_t hi)
{
    if (lo > 0)
        return lo + i;
    if (hi < 0)
        return hi - i;
    int32_t both = min(-lo, hi);
    if (i <= 2 * both)
        return i & 1 ? -((i + 1) >> 1) : i >> 1;
    return hi > -lo ? i - both : both - i;
}

#endif
