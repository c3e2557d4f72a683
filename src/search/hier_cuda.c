/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/hier_cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/integers.h"

extern const unsigned char mvf_fatbin_hier_pyramid[];
extern const unsigned char mvf_fatbin_hier_top[];
extern const unsigned char mvf_fatbin_hier_below[];

/* Samples around a level beyond its range: left of it for words of four, right of it and below for
 * the rest of a block whose visible part reaches to the edge. */
#define MORE_LEFT 4
#define MORE_RIGHT (MVF_MAX_BLOCK + 8)
#define MORE_BELOW MVF_MAX_BLOCK
/* Cells whose sums are asked for beyond the range, where a level is smaller than its blocks. */
#define MORE_CELLS_RIGHT 32
#define MORE_CELLS_BELOW 16

/* Planes. */

static mvf_hier_plane lay_out_level(const mvf_search_config *config, int32_t level)
{
    int32_t sample_bytes = config->sample_bytes;
    int32_t range_x = mvf_rule_level_range(config->range_x, level);
    int32_t range_y = mvf_rule_level_range(config->range_y, level);
    mvf_hier_plane plane = {.width = mvf_rule_level_size(config->width, level),
                            .height = mvf_rule_level_size(config->height, level),
                            .top = range_y};
    plane.left = (int32_t)mvf_round_up_i64((range_x + MORE_LEFT) * sample_bytes, MVF_PAD_BYTES) /
                 sample_bytes;
    plane.n_rows = plane.top + plane.height + range_y + MORE_BELOW;
    plane.stride_bytes = mvf_round_up_i64(
        (int64_t)(plane.left + plane.width + range_x + MORE_RIGHT) * sample_bytes, MVF_PAD_BYTES);
    return plane;
}

static void set_cells(mvf_hier_plan *plan, const mvf_search_config *config, int64_t begin_bytes)
{
    const mvf_hier_plane *top = &plan->planes[plan->top_level];
    int32_t range_x = mvf_rule_level_range(config->range_x, plan->top_level);
    plan->cells = (mvf_cell_params){.from_stride_bytes = top->stride_bytes,
                                    .n_cols = top->left + top->width + range_x + MORE_CELLS_RIGHT,
                                    .cell_w = mvf_rule_coarse_block(config->block_w) / 2,
                                    .cell_h = mvf_rule_coarse_block(config->block_h) / 2,
                                    .shift = config->bit_depth - 8};
    plan->cells.n_cols = (int32_t)mvf_round_up_i64(plan->cells.n_cols, MVF_PYRAMID_RUN);
    plan->cells.to_stride_bytes =
        mvf_round_up_i64(plan->cells.n_cols * (int64_t)sizeof(uint16_t), MVF_PAD_BYTES);
    plan->n_cell_rows =
        (int32_t)mvf_round_up_i64(2 * top->top + top->height + MORE_CELLS_BELOW, MVF_PYRAMID_ROWS);
    plan->cells.from = top->begin_bytes;
    plan->cells.to = begin_bytes;
    plan->plane_bytes += (size_t)plan->cells.to_stride_bytes * (size_t)plan->n_cell_rows;
}

/* The levels follow the frame, and the sums of cells the levels. */
static void lay_out_planes(mvf_hier_plan *plan, const mvf_search_config *config,
                           const mvf_cuda_layout *layout)
{
    plan->planes[0] = (mvf_hier_plane){
        .width = config->width, .height = config->height, .stride_bytes = layout->stride_bytes};
    int64_t end = mvf_round_up_i64((int64_t)layout->n_bytes, MVF_CUDA_ALIGNMENT);
    for (int32_t level = 1; level <= plan->top_level; level++) {
        mvf_hier_plane *plane = &plan->planes[level];
        *plane = lay_out_level(config, level);
        plane->begin_bytes = end - layout->origin_bytes;
        plane->offset_bytes = plane->begin_bytes + plane->top * plane->stride_bytes +
                              (int64_t)plane->left * config->sample_bytes;
        end = mvf_round_up_i64(end + plane->n_rows * plane->stride_bytes, MVF_CUDA_ALIGNMENT);
    }
    plan->plane_bytes = (size_t)end;
    set_cells(plan, config, end - layout->origin_bytes);
}

static mvf_hier_level level_params(const mvf_hier_plan *plan, const mvf_search_config *config,
                                   int32_t level)
{
    const mvf_hier_plane *plane = &plan->planes[level];
    return (mvf_hier_level){.offset_bytes = plane->offset_bytes,
                            .stride_bytes = plane->stride_bytes,
                            .pair_bytes = plan->pair_bytes,
                            .width = plane->width,
                            .height = plane->height,
                            .block_w = config->block_w,
                            .block_h = config->block_h,
                            .step_x = config->step_x,
                            .step_y = config->step_y,
                            .cols = mvf_rule_level_cells(config->cols, level),
                            .rows = mvf_rule_level_cells(config->rows, level),
                            .range_x = mvf_rule_level_range(config->range_x, level),
                            .range_y = mvf_rule_level_range(config->range_y, level),
                            .inside = config->edges == MVF_EDGES_INSIDE,
                            .is_coarse = level > 0};
}

/* The top level. */

/* Positions of vectors under the widest (or highest) tile of n of `cells` blocks, whose window
 * begins at a multiple of `unit` samples. */
static int32_t widest_tile(int32_t cells, int32_t n, int32_t step, int32_t block, int32_t size,
                           int32_t range, int32_t unit)
{
    int32_t widest = 0;
    for (int32_t first = 0; first < cells; first += n) {
        int32_t last = mvf_min_i32(first + n, cells) - 1;
        int32_t begin = mvf_rule_coarse_origin(first, step, block, size) - range;
        int32_t end = mvf_rule_coarse_origin(last, step, block, size) + range + 1;
        int32_t width = end - (begin & ~(unit - 1));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Tiles of n_cols x n_rows blocks in shared memory. */
static void lay_out_tile(mvf_hier_plan *plan, const mvf_search_config *config, int32_t n_cols,
                         int32_t n_rows)
{
    mvf_hier_top_params *p = &plan->top;
    const mvf_hier_level *level = &p->level;
    int32_t size = config->sample_bytes, unit = MVF_HIER_COPY_BYTES / size;
    int32_t block_w = mvf_rule_coarse_block(level->block_w);
    int32_t block_h = mvf_rule_coarse_block(level->block_h);
    int32_t w = widest_tile(level->cols, n_cols, level->step_x, level->block_w, level->width,
                            level->range_x, unit);
    int32_t h = widest_tile(level->rows, n_rows, level->step_y, level->block_h, level->height,
                            level->range_y, 1);
    int32_t copied = ((w - 1) / MVF_HIER_GROUP * MVF_HIER_GROUP + block_w + MVF_HIER_GROUP) * size;
    p->tile_cols = n_cols;
    p->tile_rows = n_rows;
    p->n_tiles_across = mvf_divide_up_i32(level->cols, n_cols);
    p->n_parts = mvf_divide_up_i32(MVF_HIER_TOP_THREADS / 32, n_cols * n_rows);
    /* Rows of samples begin in other banks. */
    p->sample_pitch = 4 * (mvf_divide_up_i32(copied, MVF_HIER_COPY_BYTES) | 1);
    p->sample_rows = h - 1 + block_h;
    /* Lanes look at words of several rows at once. */
    p->table_pitch = MVF_HIER_GROUP * (mvf_divide_up_i32(w, MVF_HIER_GROUP) | 1);
    p->table_rows = h;
    p->sum_pitch = mvf_divide_up_i32(w + block_w / 2, MVF_HIER_GROUP);
    p->sum_rows = h + block_h / 2;
    /* Before there is a table, two bytes for each sum lie there, in whole copies. */
    int32_t sum_bytes = (p->sum_pitch + 1) / 2 * MVF_HIER_COPY_BYTES * p->sum_rows;
    p->table_words =
        mvf_max_i32(p->table_pitch * p->table_rows + MVF_HIER_TABLE_MORE, sum_bytes / 4);
    plan->n_tiles = p->n_tiles_across * mvf_divide_up_i32(level->rows, n_rows);
    plan->top_shared_bytes =
        4 * (p->sample_pitch * p->sample_rows + p->table_words + p->sum_pitch * p->sum_rows) +
        MVF_HIER_TOP_THREADS / 32 * block_w * block_h * size;
}

/* Of the tiles that fit into shared memory the one with the least of its table for each block. */
static void choose_tile(mvf_hier_plan *plan, const mvf_search_config *config, const mvf_cuda *cuda)
{
    int32_t most_bytes =
        mvf_min_i32(MVF_HIER_TILE_BYTES, cuda->shared_bytes - MVF_HIER_TOP_STATIC_BYTES);
    int32_t best_cols = 1, best_rows = 1;
    double best = -1;
    for (int32_t n_cols = MVF_HIER_TILE_SIDE; n_cols; n_cols /= 2)
        for (int32_t n_rows = MVF_HIER_TILE_SIDE; n_rows; n_rows /= 2) {
            lay_out_tile(plan, config, n_cols, n_rows);
            double cost = (double)(plan->top.table_pitch * plan->top.table_rows) / n_cols / n_rows;
            if (plan->top_shared_bytes > most_bytes || (best >= 0 && cost >= best))
                continue;
            best = cost;
            best_cols = n_cols;
            best_rows = n_rows;
        }
    lay_out_tile(plan, config, best_cols, best_rows);
}

static void prepare_top(mvf_hier_plan *plan, const mvf_search_config *config, const mvf_cuda *cuda)
{
    const mvf_hier_plane *plane = &plan->planes[plan->top_level];
    plan->top = (mvf_hier_top_params){
        .level = level_params(plan, config, plan->top_level),
        .sums_offset_bytes = plan->cells.to + plane->top * plan->cells.to_stride_bytes +
                             plane->left * (int64_t)sizeof(uint16_t),
        .sums_stride_bytes = plan->cells.to_stride_bytes,
        .bit_depth = config->bit_depth};
    choose_tile(plan, config, cuda);
}

/* The levels below. */

static void prepare_stage(mvf_hier_plan *plan, const mvf_search_config *config, int32_t level)
{
    mvf_hier_stage *stage = &plan->stages[level];
    int32_t block_w = level ? mvf_rule_coarse_block(config->block_w) : config->block_w;
    int32_t block_h = level ? mvf_rule_coarse_block(config->block_h) : config->block_h;
    int32_t row_words = block_w * config->sample_bytes / 4, block_words = row_words * block_h;
    int32_t window_words = (row_words + 1) * (block_h + 2), words = MVF_HIER_BELOW_SHARED_BYTES / 4;
    stage->n_warps = MVF_HIER_BELOW_THREADS / 32;
    while (words / stage->n_warps < block_words + window_words)
        stage->n_warps /= 2;
    int32_t n_at_once = (words / stage->n_warps - block_words) / window_words;
    stage->params =
        (mvf_hier_below_params){.level = level_params(plan, config, level),
                                .above_cols = mvf_rule_level_cells(config->cols, level + 1),
                                .above_rows = mvf_rule_level_cells(config->rows, level + 1),
                                .n_at_once = mvf_min_i32(n_at_once, MVF_HIER_STARTS)};
    stage->params.warp_words =
        (int32_t)mvf_round_up_i64(block_words + stage->params.n_at_once * window_words, 4);
    stage->shared_bytes = 4 * stage->params.warp_words * stage->n_warps;
}

static void lay_out_matches(mvf_hier_plan *plan, const mvf_search_config *config)
{
    for (int32_t level = 1; level <= plan->top_level; level++) {
        plan->first_bytes[level] = plan->pair_bytes;
        plan->pair_bytes += mvf_rule_level_cells(config->cols, level) *
                            (int64_t)mvf_rule_level_cells(config->rows, level) *
                            (int64_t)sizeof(mvf_match);
    }
}

/* Modules. */

static mvf_status get_search_top(mvf_hier_plan *plan, mvf_cuda *cuda)
{
    char name[32];
    int32_t block_w = mvf_rule_coarse_block(plan->top.level.block_w);
    int32_t block_h = mvf_rule_coarse_block(plan->top.level.block_h);
    int n = snprintf(name, sizeof name, "hier_top_%d_", (int)(8 * plan->sample_bytes));
    if (plan->top.level.width < block_w || plan->top.level.height < block_h)
        snprintf(name + n, sizeof name - (size_t)n, "cut");
    else
        snprintf(name + n, sizeof name - (size_t)n, "%d", (int)block_w);
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->search_top, plan->top_module, name);
    MVF_CUDA_TRY(cuda, cuFuncSetAttribute, plan->search_top,
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, plan->top_shared_bytes);
    MVF_CUDA_TRY(cuda, cuFuncSetAttribute, plan->search_top,
                 CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                 CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
    return MVF_OK;
}

/* The kernel for blocks so wide. */
static mvf_status get_search_below(mvf_hier_plan *plan, mvf_cuda *cuda, int32_t level,
                                   int32_t block_w)
{
    char name[32];
    snprintf(name, sizeof name, "hier_below_%d_w%d", (int)(8 * plan->sample_bytes),
             (int)(block_w * plan->sample_bytes / 4));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->stages[level].function, plan->below_module,
                 name);
    return MVF_OK;
}

static mvf_status load_pyramid(mvf_hier_plan *plan, mvf_cuda *cuda, int32_t sample_bytes)
{
    MVF_TRY(mvf_cuda_load(cuda, &plan->pyramid_module, mvf_fatbin_hier_pyramid));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->halve, plan->pyramid_module,
                 sample_bytes == 1 ? "halve_8" : "halve_16");
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->sum_cells, plan->pyramid_module,
                 sample_bytes == 1 ? "sum_cells_8" : "sum_cells_16");
    return MVF_OK;
}

static mvf_status load_searches(mvf_hier_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config)
{
    MVF_TRY(mvf_cuda_load(cuda, &plan->top_module, mvf_fatbin_hier_top));
    MVF_TRY(mvf_cuda_load(cuda, &plan->below_module, mvf_fatbin_hier_below));
    MVF_TRY(get_search_top(plan, cuda));
    for (int32_t level = 0; level < plan->top_level; level++)
        MVF_TRY(get_search_below(plan, cuda, level,
                                 level ? mvf_rule_coarse_block(config->block_w) : config->block_w));
    return MVF_OK;
}

mvf_status mvf_hier_plan_open(mvf_hier_plan *plan, mvf_cuda *cuda, const mvf_search_config *config,
                              const mvf_cuda_layout *layout)
{
    *plan = (mvf_hier_plan){.sample_bytes = config->sample_bytes,
                            .top_level = mvf_rule_top_level(config->range_x, config->range_y)};
    lay_out_planes(plan, config, layout);
    lay_out_matches(plan, config);
    prepare_top(plan, config, cuda);
    for (int32_t level = 0; level < plan->top_level; level++)
        prepare_stage(plan, config, level);
    mvf_status status = load_pyramid(plan, cuda, config->sample_bytes);
    if (status == MVF_OK)
        status = load_searches(plan, cuda, config);
    if (status != MVF_OK)
        mvf_hier_plan_close(plan, cuda);
    return status;
}

void mvf_hier_plan_close(mvf_hier_plan *plan, mvf_cuda *cuda)
{
    CUmodule *modules[] = {&plan->pyramid_module, &plan->top_module, &plan->below_module};
    for (int i = 0; i < 3; i++) {
        if (*modules[i])
            cuda->driver.cuModuleUnload(*modules[i]);
        *modules[i] = NULL;
    }
}

/* Launches. */

static mvf_status build_level(mvf_cuda *cuda, const mvf_hier_plan *plan, int32_t level,
                              const CUdeviceptr *frames, int32_t n_frames, CUstream stream)
{
    const mvf_hier_plane *from = &plan->planes[level - 1], *to = &plan->planes[level];
    mvf_halve_params params = {.from = from->offset_bytes,
                               .to = to->begin_bytes,
                               .from_stride_bytes = from->stride_bytes,
                               .to_stride_bytes = to->stride_bytes,
                               .from_width = from->width,
                               .from_height = from->height,
                               .width = to->width,
                               .height = to->height,
                               .border_left = to->left,
                               .border_top = to->top};
    void *arguments[] = {&params};
    int64_t n_runs = to->stride_bytes / (MVF_PYRAMID_RUN * plan->sample_bytes);
    for (int32_t i = 0; i < n_frames; i++)
        params.frames[i] = frames[i];
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->halve,
                 (unsigned)(mvf_round_up_i64(n_runs, MVF_PYRAMID_THREADS) / MVF_PYRAMID_THREADS),
                 (unsigned)to->n_rows, (unsigned)n_frames, MVF_PYRAMID_THREADS, 1, 1, 0, stream,
                 arguments, NULL);
    return MVF_OK;
}

mvf_status mvf_hier_build(mvf_cuda *cuda, const mvf_hier_plan *plan, const CUdeviceptr *frames,
                          int32_t n_frames, CUstream stream)
{
    mvf_cell_params cells = plan->cells;
    void *arguments[] = {&cells};
    for (int32_t level = 1; level <= plan->top_level; level++)
        MVF_TRY(build_level(cuda, plan, level, frames, n_frames, stream));
    for (int32_t i = 0; i < n_frames; i++)
        cells.frames[i] = frames[i];
    int32_t n_threads = cells.n_cols / MVF_PYRAMID_RUN;
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->sum_cells,
                 (unsigned)mvf_divide_up_i32(n_threads, MVF_PYRAMID_THREADS),
                 (unsigned)plan->n_cell_rows / MVF_PYRAMID_ROWS, (unsigned)n_frames,
                 MVF_PYRAMID_THREADS, 1, 1, 0, stream, arguments, NULL);
    return MVF_OK;
}

size_t mvf_hier_scratch_bytes(const mvf_hier_plan *plan, int32_t n_jobs)
{
    return (size_t)plan->pair_bytes * (size_t)n_jobs;
}

static mvf_status launch_top(mvf_cuda *cuda, const mvf_hier_plan *plan,
                             const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                             CUstream stream)
{
    mvf_hier_top_params params = plan->top;
    void *arguments[] = {&params};
    params.level.matches = scratch + (CUdeviceptr)plan->first_bytes[plan->top_level];
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->search_top, (unsigned)plan->n_tiles, (unsigned)n_jobs,
                 1, MVF_HIER_TOP_THREADS, 1, 1, (unsigned)plan->top_shared_bytes, stream, arguments,
                 NULL);
    return MVF_OK;
}

static mvf_status launch_stage(mvf_cuda *cuda, const mvf_hier_plan *plan, int32_t level,
                               const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                               CUstream stream)
{
    const mvf_hier_stage *stage = &plan->stages[level];
    mvf_hier_below_params params = stage->params;
    void *arguments[] = {&params};
    params.above = scratch + (CUdeviceptr)plan->first_bytes[level + 1];
    if (level)
        params.level.matches = scratch + (CUdeviceptr)plan->first_bytes[level];
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, stage->function,
                 (unsigned)mvf_divide_up_i32(params.level.cols, stage->n_warps),
                 (unsigned)params.level.rows, (unsigned)n_jobs, 32 * (unsigned)stage->n_warps, 1, 1,
                 (unsigned)stage->shared_bytes, stream, arguments, NULL);
    return MVF_OK;
}

mvf_status mvf_hier_launch(mvf_cuda *cuda, const mvf_hier_plan *plan, const mvf_search_pair *pairs,
                           int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    MVF_TRY(launch_top(cuda, plan, pairs, n_jobs, scratch, stream));
    for (int32_t level = plan->top_level - 1; level >= 0; level--)
        MVF_TRY(launch_stage(cuda, plan, level, pairs, n_jobs, scratch, stream));
    return MVF_OK;
}
