/*
 * cuda_pipeline.h - in place of the CUDA toolkit's header of that name; see emulator.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_CUDA_PIPELINE_H
#define MVF_CUDA_EMULATOR_CUDA_PIPELINE_H

#include "emulator.h"

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t n_bytes)
{
    emulated_copy_async(to, from, n_bytes);
}

static inline void __pipeline_commit()
{
    emulated_copy_commit();
}

static inline void __pipeline_wait_prior(unsigned n_left)
{
    emulated_copy_wait(n_left);
}

#endif
