/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda/device.h"

#include <mvfield/search.h>

#include "base/error.h"

mvf_status mvf_cuda_check(mvf_cuda *cuda, CUresult result, const char *call)
{
    char text[256];
    if (result == CUDA_SUCCESS)
        return MVF_OK;
    if (!cuda->failed) {
        mvf_cuda_error_text(&cuda->driver, result, text, sizeof text);
        mvf_log(&cuda->logger, MVF_LOG_ERROR, "CUDA: %s failed: %s", call, text);
    }
    cuda->failed = 1;
    return MVF_ERROR_DEVICE;
}

static mvf_status find_device(mvf_cuda *cuda, int32_t ordinal)
{
    int count = 0;
    MVF_CUDA_TRY(cuda, cuDeviceGetCount, &count);
    if (ordinal < 0 || ordinal >= count)
        return mvf_fail(&cuda->logger, MVF_ERROR_NO_DEVICE,
                        "no CUDA device %d: this machine has %d", (int)ordinal, count);
    MVF_CUDA_TRY(cuda, cuDeviceGet, &cuda->device, ordinal);
    return MVF_OK;
}

static mvf_status get_attribute(mvf_cuda *cuda, int32_t *value, CUdevice_attribute attribute)
{
    int number = 0;
    MVF_CUDA_TRY(cuda, cuDeviceGetAttribute, &number, attribute, cuda->device);
    *value = number;
    return MVF_OK;
}

static mvf_status get_compute_capability(mvf_cuda *cuda, int32_t *capability)
{
    int32_t major = 0, minor = 0;
    MVF_TRY(get_attribute(cuda, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    MVF_TRY(get_attribute(cuda, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    *capability = 10 * major + minor;
    return MVF_OK;
}

static mvf_status look_at_device(mvf_cuda *cuda, int32_t ordinal)
{
    MVF_TRY(find_device(cuda, ordinal));
    MVF_TRY(get_compute_capability(cuda, &cuda->compute_capability));
    MVF_TRY(get_attribute(cuda, &cuda->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    MVF_TRY(get_attribute(cuda, &cuda->shared_bytes,
                          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    return MVF_OK;
}

mvf_status mvf_cuda_find(mvf_cuda *cuda, int32_t ordinal, const mvf_logger *logger)
{
    *cuda = (mvf_cuda){.context = NULL};
    if (logger)
        cuda->logger = *logger;
    MVF_TRY(mvf_cuda_driver_open(&cuda->driver, &cuda->logger));
    mvf_status status = look_at_device(cuda, ordinal);
    if (status != MVF_OK)
        mvf_cuda_close(cuda);
    return status;
}

static mvf_status retain_context(mvf_cuda *cuda)
{
    MVF_CUDA_TRY(cuda, cuDevicePrimaryCtxRetain, &cuda->context, cuda->device);
    return MVF_OK;
}

mvf_status mvf_cuda_open(mvf_cuda *cuda, int32_t ordinal, const mvf_logger *logger)
{
    MVF_TRY(mvf_cuda_find(cuda, ordinal, logger));
    mvf_status status = retain_context(cuda);
    if (status != MVF_OK)
        mvf_cuda_close(cuda);
    return status;
}

void mvf_cuda_close(mvf_cuda *cuda)
{
    if (cuda->context)
        cuda->driver.cuDevicePrimaryCtxRelease_v2(cuda->device);
    cuda->context = NULL;
    mvf_cuda_driver_close(&cuda->driver);
}

mvf_status mvf_cuda_enter(mvf_cuda *cuda)
{
    MVF_CUDA_TRY(cuda, cuCtxPushCurrent_v2, cuda->context);
    return MVF_OK;
}

void mvf_cuda_leave(mvf_cuda *cuda)
{
    CUcontext context;
    cuda->driver.cuCtxPopCurrent_v2(&context);
}

static int has_no_code_for_device(CUresult result)
{
    return result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_PTX ||
           result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_INVALID_IMAGE;
}

mvf_status mvf_cuda_load(mvf_cuda *cuda, CUmodule *module, const unsigned char *fatbin)
{
    char text[256];
    CUresult result = cuda->driver.cuModuleLoadData(module, fatbin);
    if (!has_no_code_for_device(result))
        return mvf_cuda_check(cuda, result, "cuModuleLoadData");
    mvf_cuda_error_text(&cuda->driver, result, text, sizeof text);
    return mvf_fail(&cuda->logger, MVF_ERROR_NO_DEVICE,
                    "the CUDA kernels in this build (%s) do not run on this device or driver: %s",
                    mvf_cuda_build(), text);
}
