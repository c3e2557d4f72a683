/*
 * Every access of a kernel to memory, looked at: whether the address is one that the kernel may
 * use, and whether another thread's access to the same byte could as well have come later. For that
 * the kernels are compiled as for ThreadSanitizer, whose functions are here.
 *
 * What orders two accesses: the thread itself, a barrier of the block, __syncwarp() of all lanes,
 * or a fence of one thread after which the other one has waited, or come to an atomic.
 * What else a warp does together gives CUDA no order of memory. Here it lets lanes write what
 * others have read before: kernels write what they have decided together by what they read.
 * Volatile accesses and atomics may come in any order among themselves.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "objects.h"

#define MAX_REPORTS 5

/* One access to a byte. */
typedef struct access {
    uint64_t time, block;
    uint32_t launch, n_barriers, n_syncs, n_meetings;
    uint16_t thread;
    uint8_t is_atomic, exists;
} access;

/* The last write of a byte, and the last reads of two threads. */
typedef struct history {
    access write, reads[2];
} history;

/* Of shared memory, declared and dynamic: only of the block that runs. */
static history *shared[2];
static size_t shared_bytes[2];
static uint64_t shared_block[2];
static uint32_t shared_launch[2];

static uint32_t reported_launch;
static int n_reports;

__attribute__((format(printf, 2, 3))) static void report(const void *caller, const char *format,
                                                         ...)
{
    char text[256];
    va_list arguments;
    Dl_info info = {.dli_fbase = NULL};
    if (reported_launch != emulated_now.launch)
        n_reports = 0;
    reported_launch = emulated_now.launch;
    if (++n_reports > MAX_REPORTS)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dladdr(caller, &info);
    emulated_complain("thread %d %s (at %#tx)", emulated_current->number, text,
                      (const char *)caller - (const char *)info.dli_fbase);
}

static history *alloc_histories(size_t n)
{
    history *all = calloc(n, sizeof *all);
    if (!all)
        emulated_fail("out of memory for what is known of accesses");
    return all;
}

/* Of one of the two parts of shared memory. */
static history *shared_histories(int part, size_t n_bytes)
{
    if (shared_bytes[part] < n_bytes) {
        free(shared[part]);
        shared[part] = alloc_histories(n_bytes);
        shared_bytes[part] = n_bytes;
    } else if (shared_block[part] != emulated_now.block ||
               shared_launch[part] != emulated_now.launch) {
        memset(shared[part], 0, n_bytes * sizeof **shared);
    }
    shared_block[part] = emulated_now.block;
    shared_launch[part] = emulated_now.launch;
    return shared[part];
}

static int lies_in(const char *address, size_t n_bytes, const char *memory, size_t memory_bytes)
{
    return (uintptr_t)address >= (uintptr_t)memory &&
           (uintptr_t)address + n_bytes <= (uintptr_t)memory + memory_bytes;
}

/* What is known of the bytes from the address on; NULL where the kernel has no business. */
static history *find_histories(const char *address, size_t n_bytes, const void *caller,
                               const char **name, size_t *offset)
{
    const emulated_progress *now = &emulated_now;
    if (lies_in(address, n_bytes, now->dynamic, now->dynamic_bytes)) {
        *name = "dynamic shared memory";
        *offset = (size_t)(address - now->dynamic);
        return shared_histories(1, now->dynamic_bytes) + *offset;
    }
    if (lies_in(address, n_bytes, now->declared, now->declared_bytes)) {
        *name = "shared memory";
        *offset = (size_t)(address - now->declared);
        return shared_histories(0, now->declared_bytes) + *offset;
    }
    allocation *a = find_allocation(emulated_context, OBJECT_ALLOCATION, address, n_bytes);
    if (a) {
        *name = "an allocation";
        *offset = (size_t)(address - a->memory);
        if (!a->histories)
            a->histories = alloc_histories(a->n_bytes);
        return (history *)a->histories + *offset;
    }
    report(caller, "uses %zu bytes at %p, which is no memory of the kernel's", n_bytes,
           (const void *)address);
    return NULL;
}

static int is_ordered(const access *before, int was_write, const access *now)
{
    if (before->launch != now->launch)
        return 1;
    if (before->block == now->block) {
        if (before->thread == now->thread || before->n_barriers < now->n_barriers)
            return 1;
        if (before->thread / EMULATED_LANES_OF_WARP == now->thread / EMULATED_LANES_OF_WARP &&
            (before->n_syncs < now->n_syncs ||
             (!was_write && before->n_meetings < now->n_meetings)))
            return 1;
    }
    uint64_t fenced = emulated_fenced_after(before->block, before->thread, before->time);
    return fenced && fenced < emulated_current->acquired;
}

static int conflicts(const access *before, int was_write, const access *now)
{
    return before->exists && !(before->is_atomic && now->is_atomic) &&
           !is_ordered(before, was_write, now);
}

/* The other access that this one is not ordered with, or NULL. */
static const access *find_conflict(const history *h, const access *now, int is_write)
{
    if (conflicts(&h->write, 1, now))
        return &h->write;
    for (int i = 0; is_write && i < 2; i++)
        if (conflicts(&h->reads[i], 0, now))
            return &h->reads[i];
    return NULL;
}

static void remember(history *h, const access *now, int is_write)
{
    if (is_write) {
        h->write = *now;
        return;
    }
    if (h->reads[0].exists && h->reads[0].thread != now->thread)
        h->reads[1] = h->reads[0];
    h->reads[0] = *now;
}

static void look(const void *address, size_t n_bytes, int kind, const void *caller)
{
    const emulated_thread *thread = emulated_current;
    int is_write = kind & ACCESS_WRITE;
    const char *name = NULL;
    size_t offset = 0;
    /* Its own variables; constants, and where the thread is. */
    if (!thread || lies_in(address, n_bytes, thread->fiber.stack, thread->fiber.stack_bytes) ||
        lies_in(address, n_bytes, emulated_now.library, emulated_now.library_bytes))
        return;
    history *h = find_histories(address, n_bytes, caller, &name, &offset);
    access now = {.time = ++emulated_now.time,
                  .block = emulated_now.block,
                  .launch = emulated_now.launch,
                  .n_barriers = emulated_now.n_barriers,
                  .n_syncs = emulated_warp_of(thread)->n_syncs,
                  .n_meetings = emulated_warp_of(thread)->n_meetings,
                  .thread = (uint16_t)thread->number,
                  .is_atomic = (kind & ACCESS_ATOMIC) != 0,
                  .exists = 1};
    const access *other = NULL;
    for (size_t i = 0; h && i < n_bytes; i++) {
        if (!other)
            other = find_conflict(&h[i], &now, is_write);
        if (other)
            report(caller,
                   "%s %zu bytes at %zu of %s, which thread %u of block %llu %s: nothing "
                   "says which comes first",
                   is_write ? "writes" : "reads", n_bytes, offset, name, other->thread,
                   (unsigned long long)other->block, other == &h[i].write ? "writes" : "reads");
        if (other)
            return;
        remember(&h[i], &now, is_write);
    }
}

__attribute__((constructor)) static void start_watching(void)
{
    emulated_access = look;
}

/* As the compiler calls them. */

void __tsan_init(void);
void __tsan_read_range(void *address, size_t n_bytes);
void __tsan_write_range(void *address, size_t n_bytes);

void __tsan_init(void)
{
}

void __tsan_read_range(void *address, size_t n_bytes)
{
    look(address, n_bytes, ACCESS_READ, __builtin_return_address(0));
}

void __tsan_write_range(void *address, size_t n_bytes)
{
    look(address, n_bytes, ACCESS_WRITE, __builtin_return_address(0));
}

#define WATCH(name, n_bytes, kind)                                 \
    void __tsan_##name(void *address);                             \
    void __tsan_##name(void *address)                              \
    {                                                              \
        look(address, n_bytes, kind, __builtin_return_address(0)); \
    }

#define WATCH_SIZE(n_bytes)                                             \
    WATCH(read##n_bytes, n_bytes, ACCESS_READ)                          \
    WATCH(write##n_bytes, n_bytes, ACCESS_WRITE)                        \
    WATCH(unaligned_read##n_bytes, n_bytes, ACCESS_READ)                \
    WATCH(unaligned_write##n_bytes, n_bytes, ACCESS_WRITE)              \
    WATCH(volatile_read##n_bytes, n_bytes, ACCESS_READ | ACCESS_ATOMIC) \
    WATCH(volatile_write##n_bytes, n_bytes, ACCESS_WRITE | ACCESS_ATOMIC)

WATCH_SIZE(1)
WATCH_SIZE(2)
WATCH_SIZE(4)
WATCH_SIZE(8)
WATCH_SIZE(16)
