/*
 * vectors.h - vectors as words: x in the lower half, y in the upper one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_VECTORS_H
#define MVF_KERNELS_VECTORS_H

#include <stdint.h>

static __device__ __forceinline__ int32_t x_of(uint32_t v)
{
    return (int16_t)(v & 0xffff);
}

static __device__ __forceinline__ int32_t y_of(uint32_t v)
{
    return (int16_t)(v >> 16);
}

static __device__ __forceinline__ uint32_t vector_of(int32_t x, int32_t y)
{
    return (uint32_t)x & 0xffff | (uint32_t)y << 16;
}

static __device__ __forceinline__ int32_t distance(uint32_t a, uint32_t b)
{
    return (int32_t)__sad(x_of(a), x_of(b), __sad(y_of(a), y_of(b), 0u));
}

#endif
