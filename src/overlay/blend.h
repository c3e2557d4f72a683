/*
 * overlay/blend.h - rows of samples under a colour: the inner loops of all drawing.
 *
 * A sample becomes sample * (256 - hide) / 256 + add, where add <= 255 * hide / 256 in units of 8
 * bits, so that no sum leaves the depth.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_BLEND_H
#define MVF_OVERLAY_BLEND_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Rows of this many samples take the vector loops. */
#define MVF_BLEND_LANES 8

static inline uint8_t mvf_blend_byte(uint8_t sample, uint8_t hide, uint8_t add)
{
    uint16_t kept = (uint16_t)((uint16_t)sample * (uint16_t)(256 - hide));
    return (uint8_t)((kept >> 8) + add);
}

static inline uint16_t mvf_blend_word(uint16_t sample, uint8_t hide, uint8_t add, int32_t depth)
{
    return (uint16_t)(sample - ((uint32_t)sample * hide >> 8) + ((uint32_t)add << (depth - 8)));
}

/* Writes whole lanes: up to MVF_BLEND_LANES - 1 samples beyond n, which `hide` and `add` reach. */
static inline void mvf_blend_byte_lanes(uint8_t *restrict samples, const uint8_t *restrict hide,
                                        const uint8_t *restrict add, int32_t n)
{
    for (int32_t i = 0; i < n; i += MVF_BLEND_LANES)
        for (int32_t k = 0; k < MVF_BLEND_LANES; k++)
            samples[i + k] = mvf_blend_byte(samples[i + k], hide[i + k], add[i + k]);
}

static inline void mvf_blend_word_lanes(uint16_t *restrict samples, const uint8_t *restrict hide,
                                        const uint8_t *restrict add, int32_t n, int32_t depth)
{
#ifdef __SSE2__
    const __m128i zero = _mm_setzero_si128(), shift = _mm_cvtsi32_si128(depth - 8);
    for (int32_t i = 0; i < n; i += MVF_BLEND_LANES) {
        __m128i old = _mm_loadu_si128((const __m128i *)(const void *)(samples + i));
        __m128i share = _mm_loadl_epi64((const __m128i *)(const void *)(hide + i));
        __m128i colour = _mm_loadl_epi64((const __m128i *)(const void *)(add + i));
        __m128i hidden = _mm_mulhi_epu16(old, _mm_unpacklo_epi8(zero, share));
        colour = _mm_sll_epi16(_mm_unpacklo_epi8(colour, zero), shift);
        old = _mm_add_epi16(_mm_sub_epi16(old, hidden), colour);
        _mm_storeu_si128((__m128i *)(void *)(samples + i), old);
    }
#else
    for (int32_t i = 0; i < n; i += MVF_BLEND_LANES)
        for (int32_t k = 0; k < MVF_BLEND_LANES; k++)
            samples[i + k] = mvf_blend_word(samples[i + k], hide[i + k], add[i + k], depth);
#endif
}

/* The same colour over n samples. */
static inline void mvf_fill_bytes(uint8_t *samples, int32_t n, uint8_t hide, uint8_t add)
{
    int32_t i = 0;
    for (; i + 2 * MVF_BLEND_LANES <= n; i += 2 * MVF_BLEND_LANES)
        for (int32_t k = 0; k < 2 * MVF_BLEND_LANES; k++)
            samples[i + k] = mvf_blend_byte(samples[i + k], hide, add);
    for (; i < n; i++)
        samples[i] = mvf_blend_byte(samples[i], hide, add);
}

static inline void mvf_fill_words(uint16_t *samples, int32_t n, uint8_t hide, uint8_t add,
                                  int32_t depth)
{
    int32_t i = 0;
#ifdef __SSE2__
    const __m128i share = _mm_set1_epi16((short)(hide << 8));
    const __m128i colour = _mm_set1_epi16((short)(add << (depth - 8)));
    for (; i + MVF_BLEND_LANES <= n; i += MVF_BLEND_LANES) {
        __m128i old = _mm_loadu_si128((const __m128i *)(const void *)(samples + i));
        old = _mm_sub_epi16(old, _mm_mulhi_epu16(old, share));
        _mm_storeu_si128((__m128i *)(void *)(samples + i), _mm_add_epi16(old, colour));
    }
#endif
    for (; i < n; i++)
        samples[i] = mvf_blend_word(samples[i], hide, add, depth);
}

#endif
