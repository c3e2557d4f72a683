/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/truemotion_cuda.h"

#include "base/error.h"
#include "search/truemotion.h"

extern const unsigned char mvf_fatbin_truemotion[];
extern const unsigned char mvf_fatbin_truemotion_image[];

/* Parts of an image and of a flow's memory begin at multiples of this. */
#define ALIGNMENT 256
/* Memory of the flows of a batch, unless one pair takes more. */
#define BATCH_BYTES ((size_t)512 << 20)

enum {
    BLUR_8,
    BLUR_16,
    HALVE,
    FEATURES,
    GUIDE,
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
    [BLUR_8] = "truemotion_blur_8",     [BLUR_16] = "truemotion_blur_16",
    [HALVE] = "truemotion_halve",       [FEATURES] = "truemotion_features",
    [GUIDE] = "truemotion_guide",       [LABEL_TOP] = "truemotion_label_top",
    [LABEL] = "truemotion_label",       [PATH] = "truemotion_path",
    [CHOOSE] = "truemotion_choose",     [MEDIAN_2] = "truemotion_median_2",
    [MEDIAN_4] = "truemotion_median_4", [DESCEND] = "truemotion_descend",
    [CHECK] = "truemotion_check",       [RATE] = "truemotion_rate",
    [MEAN] = "truemotion_mean",         [CELLS] = "truemotion_cells",
    [PIXELS] = "truemotion_pixels"};

static int64_t divide_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit;
}

/* Layout. */

static int64_t reserve(int64_t *end, int64_t n_bytes)
{
    int64_t at = *end;
    *end += divide_up(n_bytes, ALIGNMENT) * ALIGNMENT;
    return at;
}

static int32_t cell_px_of(int32_t level)
{
    return level ? MVF_TM_COARSE_CELL_PX : MVF_TM_CELL_PX;
}

static int64_t count_cells(const mvf_tm_cuda_level *level, int32_t cell_px)
{
    return divide_up(level->width, cell_px) * divide_up(level->height, cell_px);
}

static void lay_out_level(mvf_tm_cuda_level *level, int64_t *end, int32_t index)
{
    int64_t rows = level->height + 2 * MVF_TM_BORDER;
    level->stride_px = level->width + 2 * MVF_TM_BORDER;
    level->phase_bytes = rows * level->stride_px * 4;
    int64_t origin = (int64_t)MVF_TM_BORDER * (level->stride_px + 1) * 4;
    level->features = reserve(end, 4 * level->phase_bytes) + origin;
    level->luma = reserve(end, (int64_t)level->width * level->height);
    level->guide = reserve(end, count_cells(level, cell_px_of(index)));
    if (!index)
        level->fine_guide = reserve(end, count_cells(level, MVF_TM_CELL_PX / 2));
}

static void lay_out_image(mvf_tm_plan *plan, int32_t width, int32_t height)
{
    int64_t end = 0;
    for (;;) {
        mvf_tm_cuda_level *level = &plan->levels[plan->n_levels];
        *level = (mvf_tm_cuda_level){.width = width, .height = height};
        lay_out_level(level, &end, plan->n_levels++);
        if ((width < height ? width : height) < MVF_TM_SMALLEST_TO_HALVE ||
            plan->n_levels == MVF_TM_MAX_LEVELS)
            break;
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    plan->image_bytes = (size_t)end;
}

static int has_finer_grid(const mvf_tm_plan *plan)
{
    return plan->step_px == 1 && plan->schedule->refines;
}

static void lay_out_flow(mvf_tm_plan *plan)
{
    mvf_tm_params *p = &plan->params;
    int64_t end = 0, n = count_cells(&plan->levels[0], MVF_TM_CELL_PX), n_rated = n;
    if (has_finer_grid(plan))
        n = count_cells(&plan->levels[0], MVF_TM_CELL_PX / 2);
    p->vectors = reserve(&end, 4 * n);
    p->made = reserve(&end, 4 * n);
    p->visible = reserve(&end, n);
    p->made_visible = reserve(&end, n);
    p->labels = reserve(&end, 4 * MVF_TM_PLACES * n);
    p->costs = reserve(&end, 2 * MVF_TM_PLACES * n);
    p->path_bytes = 2 * MVF_TM_PLACES * n;
    p->paths = reserve(&end, 4 * p->path_bytes);
    p->ratings = reserve(&end, (int64_t)sizeof(mvf_tm_match) * n_rated);
    plan->flow_bytes = (size_t)end;
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

mvf_status mvf_tm_plan_open(mvf_tm_plan *plan, mvf_cuda *cuda, const mvf_search_config *config)
{
    if (config->method != MVF_METHOD_TRUEMOTION)
        return MVF_OK;
    plan->schedule = &mvf_tm_schedules[config->effort];
    plan->step_px = config->step_x;
    plan->sample_bytes = config->sample_bytes;
    plan->bit_depth = config->bit_depth;
    lay_out_image(plan, config->width, config->height);
    lay_out_flow(plan);
    MVF_TRY(load(plan, cuda));
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &plan->samples,
                 2 * sizeof(uint16_t) * (size_t)config->width * (size_t)config->height);
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

size_t mvf_tm_scratch_bytes(const mvf_tm_plan *plan, int32_t n_jobs)
{
    return 2 * (size_t)n_jobs * plan->flow_bytes;
}

int32_t mvf_tm_most_jobs(const mvf_tm_plan *plan)
{
    size_t n = BATCH_BYTES / mvf_tm_scratch_bytes(plan, 1);
    return n < 1 ? 1 : n > MVF_TM_BATCH ? MVF_TM_BATCH : (int32_t)n;
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

static mvf_status build_guide(builder *b, int64_t guide, int32_t cell_px)
{
    mvf_tm_image_params *p = &b->params;
    p->guide = guide;
    p->cell_px = cell_px;
    p->cols = (int32_t)divide_up(p->width, cell_px);
    return launch_image(b, GUIDE, divide_up(p->cols, MVF_TM_THREADS), divide_up(p->height, cell_px),
                        MVF_TM_THREADS);
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
    MVF_TRY(launch_image(b, FEATURES, divide_up(level->stride_px, MVF_TM_TILE_W),
                         divide_up(level->height + 2 * MVF_TM_BORDER, MVF_TM_TILE_H),
                         MVF_TM_TILE_THREADS));
    MVF_TRY(build_guide(b, level->guide, cell_px_of(index)));
    return index || !has_finer_grid(b->plan)
               ? MVF_OK
               : build_guide(b, level->fine_guide, MVF_TM_CELL_PX / 2);
}

mvf_status mvf_tm_build(mvf_cuda *cuda, const mvf_tm_plan *plan, CUdeviceptr picture,
                        int64_t stride_bytes, CUdeviceptr image, CUstream stream)
{
    builder b = {cuda, plan, stream, {.image = image, .bit_depth = plan->bit_depth}};
    mvf_tm_image_params *p = &b.params;
    size_t half = sizeof(uint16_t) * (size_t)plan->levels[0].width * (size_t)plan->levels[0].height;
    for (int32_t i = 0; i < plan->n_levels; i++) {
        const mvf_tm_cuda_level *level = &plan->levels[i];
        p->from = i ? p->to : picture;
        p->from_stride_bytes = stride_bytes;
        p->from_width = p->width;
        p->from_height = p->height;
        p->to = plan->samples + (i & 1 ? half : 0);
        p->width = level->width;
        p->height = level->height;
        MVF_TRY(launch_image(&b,
                             i                         ? HALVE
                             : plan->sample_bytes == 1 ? BLUR_8
                                                       : BLUR_16,
                             divide_up(level->width, MVF_TM_THREADS), level->height,
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
    return launch(s, kernel, divide_up(count(s), MVF_TM_THREADS), MVF_TM_THREADS);
}

static mvf_status launch_teams(search *s, int kernel)
{
    return launch(s, kernel, divide_up(count(s) * MVF_TM_TEAM, MVF_TM_THREADS), MVF_TM_THREADS);
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
    p->guide = cell_px == cell_px_of(index) ? level->guide : level->fine_guide;
    p->width = level->width;
    p->height = level->height;
    p->stride_px = level->stride_px;
    p->cols = (int32_t)divide_up(level->width, cell_px);
    p->rows = (int32_t)divide_up(level->height, cell_px);
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
    MVF_TRY(launch(s, PATH, divide_up(n_lines * MVF_TM_TEAM, MVF_TM_PATH_THREADS),
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
    int64_t across = divide_up(s->params.cols, MVF_TM_TILE_W);
    MVF_TRY(
        launch(s, kernel, across * divide_up(s->params.rows, MVF_TM_TILE_H), MVF_TM_TILE_THREADS));
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

static mvf_status match_pixels(search *s)
{
    int32_t rated_cols = s->params.cols;
    if (s->plan->schedule->refines) {
        s->n_passes = 0;
        enter_grid(s, 0, MVF_TM_CELL_PX / 2);
        MVF_TRY(descend(s, 1, 1));
        s->params.n_reaches = 1;
        s->params.reaches[0] = 2;
        MVF_TRY(run_pass(s, MVF_TM_EIGHTH, MVF_TM_PENALTY_MAX));
        MVF_TRY(take_median(s, MEDIAN_4));
    }
    MVF_TRY(take_mean(s));
    s->params.coarse_cols = rated_cols;
    int64_t n = (int64_t)s->params.width * s->params.height;
    return launch(s, PIXELS, divide_up(n, MVF_TM_THREADS), MVF_TM_THREADS);
}

mvf_status mvf_tm_launch(mvf_cuda *cuda, const mvf_tm_plan *plan, const mvf_search_pair *pairs,
                         int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    search s = {cuda, plan, stream, plan->params, n_jobs, 2 * n_jobs, 0};
    for (int32_t i = 0; i < n_jobs; i++) {
        CUdeviceptr work = scratch + 2 * (size_t)i * plan->flow_bytes;
        s.params.flows[2 * i] = (mvf_tm_flow){pairs[i].current, pairs[i].reference, work};
        s.params.flows[2 * i + 1] =
            (mvf_tm_flow){pairs[i].reference, pairs[i].current, work + plan->flow_bytes};
    }
    s.params.flow_step = 1;
    s.params.matches = pairs[0].matches;
    s.params.match_bytes = n_jobs > 1 ? (int64_t)(pairs[1].matches - pairs[0].matches) : 0;
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
