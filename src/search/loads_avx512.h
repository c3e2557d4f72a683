/*
 * search/loads_avx512.h - loads that the AVX-512 kernels share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_LOADS_AVX512_H
#define MVF_SEARCH_LOADS_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* A candidate's, counted from the window's first. */
static inline const uint8_t *place_of(const uint8_t *reference, ptrdiff_t stride_bytes, uint32_t at)
{
    return reference + (ptrdiff_t)(at >> 16) * stride_bytes + (at & 0xffff);
}

static inline __m512i widen(const uint8_t *p)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p));
}

static inline __m512i broadcast_4(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm512_set1_epi32(v);
}

#endif
