/*
 * guard.h - bytes round memory that nobody may touch: looked at afterwards, and under
 * AddressSanitizer watched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_GUARD_H
#define MVF_CUDA_EMULATOR_GUARD_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

/* n_bytes of garbage, aligned to 256 bytes, between guards. NULL without memory. */
void *guard_alloc(size_t n_bytes);

/* Whether the guards are as they were. */
int guard_holds(const void *memory, size_t n_bytes);

void guard_free(void *memory);

#endif
