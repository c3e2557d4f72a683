/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "launch.h"

/* xorshift64*, Vigna 2014. */
static uint64_t state = 1;

void emulated_seed(uint64_t seed)
{
    state = seed * 2 + 1;
    for (int i = 0; i < 8; i++)
        emulated_random();
}

uint32_t emulated_random(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(state * 2685821657736338717ull >> 32);
}

uint32_t emulated_random_below(uint32_t n)
{
    return (uint32_t)((uint64_t)emulated_random() * n >> 32);
}

void emulated_fill_garbage(void *memory, size_t n_bytes)
{
    char *to = memory;
    uint64_t pattern = (uint64_t)emulated_random() << 32 | emulated_random();
    while (n_bytes) {
        size_t n = n_bytes < sizeof pattern ? n_bytes : sizeof pattern;
        memcpy(to, &pattern, n);
        to += n;
        n_bytes -= n;
        pattern = pattern * 6364136223846793005ull + 1442695040888963407ull;
    }
}
