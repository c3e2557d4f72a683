/*
 * instructions.h - what kernels ask of the device in words that are not C++: instructions that have
 * no name in CUDA, one function each, and shared memory without a size.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_INSTRUCTIONS_H
#define MVF_KERNELS_INSTRUCTIONS_H

#include <stdint.h>

/* The sum and the absolute differences of four bytes: VABSDIFF4. */
static __device__ __forceinline__ uint32_t sad4(uint32_t a, uint32_t b, uint32_t sum)
{
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The same, not to be moved or left out. */
static __device__ __forceinline__ uint32_t sad4_timed(uint32_t a, uint32_t b, uint32_t sum)
{
    asm volatile("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* Declares the shared memory that the launch asks for. */
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]

#endif
