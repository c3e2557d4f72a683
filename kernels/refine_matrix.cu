// Sub-sample refinement by subpel_rule.h of samples of 8 bits, on the tensor cores: all filters and
// metrics.
//
// A warp takes a piece of a block, at most 16 x 16, and keeps it in registers. Words hold two
// samples, one above the other, as 16-bit integers. Read as a half-precision number such an integer
// n is n * 2^-24, below the least normal number, and so a word is ready for a matrix product, whose
// sums have single precision: all that follows is exact.
//
// A prediction P is D (A S) with S the reference's samples from 4 before the piece to 3 behind it,
// A the taps along rows and D those along columns, each a band matrix whose place is the vector's.
// The lanes' shares of A S are those that the left factor of the next product has, in which columns
// lie as rows. A S has 15 bits, and is so taken as two bytes, low and high. The last sum is rounded
// as it is packed: down, where half of a unit has been added, to whole units, which are halves'
// least bits, and 0 where it is negative. Phase 0 is a filter of one tap.
//
// The Hadamard transform of a tile T is H T H. H times two tiles, one above the other, is one
// product, whose result again lies as the left factor of the next one by H. The first product's
// sums are at most 8 * 255 < 2^11, which a half holds, the second's less than 2^24. Since H (C - P)
// H = HCH - HPH, the current samples C are transformed once, and each P is subtracted as it is
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
// Samples that are read before a piece, each way, and rows of them in all.
#define BEFORE MVF_SUBPEL_MARGIN
#define N_ROWS (PIECE + 2 * BEFORE)

// In both halves of a word.
#define BOTH(value) ((uint32_t)(value)*0x00010001u)
// What an integer of 1 in a half is worth.
#define UNIT (1.0f / 16777216)

// A lane's pairs of neighbouring taps for its share of a band matrix, by the difference between
// the sample that its first tap is for and the first tap of the row. Along rows a lane has eight
// samples that follow each other, along columns two and the two that are eight further on.
#define ACROSS_FIRST 16
#define N_ACROSS 41
#define DOWN_FIRST 9
#define N_DOWN 16

struct filter_taps {
    uint4 across[4][N_ACROSS][2];
    // For the low bytes and for the high ones.
    uint4 down[4][N_DOWN];
};

MVF_RULE_CONSTANT int32_t tap_of(int32_t filter, int32_t phase, int32_t i)
{
    if (i < 0 || i > 7)
        return 0;
    if (filter == MVF_FILTER_HEVC)
        return mvf_rule_tap_hevc(phase, i);
    if (filter == MVF_FILTER_BILINEAR)
        return i == 3 ? 4 - phase : i == 4 ? phase : 0;
    if (phase == 0)
        return i == 3 ? 32 : 0;
    return mvf_rule_taps_h264(i == 1, i == 2, i == 3, i == 4, i == 5, i == 6);
}

// The sum of the taps of any phase.
MVF_RULE_CONSTANT int32_t gain_of(int32_t filter)
{
    return filter == MVF_FILTER_H264 ? 32 : filter == MVF_FILTER_HEVC ? 64 : 4;
}

// How many bits both ways add.
MVF_RULE_CONSTANT int32_t shift_of(int32_t filter)
{
    return filter == MVF_FILTER_H264 ? 10 : filter == MVF_FILTER_HEVC ? 12 : 4;
}

// Keeps sums along rows positive.
MVF_RULE_CONSTANT int32_t bias_of(int32_t filter)
{
    return filter == MVF_FILTER_H264 ? 10 * 256 : filter == MVF_FILTER_HEVC ? 24 * 256 : 0;
}

// value * 2^exponent as a half.
MVF_RULE_CONSTANT uint32_t half_of(int32_t value, int32_t exponent)
{
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
    if (magnitude == 0)
        return 0;
    exponent += 25;
    for (; magnitude < 1024; magnitude *= 2)
        exponent--;
    return (magnitude - 1024) | (uint32_t)exponent << 10 | (value < 0 ? 0x8000u : 0);
}

MVF_RULE_CONSTANT uint32_t pair_of_taps(int32_t filter, int32_t phase, int32_t i, int32_t exponent)
{
    return half_of(tap_of(filter, phase, i), exponent) |
           half_of(tap_of(filter, phase, i + 1), exponent) << 16;
}

// The product of 16 columns takes as its left factor, from each lane, rows lane / 4 and 8 below.
MVF_RULE_CONSTANT uint4 taps_across(int32_t filter, int32_t phase, int32_t i)
{
    return {pair_of_taps(filter, phase, i, 0), pair_of_taps(filter, phase, i - 8, 0),
            pair_of_taps(filter, phase, i + 2, 0), pair_of_taps(filter, phase, i - 6, 0)};
}

MVF_RULE_CONSTANT uint4 taps_down(int32_t filter, int32_t phase, int32_t i)
{
    int32_t low = -shift_of(filter), high = low + 8;
    return {pair_of_taps(filter, phase, i, low), pair_of_taps(filter, phase, i + 8, low),
            pair_of_taps(filter, phase, i, high), pair_of_taps(filter, phase, i + 8, high)};
}

MVF_RULE_CONSTANT filter_taps make_taps(int32_t filter)
{
    filter_taps taps = {};
    for (int32_t phase = 0; phase < 4; phase++) {
        for (int32_t i = 0; i < N_ACROSS; i++) {
            taps.across[phase][i][0] = taps_across(filter, phase, i - ACROSS_FIRST);
            taps.across[phase][i][1] = taps_across(filter, phase, i - ACROSS_FIRST + 4);
        }
        for (int32_t i = 0; i < N_DOWN; i++)
            taps.down[phase][i] = taps_down(filter, phase, i - DOWN_FIRST);
    }
    return taps;
}

// By the filters' numbers.
static __device__ const filter_taps taps_of[3] = {make_taps(0), make_taps(1), make_taps(2)};

// Lanes' shares of the Hadamard matrix twice along the diagonal, and for tiles of 4 x 4 of that of
// 4 rows. A table, since what is loaded stays where it is: zeros that the compiler knows would be
// put beside the rest for every product.
struct hadamard_factors {
    uint4 lanes[2][32];
};

// Row (or column) lane / 4 of the Hadamard matrix, columns 2 * (lane % 4) and the next, as halves.
MVF_RULE_CONSTANT uint32_t hadamard_pair(int32_t lane, int32_t tile)
{
    int32_t row = lane / 4, col = lane % 4 * 2;
    if (tile == 4 && (row ^ col) & 4)
        return 0;
    uint32_t pair = 0x3c003c00;
    for (int32_t bit = 1; bit < 8; bit *= 2) {
        pair ^= row & col & bit ? 0x8000u : 0;
        pair ^= row & (col + 1) & bit ? 0x80000000u : 0;
    }
    return pair;
}

MVF_RULE_CONSTANT hadamard_factors make_hadamard_factors()
{
    hadamard_factors factors = {};
    for (int32_t lane = 0; lane < 32; lane++)
        for (int32_t i = 0; i < 2; i++) {
            uint32_t pair = hadamard_pair(lane, i ? 8 : 4);
            factors.lanes[i][lane] = {pair, 0, 0, pair};
        }
    return factors;
}

static __device__ const hadamard_factors hadamard = make_hadamard_factors();

// The best vector so far, in quarter samples from the whole-sample match on.
struct best_vector {
    int32_t x, y;
    uint32_t cost;
};

// Of two strips, 8 wide and two tiles high, a lane has two tiles' pairs of rows in column lane / 4:
// rows 2 * (lane % 4), and 8 below.
struct image {
    uint32_t words[2][2];
};

struct piece_state {
    // Transformed, as the tensor cores leave it, or for other metrics as bytes, a strip to a word.
    float transformed[2][4];
    uint32_t bytes[2];
    // The largest sample where one is visible, 0 elsewhere.
    image largest;
    // Rows lane / 4 of the reference and 8 and 16 below, eight samples each, from column `first`
    // past the last multiple of 8.
    uint2 rows[3];
    int32_t first;
    int32_t w, h;
};

// Factors of the transforms: the Hadamard matrix twice, and its negative.
struct transform_factors {
    uint4 twice;
    uint32_t negative;
};

static __device__ __forceinline__ int32_t lane_index()
{
    return (int32_t)(threadIdx.x & 31);
}

static __device__ __forceinline__ transform_factors load_factors(int32_t tile)
{
    uint4 twice = hadamard.lanes[tile == 8][lane_index()];
    return {twice, twice.x ^ BOTH(0x8000)};
}

// z = to + H T by for the tiles T of a strip, `by` the transposed factor.
static __device__ __forceinline__ void add_transformed(float (&z)[4], const float (&to)[4],
                                                       const uint32_t (&strip)[2],
                                                       const transform_factors &factors,
                                                       uint32_t by)
{
    const uint4 &h = factors.twice;
    const uint32_t zero[2] = {0, 0};
    uint32_t y[2];
    multiply_add_halves(y, zero, h.x, h.y, h.z, h.w, strip[0], strip[1]);
    multiply_add_16x8(z, to, y[0], y[1], by);
}

// The reference's rows round the piece at (x, y).
static __device__ __forceinline__ void
load_rows(const mvf_refine_params &params, piece_state &piece, uint64_t plane, int32_t x, int32_t y)
{
    int32_t lane = lane_index(), first = (x - BEFORE) & ~7;
    const uint8_t *row = (const uint8_t *)plane + (y - BEFORE + (lane >> 2)) * params.stride_bytes +
                         first + (lane & 3) * 8;
    piece.first = x - BEFORE - first;
#pragma unroll
    for (int32_t i = 0; i < 3; i++)
        piece.rows[i] = *(const uint2 *)(row + i * 8 * params.stride_bytes);
}

// The current samples of the piece at (x, y), 0 where nothing is visible. Planes have borders.
template <int32_t Strips>
static __device__ __forceinline__ image load_current(const mvf_refine_params &params,
                                                     piece_state &piece, uint64_t plane, int32_t x,
                                                     int32_t y)
{
    int32_t row = (lane_index() & 3) * 2, col = lane_index() >> 2;
    const uint8_t *first = (const uint8_t *)plane + (y + row) * params.stride_bytes + x + col;
    image samples;
#pragma unroll
    for (int32_t tile = 0; tile < 2; tile++) {
        int32_t n_rows = piece.h - row - 8 * tile;
        uint32_t rows = n_rows > 1 ? BOTH(255) : n_rows > 0 ? 255 : 0;
        const uint8_t *upper = first + 8 * tile * params.stride_bytes,
                      *lower = upper + params.stride_bytes;
#pragma unroll
        for (int32_t strip = 0; strip < Strips; strip++) {
            uint32_t largest = col + 8 * strip < piece.w ? rows : 0;
            piece.largest.words[strip][tile] = largest;
            samples.words[strip][tile] =
                (upper[8 * strip] | (uint32_t)lower[8 * strip] << 16) & largest;
        }
    }
    return samples;
}

template <bool Satd, int32_t Strips>
static __device__ __forceinline__ void
keep_current(piece_state &piece, const transform_factors &factors, const image &samples)
{
#pragma unroll
    for (int32_t strip = 0; strip < Strips; strip++) {
        const float zero[4] = {0, 0, 0, 0};
        if (Satd)
            add_transformed(piece.transformed[strip], zero, samples.words[strip], factors,
                            factors.twice.x);
        else
            piece.bytes[strip] =
                __byte_perm(samples.words[strip][0], samples.words[strip][1], 0x6420);
    }
}

// Sums along rows of the reference for a vector's x, in lanes as the left factor of the next
// product has them: by eight rows each, columns lane / 4 and 8 further on. Of a vector of whole
// samples along rows they are exact as halves, in `low`.
struct row_sums {
    uint32_t low[3][2], high[3][2];
};

template <int32_t Filter, bool Copied>
static __device__ __forceinline__ row_sums sum_rows(const piece_state &piece, int32_t phase,
                                                    int32_t whole)
{
    const uint4 *taps = taps_of[Filter].across[phase][(lane_index() & 3) * 8 - (lane_index() >> 2) -
                                                      piece.first + (ACROSS_FIRST - 1)] -
                        2 * whole;
    uint4 a = taps[0], b = taps[1];
    // A number n of units is n times 2^8 in the mantissa.
    const float start = 32768 * UNIT + bias_of(Filter) * UNIT;
    row_sums sums;
#pragma unroll
    for (int32_t rows = 0; rows < 3; rows++) {
        uint2 samples = piece.rows[rows];
        uint32_t words[4] = {__byte_perm(samples.x, 0, 0x4140), __byte_perm(samples.x, 0, 0x4342),
                             __byte_perm(samples.y, 0, 0x4140), __byte_perm(samples.y, 0, 0x4342)};
        if (Copied) {
            const uint32_t zero[2] = {0, 0};
            uint32_t(&d)[2] = sums.low[rows];
            multiply_add_halves(d, zero, a.x, a.y, a.z, a.w, words[0], words[1]);
            multiply_add_halves(d, d, b.x, b.y, b.z, b.w, words[2], words[3]);
            continue;
        }
        float d[4] = {start, start, start, start};
        multiply_add_16x16(d, d, a.x, a.y, a.z, a.w, words[0], words[1]);
        multiply_add_16x16(d, d, b.x, b.y, b.z, b.w, words[2], words[3]);
#pragma unroll
        for (int32_t strip = 0; strip < 2; strip++) {
            uint32_t first = __float_as_uint(d[2 * strip]),
                     second = __float_as_uint(d[2 * strip + 1]);
            sums.low[rows][strip] = __byte_perm(first, second, 0x4501);
            sums.high[rows][strip] = __byte_perm(first, second, 0x4602);
        }
    }
    return sums;
}

// The prediction by the vector whose y this is, 0 where nothing is visible.
template <int32_t Filter, int32_t Strips, bool Copied>
static __device__ __forceinline__ image predict(const row_sums &sums, const image &largest,
                                                int32_t y)
{
    uint4 taps = taps_of[Filter].down[y & 3][(lane_index() & 3) * 2 - (lane_index() >> 2) -
                                             (y >> 2) + (DOWN_FIRST - 1)];
    const float start =
        ((1 << (shift_of(Filter) - 1)) - (Copied ? 0 : bias_of(Filter)) * gain_of(Filter)) * UNIT /
        (1 << shift_of(Filter));
    image p;
#pragma unroll
    for (int32_t tile = 0; tile < 2; tile++) {
        float d[4] = {start, start, start, start};
        const uint32_t(&low)[3][2] = sums.low;
        const uint32_t(&high)[3][2] = sums.high;
        if (!Copied)
            multiply_add_16x16(d, d, high[tile][0], high[tile][1], high[tile + 1][0],
                               high[tile + 1][1], taps.z, taps.w);
        multiply_add_16x16(d, d, low[tile][0], low[tile][1], low[tile + 1][0], low[tile + 1][1],
                           taps.x, taps.y);
#pragma unroll
        for (int32_t strip = 0; strip < Strips; strip++)
            p.words[strip][tile] = __vminu2(pack_halves_down(d[2 * strip], d[2 * strip + 1]),
                                            largest.words[strip][tile]);
    }
    return p;
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

// Costs of candidates, number i in lane i: sums of a strip each by SATD, the left one's of both by
// other metrics.
struct cost_sums {
    uint32_t strips[2];
};

static __device__ __forceinline__ void keep(uint32_t &sums, int32_t i, uint32_t sum)
{
    sums = lane_index() == i ? sum : sums;
}

template <int32_t Strips>
static __device__ __forceinline__ void
compare_satd(cost_sums &costs, int32_t i, const piece_state &piece,
             const transform_factors &factors, const image &p, uint32_t by)
{
#pragma unroll
    for (int32_t strip = 0; strip < Strips; strip++) {
        float z[4];
        add_transformed(z, piece.transformed[strip], p.words[strip], factors, by);
        keep(costs.strips[strip], i, sum_magnitudes(z));
    }
}

// Of words only the lower bytes of samples count.
template <int32_t Strips>
static __device__ __forceinline__ void
compare_bytes(cost_sums &costs, int32_t i, const piece_state &piece, bool squares, const image &p)
{
    uint32_t sum = 0;
#pragma unroll
    for (int32_t strip = 0; strip < Strips; strip++) {
        uint32_t bytes = __byte_perm(p.words[strip][0], p.words[strip][1], 0x6420);
        uint32_t d = __vabsdiffu4(bytes, piece.bytes[strip]);
        sum = __dp4a(d, squares ? d : 0x01010101u, sum);
    }
    keep(costs.strips[0], i, warp_sum(sum));
}

template <bool Satd, int32_t Strips>
static __device__ __forceinline__ void
compare(cost_sums &costs, int32_t i, const mvf_refine_params &params, const piece_state &piece,
        const transform_factors &factors, const image &p)
{
    if (Satd)
        compare_satd<Strips>(costs, i, piece, factors, p, factors.negative);
    else
        compare_bytes<Strips>(costs, i, piece, params.metric == MVF_CUDA_METRIC_SSD, p);
}

// Rounded-up averages; by SATD twice them, and transformed by half the matrix.
template <bool Satd, int32_t Strips>
static __device__ __forceinline__ void
compare_average(cost_sums &costs, int32_t i, const mvf_refine_params &params,
                const piece_state &piece, const transform_factors &factors, const image &a,
                const image &b)
{
    image p;
#pragma unroll
    for (int32_t strip = 0; strip < Strips; strip++)
#pragma unroll
        for (int32_t tile = 0; tile < 2; tile++) {
            uint32_t twice = a.words[strip][tile] + b.words[strip][tile] + BOTH(1);
            p.words[strip][tile] = Satd ? twice & ~BOTH(1) : twice >> 1;
        }
    // One less in the exponents, but of zero.
    uint32_t by = factors.negative & ~BOTH(0x400);
    if (Satd)
        compare_satd<Strips>(costs, i, piece, factors, p, by);
    else
        compare_bytes<Strips>(costs, i, piece, params.metric == MVF_CUDA_METRIC_SSD, p);
}

template <bool Satd>
static __device__ __forceinline__ uint32_t cost_of(const cost_sums &costs, int32_t tile)
{
    if (!Satd)
        return costs.strips[0];
    // Tiles of 4 x 4 have no remainders: the sum of 16 coefficients is even too.
    uint32_t cost = 0, round = tile == 8, shift = round;
#pragma unroll
    for (int32_t strip = 0; strip < 2; strip++)
        cost += (((costs.strips[strip] & 0xffff) + round) >> shift) +
                (((costs.strips[strip] >> 16) + round) >> shift);
    return cost;
}

// Where the image of a vector in half samples, -2 to 2 each way, is kept, in images: those of a
// vector and its neighbours have different places.
static __device__ __forceinline__ int32_t column_place(int32_t x)
{
    return (x < 0 ? x + 3 : x) * 32;
}

static __device__ __forceinline__ int32_t row_place(int32_t y)
{
    return (y < 0 ? y + 3 : y) * (3 * 32);
}

template <int32_t Strips>
static __device__ __forceinline__ void store_image(uint4 *images, int32_t x, int32_t y,
                                                   const image &p)
{
    uint4 *at = images + column_place(x) + row_place(y) + lane_index();
    if (Strips == 2)
        *at = make_uint4(p.words[0][0], p.words[0][1], p.words[1][0], p.words[1][1]);
    else
        *(uint2 *)at = make_uint2(p.words[0][0], p.words[0][1]);
}

template <int32_t Strips> static __device__ __forceinline__ image load_image(const uint4 *at)
{
    if (Strips == 2) {
        uint4 words = *at;
        return {{{words.x, words.y}, {words.z, words.w}}};
    }
    uint2 words = *(const uint2 *)at;
    return {{{words.x, words.y}, {0, 0}}};
}

// The whole-sample match and its neighbours at half a sample. For h264 their images are kept.
template <int32_t Filter, bool Satd, int32_t Strips>
static __device__ __forceinline__ void
compare_halves(cost_sums &costs, const mvf_refine_params &params, const piece_state &piece,
               const transform_factors &factors, uint4 *images)
{
#pragma unroll 1
    for (int32_t col = 0; col <= 2; col += 2) {
        row_sums sums = sum_rows<Filter, false>(piece, 2, col / 2 - 1);
#pragma unroll
        for (int32_t row = 0; row < 3; row++) {
            image p = predict<Filter, Strips, false>(sums, piece.largest, 2 * row - 2);
            if (Filter == MVF_FILTER_H264)
                store_image<Strips>(images, col - 1, row - 1, p);
            compare<Satd, Strips>(costs, row * 3 + col, params, piece, factors, p);
        }
    }
    row_sums copied = sum_rows<Filter, true>(piece, 0, 0);
#pragma unroll
    for (int32_t row = 0; row < 3; row++) {
        image p = predict<Filter, Strips, true>(copied, piece.largest, 2 * row - 2);
        if (Filter == MVF_FILTER_H264)
            store_image<Strips>(images, 0, row - 1, p);
        compare<Satd, Strips>(costs, row * 3 + 1, params, piece, factors, p);
    }
}

// The neighbours of (x, y) at a quarter sample.
template <int32_t Filter, bool Satd, int32_t Strips>
static __device__ __forceinline__ void
compare_quarters(cost_sums &costs, const mvf_refine_params &params, const piece_state &piece,
                 const transform_factors &factors, int32_t x, int32_t y)
{
#pragma unroll 1
    for (int32_t col = 0; col < 3; col++) {
        int32_t vx = x + col - 1;
        row_sums sums = sum_rows<Filter, false>(piece, vx & 3, vx >> 2);
#pragma unroll
        for (int32_t row = 0; row < 3; row++)
            if (row != 1 || col != 1)
                compare<Satd, Strips>(
                    costs, row * 3 + col, params, piece, factors,
                    predict<Filter, Strips, false>(sums, piece.largest, y + row - 1));
    }
}

// Of the images of h264 round a vector of half samples (x, y), those that are further than one from
// the whole-sample match, but for what no average takes: where both or neither are 0, none of a
// diagonal neighbour.
template <int32_t Strips>
static __device__ __forceinline__ void complete_images(const piece_state &piece, int32_t x,
                                                       int32_t y, uint4 *images)
{
    if (x) {
        row_sums copied = sum_rows<MVF_FILTER_H264, true>(piece, 0, x);
        if (y == 0)
#pragma unroll
            for (int32_t row = -1; row <= 1; row += 2)
                store_image<Strips>(
                    images, 2 * x, row,
                    predict<MVF_FILTER_H264, Strips, true>(copied, piece.largest, 2 * row));
        store_image<Strips>(images, 2 * x, y,
                            predict<MVF_FILTER_H264, Strips, true>(copied, piece.largest, 2 * y));
    }
    if (y && x == 0) {
#pragma unroll
        for (int32_t col = -1; col <= 1; col += 2) {
            row_sums sums = sum_rows<MVF_FILTER_H264, false>(piece, 2, col >> 1);
            store_image<Strips>(
                images, col, 2 * y,
                predict<MVF_FILTER_H264, Strips, false>(sums, piece.largest, 4 * y));
        }
        row_sums copied = sum_rows<MVF_FILTER_H264, true>(piece, 0, 0);
        store_image<Strips>(images, 0, 2 * y,
                            predict<MVF_FILTER_H264, Strips, true>(copied, piece.largest, 4 * y));
    } else if (y) {
        row_sums sums = sum_rows<MVF_FILTER_H264, false>(piece, 2, x >> 1);
        store_image<Strips>(images, x, 2 * y,
                            predict<MVF_FILTER_H264, Strips, false>(sums, piece.largest, 4 * y));
    }
}

// The neighbours of h264 at a quarter sample of (x, y), in half samples: averages of its image and
// a neighbour's or, for the diagonal ones where x and y are both even or both odd, of two
// neighbours'.
template <bool Satd, int32_t Strips>
static __device__ __forceinline__ void
compare_averages(cost_sums &costs, const mvf_refine_params &params, const piece_state &piece,
                 const transform_factors &factors, int32_t x, int32_t y, const uint4 *images)
{
    bool same_parity = ((x ^ y) & 1) == 0;
    const uint4 *cols[3];
    int32_t rows[3], one_rows[3], other_rows[3];
#pragma unroll
    for (int32_t i = 0; i < 3; i++) {
        cols[i] = images + column_place(x + i - 1) + lane_index();
        rows[i] = row_place(y + i - 1);
    }
#pragma unroll
    for (int32_t i = 0; i < 3; i++) {
        one_rows[i] = same_parity ? rows[i] : rows[1];
        other_rows[i] = same_parity ? rows[1] : rows[i];
    }
    image centre = load_image<Strips>(cols[1] + rows[1]);
#pragma unroll
    for (int32_t i = 0; i < 9; i++) {
        int32_t col = i % 3, row = i / 3;
        if (i == 4)
            continue;
        bool is_diagonal = row != 1 && col != 1;
        image one = is_diagonal ? load_image<Strips>(cols[1] + one_rows[row]) : centre;
        image other = load_image<Strips>(cols[col] + (is_diagonal ? other_rows[row] : rows[row]));
        compare_average<Satd, Strips>(costs, i, params, piece, factors, one, other);
    }
}

// Lane i has the cost of candidate i, the neighbours in order with the best so far amid them.
static __device__ __forceinline__ void choose(const mvf_refine_params &params,
                                              const mvf_search_pair &pair, const refine_block &b,
                                              best_vector &best, uint32_t cost, int32_t distance)
{
    int32_t i = lane_index(), centre = 4;
    mvf_guide_vector predictor =
        refine_predictor(params, pair, (int32_t)blockIdx.x, (int32_t)blockIdx.y);
    int32_t vx = best.x + distance * (i % 3 - 1), vy = best.y + distance * (i / 3 - 1);
    int32_t x = 4 * b.match_x + vx, y = 4 * b.match_y + vy;
    bool allowed = i < 9 && is_candidate(params, b, i - centre, x, y);
    uint32_t j = cost + mvf_rule_rate(&params.rate, x - predictor.x, y - predictor.y);
    uint32_t least = warp_min(allowed ? j : UINT32_MAX);
    uint32_t winners = __ballot_sync(ALL_LANES, allowed && j == least);
    int32_t winner = winners >> centre & 1 ? centre : __ffs((int32_t)winners) - 1;
    best.x += distance * (winner % 3 - 1);
    best.y += distance * (winner / 3 - 1);
    best.cost = __shfl_sync(ALL_LANES, cost, winner);
}

// What a warp works with.
struct piece_work {
    piece_state piece;
    transform_factors factors;
    // Of a single piece, which are loaded while its match is.
    image current;
    uint4 *images;
};

// The costs of one piece: number i in lane i. A fresh one is loaded, with its images.
template <int32_t Filter, bool Satd, int32_t Strips, bool Quarter, bool Single>
static __device__ __forceinline__ uint32_t cost_of_piece(const mvf_refine_params &params,
                                                         const mvf_search_pair &pair,
                                                         const refine_block &b, piece_work &work,
                                                         const best_vector &best, int32_t x,
                                                         int32_t y, bool fresh)
{
    piece_state &piece = work.piece;
    cost_sums costs = {{0, 0}};
    if (fresh) {
        load_rows(params, piece, pair.reference, x + b.match_x, y + b.match_y);
        if (!Single)
            work.current = load_current<Strips>(params, piece, pair.current, x, y);
        keep_current<Satd, Strips>(piece, work.factors, work.current);
    }
    if (!Quarter || (fresh && Filter == MVF_FILTER_H264))
        compare_halves<Filter, Satd, Strips>(costs, params, piece, work.factors, work.images);
    if (Quarter && Filter == MVF_FILTER_H264) {
        complete_images<Strips>(piece, best.x / 2, best.y / 2, work.images);
        compare_averages<Satd, Strips>(costs, params, piece, work.factors, best.x / 2, best.y / 2,
                                       work.images);
    } else if (Quarter) {
        compare_quarters<Filter, Satd, Strips>(costs, params, piece, work.factors, best.x, best.y);
    }
    return cost_of<Satd>(costs, params.tile);
}

// The costs of a step, summed over the block's pieces: number i in lane i of every warp.
template <int32_t Filter, bool Satd, int32_t Strips, bool Quarter, bool Single>
static __device__ __forceinline__ uint32_t cost_of_step(const mvf_refine_params &params,
                                                        const mvf_search_pair &pair,
                                                        const refine_block &b, piece_work &work,
                                                        const best_vector &best, uint32_t *shared)
{
    // By a reduction, so that the compiler knows it is the same for all lanes.
    int32_t warp = Single ? 0 : (int32_t)warp_min(threadIdx.x / 32);
    int32_t n_warps = Single ? 1 : (int32_t)blockDim.x / 32;
    int32_t across = Single ? 1 : (b.w + PIECE - 1) / PIECE;
    int32_t n_pieces = Single ? 1 : across * ((b.h + PIECE - 1) / PIECE);
    uint32_t cost = 0;
    for (int32_t i = warp; i < n_pieces; i += n_warps) {
        int32_t row = across == 1 ? i : i / across, x = (i - row * across) * PIECE, y = row * PIECE;
        bool fresh = !Quarter || n_pieces > n_warps;
        work.piece.w = min(b.w - x, PIECE);
        work.piece.h = min(b.h - y, PIECE);
        cost += cost_of_piece<Filter, Satd, Strips, Quarter, Single>(params, pair, b, work, best,
                                                                     b.x + x, b.y + y, fresh);
    }
    if (Single)
        return cost;
    if (lane_index() < 9)
        atomicAdd(&shared[lane_index()], cost);
    __syncthreads();
    return lane_index() < 9 ? shared[lane_index()] : 0;
}

// A thread block for a block, and a warp for a piece; a single one is all of the block.
template <int32_t Filter, bool Satd, int32_t Strips, bool Single>
static __device__ __forceinline__ void refine(const mvf_refine_params &params, uint32_t *costs)
{
    DYNAMIC_SHARED(uint4, refine_images);
    const mvf_search_pair &pair = params.pairs[blockIdx.z];
    refine_match *match =
        (refine_match *)pair.matches + params.first_match + blockIdx.y * gridDim.x + blockIdx.x;
    refine_match whole = *match;
    refine_block b = refine_locate(params, whole, (int32_t)blockIdx.x, (int32_t)blockIdx.y);
    piece_work work;
    work.images = refine_images + threadIdx.x / 32 * MVF_REFINE_IMAGE_VECTORS;
    if (Satd)
        work.factors = load_factors(params.tile);
    if (Single) {
        work.piece.w = b.w;
        work.piece.h = b.h;
        work.current = load_current<Strips>(params, work.piece, pair.current, b.x, b.y);
    }
    best_vector best = {0, 0, whole.cost};
    // Nothing is smaller than a cost of nothing, which all metrics have for the same blocks.
    bool found = best.cost == 0 && params.rate.lambda_q4 == 0;
    if (!Single && threadIdx.x < 18)
        costs[threadIdx.x] = 0;
    // All have read the match that one thread will write.
    __syncthreads();
    if (!found) {
        uint32_t cost =
            cost_of_step<Filter, Satd, Strips, false, Single>(params, pair, b, work, best, costs);
        choose(params, pair, b, best, cost, 2);
        if (params.quarter) {
            cost = cost_of_step<Filter, Satd, Strips, true, Single>(params, pair, b, work, best,
                                                                    costs + 9);
            choose(params, pair, b, best, lane_index() == 4 ? best.cost : cost, 1);
        }
    }
    if (threadIdx.x == 0) {
        match->x = (int16_t)(4 * b.match_x + best.x);
        match->y = (int16_t)(4 * b.match_y + best.y);
        match->cost = best.cost;
    }
}

// For blocks of up to 16 x 16, of up to 8 x 16, and for larger ones.
#define REFINE(name, filter, satd)                                            \
    extern "C" __global__ void __launch_bounds__(MVF_REFINE_MATRIX_TEAM)      \
        name##_16(const __grid_constant__ mvf_refine_params params)           \
    {                                                                         \
        refine<filter, satd, 2, true>(params, nullptr);                       \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(MVF_REFINE_MATRIX_TEAM,      \
                                                 MVF_REFINE_MATRIX_8_BLOCKS)  \
        name##_8(const __grid_constant__ mvf_refine_params params)            \
    {                                                                         \
        refine<filter, satd, 1, true>(params, nullptr);                       \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(MVF_REFINE_MATRIX_THREADS,   \
                                                 MVF_REFINE_MATRIX_64_BLOCKS) \
        name##_64(const __grid_constant__ mvf_refine_params params)           \
    {                                                                         \
        __shared__ uint32_t costs[18];                                        \
        refine<filter, satd, 2, false>(params, costs);                        \
    }

REFINE(refine_matrix_h264_satd, MVF_FILTER_H264, true)
REFINE(refine_matrix_h264_sad, MVF_FILTER_H264, false)
REFINE(refine_matrix_hevc_satd, MVF_FILTER_HEVC, true)
REFINE(refine_matrix_hevc_sad, MVF_FILTER_HEVC, false)
REFINE(refine_matrix_bilinear_satd, MVF_FILTER_BILINEAR, true)
REFINE(refine_matrix_bilinear_sad, MVF_FILTER_BILINEAR, false)
