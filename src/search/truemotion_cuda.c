/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/truemotion_cuda.h"

#include "base/error.h"
#include "base/integers.h"
#include "search/truemotion.h"

extern const unsigned char mvf_fatbin_truemotion[];
extern const unsigned char mvf_fatbin_truemotion_image[];

/*
 * Memory of the pairs of a batch, and of images, unless one pair and its two images take more: two
 * batches of 4 pairs and their 9 images at 1080p, one batch of one pair at 4K. Either has cells
 * enough for 65,000 thread blocks of labels, of which 1,056 run at a time on 132 multiprocessors,
 * and lines for 1,500 warps of paths.
 */
#define BATCH_BYTES ((size_t)144 << 20)
#define IMAGE_BYTES ((size_t)416 << 20)
/* Pictures that wait there for their images: all that are in flight at 1080p, five of 8 bits or two
 * of 10 at 4K. */
#define PICTURE_BYTES ((size_t)48 << 20)

enum {
    BLUR_8,
    BLUR_16,
    HALVE,
    FEATURES,
    N_IMAGE_KERNELS,
    LABEL_TOP = N_IMAGE_KERNELS,
    LABEL,
    PATH,
    CHOOSE,
    MEDIAN_2,
    MEDIAN_4,
    DESCEND,
    CHECK,
    RATE,
    MEAN,
    CELLS,
    PIXELS,
    N_KERNELS
};

_Static_assert(N_KERNELS == MVF_TM_N_KERNELS, "the plan has room for each");
_Static_assert(sizeof(mvf_tm_match) == 8, "truemotion.cu writes this layout");

static const char *const kernel_names[N_KERNELS] = {
    [BLUR_8] = "truemotion_blur_8",       [BLUR_16] = "truemotion_blur_16",
    [HALVE] = "truemotion_halve",         [FEATURES] = "truemotion_features",
    [LABEL_TOP] = "truemotion_label_top", [LABEL] = "truemotion_label",
    [PATH] = "truemotion_path",           [CHOOSE] = "truemotion_choose",
    [MEDIAN_2] = "truemotion_median_2",   [MEDIAN_4] = "truemotion_median_4",
    [DESCEND] = "truemotion_descend",     [CHECK] = "truemotion_check",
    [RATE] = "truemotion_rate",           [MEAN] = "truemotion_mean",
    [CELLS] = "truemotion_cells",         [PIXELS] = "truemotion_pixels"};

/* Layout. */

static int32_t cell_px_of(int32_t level)
{
    return level ? MVF_TM_COARSE_CELL_PX : MVF_TM_CELL_PX;
}

static int64_t count_cells(const mvf_tm_cuda_level *level, int32_t cell_px)
{
    return mvf_divide_up_i64(level->width, cell_px) * mvf_divide_up_i64(level->height, cell_px);
}

static int has_finer_grid(const mvf_tm_plan *plan)
{
    return plan->step_px == 1 && plan->schedule->refines;
}

static void lay_out_level(const mvf_tm_plan *plan, mvf_tm_cuda_level *level, int64_t *end,
                          int32_t index)
{
    int64_t rows = level->height + 2 * MVF_TM_BORDER;
    level->stride_px = level->width + 2 * MVF_TM_BORDER;
    level->phase_bytes = rows * level->stride_px * 4;
    int64_t origin = (int64_t)MVF_TM_BORDER * (level->stride_px + 1) * 4;
    level->features = mvf_cuda_reserve(end, 4 * level->phase_bytes) + origin;
    if (!index && plan->step_px == 1)
        level->luma = mvf_cuda_reserve(end, (int64_t)level->width * level->height);
    if (!index)
        level->wide_guide = mvf_cuda_reserve(end, count_cells(level, MVF_TM_CELL_PX));
    if (index || has_finer_grid(plan))
        level->narrow_guide = mvf_cuda_reserve(end, count_cells(level, MVF_TM_COARSE_CELL_PX));
}

_Static_assert(MVF_TM_COARSE_CELL_PX == MVF_TM_CELL_PX / 2, "the finer grid's cells are as large");

static void lay_out_image(mvf_tm_plan *plan, int32_t width, int32_t height)
{
    int64_t end = 0;
    for (;;) {
        mvf_tm_cuda_level *level = &plan->levels[plan->n_levels];
        *level = (mvf_tm_cuda_level){.width = width, .height = height};
        lay_out_level(plan, level, &end, plan->n_levels++);
        if ((width < height ? width : height) < MVF_TM_SMALLEST_TO_HALVE ||
            plan->n_levels == MVF_TM_MAX_LEVELS)
            break;
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    plan->image_bytes = (size_t)end;
}

/* Labels and paths, behind what a grid of n cells has until its end. */
static void lay_out_labels(mvf_tm_params *p, int64_t *end, int64_t n)
{
    p->labels = mvf_cuda_reserve(end, 4 * MVF_TM_PLACES * n);
    p->costs = mvf_cuda_reserve(end, 2 * MVF_TM_PLACES * n);
    p->path_bytes = 2 * MVF_TM_PLACES * n;
    p->paths = mvf_cuda_reserve(end, 4 * p->path_bytes);
}

static void lay_out_vectors(mvf_tm_params *p, int64_t *end, int64_t n)
{
    p->vectors = mvf_cuda_reserve(end, 4 * n);
    p->made = mvf_cuda_reserve(end, 4 * n);
    p->visible = mvf_cuda_reserve(end, n);
    p->made_visible = mvf_cuda_reserve(end, n);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Matches are written where labels were, which nothing needs any more. */
static void lay_out_pair(mvf_tm_plan *plan, int64_t n_matches)
{
    mvf_tm_params *p = &plan->params, *fine = &plan->fine_params;
    int64_t end = 0, n = count_cells(&plan->levels[0], MVF_TM_CELL_PX);
    lay_out_vectors(p, &end, n);
    p->ratings = mvf_cuda_reserve(&end, (int64_t)sizeof(mvf_tm_match) * n);
    int64_t fine_end = end;
    lay_out_labels(p, &end, n);
    plan->flow_bytes = (size_t)end;
    *fine = *p;
    if (has_finer_grid(plan)) {
        n = count_cells(&plan->levels[0], MVF_TM_CELL_PX / 2);
        lay_out_vectors(fine, &fine_end, n);
        lay_out_labels(fine, &fine_end, n);
    }
    end = fine->labels;
    mvf_cuda_reserve(&end, (int64_t)sizeof(mvf_tm_match) * n_matches);
    plan->pair_bytes = larger(larger(2 * plan->flow_bytes, (size_t)fine_end), (size_t)end);
}

static size_t between(size_t low, size_t value, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* How many pairs and images share the device. */
static void share_out(mvf_tm_plan *plan, int32_t most_images, int32_t *batch_jobs)
{
    size_t most_jobs = between(1, (size_t)*batch_jobs, MVF_TM_BATCH);
    size_t most_pictures = most_images ? (size_t)most_images - 1 : MVF_TM_MOST_IMAGES;
    if (!most_images)
        most_images = MVF_TM_MOST_IMAGES;
    *batch_jobs = (int32_t)between(1, BATCH_BYTES / plan->pair_bytes, most_jobs);
    plan->n_images = (int32_t)between(2, IMAGE_BYTES / plan->image_bytes, (size_t)most_images);
    plan->n_pictures = (int32_t)between(0, PICTURE_BYTES / plan->picture_bytes, most_pictures);
    /* Those of a second batch have one in common with the first one's. */
    plan->n_searches = plan->n_images > 2 * *batch_jobs ? 2 : 1;
}

/* Opening and closing. */

static mvf_status load(mvf_tm_plan *plan, mvf_cuda *cuda)
{
    MVF_TRY(mvf_cuda_load(cuda, &plan->modules[0], mvf_fatbin_truemotion_image));
    MVF_TRY(mvf_cuda_load(cuda, &plan->modules[1], mvf_fatbin_truemotion));
    for (int i = 0; i < N_KERNELS; i++)
        MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->kernels[i],
                     plan->modules[i >= N_IMAGE_KERNELS], kernel_names[i]);
    return MVF_OK;
}

mvf_status mvf_tm_plan_open(mvf_tm_plan *plan, mvf_cuda *cuda, const mvf_search_config *config,
                            int64_t picture_stride_bytes, int32_t *batch_jobs)
{
    size_t rows = (size_t)config->height, row_bytes = (size_t)picture_stride_bytes;
    plan->schedule = &mvf_tm_schedules[config->effort];
    plan->step_px = config->step_x;
    plan->sample_bytes = config->sample_bytes;
    plan->bit_depth = config->bit_depth;
    plan->picture_stride_bytes = picture_stride_bytes;
    plan->picture_bytes = row_bytes * rows;
    lay_out_image(plan, config->width, config->height);
    lay_out_pair(plan, (int64_t)config->n_matches);
    share_out(plan, config->most_images, batch_jobs);
    MVF_TRY(load(plan, cuda));
    /* Level 1 has half as many columns and rows, rounded up: never more than the picture's bytes,
     * but for a few. */
    const mvf_tm_cuda_level *second = &plan->levels[plan->n_levels > 1];
    size_t level_1 = sizeof(uint16_t) * (size_t)second->width * (size_t)second->height;
    int64_t end = 0;
    mvf_cuda_reserve(&end, (int64_t)(sizeof(uint16_t) * (size_t)config->width * rows));
    plan->sample_bytes_0 = (size_t)end;
    mvf_cuda_reserve(&end, (int64_t)larger(plan->picture_bytes, level_1));
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &plan->samples, (size_t)end);
    return MVF_OK;
}

void mvf_tm_plan_close(mvf_tm_plan *plan, mvf_cuda *cuda)
{
    if (plan->samples)
        cuda->driver.cuMemFree_v2(plan->samples);
    for (int i = 0; i < 2; i++)
        if (plan->modules[i])
            cuda->driver.cuModuleUnload(plan->modules[i]);
}

CUdeviceptr mvf_tm_matches(const mvf_tm_plan *plan, CUdeviceptr memory, int32_t pair)
{
    return memory + (size_t)pair * plan->pair_bytes + (size_t)plan->fine_params.labels;
}

/* Images. */

typedef struct builder {
    mvf_cuda *cuda;
    const mvf_tm_plan *plan;
    CUstream stream;
    mvf_tm_image_params params;
} builder;

static mvf_status launch_image(builder *b, int kernel, int64_t across, int64_t down,
                               unsigned threads)
{
    void *arguments[] = {&b->params};
    MVF_CUDA_TRY(b->cuda, cuLaunchKernel, b->plan->kernels[kernel], (unsigned)across,
                 (unsigned)down, 1, threads, 1, 1, 0, b->stream, arguments, NULL);
    return MVF_OK;
}

/* The level's samples have been written to params.to. */
static mvf_status build_features(builder *b, int32_t index)
{
    const mvf_tm_cuda_level *level = &b->plan->levels[index];
    mvf_tm_image_params *p = &b->params;
    p->from = p->to;
    p->features = level->features;
    p->phase_bytes = level->phase_bytes;
    p->stride_px = level->stride_px;
    p->luma = level->luma;
    p->wide_guide = level->wide_guide;
    p->narrow_guide = level->narrow_guide;
    return launch_image(b, FEATURES, mvf_divide_up_i64(level->stride_px, MVF_TM_TILE_W),
                        mvf_divide_up_i64(level->height + 2 * MVF_TM_BORDER, MVF_TM_TILE_H),
                        MVF_TM_TILE_THREADS);
}

mvf_status mvf_tm_build(mvf_cuda *cuda, const mvf_tm_plan *plan, CUdeviceptr picture,
                        const void *pinned, CUdeviceptr image, CUstream stream)
{
    builder b = {cuda, plan, stream, {.image = image, .bit_depth = plan->bit_depth}};
    mvf_tm_image_params *p = &b.params;
    CUdeviceptr behind = plan->samples + plan->sample_bytes_0;
    if (!picture)
        MVF_CUDA_TRY(cuda, cuMemcpyHtoDAsync_v2, behind, pinned, plan->picture_bytes, stream);
    for (int32_t i = 0; i < plan->n_levels; i++) {
        const mvf_tm_cuda_level *level = &plan->levels[i];
        p->from = i ? p->to : picture ? picture : behind;
        p->from_stride_bytes = plan->picture_stride_bytes;
        p->from_width = p->width;
        p->from_height = p->height;
        p->to = i & 1 ? behind : plan->samples;
        p->width = level->width;
        p->height = level->height;
        MVF_TRY(launch_image(&b,
                             i                         ? HALVE
                             : plan->sample_bytes == 1 ? BLUR_8
                                                       : BLUR_16,
                             mvf_divide_up_i64(level->width, MVF_TM_THREADS), level->height,
                             MVF_TM_THREADS));
        MVF_TRY(build_features(&b, i));
    }
    return MVF_OK;
}

/* Searches. */

typedef struct search {
    mvf_cuda *cuda;
    const mvf_tm_plan *plan;
    CUstream stream;
    mvf_tm_params params;
    int32_t n_pairs, n_flows, n_passes;
} search;

static mvf_status launch(search *s, int kernel, int64_t n_blocks, unsigned threads)
{
    void *arguments[] = {&s->params};
    MVF_CUDA_TRY(s->cuda, cuLaunchKernel, s->plan->kernels[kernel], (unsigned)n_blocks,
                 (unsigned)s->n_flows, 1, threads, 1, 1, 0, s->stream, arguments, NULL);
    return MVF_OK;
}

static int64_t count(const search *s)
{
    return (int64_t)s->params.cols * s->params.rows;
}

static mvf_status launch_cells(search *s, int kernel)
{
    return launch(s, kernel, mvf_divide_up_i64(count(s), MVF_TM_THREADS), MVF_TM_THREADS);
}

static mvf_status launch_teams(search *s, int kernel)
{
    return launch(s, kernel, mvf_divide_up_i64(count(s) * MVF_TM_TEAM, MVF_TM_THREADS),
                  MVF_TM_THREADS);
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

static void enter_grid(search *s, int32_t index, int32_t cell_px)
{
    const mvf_tm_cuda_level *level = &s->plan->levels[index];
    mvf_tm_params *p = &s->params;
    p->coarse_cols = p->cols;
    p->features = level->features;
    p->phase_bytes = level->phase_bytes;
    p->luma = level->luma;
    p->guide = cell_px == MVF_TM_CELL_PX ? level->wide_guide : level->narrow_guide;
    p->width = level->width;
    p->height = level->height;
    p->stride_px = level->stride_px;
    p->cols = (int32_t)mvf_divide_up_i64(level->width, cell_px);
    p->rows = (int32_t)mvf_divide_up_i64(level->height, cell_px);
    p->cell_px = cell_px;
}

/* From the grid before to this one. */
static mvf_status descend(search *s, int32_t shift, int32_t scale)
{
    s->params.shift = shift;
    s->params.scale = scale;
    MVF_TRY(launch_cells(s, DESCEND));
    swap(&s->params.vectors, &s->params.made);
    if (s->params.is_checked)
        swap(&s->params.visible, &s->params.made_visible);
    return MVF_OK;
}

static mvf_status choose(search *s, int32_t penalty_max)
{
    int32_t turn = s->n_passes++ & 1, both = s->plan->schedule->both_axes;
    mvf_tm_params *p = &s->params;
    p->penalty_max = penalty_max;
    p->by_rows = both || !turn;
    p->by_cols = both || turn;
    int64_t n_lines =
        (p->by_rows ? 2 * (int64_t)p->rows : 0) + (p->by_cols ? 2 * (int64_t)p->cols : 0);
    MVF_TRY(launch(s, PATH, mvf_divide_up_i64(n_lines * MVF_TM_TEAM, MVF_TM_PATH_THREADS),
                   MVF_TM_PATH_THREADS));
    return launch_cells(s, CHOOSE);
}

static mvf_status run_pass(search *s, int32_t log2_step, int32_t penalty_max)
{
    s->params.log2_step = log2_step;
    MVF_TRY(launch_teams(s, LABEL));
    return choose(s, penalty_max);
}

static mvf_status take_median(search *s, int kernel)
{
    int64_t across = mvf_divide_up_i64(s->params.cols, MVF_TM_TILE_W);
    MVF_TRY(launch(s, kernel, across * mvf_divide_up_i64(s->params.rows, MVF_TM_TILE_H),
                   MVF_TM_TILE_THREADS));
    swap(&s->params.vectors, &s->params.made);
    return MVF_OK;
}

static void reach_far(mvf_tm_params *p)
{
    p->n_reaches = 3;
    p->reaches[0] = 1;
    p->reaches[1] = 3;
    p->reaches[2] = 8;
}

static mvf_status search_level(search *s, int32_t index)
{
    const mvf_tm_schedule *schedule = s->plan->schedule;
    int32_t is_top = index == s->plan->n_levels - 1;
    enter_grid(s, index, cell_px_of(index));
    /* From 2x2 px of level 1 to 4x4 px of level 0 the grid stays the same. */
    if (!is_top)
        MVF_TRY(descend(s, index ? 1 : 0, 2));
    s->params.few = schedule->coarse_pattern == MVF_TM_PATTERN_4;
    if (is_top) {
        MVF_TRY(launch_teams(s, LABEL_TOP));
        MVF_TRY(choose(s, MVF_TM_COARSE_PENALTY_MAX));
    }
    for (int32_t step = MVF_TM_HALF; index && step >= MVF_TM_QUARTER; step--) {
        MVF_TRY(run_pass(s, step, MVF_TM_COARSE_PENALTY_MAX));
        MVF_TRY(take_median(s, MEDIAN_2));
    }
    s->params.few = 0;
    for (int32_t i = 0; !index && i < schedule->n_fine; i++)
        MVF_TRY(run_pass(s, i ? MVF_TM_EIGHTH : MVF_TM_QUARTER, MVF_TM_PENALTY_MAX));
    return MVF_OK;
}

/* From here on only what is searched forward matters. */
static mvf_status check(search *s)
{
    s->n_flows = s->n_pairs;
    s->params.flow_step = 2;
    MVF_TRY(launch_cells(s, CHECK));
    s->params.is_checked = 1;
    return take_median(s, MEDIAN_2);
}

static mvf_status take_mean(search *s)
{
    MVF_TRY(launch_cells(s, MEAN));
    swap(&s->params.vectors, &s->params.made);
    return MVF_OK;
}

/* From here on offsets are those of the finer grid, whose vectors come from the ones before. */
static mvf_status enter_fine_memory(search *s)
{
    const mvf_tm_params *fine = &s->plan->fine_params;
    mvf_tm_params *p = &s->params;
    p->made = fine->vectors;
    p->made_visible = fine->visible;
    MVF_TRY(descend(s, 1, 1));
    p->made = fine->made;
    p->made_visible = fine->made_visible;
    p->labels = fine->labels;
    p->costs = fine->costs;
    p->paths = fine->paths;
    p->path_bytes = fine->path_bytes;
    return MVF_OK;
}

static mvf_status match_pixels(search *s)
{
    int32_t rated_cols = s->params.cols;
    if (s->plan->schedule->refines) {
        s->n_passes = 0;
        enter_grid(s, 0, MVF_TM_CELL_PX / 2);
        MVF_TRY(enter_fine_memory(s));
        s->params.n_reaches = 1;
        s->params.reaches[0] = 2;
        MVF_TRY(run_pass(s, MVF_TM_EIGHTH, MVF_TM_PENALTY_MAX));
        MVF_TRY(take_median(s, MEDIAN_4));
    }
    MVF_TRY(take_mean(s));
    s->params.coarse_cols = rated_cols;
    int64_t n = (int64_t)s->params.width * s->params.height;
    return launch(s, PIXELS, mvf_divide_up_i64(n, MVF_TM_THREADS), MVF_TM_THREADS);
}

mvf_status mvf_tm_launch(mvf_cuda *cuda, const mvf_tm_plan *plan, const mvf_search_pair *pairs,
                         int32_t n_jobs, CUdeviceptr memory, CUstream stream)
{
    search s = {cuda, plan, stream, plan->params, n_jobs, 2 * n_jobs, 0};
    for (int32_t i = 0; i < n_jobs; i++) {
        CUdeviceptr work = memory + (size_t)i * plan->pair_bytes;
        s.params.flows[2 * i] = (mvf_tm_flow){pairs[i].current, pairs[i].reference, work};
        s.params.flows[2 * i + 1] =
            (mvf_tm_flow){pairs[i].reference, pairs[i].current, work + plan->flow_bytes};
    }
    s.params.flow_step = 1;
    s.params.matches = mvf_tm_matches(plan, memory, 0);
    s.params.match_bytes = (int64_t)plan->pair_bytes;
    reach_far(&s.params);
    for (int32_t i = plan->n_levels - 1; i >= 0; i--)
        MVF_TRY(search_level(&s, i));
    MVF_TRY(check(&s));
    MVF_TRY(launch_teams(&s, RATE));
    if (plan->step_px == 1)
        return match_pixels(&s);
    MVF_TRY(take_mean(&s));
    return launch_cells(&s, CELLS);
}
