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

/* Four words at once, which the compiler may store one by one. */
static __device__ __forceinline__ void store_words4(void *shared, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
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

/* Two numbers as halves, rounded down, and 0 where they are negative: `low` in the lower half of
 * the word. */
static __device__ __forceinline__ uint32_t pack_halves_down(float low, float high)
{
    uint32_t halves;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rz.relu.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(high), "f"(low));
#else
    asm("{ .reg .f16 l, h; cvt.rz.f16.f32 l, %1; cvt.rz.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(halves)
        : "f"(fmaxf(low, 0)), "f"(fmaxf(high, 0)));
#endif
    return halves;
}

/* Matrix products of a warp in half precision, sums in single precision: the lanes' shares are
 * those of mma.m16n8k8 and mma.m16n8k16 (PTX ISA, "Matrix Fragments"). d = a * b + c, with a 16
 * x 8. */
static __device__ __forceinline__ void multiply_add_16x8(float (&d)[4], const float (&c)[4],
                                                         uint32_t a0, uint32_t a1, uint32_t b)
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%7, %8, %9, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a0), "r"(a1), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

/* With a 16 x 16. */
static __device__ __forceinline__ void multiply_add_16x16(float (&d)[4], const float (&c)[4],
                                                          uint32_t a0, uint32_t a1, uint32_t a2,
                                                          uint32_t a3, uint32_t b0, uint32_t b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]),
                   "f"(c[2]), "f"(c[3]));
#else
    float left[4];
    multiply_add_16x8(left, c, a0, a1, b0);
    multiply_add_16x8(d, left, a2, a3, b1);
#endif
}

/* The same with sums as halves, two in a word: as the left factor of another product. */
static __device__ __forceinline__ void multiply_add_halves(uint32_t (&d)[2], const uint32_t (&c)[2],
                                                           uint32_t a0, uint32_t a1, uint32_t a2,
                                                           uint32_t a3, uint32_t b0, uint32_t b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
                 "{%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]));
#else
    asm volatile("{ .reg .b32 l, h; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {l, h}, "
                 "{%2, %3}, {%6}, {%8, %9}; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%4, %5}, {%7}, {l, h}; }"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]));
#endif
}

/* The next kernel of the stream may start, if its launch allows that, once all thread blocks of
 * this one have said so. */
static __device__ __forceinline__ void let_next_kernel_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Until the kernel before this one is over and what it wrote is seen. */
static __device__ __forceinline__ void wait_for_kernel_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* In a loop that waits for another thread block. */
static __device__ __forceinline__ void pause_thread()
{
    __nanosleep(100);
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
