/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/block_search_cuda.h"

#include <string.h>

#include "base/error.h"
#include "search/block_search.h"
#include "search/refine_cuda.h"

_Static_assert(MVF_BLOCK_LEVELS == MVF_MAX_LEVELS, "the kernel takes each search");

int mvf_block_serves(const mvf_launch_shape *shape, const mvf_search_config *config,
                     const mvf_cuda *cuda)
{
    (void)cuda;
    int is_sad = config->metric == MVF_METRIC_SAD;
    int32_t tile = config->metric == MVF_METRIC_SATD4 ? 4 : config->satd_tile;
    return mvf_block_search_needed(config) && config->sample_bytes == shape->sample_bytes &&
           shape->tile == tile && shape->is_sad == is_sad;
}

static void set_levels(mvf_block_params *params, const mvf_search_config *config)
{
    params->n_levels = config->n_levels;
    for (int32_t i = 0; i < config->n_levels; i++) {
        const mvf_level *level = &config->levels[i];
        mvf_block_level *to = &params->levels[i];
        *to = (mvf_block_level){.w = level->w,
                                .h = level->h,
                                .cols = level->cols,
                                .across = config->block_w / level->w,
                                .down = config->block_h / level->h,
                                .first_match = (int32_t)level->first_match,
                                .first_node = level->first_node};
        params->n_nodes = to->first_node + to->across * to->down;
    }
    while (config->levels[config->n_levels - 1].w << params->depth < config->block_w)
        params->depth++;
}

void mvf_block_prepare(mvf_launch_plan *plan, const mvf_search_config *config, const mvf_cuda *cuda,
                       int64_t stride_bytes)
{
    mvf_block_params *params = &plan->block;
    (void)cuda;
    *params = (mvf_block_params){
        .stride_bytes = stride_bytes,
        .rate = config->rate,
        .width = config->width,
        .height = config->height,
        .step_x = config->step_x,
        .step_y = config->step_y,
        .cols = config->cols,
        .range_x = config->range_x,
        .range_y = config->range_y,
        .inside = config->edges == MVF_EDGES_INSIDE,
        .metric = mvf_cuda_metric(config->metric),
        .refine_range = config->method == MVF_METHOD_REFINE ? config->refine_range : -1,
        .has_halves = config->partitions == MVF_PARTITIONS_RECT};
    set_levels(params, config);
    plan->stages[0].shared_bytes = params->n_nodes * (int32_t)sizeof(uint64_t) +
                                   config->block_w * config->block_h * config->sample_bytes;
}

/* As few whole warps as need no more rounds through the candidates than all threads would. */
static unsigned n_threads(const mvf_block_params *params, const mvf_search_pair *pairs,
                          int32_t n_jobs)
{
    int32_t side = 2 * params->refine_range + 1, most = MVF_BLOCK_SEARCH_THREADS;
    int32_t n = (2 * params->range_x + 1) * (2 * params->range_y + 1);
    for (int32_t i = 0; i < n_jobs && params->refine_range >= 0; i++) {
        int32_t here = 1 + (1 + pairs[i].n_hints) * side * side;
        n = i == 0 || here > n ? here : n;
    }
    int32_t n_rounds = (n + most - 1) / most;
    return (unsigned)((n + 32 * n_rounds - 1) / (32 * n_rounds)) * 32;
}

mvf_status mvf_block_enqueue(mvf_cuda *cuda, const mvf_launch_plan *plan,
                             const mvf_search_pair *before, const mvf_search_pair *pairs,
                             int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    mvf_block_params params = plan->block;
    void *arguments[] = {&params};
    (void)before;
    (void)scratch;
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    int32_t rows = (params.height + params.step_y - 1) / params.step_y;
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->stages[0].function,
                 (unsigned)params.cols * (unsigned)rows, (unsigned)n_jobs, 1,
                 n_threads(&params, pairs, n_jobs), 1, 1, (unsigned)plan->stages[0].shared_bytes,
                 stream, arguments, NULL);
    return MVF_OK;
}
