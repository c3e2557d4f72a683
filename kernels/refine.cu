// Sub-sample refinement by subpel_rule.h of samples of 9 to 16 bits (refine_matrix.cu has 8): one
// thread block for each block of the frame, after a search for whole samples has written its match,
// which is replaced.
//
// The reference round the match, and for h264 its half samples, lie in shared memory. A thread
// takes one tile (8 x 8 or 4 x 4) of one candidate at a time, keeps the differences in registers
// and transforms them there; all candidates of a step are tried at once and then compared in order.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "differences.h"
#include "instructions.h"
#include "params.h"
#include "refine_block.h"
#include "search/metric_rule.h"
#include "search/subpel_rule.h"

#define MARGIN MVF_SUBPEL_MARGIN

// What the threads of a block share beside the samples.
struct refine_shared {
    // Of the centre and its neighbours.
    uint32_t cost[9];
    // The best vector in quarter samples, from the whole-sample match on.
    int32_t x, y;
    uint32_t best_cost, best_j;
};

// The block, and its samples in shared memory.
struct sampled_block : refine_block {
    mvf_guide_vector predictor;
    int32_t pitch, patch_pitch, half_pitch;
    // Sample (0, 0) of the block, of the reference at the match, and of the half samples right of,
    // below and diagonally after each reference sample.
    const uint16_t *current, *patch, *right, *below, *centre;
};

static __device__ uint16_t load_sample(const mvf_refine_params &params, uint64_t plane, int32_t x,
                                       int32_t y)
{
    const uint16_t *row =
        (const uint16_t *)((const uint8_t *)plane +
                           mvf_rule_clip(y, params.height - 1) * params.stride_bytes);
    return row[mvf_rule_clip(x, params.width - 1)];
}

static __device__ void load_patch(const mvf_refine_params &params, uint16_t *to, int32_t pitch,
                                  uint64_t plane, int32_t x, int32_t y, int32_t w, int32_t h)
{
    for (int32_t i = threadIdx.x; i < w * h; i += blockDim.x)
        to[i / w * pitch + i % w] = load_sample(params, plane, x + i % w, y + i / w);
}

static __device__ int32_t taps_along(const uint16_t *p, int32_t step)
{
    return mvf_rule_taps_h264(p[-2 * step], p[-step], p[0], p[step], p[2 * step], p[3 * step]);
}

static __device__ int32_t taps_both(const uint16_t *p, int32_t pitch)
{
    int32_t rows[6];
#pragma unroll
    for (int32_t i = 0; i < 6; i++)
        rows[i] = taps_along(p + (i - 2) * pitch, 1);
    return mvf_rule_taps_h264(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]);
}

// Half samples of columns -1 to w and rows -1 to h.
static __device__ void make_half_samples(const mvf_refine_params &params, const sampled_block &b,
                                         uint16_t *right, uint16_t *below, uint16_t *centre)
{
    int32_t top = (1 << params.bit_depth) - 1, w = b.w + 2, h = b.h + 2;
    for (int32_t i = threadIdx.x; i < w * h; i += blockDim.x) {
        int32_t x = i % w - 1, y = i / w - 1;
        const uint16_t *p = b.patch + y * b.patch_pitch + x;
        int32_t to = y * b.half_pitch + x;
        right[to] = (uint16_t)mvf_rule_clip((taps_along(p, 1) + 16) >> 5, top);
        below[to] = (uint16_t)mvf_rule_clip((taps_along(p, b.patch_pitch) + 16) >> 5, top);
        centre[to] = (uint16_t)mvf_rule_clip((taps_both(p, b.patch_pitch) + 512) >> 10, top);
    }
}

// The samples at an even phase up to 4, from (x, y) on.
static __device__ const uint16_t *half_samples(const sampled_block &b, int32_t phase_x,
                                               int32_t phase_y, int32_t x, int32_t y,
                                               int32_t *pitch)
{
    x += phase_x >> 2;
    y += phase_y >> 2;
    int32_t which = (phase_x & 2) / 2 + (phase_y & 2);
    *pitch = which ? b.half_pitch : b.patch_pitch;
    const uint16_t *plane = which == 0   ? b.patch
                            : which == 1 ? b.right
                            : which == 2 ? b.below
                                         : b.centre;
    return plane + y * *pitch + x;
}

template <int32_t Tile>
static __device__ void predict_h264(int32_t (&d)[Tile * Tile], const sampled_block &b, int32_t x,
                                    int32_t y, int32_t phase_x, int32_t phase_y)
{
    int32_t ax, ay, bx, by, pitch, other_pitch;
    mvf_rule_h264_pair(phase_x, phase_y, &ax, &ay, &bx, &by);
    const uint16_t *p = half_samples(b, ax, ay, x, y, &pitch);
    const uint16_t *q = half_samples(b, bx, by, x, y, &other_pitch);
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
#pragma unroll
        for (int32_t j = 0; j < Tile; j++)
            d[i * Tile + j] = (p[i * pitch + j] + q[i * other_pitch + j] + 1) >> 1;
}

// Row by row, each of which adds to the sums of up to eight rows of the tile.
template <int32_t Tile>
static __device__ void predict_hevc(int32_t (&d)[Tile * Tile], const sampled_block &b, int32_t x,
                                    int32_t y, int32_t phase_x, int32_t phase_y, int32_t bit_depth)
{
    int32_t across[8], down[8];
    int32_t first = mvf_rule_hevc_first_shift(bit_depth),
            last = mvf_rule_hevc_last_shift(bit_depth);
#pragma unroll
    for (int32_t i = 0; i < 8; i++) {
        across[i] = mvf_rule_tap_hevc(phase_x, i);
        down[i] = mvf_rule_tap_hevc(phase_y, i);
    }
#pragma unroll
    for (int32_t i = 0; i < Tile * Tile; i++)
        d[i] = 0;
#pragma unroll
    for (int32_t row = 0; row < Tile + 7; row++) {
        const uint16_t *p = b.patch + (y + row - 3) * b.patch_pitch + x - 3;
#pragma unroll
        for (int32_t j = 0; j < Tile; j++) {
            int32_t sum = 0;
#pragma unroll
            for (int32_t k = 0; k < 8; k++)
                sum += across[k] * p[j + k];
            sum >>= first;
#pragma unroll
            for (int32_t i = 0; i < Tile; i++)
                if (row - i >= 0 && row - i < 8)
                    d[i * Tile + j] += down[row - i] * sum;
        }
    }
#pragma unroll
    for (int32_t i = 0; i < Tile * Tile; i++)
        d[i] = mvf_rule_clip(((d[i] >> 6) + (1 << (last - 1))) >> last, (1 << bit_depth) - 1);
}

template <int32_t Tile>
static __device__ void predict_bilinear(int32_t (&d)[Tile * Tile], const sampled_block &b,
                                        int32_t x, int32_t y, int32_t fx, int32_t fy)
{
    const uint16_t *p = b.patch + y * b.patch_pitch + x;
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
#pragma unroll
        for (int32_t j = 0; j < Tile; j++) {
            const uint16_t *s = p + i * b.patch_pitch + j;
            int32_t above = (4 - fx) * s[0] + fx * s[1];
            int32_t under = (4 - fx) * s[b.patch_pitch] + fx * s[b.patch_pitch + 1];
            d[i * Tile + j] = ((4 - fy) * above + fy * under + 8) >> 4;
        }
}

// Differences of the tile at (x, y) of the block; zero where nothing is visible.
template <int32_t Tile>
static __device__ void subtract(int32_t (&d)[Tile * Tile], const sampled_block &b, int32_t x,
                                int32_t y)
{
    const uint16_t *c = b.current + y * b.pitch + x;
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
#pragma unroll
        for (int32_t j = 0; j < Tile; j++)
            d[i * Tile + j] = x + j < b.w && y + i < b.h ? c[i * b.pitch + j] - d[i * Tile + j] : 0;
}

// Adds up the costs of candidates `first` to 8 round the best vector.
template <int32_t Filter, int32_t Tile>
static __device__ void evaluate(const mvf_refine_params &params, const sampled_block &b,
                                refine_shared &shared, int32_t first, int32_t distance)
{
    int32_t tiles_across = (b.w + Tile - 1) / Tile;
    int32_t n_tiles = tiles_across * ((b.h + Tile - 1) / Tile);
    for (int32_t item = threadIdx.x; item < (9 - first) * n_tiles; item += blockDim.x) {
        int32_t which = first + item / n_tiles, tile = item % n_tiles;
        int32_t x = tile % tiles_across * Tile, y = tile / tiles_across * Tile;
        int32_t vx = shared.x + candidate_x(which, distance);
        int32_t vy = shared.y + candidate_y(which, distance);
        int32_t d[Tile * Tile];
        if (Filter == MVF_FILTER_H264)
            predict_h264<Tile>(d, b, x + (vx >> 2), y + (vy >> 2), vx & 3, vy & 3);
        else if (Filter == MVF_FILTER_HEVC)
            predict_hevc<Tile>(d, b, x + (vx >> 2), y + (vy >> 2), vx & 3, vy & 3,
                               params.bit_depth);
        else
            predict_bilinear<Tile>(d, b, x + (vx >> 2), y + (vy >> 2), vx & 3, vy & 3);
        subtract<Tile>(d, b, x, y);
        atomicAdd(&shared.cost[which], tile_cost<Tile>(d, params.metric));
    }
}

static __device__ void choose(const mvf_refine_params &params, const sampled_block &b,
                              refine_shared &shared, int32_t first, int32_t distance)
{
    int32_t centre_x = shared.x, centre_y = shared.y;
    for (int32_t i = first; i < 9; i++) {
        int32_t vx = centre_x + candidate_x(i, distance), vy = centre_y + candidate_y(i, distance);
        int32_t x = 4 * b.match_x + vx, y = 4 * b.match_y + vy;
        uint32_t j =
            shared.cost[i] + mvf_rule_rate(&params.rate, x - b.predictor.x, y - b.predictor.y);
        if (!is_candidate(params, b, i, x, y))
            continue;
        if (i == 0 || j < shared.best_j) {
            shared.best_j = j;
            shared.best_cost = shared.cost[i];
            shared.x = vx;
            shared.y = vy;
        }
    }
}

template <int32_t Filter, int32_t Tile>
static __device__ void take_step(const mvf_refine_params &params, const sampled_block &b,
                                 refine_shared &shared, int32_t first, int32_t distance)
{
    if (threadIdx.x < 9)
        shared.cost[threadIdx.x] = 0;
    __syncthreads();
    evaluate<Filter, Tile>(params, b, shared, first, distance);
    __syncthreads();
    if (threadIdx.x == 0)
        choose(params, b, shared, first, distance);
    __syncthreads();
}

static __device__ sampled_block locate(const mvf_refine_params &params, const mvf_search_pair &pair,
                                       const refine_match &match)
{
    sampled_block b;
    int32_t col = (int32_t)blockIdx.x % params.cols, row = (int32_t)blockIdx.x / params.cols;
    (refine_block &)b = refine_locate(params, match, col, row);
    b.predictor = refine_predictor(params, pair, col, row);
    b.pitch = params.block_w;
    b.patch_pitch = params.block_w + 2 * MARGIN;
    b.half_pitch = params.block_w + 2;
    return b;
}

template <int32_t Filter, int32_t Tile>
static __device__ void refine(const mvf_refine_params &params)
{
    DYNAMIC_SHARED(uint16_t, refine_samples);
    __shared__ refine_shared shared;
    const mvf_search_pair &pair = params.pairs[blockIdx.z];
    refine_match *match = (refine_match *)pair.matches + params.first_match + blockIdx.x;
    sampled_block b = locate(params, pair, *match);
    uint16_t *current = refine_samples;
    uint16_t *patch = current + params.block_w * params.block_h;
    uint16_t *halves = patch + b.patch_pitch * (params.block_h + 2 * MARGIN);
    int32_t half_size = b.half_pitch * (params.block_h + 2), half_origin = b.half_pitch + 1;
    b.current = current;
    b.patch = patch + MARGIN * b.patch_pitch + MARGIN;
    b.right = halves + half_origin;
    b.below = b.right + half_size;
    b.centre = b.below + half_size;
    if (threadIdx.x == 0)
        shared.x = shared.y = 0;
    load_patch(params, current, b.pitch, pair.current, b.x, b.y, b.w, b.h);
    load_patch(params, patch, b.patch_pitch, pair.reference, b.x + b.match_x - MARGIN,
               b.y + b.match_y - MARGIN, b.w + 2 * MARGIN, b.h + 2 * MARGIN);
    __syncthreads();
    if (Filter == MVF_FILTER_H264)
        make_half_samples(params, b, halves + half_origin, halves + half_size + half_origin,
                          halves + 2 * half_size + half_origin);
    take_step<Filter, Tile>(params, b, shared, 0, 2);
    if (params.quarter)
        take_step<Filter, Tile>(params, b, shared, 1, 1);
    if (threadIdx.x == 0) {
        match->x = (int16_t)(4 * b.match_x + shared.x);
        match->y = (int16_t)(4 * b.match_y + shared.y);
        match->cost = shared.best_cost;
    }
}

#define REFINE(name, filter, tile)                                                      \
    extern "C" __global__ void __launch_bounds__(MVF_REFINE_THREADS, MVF_REFINE_BLOCKS) \
        name(const __grid_constant__ mvf_refine_params params)                          \
    {                                                                                   \
        refine<filter, tile>(params);                                                   \
    }

REFINE(refine_h264_8, MVF_FILTER_H264, 8)
REFINE(refine_h264_4, MVF_FILTER_H264, 4)
REFINE(refine_hevc_8, MVF_FILTER_HEVC, 8)
REFINE(refine_hevc_4, MVF_FILTER_HEVC, 4)
REFINE(refine_bilinear_8, MVF_FILTER_BILINEAR, 8)
REFINE(refine_bilinear_4, MVF_FILTER_BILINEAR, 4)
