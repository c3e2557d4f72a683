/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"

#include <string.h>

#include "search/loads_avx512.h"

static inline uint32_t reduce_128(__m128i v)
{
    return (uint32_t)(_mm_cvtsi128_si32(v) + _mm_extract_epi32(v, 2));
}

static inline uint32_t reduce_512(__m512i v)
{
    __m256i a = _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return reduce_128(_mm_add_epi64(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}

#define ADD_ROW(sum, row) sum = _mm_add_epi64(sum, _mm_sad_epu8(row, load_16(p))), p += stride_bytes

/* The block stays in registers for the whole list. */
static void sad_list_16x16(const uint8_t *current, ptrdiff_t current_stride_bytes,
                           const uint8_t *reference, ptrdiff_t stride_bytes, const uint32_t *at,
                           int32_t n, uint32_t *costs)
{
    __m128i r[16];
#pragma GCC unroll 16
    for (int32_t y = 0; y < 16; y++)
        r[y] = load_16(current + y * current_stride_bytes);
    for (int32_t i = 0; i < n; i++) {
        const uint8_t *p = place_of(reference, stride_bytes, at[i]);
        __m128i a = _mm_setzero_si128(), b = a;
#pragma GCC unroll 8
        for (int32_t y = 0; y < 16; y += 2) {
            ADD_ROW(a, r[y]);
            ADD_ROW(b, r[y + 1]);
        }
        costs[i] = reduce_128(_mm_add_epi64(a, b));
    }
}

static void sad_list_16_avx512(const uint8_t *current, ptrdiff_t current_stride_bytes,
                               const uint8_t *reference, ptrdiff_t stride_bytes, int32_t w,
                               int32_t h, const uint32_t *at, int32_t n, uint32_t *costs)
{
    (void)w;
    if (h == 16) {
        sad_list_16x16(current, current_stride_bytes, reference, stride_bytes, at, n, costs);
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        const uint8_t *p = place_of(reference, stride_bytes, at[i]), *c = current;
        __m128i sum = _mm_setzero_si128();
        for (int32_t y = 0; y < h; y++, c += current_stride_bytes)
            ADD_ROW(sum, load_16(c));
        costs[i] = reduce_128(sum);
    }
}

static void sad_list_64_avx512(const uint8_t *current, ptrdiff_t current_stride_bytes,
                               const uint8_t *reference, ptrdiff_t stride_bytes, int32_t w,
                               int32_t h, const uint32_t *at, int32_t n, uint32_t *costs)
{
    (void)w;
    for (int32_t i = 0; i < n; i++) {
        const uint8_t *p = place_of(reference, stride_bytes, at[i]), *c = current;
        __m512i sum = _mm512_setzero_si512();
        for (int32_t y = 0; y < h; y++, c += current_stride_bytes, p += stride_bytes)
            sum = _mm512_add_epi64(sum,
                                   _mm512_sad_epu8(_mm512_loadu_si512(c), _mm512_loadu_si512(p)));
        costs[i] = reduce_512(sum);
    }
}

/* Lanes of 16 bytes that start 8 bytes apart: vdbpsadbw then slides 4 samples over 8 places in
 * each, 32 neighbouring candidates at once. */
static inline __m512i load_lanes(const uint8_t *p)
{
    const __m512i order = _mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4);
    return _mm512_permutexvar_epi64(order, _mm512_loadu_si512(p));
}

#define SLIDE_4(c, imm)                                       \
    s0 = _mm512_add_epi16(s0, _mm512_dbsad_epu8(c, r0, imm)); \
    s1 = _mm512_add_epi16(s1, _mm512_dbsad_epu8(c, r1, imm)); \
    s2 = _mm512_add_epi16(s2, _mm512_dbsad_epu8(c, r2, imm)); \
    s3 = _mm512_add_epi16(s3, _mm512_dbsad_epu8(c, r3, imm))

/* Up to 256 samples of a block, so that 16 bits hold the sums: 8 * n_eights columns, or 4. */
typedef struct tile {
    const uint8_t *current;
    ptrdiff_t current_stride_bytes, stride_bytes;
    int32_t n_eights, h, is_half;
} tile;

/* Four groups below each other: each row of the reference is loaded once. */
static void tile_stacked(const tile *t, const uint8_t *const places[4], __m512i sums[4])
{
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
    ptrdiff_t stride_bytes = t->stride_bytes;
    for (int32_t i = 0; i < t->n_eights; i++) {
        const uint8_t *c = t->current + 8 * i, *p = places[0] + 8 * i;
        __m512i r0 = load_lanes(p), r1 = load_lanes(p + stride_bytes);
        __m512i r2 = load_lanes(p + 2 * stride_bytes);
        p += 3 * stride_bytes;
        for (int32_t y = 0; y < t->h; y++, p += stride_bytes, c += t->current_stride_bytes) {
            __m512i r3 = load_lanes(p), c0 = broadcast_4(c), c1 = broadcast_4(c + 4);
            SLIDE_4(c0, 0x94);
            if (!t->is_half) {
                SLIDE_4(c1, 0xe9);
            }
            r0 = r1;
            r1 = r2;
            r2 = r3;
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

static void tile_apart(const tile *t, const uint8_t *const places[4], __m512i sums[4])
{
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
    for (int32_t i = 0; i < t->n_eights; i++) {
        const uint8_t *c = t->current + 8 * i;
        ptrdiff_t at = 8 * (ptrdiff_t)i;
        for (int32_t y = 0; y < t->h; y++, at += t->stride_bytes, c += t->current_stride_bytes) {
            __m512i r0 = load_lanes(places[0] + at), r1 = load_lanes(places[1] + at);
            __m512i r2 = load_lanes(places[2] + at), r3 = load_lanes(places[3] + at);
            __m512i c0 = broadcast_4(c), c1 = broadcast_4(c + 4);
            SLIDE_4(c0, 0x94);
            if (!t->is_half) {
                SLIDE_4(c1, 0xe9);
            }
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

static void tile_alone(const tile *t, const uint8_t *place, __m512i *sum)
{
    __m512i a = _mm512_setzero_si512(), b = a;
    for (int32_t i = 0; i < t->n_eights; i++) {
        const uint8_t *c = t->current + 8 * i, *p = place + 8 * i;
        for (int32_t y = 0; y < t->h; y++, p += t->stride_bytes, c += t->current_stride_bytes) {
            __m512i r = load_lanes(p);
            a = _mm512_add_epi16(a, _mm512_dbsad_epu8(broadcast_4(c), r, 0x94));
            if (!t->is_half)
                b = _mm512_add_epi16(b, _mm512_dbsad_epu8(broadcast_4(c + 4), r, 0xe9));
        }
    }
    *sum = _mm512_add_epi16(a, b);
}

static inline void add_costs(__m512i sum, int is_first, uint32_t *costs)
{
    __m512i lo = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(sum));
    __m512i hi = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(sum, 1));
    if (!is_first) {
        lo = _mm512_add_epi32(lo, _mm512_loadu_si512(costs));
        hi = _mm512_add_epi32(hi, _mm512_loadu_si512(costs + 16));
    }
    _mm512_storeu_si512(costs, lo);
    _mm512_storeu_si512(costs + 16, hi);
}

static void find_hits(const uint32_t *costs, int32_t n, uint32_t limit, uint32_t *hits)
{
    __m512i most = _mm512_set1_epi32((int)limit);
    for (int32_t i = 0; i < n; i++, costs += MVF_GROUP)
        hits[i] = _mm512_cmple_epu32_mask(_mm512_loadu_si512(costs), most) |
                  (uint32_t)_mm512_cmple_epu32_mask(_mm512_loadu_si512(costs + 16), most) << 16;
}

/* Of blocks that are one tile. Few groups have hits. */
static void find_hits_of_tile(const __m512i *sums, int32_t n, uint32_t limit, uint32_t *costs,
                              uint32_t *hits)
{
    __m512i most = _mm512_set1_epi16((short)(limit < UINT16_MAX ? limit : UINT16_MAX));
    for (int32_t i = 0; i < n; i++) {
        hits[i] = _mm512_cmple_epu16_mask(sums[i], most);
        add_costs(sums[i], 1, costs + i * MVF_GROUP);
    }
}

static void sum_tile(const tile *t, const uint8_t *const places[4], int32_t n, int is_stacked,
                     __m512i sums[4])
{
    if (is_stacked)
        tile_stacked(t, places, sums);
    else if (n == 4)
        tile_apart(t, places, sums);
    else
        for (int32_t i = 0; i < n; i++)
            tile_alone(t, places[i], &sums[i]);
}

/* For widths that are 4 or a multiple of 8. */
static void sad_tiles(const uint8_t *current, ptrdiff_t current_stride_bytes,
                      const uint8_t *const places[4], ptrdiff_t stride_bytes, int32_t w, int32_t h,
                      int32_t n, int is_stacked, uint32_t limit, uint32_t *costs, uint32_t *hits)
{
    __m512i sums[4];
    int32_t tile_w = w < 16 ? w : 16;
    for (int32_t y = 0; y < h; y += 16)
        for (int32_t x = 0; x < w; x += tile_w) {
            tile t = {.current = current + y * current_stride_bytes + x,
                      .current_stride_bytes = current_stride_bytes,
                      .stride_bytes = stride_bytes,
                      .n_eights = w - x >= 16 ? 2 : 1,
                      .h = h - y < 16 ? h - y : 16,
                      .is_half = w == 4};
            const uint8_t *at[4];
            for (int32_t i = 0; i < n; i++)
                at[i] = places[i] + y * stride_bytes + x;
            sum_tile(&t, at, n, is_stacked, sums);
            if (w <= 16 && h <= 16) {
                find_hits_of_tile(sums, n, limit, costs, hits);
                return;
            }
            for (int32_t i = 0; i < n; i++)
                add_costs(sums[i], x == 0 && y == 0, costs + i * MVF_GROUP);
        }
    find_hits(costs, n, limit, hits);
}

/* Widths that vdbpsadbw cannot slide over. */
static void sad_each(const uint8_t *current, ptrdiff_t current_stride_bytes,
                     const uint8_t *reference, ptrdiff_t stride_bytes, int32_t w, int32_t h,
                     const uint32_t *at, int32_t n, uint32_t limit, uint32_t *costs, uint32_t *hits)
{
    __mmask64 valid = ~(__mmask64)0 >> (64 - w);
    for (int32_t i = 0; i < n * MVF_GROUP; i++) {
        const uint8_t *c = current;
        const uint8_t *p = place_of(reference, stride_bytes, at[i / MVF_GROUP]) + i % MVF_GROUP;
        __m512i sum = _mm512_setzero_si512();
        for (int32_t y = 0; y < h; y++, c += current_stride_bytes, p += stride_bytes)
            sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_maskz_loadu_epi8(valid, c),
                                                        _mm512_maskz_loadu_epi8(valid, p)));
        costs[i] = reduce_512(sum);
    }
    find_hits(costs, n, limit, hits);
}

static void sad_groups_avx512(mvf_sad_list_function list, const uint8_t *current,
                              ptrdiff_t current_stride_bytes, const uint8_t *reference,
                              ptrdiff_t stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                              int32_t n, uint32_t limit, uint32_t *costs, uint32_t *hits)
{
    const uint8_t *places[4];
    int is_stacked = n == 4;
    (void)list;
    for (int32_t i = 0; i < n; i++) {
        places[i] = reference + (ptrdiff_t)(at[i] >> 16) * stride_bytes + (at[i] & 0xffff);
        is_stacked &= at[i] == at[0] + ((uint32_t)i << 16);
    }
    if (w == 4 || w % 8 == 0)
        sad_tiles(current, current_stride_bytes, places, stride_bytes, w, h, n, is_stacked, limit,
                  costs, hits);
    else
        sad_each(current, current_stride_bytes, reference, stride_bytes, w, h, at, n, limit, costs,
                 hits);
}

/* Bounds. */

#define FN(name) name##_avx512
#define ALWAYS static inline __attribute__((always_inline))

typedef __m512i lanes;

ALWAYS lanes lanes_set(uint16_t v)
{
    return _mm512_set1_epi16((short)v);
}

ALWAYS lanes lanes_from(const uint8_t *p, lanes s)
{
    return _mm512_sub_epi16(_mm512_loadu_si512(p), s);
}

ALWAYS lanes lanes_distance(const uint8_t *p, lanes s)
{
    return _mm512_abs_epi16(lanes_from(p, s));
}

ALWAYS lanes lanes_add(lanes a, lanes b)
{
    return _mm512_adds_epu16(a, b);
}

ALWAYS uint32_t lanes_within(lanes a, lanes limit)
{
    return _mm512_cmple_epu16_mask(a, limit);
}

static inline __mmask16 first_lanes(int32_t n)
{
    return (__mmask16)(n < 16 ? (1u << n) - 1 : 0xffff);
}

static inline int32_t append(const mvf_groups *g, int32_t n, __m512i at, __m512i mask,
                             __mmask16 valid)
{
    __mmask16 keep = _mm512_mask_test_epi32_mask(valid, mask, mask);
    _mm512_storeu_si512(g->mask + n, _mm512_maskz_compress_epi32(keep, mask));
    _mm512_storeu_si512(g->at + n, _mm512_maskz_compress_epi32(keep, at));
    return n + __builtin_popcount(keep);
}

/* Apart from the loops that test groups, since a store to a place that hangs on a test's outcome
 * holds up the loads behind it. */
static int32_t drop_empty(const mvf_groups *g, int32_t n)
{
    int32_t left = 0;
    for (int32_t i = 0; i < n; i += 16)
        left = append(g, left, _mm512_loadu_si512(g->at + i), _mm512_loadu_si512(g->mask + i),
                      first_lanes(n - i));
    return left;
}

static int32_t append_column(const uint32_t *masks, int32_t ny, int32_t x, const mvf_groups *g,
                             int32_t n)
{
    const __m512i step = _mm512_slli_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 16);
    for (int32_t y = 0; y < ny; y += 16)
        n = append(g, n, _mm512_add_epi32(_mm512_set1_epi32(y << 16 | x), step),
                   _mm512_loadu_si512(masks + y), first_lanes(ny - y));
    return n;
}

#include "search/bounds_template.h"

/* Left-packs candidates; branch-free, since how many a group holds cannot be predicted. */
static int32_t list_groups_avx512(const mvf_groups *groups, int32_t *next, int32_t n, uint32_t *out)
{
    const __m512i step = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int32_t count = 0, i = *next;
    for (; i < n && count < MVF_LIST_SOFT; i++) {
        uint32_t m = groups->mask[i];
        __m512i at = _mm512_add_epi32(_mm512_set1_epi32((int)groups->at[i]), step);
        _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi32((__mmask16)m, at));
        count += __builtin_popcount(m & 0xffff);
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
        _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi32((__mmask16)(m >> 16), at));
        count += __builtin_popcount(m >> 16);
    }
    *next = i;
    return count;
}

static void cell_sums_avx512(const uint8_t *cur, ptrdiff_t stride, int32_t w, int32_t h,
                             uint32_t *out)
{
    const __m128i one_8 = _mm_set1_epi8(1), one_16 = _mm_set1_epi16(1);
    for (int32_t y = 0; y + 4 <= h; y += 4, cur += 4 * stride) {
        for (int32_t x = 0; x < w / 4 * 4; x += 16) {
            __m128i a = _mm_maddubs_epi16(load_16(cur + x), one_8);
            a = _mm_add_epi16(a, _mm_maddubs_epi16(load_16(cur + x + stride), one_8));
            a = _mm_add_epi16(a, _mm_maddubs_epi16(load_16(cur + x + 2 * stride), one_8));
            a = _mm_add_epi16(a, _mm_maddubs_epi16(load_16(cur + x + 3 * stride), one_8));
            _mm_storeu_si128((__m128i *)(out + x / 4), _mm_madd_epi16(a, one_16));
        }
        out += w / 4;
    }
}

static void columns_add_avx512(void *columns, const uint8_t *row, int32_t n)
{
    uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 32)
        _mm512_storeu_si512(c + x, _mm512_add_epi16(_mm512_loadu_si512(c + x), widen(row + x)));
}

static void columns_slide_avx512(void *columns, const uint8_t *add, const uint8_t *sub, int32_t n)
{
    uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 32) {
        __m512i v = _mm512_loadu_si512(c + x);
        v = _mm512_add_epi16(v, _mm512_sub_epi16(widen(add + x), widen(sub + x)));
        _mm512_storeu_si512(c + x, v);
    }
}

static void columns_sum_avx512(const void *columns, int32_t cell, int32_t shift, int32_t n,
                               uint16_t *out)
{
    const uint16_t *c = columns;
    __m128i by = _mm_cvtsi32_si128(shift);
    for (int32_t x = 0; x < n; x += 32) {
        __m512i v = _mm512_loadu_si512(c + x);
        for (int32_t i = 1; i < cell; i++)
            v = _mm512_add_epi16(v, _mm512_loadu_si512(c + x + i));
        _mm512_storeu_si512(out + x, _mm512_srl_epi16(v, by));
    }
}

#define MERGE(words)                                                                       \
    static void merge_##words(const uint16_t *top, const uint16_t *bottom, int32_t shift,  \
                              int32_t n, uint16_t *out)                                    \
    {                                                                                      \
        __m128i by = _mm_cvtsi32_si128(shift);                                             \
        __m512i v = _mm512_add_epi16(_mm512_loadu_si512(top), _mm512_loadu_si512(bottom)); \
        for (int32_t x = 0; x < n; x += 32) {                                              \
            __m512i next = _mm512_add_epi16(_mm512_loadu_si512(top + x + 32),              \
                                            _mm512_loadu_si512(bottom + x + 32));          \
            __m512i far = _mm512_alignr_epi32(next, v, words / 2);                         \
            _mm512_storeu_si512(out + x, _mm512_srl_epi16(_mm512_add_epi16(v, far), by));  \
            v = next;                                                                      \
        }                                                                                  \
    }

MERGE(4)
MERGE(8)

static void sums_merge_avx512(const uint16_t *top, const uint16_t *bottom, int32_t cell,
                              int32_t shift, int32_t n, uint16_t *out)
{
    if (cell == 4)
        merge_4(top, bottom, shift, n, out);
    else
        merge_8(top, bottom, shift, n, out);
}

void mvf_search_kernels_init_avx512(mvf_search_kernels *kernels, int32_t sample_bytes)
{
    /* AMD EPYC 9004: what 32 candidates cost at once, in SADs one by one. */
    static const int32_t dense[MVF_N_WIDTHS] = {4, 5, 10, 12, 20, 6};
    kernels->bound_window = bound_window_avx512;
    kernels->bound_groups = bound_groups_avx512;
    kernels->count_candidates = count_candidates_avx512;
    kernels->list_groups = list_groups_avx512;
    kernels->sums_merge = sums_merge_avx512;
    if (sample_bytes == 2)
        return;
    kernels->sad_list[MVF_WIDTH_16] = sad_list_16_avx512;
    kernels->sad_list[MVF_WIDTH_64] = sad_list_64_avx512;
    memcpy(kernels->dense, dense, sizeof dense);
    kernels->sad_groups = sad_groups_avx512;
    mvf_quads_kernels_init_avx512(kernels);
    mvf_means_kernels_init_avx512(kernels);
    kernels->cell_sums = cell_sums_avx512;
    kernels->columns_add = columns_add_avx512;
    kernels->columns_slide = columns_slide_avx512;
    kernels->columns_sum = columns_sum_avx512;
}
