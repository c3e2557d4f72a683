/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/launch_cuda.h"

#include <string.h>

#include "base/error.h"
#include "base/integers.h"
#include "search/block_search.h"
#include "search/block_search_cuda.h"
#include "search/partition_cuda.h"
#include "search/subpel_rule.h"

extern const unsigned char mvf_fatbin_block_search[];
extern const unsigned char mvf_fatbin_partition[];
extern const unsigned char mvf_fatbin_search[];
extern const unsigned char mvf_fatbin_search_eliminate[];
extern const unsigned char mvf_fatbin_search_exhaust[];

_Static_assert(sizeof(mvf_match) == sizeof(mvf_full_match) &&
                   offsetof(mvf_match, cost) == offsetof(mvf_full_match, cost),
               "the kernels write matches");

/* Planes. */

static int is_full_block_search(const mvf_search_config *config)
{
    return config->method == MVF_METHOD_FULL && !mvf_block_search_needed(config) &&
           config->sample_bytes == 1 && config->block_w == MVF_FULL_BLOCK &&
           config->block_h == MVF_FULL_BLOCK && config->step_x == MVF_FULL_BLOCK &&
           config->step_y == MVF_FULL_BLOCK && config->range_x <= MVF_FULL_RANGE_MAX &&
           config->range_y <= MVF_FULL_RANGE_MAX;
}

/* One axis: tiles are copied whole, and every window of a tile. */
static void widen_border(int32_t size, int32_t range, int32_t *before, int32_t *after)
{
    int32_t origin, n_windows;
    mvf_full_windows(range, &origin, &n_windows);
    int32_t last = origin + MVF_FULL_TILE * (n_windows - 1);
    int32_t end = mvf_round_up_i32(size, MVF_FULL_TILE) + MVF_FULL_HALO * 2 + last;
    *before = mvf_max_i32(*before, -origin);
    *after = mvf_max_i32(*after, end - size);
}

/* What any kernel that may serve the config reads. */
mvf_cuda_layout mvf_cuda_plane_layout(const mvf_search_config *config)
{
    int32_t sample_bytes = config->sample_bytes;
    mvf_cuda_layout layout = {.left = config->range_x + MVF_SEARCH_GROUP,
                              .right = config->range_x + MVF_MAX_BLOCK + 2 * MVF_SEARCH_GROUP,
                              .top = config->range_y + MVF_SUBPEL_MARGIN,
                              .bottom = config->range_y + MVF_MAX_BLOCK};
    if (is_full_block_search(config)) {
        widen_border(config->width, config->range_x, &layout.left, &layout.right);
        widen_border(config->height, config->range_y, &layout.top, &layout.bottom);
    }
    layout.left = mvf_round_up_i32(layout.left * sample_bytes, MVF_PAD_BYTES) / sample_bytes;
    layout.stride_bytes = mvf_round_up_i32(
        (layout.left + config->width + layout.right) * sample_bytes, MVF_PAD_BYTES);
    layout.n_rows = layout.top + config->height + layout.bottom;
    layout.n_bytes = (size_t)layout.stride_bytes * (size_t)layout.n_rows;
    layout.origin_bytes = layout.top * layout.stride_bytes + layout.left * sample_bytes;
    return layout;
}

/* The general kernels. */

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
    layout.n_rows = mvf_min_i32(rows, most_rows);
    if (layout.n_rows < 1)
        return (panel_layout){.cost = INT64_MAX};
    int32_t window_words = (layout.n_rows + config->block_h - 1) * pitch_words;
    int64_t n_panels = (int64_t)n_across * mvf_divide_up_i32(rows, layout.n_rows);
    int64_t n_iterations = mvf_divide_up_i32(layout.n_rows, team / n_groups);
    layout.team_words = mvf_divide_up_i32(block_words + window_words, 4) * 4;
    layout.cost =
        n_panels * (team / 32) * (4 * n_iterations * block_words + 12 * window_words / team + 300);
    return layout;
}

static panel_layout best_layout(const mvf_search_config *config, int32_t team)
{
    /* The first candidate may be the last sample of a group. */
    int32_t n_groups =
        mvf_divide_up_i32(2 * config->range_x + 1 + MVF_SEARCH_GROUP - 1, MVF_SEARCH_GROUP);
    panel_layout best = {.cost = INT64_MAX};
    for (int32_t n_across = 1; n_across <= n_groups; n_across++) {
        int32_t panel_groups = mvf_divide_up_i32(n_groups, n_across);
        if (panel_groups > MVF_SEARCH_PANEL_GROUPS)
            continue;
        panel_layout layout = lay_out_panels(config, team, panel_groups, n_across);
        if (layout.cost < best.cost)
            best = layout;
    }
    return best;
}

/* A warp for each block of the frame where that costs less than all threads for one. */
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

static void prepare_search(mvf_launch_plan *plan, const mvf_search_config *config,
                           const mvf_cuda *cuda, int64_t stride_bytes)
{
    panel_layout layout = best_layout(config, plan->shape->team);
    (void)cuda;
    plan->params = (mvf_search_params){.stride_bytes = stride_bytes,
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
                                       .inside = config->edges == MVF_EDGES_INSIDE,
                                       .panel_groups = layout.n_groups,
                                       .panel_rows = layout.n_rows,
                                       .team_words = layout.team_words};
    plan->stages[0].shared_bytes = 4 * layout.team_words * (MVF_SEARCH_THREADS / plan->shape->team);
}

static mvf_status enqueue_search(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                 const mvf_search_pair *before, const mvf_search_pair *pairs,
                                 int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    mvf_search_params params = plan->params;
    void *arguments[] = {&params};
    int32_t n_teams = MVF_SEARCH_THREADS / plan->shape->team;
    (void)before;
    (void)scratch;
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->stages[0].function,
                 (unsigned)((params.n_blocks + n_teams - 1) / n_teams), (unsigned)n_jobs, 1,
                 MVF_SEARCH_THREADS, 1, 1, (unsigned)plan->stages[0].shared_bytes, stream,
                 arguments, NULL);
    return MVF_OK;
}

/* The kernels for 16x16 blocks of 8-bit samples side by side. */

/* From capability 8.0 on: the kernels count on copies that run while they compute. */
static int serves_full(const mvf_launch_shape *shape, const mvf_search_config *config,
                       const mvf_cuda *cuda)
{
    return is_full_block_search(config) && cuda->compute_capability >= 80 &&
           cuda->shared_bytes >= shape->shared_bytes;
}

/* Without the elimination all vectors of a window are paid for, so that smaller ranges are left to
 * the general kernels. Tests that ask for this row get it. */
static int serves_exhaust(const mvf_launch_shape *shape, const mvf_search_config *config,
                          const mvf_cuda *cuda)
{
    int32_t origin, n_x, n_y, window = 2 * MVF_FULL_HALO + 1;
    if (!serves_full(shape, config, cuda))
        return 0;
    mvf_full_windows(config->range_x, &origin, &n_x);
    mvf_full_windows(config->range_y, &origin, &n_y);
    int64_t searched = (int64_t)n_x * n_y * window * window;
    int64_t asked = (int64_t)(2 * config->range_x + 1) * (2 * config->range_y + 1);
    return config->first_shape == MVF_SHAPE_EXHAUST || 4 * asked >= 3 * searched;
}

/* The counters, then the groups that the elimination may leave. */
static size_t full_scratch_bytes(const mvf_search_config *config, int32_t n_jobs)
{
    size_t n_groups =
        (size_t)mvf_divide_up_i32(config->rows, 2) * (size_t)mvf_divide_up_i32(config->cols, 4);
    return sizeof(mvf_full_counters) + n_groups * (size_t)n_jobs * sizeof(mvf_full_group);
}

static void prepare_full(mvf_launch_plan *plan, const mvf_search_config *config,
                         const mvf_cuda *cuda, int64_t stride_bytes)
{
    mvf_full_params *p = &plan->full_params;
    *p = (mvf_full_params){.stride_bytes = stride_bytes,
                           .width = config->width,
                           .height = config->height,
                           .cols = config->cols,
                           .rows = config->rows,
                           .range_x = config->range_x,
                           .range_y = config->range_y,
                           .inside = config->edges == MVF_EDGES_INSIDE};
    mvf_full_windows(config->range_x, &p->origin_x, &p->n_windows_x);
    mvf_full_windows(config->range_y, &p->origin_y, &p->n_windows_y);
    plan->n_thread_blocks = MVF_FULL_BLOCKS * cuda->multiprocessors;
}

static void prepare_eliminate(mvf_launch_plan *plan, const mvf_search_config *config,
                              const mvf_cuda *cuda, int64_t stride_bytes)
{
    prepare_full(plan, config, cuda, stride_bytes);
    plan->stages[0].shared_bytes = MVF_ELIMINATE_SHARED_BYTES;
    plan->stages[1].shared_bytes = MVF_EXHAUST_SHARED_BYTES;
}

static void prepare_exhaust(mvf_launch_plan *plan, const mvf_search_config *config,
                            const mvf_cuda *cuda, int64_t stride_bytes)
{
    prepare_full(plan, config, cuda, stride_bytes);
    plan->full_params.every_group = 1;
    plan->stages[0].shared_bytes = MVF_EXHAUST_SHARED_BYTES;
}

/* Whether things move from one pair to the next as within each: one begins where the other ends. */
static int goes_on(const mvf_search_pair *before, const mvf_search_pair *pair)
{
    return (before->current == pair->reference) != (before->reference == pair->current);
}

/* The matches of the latest pair before `pair` that may be like its own, or 0. */
static uint64_t hints_for(const mvf_search_pair *before, const mvf_search_pair *pairs,
                          const mvf_search_pair *pair)
{
    for (const mvf_search_pair *other = pair; other-- > pairs;)
        if (goes_on(other, pair))
            return other->matches;
    return before && goes_on(before, pair) ? before->matches : 0;
}

static mvf_full_params full_params(const mvf_launch_plan *plan, const mvf_search_pair *before,
                                   const mvf_search_pair *pairs, int32_t n_jobs,
                                   CUdeviceptr scratch, int early)
{
    mvf_full_params params = plan->full_params;
    params.counters = scratch;
    params.groups = scratch + sizeof(mvf_full_counters);
    params.n_pairs = n_jobs;
    params.early = early;
    params.hard_words = early ? MVF_ELIMINATE_HARD_WORDS_OF_FEW : MVF_ELIMINATE_HARD_WORDS;
    params.hard_blocks = early ? MVF_ELIMINATE_HARD_BLOCKS_OF_FEW : MVF_ELIMINATE_HARD_BLOCKS;
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    for (int32_t i = 0; i < n_jobs; i++)
        params.hints[i] = hints_for(before, pairs, &pairs[i]);
    return params;
}

static mvf_status launch_full(mvf_cuda *cuda, const mvf_launch_plan *plan, int32_t stage,
                              unsigned n_threads, mvf_full_params *params, CUstream stream)
{
    void *arguments[] = {params};
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    CUlaunchConfig launch = {.gridDimX = (unsigned)plan->n_thread_blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = n_threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)plan->stages[stage].shared_bytes,
                             .hStream = stream,
                             .attrs = &early,
                             .numAttrs = stage > 0 && params->early};
    MVF_CUDA_TRY(cuda, cuLaunchKernelEx, &launch, plan->stages[stage].function, arguments, NULL);
    return MVF_OK;
}

/* From capability 9.0 on a kernel can start before the one before it ends. In launches of many
 * pairs, thread blocks that wait would keep out the next launch's. */
static int starts_early(const mvf_cuda *cuda, int32_t n_jobs)
{
    return cuda->compute_capability >= 90 && n_jobs < MVF_ELIMINATE_FEW_PAIRS;
}

/* The second kernel also resets the counters: it runs even if nothing is left to it. */
static mvf_status enqueue_eliminate(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                    const mvf_search_pair *before, const mvf_search_pair *pairs,
                                    int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    mvf_full_params params =
        full_params(plan, before, pairs, n_jobs, scratch, starts_early(cuda, n_jobs));
    MVF_TRY(launch_full(cuda, plan, 0, MVF_ELIMINATE_THREADS, &params, stream));
    return launch_full(cuda, plan, 1, MVF_EXHAUST_THREADS, &params, stream);
}

static mvf_status enqueue_exhaust(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                  const mvf_search_pair *before, const mvf_search_pair *pairs,
                                  int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    mvf_full_params params = full_params(plan, before, pairs, n_jobs, scratch, 0);
    return launch_full(cuda, plan, 0, MVF_EXHAUST_THREADS, &params, stream);
}

/* The table. */

#define SEARCH_SHAPE(name, threads_of_team, bytes_of_sample, bytes_of_row)                        \
    {                                                                                             \
        .kernels = {{name, mvf_fatbin_search}}, .team = threads_of_team, .serves = serves_search, \
        .sample_bytes = bytes_of_sample, .row_bytes = bytes_of_row, .prepare = prepare_search,    \
        .enqueue = enqueue_search                                                                 \
    }

#define PARTITION_SHAPE(name, bytes_of_sample, row, longest_range, halves, least)       \
    {                                                                                   \
        .kernels = {{name, mvf_fatbin_partition}}, .serves = mvf_partition_serves,      \
        .sample_bytes = bytes_of_sample, .most_threads = MVF_PARTITION_##row##_THREADS, \
        .strip = MVF_PARTITION_##row##_STRIP, .pitch = MVF_PARTITION_##row##_PITCH,     \
        .most_range = longest_range, .has_halves = halves, .smallest = least,           \
        .prepare = mvf_partition_prepare, .enqueue = mvf_partition_enqueue              \
    }

#define BLOCK_SHAPE(name, bytes_of_sample, side_of_tile, takes_sads)                 \
    {                                                                                \
        .kernels = {{name, mvf_fatbin_block_search}}, .serves = mvf_block_serves,    \
        .sample_bytes = bytes_of_sample, .tile = side_of_tile, .is_sad = takes_sads, \
        .prepare = mvf_block_prepare, .enqueue = mvf_block_enqueue                   \
    }

/*
 * Who serves what, most particular first; launch.h has the threads and sizes. The last of each
 * sample size serves everything.
 *
 * 16x16 blocks by elimination at every range: H200, 1080p, batch of 32, frames a second on bunny /
 * street / wall: 32,901 / 26,910 / 39,580 at +-32, where search_8_w4_warp has 6,995 / 4,836 / 6,131
 * and even at +-16 only 17,587 / 12,002 / 16,741. Where shared memory is too small for that, the
 * exhaustive kernel alone: 6,440 at +-32 whatever the scene, and on noise, 2,744 before.
 */
static const mvf_launch_shape shapes[] = {
    [MVF_SHAPE_ELIMINATE] = {.kernels = {{"search_eliminate", mvf_fatbin_search_eliminate},
                                         {"search_exhaust", mvf_fatbin_search_exhaust}},
                             .serves = serves_full,
                             .shared_bytes = MVF_ELIMINATE_SHARED_BYTES,
                             .scratch_bytes = full_scratch_bytes,
                             .prepare = prepare_eliminate,
                             .enqueue = enqueue_eliminate},
    [MVF_SHAPE_EXHAUST] = {.kernels = {{"search_exhaust", mvf_fatbin_search_exhaust}},
                           .serves = serves_exhaust,
                           .shared_bytes = MVF_EXHAUST_SHARED_BYTES,
                           .scratch_bytes = full_scratch_bytes,
                           .prepare = prepare_exhaust,
                           .enqueue = enqueue_exhaust},
    [MVF_SHAPE_OTHERS] =
        PARTITION_SHAPE("partition_8_near", 1, NEAR, MVF_PARTITION_NEAR_RANGE, 0, 8),
    PARTITION_SHAPE("partition_8", 1, FAR, 0, 0, 8),
    PARTITION_SHAPE("partition_16", 2, 16, 0, 0, 8),
    PARTITION_SHAPE("partition_8_fours", 1, FOURS, 0, 0, 4),
    PARTITION_SHAPE("partition_16_fours", 2, FOURS, 0, 0, 4),
    PARTITION_SHAPE("partition_8_halves", 1, HALVES, 0, 1, 8),
    PARTITION_SHAPE("partition_16_halves", 2, HALVES, 0, 1, 8),
    PARTITION_SHAPE("partition_8_halves_fours", 1, HALVES, 0, 1, 4),
    PARTITION_SHAPE("partition_16_halves_fours", 2, HALVES, 0, 1, 4),
    BLOCK_SHAPE("block_sad_8_t8", 1, 8, 1),
    BLOCK_SHAPE("block_sad_8_t4", 1, 4, 1),
    BLOCK_SHAPE("block_sad_16_t8", 2, 8, 1),
    BLOCK_SHAPE("block_sad_16_t4", 2, 4, 1),
    BLOCK_SHAPE("block_metric_8_t8", 1, 8, 0),
    BLOCK_SHAPE("block_metric_8_t4", 1, 4, 0),
    BLOCK_SHAPE("block_metric_16_t8", 2, 8, 0),
    BLOCK_SHAPE("block_metric_16_t4", 2, 4, 0),
    SEARCH_SHAPE("search_8_w4_warp", MVF_SEARCH_TEAM, 1, 16),
    SEARCH_SHAPE("search_8_w2_warp", MVF_SEARCH_TEAM, 1, 8),
    SEARCH_SHAPE("search_8_w1_warp", MVF_SEARCH_TEAM, 1, 4),
    SEARCH_SHAPE("search_16_w4_warp", MVF_SEARCH_TEAM, 2, 16),
    SEARCH_SHAPE("search_16_w2_warp", MVF_SEARCH_TEAM, 2, 8),
    SEARCH_SHAPE("search_8_w4", MVF_SEARCH_THREADS, 1, 16),
    SEARCH_SHAPE("search_8_w2", MVF_SEARCH_THREADS, 1, 8),
    SEARCH_SHAPE("search_8_w1", MVF_SEARCH_THREADS, 1, 4),
    SEARCH_SHAPE("search_16_w4", MVF_SEARCH_THREADS, 2, 16),
    SEARCH_SHAPE("search_16_w2", MVF_SEARCH_THREADS, 2, 8),
};

/* Plans. */

void mvf_launch_plan_choose(mvf_launch_plan *plan, const mvf_cuda *cuda,
                            const mvf_search_config *config, int64_t stride_bytes)
{
    const mvf_launch_shape *shape = shapes + config->first_shape;
    while (!shape->serves(shape, config, cuda))
        shape++;
    *plan = (mvf_launch_plan){.shape = shape};
    shape->prepare(plan, config, cuda, stride_bytes);
}

static mvf_status load_kernel(mvf_launch_stage *stage, const mvf_launch_kernel *kernel,
                              mvf_cuda *cuda)
{
    MVF_TRY(mvf_cuda_load(cuda, &stage->module, kernel->fatbin));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &stage->function, stage->module, kernel->name);
    MVF_CUDA_TRY(cuda, cuFuncSetAttribute, stage->function,
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, stage->shared_bytes);
    if (stage->shared_bytes > MVF_SEARCH_SHARED_BYTES)
        MVF_CUDA_TRY(cuda, cuFuncSetAttribute, stage->function,
                     CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                     CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
    return MVF_OK;
}

mvf_status mvf_launch_plan_open(mvf_launch_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes)
{
    mvf_launch_plan_choose(plan, cuda, config, stride_bytes);
    const mvf_launch_kernel *kernels = plan->shape->kernels;
    mvf_status status = MVF_OK;
    for (int32_t i = 0; i < MVF_MAX_STAGES && kernels[i].name && status == MVF_OK; i++)
        status = load_kernel(&plan->stages[i], &kernels[i], cuda);
    if (status != MVF_OK)
        mvf_launch_plan_close(plan, cuda);
    return status;
}

void mvf_launch_plan_close(mvf_launch_plan *plan, mvf_cuda *cuda)
{
    for (int32_t i = 0; i < MVF_MAX_STAGES; i++) {
        if (plan->stages[i].module)
            cuda->driver.cuModuleUnload(plan->stages[i].module);
        plan->stages[i].module = NULL;
    }
}

size_t mvf_launch_scratch_bytes(const mvf_launch_plan *plan, const mvf_search_config *config,
                                int32_t n_jobs)
{
    return plan->shape->scratch_bytes ? plan->shape->scratch_bytes(config, n_jobs) : 0;
}

mvf_status mvf_launch_clear_scratch(mvf_cuda *cuda, CUdeviceptr scratch, size_t n_bytes,
                                    CUstream stream)
{
    if (n_bytes)
        MVF_CUDA_TRY(cuda, cuMemsetD8Async, scratch, 0, n_bytes, stream);
    return MVF_OK;
}

mvf_status mvf_launch(mvf_cuda *cuda, const mvf_launch_plan *plan, const mvf_search_pair *before,
                      const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                      CUstream stream)
{
    return plan->shape->enqueue(cuda, plan, before, pairs, n_jobs, scratch, stream);
}
