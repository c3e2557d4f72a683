/* SPDX-License-Identifier: BSD-2-Clause */
#include <immintrin.h>

#include "search/truemotion_parts.h"

typedef const mvf_tm_features *features_pointer;

/* The 8 px of a window that count: px 0 and 2 of rows 0 and 2, px 1 and 3 of rows 1 and 3. */
static inline __m256i load_eight(features_pointer window, ptrdiff_t stride)
{
    __m256i even = _mm256_castsi128_si256(_mm_loadu_si128((const void *)window));
    __m256i odd = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(window + stride)));
    even = _mm256_inserti128_si256(even, _mm_loadu_si128((const void *)(window + 2 * stride)), 1);
    odd = _mm256_inserti128_si256(odd, _mm_loadu_si128((const void *)(window + 3 * stride)), 1);
    return _mm256_blend_epi32(even, odd, 0xaa);
}

/* The 4 px that count: px 1, 3, 0 and 2 of rows 0 to 3. Each is there twice. */
static inline __m256i load_four(features_pointer window, ptrdiff_t stride)
{
    __m128i px = _mm_loadu_si128((const void *)window);
    px = _mm_blend_epi32(px, _mm_loadu_si128((const void *)(window + stride)), 8);
    px = _mm_blend_epi32(px, _mm_loadu_si128((const void *)(window + 2 * stride)), 1);
    px = _mm_blend_epi32(px, _mm_loadu_si128((const void *)(window + 3 * stride)), 4);
    return _mm256_broadcastsi128_si256(px);
}

static inline __m256i load_window(features_pointer window, ptrdiff_t stride, mvf_tm_pattern pattern)
{
    return pattern == MVF_TM_PATTERN_8 ? load_eight(window, stride) : load_four(window, stride);
}

/* (above (8 - fy) + below fy + 32) >> 6 of bytes that were weighted by fx before. */
static inline __m256i weigh_rows(__m256i above, __m256i below, __m256i fx, __m256i upper,
                                 __m256i lower)
{
    __m256i sum = _mm256_add_epi16(_mm256_mullo_epi16(_mm256_maddubs_epi16(above, fx), upper),
                                   _mm256_mullo_epi16(_mm256_maddubs_epi16(below, fx), lower));
    return _mm256_srli_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(32)), 6);
}

static inline __m256i interpolate(__m256i a, __m256i b, __m256i c, __m256i d, int32_t x, int32_t y)
{
    __m256i fx = _mm256_set1_epi16((int16_t)(x << 8 | (8 - x)));
    __m256i upper = _mm256_set1_epi16((int16_t)(8 - y)), lower = _mm256_set1_epi16((int16_t)y);
    return _mm256_packus_epi16(
        weigh_rows(_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d), fx, upper, lower),
        weigh_rows(_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d), fx, upper, lower));
}

/* Twice the sum of eight px, or four times that of four px that are there twice. */
static inline int32_t sum_costs(__m256i current, __m256i reference)
{
    __m256i difference =
        _mm256_sub_epi8(_mm256_max_epu8(current, reference), _mm256_min_epu8(current, reference));
    __m256i px = _mm256_madd_epi16(_mm256_maddubs_epi16(difference, _mm256_set1_epi8(1)),
                                   _mm256_set1_epi16(1));
    px = _mm256_min_epi32(px, _mm256_set1_epi32(MVF_TM_PIXEL_COST_MAX));
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(px), _mm256_extracti128_si256(px, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return 2 * _mm_cvtsi128_si32(sum);
}

/* The reference at a window and a vector, interpolated. */
static inline __m256i load_moved(const mvf_tm_level *reference, int32_t x, int32_t y, int32_t vx,
                                 int32_t vy, mvf_tm_pattern pattern)
{
    ptrdiff_t stride = reference->stride_bytes / (ptrdiff_t)sizeof(mvf_tm_features);
    int32_t half_x = vx >> 3 & 1, half_y = vy >> 3 & 1, fx = vx & 7, fy = vy & 7;
    int32_t last_x = reference->width + MVF_TM_WINDOW_PAST_END;
    int32_t last_y = reference->height + MVF_TM_WINDOW_PAST_END;
    ptrdiff_t at = mvf_tm_clamp(y + (vy >> 4), MVF_TM_WINDOW_MIN, last_y) * stride +
                   mvf_tm_clamp(x + (vx >> 4), MVF_TM_WINDOW_MIN, last_x);
    mvf_tm_features *const *upper = reference->phase + 2 * half_y;
    __m256i a = load_window(upper[half_x] + at, stride, pattern);
    if (!(fx | fy))
        return a;
    mvf_tm_features *const *lower = reference->phase + 2 * (half_y ^ 1);
    ptrdiff_t right = at + half_x, below = half_y * stride;
    __m256i b = load_window(upper[half_x ^ 1] + right, stride, pattern);
    __m256i c = load_window(lower[half_x] + at + below, stride, pattern);
    __m256i d = load_window(lower[half_x ^ 1] + right + below, stride, pattern);
    return interpolate(a, b, c, d, fx, fy);
}

static inline void fill_costs(mvf_tm_candidates *list, const mvf_tm_level *current,
                              const mvf_tm_level *reference, int32_t x, int32_t y,
                              mvf_tm_pattern pattern)
{
    ptrdiff_t stride = current->stride_bytes / (ptrdiff_t)sizeof(mvf_tm_features);
    __m256i own = load_window(current->phase[0] + y * stride + x, stride, pattern);
    for (int32_t i = 0; i < list->count; i++)
        list->cost[i] =
            (int16_t)sum_costs(own, load_moved(reference, x, y, list->x[i], list->y[i], pattern));
}

static void cost_avx2(mvf_tm_candidates *list, const mvf_tm_level *current,
                      const mvf_tm_level *reference, int32_t x, int32_t y, mvf_tm_pattern pattern)
{
    if (pattern == MVF_TM_PATTERN_8)
        fill_costs(list, current, reference, x, y, MVF_TM_PATTERN_8);
    else
        fill_costs(list, current, reference, x, y, MVF_TM_PATTERN_4);
}

/* L of the next cell. */
static inline __m128i step_path(__m128i path, const mvf_tm_labels *from, const mvf_tm_labels *to,
                                __m128i penalty_max)
{
    __m128i x = _mm_loadu_si128((const void *)to->x), y = _mm_loadu_si128((const void *)to->y);
    __m128i floor = _mm_broadcastw_epi16(_mm_minpos_epu16(path));
    __m128i best = _mm_set1_epi16(INT16_MAX), low_bytes = _mm_set1_epi16(0x0100);
    for (int j = 0; j < MVF_TM_LABELS; j++) {
        __m128i dx = _mm_abs_epi16(_mm_subs_epi16(x, _mm_set1_epi16(from->x[j])));
        __m128i dy = _mm_abs_epi16(_mm_subs_epi16(y, _mm_set1_epi16(from->y[j])));
        __m128i penalty = _mm_slli_epi16(_mm_min_epi16(_mm_adds_epi16(dx, dy), penalty_max), 2);
        __m128i source = _mm_shuffle_epi8(path, low_bytes);
        best = _mm_min_epi16(best, _mm_add_epi16(penalty, source));
        low_bytes = _mm_add_epi8(low_bytes, _mm_set1_epi8(2));
    }
    __m128i cost = _mm_loadu_si128((const void *)to->cost);
    return _mm_sub_epi16(_mm_add_epi16(cost, best), floor);
}

static void path_avx2(const mvf_tm_labels *cells, int16_t *sums, ptrdiff_t step, int32_t n,
                      int32_t penalty_max)
{
    __m128i limit = _mm_set1_epi16((int16_t)(penalty_max / MVF_TM_PENALTY_SLOPE));
    __m128i path = _mm_loadu_si128((const void *)cells->cost);
    for (int32_t i = 0; i < n; i++, cells += step, sums += step * MVF_TM_PLACES) {
        if (i)
            path = step_path(path, cells - step, cells, limit);
        __m128i sum = _mm_loadu_si128((const void *)sums);
        _mm_storeu_si128((void *)sums, _mm_add_epi16(sum, path));
    }
}

/* A window's rows of 16 values, and their weights. */
typedef struct window {
    const int16_t *corner, *weights;
    ptrdiff_t stride;
    int32_t side;
} window;

static inline __m256i load16(const int16_t *values)
{
    return _mm256_loadu_si256((const void *)values);
}

/* The weight of the values up to `middle`. */
static inline __m256i weight_below(const window *w, __m256i middle)
{
    __m256i sum = _mm256_setzero_si256();
    const int16_t *row = w->corner, *weight = w->weights;
    for (int32_t j = 0; j < w->side; j++, row += w->stride)
        for (int32_t i = 0; i < w->side; i++, weight += MVF_TM_LANES) {
            __m256i above = _mm256_cmpgt_epi16(load16(row + i), middle);
            sum = _mm256_add_epi16(sum, _mm256_andnot_si256(above, load16(weight)));
        }
    return sum;
}

static inline __m256i bisect(const window *w, __m256i low, __m256i high, __m256i half)
{
    while (_mm256_movemask_epi8(_mm256_cmpgt_epi16(high, low))) {
        __m256i middle = _mm256_add_epi16(_mm256_and_si256(low, high),
                                          _mm256_srai_epi16(_mm256_xor_si256(low, high), 1));
        __m256i short_of = _mm256_cmpgt_epi16(half, weight_below(w, middle));
        high = _mm256_blendv_epi8(middle, high, short_of);
        low = _mm256_blendv_epi8(low, _mm256_sub_epi16(middle, short_of), short_of);
    }
    return low;
}

static void median_avx2(int16_t *medians, const int16_t *values, ptrdiff_t stride, int32_t radius,
                        const int16_t *weights)
{
    window w = {values - radius * stride - radius, weights, stride, 2 * radius + 1};
    __m256i low = _mm256_set1_epi16(INT16_MAX), high = _mm256_set1_epi16(INT16_MIN);
    __m256i total = _mm256_setzero_si256();
    const int16_t *row = w.corner;
    for (int32_t j = 0; j < w.side; j++, row += stride)
        for (int32_t i = 0; i < w.side; i++, weights += MVF_TM_LANES) {
            low = _mm256_min_epi16(low, load16(row + i));
            high = _mm256_max_epi16(high, load16(row + i));
            total = _mm256_add_epi16(total, load16(weights));
        }
    __m256i half = _mm256_srli_epi16(_mm256_add_epi16(total, _mm256_set1_epi16(1)), 1);
    _mm256_storeu_si256((void *)medians, bisect(&w, low, high, half));
}

void mvf_tm_kernels_init_avx2(mvf_tm_kernels *kernels)
{
    *kernels = (mvf_tm_kernels){cost_avx2, path_avx2, median_avx2};
}
