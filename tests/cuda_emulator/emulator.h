/*
 * emulator.h - a CUDA driver for tests, which runs the kernels on the CPU: libcuda.so.1 in the
 * folder tests/cuda_emulator of the build, for LD_LIBRARY_PATH. It is built by `make check` alone
 * and never installed, and the libraries do not know of it.
 *
 * It offers the driver functions of src/cuda/driver.h. The kernels are compiled as C++ for the
 * host, against device_code.h; a module is known by the very bytes of its fatbin. So what is tested
 * is each kernel's logic and the host's use of the driver, with the same sources as on a device;
 * neither speed nor what nvcc makes of them.
 *
 * Threads of a block are fibers, which go on in an order drawn by the seed and change at barriers,
 * at what a warp does together, at atomics, and where a thread waits for another. Blocks of a grid
 * run one after another, in random order: a block that waits for another one waits for ever.
 * Memory is as it is in threads that run one at a time, so missing fences do not show, except in
 * the library of the folder `watched`, where every access is looked at: see watch.c. Streams run
 * late: work waits in them until the host asks for it, or for as long as chance has it. Copies into
 * shared memory arrive when they are waited for, or earlier by chance. Fresh memory, device or
 * shared, holds garbage. Bytes around each allocation are looked at after each kernel; under
 * AddressSanitizer reads beyond are found too.
 *
 * Barriers that not all threads reach, lanes that do not do the same, waits without end and damaged
 * bytes end the kernel with a line on stderr and CUDA_ERROR_LAUNCH_FAILED, from then on for every
 * call, as a device does.
 *
 * Settings, by environment variables that are read at the first call:
 *
 *   CUDA_EMULATOR_DEVICES=N     number of devices, 0 to 64; default 1
 *   CUDA_EMULATOR_SEED=N        of everything that is left to chance; default 1
 *   CUDA_EMULATOR_FAULTS=LIST   calls that fail: [NAME:]N[+]=RESULT, several with commas between
 *   CUDA_EMULATOR_CALLS=FILE    where to append, at exit, what was called and what is left
 *   CUDA_EMULATOR_IDLE=1        kernels do nothing, at sizes for which they are too slow here
 *
 * In a fault N counts the calls of the driver function NAME, or of all functions, from 1; RESULT is
 * the number of a CUresult. With + all calls after it fail too. cuMemAlloc_v2:3=2 makes the third
 * allocation fail for want of memory; 40+=999 is a device that dies at call 40.
 *
 * The file of calls gets a line "NAME N" for each function called, "calls N" for all together, and
 * "left THING N" for what was never given back: allocations, host-allocations, modules, streams,
 * events, contexts; and "most THING N" for the bytes of all allocations and of all host-allocations
 * when they were most.
 *
 * A .cu in cuda_sources of kernels/local.mk is all that a new family of kernels takes. Intrinsics
 * that device_code.h lacks are added there. Statements in PTX belong in kernels/instructions.h,
 * whose functions device_code.h has in C++.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_H
#define MVF_CUDA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATOR_API __attribute__((visibility("hidden")))

typedef struct emulated_index {
    unsigned x, y, z;
} emulated_index;

/* Where the running thread is. */
typedef struct emulated_place {
    emulated_index thread, block, block_size, grid_size;
    void *dynamic_shared;
} emulated_place;

extern EMULATOR_API emulated_place emulated_here;

/* A kernel, and what compile.sh knows of it. */
typedef struct emulated_kernel {
    const char *name;
    /* Calls it with arguments as cuLaunchKernel gets them. */
    void (*call)(void *const *arguments);
    int n_arguments;
    const size_t *argument_bytes;
    /* Of its __launch_bounds__, and what ptxas says of it: the most of all architectures. */
    unsigned max_threads, n_registers, static_shared_bytes;
    const struct emulated_kernel *next;
} emulated_kernel;

/* The kernels of one .cu, and the fatbin that stands for it. */
typedef struct emulated_module {
    const char *name;
    const unsigned char *image;
    size_t image_bytes;
    const emulated_kernel *kernels;
    const struct emulated_module *next;
} emulated_module;

EMULATOR_API void emulated_module_register(emulated_module *module);

/* Called by device code. */

typedef enum emulated_barrier {
    EMULATED_BARRIER,
    EMULATED_BARRIER_COUNT,
    EMULATED_BARRIER_AND,
    EMULATED_BARRIER_OR
} emulated_barrier;

EMULATOR_API int emulated_sync_block(emulated_barrier kind, int predicate);

typedef enum emulated_together {
    EMULATED_SYNC_WARP,
    EMULATED_SHUFFLE,
    EMULATED_SHUFFLE_UP,
    EMULATED_SHUFFLE_DOWN,
    EMULATED_SHUFFLE_XOR,
    EMULATED_ANY,
    EMULATED_ALL,
    EMULATED_BALLOT,
    EMULATED_MATCH_ANY,
    EMULATED_MATCH_ALL,
    EMULATED_MIN_SIGNED,
    EMULATED_MAX_SIGNED,
    EMULATED_MIN_UNSIGNED,
    EMULATED_MAX_UNSIGNED,
    EMULATED_ADD,
    EMULATED_AND,
    EMULATED_OR,
    EMULATED_XOR
} emulated_together;

/*
 * What the lanes of mask do together: each gives a value and, for shuffles, a lane or distance and
 * the width of a group of lanes. Ballots and matches are masks.
 */
EMULATOR_API uint64_t emulated_sync_warp(emulated_together what, uint32_t mask, uint64_t value,
                                         int operand, int width);

/* Another thread may go on here. */
EMULATOR_API void emulated_may_switch(void);
/* What the thread has done becomes visible; what others have done is looked at anew. */
EMULATOR_API void emulated_fence(void);
EMULATOR_API void emulated_acquire(void);
/* The thread waits for what another one does. */
EMULATOR_API void emulated_wait(void);

/* The thread's copies into shared memory, in groups. */
EMULATOR_API void emulated_copy_async(void *to, const void *from, size_t n_bytes);
/* Of bytes that another thread may write meanwhile. */
EMULATOR_API void emulated_copy_unordered(void *to, const void *from, size_t n_bytes);
EMULATOR_API void emulated_copy_commit(void);
/* Until no more than n_left groups are on their way. */
EMULATOR_API void emulated_copy_wait(unsigned n_left);

#ifdef __cplusplus
}
#endif

#endif
