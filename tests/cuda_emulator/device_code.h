/*
 * device_code.h - CUDA C++ as the kernels use it, for a compiler of the host: included ahead of
 * each of them. See emulator.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_DEVICE_CODE_H
#define MVF_CUDA_EMULATOR_DEVICE_CODE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "emulator.h"

#define __CUDACC__ 1

/* In the pass that lists the kernels these words stay, for compile.sh. */
#ifndef EMULATOR_LISTS_KERNELS
#define __global__
#define __launch_bounds__(...)
#endif
#define __device__
#define __host__
#define __constant__ static
#define __grid_constant__
#define __restrict__ __restrict
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
/* Thread-local storage of the library is shared memory, so that block.c can fill it with garbage.
 */
#define __shared__ thread_local

/* Where a thread is. */

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

#define threadIdx (emulated_here.thread)
#define blockIdx (emulated_here.block)
#define blockDim (emulated_here.block_size)
#define gridDim (emulated_here.grid_size)
static const int warpSize = 32;

/* Vectors. */

#define EMULATED_VECTORS(base, name)                                     \
    struct __attribute__((aligned(2 * sizeof(base)))) name##2            \
    {                                                                    \
        base x, y;                                                       \
    };                                                                   \
    struct name##3                                                       \
    {                                                                    \
        base x, y, z;                                                    \
    };                                                                   \
    struct __attribute__((aligned(4 * sizeof(base)))) name##4            \
    {                                                                    \
        base x, y, z, w;                                                 \
    };                                                                   \
    static inline name##2 make_##name##2(base x, base y)                 \
    {                                                                    \
        return {x, y};                                                   \
    }                                                                    \
    static inline name##3 make_##name##3(base x, base y, base z)         \
    {                                                                    \
        return {x, y, z};                                                \
    }                                                                    \
    static inline name##4 make_##name##4(base x, base y, base z, base w) \
    {                                                                    \
        return {x, y, z, w};                                             \
    }

EMULATED_VECTORS(signed char, char)
EMULATED_VECTORS(unsigned char, uchar)
EMULATED_VECTORS(short, short)
EMULATED_VECTORS(unsigned short, ushort)
EMULATED_VECTORS(int, int)
EMULATED_VECTORS(unsigned, uint)
EMULATED_VECTORS(float, float)

static inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Minimum and maximum, of mixed types as CUDA has them. */

template <typename A, typename B> static inline std::common_type_t<A, B> min(A a, B b)
{
    std::common_type_t<A, B> first = a, second = b;
    return second < first ? second : first;
}

template <typename A, typename B> static inline std::common_type_t<A, B> max(A a, B b)
{
    std::common_type_t<A, B> first = a, second = b;
    return first < second ? second : first;
}

/* Bits and bytes. */

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}

static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

static inline unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++)
        reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}

static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t both = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned which = selector >> 4 * i & 15;
        unsigned byte = (unsigned)(both >> 8 * (which & 7)) & 255;
        if (which & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

static inline int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

static inline unsigned __usad(unsigned a, unsigned b, unsigned sum)
{
    return (a > b ? a - b : b - a) + sum;
}

static inline unsigned __sad(int a, int b, unsigned sum)
{
    return (unsigned)(a > b ? (int64_t)a - b : (int64_t)b - a) + sum;
}

template <typename T> static inline T __ldg(const T *address)
{
    return *address;
}

/* Four bytes or two halves of a word. */

template <typename Lane, typename F>
static inline unsigned emulated_lanes(F &&f, unsigned a, unsigned b)
{
    const int bits = 8 * (int)sizeof(Lane);
    unsigned result = 0;
    for (int i = 0; i < 32; i += bits)
        result |= ((unsigned)f((Lane)(a >> i), (Lane)(b >> i)) & (~0u >> (32 - bits))) << i;
    return result;
}

#define EMULATED_LANES(name, lane, expression)                                        \
    static inline unsigned name(unsigned x, unsigned y)                               \
    {                                                                                 \
        return emulated_lanes<lane>([](lane a, lane b) { return expression; }, x, y); \
    }

EMULATED_LANES(__vadd2, uint16_t, a + b)
EMULATED_LANES(__vadd4, uint8_t, a + b)
EMULATED_LANES(__vsub2, uint16_t, a - b)
EMULATED_LANES(__vsub4, uint8_t, a - b)
EMULATED_LANES(__vminu2, uint16_t, a < b ? a : b)
EMULATED_LANES(__vminu4, uint8_t, a < b ? a : b)
EMULATED_LANES(__vmins2, int16_t, a < b ? a : b)
EMULATED_LANES(__vmins4, int8_t, a < b ? a : b)
EMULATED_LANES(__vmaxu2, uint16_t, a > b ? a : b)
EMULATED_LANES(__vmaxu4, uint8_t, a > b ? a : b)
EMULATED_LANES(__vmaxs2, int16_t, a > b ? a : b)
EMULATED_LANES(__vmaxs4, int8_t, a > b ? a : b)
EMULATED_LANES(__vabsdiffu2, uint16_t, a > b ? a - b : b - a)
EMULATED_LANES(__vabsdiffu4, uint8_t, a > b ? a - b : b - a)
EMULATED_LANES(__vavgu2, uint16_t, (a + b + 1) >> 1)
EMULATED_LANES(__vavgu4, uint8_t, (a + b + 1) >> 1)
EMULATED_LANES(__vcmpeq2, uint16_t, a == b ? ~0u : 0)
EMULATED_LANES(__vcmpeq4, uint8_t, a == b ? ~0u : 0)
EMULATED_LANES(__vcmpgtu2, uint16_t, a > b ? ~0u : 0)
EMULATED_LANES(__vcmpgtu4, uint8_t, a > b ? ~0u : 0)
EMULATED_LANES(__vcmpleu2, uint16_t, a <= b ? ~0u : 0)
EMULATED_LANES(__vcmpleu4, uint8_t, a <= b ? ~0u : 0)

template <typename Lane, typename T> static inline T emulated_dot(unsigned a, unsigned b, T sum)
{
    for (int i = 0; i < 32; i += 8 * (int)sizeof(Lane))
        sum += (T)(Lane)(a >> i) * (T)(Lane)(b >> i);
    return sum;
}

static inline unsigned __vsadu4(unsigned a, unsigned b)
{
    return emulated_dot<uint8_t>(__vabsdiffu4(a, b), 0x01010101u, 0u);
}

static inline unsigned __vsadu2(unsigned a, unsigned b)
{
    return emulated_dot<uint16_t>(__vabsdiffu2(a, b), 0x00010001u, 0u);
}

static inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    return emulated_dot<uint8_t>(a, b, sum);
}

static inline int __dp4a(int a, int b, int sum)
{
    return emulated_dot<int8_t>((unsigned)a, (unsigned)b, sum);
}

/* Two halves of a by two bytes of b, the low ones or the high ones. */
static inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum)
{
    return sum + (a & 0xffff) * (b & 255) + (a >> 16) * (b >> 8 & 255);
}

static inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum)
{
    return __dp2a_lo(a, b >> 16, sum);
}

static inline int __dp2a_lo(int a, int b, int sum)
{
    return sum + (int16_t)a * (int8_t)b + (int16_t)(a >> 16) * (int8_t)(b >> 8);
}

static inline int __dp2a_hi(int a, int b, int sum)
{
    return __dp2a_lo(a, b >> 16, sum);
}

/* DPX: the predicate tells that the first operand is kept, equality included. */

#define EMULATED_DPX(type, suffix)                                    \
    static inline type __vibmin_##suffix(type a, type b, bool *first) \
    {                                                                 \
        *first = a <= b;                                              \
        return a <= b ? a : b;                                        \
    }                                                                 \
    static inline type __vibmax_##suffix(type a, type b, bool *first) \
    {                                                                 \
        *first = a >= b;                                              \
        return a >= b ? a : b;                                        \
    }                                                                 \
    static inline type __vimin3_##suffix(type a, type b, type c)      \
    {                                                                 \
        return min(min(a, b), c);                                     \
    }                                                                 \
    static inline type __vimax3_##suffix(type a, type b, type c)      \
    {                                                                 \
        return max(max(a, b), c);                                     \
    }                                                                 \
    static inline type __viaddmin_##suffix(type a, type b, type c)    \
    {                                                                 \
        return min((type)((unsigned)a + (unsigned)b), c);             \
    }                                                                 \
    static inline type __viaddmax_##suffix(type a, type b, type c)    \
    {                                                                 \
        return max((type)((unsigned)a + (unsigned)b), c);             \
    }

EMULATED_DPX(int, s32)
EMULATED_DPX(unsigned, u32)

static inline int __vimin_s32_relu(int a, int b)
{
    return max(min(a, b), 0);
}

static inline int __vimax_s32_relu(int a, int b)
{
    return max(max(a, b), 0);
}

static inline unsigned __vimin3_s16x2(unsigned a, unsigned b, unsigned c)
{
    return __vmins2(__vmins2(a, b), c);
}

static inline unsigned __vimin3_u16x2(unsigned a, unsigned b, unsigned c)
{
    return __vminu2(__vminu2(a, b), c);
}

static inline unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c)
{
    return __vmaxs2(__vmaxs2(a, b), c);
}

static inline unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c)
{
    return __vmaxu2(__vmaxu2(a, b), c);
}

static inline unsigned __viaddmin_s16x2(unsigned a, unsigned b, unsigned c)
{
    return __vmins2(__vadd2(a, b), c);
}

static inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c)
{
    return __vminu2(__vadd2(a, b), c);
}

static inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c)
{
    return __vmaxs2(__vadd2(a, b), c);
}

static inline unsigned __viaddmax_u16x2(unsigned a, unsigned b, unsigned c)
{
    return __vmaxu2(__vadd2(a, b), c);
}

static inline unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c)
{
    return __vmaxs2(__viaddmin_s16x2(a, b, c), 0);
}

/* Barriers and fences. */

static inline void __syncthreads()
{
    emulated_sync_block(EMULATED_BARRIER, 0);
}

static inline int __syncthreads_count(int predicate)
{
    return emulated_sync_block(EMULATED_BARRIER_COUNT, predicate);
}

static inline int __syncthreads_and(int predicate)
{
    return emulated_sync_block(EMULATED_BARRIER_AND, predicate);
}

static inline int __syncthreads_or(int predicate)
{
    return emulated_sync_block(EMULATED_BARRIER_OR, predicate);
}

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    emulated_sync_warp(EMULATED_SYNC_WARP, mask, 0, 0, 32);
}

static inline void __threadfence_block()
{
    emulated_fence();
}

static inline void __threadfence()
{
    emulated_fence();
}

static inline void __nanosleep(unsigned)
{
    emulated_wait();
}

/* What a warp does together. */

template <typename T> static inline uint64_t emulated_bits(T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take 32 or 64 bits");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T>
static inline T emulated_shuffle(emulated_together what, unsigned mask, T value, int operand,
                                 int width)
{
    uint64_t bits = emulated_sync_warp(what, mask, emulated_bits(value), operand, width);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32)
{
    return emulated_shuffle(EMULATED_SHUFFLE, mask, value, lane, width);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32)
{
    return emulated_shuffle(EMULATED_SHUFFLE_UP, mask, value, (int)distance, width);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32)
{
    return emulated_shuffle(EMULATED_SHUFFLE_DOWN, mask, value, (int)distance, width);
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32)
{
    return emulated_shuffle(EMULATED_SHUFFLE_XOR, mask, value, lanes, width);
}

static inline int __any_sync(unsigned mask, int predicate)
{
    return (int)emulated_sync_warp(EMULATED_ANY, mask, predicate != 0, 0, 32);
}

static inline int __all_sync(unsigned mask, int predicate)
{
    return (int)emulated_sync_warp(EMULATED_ALL, mask, predicate != 0, 0, 32);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)emulated_sync_warp(EMULATED_BALLOT, mask, predicate != 0, 0, 32);
}

template <typename T> static inline unsigned __match_any_sync(unsigned mask, T value)
{
    return (unsigned)emulated_sync_warp(EMULATED_MATCH_ANY, mask, emulated_bits(value), 0, 32);
}

template <typename T> static inline unsigned __match_all_sync(unsigned mask, T value, int *all)
{
    unsigned lanes =
        (unsigned)emulated_sync_warp(EMULATED_MATCH_ALL, mask, emulated_bits(value), 0, 32);
    *all = lanes != 0;
    return lanes;
}

#define EMULATED_REDUCE(type, name, what)                                             \
    static inline type name(unsigned mask, type value)                                \
    {                                                                                 \
        return (type)emulated_sync_warp(what, mask, (uint64_t)(int64_t)value, 0, 32); \
    }

EMULATED_REDUCE(int, __reduce_min_sync, EMULATED_MIN_SIGNED)
EMULATED_REDUCE(unsigned, __reduce_min_sync, EMULATED_MIN_UNSIGNED)
EMULATED_REDUCE(int, __reduce_max_sync, EMULATED_MAX_SIGNED)
EMULATED_REDUCE(unsigned, __reduce_max_sync, EMULATED_MAX_UNSIGNED)
EMULATED_REDUCE(int, __reduce_add_sync, EMULATED_ADD)
EMULATED_REDUCE(unsigned, __reduce_add_sync, EMULATED_ADD)
EMULATED_REDUCE(unsigned, __reduce_and_sync, EMULATED_AND)
EMULATED_REDUCE(unsigned, __reduce_or_sync, EMULATED_OR)
EMULATED_REDUCE(unsigned, __reduce_xor_sync, EMULATED_XOR)

/* Atomics: threads run one at a time, and another may go on before or after each. */

template <typename T, typename F> static inline T emulated_atomic(T *address, F &&f)
{
    emulated_may_switch();
    T old = *(volatile T *)address;
    *(volatile T *)address = f(old);
    emulated_acquire();
    emulated_may_switch();
    return old;
}

#define EMULATED_ATOMIC(name, expression)                                            \
    template <typename T, typename V> static inline T name(T *address, V given)      \
    {                                                                                \
        T value = (T)given;                                                          \
        return emulated_atomic(address, [value](T old) { return (T)(expression); }); \
    }

EMULATED_ATOMIC(atomicAdd, old + value)
EMULATED_ATOMIC(atomicSub, old - value)
EMULATED_ATOMIC(atomicMin, value < old ? value : old)
EMULATED_ATOMIC(atomicMax, old < value ? value : old)
EMULATED_ATOMIC(atomicAnd, old &value)
EMULATED_ATOMIC(atomicOr, old | value)
EMULATED_ATOMIC(atomicXor, old ^ value)
EMULATED_ATOMIC(atomicExch, value)
EMULATED_ATOMIC(atomicInc, old >= value ? 0 : old + 1)

template <typename T> static inline T atomicCAS(T *address, T compare, T value)
{
    return emulated_atomic(address, [=](T old) { return old == compare ? value : old; });
}

/* kernels/instructions.h, whose place this takes. */

#define MVF_KERNELS_INSTRUCTIONS_H

#ifdef __SSE2__
#include <emmintrin.h>

static inline uint32_t sad4(uint32_t a, uint32_t b, uint32_t sum)
{
    __m128i sad = _mm_sad_epu8(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b));
    return sum + (uint32_t)_mm_cvtsi128_si32(sad);
}
#else
static inline uint32_t sad4(uint32_t a, uint32_t b, uint32_t sum)
{
    return sum + __vsadu4(a, b);
}
#endif

static inline uint32_t sad4_timed(uint32_t a, uint32_t b, uint32_t sum)
{
    return sad4(a, b, sum);
}

static inline int thread_index()
{
    return (int)threadIdx.x;
}

static inline int known_here(int value)
{
    return value;
}

static inline uint32_t load_word(const void *shared)
{
    return *(const uint32_t *)shared;
}

static inline uint4 load_words4(const void *shared)
{
    return *(const uint4 *)shared;
}

static inline void store_words4(void *shared, uint4 v)
{
    *(uint4 *)shared = v;
}

static inline uint32_t add_shared(uint32_t *shared, uint32_t value)
{
    return atomicAdd(shared, value);
}

static inline void copy16(void *shared, const uint8_t *global)
{
    emulated_copy_async(shared, global, 16);
}

static inline void copy4_unordered(void *shared, const void *global)
{
    emulated_copy_unordered(shared, global, 4);
}

static inline void copy_commit()
{
    emulated_copy_commit();
}

static inline void copy_wait()
{
    emulated_copy_wait(0);
}

/* Halves without infinity and NaN, which no kernel makes. */
static inline float emulated_half(unsigned half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    float value =
        exponent ? ldexpf((float)(mantissa + 1024), exponent - 25) : ldexpf((float)mantissa, -24);
    return half & 0x8000 ? -value : value;
}

/* Rounded down. */
static inline unsigned emulated_half_of(float value)
{
    int exponent = 0;
    float magnitude = fabsf(value);
    frexpf(magnitude, &exponent);
    exponent = magnitude > 0 ? max(exponent, -13) : -13;
    /* In units of its last place: 2^10 and more where it is normal. */
    unsigned units = (unsigned)floorf(ldexpf(magnitude, 11 - exponent));
    return (units + ((unsigned)(exponent + 13) << 10)) | (signbit(value) ? 0x8000u : 0);
}

static inline uint32_t pack_halves_down(float low, float high)
{
    return emulated_half_of(fmaxf(low, 0)) | emulated_half_of(fmaxf(high, 0)) << 16;
}

static inline void multiply_add_16x8(float (&d)[4], const float (&c)[4], uint32_t a0, uint32_t a1,
                                     uint32_t b)
{
    int lane = (int)(threadIdx.x & 31), row = lane / 4, col = lane % 4 * 2;
    float sums[4] = {c[0], c[1], c[2], c[3]};
    for (int k = 0; k < 4; k++) {
        uint64_t a = __shfl_sync(0xffffffffu, (uint64_t)a1 << 32 | a0, row * 4 + k);
        for (int i = 0; i < 2; i++) {
            uint32_t factor = __shfl_sync(0xffffffffu, b, (col + i) * 4 + k);
            for (int half = 0; half < 2; half++)
                for (int tile = 0; tile < 2; tile++)
                    sums[2 * tile + i] +=
                        emulated_half((unsigned)(a >> (32 * tile + 16 * half)) & 0xffff) *
                        emulated_half(factor >> 16 * half & 0xffff);
        }
    }
    for (int i = 0; i < 4; i++)
        d[i] = sums[i];
}

static inline void multiply_add_16x16(float (&d)[4], const float (&c)[4], uint32_t a0, uint32_t a1,
                                      uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    float left[4];
    multiply_add_16x8(left, c, a0, a1, b0);
    multiply_add_16x8(d, left, a2, a3, b1);
}

static inline void multiply_add_halves(uint32_t (&d)[2], const uint32_t (&c)[2], uint32_t a0,
                                       uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                       uint32_t b1)
{
    float sums[4];
    for (int i = 0; i < 4; i++)
        sums[i] = emulated_half(c[i / 2] >> 16 * (i & 1) & 0xffff);
    multiply_add_16x16(sums, sums, a0, a1, a2, a3, b0, b1);
    for (int i = 0; i < 2; i++)
        d[i] = emulated_half_of(sums[2 * i]) | emulated_half_of(sums[2 * i + 1]) << 16;
}

static inline void let_next_kernel_start()
{
}

static inline void wait_for_kernel_before()
{
}

static inline void pause_thread()
{
    emulated_wait();
}

static inline void let_others_run()
{
    emulated_wait();
}

static inline void forget_loads()
{
    emulated_acquire();
}

#define DYNAMIC_SHARED(type, name) type *name = (decltype(name))emulated_here.dynamic_shared

/* Kernels as cuLaunchKernel calls them. */

template <typename... A, size_t... I>
__attribute__((no_sanitize("thread"))) static void
emulated_call(void (*kernel)(A...), void *const *arguments, std::index_sequence<I...>)
{
    kernel(*(std::remove_const_t<A> *)arguments[I]...);
}

template <typename... A> struct emulated_signature {
    static constexpr int n = sizeof...(A);
    static constexpr size_t bytes[n] = {sizeof(A)...};
};

template <typename... A> static emulated_signature<A...> emulated_signature_of(void (*)(A...));

template <auto Kernel> struct emulated_entry {
    using signature = decltype(emulated_signature_of(Kernel));
    static void call(void *const *arguments)
    {
        emulated_call(Kernel, arguments, std::make_index_sequence<signature::n>());
    }
};

#define EMULATED_KERNEL(entry, max_threads, n_registers, static_shared_bytes, following) \
    static const emulated_kernel emulated_kernel_##entry = {                             \
        #entry,                                                                          \
        emulated_entry<entry>::call,                                                     \
        emulated_entry<entry>::signature::n,                                             \
        emulated_entry<entry>::signature::bytes,                                         \
        max_threads,                                                                     \
        n_registers,                                                                     \
        static_shared_bytes,                                                             \
        following};

#endif
