/*
 * cuda/device.h - one CUDA device in use: its context, modules and memory. No algorithm.
 *
 * The context is the device's primary one, which FFmpeg and the CUDA runtime share. It is current
 * only between mvf_cuda_enter() and mvf_cuda_leave(), so the caller's own context is unharmed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_DEVICE_H
#define MVF_CUDA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/integers.h"
#include "cuda/driver.h"

typedef struct mvf_cuda {
    mvf_cuda_driver driver;
    CUdevice device;
    CUcontext context;
    mvf_logger logger;
    int32_t multiprocessors;
    /* Major version times 10 plus minor. */
    int32_t compute_capability;
    /* Most dynamic shared memory that one thread block may ask for. */
    int32_t shared_bytes;
    /* A call has failed and its cause was logged; later failures follow from it. */
    int failed;
} mvf_cuda;

/*
 * Opens device `ordinal`. On failure, with the reason logged, nothing is left to close:
 * MVF_ERROR_NO_DEVICE, MVF_ERROR_DEVICE.
 */
mvf_status mvf_cuda_open(mvf_cuda *cuda, int32_t ordinal, const mvf_logger *logger);

/* The same, without a context: all that can be done with the device is to look at it. */
mvf_status mvf_cuda_find(mvf_cuda *cuda, int32_t ordinal, const mvf_logger *logger);

/* Does nothing for a device that is not open. */
void mvf_cuda_close(mvf_cuda *cuda);

mvf_status mvf_cuda_enter(mvf_cuda *cuda);
void mvf_cuda_leave(mvf_cuda *cuda);

/* MVF_OK for CUDA_SUCCESS; else logs the call and the error's name, the first time only, and
 * returns MVF_ERROR_DEVICE. */
mvf_status mvf_cuda_check(mvf_cuda *cuda, CUresult result, const char *call);

/* Calls a driver function and returns from the enclosing one unless it succeeds. */
#define MVF_CUDA_TRY(cuda, function, ...) \
    MVF_TRY(mvf_cuda_check(cuda, (cuda)->driver.function(__VA_ARGS__), #function))

/* Where in one allocation of device memory parts of their own begin. */
#define MVF_CUDA_ALIGNMENT 256

/* A place of n_bytes at *end, which it moves on: mvf_cuda_reserve() from 0 on lays out memory. */
static inline int64_t mvf_cuda_reserve(int64_t *end, int64_t n_bytes)
{
    int64_t at = *end;
    *end += mvf_round_up_i64(n_bytes, MVF_CUDA_ALIGNMENT);
    return at;
}

/* Loads a fatbin that the build embedded. MVF_ERROR_NO_DEVICE where it holds no code for this
 * device. */
mvf_status mvf_cuda_load(mvf_cuda *cuda, CUmodule *module, const unsigned char *fatbin);

#endif
