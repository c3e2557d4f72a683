/*
 * search/bounds_128.h - loads, and the bounds of groups, with registers of 128 bits: SSE2, and
 * SSSE3 where the compiler may use it. Whoever includes this sets FN(name) and ALWAYS.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
typedef __m128i vector;

ALWAYS vector load(const void *p)
{
    return _mm_loadu_si128(p);
}

ALWAYS void store(void *p, vector v)
{
    _mm_storeu_si128(p, v);
}

ALWAYS vector zero(void)
{
    return _mm_setzero_si128();
}

typedef struct lanes {
    __m128i v[4];
} lanes;

ALWAYS lanes lanes_set(uint16_t value)
{
    __m128i v = _mm_set1_epi16((short)value);
    return (lanes){{v, v, v, v}};
}

ALWAYS lanes lanes_from(const uint8_t *p, lanes s)
{
    return (lanes){{_mm_sub_epi16(load(p), s.v[0]), _mm_sub_epi16(load(p + 16), s.v[1]),
                    _mm_sub_epi16(load(p + 32), s.v[2]), _mm_sub_epi16(load(p + 48), s.v[3])}};
}

ALWAYS __m128i magnitude(__m128i v)
{
#ifdef __SSSE3__
    return _mm_abs_epi16(v);
#else
    return _mm_max_epi16(v, _mm_sub_epi16(_mm_setzero_si128(), v));
#endif
}

ALWAYS lanes lanes_distance(const uint8_t *p, lanes s)
{
    lanes d = lanes_from(p, s);
    return (lanes){{magnitude(d.v[0]), magnitude(d.v[1]), magnitude(d.v[2]), magnitude(d.v[3])}};
}

ALWAYS lanes lanes_add(lanes a, lanes b)
{
    return (lanes){{_mm_adds_epu16(a.v[0], b.v[0]), _mm_adds_epu16(a.v[1], b.v[1]),
                    _mm_adds_epu16(a.v[2], b.v[2]), _mm_adds_epu16(a.v[3], b.v[3])}};
}

ALWAYS uint32_t within_16(__m128i a, __m128i b, __m128i limit)
{
    __m128i zero = _mm_setzero_si128();
    return (uint32_t)_mm_movemask_epi8(
        _mm_packs_epi16(_mm_cmpeq_epi16(_mm_subs_epu16(a, limit), zero),
                        _mm_cmpeq_epi16(_mm_subs_epu16(b, limit), zero)));
}

ALWAYS uint32_t lanes_within(lanes a, lanes limit)
{
    return within_16(a.v[0], a.v[1], limit.v[0]) | within_16(a.v[2], a.v[3], limit.v[0]) << 16;
}

#include "search/groups_template.h"

#include "search/bounds_template.h"
