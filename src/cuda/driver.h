/*
 * cuda/driver.h - the CUDA driver, opened at run time, so that programs start without one.
 *
 * The table is the caller's object; nothing is global. dlopen counts how often the library is in
 * use, so each table opens and closes it for itself.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_DRIVER_H
#define MVF_CUDA_DRIVER_H

#include <cuda.h>

#include <mvfield/status.h>

/*
 * Every driver function in use, by the name that the library exports: cuda.h maps the plain names
 * to versioned ones, and an unversioned symbol is another function. cuEventElapsedTime is meant to
 * have none: its second version takes the same arguments and older drivers lack it.
 */
#define MVF_CUDA_FUNCTIONS(X)       \
    X(cuInit)                       \
    X(cuDriverGetVersion)           \
    X(cuGetErrorName)               \
    X(cuGetErrorString)             \
    X(cuDeviceGetCount)             \
    X(cuDeviceGet)                  \
    X(cuDeviceGetName)              \
    X(cuDeviceGetAttribute)         \
    X(cuDeviceTotalMem_v2)          \
    X(cuDevicePrimaryCtxRetain)     \
    X(cuDevicePrimaryCtxRelease_v2) \
    X(cuCtxPushCurrent_v2)          \
    X(cuCtxPopCurrent_v2)           \
    X(cuModuleLoadData)             \
    X(cuModuleUnload)               \
    X(cuModuleGetFunction)          \
    X(cuFuncGetAttribute)           \
    X(cuFuncSetAttribute)           \
    X(cuLaunchKernel)               \
    X(cuLaunchKernelEx)             \
    X(cuMemAlloc_v2)                \
    X(cuMemFree_v2)                 \
    X(cuMemHostAlloc)               \
    X(cuMemFreeHost)                \
    X(cuMemcpyHtoDAsync_v2)         \
    X(cuMemcpyDtoHAsync_v2)         \
    X(cuMemcpyDtoH_v2)              \
    X(cuMemcpy2DAsync_v2)           \
    X(cuMemsetD8Async)              \
    X(cuStreamCreate)               \
    X(cuStreamDestroy_v2)           \
    X(cuStreamSynchronize)          \
    X(cuStreamWaitEvent)            \
    X(cuEventCreate)                \
    X(cuEventDestroy_v2)            \
    X(cuEventRecord)                \
    X(cuEventQuery)                 \
    X(cuEventSynchronize)           \
    X(cuEventElapsedTime)

typedef struct mvf_cuda_driver {
    void *library;
#define MVF_CUDA_MEMBER(name) __typeof__(name) *name;
    MVF_CUDA_FUNCTIONS(MVF_CUDA_MEMBER)
#undef MVF_CUDA_MEMBER
} mvf_cuda_driver;

/*
 * Opens and initialises the driver. MVF_ERROR_NO_DEVICE, with the reason logged: there is no
 * driver, it is too old, or it finds no device; nothing is left to close then.
 */
mvf_status mvf_cuda_driver_open(mvf_cuda_driver *driver, const mvf_logger *logger);

/* Does nothing for a table that is not open. */
void mvf_cuda_driver_close(mvf_cuda_driver *driver);

/* "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", as the driver puts it. */
void mvf_cuda_error_text(const mvf_cuda_driver *driver, CUresult result, char *text, size_t size);

#endif
