/* SPDX-License-Identifier: BSD-2-Clause */
#include "guard.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

/* On either side; a multiple of the alignment. */
#define GUARD_BYTES 512
#define ALIGNMENT 256
#define GUARD_VALUE 0x5a

#ifdef HAVE_ASAN
void __asan_poison_memory_region(const volatile void *memory, size_t size);
void __asan_unpoison_memory_region(const volatile void *memory, size_t size);
#else
#define __asan_poison_memory_region(memory, size) ((void)0)
#define __asan_unpoison_memory_region(memory, size) ((void)0)
#endif

void *guard_alloc(size_t n_bytes)
{
    if (n_bytes > SIZE_MAX / 2)
        return NULL;
    size_t all = (n_bytes + 2 * GUARD_BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint8_t *memory = aligned_alloc(ALIGNMENT, all);
    if (!memory)
        return NULL;
    uint8_t *after = memory + GUARD_BYTES + n_bytes;
    memset(memory, GUARD_VALUE, GUARD_BYTES);
    memset(after, GUARD_VALUE, GUARD_BYTES);
    emulated_fill_garbage(memory + GUARD_BYTES, n_bytes);
    __asan_poison_memory_region(memory, GUARD_BYTES);
    __asan_poison_memory_region(after, GUARD_BYTES);
    return memory + GUARD_BYTES;
}

static int is_whole(const uint8_t *guard)
{
    int whole = 1;
    __asan_unpoison_memory_region(guard, GUARD_BYTES);
    for (int i = 0; i < GUARD_BYTES; i++)
        whole &= guard[i] == GUARD_VALUE;
    __asan_poison_memory_region(guard, GUARD_BYTES);
    return whole;
}

int guard_holds(const void *memory, size_t n_bytes)
{
    return is_whole((const uint8_t *)memory - GUARD_BYTES) &&
           is_whole((const uint8_t *)memory + n_bytes);
}

void guard_free(void *memory)
{
    if (memory)
        free((uint8_t *)memory - GUARD_BYTES);
}
