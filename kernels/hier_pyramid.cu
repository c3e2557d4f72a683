// What method hier has of each plane beside the frame: its levels, and sums of the top level's
// cells.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"
#include "sad.h"

#define RUN MVF_PYRAMID_RUN
// A run of the level is made of samples 2x - 1 to 2x + 8 of the one below, which are among the
// samples 2x - 4 to 2x + 11 in whole words.
#define SPAN 16
#define FIRST 3
#define LAST 12

static __device__ int32_t clamp_to(int32_t value, int32_t top)
{
    return min(max(value, 0), top);
}

template <typename Sample>
static __device__ const Sample *row_below(const mvf_halve_params &p, int32_t y)
{
    y = clamp_to(y, p.from_height - 1);
    return (const Sample *)(p.frames[blockIdx.z] + p.from + y * p.from_stride_bytes);
}

// Weights 1, 3, 3, 1 of four values.
static __device__ uint32_t weigh(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return a + d + 3 * (b + c);
}

// One sample of the level, whose border repeats its edge.
template <typename Sample>
static __device__ Sample halve_sample(const mvf_halve_params &p, int32_t x, int32_t y)
{
    uint32_t rows[4];
    x = 2 * clamp_to(x, p.width - 1);
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
        const Sample *row = row_below<Sample>(p, 2 * y - 1 + i);
        rows[i] =
            weigh(row[clamp_to(x - 1, p.from_width - 1)], row[x],
                  row[clamp_to(x + 1, p.from_width - 1)], row[clamp_to(x + 2, p.from_width - 1)]);
    }
    return (Sample)((weigh(rows[0], rows[1], rows[2], rows[3]) + 32) >> 6);
}

// Samples of a run all inside the level: what lies outside the one below is there in its border.
template <typename Sample>
static __device__ void halve_run(const mvf_halve_params &p, int32_t x, int32_t y,
                                 Sample (&run)[RUN])
{
    constexpr int32_t per_word = 4 / sizeof(Sample);
    constexpr uint32_t mask = sizeof(Sample) == 1 ? 0xff : 0xffff;
    uint32_t columns[SPAN] = {};
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
        const uint32_t *row = (const uint32_t *)(row_below<Sample>(p, 2 * y - 1 + i) + 2 * x - 4);
#pragma unroll
        for (int32_t w = FIRST / per_word; w <= LAST / per_word; w++) {
            uint32_t word = row[w];
#pragma unroll
            for (int32_t k = 0; k < per_word; k++)
                columns[w * per_word + k] +=
                    (i == 1 || i == 2 ? 3 : 1) * (word >> 8 * sizeof(Sample) * k & mask);
        }
    }
#pragma unroll
    for (int32_t i = 0; i < RUN; i++) {
        const uint32_t *c = columns + FIRST + 2 * i;
        run[i] = (Sample)((weigh(c[0], c[1], c[2], c[3]) + 32) >> 6);
    }
}

// One thread writes a run of one row of the level with its borders.
template <typename Sample> static __device__ void halve(const mvf_halve_params &p)
{
    int32_t x = RUN * (blockIdx.x * MVF_PYRAMID_THREADS + threadIdx.x) - p.border_left;
    int32_t row = blockIdx.y, y = clamp_to(row - p.border_top, p.height - 1);
    int64_t offset = (x + p.border_left) * (int64_t)sizeof(Sample);
    if (offset >= p.to_stride_bytes)
        return;
    union {
        Sample samples[RUN];
        uint32_t words[sizeof(Sample)];
    } out;
    if (x >= 0 && x + RUN <= p.width) {
        halve_run(p, x, y, out.samples);
    } else {
#pragma unroll
        for (int32_t i = 0; i < RUN; i++)
            out.samples[i] = halve_sample<Sample>(p, x + i, y);
    }
    uint32_t *to = (uint32_t *)(p.frames[blockIdx.z] + p.to + row * p.to_stride_bytes + offset);
#pragma unroll
    for (int32_t i = 0; i < (int32_t)sizeof(Sample); i++)
        to[i] = out.words[i];
}

extern "C" __global__ void __launch_bounds__(MVF_PYRAMID_THREADS)
    halve_8(const __grid_constant__ mvf_halve_params p)
{
    halve<uint8_t>(p);
}

extern "C" __global__ void __launch_bounds__(MVF_PYRAMID_THREADS)
    halve_16(const __grid_constant__ mvf_halve_params p)
{
    halve<uint16_t>(p);
}

// One thread sums up the cells that begin at RUN samples of a row: their absolute differences from
// zero.
template <typename Sample> static __device__ void sum_cells(const mvf_cell_params &p)
{
    int32_t x = RUN * (blockIdx.x * MVF_PYRAMID_THREADS + threadIdx.x), y = blockIdx.y;
    if (x >= p.n_cols)
        return;
    uint32_t sums[RUN] = {};
    const uint8_t *row = (const uint8_t *)(p.frames[blockIdx.z] + p.from) +
                         y * p.from_stride_bytes + x * sizeof(Sample);
    for (int32_t i = 0; i < p.cell_h; i++) {
        const uint32_t *words = (const uint32_t *)row;
        for (int32_t w = 0; w < p.cell_w * (int32_t)sizeof(Sample) / 4; w++) {
            const uint32_t zero[1] = {0}, all[1] = {0xffffffffu};
            add_words<Sample, 1, false>(sums, zero, words + w, all);
        }
        row += p.from_stride_bytes;
    }
    uint2 out = {sums[0] >> p.shift | sums[1] >> p.shift << 16,
                 sums[2] >> p.shift | sums[3] >> p.shift << 16};
    *(uint2 *)(p.frames[blockIdx.z] + p.to + y * p.to_stride_bytes + x * sizeof(uint16_t)) = out;
}

extern "C" __global__ void __launch_bounds__(MVF_PYRAMID_THREADS)
    sum_cells_8(const __grid_constant__ mvf_cell_params p)
{
    sum_cells<uint8_t>(p);
}

extern "C" __global__ void __launch_bounds__(MVF_PYRAMID_THREADS)
    sum_cells_16(const __grid_constant__ mvf_cell_params p)
{
    sum_cells<uint16_t>(p);
}
