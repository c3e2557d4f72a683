/*
 * sad.h - sums of absolute differences over words of four bytes: several adjacent candidates from
 * one load of reference words.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_SAD_H
#define MVF_KERNELS_SAD_H

#include "instructions.h"

/* Rows that add_rows() unrolls. */
#define ROWS_AT_ONCE 4

/* __vabsdiffu2 is emulated on every architecture; the larger less the smaller is not on sm_90. */
static __device__ inline uint32_t sad_word_16(uint32_t a, uint32_t b, uint32_t sum)
{
#if __CUDA_ARCH__ >= 900
    return __dp2a_lo(__vmaxu2(a, b) - __vminu2(a, b), 0x0101u, sum);
#else
    return __usad(a >> 16, b >> 16, __usad(a & 0xffff, b & 0xffff, sum));
#endif
}

template <typename Sample>
static __device__ inline uint32_t sad_word(uint32_t a, uint32_t b, uint32_t sum)
{
    return sizeof(Sample) == 1 ? sad4(a, b, sum) : sad_word_16(a, b, sum);
}

/* The word that starts j samples into words[0]. */
template <typename Sample>
static __device__ inline uint32_t word_at_sample(const uint32_t *words, int32_t j)
{
    int32_t byte = j * (int32_t)sizeof(Sample);
    return byte % 4 ? __funnelshift_r(words[byte / 4], words[byte / 4 + 1], byte % 4 * 8)
                    : words[byte / 4];
}

/* The word at any address of global memory; reads up to four bytes more. */
static __device__ inline uint32_t load_unaligned(const uint8_t *from)
{
    const uint32_t *words = (const uint32_t *)((uintptr_t)from & ~(uintptr_t)3);
    return __funnelshift_r(words[0], words[1], (uint32_t)((uintptr_t)from & 3) * 8);
}

/* The bits of word i that lie in the first n_bytes bytes of a row. */
static __device__ inline uint32_t visible_mask(int32_t i, int32_t n_bytes)
{
    int32_t n = n_bytes - 4 * i;
    return n >= 4 ? 0xffffffffu : n <= 0 ? 0 : (1u << 8 * n) - 1;
}

/* The visible samples of n_rows rows of row_words words from (x, y) on, in frames of width x
 * height; the rest zero. By n_threads threads, of which this one is `thread`. */
template <typename Sample>
static __device__ inline void load_visible(uint32_t *to, uint64_t plane, int64_t stride_bytes,
                                           int32_t x, int32_t y, int32_t width, int32_t height,
                                           int32_t n_rows, int32_t row_words, int32_t thread,
                                           int32_t n_threads)
{
    for (int32_t i = thread; i < n_rows * row_words; i += n_threads) {
        int32_t row = i / row_words, word = i % row_words;
        const uint8_t *from = (const uint8_t *)plane + (y + row) * stride_bytes +
                              (int64_t)x * (int64_t)sizeof(Sample) + 4 * word;
        uint32_t mask = visible_mask(word, (width - x) * (int32_t)sizeof(Sample));
        to[i] = y + row < height ? mask & load_unaligned(from) : 0;
    }
}

/* Words of the block, aligned to as many bytes as they take. */
template <int32_t Words>
static __device__ inline void load_words(uint32_t (&words)[Words], const uint32_t *from)
{
    if constexpr (Words == 4) {
        uint4 all = *(const uint4 *)from;
        words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
    } else if constexpr (Words == 2) {
        uint2 both = *(const uint2 *)from;
        words[0] = both.x, words[1] = both.y;
    } else {
#pragma unroll
        for (int32_t i = 0; i < Words; i++)
            words[i] = from[i];
    }
}

/* Adds Words words of one row to the sums of N candidates side by side. */
template <typename Sample, int32_t Words, bool Masked, int32_t N>
static __device__ inline void add_words(uint32_t (&sums)[N], const uint32_t *current,
                                        const uint32_t *reference, const uint32_t (&mask)[Words])
{
    constexpr int32_t more = ((N - 1) * (int32_t)sizeof(Sample) + 3) / 4;
    uint32_t now[Words], then[Words + more];
    load_words(now, current);
#pragma unroll
    for (int32_t i = 0; i < Words + more; i++)
        then[i] = reference[i];
#pragma unroll
    for (int32_t j = 0; j < N; j++)
#pragma unroll
        for (int32_t i = 0; i < Words; i++) {
            uint32_t word = word_at_sample<Sample>(then + i, j);
            sums[j] = sad_word<Sample>(Masked ? word & mask[i] : word, now[i], sums[j]);
        }
}

/* Rows of a block in shared memory, and of the reference under its first candidate. */
struct sad_rows {
    const uint32_t *current, *reference;
    int32_t row_words, pitch_words;
    /* Visible bytes of a row. */
    int32_t row_bytes;
};

/*
 * Adds n_rows rows to the sums of N candidates side by side, in columns of Words words so that
 * these and their masks stay in registers.
 */
template <typename Sample, int32_t Words, bool Masked, int32_t N>
static __device__ inline void add_rows(uint32_t (&sums)[N], const sad_rows &rows, int32_t n_rows)
{
    for (int32_t first = 0; first < rows.row_words; first += Words) {
        uint32_t mask[Words];
#pragma unroll
        for (int32_t i = 0; i < Words; i++)
            mask[i] = Masked ? visible_mask(first + i, rows.row_bytes) : 0xffffffffu;
        const uint32_t *now = rows.current + first, *then = rows.reference + first;
        if (n_rows == ROWS_AT_ONCE) {
#pragma unroll
            for (int32_t row = 0; row < ROWS_AT_ONCE; row++)
                add_words<Sample, Words, Masked>(sums, now + row * rows.row_words,
                                                 then + row * rows.pitch_words, mask);
        } else {
            for (int32_t row = 0; row < n_rows; row++)
                add_words<Sample, Words, Masked>(sums, now + row * rows.row_words,
                                                 then + row * rows.pitch_words, mask);
        }
    }
}

#endif
