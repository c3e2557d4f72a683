// Sub-sample refinement by subpel_rule.h where it is the filter h264, samples of 8 bits and SATD by
// tiles of 8 x 8: the bits of refine.cu, with the transforms on the tensor cores.
//
// A warp takes a piece of a block, at most 16 x 16. First each lane makes the half samples of a
// column of the reference, from 3 above the piece to 3 below it. Words hold two samples, one above
// the other, as 16-bit integers: one word a sample, which it begins with, so that two planes may be
// averaged whatever rows they start in.
//
// Read as a half-precision number such an integer n is n * 2^-24, below the least normal number,
// and so a word is ready for a matrix product. The transform of a tile D is H D H with H the
// Hadamard matrix: H times two tiles, one above the other, is one product, whose result lies in the
// lanes as the left factor of the next one has to, by H. All is exact: the first product's sums are
// at most 8 * 255 < 2^11, which a half holds, the second's less than 2^24. Since H (C - P) H = HCH
// - HPH, the current samples C are transformed once, and each prediction P is subtracted as it is
// multiplied.
//
// The coefficients of a tile are all even or all odd, as their number is even so is the sum of
// their magnitudes, and half of it is at most 32 * sqrt(64) * 255 = 65,280: so a word holds the
// sums of two tiles while the lanes add theirs up.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "instructions.h"
#include "params.h"
#include "refine_block.h"
#include "search/metric_rule.h"
#include "search/subpel_rule.h"
#include "warp.h"

#define PIECE MVF_REFINE_PIECE
#define PITCH MVF_REFINE_PLANE_PITCH
#define PLANE_WORDS MVF_REFINE_PLANE_WORDS

// The reference's columns and rows that the half samples round a piece are made of, from the first
// of the sample left of it and above it on.
#define BEFORE 3
#define TAPS_SIZE (PIECE + 6)
// Pairs of rows: from row -1 on, every second one.
#define N_PAIRS 9

// In both halves of a word.
#define BOTH(value) ((uint32_t)(value)*0x00010001u)
// What is added to keep sums of the taps positive, in samples: the least is -10 * 255 of 32 parts,
// and of both ways -840 * 255 of 1024.
#define BIAS 80
#define BIAS_BOTH_WAYS 210

// The best vector so far, in quarter samples from the whole-sample match on.
struct best_vector {
    int32_t x, y;
    uint32_t cost;
};

// A piece of the block, as its warp has it in registers. A strip is 8 wide and two tiles high; of
// each a lane has two pairs of rows in column (lane / 4): rows 2 * (lane % 4), and 8 below.
struct piece_state {
    // Transformed, as the tensor cores leave it.
    float current[2][4];
    // All bits where samples are visible.
    uint32_t visible[2][2];
    int32_t w, h;
};

static __device__ __forceinline__ int32_t lane_index()
{
    return (int32_t)(threadIdx.x & 31);
}

// Row (or column) lane / 4 of the Hadamard matrix, columns 2 * (lane % 4) and the next, as halves.
static __device__ __forceinline__ uint32_t hadamard_pair()
{
    int32_t row = lane_index() >> 2, col = (lane_index() & 3) * 2;
    uint32_t one = 0x3c003c00;
    one ^= (__popc(row & col) & 1) ? 0x8000u : 0;
    return one ^ ((__popc(row & (col + 1)) & 1) ? 0x80000000u : 0);
}

// Adds H D H of a strip of samples to z, or subtracts it where `negative` is the sign bits.
static __device__ __forceinline__ void add_transformed(float (&z)[4], const float (&to)[4],
                                                       uint32_t upper, uint32_t lower, uint32_t h,
                                                       uint32_t negative)
{
    float y[4];
    multiply_16x16(y, h, 0, 0, h, upper, lower);
    multiply_add_16x8(z, to, pack_halves(y[0], y[1]), pack_halves(y[2], y[3]), h ^ negative);
}

// The pair of rows that begins one row below the upper of two pairs.
static __device__ __forceinline__ uint32_t between(uint32_t above, uint32_t below)
{
    return __funnelshift_r(above, below, 16);
}

static __device__ __forceinline__ uint32_t taps(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                                uint32_t e, uint32_t f)
{
    return a + f + 20 * (c + d) - 5 * (b + e);
}

// Of sums that are `bias` samples too large.
static __device__ __forceinline__ uint32_t clip_samples(uint32_t sums, int32_t bias)
{
    return __viaddmin_s16x2_relu(sums, BOTH(0x10000 - bias), BOTH(255));
}

static __device__ __forceinline__ uint32_t half_samples(uint32_t sums)
{
    return clip_samples((sums + BOTH(16)) >> 5 & BOTH(0x7ff), BIAS);
}

// Pairs from row -1 on into the lane's column, and the ones between them.
static __device__ __forceinline__ void store_column(uint32_t *column,
                                                    const uint32_t (&pairs)[N_PAIRS])
{
#pragma unroll
    for (int32_t i = 0; i < N_PAIRS; i++) {
        column[2 * i * PITCH] = pairs[i];
        if (i + 1 < N_PAIRS)
            column[(2 * i + 1) * PITCH] = between(pairs[i], pairs[i + 1]);
    }
}

// Rows BEFORE above (x, y) and on of the lane's column, two in a word.
static __device__ __forceinline__ void load_column(uint32_t (&pairs)[TAPS_SIZE / 2],
                                                   const mvf_refine_params &params, uint64_t plane,
                                                   int32_t x, int32_t y)
{
    const uint8_t *column =
        (const uint8_t *)plane +
        max(min(x - BEFORE + min(lane_index(), TAPS_SIZE - 1), params.width - 1), 0);
    uint32_t stride_bytes = (uint32_t)params.stride_bytes;
    int32_t bottom = params.height - 1;
    uint32_t samples[TAPS_SIZE];
#pragma unroll
    for (int32_t i = 0; i < TAPS_SIZE; i++)
        samples[i] = column[(uint64_t)(uint32_t)max(min(y - BEFORE + i, bottom), 0) * stride_bytes];
#pragma unroll
    for (int32_t i = 0; i < TAPS_SIZE / 2; i++)
        pairs[i] = samples[2 * i] | samples[2 * i + 1] << 16;
}

// Sums of the taps along rows: (1, -5, 20, 20, -5, 1) is (1, -6, 26, -6, 1) of sums of two.
static __device__ __forceinline__ uint32_t taps_across(uint32_t pair)
{
    int32_t lane = lane_index();
    uint32_t two = pair + __shfl_sync(ALL_LANES, pair, lane + 1);
    uint32_t near = __shfl_sync(ALL_LANES, two, lane - 1) + __shfl_sync(ALL_LANES, two, lane + 1);
    uint32_t far = __shfl_sync(ALL_LANES, two, lane - 2) + __shfl_sync(ALL_LANES, two, lane + 2);
    return far + 26 * two - 6 * near + BOTH(32 * BIAS);
}

#define TAPS(first, second) ((second)*256 | ((first)&255))

static __device__ __forceinline__ uint32_t add_products(uint32_t pair, int32_t taps, uint32_t sum)
{
    return (uint32_t)__dp2a_lo((int32_t)pair, taps, (int32_t)sum);
}

// The planes of whole samples and of half ones right of, below and diagonally after each, from one
// left of the piece and above it on. Lanes 2 to 19 have the columns that are kept.
static __device__ __forceinline__ void make_planes(const mvf_refine_params &params,
                                                   uint32_t *planes, uint64_t reference, int32_t x,
                                                   int32_t y)
{
    uint32_t in[TAPS_SIZE / 2], out[N_PAIRS];
    uint32_t *column = planes + lane_index() - (BEFORE - 1);
    bool kept = lane_index() >= BEFORE - 1 && lane_index() < BEFORE - 1 + PIECE + 2;
    load_column(in, params, reference, x, y);
#pragma unroll
    for (int32_t i = 0; i < N_PAIRS; i++)
        out[i] = in[i + 1];
    if (kept)
        store_column(column, out);
#pragma unroll
    for (int32_t i = 0; i < N_PAIRS; i++) {
        uint32_t last = i + 3 < TAPS_SIZE / 2 ? in[i + 3] : 0;
        uint32_t sums = taps(in[i], between(in[i], in[i + 1]), in[i + 1],
                             between(in[i + 1], in[i + 2]), in[i + 2], between(in[i + 2], last));
        out[i] = half_samples(sums + BOTH(32 * BIAS));
    }
    if (kept)
        store_column(column + 2 * PLANE_WORDS, out);
#pragma unroll
    for (int32_t i = 0; i < TAPS_SIZE / 2; i++)
        in[i] = taps_across(in[i]);
#pragma unroll
    for (int32_t i = 0; i < N_PAIRS; i++)
        out[i] = half_samples(in[i + 1]);
    if (kept)
        store_column(column + PLANE_WORDS, out);
        // Pairs by pairs of taps; rows that are second in a pair have a tap in four of them.
#pragma unroll
    for (int32_t i = 0; i < N_PAIRS; i++) {
        const uint32_t round = 1024 * (BIAS_BOTH_WAYS - BIAS) + 512;
        uint32_t last = i + 3 < TAPS_SIZE / 2 ? in[i + 3] : 0;
        uint32_t first = add_products(in[i], TAPS(1, -5), round);
        first = add_products(in[i + 1], TAPS(20, 20), first);
        first = add_products(in[i + 2], TAPS(-5, 1), first);
        uint32_t second = add_products(in[i], TAPS(0, 1), round);
        second = add_products(in[i + 1], TAPS(-5, 20), second);
        second = add_products(in[i + 2], TAPS(20, -5), second);
        second = add_products(last, TAPS(1, 0), second);
        out[i] = clip_samples(first >> 10 | second >> 10 << 16, BIAS_BOTH_WAYS);
    }
    if (kept)
        store_column(column + 3 * PLANE_WORDS, out);
}

// The current samples of the piece at (x, y), of which w x h are visible.
template <bool Whole>
static __device__ __forceinline__ void load_current(const mvf_refine_params &params,
                                                    piece_state &piece, uint64_t plane, int32_t x,
                                                    int32_t y)
{
    int32_t row = (lane_index() & 3) * 2, col = lane_index() >> 2;
    uint32_t stride_bytes = (uint32_t)params.stride_bytes;
    const uint8_t *first =
        (const uint8_t *)plane + (uint64_t)(uint32_t)(y + row) * stride_bytes + (uint32_t)(x + col);
#pragma unroll
    for (int32_t strip = 0; strip < 2; strip++) {
        uint32_t words[2] = {0, 0};
#pragma unroll
        for (int32_t tile = 0; tile < 2; tile++) {
            piece.visible[strip][tile] = 0;
#pragma unroll
            for (int32_t i = 0; i < 2; i++)
                if (Whole || (col + 8 * strip < piece.w && row + 8 * tile + i < piece.h)) {
                    uint32_t sample =
                        first[(uint64_t)(uint32_t)(8 * tile + i) * stride_bytes + 8 * strip];
                    words[tile] |= sample << 16 * i;
                    piece.visible[strip][tile] |= 0xffffu << 16 * i;
                }
        }
        const float zero[4] = {0, 0, 0, 0};
        add_transformed(piece.current[strip], zero, words[0], words[1], hadamard_pair(), 0);
    }
}

// Half the sums of magnitudes of two tiles, and of all lanes: a sum n of magnitudes in units of
// 2^-24 makes the least bits of 2^23 + n / 2.
static __device__ __forceinline__ uint32_t sum_magnitudes(const float (&z)[4])
{
    const float unit = 8388608.0f;
    uint32_t upper = __float_as_uint(fmaf(fabsf(z[0]) + fabsf(z[1]), unit, unit));
    uint32_t lower = __float_as_uint(fmaf(fabsf(z[2]) + fabsf(z[3]), unit, unit));
    return warp_sum(__byte_perm(upper, lower, 0x5410));
}

static __device__ __forceinline__ uint32_t cost_of_tiles(uint32_t halves)
{
    return (((halves & 0xffff) + 1) >> 1) + (((halves >> 16) + 1) >> 1);
}

static __device__ __forceinline__ uint32_t average(uint32_t a, uint32_t b)
{
    return (a + b + BOTH(1)) >> 1 & BOTH(0xff);
}

// Where the samples at an even phase up to 4 begin among the planes.
static __device__ __forceinline__ int32_t plane_offset(int32_t x, int32_t y)
{
    int32_t plane = (x & 2) / 2 + (y & 2);
    return plane * PLANE_WORDS + ((y >> 2) + 1) * PITCH + (x >> 2) + 1;
}

// A strip of a candidate's prediction, or of the average of two, against the current samples.
template <bool Whole, bool Averaged>
static __device__ __forceinline__ uint32_t compare_strip(const piece_state &piece, int32_t strip,
                                                         const uint32_t *a, const uint32_t *b,
                                                         uint32_t h)
{
    float z[4];
    uint32_t words[2];
#pragma unroll
    for (int32_t tile = 0; tile < 2; tile++) {
        int32_t at = 8 * tile * PITCH + 8 * strip;
        words[tile] = Averaged ? average(a[at], b[at]) : a[at];
        if (!Whole)
            words[tile] &= piece.visible[strip][tile];
    }
    add_transformed(z, piece.current[strip], words[0], words[1], h, 0x80008000u);
    return sum_magnitudes(z);
}

// Costs of the whole-sample match and of its neighbours at half a sample: number i in lane i.
template <bool Whole>
static __device__ __forceinline__ uint32_t compare_halves(const piece_state &piece,
                                                          const uint32_t *planes, uint32_t h)
{
    const uint32_t *first = planes + (lane_index() & 3) * 2 * PITCH + (lane_index() >> 2);
    uint32_t left = 0, right = 0;
#pragma unroll
    for (int32_t i = 0; i < 9; i++) {
        const uint32_t *a = first + plane_offset(candidate_x(i, 2), candidate_y(i, 2));
        uint32_t sums = compare_strip<Whole, false>(piece, 0, a, a, h);
        left = lane_index() == i ? sums : left;
        if (!Whole && piece.w <= 8)
            continue;
        sums = compare_strip<Whole, false>(piece, 1, a, a, h);
        right = lane_index() == i ? sums : right;
    }
    return cost_of_tiles(left) + cost_of_tiles(right);
}

// Of the neighbours at a quarter sample of a vector at half samples. Each is an average.
template <bool Whole>
static __device__ __forceinline__ uint32_t compare_quarters(const piece_state &piece,
                                                            const uint32_t *planes, uint32_t h,
                                                            const best_vector &best)
{
    const uint32_t *first = planes + (lane_index() & 3) * 2 * PITCH + (lane_index() >> 2);
    int32_t mine = min(lane_index(), 8);
    int32_t x = best.x + candidate_x(mine, 1), y = best.y + candidate_y(mine, 1), ax, ay, bx, by;
    mvf_rule_h264_pair(x & 3, y & 3, &ax, &ay, &bx, &by);
    int32_t offset = (y >> 2) * PITCH + (x >> 2);
    int32_t one = offset + plane_offset(ax, ay), other = offset + plane_offset(bx, by);
    uint32_t left = 0, right = 0;
#pragma unroll
    for (int32_t i = 1; i < 9; i++) {
        const uint32_t *a = first + __shfl_sync(ALL_LANES, one, i);
        const uint32_t *b = first + __shfl_sync(ALL_LANES, other, i);
        uint32_t sums = compare_strip<Whole, true>(piece, 0, a, b, h);
        left = lane_index() == i ? sums : left;
        if (!Whole && piece.w <= 8)
            continue;
        sums = compare_strip<Whole, true>(piece, 1, a, b, h);
        right = lane_index() == i ? sums : right;
    }
    return cost_of_tiles(left) + cost_of_tiles(right);
}

// Lane i has the cost of candidate i, at `distance` from the best so far, which is candidate 0.
static __device__ __forceinline__ void choose(const mvf_refine_params &params,
                                              const refine_block &b, best_vector &best,
                                              uint32_t cost, int32_t distance)
{
    int32_t i = lane_index();
    int32_t vx = best.x + candidate_x(min(i, 8), distance);
    int32_t vy = best.y + candidate_y(min(i, 8), distance);
    int32_t x = 4 * b.match_x + vx, y = 4 * b.match_y + vy;
    bool allowed = i < 9 && is_candidate(params, b, i, x, y);
    uint32_t j = cost + mvf_rule_rate(&params.rate, x - b.predictor_x, y - b.predictor_y);
    uint32_t least = warp_min(allowed ? j : UINT32_MAX);
    int32_t winner = __ffs((int32_t)__ballot_sync(ALL_LANES, allowed && j == least)) - 1;
    best.x = __shfl_sync(ALL_LANES, vx, winner);
    best.y = __shfl_sync(ALL_LANES, vy, winner);
    best.cost = __shfl_sync(ALL_LANES, cost, winner);
}

// The costs of one piece: number i in lane i.
template <bool Quarter, bool Whole>
static __device__ __forceinline__ uint32_t cost_of_piece(const mvf_refine_params &params,
                                                         const mvf_search_pair &pair,
                                                         const refine_block &b, piece_state &piece,
                                                         uint32_t *planes, const best_vector &best,
                                                         int32_t x, int32_t y, bool fresh)
{
    if (fresh) {
        __syncwarp();
        make_planes(params, planes, pair.reference, x + b.match_x, y + b.match_y);
        load_current<Whole>(params, piece, pair.current, x, y);
        __syncwarp();
    }
    uint32_t h = hadamard_pair();
    return Quarter ? compare_quarters<Whole>(piece, planes, h, best)
                   : compare_halves<Whole>(piece, planes, h);
}

// The costs of a step, summed over the block's pieces: number i in lane i of every warp.
template <bool Quarter>
static __device__ __forceinline__ uint32_t cost_of_step(const mvf_refine_params &params,
                                                        const mvf_search_pair &pair,
                                                        const refine_block &b, piece_state &piece,
                                                        uint32_t *planes, const best_vector &best,
                                                        uint32_t *shared)
{
    // By a reduction, so that the compiler knows it is the same for all lanes.
    int32_t warp = (int32_t)warp_min(threadIdx.x / 32), n_warps = (int32_t)blockDim.x / 32;
    int32_t across = (b.w + PIECE - 1) / PIECE, n_pieces = across * ((b.h + PIECE - 1) / PIECE);
    uint32_t cost = 0;
    for (int32_t i = warp; i < n_pieces; i += n_warps) {
        int32_t row = across == 1 ? i : i / across, x = (i - row * across) * PIECE, y = row * PIECE;
        bool fresh = !Quarter || n_pieces > n_warps;
        piece.w = min(b.w - x, PIECE);
        piece.h = min(b.h - y, PIECE);
        cost += piece.w == PIECE && piece.h == PIECE
                    ? cost_of_piece<Quarter, true>(params, pair, b, piece, planes, best, b.x + x,
                                                   b.y + y, fresh)
                    : cost_of_piece<Quarter, false>(params, pair, b, piece, planes, best, b.x + x,
                                                    b.y + y, fresh);
    }
    if (n_warps == 1)
        return cost;
    if (lane_index() < 9)
        atomicAdd(&shared[lane_index()], cost);
    __syncthreads();
    return lane_index() < 9 ? shared[lane_index()] : 0;
}

extern "C" __global__ void __launch_bounds__(MVF_REFINE_SATD_THREADS)
    refine_satd_h264(const __grid_constant__ mvf_refine_params params)
{
    DYNAMIC_SHARED(uint32_t, refine_planes);
    __shared__ uint32_t costs[2][9];
    const mvf_search_pair &pair = params.pairs[blockIdx.z];
    refine_match *match =
        (refine_match *)pair.matches + params.first_match + blockIdx.y * gridDim.x + blockIdx.x;
    refine_block b = refine_locate(params, pair, *match, (int32_t)blockIdx.x, (int32_t)blockIdx.y);
    uint32_t *planes = refine_planes + threadIdx.x / 32 * 4 * PLANE_WORDS;
    best_vector best = {0, 0, match->cost};
    // Nothing is smaller than a cost of nothing, which all metrics have for the same blocks.
    bool found = best.cost == 0 && params.rate.lambda_q4 == 0;
    if (threadIdx.x < 18)
        costs[threadIdx.x / 9][threadIdx.x % 9] = 0;
    // All have read the match that one thread will write.
    __syncthreads();
    if (!found) {
        piece_state piece;
        uint32_t cost = cost_of_step<false>(params, pair, b, piece, planes, best, costs[0]);
        choose(params, b, best, cost, 2);
        if (params.quarter) {
            cost = cost_of_step<true>(params, pair, b, piece, planes, best, costs[1]);
            choose(params, b, best, lane_index() ? cost : best.cost, 1);
        }
    }
    if (threadIdx.x == 0) {
        match->x = (int16_t)(4 * b.match_x + best.x);
        match->y = (int16_t)(4 * b.match_y + best.y);
        match->cost = best.cost;
    }
}
