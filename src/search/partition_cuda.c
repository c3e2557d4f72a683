/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/partition_cuda.h"

#include <string.h>

#include "base/error.h"

/* As in partition.cu: the blocks that windows belong to, and the candidates of a strip. */
#define BLOCK 16
#define STRIP 4
static int32_t divide_up(int32_t value, int32_t unit)
{
    return (value + unit - 1) / unit;
}

/* Dynamic shared memory with which a multiprocessor holds two thread blocks, but no less than every
 * device gives; beside it lies what the kernel declares. */
static int32_t shared_words(const mvf_cuda *cuda)
{
    int32_t half = cuda->shared_bytes / 2 - 1024;
    return (half > MVF_SEARCH_SHARED_BYTES ? half : MVF_SEARCH_SHARED_BYTES) / 4 - 256;
}

/* As few whole warps as need no more rounds through a panel's strips than all threads would. */
static int32_t n_threads(int32_t n_cols, int32_t n_rows)
{
    int32_t n = divide_up(n_rows, STRIP) * n_cols;
    return divide_up(n, 32 * divide_up(n, MVF_PARTITION_THREADS)) * 32;
}

int mvf_partition_serves(const mvf_launch_shape *shape, const mvf_search_config *config,
                         const mvf_cuda *cuda)
{
    (void)cuda;
    return config->partitions == MVF_PARTITIONS_SQUARE && config->method == MVF_METHOD_FULL &&
           config->metric == MVF_METRIC_SAD && config->block_w >= BLOCK &&
           config->levels[config->n_levels - 1].w >= BLOCK / 2 &&
           config->sample_bytes == shape->sample_bytes;
}

/* Panels of n_cols x n_rows candidates, and roughly the instructions of all warps for a 16 x 16. */
typedef struct panel {
    int32_t n_cols, n_rows, pitch, copy_words, n_words;
    int64_t cost;
} panel;

static panel lay_out(const mvf_search_config *config, int32_t most_words, int32_t n_cols,
                     int32_t n_rows)
{
    int32_t per_word = 4 / config->sample_bytes, row_words = BLOCK / per_word;
    int32_t cols = 2 * config->range_x + 1, rows = 2 * config->range_y + 1;
    panel p = {.n_cols = n_cols, .n_rows = n_rows, .pitch = (n_cols - 1) / per_word + row_words};
    int32_t window_words = p.pitch * (n_rows + BLOCK - 1);
    /* Copies lie apart by the banks that a row of 32 candidates takes in each. */
    p.copy_words = (window_words + 31) / 32 * 32 + 32 / per_word;
    p.n_words = BLOCK * row_words + per_word * p.copy_words + cols + rows + 2 * n_cols * n_rows;
    if (p.n_words > most_words)
        return (panel){.cost = INT64_MAX};
    int64_t n_across = divide_up(cols, n_cols);
    int32_t threads = n_threads(n_cols, n_rows);
    for (int32_t first = 0; first < rows; first += n_rows) {
        int32_t here = rows - first < n_rows ? rows - first : n_rows;
        int32_t rounds = divide_up(divide_up(here, STRIP) * n_cols, threads);
        p.cost +=
            n_across * threads *
            (450 * config->sample_bytes * rounds + 28 * divide_up(window_words, threads) + 250);
    }
    return p;
}

static panel best_panel(const mvf_search_config *config, int32_t most_words)
{
    int32_t cols = 2 * config->range_x + 1, rows = 2 * config->range_y + 1;
    panel best = {.cost = INT64_MAX};
    for (int32_t n_across = divide_up(cols, 65); n_across <= cols && best.cost == INT64_MAX;
         n_across++)
        for (int32_t n_rows = STRIP; n_rows < rows + STRIP; n_rows += STRIP) {
            panel p = lay_out(config, most_words, divide_up(cols, n_across), n_rows);
            if (p.cost < best.cost)
                best = p;
        }
    return best;
}

void mvf_partition_prepare(mvf_launch_plan *plan, const mvf_search_config *config,
                           const mvf_cuda *cuda, int64_t stride_bytes)
{
    panel best = best_panel(config, shared_words(cuda));
    mvf_partition_params *params = &plan->partition;
    *params = (mvf_partition_params){.stride_bytes = stride_bytes,
                                     .rate = config->rate,
                                     .width = config->width,
                                     .height = config->height,
                                     .block = config->block_w,
                                     .cols = config->cols,
                                     .range_x = config->range_x,
                                     .range_y = config->range_y,
                                     .inside = config->edges == MVF_EDGES_INSIDE,
                                     .panel_cols = best.n_cols,
                                     .panel_rows = best.n_rows,
                                     .window_pitch = best.pitch,
                                     .window_rows = best.n_rows + BLOCK - 1,
                                     .copy_words = best.copy_words};
    for (int32_t i = 0; i < 4; i++)
        params->first_match[i] = -1;
    for (int32_t i = 0; i < config->n_levels; i++)
        for (int32_t k = 0; k < 4; k++)
            if (config->levels[i].w == 64 >> k) {
                params->first_match[k] = (int32_t)config->levels[i].first_match;
                params->level_cols[k] = config->levels[i].cols;
            }
    plan->stages[0].shared_bytes = 4 * best.n_words;
}

mvf_status mvf_partition_enqueue(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                 const mvf_search_pair *before, const mvf_search_pair *pairs,
                                 int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    mvf_partition_params params = plan->partition;
    void *arguments[] = {&params};
    (void)before;
    (void)scratch;
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    int32_t n_units = params.cols * divide_up(params.height, params.block);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->stages[0].function, (unsigned)n_units,
                 (unsigned)n_jobs, 1, (unsigned)n_threads(params.panel_cols, params.panel_rows), 1,
                 1, (unsigned)plan->stages[0].shared_bytes, stream, arguments, NULL);
    return MVF_OK;
}
