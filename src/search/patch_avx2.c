/*
 * Metrics on patches of 16-bit samples. A row of a block is taken 16, 8 or 4 samples at a time; a
 * shorter load leaves zeros, which cost nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <immintrin.h>

#include "search/patch.h"

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS __m256i load(const uint16_t *p, int32_t n)
{
    if (n >= 16)
        return _mm256_loadu_si256((const __m256i *)p);
    if (n >= 8)
        return _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_zextsi128_si256(_mm_loadl_epi64((const __m128i *)p));
}

/* How many samples the load at x takes: the most that fit. */
ALWAYS int32_t chunk(int32_t left)
{
    return left >= 16 ? 16 : left >= 8 ? 8 : 4;
}

ALWAYS uint32_t sum_of(__m256i v)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(half);
}

ALWAYS __m256i distance(__m256i a, __m256i b)
{
    return _mm256_or_si256(_mm256_subs_epu16(a, b), _mm256_subs_epu16(b, a));
}

/* Adds unsigned words in pairs. */
ALWAYS __m256i add_words(__m256i sum, __m256i words)
{
    const __m256i low = _mm256_set1_epi32(0xffff);
    sum = _mm256_add_epi32(sum, _mm256_and_si256(words, low));
    return _mm256_add_epi32(sum, _mm256_srli_epi32(words, 16));
}

static uint32_t sad(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit);
static uint32_t ssd(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit);

/* What is left at the right where the width is no multiple of 4, h rows of it. */
ALWAYS uint32_t rest(mvf_patch a, mvf_patch b, int32_t w, int32_t h, int squared)
{
    uint32_t sum = 0;
    for (int32_t y = 0; w % 4 && y < h; y++)
        for (int32_t x = w & ~3; x < w; x++) {
            int32_t d = *mvf_patch_at(a, x, y) - *mvf_patch_at(b, x, y);
            sum += (uint32_t)(squared ? d * d : d < 0 ? -d : d);
        }
    return sum;
}

static uint32_t sad(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t total = rest(a, b, w, h, 0);
    for (int32_t y = 0; y < h && total < limit; y += 4) {
        int32_t rows = h - y < 4 ? h - y : 4;
        __m256i sum = _mm256_setzero_si256();
        for (int32_t i = 0; i < rows; i++) {
            const uint16_t *p = mvf_patch_at(a, 0, y + i), *q = mvf_patch_at(b, 0, y + i);
            for (int32_t x = 0, n; x + 4 <= w; x += n) {
                n = chunk(w - x);
                sum = add_words(sum, distance(load(p + x, n), load(q + x, n)));
            }
        }
        total += sum_of(sum);
    }
    return total;
}

/* At most 15 bits a sample. */
static uint32_t ssd(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t total = rest(a, b, w, h, 1);
    for (int32_t y = 0; y < h && total < limit; y += 4) {
        int32_t rows = h - y < 4 ? h - y : 4;
        __m256i sum = _mm256_setzero_si256();
        for (int32_t i = 0; i < rows; i++) {
            const uint16_t *p = mvf_patch_at(a, 0, y + i), *q = mvf_patch_at(b, 0, y + i);
            for (int32_t x = 0, n; x + 4 <= w; x += n) {
                n = chunk(w - x);
                __m256i d = _mm256_sub_epi16(load(p + x, n), load(q + x, n));
                sum = _mm256_add_epi32(sum, _mm256_madd_epi16(d, d));
            }
        }
        total += sum_of(sum);
    }
    return total;
}

/* SATD in words: at most 10 bits a sample, so that 32 * (2^10 - 1) still fits. The last step of the
 * transform is not made: |a + b| + |a - b| = 2 max(|a|, |b|). */

ALWAYS void butterfly(__m256i *a, __m256i *b)
{
    __m256i sum = _mm256_add_epi16(*a, *b);
    *b = _mm256_sub_epi16(*a, *b);
    *a = sum;
}

/* Rows 0 to n - 1 against one another, n = 4 or 8. */
ALWAYS void transform_rows(__m256i *d, int32_t n)
{
    for (int32_t half = 1; half < n; half *= 2)
        for (int32_t i = 0; i < n; i++)
            if (!(i & half))
                butterfly(&d[i], &d[i + half]);
}

/* In each group of 8 samples, the neighbour at distance 1, 2 or 4. */
ALWAYS __m256i swap(__m256i v, int32_t how)
{
    if (how == 1)
        return _mm256_or_si256(_mm256_slli_epi32(v, 16), _mm256_srli_epi32(v, 16));
    return how == 2 ? _mm256_shuffle_epi32(v, 0xb1) : _mm256_shuffle_epi32(v, 0x4e);
}

/* a + b at the first of two neighbours, a - b at the second. */
ALWAYS __m256i transform_within(__m256i v, int32_t how)
{
    const __m256i sign = how == 1 ? _mm256_set1_epi32((int)0xffff0001u)
                                  : _mm256_set1_epi64x((long long)0xffffffff00010001ull);
    return _mm256_add_epi16(swap(v, how), _mm256_sign_epi16(v, sign));
}

/* Sums of |coefficients| of the tiles of n x n in n rows, in lanes of 32 bits: with n = 8 a tile is
 * a half of 128 bits, with n = 4 two lanes. */
ALWAYS __m256i tile_sums(__m256i *d, int32_t n)
{
    __m256i sum = _mm256_setzero_si256();
    transform_rows(d, n);
    for (int32_t i = 0; i < n; i++) {
        __m256i v = transform_within(d[i], 1);
        if (n == 8)
            v = transform_within(v, 2);
        v = _mm256_abs_epi16(v);
        /* Both neighbours get the larger one: together that is the sum of the last step. */
        v = _mm256_max_epi16(v, _mm256_abs_epi16(swap(v, n / 2)));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(v, _mm256_set1_epi16(1)));
    }
    return sum;
}

ALWAYS void load_differences(__m256i *d, mvf_patch a, mvf_patch b, int32_t x, int32_t y, int32_t n,
                             int32_t n_rows)
{
    for (int32_t i = 0; i < n_rows; i++)
        d[i] = _mm256_sub_epi16(load(mvf_patch_at(a, x, y + i), n),
                                load(mvf_patch_at(b, x, y + i), n));
}

/* A block that its tiles do not fill: its samples with zeros round them, in both patches. */
static void pad(uint16_t *to, mvf_patch from, int32_t w, int32_t h)
{
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++)
            to[y * MVF_MAX_BLOCK + x] = *mvf_patch_at(from, x, y);
}

static uint32_t satd8(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit);
static uint32_t satd4(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit);

static uint32_t satd_padded(mvf_patch a, mvf_patch b, int32_t w, int32_t h, int32_t tile,
                            uint32_t limit)
{
    uint16_t p[MVF_MAX_BLOCK * MVF_MAX_BLOCK] = {0}, q[MVF_MAX_BLOCK * MVF_MAX_BLOCK] = {0};
    const mvf_patch pp = {p, MVF_MAX_BLOCK * sizeof *p}, qq = {q, MVF_MAX_BLOCK * sizeof *q};
    pad(p, a, w, h);
    pad(q, b, w, h);
    w = (w + tile - 1) / tile * tile;
    h = (h + tile - 1) / tile * tile;
    return tile == 8 ? satd8(pp, qq, w, h, limit) : satd4(pp, qq, w, h, limit);
}

static uint32_t satd8(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t total = 0;
    if (w % 8 || h % 8)
        return satd_padded(a, b, w, h, 8, limit);
    for (int32_t y = 0; y < h && total < limit; y += 8)
        for (int32_t x = 0, n; x < w; x += n) {
            __m256i d[8];
            n = chunk(w - x);
            load_differences(d, a, b, x, y, n, 8);
            __m256i sum = tile_sums(d, 8);
            sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4e));
            sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xb1));
            sum = _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(2)), 2);
            total += (uint32_t)_mm256_extract_epi32(sum, 0);
            total += (uint32_t)_mm256_extract_epi32(sum, 4);
        }
    return total;
}

static uint32_t satd4(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t total = 0;
    if (w % 4 || h % 4)
        return satd_padded(a, b, w, h, 4, limit);
    for (int32_t y = 0; y < h && total < limit; y += 4)
        for (int32_t x = 0, n; x < w; x += n) {
            __m256i d[4];
            n = chunk(w - x);
            load_differences(d, a, b, x, y, n, 4);
            __m256i sum = tile_sums(d, 4);
            /* Both lanes of a tile get its sum: rounded, and half of it taken, they count once. */
            sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xb1));
            sum = _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(1)), 1);
            total += sum_of(sum) / 2;
        }
    return total;
}

mvf_metric_function mvf_metric_select_avx2(mvf_metric metric, int32_t tile, int32_t bit_depth)
{
    if (metric == MVF_METRIC_SAD)
        return sad;
    if (metric == MVF_METRIC_SSD)
        return bit_depth <= 15 ? ssd : NULL;
    if (bit_depth > 10)
        return NULL;
    return metric == MVF_METRIC_SATD4 || tile == 4 ? satd4 : satd8;
}

/* Partitions: at most 12 bits a sample, so that eight of them add up in a word. */

/* Sums over `rows` rows of 16 columns, in eight lanes of two columns each. */
ALWAYS __m256i column_pairs(mvf_patch a, mvf_patch b, int32_t x, int32_t y, int32_t rows)
{
    __m256i sum = _mm256_setzero_si256();
    for (int32_t i = 0; i < rows; i++)
        sum = _mm256_add_epi16(sum, distance(load(mvf_patch_at(a, x, y + i), 16),
                                             load(mvf_patch_at(b, x, y + i), 16)));
    return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

/* 32 columns at a time where there are as many, else 16. */
static void sads_8(mvf_patch a, mvf_patch b, int32_t size, int32_t n_cols, int32_t n_rows,
                   uint32_t *sums)
{
    (void)size;
    for (int32_t row = 0; row < n_rows; row++)
        for (int32_t col = 0; col < n_cols; col += 2, sums += 2) {
            __m256i pairs = column_pairs(a, b, 8 * col, 8 * row, 8);
            pairs = _mm256_add_epi32(pairs, _mm256_shuffle_epi32(pairs, 0x4e));
            pairs = _mm256_add_epi32(pairs, _mm256_shuffle_epi32(pairs, 0xb1));
            sums[0] = (uint32_t)_mm256_extract_epi32(pairs, 0);
            sums[1] = (uint32_t)_mm256_extract_epi32(pairs, 4);
        }
}

static void sads_4(mvf_patch a, mvf_patch b, int32_t size, int32_t n_cols, int32_t n_rows,
                   uint32_t *sums)
{
    (void)size;
    for (int32_t row = 0; row < n_rows; row++)
        for (int32_t col = 0; col < n_cols; col += 4, sums += 4) {
            __m256i pairs = column_pairs(a, b, 4 * col, 4 * row, 4);
            pairs = _mm256_add_epi32(pairs, _mm256_shuffle_epi32(pairs, 0xb1));
            pairs = _mm256_permutevar8x32_epi32(pairs, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
            _mm_storeu_si128((__m128i *)sums, _mm256_castsi256_si128(pairs));
        }
}

static void keep(const uint32_t *sums, uint32_t *best_j, int32_t *best_index, int32_t n,
                 uint32_t rate, int32_t index)
{
    const __m256i flip = _mm256_set1_epi32(INT32_MIN), add = _mm256_set1_epi32((int)rate);
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i *best = (__m256i *)(best_j + i), *place = (__m256i *)(best_index + i);
        __m256i j = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(sums + i)), add);
        __m256i old = _mm256_loadu_si256(best);
        __m256i better = _mm256_cmpgt_epi32(_mm256_xor_si256(old, flip), _mm256_xor_si256(j, flip));
        if (_mm256_testz_si256(better, better))
            continue;
        _mm256_storeu_si256(best, _mm256_blendv_epi8(old, j, better));
        _mm256_storeu_si256(
            place, _mm256_blendv_epi8(_mm256_loadu_si256(place), _mm256_set1_epi32(index), better));
    }
    for (; i < n; i++) {
        uint32_t j = sums[i] + rate;
        best_index[i] = j < best_j[i] ? index : best_index[i];
        best_j[i] = j < best_j[i] ? j : best_j[i];
    }
}

mvf_partition_ops mvf_partition_select_avx2(int32_t size, int32_t bit_depth)
{
    mvf_partition_ops ops = {.keep = keep};
    if (bit_depth <= 12 && size <= 8)
        ops.sads = size == 8 ? sads_8 : sads_4;
    return ops;
}

/* Bytes: SADs of eight columns are what the instruction sums. */

ALWAYS __m256i sad_row(const uint8_t *p, const uint8_t *q, int32_t w)
{
    __m256i sum = _mm256_setzero_si256();
    int32_t x = 0;
    for (; x + 32 <= w; x += 32)
        sum = _mm256_add_epi32(sum, _mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)(p + x)),
                                                    _mm256_loadu_si256((const __m256i *)(q + x))));
    for (; x < w; x += 8)
        sum = _mm256_add_epi32(
            sum, _mm256_zextsi128_si256(_mm_sad_epu8(_mm_loadl_epi64((const __m128i *)(p + x)),
                                                     _mm_loadl_epi64((const __m128i *)(q + x)))));
    return sum;
}

/* Two rows of 16 in one register. */
ALWAYS __m256i sad_rows_16(const uint8_t *p, ptrdiff_t p_stride_bytes, const uint8_t *q,
                           ptrdiff_t q_stride_bytes)
{
    __m256i a = _mm256_loadu2_m128i((const __m128i *)(p + p_stride_bytes), (const __m128i *)p);
    __m256i b = _mm256_loadu2_m128i((const __m128i *)(q + q_stride_bytes), (const __m128i *)q);
    return _mm256_sad_epu8(a, b);
}

static uint32_t byte_sad(const uint8_t *a, ptrdiff_t a_stride_bytes, const uint8_t *b,
                         ptrdiff_t b_stride_bytes, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t total = 0;
    for (int32_t y = 0; y < h && total < limit; y += 8) {
        int32_t rows = h - y < 8 ? h - y : 8, i = 0;
        __m256i sum = _mm256_setzero_si256();
        for (; w == 16 && i + 2 <= rows; i += 2)
            sum = _mm256_add_epi32(sum, sad_rows_16(a + i * a_stride_bytes, a_stride_bytes,
                                                    b + i * b_stride_bytes, b_stride_bytes));
        for (; i < rows; i++)
            sum = _mm256_add_epi32(sum, sad_row(a + i * a_stride_bytes, b + i * b_stride_bytes, w));
        total += sum_of(sum);
        a += 8 * a_stride_bytes;
        b += 8 * b_stride_bytes;
    }
    return total;
}

static void byte_sads_8(const uint8_t *a, ptrdiff_t a_stride_bytes, const uint8_t *b,
                        ptrdiff_t b_stride_bytes, int32_t n_cols, int32_t n_rows, uint32_t *sums)
{
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    for (int32_t row = 0; row < n_rows; row++, a += 8 * a_stride_bytes, b += 8 * b_stride_bytes) {
        int32_t col = 0;
        for (; col + 4 <= n_cols; col += 4, sums += 4) {
            __m256i sum = _mm256_setzero_si256();
            for (int32_t y = 0; y < 8; y++) {
                const uint8_t *p = a + y * a_stride_bytes + 8 * col;
                const uint8_t *q = b + y * b_stride_bytes + 8 * col;
                sum =
                    _mm256_add_epi32(sum, _mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)p),
                                                          _mm256_loadu_si256((const __m256i *)q)));
            }
            _mm_storeu_si128((__m128i *)sums,
                             _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(sum, even)));
        }
        for (; col < n_cols; col++)
            *sums++ = byte_sad(a + 8 * col, a_stride_bytes, b + 8 * col, b_stride_bytes, 8, 8,
                               UINT32_MAX);
    }
}

mvf_byte_ops mvf_byte_select_avx2(void)
{
    return (mvf_byte_ops){byte_sad, byte_sads_8};
}
