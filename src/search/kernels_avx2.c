/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"

#include <immintrin.h>

#define FN(name) name##_avx2
#define V(name) _mm256_##name
#define ALWAYS static inline __attribute__((always_inline))

typedef __m256i vector;

ALWAYS vector load(const void *p)
{
    return _mm256_loadu_si256(p);
}

ALWAYS void store(void *p, vector v)
{
    _mm256_storeu_si256(p, v);
}

ALWAYS vector zero(void)
{
    return _mm256_setzero_si256();
}

#include "search/sad_template.h"

ALWAYS __m256i load_pair(const uint8_t *p, ptrdiff_t stride_bytes)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)),
                                   _mm_loadu_si128((const __m128i *)(p + stride_bytes)), 1);
}

ALWAYS uint32_t sum_8(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_srli_si128(s, 8));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(s, _mm_srli_si128(s, 4)));
}

ALWAYS __m256i sad_row_8(const uint8_t *a, const uint8_t *b, int32_t w)
{
    __m256i sum = _mm256_sad_epu8(load(a), load(b));
    for (int32_t x = 32; x < w; x += 32)
        sum = _mm256_add_epi32(sum, _mm256_sad_epu8(load(a + x), load(b + x)));
    return sum;
}

ALWAYS __m256i sad_row_16(const uint8_t *a, const uint8_t *b, int32_t w)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum = zero;
    for (int32_t x = 0; x < 2 * w; x += 32) {
        __m256i p = load(a + x), q = load(b + x);
        __m256i d = _mm256_or_si256(_mm256_subs_epu16(p, q), _mm256_subs_epu16(q, p));
        sum = _mm256_add_epi32(
            sum, _mm256_add_epi32(_mm256_unpacklo_epi16(d, zero), _mm256_unpackhi_epi16(d, zero)));
    }
    return sum;
}

SAD_LIST(32, 8, 1, sum_8)
SAD_LIST(64, 8, 1, sum_8)
SAD_LIST(16, 16, 2, sum_8)
SAD_LIST(32, 16, 2, sum_8)
SAD_LIST(64, 16, 2, sum_8)

ALWAYS __m256i sad_half(const uint8_t *a, const uint8_t *b)
{
    return _mm256_zextsi128_si256(
        _mm_sad_epu8(_mm_loadu_si128((const __m128i *)a), _mm_loadu_si128((const __m128i *)b)));
}

SAD_LIST_OF_PAIRS(16, sum_8)

/* Bounds. */

typedef struct lanes {
    __m256i v[2];
} lanes;

ALWAYS lanes lanes_set(uint16_t value)
{
    __m256i v = _mm256_set1_epi16((short)value);
    return (lanes){{v, v}};
}

ALWAYS lanes lanes_from(const uint8_t *p, lanes s)
{
    return (lanes){{_mm256_sub_epi16(load(p), s.v[0]), _mm256_sub_epi16(load(p + 32), s.v[1])}};
}

ALWAYS lanes lanes_distance(const uint8_t *p, lanes s)
{
    lanes d = lanes_from(p, s);
    return (lanes){{_mm256_abs_epi16(d.v[0]), _mm256_abs_epi16(d.v[1])}};
}

ALWAYS lanes lanes_add(lanes a, lanes b)
{
    return (lanes){{_mm256_adds_epu16(a.v[0], b.v[0]), _mm256_adds_epu16(a.v[1], b.v[1])}};
}

ALWAYS uint32_t lanes_within(lanes a, lanes limit)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i lo = _mm256_cmpeq_epi16(_mm256_subs_epu16(a.v[0], limit.v[0]), zero);
    __m256i hi = _mm256_cmpeq_epi16(_mm256_subs_epu16(a.v[1], limit.v[0]), zero);
    __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(lo, hi), 0xd8);
    return (uint32_t)_mm256_movemask_epi8(both);
}

#include "search/groups_template.h"

#include "search/bounds_template.h"

/* Sums. */

ALWAYS __m256i widen_8(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
}

ALWAYS __m256i widen_16(const uint8_t *p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}

static void columns_add_8(void *columns, const uint8_t *row, int32_t n)
{
    uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 16)
        store(c + x, _mm256_add_epi16(load(c + x), widen_8(row + x)));
}

static void columns_slide_8(void *columns, const uint8_t *add, const uint8_t *subtract, int32_t n)
{
    uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 16) {
        __m256i d = _mm256_sub_epi16(widen_8(add + x), widen_8(subtract + x));
        store(c + x, _mm256_add_epi16(load(c + x), d));
    }
}

static void columns_sum_8(const void *columns, int32_t cell, int32_t shift, int32_t n,
                          uint16_t *sums)
{
    const uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 16) {
        __m256i v = load(c + x);
        for (int32_t i = 1; i < cell; i++)
            v = _mm256_add_epi16(v, load(c + x + i));
        store(sums + x, _mm256_srl_epi16(v, _mm_cvtsi32_si128(shift)));
    }
}

static void sums_merge_avx2(const uint16_t *top, const uint16_t *bottom, int32_t cell,
                            int32_t shift, int32_t n, uint16_t *sums)
{
    for (int32_t x = 0; x < n; x += 16) {
        __m256i v = _mm256_add_epi16(_mm256_add_epi16(load(top + x), load(top + x + cell)),
                                     _mm256_add_epi16(load(bottom + x), load(bottom + x + cell)));
        store(sums + x, _mm256_srl_epi16(v, _mm_cvtsi32_si128(shift)));
    }
}

static void columns_add_16(void *columns, const uint8_t *row, int32_t n)
{
    uint32_t *c = columns;
    for (int32_t x = 0; x < n; x += 8)
        store(c + x, _mm256_add_epi32(load(c + x), widen_16(row + 2 * x)));
}

static void columns_slide_16(void *columns, const uint8_t *add, const uint8_t *subtract, int32_t n)
{
    uint32_t *c = columns;
    for (int32_t x = 0; x < n; x += 8) {
        __m256i d = _mm256_sub_epi32(widen_16(add + 2 * x), widen_16(subtract + 2 * x));
        store(c + x, _mm256_add_epi32(load(c + x), d));
    }
}

static void columns_sum_16(const void *columns, int32_t cell, int32_t shift, int32_t n,
                           uint16_t *sums)
{
    const uint32_t *c = columns;
    __m128i by = _mm_cvtsi32_si128(shift);
    for (int32_t x = 0; x < n; x += 16) {
        __m256i lo = load(c + x), hi = load(c + x + 8);
        for (int32_t i = 1; i < cell; i++) {
            lo = _mm256_add_epi32(lo, load(c + x + i));
            hi = _mm256_add_epi32(hi, load(c + x + i + 8));
        }
        lo = _mm256_packs_epi32(_mm256_srl_epi32(lo, by), _mm256_srl_epi32(hi, by));
        store(sums + x, _mm256_permute4x64_epi64(lo, 0xd8));
    }
}

/* The pyramid. */

ALWAYS void store_bytes(uint8_t *p, vector words)
{
    vector bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0xd8);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(bytes));
}

#include "search/halve_template.h"

/* vpmaddwd takes signed numbers: samples less 32768, which the weights' sum of 64 restores. */
ALWAYS __m256i blur_16(const uint8_t *p)
{
    const __m256i left = _mm256_set1_epi32(0x00030001), right = _mm256_set1_epi32(0x00010003);
    const __m256i top = _mm256_set1_epi16((short)0x8000);
    return _mm256_add_epi32(_mm256_madd_epi16(_mm256_xor_si256(load(p), top), left),
                            _mm256_madd_epi16(_mm256_xor_si256(load(p + 4), top), right));
}

static void halve_row_16(const uint8_t *rows, ptrdiff_t stride_bytes, int32_t n, uint8_t *out)
{
    const __m256i restore = _mm256_set1_epi32(64 * 32768 + 32), three = _mm256_set1_epi32(3);
    for (int32_t x = 0; x < n; x += 8, rows += 32) {
        __m256i ends = _mm256_add_epi32(blur_16(rows), blur_16(rows + 3 * stride_bytes));
        __m256i middle =
            _mm256_add_epi32(blur_16(rows + stride_bytes), blur_16(rows + 2 * stride_bytes));
        __m256i sum = _mm256_add_epi32(ends, _mm256_mullo_epi32(middle, three));
        sum = _mm256_srli_epi32(_mm256_add_epi32(sum, restore), 6);
        sum = _mm256_permute4x64_epi64(_mm256_packus_epi32(sum, sum), 0xd8);
        _mm_storeu_si128((__m128i *)(out + 2 * x), _mm256_castsi256_si128(sum));
    }
}

void mvf_search_kernels_init_avx2(mvf_search_kernels *kernels, int32_t sample_bytes)
{
    int wide = sample_bytes == 2;
    kernels->sad_list[MVF_WIDTH_16] = wide ? sad_list_16_16 : sad_list_16_8;
    kernels->sad_list[MVF_WIDTH_32] = wide ? sad_list_32_16 : sad_list_32_8;
    kernels->sad_list[MVF_WIDTH_64] = wide ? sad_list_64_16 : sad_list_64_8;
    kernels->bound_window = bound_window_avx2;
    kernels->bound_groups = bound_groups_avx2;
    kernels->count_candidates = count_candidates_avx2;
    kernels->list_groups = list_groups_avx2;
    kernels->columns_add = wide ? columns_add_16 : columns_add_8;
    kernels->columns_slide = wide ? columns_slide_16 : columns_slide_8;
    kernels->columns_sum = wide ? columns_sum_16 : columns_sum_8;
    kernels->sums_merge = sums_merge_avx2;
    kernels->halve_row = wide ? halve_row_16 : halve_row_8_avx2;
}
