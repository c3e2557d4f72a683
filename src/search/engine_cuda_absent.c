/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "search/engine.h"

static const char reason[] = "this build has no CUDA kernels (it was configured without nvcc)";

static mvf_status cuda_open(mvf_engine **engine, const mvf_search_config *config,
                            const mvf_options *options)
{
    (void)engine;
    (void)config;
    return mvf_fail(&options->logger, MVF_ERROR_NO_DEVICE, "%s", reason);
}

static mvf_status cuda_fetch(const mvf_options *options, const mvf_picture *picture, void *samples,
                             size_t row_bytes, int32_t n_rows)
{
    (void)picture;
    (void)samples;
    (void)row_bytes;
    (void)n_rows;
    return mvf_fail(&options->logger, MVF_ERROR_NO_DEVICE, "%s", reason);
}

static mvf_status cuda_measure_sad(const mvf_options *options, mvf_sad_limit *limit)
{
    (void)limit;
    return mvf_fail(&options->logger, MVF_ERROR_NO_DEVICE, "%s", reason);
}

const mvf_engine_ops mvf_engine_cuda = {
    .name = "cuda", .open = cuda_open, .fetch = cuda_fetch, .measure_sad = cuda_measure_sad};

mvf_status mvf_device_describe(int32_t device, mvf_device_info *info, const mvf_logger *logger)
{
    (void)device;
    *info = (mvf_device_info){.usable = 0};
    return mvf_fail(logger, MVF_ERROR_NO_DEVICE, "%s", reason);
}

mvf_status mvf_device_picture_open(mvf_device_picture **copy, int32_t device, int32_t width,
                                   int32_t height, int32_t bit_depth, const mvf_picture *picture,
                                   const mvf_logger *logger)
{
    (void)width;
    (void)height;
    (void)bit_depth;
    (void)picture;
    (void)device;
    *copy = NULL;
    return mvf_fail(logger, MVF_ERROR_NO_DEVICE, "%s", reason);
}

void mvf_device_picture_get(const mvf_device_picture *copy, mvf_picture *picture)
{
    (void)copy;
    mvf_picture_init(picture);
}

void mvf_device_picture_close(mvf_device_picture **copy)
{
    *copy = NULL;
}

const char *mvf_cuda_build(void)
{
    return "none";
}
