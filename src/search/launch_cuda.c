/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/launch_cuda.h"

#include <string.h>

#include "base/error.h"
#include "search/partition_cuda.h"

extern const unsigned char mvf_fatbin_search[];
extern const unsigned char mvf_fatbin_partition[];

/* Columns of candidates that one load serves; see search.cu. */
#define GROUP 4
/* Most groups of a panel: a wider one leaves too few threads to share out its rows. */
#define MAX_PANEL_GROUPS 32

mvf_cuda_border mvf_cuda_plane_border(const mvf_search_config *config)
{
    int32_t sample_bytes = config->sample_bytes;
    int32_t left_bytes = (config->range_x + GROUP) * sample_bytes;
    left_bytes = (left_bytes + MVF_PAD_BYTES - 1) / MVF_PAD_BYTES * MVF_PAD_BYTES;
    return (mvf_cuda_border){.left = left_bytes / sample_bytes,
                             .right = config->range_x + MVF_MAX_BLOCK + 2 * GROUP,
                             .top = config->range_y,
                             .bottom = config->range_y + MVF_MAX_BLOCK};
}

static int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t divide_up(int32_t value, int32_t unit)
{
    return (value + unit - 1) / unit;
}

/* How a team of threads takes the window of a block; see search.cu. */
typedef struct panel_layout {
    int32_t n_groups, n_rows, team_words;
    /* Warp instructions for one block of the frame, roughly. */
    int64_t cost;
} panel_layout;

/*
 * Panels of n_groups groups, with as many rows as the team's share of shared memory holds beside
 * the block itself. The cost counts what grows: per iteration the words of a block, of which early
 * exit leaves about half; the words copied; and the way into a panel.
 */
static panel_layout lay_out_panels(const mvf_search_config *config, int32_t team, int32_t n_groups,
                                   int32_t n_across)
{
    int32_t shared_words = MVF_SEARCH_SHARED_BYTES / 4 / (MVF_SEARCH_THREADS / team);
    int32_t row_words = config->block_w * config->sample_bytes / 4;
    int32_t block_words = row_words * config->block_h;
    int32_t pitch_words = n_groups * config->sample_bytes + row_words;
    int32_t rows = 2 * config->range_y + 1;
    panel_layout layout = {.n_groups = n_groups};
    int32_t most_rows = (shared_words - block_words) / pitch_words - config->block_h + 1;
    layout.n_rows = min_i32(rows, most_rows);
    if (layout.n_rows < 1)
        return (panel_layout){.cost = INT64_MAX};
    int32_t window_words = (layout.n_rows + config->block_h - 1) * pitch_words;
    int64_t n_panels = (int64_t)n_across * divide_up(rows, layout.n_rows);
    int64_t n_iterations = divide_up(layout.n_rows, team / n_groups);
    layout.team_words = divide_up(block_words + window_words, 4) * 4;
    layout.cost =
        n_panels * (team / 32) * (4 * n_iterations * block_words + 12 * window_words / team + 300);
    return layout;
}

static panel_layout best_layout(const mvf_search_config *config, int32_t team)
{
    /* The first candidate may be the last sample of a group. */
    int32_t n_groups = divide_up(2 * config->range_x + 1 + GROUP - 1, GROUP);
    panel_layout best = {.cost = INT64_MAX};
    for (int32_t n_across = 1; n_across <= n_groups; n_across++) {
        int32_t panel_groups = divide_up(n_groups, n_across);
        if (panel_groups > MAX_PANEL_GROUPS)
            continue;
        panel_layout layout = lay_out_panels(config, team, panel_groups, n_across);
        if (layout.cost < best.cost)
            best = layout;
    }
    return best;
}

/*
 * A warp for each block of the frame where that costs less than all threads for one. H200, bunny,
 * 1080p, us a frame with all threads and with a warp: 16x16 +-16 86.6 and 55.7, +-32 176 and 149;
 * 8x8 +-16 210 and 122; 4x4 +-8 509 and 187; 32x32 +-32 126 and 120; but 64x64 +-64 340 and 558.
 */
static int serves_search(const mvf_launch_shape *shape, const mvf_search_config *config,
                         const mvf_cuda *cuda)
{
    (void)cuda;
    if (config->sample_bytes != shape->sample_bytes ||
        config->block_w * config->sample_bytes < shape->row_bytes)
        return 0;
    return shape->team == MVF_SEARCH_THREADS ||
           best_layout(config, shape->team).cost < best_layout(config, MVF_SEARCH_THREADS).cost;
}

static void prepare_search(mvf_launch_plan *plan, const mvf_search_config *config)
{
    panel_layout layout = best_layout(config, plan->shape->team);
    plan->params.panel_groups = layout.n_groups;
    plan->params.panel_rows = layout.n_rows;
    plan->params.team_words = layout.team_words;
    plan->shared_bytes = 4 * layout.team_words * (MVF_SEARCH_THREADS / plan->shape->team);
}

static mvf_status enqueue_search(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                 const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                                 CUstream stream)
{
    mvf_search_params params = plan->params;
    void *arguments[] = {&params};
    int32_t n_teams = MVF_SEARCH_THREADS / plan->shape->team;
    (void)scratch;
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->function,
                 (unsigned)((params.n_blocks + n_teams - 1) / n_teams), (unsigned)n_jobs, 1,
                 MVF_SEARCH_THREADS, 1, 1, (unsigned)plan->shared_bytes, stream, arguments, NULL);
    return MVF_OK;
}

#define SEARCH_SHAPE(name, threads_of_team, bytes_of_sample, bytes_of_row)                   \
    {                                                                                        \
        .kernel = name, .fatbin = mvf_fatbin_search, .team = threads_of_team,                \
        .serves = serves_search, .sample_bytes = bytes_of_sample, .row_bytes = bytes_of_row, \
        .prepare = prepare_search, .enqueue = enqueue_search                                 \
    }

#define PARTITION_SHAPE(name, bytes_of_sample)                                          \
    {                                                                                   \
        .kernel = name, .fatbin = mvf_fatbin_partition, .serves = mvf_partition_serves, \
        .sample_bytes = bytes_of_sample, .prepare = mvf_partition_prepare,              \
        .enqueue = mvf_partition_enqueue                                                \
    }

/* The launch shapes, most particular first. The last of each sample size serves everything. */
static const mvf_launch_shape shapes[] = {
    PARTITION_SHAPE("partition_8", 1),
    PARTITION_SHAPE("partition_16", 2),
    SEARCH_SHAPE("search_8_w4_warp", 32, 1, 16),
    SEARCH_SHAPE("search_8_w2_warp", 32, 1, 8),
    SEARCH_SHAPE("search_8_w1_warp", 32, 1, 4),
    SEARCH_SHAPE("search_16_w4_warp", 32, 2, 16),
    SEARCH_SHAPE("search_16_w2_warp", 32, 2, 8),
    SEARCH_SHAPE("search_8_w4", MVF_SEARCH_THREADS, 1, 16),
    SEARCH_SHAPE("search_8_w2", MVF_SEARCH_THREADS, 1, 8),
    SEARCH_SHAPE("search_8_w1", MVF_SEARCH_THREADS, 1, 4),
    SEARCH_SHAPE("search_16_w4", MVF_SEARCH_THREADS, 2, 16),
    SEARCH_SHAPE("search_16_w2", MVF_SEARCH_THREADS, 2, 8),
};

static mvf_status load_kernel(mvf_launch_plan *plan, mvf_cuda *cuda)
{
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->function, plan->module, plan->shape->kernel);
    MVF_CUDA_TRY(cuda, cuFuncSetAttribute, plan->function,
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, plan->shared_bytes);
    return MVF_OK;
}

static void set_params(mvf_search_params *params, const mvf_search_config *config,
                       int64_t stride_bytes)
{
    *params = (mvf_search_params){.stride_bytes = stride_bytes,
                                  .width = config->width,
                                  .height = config->height,
                                  .block_w = config->block_w,
                                  .block_h = config->block_h,
                                  .step_x = config->step_x,
                                  .step_y = config->step_y,
                                  .cols = config->cols,
                                  .range_x = config->range_x,
                                  .range_y = config->range_y,
                                  .n_blocks = config->cols * config->rows,
                                  .inside = config->edges == MVF_EDGES_INSIDE};
}

mvf_status mvf_launch_plan_open(mvf_launch_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes)
{
    const mvf_launch_shape *shape = shapes;
    while (!shape->serves(shape, config, cuda))
        shape++;
    *plan = (mvf_launch_plan){.shape = shape};
    set_params(&plan->params, config, stride_bytes);
    shape->prepare(plan, config);
    MVF_TRY(mvf_cuda_load(cuda, &plan->module, shape->fatbin));
    mvf_status status = load_kernel(plan, cuda);
    if (status != MVF_OK)
        mvf_launch_plan_close(plan, cuda);
    return status;
}

void mvf_launch_plan_close(mvf_launch_plan *plan, mvf_cuda *cuda)
{
    if (plan->module)
        cuda->driver.cuModuleUnload(plan->module);
    plan->module = NULL;
}

size_t mvf_launch_scratch_bytes(const mvf_launch_plan *plan, const mvf_search_config *config,
                                int32_t n_jobs)
{
    return plan->shape->scratch_bytes ? plan->shape->scratch_bytes(config, n_jobs) : 0;
}

mvf_status mvf_launch(mvf_cuda *cuda, const mvf_launch_plan *plan, const mvf_search_pair *pairs,
                      int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    return plan->shape->enqueue(cuda, plan, pairs, n_jobs, scratch, stream);
}
