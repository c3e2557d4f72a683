/*
 * launch.h - runs a kernel, block by block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_LAUNCH_H
#define MVF_CUDA_EMULATOR_LAUNCH_H

#include "emulator.h"

typedef struct emulated_launch {
    const emulated_kernel *kernel;
    void *const *arguments;
    emulated_index grid_size, block_size;
    size_t dynamic_shared_bytes;
} emulated_launch;

/* 0 when the kernel failed; a line on stderr says why. */
EMULATOR_API int emulated_run(const emulated_launch *launch);

/* Chance: the same for the same seed. */
EMULATOR_API void emulated_seed(uint64_t seed);
EMULATOR_API uint32_t emulated_random(void);
/* Below n. */
EMULATOR_API uint32_t emulated_random_below(uint32_t n);
EMULATOR_API void emulated_fill_garbage(void *memory, size_t n_bytes);

#endif
