/*
 * heap.c - malloc() and its kin, as functions that fail on demand and notice misuse.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* glibc's own, under the names that it keeps for replacements like these. */
extern void *__libc_malloc(size_t size);
extern void __libc_free(void *memory);

#define ALIVE UINT64_C(0x6d76666c69766531)
#define FREED UINT64_C(0x6d76666465616432)
#define JUNK 0xc5
#define POISON 0xdb
#define GUARD 0xa7
#define N_GUARD 32
#define USUAL_ALIGNMENT 16
/* Freed memory that is kept, so that late writes are seen. */
#define MAX_KEPT_BYTES (64 << 20)

typedef struct block {
    void *raw, *caller;
    size_t size;
    struct block *previous, *next;
    int is_pinned;
    uint64_t state;
} block;

/* How many blocks of one caller are alive at the end. */
typedef struct left_over {
    void *caller;
    uint64_t n;
} left_over;

#define MAX_LEFT_OVERS 8192

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static block *newest;
static block *oldest_kept, *newest_kept;
static size_t kept_bytes;
static left_over *usual;

void *heap_shared(size_t n_bytes)
{
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint8_t *bytes_of(block *b)
{
    return (uint8_t *)(b + 1);
}

static int is_filled(const uint8_t *bytes, size_t n, uint8_t value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

static void *allocate(size_t size, size_t alignment, int fill, void *caller)
{
    if (fault_strikes(FAULT_ANY_MEMORY, "an allocation", caller) ||
        (fault_current && fault_current->kind == FAULT_MEMORY && fault_current->armed &&
         fault_is_for_mvfield(caller) && fault_strikes(FAULT_MEMORY, "an allocation", caller)) ||
        size > SIZE_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    alignment = alignment < USUAL_ALIGNMENT ? USUAL_ALIGNMENT : alignment;
    void *raw = __libc_malloc(size + alignment + sizeof(block) + N_GUARD);
    if (!raw)
        return NULL;
    uintptr_t start = ((uintptr_t)raw + sizeof(block) + alignment - 1) / alignment * alignment;
    block *made = (block *)start - 1;
    *made = (block){.raw = raw, .caller = caller, .size = size, .state = ALIVE};
    memset(bytes_of(made), fill, size);
    memset(bytes_of(made) + size, GUARD, N_GUARD);
    pthread_mutex_lock(&mutex);
    made->next = newest;
    if (newest)
        newest->previous = made;
    newest = made;
    pthread_mutex_unlock(&mutex);
    return made + 1;
}

/* Lets the oldest of the kept blocks go. */
static void forget_block(void)
{
    block *b = oldest_kept;
    oldest_kept = b->next;
    if (!oldest_kept)
        newest_kept = NULL;
    kept_bytes -= b->size;
    if (!is_filled(bytes_of(b), b->size, POISON))
        fault_condemn("memory was written to after it was freed, allocated", b->caller);
    b->state = 0;
    __libc_free(b->raw);
}

static void keep_block(block *b)
{
    memset(bytes_of(b), POISON, b->size);
    b->state = FREED;
    b->next = NULL;
    if (newest_kept)
        newest_kept->next = b;
    else
        oldest_kept = b;
    newest_kept = b;
    kept_bytes += b->size;
    while (kept_bytes > MAX_KEPT_BYTES)
        forget_block();
}

static void release(void *memory, void *caller)
{
    block *b = (block *)memory - 1;
    if (!memory)
        return;
    if (b->state == FREED)
        fault_condemn("memory was freed twice, the second time", caller);
    /* From before this library was there. */
    if (b->state != ALIVE)
        return;
    if (!is_filled(bytes_of(b) + b->size, N_GUARD, GUARD))
        fault_condemn("memory was written to beyond its end, allocated", b->caller);
    pthread_mutex_lock(&mutex);
    if (b->next)
        b->next->previous = b->previous;
    if (b->previous)
        b->previous->next = b->next;
    else
        newest = b->next;
    keep_block(b);
    pthread_mutex_unlock(&mutex);
}

static void *resize(void *memory, size_t size, void *caller)
{
    block *b = (block *)memory - 1;
    if (memory && !size) {
        release(memory, caller);
        return NULL;
    }
    if (memory && b->state == FREED)
        fault_condemn("memory was resized after it was freed", caller);
    void *made = allocate(size, USUAL_ALIGNMENT, JUNK, caller);
    if (!made || !memory)
        return made;
    memcpy(made, memory, b->size < size ? b->size : size);
    release(memory, caller);
    return made;
}

#define CALLER __builtin_return_address(0)

FAULT_EXPORT void *malloc(size_t size)
{
    return allocate(size, USUAL_ALIGNMENT, JUNK, CALLER);
}

FAULT_EXPORT void *calloc(size_t count, size_t size)
{
    size_t n_bytes = 0;
    if (__builtin_mul_overflow(count, size, &n_bytes))
        n_bytes = SIZE_MAX;
    return allocate(n_bytes, USUAL_ALIGNMENT, 0, CALLER);
}

FAULT_EXPORT void *realloc(void *memory, size_t size)
{
    return resize(memory, size, CALLER);
}

FAULT_EXPORT void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t n_bytes = 0;
    if (__builtin_mul_overflow(count, size, &n_bytes))
        n_bytes = SIZE_MAX;
    return resize(memory, n_bytes, CALLER);
}

FAULT_EXPORT void free(void *memory)
{
    release(memory, CALLER);
}

FAULT_EXPORT int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *made = allocate(size, alignment, JUNK, CALLER);
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

FAULT_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return allocate(size, alignment, JUNK, CALLER);
}

FAULT_EXPORT void *memalign(size_t alignment, size_t size);
FAULT_EXPORT void *memalign(size_t alignment, size_t size)
{
    return allocate(size, alignment, JUNK, CALLER);
}

FAULT_EXPORT size_t malloc_usable_size(void *memory);
FAULT_EXPORT size_t malloc_usable_size(void *memory)
{
    return memory ? ((block *)memory - 1)->size : 0;
}

void heap_pin(void)
{
    if (!usual)
        usual = heap_shared(MAX_LEFT_OVERS * sizeof *usual);
    for (block *b = newest; b; b = b->next)
        b->is_pinned = 1;
}

static left_over *find_usual(left_over *table, void *caller)
{
    size_t at = ((uintptr_t)caller >> 2) % MAX_LEFT_OVERS;
    for (size_t i = 0; i < MAX_LEFT_OVERS; i++, at = (at + 1) % MAX_LEFT_OVERS)
        if (table[at].caller == caller || !table[at].caller)
            return &table[at];
    abort();
}

static void check_kept(char *fault, size_t size)
{
    for (block *b = oldest_kept; b; b = b->next)
        if (!is_filled(bytes_of(b), b->size, POISON)) {
            int n = snprintf(fault, size, "memory was written to after it was freed, allocated ");
            fault_describe(b->caller, fault + n, size - (size_t)n);
            return;
        }
}

void heap_check(int is_first, int ours_only, char *fault, size_t size)
{
    static left_over own[MAX_LEFT_OVERS];
    left_over *table = is_first ? usual : memcpy(own, usual, sizeof own);
    size_t n_lost = 0, n_bytes = 0;
    char place[256] = "";
    check_kept(fault, size);
    for (block *b = newest; b; b = b->next) {
        left_over *known = find_usual(table, b->caller);
        if (b->is_pinned || (ours_only && fault_owner_of(b->caller) != OWNER_MVFIELD))
            continue;
        if (is_first) {
            known->caller = b->caller;
            known->n++;
        } else if (known->caller && known->n) {
            known->n--;
        } else {
            fault_describe(b->caller, place, sizeof place);
            n_lost++;
            n_bytes += b->size;
        }
    }
    if (n_lost && !*fault)
        snprintf(fault, size, "%zu blocks of %zu bytes leak, one allocated by %s", n_lost, n_bytes,
                 place);
}
