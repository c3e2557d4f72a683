/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/refine_cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "search/subpel_rule.h"

extern const unsigned char mvf_fatbin_refine[];
extern const unsigned char mvf_fatbin_refine_satd[];

int32_t mvf_cuda_metric(mvf_metric metric)
{
    if (metric == MVF_METRIC_SAD)
        return MVF_CUDA_METRIC_SAD;
    return metric == MVF_METRIC_SSD ? MVF_CUDA_METRIC_SSD : MVF_CUDA_METRIC_SATD;
}

static void set_params(mvf_refine_params *params, const mvf_search_config *config,
                       int64_t stride_bytes)
{
    *params = (mvf_refine_params){.stride_bytes = stride_bytes,
                                  .rate = config->rate,
                                  .width = config->width,
                                  .height = config->height,
                                  .bit_depth = config->bit_depth,
                                  .sample_bytes = config->sample_bytes,
                                  .inside = config->edges == MVF_EDGES_INSIDE,
                                  .quarter = config->subpel == MVF_SUBPEL_QUARTER,
                                  .guide_cols = config->cols,
                                  .metric = mvf_cuda_metric(config->refine_metric)};
}

/* Whether refine_satd.cu serves it. */
static int has_matrix_transform(const mvf_refine_plan *plan, const mvf_search_config *config)
{
    return config->interpolation == MVF_INTERPOLATION_H264 && config->sample_bytes == 1 &&
           plan->params.metric == MVF_CUDA_METRIC_SATD && plan->tile == 8;
}

static mvf_status get_function(mvf_refine_plan *plan, mvf_cuda *cuda,
                               const mvf_search_config *config)
{
    static const char *const filters[] = {"h264", "hevc", "bilinear"};
    char name[32] = "refine_satd_h264";
    if (!plan->in_pieces)
        snprintf(name, sizeof name, "refine_%s_%d", filters[config->interpolation],
                 (int)plan->tile);
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->function, plan->module, name);
    return MVF_OK;
}

mvf_status mvf_refine_plan_open(mvf_refine_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes)
{
    *plan = (mvf_refine_plan){.tile = config->satd_tile};
    if (config->subpel == MVF_SUBPEL_NONE)
        return MVF_OK;
    if (config->refine_metric == MVF_METRIC_SATD4)
        plan->tile = 4;
    set_params(&plan->params, config, stride_bytes);
    plan->in_pieces = has_matrix_transform(plan, config);
    MVF_TRY(mvf_cuda_load(cuda, &plan->module,
                          plan->in_pieces ? mvf_fatbin_refine_satd : mvf_fatbin_refine));
    mvf_status status = get_function(plan, cuda, config);
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
    unsigned n_threads, shared_bytes;
} refine_shape;

/* A warp for each piece, with planes of its own, or for several one after another. */
static refine_shape shape_in_pieces(const mvf_level *level)
{
    unsigned across = (unsigned)(level->w + MVF_REFINE_PIECE - 1) / MVF_REFINE_PIECE;
    unsigned down = (unsigned)(level->h + MVF_REFINE_PIECE - 1) / MVF_REFINE_PIECE;
    unsigned n_warps = across * down;
    if (n_warps > MVF_REFINE_SATD_THREADS / 32)
        n_warps = MVF_REFINE_SATD_THREADS / 32;
    return (refine_shape){32 * n_warps, n_warps * 4 * MVF_REFINE_PLANE_WORDS * sizeof(uint32_t)};
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
    int32_t n_threads = 8 * (level->w / plan->tile) * (level->h / plan->tile);
    n_threads = (n_threads + 31) / 32 * 32;
    if (n_threads > MVF_REFINE_THREADS)
        n_threads = MVF_REFINE_THREADS;
    return (refine_shape){(unsigned)n_threads, (unsigned)n * sizeof(uint16_t)};
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
        if (plan->in_pieces) {
            refine_shape shape = shape_in_pieces(level);
            MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->function, cols, rows, n, shape.n_threads, 1, 1,
                         shape.shared_bytes, stream, arguments, NULL);
        } else {
            refine_shape shape = shape_in_tiles(plan, config, level);
            MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->function, cols * rows, n, 1, shape.n_threads,
                         1, 1, shape.shared_bytes, stream, arguments, NULL);
        }
    }
    return MVF_OK;
}
