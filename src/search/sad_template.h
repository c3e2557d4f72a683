/*
 * search/sad_template.h - SADs at listed places, for one instruction level of x86-64. Whoever
 * includes this sets V(name), the level's intrinsics, and has `vector` and zero(); then SAD_LIST
 * makes sad_list_WIDTH_BITS() of sad_row_BITS(), the SADs of a row in lanes of 32 bits, and of
 * sum_up(), which adds the lanes. SAD_LIST_OF_PAIRS makes the one for 8 bits of rows of half a
 * register: it takes load_pair(), which has two of them in one, and sad_half(), the SADs of a
 * single row, besides.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
static inline const uint8_t *place_of(const uint8_t *reference, ptrdiff_t stride_bytes, uint32_t at,
                                      int32_t sample_bytes)
{
    return reference + (ptrdiff_t)(at >> 16) * stride_bytes +
           (ptrdiff_t)(at & 0xffff) * sample_bytes;
}

#define SAD_LIST(width, bits, sample_bytes, sum_up)                                               \
    static void sad_list_##width##_##bits(const uint8_t *current, ptrdiff_t current_stride_bytes, \
                                          const uint8_t *reference, ptrdiff_t stride_bytes,       \
                                          int32_t w, int32_t h, const uint32_t *at, int32_t n,    \
                                          uint32_t *costs)                                        \
    {                                                                                             \
        (void)w;                                                                                  \
        for (int32_t i = 0; i < n; i++) {                                                         \
            const uint8_t *c = current;                                                           \
            const uint8_t *p = place_of(reference, stride_bytes, at[i], sample_bytes);            \
            vector sum = zero();                                                                  \
            for (int32_t y = 0; y < h; y++, c += current_stride_bytes, p += stride_bytes)         \
                sum = V(add_epi32)(sum, sad_row_##bits(c, p, width));                             \
            costs[i] = sum_up(sum);                                                               \
        }                                                                                         \
    }

/* A block with as many rows as columns stays in registers for the whole list. */
#define SAD_LIST_OF_PAIRS(width, sum_up)                                                          \
    static void sad_list_##width##_8(const uint8_t *current, ptrdiff_t current_stride_bytes,      \
                                     const uint8_t *reference, ptrdiff_t stride_bytes, int32_t w, \
                                     int32_t h, const uint32_t *at, int32_t n, uint32_t *costs)   \
    {                                                                                             \
        vector pairs[width / 2];                                                                  \
        int32_t n_pairs = h / 2 < width / 2 ? h / 2 : width / 2;                                  \
        (void)w;                                                                                  \
        for (int32_t i = 0; i < n_pairs; i++)                                                     \
            pairs[i] = load_pair(current + 2 * i * current_stride_bytes, current_stride_bytes);   \
        for (int32_t i = 0; i < n; i++) {                                                         \
            const uint8_t *p = place_of(reference, stride_bytes, at[i], 1);                       \
            vector sum = zero();                                                                  \
            int32_t y = 0;                                                                        \
            for (; y < n_pairs; y++, p += 2 * stride_bytes)                                       \
                sum = V(add_epi32)(sum, V(sad_epu8)(pairs[y], load_pair(p, stride_bytes)));       \
            for (y *= 2; y < h; y++, p += stride_bytes)                                           \
                sum = V(add_epi32)(sum, sad_half(current + y * current_stride_bytes, p));         \
            costs[i] = sum_up(sum);                                                               \
        }                                                                                         \
    }
