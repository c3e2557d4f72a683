// What method hier has of each plane beside the frame: its levels, and sums of the top level's
// cells.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"
#include "sad.h"

#define RUN MVF_PYRAMID_RUN
#define ROWS MVF_PYRAMID_ROWS
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

// A run of the level in words, from the four rows below it.
static __device__ void weigh_run(uint32_t (&run)[2], const uint16_t *const (&rows)[4])
{
    uint32_t columns[SPAN] = {}, samples[RUN];
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
        const uint32_t *row = (const uint32_t *)rows[i];
#pragma unroll
        for (int32_t w = FIRST / 2; w <= LAST / 2; w++) {
            uint32_t word = __ldg(row + w), weight = i == 1 || i == 2 ? 3 : 1;
            columns[2 * w] += weight * (word & 0xffff);
            columns[2 * w + 1] += weight * (word >> 16);
        }
    }
#pragma unroll
    for (int32_t i = 0; i < RUN; i++) {
        const uint32_t *c = columns + FIRST + 2 * i;
        samples[i] = (weigh(c[0], c[1], c[2], c[3]) + 32) >> 6;
    }
    run[0] = samples[0] | samples[1] << 16;
    run[1] = samples[2] | samples[3] << 16;
}

// The same for bytes, two at a time: no sum takes more than 16 bits.
static __device__ void weigh_run(uint32_t (&run)[1], const uint8_t *const (&rows)[4])
{
    uint32_t even[SPAN / 4] = {}, odd[SPAN / 4] = {}, pairs[RUN / 2];
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
        const uint32_t *row = (const uint32_t *)rows[i];
#pragma unroll
        for (int32_t w = 0; w < SPAN / 4; w++) {
            uint32_t word = __ldg(row + w), weight = i == 1 || i == 2 ? 3 : 1;
            even[w] += weight * (word & 0x00ff00ffu);
            odd[w] += weight * __byte_perm(word, 0, 0x4341);
        }
    }
#pragma unroll
    for (int32_t i = 0; i < RUN / 2; i++) {
        uint32_t before = __byte_perm(odd[i], odd[i + 1], 0x5432);
        uint32_t after = __byte_perm(even[i + 1], even[i + 2], 0x5432);
        pairs[i] = (weigh(before, even[i + 1], odd[i + 1], after) + 32 * 0x10001u) >> 6;
    }
    run[0] = __byte_perm(pairs[0], pairs[1], 0x6420);
}

// Its first sample, or its last one, all over.
static __device__ void repeat_edge(uint32_t (&run)[1], bool is_first)
{
    run[0] = __byte_perm(run[0], 0, is_first ? 0x0000 : 0x3333);
}

static __device__ void repeat_edge(uint32_t (&run)[2], bool is_first)
{
    run[0] = run[1] = is_first ? __byte_perm(run[0], 0, 0x1010) : __byte_perm(run[1], 0, 0x3232);
}

// Samples of a run all inside the level: what lies outside the one below is there in its border.
template <typename Sample>
static __device__ void halve_run(const mvf_halve_params &p, int32_t x, int32_t y,
                                 uint32_t (&run)[sizeof(Sample)])
{
    const Sample *rows[4];
#pragma unroll
    for (int32_t i = 0; i < 4; i++)
        rows[i] = row_below<Sample>(p, 2 * y - 1 + i) + 2 * x - 4;
    weigh_run(run, rows);
}

// One thread writes a run of one row of the level with its borders.
template <typename Sample> static __device__ void halve(const mvf_halve_params &p)
{
    int32_t x = RUN * (blockIdx.x * MVF_PYRAMID_THREADS + threadIdx.x) - p.border_left;
    int32_t row = blockIdx.y, y = clamp_to(row - p.border_top, p.height - 1);
    int64_t offset = (x + p.border_left) * (int64_t)sizeof(Sample);
    if (offset >= p.to_stride_bytes)
        return;
    uint32_t run[sizeof(Sample)] = {};
    // Where words allow it, a run that is all border is made from the edge's.
    int32_t inside = clamp_to(x, p.width - RUN);
    bool is_whole = inside == x || x + RUN <= 0 || x >= p.width;
    if (p.width >= RUN && inside % 2 == 0 && is_whole) {
        halve_run<Sample>(p, inside, y, run);
        if (inside != x)
            repeat_edge(run, x < 0);
    } else {
#pragma unroll
        for (int32_t i = 0; i < RUN; i++)
            run[i * sizeof(Sample) / 4] |= (uint32_t)halve_sample<Sample>(p, x + i, y)
                                           << 8 * (i * sizeof(Sample) % 4);
    }
    uint32_t *to = (uint32_t *)(p.frames[blockIdx.z] + p.to + row * p.to_stride_bytes + offset);
#pragma unroll
    for (int32_t i = 0; i < (int32_t)sizeof(Sample); i++)
        to[i] = run[i];
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

// Adds one row of the cells: their absolute differences from zero.
template <typename Sample>
static __device__ void add_row(uint32_t (&sums)[RUN], const uint8_t *row, int32_t n_words)
{
    constexpr int32_t more = ((RUN - 1) * (int32_t)sizeof(Sample) + 3) / 4;
    const uint32_t *from = (const uint32_t *)row;
    uint32_t words[more + 1];
#pragma unroll
    for (int32_t i = 0; i < more; i++)
        words[i + 1] = __ldg(from + i);
    for (int32_t w = 0; w < n_words; w++) {
#pragma unroll
        for (int32_t i = 0; i < more; i++)
            words[i] = words[i + 1];
        words[more] = __ldg(from + w + more);
#pragma unroll
        for (int32_t k = 0; k < RUN; k++)
            sums[k] = sad_word<Sample>(word_at_sample<Sample>(words, k), 0, sums[k]);
    }
}

// One thread sums up the cells that begin at RUN samples of ROWS rows: all rows from the first one
// on, less those above a cell.
template <typename Sample>
static __device__ void sum_cells(const mvf_cell_params &p, int32_t cell_w, int32_t cell_h)
{
    int32_t x = RUN * (blockIdx.x * MVF_PYRAMID_THREADS + threadIdx.x), y = ROWS * blockIdx.y;
    if (x >= p.n_cols)
        return;
    int32_t n_words = cell_w * (int32_t)sizeof(Sample) / 4;
    uint32_t sums[RUN] = {}, above[ROWS][RUN];
    const uint8_t *row = (const uint8_t *)(p.frames[blockIdx.z] + p.from) +
                         y * p.from_stride_bytes + x * sizeof(Sample);
    uint8_t *to =
        (uint8_t *)(p.frames[blockIdx.z] + p.to) + y * p.to_stride_bytes + x * sizeof(uint16_t);
#pragma unroll
    for (int32_t i = 0; i < ROWS; i++) {
#pragma unroll
        for (int32_t k = 0; k < RUN; k++)
            above[i][k] = sums[k];
        add_row<Sample>(sums, row + i * p.from_stride_bytes, n_words);
    }
    for (int32_t i = ROWS; i < cell_h; i++)
        add_row<Sample>(sums, row + i * p.from_stride_bytes, n_words);
    row += cell_h * p.from_stride_bytes;
#pragma unroll
    for (int32_t i = 0; i < ROWS; i++) {
        uint32_t own[RUN];
#pragma unroll
        for (int32_t k = 0; k < RUN; k++)
            own[k] = (sums[k] - above[i][k]) >> p.shift;
        *(uint2 *)(to + i * p.to_stride_bytes) =
            make_uint2(own[0] | own[1] << 16, own[2] | own[3] << 16);
        if (i + 1 < ROWS)
            add_row<Sample>(sums, row + i * p.from_stride_bytes, n_words);
    }
}

// The cells of the smallest blocks, which have the most of them, are known where kernels are
// compiled.
template <typename Sample> static __device__ void sum_cells(const mvf_cell_params &p)
{
    if (p.cell_w == 4 && p.cell_h == 4)
        sum_cells<Sample>(p, 4, 4);
    else
        sum_cells<Sample>(p, p.cell_w, p.cell_h);
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
