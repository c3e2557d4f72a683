/*
 * rank.h - the order of rule.h as one number, and the best of a warp by it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_RANK_H
#define MVF_KERNELS_RANK_H

#include <stdint.h>

#include "warp.h"

#define NO_COST INT32_MAX
#define NO_KEY UINT32_MAX

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

/* The smallest (J, key) of a warp's lanes, as J << 32 | key, in each of them. */
static __device__ inline unsigned long long warp_smallest(uint32_t j, uint32_t key)
{
#if __CUDA_ARCH__ >= 800
    uint32_t least = __reduce_min_sync(0xffffffffu, j);
    key = __reduce_min_sync(0xffffffffu, j == least ? key : 0xffffffffu);
    return (unsigned long long)least << 32 | key;
#else
    unsigned long long mine = (unsigned long long)j << 32 | key;
    for (int32_t distance = 16; distance; distance /= 2)
        mine = min(mine, __shfl_xor_sync(0xffffffffu, mine, distance));
    return mine;
#endif
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

struct search_best {
    int32_t cost;
    uint32_t key;
};

static __device__ inline bool is_better(int32_t cost, uint32_t key, const search_best &best)
{
    return (cost < best.cost) | ((cost == best.cost) & (key < best.key));
}

static __device__ inline search_best warp_best(search_best best)
{
    unsigned long long least = warp_smallest((uint32_t)best.cost, best.key);
    return {(int32_t)(least >> 32), (uint32_t)least};
}

/* As mvf_match: two int16 and the cost. */
static __device__ inline void store_match(uint64_t matches, int32_t index, const search_best &best)
{
    uint32_t vector = (uint32_t)(uint16_t)rank_x(best.key) | (uint32_t)rank_y(best.key) << 16;
    ((uint2 *)matches)[index] = make_uint2(vector, (uint32_t)best.cost);
}

#endif
