/*
 * SADs of 16 x 16 samples at neighbouring candidates, four rows at a time: a row's 16 bytes in each
 * lane of a register, over which vdbpsadbw slides four samples of the block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "search/kernels.h"
#include "search/loads_avx512.h"

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS __m256i load_pair(const uint8_t *p, ptrdiff_t stride_bytes)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(p)), load_16(p + stride_bytes),
                                   1);
}

ALWAYS __m512i load_quad(const uint8_t *p, ptrdiff_t stride_bytes)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_pair(p, stride_bytes)),
                              load_pair(p + 2 * stride_bytes, stride_bytes), 1);
}

/* Squares. */

/* Each lane: four candidates by the first four samples of eight, then by the others. */
ALWAYS __m512i square_row(const __m512i block[2], __m512i left, __m512i right)
{
    return _mm512_add_epi16(_mm512_dbsad_epu8(block[0], left, 0x94),
                            _mm512_dbsad_epu8(block[1], right, 0x94));
}

/* The sums of all lanes, of two rows of candidates, in the lower half of each lane. */
ALWAYS __m256i fold_rows(__m512i a, __m512i b)
{
    __m256i c = _mm256_add_epi16(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    __m256i d = _mm256_add_epi16(_mm512_castsi512_si256(b), _mm512_extracti64x4_epi64(b, 1));
    c = _mm256_add_epi16(_mm256_permute2x128_si256(c, d, 0x20),
                         _mm256_permute2x128_si256(c, d, 0x31));
    return _mm256_add_epi16(c, _mm256_srli_si256(c, 8));
}

ALWAYS void settle_square(const __m512i rows[MVF_SQUARE], uint32_t *lowest, uint32_t *where)
{
    __m256i none = _mm256_set1_epi64x((int64_t)0xffff000000000000);
    __m256i ab = fold_rows(rows[0], rows[1]), c = fold_rows(rows[2], rows[2]);
    __m256i all = _mm256_or_si256(_mm256_unpacklo_epi64(ab, c), none);
    __m128i low = _mm_minpos_epu16(
        _mm_min_epu16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
    uint32_t found = _mm256_cmpeq_epi16_mask(all, _mm256_broadcastw_epi16(low));
    *lowest = (uint32_t)_mm_cvtsi128_si32(low) & 0xffff;
    /* Lanes hold rows 0 and 2, 1 and 2. */
    *where = (found & 7) | (found >> 4 & 0x70) | (found << 4 & 0x700);
}

static void squares_16x16(const uint8_t *current, ptrdiff_t current_stride_bytes,
                          const uint8_t *reference, ptrdiff_t stride_bytes, const uint32_t *at,
                          int32_t n, uint32_t *lowest, uint32_t *where)
{
    __m512i block[4][2];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; i++) {
        __m512i rows = load_quad(current + i * current_stride_bytes, 4 * current_stride_bytes);
        block[i][0] = _mm512_shuffle_epi32(rows, 0x50);
        block[i][1] = _mm512_shuffle_epi32(rows, 0xfa);
    }
    for (int32_t k = 0; k < n; k++) {
        const uint8_t *p = place_of(reference, stride_bytes, at[k]);
        __m512i sums[MVF_SQUARE];
#pragma GCC unroll 6
        for (int32_t i = 0; i < 4 + MVF_SQUARE - 1; i++, p += stride_bytes) {
            __m512i left = load_quad(p, 4 * stride_bytes);
            __m512i right = load_quad(p + 8, 4 * stride_bytes);
#pragma GCC unroll 3
            for (int32_t y = 0; y < MVF_SQUARE; y++) {
                if (i < y || i - y > 3)
                    continue;
                __m512i sum = square_row(block[i - y], left, right);
                sums[y] = i == y ? sum : _mm512_add_epi16(sums[y], sum);
            }
        }
        settle_square(sums, &lowest[k], &where[k]);
    }
}

static void sad_squares_avx512(mvf_sad_list_function list, const uint8_t *current,
                               ptrdiff_t current_stride_bytes, const uint8_t *reference,
                               ptrdiff_t stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                               int32_t n, uint32_t *lowest, uint32_t *where)
{
    if (w == 16 && h == 16)
        squares_16x16(current, current_stride_bytes, reference, stride_bytes, at, n, lowest, where);
    else
        mvf_sad_squares_c(list, current, current_stride_bytes, reference, stride_bytes, w, h, at, n,
                          lowest, where);
}

void mvf_quads_kernels_init_avx512(mvf_search_kernels *kernels)
{
    kernels->sad_squares = sad_squares_avx512;
}
