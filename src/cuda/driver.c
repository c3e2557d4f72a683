/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static mvf_status find_function(mvf_cuda_driver *driver, void *slot, const char *name,
                                const mvf_logger *logger)
{
    void *address = dlsym(driver->library, name);
    if (!address)
        return mvf_fail(logger, MVF_ERROR_NO_DEVICE, "the CUDA driver is too old: it has no %s",
                        name);
    memcpy(slot, &address, sizeof address);
    return MVF_OK;
}

static mvf_status find_functions(mvf_cuda_driver *driver, const mvf_logger *logger)
{
#define MVF_CUDA_FIND(name) MVF_TRY(find_function(driver, &driver->name, #name, logger));
    MVF_CUDA_FUNCTIONS(MVF_CUDA_FIND)
#undef MVF_CUDA_FIND
    return MVF_OK;
}

static mvf_status start_driver(mvf_cuda_driver *driver, const mvf_logger *logger)
{
    char text[256];
    MVF_TRY(find_functions(driver, logger));
    CUresult result = driver->cuInit(0);
    if (result == CUDA_SUCCESS)
        return MVF_OK;
    mvf_cuda_error_text(driver, result, text, sizeof text);
    return mvf_fail(logger, MVF_ERROR_NO_DEVICE, "no usable CUDA device: cuInit failed: %s", text);
}

mvf_status mvf_cuda_driver_open(mvf_cuda_driver *driver, const mvf_logger *logger)
{
    *driver = (mvf_cuda_driver){.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!driver->library) {
        const char *reason = dlerror();
        mvf_log(logger, MVF_LOG_ERROR, "no CUDA driver: %s",
                reason ? reason : "libcuda.so.1 cannot be opened");
        /* Frees the text. */
        dlerror();
        return MVF_ERROR_NO_DEVICE;
    }
    mvf_status status = start_driver(driver, logger);
    if (status != MVF_OK)
        mvf_cuda_driver_close(driver);
    return status;
}

void mvf_cuda_driver_close(mvf_cuda_driver *driver)
{
    if (driver->library)
        dlclose(driver->library);
    driver->library = NULL;
}

void mvf_cuda_error_text(const mvf_cuda_driver *driver, CUresult result, char *text, size_t size)
{
    const char *name = NULL, *meaning = NULL;
    driver->cuGetErrorName(result, &name);
    driver->cuGetErrorString(result, &meaning);
    if (name)
        snprintf(text, size, "%s (%s)", name, meaning ? meaning : "no description");
    else
        snprintf(text, size, "CUDA error %d", (int)result);
}
