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

/* threadIdx.x, read anew: so the compiler keeps no addresses of one stage of a kernel in registers
 * through the others. */
static __device__ __forceinline__ int thread_index()
{
    int index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
}

/* The value, of which the compiler knows nothing before: so what follows from it is not computed
 * ahead and kept. */
static __device__ __forceinline__ int known_here(int value)
{
    asm volatile("" : "+r"(value));
    return value;
}

/* Loads from shared memory that stay where they are written, ahead of their use. */
static __device__ __forceinline__ uint32_t load_word(const void *shared)
{
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)));
    return value;
}

static __device__ __forceinline__ uint4 load_words4(const void *shared)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)));
    return v;
}

/* atomicAdd() by one lane, which the compiler takes for one by many and makes a vote of. */
static __device__ __forceinline__ uint32_t add_shared(uint32_t *shared, uint32_t value)
{
    uint32_t before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)), "r"(value)
                 : "memory");
    return before;
}

/* Copies into shared memory that do not wait, where the architecture has them: committed, and
 * waited for, all together. */
static __device__ __forceinline__ void copy16(void *shared, const uint8_t *global)
{
#if __CUDA_ARCH__ >= 800
    uint32_t address = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global)
                 : "memory");
#else
    *(uint4 *)shared = *(const uint4 *)global;
#endif
}

/* Four bytes that another thread may write meanwhile: the old ones or the new ones. */
static __device__ __forceinline__ void copy4_unordered(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    uint32_t address = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(global) : "memory");
#else
    *(uint32_t *)shared = *(const volatile uint32_t *)global;
#endif
}

static __device__ __forceinline__ void copy_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

static __device__ __forceinline__ void copy_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* In a loop that waits for another thread: on a device all threads run anyway. */
static __device__ __forceinline__ void let_others_run()
{
}

/* What was loaded before may have changed. */
static __device__ __forceinline__ void forget_loads()
{
    asm volatile("" ::: "memory");
}

/* Declares the shared memory that the launch asks for. */
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]

#endif
