/*
 * fuzz.h - what the fuzz targets share. Each defines LLVMFuzzerTestOneInput(), which ends the
 * process when the library does something that it must not, whatever the bytes are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_FUZZ_H
#define MVF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold. */
#define FUZZ_EXPECT(condition) \
    do {                       \
        if (!(condition))      \
            abort();           \
    } while (0)

/* Bytes that are taken one after the other; zeros after the last. */
typedef struct fuzz_bytes {
    const uint8_t *next;
    size_t n_left;
} fuzz_bytes;

static inline uint8_t fuzz_take(fuzz_bytes *bytes)
{
    if (!bytes->n_left)
        return 0;
    bytes->n_left--;
    return *bytes->next++;
}

/* A number from low to high. */
static inline int32_t fuzz_number(fuzz_bytes *bytes, int32_t low, int32_t high)
{
    uint32_t value = fuzz_take(bytes);
    if (high - low > 255)
        value |= (uint32_t)fuzz_take(bytes) << 8;
    return low + (int32_t)(value % (uint32_t)(high - low + 1));
}

#endif
