/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "guard.h"

#define MAX_THREADS 1024
/* Turns in which threads only wait for each other, or go on with atomics, before that counts as
 * waiting for ever. */
#define MAX_IDLE_TURNS 100000000
/* Fences of a launch that are remembered, the last ones. */
#define MAX_FENCES 4096
#define MAX_WAITS 4000000

/* Who goes on when a thread stops. */
typedef enum schedule {
    /* Anyone. */
    SCHEDULE_ANY,
    /* Who became ready last: one warp goes ahead of all others. */
    SCHEDULE_LAST,
    /* Who has waited longest. */
    SCHEDULE_FIRST,
    N_SCHEDULES
} schedule;

typedef struct fence {
    uint64_t block, time;
    int thread;
} fence;

static struct {
    const emulated_launch *launch;
    emulated_thread threads[MAX_THREADS];
    emulated_warp warps[MAX_THREADS / EMULATED_LANES_OF_WARP];
    int n_threads, n_fibers;
    /* Numbers of the threads that are ready, a ring. */
    int ready[MAX_THREADS], first_ready, n_ready;
    schedule schedule;
    emulated_barrier barrier;
    int n_done, n_at_barrier;
    int64_t n_waits, n_idle_turns;
    fence fences[MAX_FENCES];
    size_t n_fences;
    fiber main;
    int failed;
} run;

emulated_place emulated_here;
emulated_thread *emulated_current;
emulated_progress emulated_now;
void (*emulated_access)(const void *address, size_t n_bytes, int kind, const void *caller);

/* In the storage that static shared memory lies in. */
static _Thread_local volatile char shared_exists;

emulated_thread *emulated_thread_at(int number)
{
    return &run.threads[number];
}

emulated_warp *emulated_warp_of(const emulated_thread *thread)
{
    return &run.warps[thread->number / EMULATED_LANES_OF_WARP];
}

/* Scheduling. */

static void push_last(int number)
{
    run.ready[(run.first_ready + run.n_ready++) % MAX_THREADS] = number;
}

static void push_first(int number)
{
    run.first_ready = (run.first_ready + MAX_THREADS - 1) % MAX_THREADS;
    run.ready[run.first_ready] = number;
    run.n_ready++;
}

static int pop(void)
{
    int at = run.schedule == SCHEDULE_FIRST  ? 0
             : run.schedule == SCHEDULE_LAST ? run.n_ready - 1
                                             : (int)emulated_random_below((uint32_t)run.n_ready);
    int *chosen = &run.ready[(run.first_ready + at) % MAX_THREADS];
    int *last = &run.ready[(run.first_ready + run.n_ready - 1) % MAX_THREADS];
    int number = *chosen;
    if (at == 0)
        run.first_ready = (run.first_ready + 1) % MAX_THREADS;
    else
        *chosen = *last;
    run.n_ready--;
    return number;
}

static void enter(emulated_thread *thread)
{
    emulated_current = thread;
    emulated_here.thread = thread->index;
}

/* Hands over to a thread that is ready, or to the launch where there is none. */
static void hand_over(emulated_thread *thread)
{
    if (!run.n_ready) {
        fiber_switch(&thread->fiber, &run.main);
        return;
    }
    emulated_thread *next = &run.threads[pop()];
    enter(next);
    if (next != thread)
        fiber_switch(&thread->fiber, &next->fiber);
}

void emulated_make_ready(emulated_thread *thread)
{
    run.n_waits = run.n_idle_turns = 0;
    thread->state = THREAD_READY;
    push_last(thread->number);
}

void emulated_suspend(thread_state state)
{
    emulated_current->state = state;
    hand_over(emulated_current);
}

void emulated_may_switch(void)
{
    emulated_thread *thread = emulated_current;
    if (emulated_random() & 7)
        return;
    if (++run.n_idle_turns > MAX_IDLE_TURNS)
        emulated_fail("threads go on for ever without a barrier");
    push_last(thread->number);
    hand_over(thread);
}

void emulated_fence(void)
{
    run.fences[run.n_fences++ % MAX_FENCES] = (fence){.block = emulated_now.block,
                                                      .time = ++emulated_now.time,
                                                      .thread = emulated_current->number};
    emulated_may_switch();
}

uint64_t emulated_fenced_after(uint64_t block, int thread, uint64_t time)
{
    size_t n = run.n_fences < MAX_FENCES ? run.n_fences : MAX_FENCES;
    uint64_t first = 0;
    for (size_t i = 0; i < n; i++) {
        const fence *f = &run.fences[i];
        if (f->block == block && f->thread == thread && f->time > time &&
            (!first || f->time < first))
            first = f->time;
    }
    return first;
}

void emulated_acquire(void)
{
    emulated_current->acquired = ++emulated_now.time;
}

void emulated_wait(void)
{
    emulated_thread *thread = emulated_current;
    if (++run.n_waits > MAX_WAITS)
        emulated_fail("thread %d waits for ever for what another one should do", thread->number);
    if (run.schedule == SCHEDULE_LAST)
        push_first(thread->number);
    else
        push_last(thread->number);
    hand_over(thread);
}

/* Ending. */

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list arguments)
{
    emulated_index b = emulated_here.block;
    fflush(stdout);
    fprintf(stderr, "emulated CUDA: kernel %s, block (%u,%u,%u): ", run.launch->kernel->name, b.x,
            b.y, b.z);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    run.failed = 1;
}

void emulated_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void emulated_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    fiber_end(&emulated_current->fiber, &run.main);
    abort();
}

static void release_barrier(void)
{
    int n = run.n_threads, stride = (int)emulated_random_below(509) * 2 + 1;
    int at = (int)emulated_random_below(MAX_THREADS), count = 0, result = 0;
    for (int i = 0; i < n; i++)
        count += run.threads[i].state == THREAD_AT_BARRIER && run.threads[i].predicate != 0;
    if (run.barrier == EMULATED_BARRIER_COUNT)
        result = count;
    else
        result = run.barrier == EMULATED_BARRIER_AND ? count == run.n_at_barrier : count > 0;
    run.n_at_barrier = 0;
    emulated_now.n_barriers++;
    for (int i = 0; i < MAX_THREADS; i++, at = (at + stride) % MAX_THREADS)
        if (at < n && run.threads[at].state == THREAD_AT_BARRIER) {
            run.threads[at].predicate = result;
            emulated_make_ready(&run.threads[at]);
        }
}

static void end_thread(emulated_thread *thread)
{
    thread->state = THREAD_DONE;
    run.n_done++;
    run.n_waits = 0;
    emulated_copies_arrive(thread);
    emulated_leave_warp(thread);
    if (run.n_at_barrier && run.n_at_barrier + run.n_done == run.n_threads)
        release_barrier();
    if (run.n_ready) {
        emulated_thread *next = &run.threads[pop()];
        enter(next);
        fiber_end(&thread->fiber, &next->fiber);
    }
    fiber_end(&thread->fiber, &run.main);
    abort();
}

static void run_thread(void)
{
    emulated_thread *thread = emulated_current;
    fiber_arrive(&thread->fiber);
    run.launch->kernel->call(run.launch->arguments);
    end_thread(thread);
}

/* The block's barrier. */

int emulated_sync_block(emulated_barrier kind, int predicate)
{
    emulated_thread *thread = emulated_current;
    if (run.n_at_barrier && run.barrier != kind)
        emulated_fail("thread %d is at a barrier of another kind than others", thread->number);
    run.barrier = kind;
    thread->predicate = predicate;
    thread->state = THREAD_AT_BARRIER;
    run.n_at_barrier++;
    if (run.n_at_barrier + run.n_done == run.n_threads)
        release_barrier();
    hand_over(thread);
    return thread->predicate;
}

/* Shared memory that kernels declare is the library's thread-local storage of this thread. */

static int find_library(struct dl_phdr_info *info, size_t size, void *opaque)
{
    uintptr_t here = (uintptr_t)&emulated_here, first = UINTPTR_MAX, end = 0;
    (void)size;
    (void)opaque;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD)
            continue;
        first = start < first ? start : first;
        end = start + header->p_memsz > end ? start + header->p_memsz : end;
    }
    if (here < first || here >= end)
        return 0;
    emulated_now.library = (const char *)first;
    emulated_now.library_bytes = end - first;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            emulated_now.declared = info->dlpi_tls_data;
            emulated_now.declared_bytes = info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* Blocks. */

static void begin_block(void)
{
    emulated_index size = run.launch->block_size;
    emulated_now.n_barriers = 0;
    emulated_fill_garbage(emulated_now.declared, emulated_now.declared_bytes);
    emulated_fill_garbage(emulated_now.dynamic, emulated_now.dynamic_bytes);
    run.schedule = (schedule)emulated_random_below(N_SCHEDULES);
    run.first_ready = run.n_ready = run.n_done = run.n_at_barrier = 0;
    run.n_waits = run.n_idle_turns = 0;
    memset(run.warps, 0, sizeof run.warps);
    for (int i = 0; i < run.n_threads; i++) {
        emulated_thread *thread = &run.threads[i];
        unsigned n = (unsigned)i;
        thread->number = i;
        thread->index = (emulated_index){n % size.x, n / size.x % size.y, n / size.x / size.y};
        thread->n_copies = 0;
        thread->n_groups = 0;
        thread->acquired = 0;
        thread->state = THREAD_READY;
        emulated_warp_of(thread)->alive |= 1u << i % EMULATED_LANES_OF_WARP;
        /* Stacks begin in different cache lines, or they would push each other out. */
        fiber_start(&thread->fiber, run_thread, (size_t)(i % 16) * 256);
    }
    int stride = (int)emulated_random_below(509) * 2 + 1;
    int at = (int)emulated_random_below(MAX_THREADS);
    for (int i = 0; i < MAX_THREADS; i++, at = (at + stride) % MAX_THREADS)
        if (at < run.n_threads)
            push_last(at);
}

static const char *what_it_does(const emulated_thread *thread)
{
    static const char *const names[] = {
        "__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
        "__any_sync", "__all_sync",  "__ballot_sync",  "__match_any_sync", "__match_all_sync"};
    if (thread->state == THREAD_AT_BARRIER)
        return "__syncthreads";
    return thread->what <= EMULATED_MATCH_ALL ? names[thread->what] : "__reduce_sync";
}

/* Nobody can go on, and not all have ended. */
static void report_deadlock(void)
{
    char text[600] = "";
    size_t used = 0;
    int n_kinds = 0;
    const emulated_thread *previous = NULL;
    for (int i = 0; i < run.n_threads; i++) {
        const emulated_thread *thread = &run.threads[i];
        if (thread->state != THREAD_AT_BARRIER && thread->state != THREAD_IN_WARP)
            continue;
        if (previous && previous->state == thread->state && previous->what == thread->what &&
            previous->mask == thread->mask)
            continue;
        previous = thread;
        if (++n_kinds > 6 || used >= sizeof text)
            break;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s thread %d in %s",
                                 used ? "," : "", i, what_it_does(thread));
        if (thread->state == THREAD_IN_WARP && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " of %08x", thread->mask);
    }
    emulated_complain("threads wait for ever, %d of %d have ended:%s", run.n_done, run.n_threads,
                      text);
}

static void run_block(void)
{
    enter(&run.threads[pop()]);
    fiber_switch(&run.main, &emulated_current->fiber);
    if (!run.failed && run.n_done < run.n_threads)
        report_deadlock();
}

/* Launches. */

static int alloc_threads(int n)
{
    for (; run.n_fibers < n; run.n_fibers++)
        if (!fiber_alloc(&run.threads[run.n_fibers].fiber)) {
            emulated_complain("out of memory for %d threads", n);
            return 0;
        }
    return 1;
}

static uint64_t common_factor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* All blocks, in an order that visits each once: the stride has no factor in common with n. */
static void run_blocks(uint64_t n)
{
    emulated_index grid = run.launch->grid_size;
    shared_exists = 1;
    dl_iterate_phdr(find_library, NULL);
    emulated_now.dynamic = emulated_here.dynamic_shared;
    emulated_now.dynamic_bytes = run.launch->dynamic_shared_bytes;
    uint64_t at = emulated_random() % n, stride = emulated_random() % n + 1;
    while (common_factor(n, stride) != 1)
        stride++;
    for (uint64_t i = 0; i < n && !run.failed; i++, at = (at + stride) % n) {
        emulated_here.block =
            (emulated_index){(unsigned)(at % grid.x), (unsigned)(at / grid.x % grid.y),
                             (unsigned)(at / grid.x / grid.y)};
        emulated_now.block = at;
        begin_block();
        run_block();
        if (!guard_holds(emulated_here.dynamic_shared, run.launch->dynamic_shared_bytes))
            emulated_complain("wrote outside its %zu bytes of dynamic shared memory",
                              run.launch->dynamic_shared_bytes);
    }
}

int emulated_run(const emulated_launch *launch)
{
    emulated_index block = launch->block_size, grid = launch->grid_size;
    run.launch = launch;
    run.n_threads = (int)(block.x * block.y * block.z);
    run.failed = 0;
    run.main = (fiber){.stack = NULL};
    run.n_fences = 0;
    emulated_now.launch++;
    emulated_here = (emulated_place){.block_size = block, .grid_size = grid};
    if (!alloc_threads(run.n_threads))
        return 0;
    emulated_here.dynamic_shared = guard_alloc(launch->dynamic_shared_bytes);
    if (emulated_here.dynamic_shared)
        run_blocks((uint64_t)grid.x * grid.y * grid.z);
    else
        emulated_complain("out of memory for shared memory");
    guard_free(emulated_here.dynamic_shared);
    emulated_current = NULL;
    return !run.failed;
}
