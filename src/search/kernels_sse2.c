/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"

#include <emmintrin.h>
#include <string.h>

#define FN(name) name##_sse2
#define V(name) _mm_##name
#define ALWAYS static inline __attribute__((always_inline))

#include "search/bounds_128.h"
#include "search/sad_template.h"

/* SADs of 8-bit samples. */

ALWAYS uint32_t sum_halves(__m128i v)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(v, _mm_srli_si128(v, 8)));
}

ALWAYS __m128i load_4(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm_cvtsi32_si128(v);
}

ALWAYS __m128i sad_row_8(const uint8_t *a, const uint8_t *b, int32_t w)
{
    if (w == 4)
        return _mm_sad_epu8(load_4(a), load_4(b));
    if (w == 8)
        return _mm_sad_epu8(_mm_loadl_epi64((const __m128i *)a),
                            _mm_loadl_epi64((const __m128i *)b));
    __m128i sum = _mm_sad_epu8(load(a), load(b));
    for (int32_t x = 16; x < w; x += 16)
        sum = _mm_add_epi32(sum, _mm_sad_epu8(load(a + x), load(b + x)));
    return sum;
}

/* SADs of 16-bit samples. */

ALWAYS __m128i distance_16(__m128i a, __m128i b)
{
    return _mm_or_si128(_mm_subs_epu16(a, b), _mm_subs_epu16(b, a));
}

ALWAYS __m128i add_wide(__m128i sum, __m128i v)
{
    __m128i zero = _mm_setzero_si128();
    return _mm_add_epi32(sum,
                         _mm_add_epi32(_mm_unpacklo_epi16(v, zero), _mm_unpackhi_epi16(v, zero)));
}

ALWAYS __m128i sad_row_16(const uint8_t *a, const uint8_t *b, int32_t w)
{
    __m128i sum = _mm_setzero_si128();
    if (w == 4)
        return add_wide(sum, distance_16(_mm_loadl_epi64((const __m128i *)a),
                                         _mm_loadl_epi64((const __m128i *)b)));
    for (int32_t x = 0; x < 2 * w; x += 16)
        sum = add_wide(sum, distance_16(load(a + x), load(b + x)));
    return sum;
}

ALWAYS uint32_t sum_4(__m128i v)
{
    v = _mm_add_epi32(v, _mm_srli_si128(v, 8));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(v, _mm_srli_si128(v, 4)));
}

SAD_LIST(4, 8, 1, sum_halves)
SAD_LIST(16, 8, 1, sum_halves)
SAD_LIST(32, 8, 1, sum_halves)
SAD_LIST(64, 8, 1, sum_halves)
SAD_LIST(4, 16, 2, sum_4)
SAD_LIST(8, 16, 2, sum_4)
SAD_LIST(16, 16, 2, sum_4)
SAD_LIST(32, 16, 2, sum_4)
SAD_LIST(64, 16, 2, sum_4)

ALWAYS __m128i load_pair(const uint8_t *p, ptrdiff_t stride_bytes)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)p),
                              _mm_loadl_epi64((const __m128i *)(p + stride_bytes)));
}

ALWAYS __m128i sad_half(const uint8_t *a, const uint8_t *b)
{
    return sad_row_8(a, b, 8);
}

SAD_LIST_OF_PAIRS(8, sum_halves)

/* Sums. */

static void cell_sums_sse2(const uint8_t *current, ptrdiff_t stride_bytes, int32_t w, int32_t h,
                           uint32_t *sums)
{
    const __m128i low = _mm_set1_epi16(0xff), one = _mm_set1_epi16(1);
    for (int32_t y = 0; y + 4 <= h; y += 4, current += 4 * stride_bytes, sums += w / 4)
        for (int32_t x = 0; x < w / 4 * 4; x += 16) {
            __m128i sum = _mm_setzero_si128();
            for (int32_t i = 0; i < 4; i++) {
                __m128i v = load(current + i * stride_bytes + x);
                sum =
                    _mm_add_epi16(sum, _mm_add_epi16(_mm_and_si128(v, low), _mm_srli_epi16(v, 8)));
            }
            store(sums + x / 4, _mm_madd_epi16(sum, one));
        }
}

static void columns_add_8(void *columns, const uint8_t *row, int32_t n)
{
    const __m128i zero = _mm_setzero_si128();
    uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 16) {
        __m128i v = load(row + x);
        store(c + x, _mm_add_epi16(load(c + x), _mm_unpacklo_epi8(v, zero)));
        store(c + x + 8, _mm_add_epi16(load(c + x + 8), _mm_unpackhi_epi8(v, zero)));
    }
}

static void columns_slide_8(void *columns, const uint8_t *add, const uint8_t *subtract, int32_t n)
{
    const __m128i zero = _mm_setzero_si128();
    uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 16) {
        __m128i a = load(add + x), s = load(subtract + x);
        __m128i lo = _mm_sub_epi16(_mm_unpacklo_epi8(a, zero), _mm_unpacklo_epi8(s, zero));
        __m128i hi = _mm_sub_epi16(_mm_unpackhi_epi8(a, zero), _mm_unpackhi_epi8(s, zero));
        store(c + x, _mm_add_epi16(load(c + x), lo));
        store(c + x + 8, _mm_add_epi16(load(c + x + 8), hi));
    }
}

static void columns_sum_8(const void *columns, int32_t cell, int32_t shift, int32_t n,
                          uint16_t *sums)
{
    const uint16_t *c = columns;
    for (int32_t x = 0; x < n; x += 8) {
        __m128i v = load(c + x);
        for (int32_t i = 1; i < cell; i++)
            v = _mm_add_epi16(v, load(c + x + i));
        store(sums + x, _mm_srl_epi16(v, _mm_cvtsi32_si128(shift)));
    }
}

static void sums_merge_sse2(const uint16_t *top, const uint16_t *bottom, int32_t cell,
                            int32_t shift, int32_t n, uint16_t *sums)
{
    for (int32_t x = 0; x < n; x += 8) {
        __m128i v = _mm_add_epi16(_mm_add_epi16(load(top + x), load(top + x + cell)),
                                  _mm_add_epi16(load(bottom + x), load(bottom + x + cell)));
        store(sums + x, _mm_srl_epi16(v, _mm_cvtsi32_si128(shift)));
    }
}

static void columns_add_16(void *columns, const uint8_t *row, int32_t n)
{
    const __m128i zero = _mm_setzero_si128();
    uint32_t *c = columns;
    for (int32_t x = 0; x < n; x += 8) {
        __m128i v = load(row + 2 * x);
        store(c + x, _mm_add_epi32(load(c + x), _mm_unpacklo_epi16(v, zero)));
        store(c + x + 4, _mm_add_epi32(load(c + x + 4), _mm_unpackhi_epi16(v, zero)));
    }
}

static void columns_slide_16(void *columns, const uint8_t *add, const uint8_t *subtract, int32_t n)
{
    const __m128i zero = _mm_setzero_si128();
    uint32_t *c = columns;
    for (int32_t x = 0; x < n; x += 8) {
        __m128i a = load(add + 2 * x), s = load(subtract + 2 * x);
        __m128i lo = _mm_sub_epi32(_mm_unpacklo_epi16(a, zero), _mm_unpacklo_epi16(s, zero));
        __m128i hi = _mm_sub_epi32(_mm_unpackhi_epi16(a, zero), _mm_unpackhi_epi16(s, zero));
        store(c + x, _mm_add_epi32(load(c + x), lo));
        store(c + x + 4, _mm_add_epi32(load(c + x + 4), hi));
    }
}

static void columns_sum_16(const void *columns, int32_t cell, int32_t shift, int32_t n,
                           uint16_t *sums)
{
    const uint32_t *c = columns;
    __m128i by = _mm_cvtsi32_si128(shift);
    for (int32_t x = 0; x < n; x += 8) {
        __m128i lo = load(c + x), hi = load(c + x + 4);
        for (int32_t i = 1; i < cell; i++) {
            lo = _mm_add_epi32(lo, load(c + x + i));
            hi = _mm_add_epi32(hi, load(c + x + i + 4));
        }
        store(sums + x, _mm_packs_epi32(_mm_srl_epi32(lo, by), _mm_srl_epi32(hi, by)));
    }
}

void mvf_search_kernels_init_sse2(mvf_search_kernels *kernels, int32_t sample_bytes)
{
    static const mvf_sad_list_function sad_lists[2][MVF_WIDTH_ANY] = {
        {sad_list_4_8, sad_list_8_8, sad_list_16_8, sad_list_32_8, sad_list_64_8},
        {sad_list_4_16, sad_list_8_16, sad_list_16_16, sad_list_32_16, sad_list_64_16}};
    int wide = sample_bytes == 2;
    memcpy(kernels->sad_list, sad_lists[wide], sizeof sad_lists[wide]);
    kernels->bound_window = bound_window_sse2;
    kernels->bound_groups = bound_groups_sse2;
    kernels->count_candidates = count_candidates_sse2;
    kernels->list_groups = list_groups_sse2;
    kernels->columns_add = wide ? columns_add_16 : columns_add_8;
    kernels->columns_slide = wide ? columns_slide_16 : columns_slide_8;
    kernels->columns_sum = wide ? columns_sum_16 : columns_sum_8;
    kernels->sums_merge = sums_merge_sse2;
    if (!wide)
        kernels->cell_sums = cell_sums_sse2;
}
