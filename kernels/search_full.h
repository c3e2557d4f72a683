/*
 * search_full.h - what the two kernels for the full search of 16x16 blocks share: SADs, the order
 * of rule.h as one number, copies into shared memory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_SEARCH_FULL_H
#define MVF_KERNELS_SEARCH_FULL_H

#include "instructions.h"
#include "params.h"
#include "search/rule.h"
#include "warp.h"

// A SAD and below it the rank of its vector.
typedef unsigned long long full_key;

#define NO_KEY 0x3fffffffffffffffull
#define NO_SAD 0x3fffffff

static __device__ __forceinline__ uint32_t shift_bytes(uint32_t low, uint32_t high, int bytes)
{
    return __funnelshift_r(low, high, 8 * bytes);
}

// The order of rule.h: (dx^2 + dy^2, dy, dx), for vectors of up to MVF_FULL_RANGE_MAX.
static __device__ __forceinline__ uint32_t vector_rank(int dx, int dy)
{
    return (uint32_t)(dx * dx + dy * dy) << 16 | (uint32_t)(dy + 128) << 8 | (uint32_t)(dx + 128);
}

static __device__ __forceinline__ full_key make_key(int sad, uint32_t rank)
{
    return (full_key)(uint32_t)sad << 32 | rank;
}

static __device__ __forceinline__ int key_sad(full_key key)
{
    return (int)(key >> 32);
}

// At once, since other thread blocks may be looking: mvf_full_params.hints.
static __device__ __forceinline__ void write_match(uint64_t matches, int index, full_key key)
{
    int dx = (int)(key & 255) - 128, dy = (int)(key >> 8 & 255) - 128;
    *((volatile full_key *)matches + index) =
        key & 0xffffffff00000000ull | (uint32_t)dy << 16 | (dx & 0xffff);
}

// At once, since the exhaustive kernel may be looking.
static __device__ __forceinline__ void write_group(uint64_t groups, uint32_t index,
                                                   const mvf_full_group &group)
{
    *((volatile unsigned long long *)groups + index) =
        (unsigned long long)group.launch << 32 | group.place;
}

static __device__ __forceinline__ mvf_full_group read_group(uint64_t groups, uint32_t index)
{
    unsigned long long group = *((const volatile unsigned long long *)groups + index);
    return {(uint32_t)group, (uint32_t)(group >> 32)};
}

// The vectors of rule.h that lie in one window of 65 x 65, counted from the window's first.
struct window_rect {
    int x0, x1, y0, y1;
};

static __device__ __forceinline__ window_rect allowed_vectors(const mvf_full_params &p, int bx,
                                                              int by, int vw, int vh, int ox,
                                                              int oy)
{
    mvf_window all =
        mvf_rule_window(bx, by, vw, vh, p.width, p.height, p.range_x, p.range_y, p.inside);
    return {max(all.x_min - ox, 0), min(all.x_max - ox, 64), max(all.y_min - oy, 0),
            min(all.y_max - oy, 64)};
}

#endif
