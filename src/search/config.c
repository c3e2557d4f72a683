/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "search/engine.h"
#include "search/truemotion.h"

void mvf_options_init(mvf_options *options)
{
    *options = (mvf_options){.struct_size = sizeof *options,
                             .block_w = 16,
                             .block_h = 16,
                             .range_x = 16,
                             .range_y = 16,
                             .cpu_level = MVF_CPU_BEST,
                             .max_in_flight = 8,
                             .refine_range = 2,
                             .partition_min = 8};
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

static mvf_status check_rate(const mvf_options *options)
{
    if (options->metric > MVF_METRIC_SATD4)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "metric is not one that this version knows");
    if (options->lambda_q4 > 65535)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "lambda of %u/16: must be from 0 to 65535/16", options->lambda_q4);
    if (options->mv_bits && options->n_mv_bits < 1)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "a table of %d vector bits: must have 1 entry or more", options->n_mv_bits);
    if (options->method == MVF_METHOD_REFINE &&
        (options->refine_range < 0 || options->refine_range > 16))
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "refine range %d: must be from 0 to 16 px", options->refine_range);
    return MVF_OK;
}

static mvf_status check_hier(const mvf_options *options)
{
    if (options->method == MVF_METHOD_HIER &&
        (options->metric != MVF_METRIC_SAD || options->lambda_q4 ||
         options->partitions != MVF_PARTITIONS_FIXED))
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "method hier searches with metric sad, without a rate (lambda) and without "
                        "partitions: method full takes these");
    return MVF_OK;
}

static mvf_status check_partitions(const mvf_options *options)
{
    if (options->partitions > MVF_PARTITIONS_RECT ||
        options->partition_output > MVF_PARTITION_ALL || options->merge > MVF_MERGE_AVERAGE)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "partitions, their output or merge are not ones that this version knows");
    if (options->partitions == MVF_PARTITIONS_FIXED)
        return MVF_OK;
    if (options->block_w != options->block_h || options->step_x % options->block_w ||
        options->step_y % options->block_h)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "partitions are of square blocks side by side: the block must be a square "
                        "and the step its size");
    if (!is_block_size(options->partition_min) || options->partition_min > options->block_w)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "smallest partition %d: must be 4, 8, 16, 32 or 64, and at most the block "
                        "size %d",
                        options->partition_min, options->block_w);
    if (options->leaf_cost > INT32_MAX)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT, "leaf cost %u: must be at most %d",
                        options->leaf_cost, INT32_MAX);
    return MVF_OK;
}

static mvf_status check_smooth(const mvf_options *options)
{
    mvf_metric metric =
        options->subpel == MVF_SUBPEL_NONE ? options->metric : options->refine_metric;
    if (options->smooth > MVF_SMOOTH_PATH)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "smooth is not one that this version knows");
    if (options->smooth != MVF_SMOOTH_NONE &&
        (options->partitions != MVF_PARTITIONS_FIXED || options->merge == MVF_MERGE_AVERAGE))
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "smooth %s needs blocks on a grid: it does not go with partitions square "
                        "or rect, nor with merge average",
                        options->smooth == MVF_SMOOTH_PATH ? "path" : "median");
    if (options->smooth == MVF_SMOOTH_PATH && metric == MVF_METRIC_SSD)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "smooth path weighs gray levels: take metric sad, satd or satd4, not ssd");
    return MVF_OK;
}

/* What true motion can be asked for, and that nothing else is. */
static mvf_status check_truemotion(const mvf_options *options)
{
    if (options->step_x != options->step_y ||
        (options->step_x != 0 && options->step_x != 1 && options->step_x != 4))
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "step %dx%d: method truemotion has steps of 1 and 4 px", options->step_x,
                        options->step_y);
    if (options->effort > MVF_EFFORT_LOW)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "effort is not one that this version knows");
    if (options->subpel != MVF_SUBPEL_NONE || options->metric != MVF_METRIC_SAD ||
        options->lambda_q4 || options->partitions != MVF_PARTITIONS_FIXED ||
        options->merge != MVF_MERGE_NONE || options->smooth != MVF_SMOOTH_NONE)
        return mvf_fail(&options->logger, MVF_ERROR_ARGUMENT,
                        "method truemotion has its own measure and steps: leave metric, lambda, "
                        "subpel, partitions, merge and smooth alone");
    return MVF_OK;
}

static mvf_status check_choices(const mvf_options *options)
{
    if (options->backend > MVF_BACKEND_CUDA || options->method > MVF_METHOD_TRUEMOTION ||
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
    if (options->method == MVF_METHOD_TRUEMOTION) {
        MVF_TRY(check_truemotion(options));
        return check_choices(options);
    }
    MVF_TRY(check_blocks(options));
    MVF_TRY(check_refinement(options));
    MVF_TRY(check_rate(options));
    MVF_TRY(check_hier(options));
    MVF_TRY(check_partitions(options));
    MVF_TRY(check_smooth(options));
    return check_choices(options);
}

static void add_level(mvf_search_config *config, int32_t w, int32_t h)
{
    mvf_level *level = &config->levels[config->n_levels++];
    int32_t step_x = config->step_x, step_y = config->step_y;
    if (config->partitions != MVF_PARTITIONS_FIXED) {
        step_x = w;
        step_y = h;
    }
    *level = (mvf_level){.w = w,
                         .h = h,
                         .cols = (config->width + step_x - 1) / step_x,
                         .rows = (config->height + step_y - 1) / step_y,
                         .first_match = config->n_matches,
                         .first_node = level == config->levels ? 0 : level[-1].first_node};
    if (level > config->levels)
        level->first_node += (config->block_w / level[-1].w) * (config->block_h / level[-1].h);
    config->n_matches += (size_t)level->cols * (size_t)level->rows;
}

static void add_levels(mvf_search_config *config, int32_t smallest)
{
    add_level(config, config->block_w, config->block_h);
    if (config->partitions == MVF_PARTITIONS_FIXED)
        return;
    for (int32_t size = config->block_w; size > smallest; size /= 2) {
        if (config->partitions == MVF_PARTITIONS_RECT) {
            add_level(config, size, size / 2);
            add_level(config, size / 2, size);
        }
        add_level(config, size / 2, size / 2);
    }
}

static mvf_status configure_truemotion(mvf_search_config *config, const mvf_options *options)
{
    int32_t step = options->step_x ? options->step_x : 4;
    config->block_w = config->block_h = config->step_x = config->step_y = step;
    config->cols = (config->width + step - 1) / step;
    config->rows = (config->height + step - 1) / step;
    config->range_x = config->range_y = 0;
    config->match_scale = MVF_TM_UNIT;
    config->effort = options->effort;
    add_level(config, step, step);
    return MVF_OK;
}

mvf_grid mvf_search_grid(const mvf_search_config *config, int32_t level)
{
    const mvf_level *l = &config->levels[level];
    mvf_grid grid = {l->w, l->h, l->w, l->h, l->cols, l->rows};
    if (config->partitions == MVF_PARTITIONS_FIXED) {
        grid.step_x = config->step_x;
        grid.step_y = config->step_y;
    }
    return grid;
}

mvf_status mvf_search_configure(mvf_search_config *config, const mvf_options *options,
                                int32_t width, int32_t height, int32_t bit_depth)
{
    MVF_TRY(check_geometry(options, width, height, bit_depth));
    MVF_TRY(mvf_options_check(options));
    int32_t step_x = options->step_x ? options->step_x : options->block_w;
    int32_t step_y = options->step_y ? options->step_y : options->block_h;
    *config =
        (mvf_search_config){.width = width,
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
                            .satd_tile = 8,
                            .metric = options->metric,
                            .rate = {options->mv_bits, options->n_mv_bits, options->lambda_q4},
                            .refine_range = options->refine_range,
                            .partitions = options->partitions,
                            .partition_output = options->partition_output,
                            .leaf_cost = options->leaf_cost,
                            .merge = options->merge,
                            .smooth = options->smooth};
    if (config->method == MVF_METHOD_TRUEMOTION)
        return configure_truemotion(config, options);
    add_levels(config, options->partition_min);
    const mvf_level *smallest = &config->levels[config->n_levels - 1];
    if (smallest->w < 8 || smallest->h < 8)
        config->satd_tile = 4;
    MVF_TRY(check_metric(config, options, config->metric));
    return check_metric(config, options, config->refine_metric);
}
