/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/refine_cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "search/subpel_rule.h"

extern const unsigned char mvf_fatbin_refine[];
extern const unsigned char mvf_fatbin_refine_matrix[];

int32_t mvf_cuda_metric(mvf_metric metric)
{
    if (metric == MVF_METRIC_SAD)
        return MVF_CUDA_METRIC_SAD;
    return metric == MVF_METRIC_SSD ? MVF_CUDA_METRIC_SSD : MVF_CUDA_METRIC_SATD;
}

static void set_params(mvf_refine_params *params, const mvf_search_config *config,
                       int64_t stride_bytes)
{
    *params = (mvf_refine_params){
        .stride_bytes = stride_bytes,
        .rate = config->rate,
        .width = config->width,
        .height = config->height,
        .bit_depth = config->bit_depth,
        .inside = config->edges == MVF_EDGES_INSIDE,
        .quarter = config->subpel == MVF_SUBPEL_QUARTER,
        .guide_cols = config->cols,
        .metric = mvf_cuda_metric(config->refine_metric),
        .tile = config->refine_metric == MVF_METRIC_SATD4 ? 4 : config->satd_tile};
}

/* By sides of the largest block that a kernel of refine_matrix.cu serves; of the smallest one both
 * are at most 16. */
static const int32_t matrix_sizes[MVF_REFINE_MATRIX_SIZES] = {8, 16, 64};

static mvf_status get_functions(mvf_refine_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config)
{
    static const char *const filters[] = {"h264", "hevc", "bilinear"};
    const char *filter = filters[config->interpolation];
    char name[48];
    if (!plan->in_pieces) {
        snprintf(name, sizeof name, "refine_%s_%d", filter, (int)plan->params.tile);
        MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->functions[0], plan->module, name);
        return MVF_OK;
    }
    for (int i = 0; i < MVF_REFINE_MATRIX_SIZES; i++) {
        snprintf(name, sizeof name, "refine_matrix_%s_%s_%d", filter,
                 plan->params.metric == MVF_CUDA_METRIC_SATD ? "satd" : "sad",
                 (int)matrix_sizes[i]);
        MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->functions[i], plan->module, name);
    }
    return MVF_OK;
}

mvf_status mvf_refine_plan_open(mvf_refine_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes)
{
    *plan = (mvf_refine_plan){.in_pieces = config->sample_bytes == 1};
    if (config->subpel == MVF_SUBPEL_NONE)
        return MVF_OK;
    set_params(&plan->params, config, stride_bytes);
    MVF_TRY(mvf_cuda_load(cuda, &plan->module,
                          plan->in_pieces ? mvf_fatbin_refine_matrix : mvf_fatbin_refine));
    mvf_status status = get_functions(plan, cuda, config);
    if (status != MVF_OK)
        mvf_refine_plan_close(plan, cuda);
    return status;
}

void mvf_refine_plan_close(mvf_refine_plan *plan, mvf_cuda *cuda)
{
    if (plan->module)
        cuda->driver.cuModuleUnload(plan->module);
    plan->module = NULL;
}

typedef struct refine_shape {
    CUfunction function;
    unsigned n_threads, shared_bytes;
} refine_shape;

/* A warp for each piece, or for several one after another. For h264 each keeps images. */
static refine_shape shape_in_pieces(const mvf_refine_plan *plan, const mvf_search_config *config,
                                    const mvf_level *level)
{
    unsigned across = (unsigned)(level->w + MVF_REFINE_PIECE - 1) / MVF_REFINE_PIECE;
    unsigned down = (unsigned)(level->h + MVF_REFINE_PIECE - 1) / MVF_REFINE_PIECE;
    unsigned n_warps = across * down;
    int size = n_warps > 1 ? 2 : level->w > matrix_sizes[0];
    if (n_warps > MVF_REFINE_MATRIX_THREADS / MVF_REFINE_MATRIX_TEAM)
        n_warps = MVF_REFINE_MATRIX_THREADS / MVF_REFINE_MATRIX_TEAM;
    unsigned warp_bytes =
        config->interpolation == MVF_INTERPOLATION_H264 ? 16 * MVF_REFINE_IMAGE_VECTORS : 0;
    return (refine_shape){plan->functions[size], MVF_REFINE_MATRIX_TEAM * n_warps,
                          n_warps * warp_bytes};
}

/*
 * A thread for each tile of eight candidates, in whole warps. They share the block, the reference
 * round it and, for h264, three planes of half samples: at most 44.7 kB.
 */
static refine_shape shape_in_tiles(const mvf_refine_plan *plan, const mvf_search_config *config,
                                   const mvf_level *level)
{
    int32_t n = level->w * level->h;
    n += (level->w + 2 * MVF_SUBPEL_MARGIN) * (level->h + 2 * MVF_SUBPEL_MARGIN);
    if (config->interpolation == MVF_INTERPOLATION_H264)
        n += 3 * (level->w + 2) * (level->h + 2);
    int32_t n_threads = 8 * (level->w / plan->params.tile) * (level->h / plan->params.tile);
    n_threads = (n_threads + 31) / 32 * 32;
    if (n_threads > MVF_REFINE_THREADS)
        n_threads = MVF_REFINE_THREADS;
    return (refine_shape){plan->functions[0], (unsigned)n_threads, (unsigned)n * sizeof(uint16_t)};
}

mvf_status mvf_refine_launch(mvf_cuda *cuda, const mvf_refine_plan *plan,
                             const mvf_search_config *config, const mvf_search_pair *pairs,
                             int32_t n_jobs, CUstream stream)
{
    mvf_refine_params params = plan->params;
    void *arguments[] = {&params};
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    for (int32_t i = 0; plan->module && i < config->n_levels; i++) {
        const mvf_level *level = &config->levels[i];
        mvf_grid grid = mvf_search_grid(config, i);
        params.block_w = level->w;
        params.block_h = level->h;
        params.step_x = grid.step_x;
        params.step_y = grid.step_y;
        params.cols = level->cols;
        params.across = config->block_w / level->w;
        params.down = config->block_h / level->h;
        params.first_match = (int32_t)level->first_match;
        unsigned cols = (unsigned)level->cols, rows = (unsigned)level->rows, n = (unsigned)n_jobs;
        refine_shape shape = plan->in_pieces ? shape_in_pieces(plan, config, level)
                                             : shape_in_tiles(plan, config, level);
        if (!plan->in_pieces) {
            cols *= rows;
            rows = 1;
        }
        MVF_CUDA_TRY(cuda, cuLaunchKernel, shape.function, cols, rows, n, shape.n_threads, 1, 1,
                     shape.shared_bytes, stream, arguments, NULL);
    }
    return MVF_OK;
}
