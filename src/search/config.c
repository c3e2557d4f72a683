/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "search/engine.h"

void mvf_options_init(mvf_options *options)
{
    *options = (mvf_options){.struct_size = sizeof *options,
                             .block_w = 16,
                             .block_h = 16,
                             .range_x = 16,
                             .range_y = 16,
                             .cpu_level = MVF_CPU_BEST,
                             .max_in_flight = 8};
}

static int is_block_size(int32_t size)
{
    return size == 4 || size == 8 || size == 16 || size == 32 || size == 64;
}

static mvf_status check_geometry(const mvf_options *options, int32_t width, int32_t height,
                                 int32_t bit_depth)
{
    if (width < 1 || height < 1 || width > MVF_MAX_DIMENSION || height > MVF_MAX_DIMENSION)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "frame size %dx%d: each side must be from 1 to %d", width, height,
                        MVF_MAX_DIMENSION);
    if (bit_depth < 8 || bit_depth > 16)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT, "bit depth %d: must be from 8 to 16",
                        bit_depth);
    return MVF_OK;
}

static mvf_status check_blocks(const mvf_options *options)
{
    if (!is_block_size(options->block_w) || !is_block_size(options->block_h))
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "block size %dx%d: each side must be 4, 8, 16, 32 or 64", options->block_w,
                        options->block_h);
    if (options->step_x < 0 || options->step_x > options->block_w || options->step_y < 0 ||
        options->step_y > options->block_h)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "step %dx%d: must be from 1x1 to the block size %dx%d", options->step_x,
                        options->step_y, options->block_w, options->block_h);
    if (options->range_x < 0 || options->range_x > MVF_MAX_RANGE || options->range_y < 0 ||
        options->range_y > MVF_MAX_RANGE)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "search range %dx%d: each side must be from 0 to %d", options->range_x,
                        options->range_y, MVF_MAX_RANGE);
    return MVF_OK;
}

static mvf_status check_refinement(const mvf_options *options)
{
    if (options->subpel > MVF_SUBPEL_QUARTER ||
        options->interpolation > MVF_INTERPOLATION_BILINEAR ||
        options->refine_metric > MVF_METRIC_SATD4)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "sub-sample step, filter or metric is not one that this version knows");
    return MVF_OK;
}

/* SSD only where a block's largest possible value leaves room for the rate in 32 bits. */
static mvf_status check_metric(const mvf_search_config *config, const mvf_options *options,
                               mvf_metric metric)
{
    uint64_t top = (UINT64_C(1) << config->bit_depth) - 1;
    uint64_t area = (uint64_t)config->block_w * (uint64_t)config->block_h;
    if (metric != MVF_METRIC_SSD || area * top * top <= INT32_MAX)
        return MVF_OK;
    return mvf_fail(&options->logger, MVF_ERROR_UNSUPPORTED,
                    "metric ssd of %dx%d blocks at %d bits does not fit the 32 bits of a cost: "
                    "take smaller blocks, sad or satd",
                    config->block_w, config->block_h, config->bit_depth);
}

const char *mvf_search_beyond_cuda(const mvf_search_config *config)
{
    return config->subpel != MVF_SUBPEL_NONE ? "subpel" : NULL;
}

static mvf_status check_choices(const mvf_options *options)
{
    if (options->backend > MVF_BACKEND_CUDA || options->method > MVF_METHOD_FULL ||
        options->edges > MVF_EDGES_INSIDE)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "backend, method or edge rule is not one that this version knows");
    if (options->threads < 0 || options->threads > 1024)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "%d threads: must be from 0 (automatic) to 1024", options->threads);
    if (options->max_in_flight < 1 || options->max_in_flight > 64)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "%d submissions in flight: must be from 1 to 64", options->max_in_flight);
    if (options->device < 0)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT, "device %d: must be 0 or higher",
                        options->device);
    return MVF_OK;
}

mvf_status mvf_options_check(const mvf_options *options)
{
    MVF_TRY(check_blocks(options));
    MVF_TRY(check_refinement(options));
    return check_choices(options);
}

mvf_status mvf_search_configure(mvf_search_config *config, const mvf_options *options,
                                int32_t width, int32_t height, int32_t bit_depth)
{
    MVF_TRY(check_geometry(options, width, height, bit_depth));
    MVF_TRY(mvf_options_check(options));
    int32_t step_x = options->step_x ? options->step_x : options->block_w;
    int32_t step_y = options->step_y ? options->step_y : options->block_h;
    *config = (mvf_search_config){.width = width,
                                  .height = height,
                                  .bit_depth = bit_depth,
                                  .sample_bytes = bit_depth > 8 ? 2 : 1,
                                  .block_w = options->block_w,
                                  .block_h = options->block_h,
                                  .step_x = step_x,
                                  .step_y = step_y,
                                  .cols = (width + step_x - 1) / step_x,
                                  .rows = (height + step_y - 1) / step_y,
                                  .range_x = options->range_x,
                                  .range_y = options->range_y,
                                  .method = options->method,
                                  .edges = options->edges,
                                  .match_scale = options->subpel == MVF_SUBPEL_NONE ? 1 : 4,
                                  .subpel = options->subpel,
                                  .interpolation = options->interpolation,
                                  .refine_metric = options->refine_metric,
                                  .satd_tile = 8};
    if (config->block_w < 8 || config->block_h < 8)
        config->satd_tile = 4;
    return check_metric(config, options, config->refine_metric);
}
