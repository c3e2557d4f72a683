/*
 * block.h - the threads of the block that runs, for launch.c, block.c, warp.c and copy.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_BLOCK_H
#define MVF_CUDA_EMULATOR_BLOCK_H

#include "fiber.h"
#include "launch.h"

typedef enum thread_state {
    THREAD_READY,
    THREAD_AT_BARRIER,
    THREAD_IN_WARP,
    THREAD_DONE
} thread_state;

/* A copy that has not arrived yet. */
typedef struct pending_copy {
    void *to;
    const void *from;
    size_t n_bytes;
    unsigned group;
} pending_copy;

typedef struct emulated_thread {
    fiber fiber;
    int number;
    emulated_index index;
    thread_state state;
    /* What it brings to a barrier, and what comes of it. */
    int predicate;
    /* With the warp: what this lane brings, and what it gets. */
    emulated_together what;
    uint32_t mask;
    uint64_t value, result;
    int operand, width;
    /* Copies into shared memory. */
    pending_copy *copies;
    size_t n_copies, n_copies_allocated;
    unsigned n_groups;
    /* When it last looked anew at what others had done. */
    uint64_t acquired;
} emulated_thread;

/* Lanes of a warp that have not ended, and those that wait for others of it. */
typedef struct emulated_warp {
    uint32_t alive, waiting;
    /* How often all of them have been through __syncwarp(), and through anything together. */
    uint32_t n_syncs, n_meetings;
} emulated_warp;

#define EMULATED_LANES_OF_WARP 32

/* The warp that a thread is in. */
EMULATOR_API emulated_warp *emulated_warp_of(const emulated_thread *thread);

/* Where the launch stands. */
typedef struct emulated_progress {
    uint32_t launch;
    uint64_t block;
    /* Barriers that the block has been through. */
    uint32_t n_barriers;
    /* Grows with everything that is noted. */
    uint64_t time;
    /* Shared memory, declared and dynamic. */
    char *declared, *dynamic;
    size_t declared_bytes, dynamic_bytes;
    /* The library itself. */
    const char *library;
    size_t library_bytes;
} emulated_progress;

extern EMULATOR_API emulated_progress emulated_now;

/* The running thread; NULL between launches. */
extern EMULATOR_API emulated_thread *emulated_current;

/* Thread `number` of the block. */
EMULATOR_API emulated_thread *emulated_thread_at(int number);

/* Makes a thread that waits go on, some time later. */
EMULATOR_API void emulated_make_ready(emulated_thread *thread);

/* Lets others run until emulated_make_ready(). */
EMULATOR_API void emulated_suspend(thread_state state);

/* Ends the kernel: the running thread does not go on. */
EMULATOR_API void emulated_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* When a thread of the launch first made visible what it had done by then; 0: not yet. */
EMULATOR_API uint64_t emulated_fenced_after(uint64_t block, int thread, uint64_t time);

/* As emulated_fail(), but the thread goes on: the kernel fails when its block has ended. */
EMULATOR_API void emulated_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bits: reads are neither. Atomic accesses come in any order among themselves. */
enum { ACCESS_READ = 0, ACCESS_WRITE = 1, ACCESS_ATOMIC = 2 };

/* Access to memory by the running thread, for the library that watches them; NULL in the other. */
extern EMULATOR_API void (*emulated_access)(const void *address, size_t n_bytes, int kind,
                                            const void *caller);

/* A thread of the warp has ended: others may have waited for it alone. */
EMULATOR_API void emulated_leave_warp(const emulated_thread *thread);

/* Copies that nobody waited for arrive when the thread ends. */
EMULATOR_API void emulated_copies_arrive(emulated_thread *thread);

#endif
