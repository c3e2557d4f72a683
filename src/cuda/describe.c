/*
 * What there is to say of devices and of the kernels in this build.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include <mvfield/search.h>

#include "base/error.h"
#include "cuda/device.h"

const char *mvf_cuda_build(void)
{
    return MVF_CUDA_BUILD;
}

/* Machine code runs within its major version, from its own minor version up; the PTX of the highest
 * architecture runs on that and on everything newer. */
static int build_runs_on(int32_t capability)
{
    const char *next = strchr(mvf_cuda_build(), ':');
    long highest = 0;
    while (next && *next) {
        char *end;
        long arch = strtol(next + 1, &end, 10);
        if (arch / 10 == capability / 10 && arch <= capability)
            return 1;
        highest = arch > highest ? arch : highest;
        next = end > next + 1 ? end : NULL;
    }
    return highest && highest <= capability;
}

static mvf_status describe(mvf_cuda *cuda, mvf_device_info *info)
{
    size_t memory_bytes = 0;
    MVF_CUDA_TRY(cuda, cuDeviceGetName, info->name, (int)sizeof info->name, cuda->device);
    MVF_CUDA_TRY(cuda, cuDeviceTotalMem_v2, &memory_bytes, cuda->device);
    info->compute_capability = cuda->compute_capability;
    info->multiprocessors = cuda->multiprocessors;
    info->memory_bytes = memory_bytes;
    info->usable = build_runs_on(info->compute_capability);
    return MVF_OK;
}

mvf_status mvf_device_describe(int32_t device, mvf_device_info *info, const mvf_logger *logger)
{
    mvf_cuda cuda;
    *info = (mvf_device_info){.usable = 0};
    mvf_status status = mvf_cuda_find(&cuda, device, logger);
    if (status == MVF_OK) {
        status = describe(&cuda, info);
        mvf_cuda_close(&cuda);
    }
    return status == MVF_ERROR_DEVICE ? MVF_ERROR_NO_DEVICE : status;
}
