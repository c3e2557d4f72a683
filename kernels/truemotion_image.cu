// Pictures prepared for true motion: steps 1 to 3 of search/truemotion.h, and the guides of step 8.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"
#include "search/truemotion_rule.h"

static __device__ int32_t clamp_to(int32_t value, int32_t top)
{
    return min(max(value, 0), top);
}

// Level 0: one thread a sample, its column in x, its row in y.
template <typename Sample> static __device__ void blur(const mvf_tm_image_params &p)
{
    constexpr uint32_t weights[3] = {11, 42, 11};
    int32_t x = blockIdx.x * MVF_TM_THREADS + threadIdx.x, y = blockIdx.y;
    if (x >= p.width)
        return;
    uint32_t sum = 1u << (p.bit_depth - 1);
#pragma unroll
    for (int32_t j = 0; j < 3; j++) {
        const Sample *row =
            (const Sample *)(p.from + clamp_to(y + j - 1, p.height - 1) * p.from_stride_bytes);
#pragma unroll
        for (int32_t i = 0; i < 3; i++)
            sum += weights[i] * weights[j] * row[clamp_to(x + i - 1, p.width - 1)];
    }
    ((uint16_t *)p.to)[(int64_t)y * p.width + x] = (uint16_t)(sum >> p.bit_depth);
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS)
    truemotion_blur_8(mvf_tm_image_params p)
{
    blur<uint8_t>(p);
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS)
    truemotion_blur_16(mvf_tm_image_params p)
{
    blur<uint16_t>(p);
}

// The next level's samples from those of the level before.
extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_halve(mvf_tm_image_params p)
{
    constexpr uint32_t weights[4] = {1, 3, 3, 1};
    int32_t x = blockIdx.x * MVF_TM_THREADS + threadIdx.x, y = blockIdx.y;
    if (x >= p.width)
        return;
    const uint16_t *from = (const uint16_t *)p.from;
    uint32_t sum = 32;
#pragma unroll
    for (int32_t j = 0; j < 4; j++) {
        const uint16_t *row =
            from + (int64_t)clamp_to(2 * y - 1 + j, p.from_height - 1) * p.from_width;
#pragma unroll
        for (int32_t i = 0; i < 4; i++)
            sum += weights[i] * weights[j] * row[clamp_to(2 * x - 1 + i, p.from_width - 1)];
    }
    ((uint16_t *)p.to)[(int64_t)y * p.width + x] = (uint16_t)(sum >> 6);
}

#define TILE_W MVF_TM_TILE_W
#define TILE_H MVF_TM_TILE_H

// A tile's samples, and those of one phase with a margin of one for gradients.
struct feature_tile {
    int16_t samples[TILE_H + 5][TILE_W + 5];
    int16_t phase[TILE_H + 2][TILE_W + 2];
};

// The phase sample whose four by four samples begin at `row`, `col` of the tile.
static __device__ int16_t phase_sample(const feature_tile &tile, int32_t row, int32_t col,
                                       int32_t phase)
{
    int32_t half_x = phase & 1, half_y = phase >> 1, rows[4];
#pragma unroll
    for (int32_t j = 0; j < 4; j++) {
        const int16_t *s = &tile.samples[row + j][col];
        rows[j] = half_x ? 9 * (s[1] + s[2]) - s[0] - s[3] : 16 * s[1];
    }
    int32_t sum = half_y ? 9 * (rows[1] + rows[2]) - rows[0] - rows[3] : 16 * rows[1];
    return (int16_t)clamp_to((sum + 128) >> 8, MVF_TM_SAMPLE_MAX);
}

static __device__ uint32_t gradient(int32_t before, int32_t after)
{
    return (uint32_t)clamp_to(128 + ((after - before + 4) >> 3), 255);
}

static __device__ uint32_t brightness(int32_t sample)
{
    return (uint32_t)min((sample + 8) >> 4, 255);
}

// The mean brightness of each cell of CELL x CELL px that begins in the tile. Cells go on outside
// the frame, as the tile's samples do.
template <int32_t CELL>
static __device__ void write_guides(const mvf_tm_image_params &p, const feature_tile &tile,
                                    int32_t first_x, int32_t first_y, int64_t guide)
{
    constexpr int32_t across = TILE_W / CELL, n = CELL * CELL;
    int32_t in_x = (int32_t)threadIdx.x % across * CELL,
            in_y = (int32_t)threadIdx.x / across * CELL;
    int32_t x = first_x + in_x, y = first_y + in_y;
    if (in_y >= TILE_H || x < 0 || y < 0 || x >= p.width || y >= p.height)
        return;
    uint32_t sum = n / 2;
#pragma unroll
    for (int32_t i = 0; i < n; i++)
        sum += brightness(tile.samples[in_y + 2 + i / CELL][in_x + 2 + i % CELL]);
    int64_t cols = (p.width + CELL - 1) / CELL;
    ((uint8_t *)(p.image + guide))[y / CELL * cols + x / CELL] = (uint8_t)(sum / n);
}

static_assert(MVF_TM_BORDER % TILE_H == 0 && TILE_H % MVF_TM_CELL_PX == 0 &&
                  TILE_W % MVF_TM_CELL_PX == 0 && MVF_TM_BORDER % MVF_TM_CELL_PX == 0,
              "cells do not cross tiles");

// Features of all phases, borders included, guides, and, where it is wanted, the level at 8 bits.
extern "C" __global__ void __launch_bounds__(MVF_TM_TILE_THREADS)
    truemotion_features(mvf_tm_image_params p)
{
    __shared__ feature_tile tile;
    int32_t thread = threadIdx.x, in_x = thread % TILE_W, in_y = thread / TILE_W;
    int32_t first_x = (int32_t)blockIdx.x * TILE_W - MVF_TM_BORDER;
    int32_t first_y = (int32_t)blockIdx.y * TILE_H - MVF_TM_BORDER;
    const uint16_t *from = (const uint16_t *)p.from;
    for (int32_t i = thread; i < (TILE_W + 5) * (TILE_H + 5); i += MVF_TM_TILE_THREADS) {
        int32_t col = i % (TILE_W + 5), row = i / (TILE_W + 5);
        tile.samples[row][col] =
            (int16_t)from[(int64_t)clamp_to(first_y + row - 2, p.height - 1) * p.width +
                          clamp_to(first_x + col - 2, p.width - 1)];
    }
    __syncthreads();
    int32_t x = first_x + in_x, y = first_y + in_y;
    int32_t exists = x < p.width + MVF_TM_BORDER && y < p.height + MVF_TM_BORDER;
    if (p.luma && x >= 0 && y >= 0 && x < p.width && y < p.height)
        ((uint8_t *)(p.image + p.luma))[(int64_t)y * p.width + x] =
            (uint8_t)brightness(tile.samples[in_y + 2][in_x + 2]);
    if (p.wide_guide)
        write_guides<MVF_TM_CELL_PX>(p, tile, first_x, first_y, p.wide_guide);
    if (p.narrow_guide)
        write_guides<MVF_TM_COARSE_CELL_PX>(p, tile, first_x, first_y, p.narrow_guide);
    for (int32_t phase = 0; phase < 4; phase++) {
        for (int32_t i = thread; i < (TILE_W + 2) * (TILE_H + 2); i += MVF_TM_TILE_THREADS)
            tile.phase[i / (TILE_W + 2)][i % (TILE_W + 2)] =
                phase_sample(tile, i / (TILE_W + 2), i % (TILE_W + 2), phase);
        __syncthreads();
        const int16_t *at = &tile.phase[in_y + 1][in_x + 1];
        uint32_t *to = (uint32_t *)(p.image + p.features + phase * p.phase_bytes);
        if (exists)
            to[(int64_t)y * p.stride_px + x] = (uint32_t)(*at + 32) >> 6 |
                                               gradient(at[-1], at[1]) << 8 |
                                               gradient(at[-(TILE_W + 2)], at[TILE_W + 2]) << 16;
        __syncthreads();
    }
}
