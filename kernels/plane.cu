// Planes with replicated borders, so that no search tests for the edge of a frame.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"

static __device__ int32_t clamp_to(int32_t value, int32_t top)
{
    return min(max(value, 0), top);
}

// Two samples of a word each, moved down; bytes have nothing below their values.
static __device__ uint32_t shift_pair(uint32_t pair, const mvf_pad_params &p)
{
    return pair >> p.shift_bits & 0x00010001u * (0xffffu >> p.shift_bits);
}

// One thread writes MVF_PAD_BYTES of one row: a straight copy inside the frame, where its rows are
// aligned, else sample by sample with clamped coordinates. The last threads of a row reach to its
// stride.
template <typename Sample> static __device__ void pad(const mvf_pad_params &p)
{
    constexpr int32_t n = MVF_PAD_BYTES / sizeof(Sample);
    int64_t offset = (int64_t)(blockIdx.x * MVF_PAD_THREADS + threadIdx.x) * MVF_PAD_BYTES;
    int32_t row = blockIdx.y;
    if (offset >= p.to_stride_bytes)
        return;
    int32_t x = (int32_t)(offset / (int32_t)sizeof(Sample)) - p.border_left;
    int32_t y = clamp_to(row - p.border_top, p.height - 1);
    const Sample *from = (const Sample *)(p.from + y * p.from_stride_bytes);
    union {
        uint4 word;
        Sample samples[n];
    } out;
    if (p.is_aligned && x >= 0 && x + n <= p.width) {
        out.word = *(const uint4 *)(from + x);
    } else {
#pragma unroll
        for (int32_t i = 0; i < n; i++)
            out.samples[i] = from[clamp_to(x + i, p.width - 1)];
    }
    if (p.shift_bits)
        out.word = make_uint4(shift_pair(out.word.x, p), shift_pair(out.word.y, p),
                              shift_pair(out.word.z, p), shift_pair(out.word.w, p));
    *(uint4 *)(p.to + row * p.to_stride_bytes + offset) = out.word;
}

extern "C" __global__ void __launch_bounds__(MVF_PAD_THREADS) pad_8(mvf_pad_params p)
{
    pad<uint8_t>(p);
}

extern "C" __global__ void __launch_bounds__(MVF_PAD_THREADS) pad_16(mvf_pad_params p)
{
    pad<uint16_t>(p);
}
