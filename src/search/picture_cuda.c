/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include <mvfield/search.h>

#include "base/error.h"
#include "base/memory.h"
#include "cuda/device.h"

/* What rows and their beginnings on the device are multiples of: the pad kernel likes 16. */
#define PITCH_BYTES 256

struct mvf_device_picture {
    mvf_cuda cuda;
    CUdeviceptr samples;
    CUstream stream;
    /* As mvf_device_picture_get() gives it. */
    mvf_picture picture;
};

static mvf_status copy_samples(mvf_device_picture *copy, const mvf_picture *from, int32_t height,
                               size_t row_bytes)
{
    mvf_cuda *cuda = &copy->cuda;
    size_t pitch = (row_bytes + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    MVF_CUDA_TRY(cuda, cuStreamCreate, &copy->stream, CU_STREAM_NON_BLOCKING);
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &copy->samples, pitch * (size_t)height);
    for (int32_t y = 0; y < height; y++)
        MVF_CUDA_TRY(cuda, cuMemcpyHtoDAsync_v2, copy->samples + pitch * (size_t)y,
                     (const uint8_t *)from->data + y * from->stride_bytes, row_bytes, copy->stream);
    MVF_CUDA_TRY(cuda, cuStreamSynchronize, copy->stream);
    copy->picture = *from;
    copy->picture.data = (const void *)(uintptr_t)copy->samples;
    copy->picture.stride_bytes = (ptrdiff_t)pitch;
    copy->picture.memory = MVF_MEMORY_CUDA;
    copy->picture.stream = copy->stream;
    return MVF_OK;
}

static void free_samples(mvf_device_picture *copy)
{
    if (copy->stream) {
        copy->cuda.driver.cuStreamSynchronize(copy->stream);
        copy->cuda.driver.cuStreamDestroy_v2(copy->stream);
    }
    if (copy->samples)
        copy->cuda.driver.cuMemFree_v2(copy->samples);
}

mvf_status mvf_device_picture_open(mvf_device_picture **out, int32_t device, int32_t width,
                                   int32_t height, int32_t bit_depth, const mvf_picture *picture,
                                   const mvf_logger *logger)
{
    *out = NULL;
    if (picture->memory != MVF_MEMORY_HOST || !picture->data)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "picture: what is copied to a device must lie in host memory");
    if (width < 1 || height < 1 || width > MVF_MAX_DIMENSION || height > MVF_MAX_DIMENSION ||
        bit_depth < 8 || bit_depth > 16)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "picture: %dx%d samples of %d bits: each side must be from 1 to %d, and "
                        "the bits from 8 to 16",
                        (int)width, (int)height, (int)bit_depth, MVF_MAX_DIMENSION);
    mvf_device_picture *copy = mvf_alloc_array(1, sizeof *copy);
    if (!copy)
        return MVF_ERROR_MEMORY;
    mvf_status status = mvf_cuda_open(&copy->cuda, device, logger);
    if (status != MVF_OK) {
        free(copy);
        return status;
    }
    status = mvf_cuda_enter(&copy->cuda);
    if (status == MVF_OK) {
        status = copy_samples(copy, picture, height, (size_t)width * (bit_depth > 8 ? 2 : 1));
        mvf_cuda_leave(&copy->cuda);
    }
    *out = copy;
    if (status != MVF_OK)
        mvf_device_picture_close(out);
    return status;
}

void mvf_device_picture_get(const mvf_device_picture *copy, mvf_picture *picture)
{
    *picture = copy->picture;
}

void mvf_device_picture_close(mvf_device_picture **slot)
{
    mvf_device_picture *copy = *slot;
    if (!copy)
        return;
    if (mvf_cuda_enter(&copy->cuda) == MVF_OK) {
        free_samples(copy);
        mvf_cuda_leave(&copy->cuda);
    }
    mvf_cuda_close(&copy->cuda);
    free(copy);
    *slot = NULL;
}
