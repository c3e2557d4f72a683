/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/partition_cuda.h"

#include <string.h>

#include "base/error.h"
#include "base/integers.h"

/* The smallest square that the largest one may be, and the smallest of all. */
#define LEAST_LARGEST 16
#define LEAST 4
/* What a thread block searches, samples each way. */
#define UNIT 64
#define SHORT_STRIP MVF_PARTITION_SHORT_STRIP
/* Shared memory that the kernels declare, at most. */
#define DECLARED_BYTES 6144
/* Each way, of those that are tried: of the longest range they are a strip high and less. */
#define MOST_PANELS 50

/* Strips of a panel of candidates, full warps of them, and what is left for one more. */
typedef struct panel {
    int32_t n_cols, n_rows, n_full, n_left, is_short;
    int32_t window_rows, sums_words, n_words;
    /* Instructions of all warps for a unit, roughly; INT64_MAX: it does not fit. */
    int64_t cost;
} panel;

/* Warps' worth of strips, short ones aside, which all warps share. */
static int32_t n_groups(const panel *p)
{
    return p->n_full + (p->n_left > 0 && !p->is_short);
}

/* As few warps as need no more rounds through a panel's strips than all would; where strips are
 * few, two for each that takes them over half of the unit. */
static int32_t n_threads(const panel *p, const mvf_launch_shape *shape)
{
    int32_t most = shape->most_threads / 32, n = n_groups(p);
    if (n <= most / 2 && !shape->has_halves)
        n *= 2;
    return 32 * (n ? mvf_divide_up_i32(n, mvf_divide_up_i32(n, most)) : most);
}

/* Of squares that have a predictor of their own: the binary logarithm of how many of 4x4 they hold,
 * and words of the tables of their rate. */
static int32_t guide_shift(const mvf_search_config *config)
{
    int32_t shift = 0;
    while (LEAST << shift < config->block_w)
        shift++;
    return 2 * shift;
}

static int32_t guide_words(const mvf_launch_shape *shape, const mvf_search_config *config)
{
    return 2 * config->range_x + 1 + 2 * config->range_y + 1 + shape->strip;
}

static panel lay_out(const mvf_launch_shape *shape, const mvf_search_config *config,
                     int32_t most_words, int32_t n_cols, int32_t n_rows)
{
    int32_t strip = shape->strip, pitch = shape->pitch;
    int32_t cols = 2 * config->range_x + 1, rows = 2 * config->range_y + 1;
    int32_t n = mvf_divide_up_i32(n_rows, strip) * n_cols;
    panel p = {.n_cols = n_cols,
               .n_rows = n_rows,
               .n_full = n / 32,
               .n_left = n % 32,
               .window_rows = mvf_round_up_i32(mvf_max_i32(n_rows, strip) + UNIT - 1,
                                               MVF_PARTITION_WINDOW_ROWS)};
    p.is_short = !shape->has_halves && p.n_left * mvf_divide_up_i32(strip, SHORT_STRIP) <= 32;
    p.sums_words = shape->has_halves ? 0 : n_groups(&p) * strip * 32;
    p.n_words = UNIT * UNIT * config->sample_bytes / 4 + p.window_rows * pitch + p.sums_words;
    if (config->rate.lambda_q4)
        p.n_words +=
            (UNIT * UNIT / (LEAST * LEAST) >> guide_shift(config)) * guide_words(shape, config);
    if (p.n_words > most_words || n_cols + UNIT - 1 > pitch)
        return (panel){.cost = INT64_MAX};
    int64_t sads = 6 * config->sample_bytes * UNIT * UNIT / 16, last = p.n_left > 0;
    last *= p.is_short ? SHORT_STRIP + 6 : strip + 6;
    p.cost =
        sads * (p.n_full * (strip + 6) + last) + 8 * p.window_rows * mvf_divide_up_i32(pitch, 32);
    p.cost *= (int64_t)mvf_divide_up_i32(cols, n_cols) * mvf_divide_up_i32(rows, n_rows);
    return p;
}

static panel best_panel(const mvf_launch_shape *shape, const mvf_search_config *config,
                        int32_t most_words)
{
    int32_t cols = 2 * config->range_x + 1, rows = 2 * config->range_y + 1;
    panel best = {.cost = INT64_MAX};
    for (int32_t n_across = 1; n_across <= MOST_PANELS; n_across++)
        for (int32_t n_down = 1; n_down <= MOST_PANELS; n_down++) {
            panel p = lay_out(shape, config, most_words, mvf_divide_up_i32(cols, n_across),
                              mvf_divide_up_i32(rows, n_down));
            if (p.cost < best.cost)
                best = p;
        }
    return best;
}

/* Within as much dynamic shared memory as leaves a multiprocessor two thread blocks, if that is
 * enough for any panel; beside it lie what the kernels declare, and 1 KiB of each thread block. */
static panel choose_panel(const mvf_launch_shape *shape, const mvf_search_config *config,
                          const mvf_cuda *cuda)
{
    panel best = best_panel(shape, config, (cuda->shared_bytes / 2 - DECLARED_BYTES - 1024) / 4);
    return best.cost < INT64_MAX
               ? best
               : best_panel(shape, config, (cuda->shared_bytes - DECLARED_BYTES) / 4);
}

/* Squares from one pass, with halves or without, or those of one size side by side if they have a
 * rate. */
static int are_squares(const mvf_launch_shape *shape, const mvf_search_config *config)
{
    if (config->partitions == MVF_PARTITIONS_RECT)
        return shape->has_halves;
    return config->partitions == MVF_PARTITIONS_SQUARE ||
           (config->partitions == MVF_PARTITIONS_FIXED && config->rate.lambda_q4 &&
            config->block_h == config->block_w && config->step_x == config->block_w &&
            config->step_y == config->block_w);
}

int mvf_partition_serves(const mvf_launch_shape *shape, const mvf_search_config *config,
                         const mvf_cuda *cuda)
{
    return are_squares(shape, config) && config->method == MVF_METHOD_FULL &&
           config->metric == MVF_METRIC_SAD && config->block_w >= LEAST_LARGEST &&
           config->levels[config->n_levels - 1].w >= shape->smallest &&
           config->sample_bytes == shape->sample_bytes &&
           (!shape->most_range || config->range_x <= shape->most_range) &&
           choose_panel(shape, config, cuda).cost < INT64_MAX;
}

/* By shape - squares, upper and lower halves, left and right ones - and the square's size. */
static void set_levels(mvf_partition_params *params, const mvf_search_config *config)
{
    for (int32_t i = 0; i < 3; i++)
        for (int32_t k = 0; k < 5; k++)
            params->first_match[i][k] = -1;
    for (int32_t i = 0; i < config->n_levels; i++) {
        const mvf_level *level = &config->levels[i];
        int32_t shape = level->w > level->h ? 1 : level->w < level->h ? 2 : 0, k = 0;
        while (UNIT >> k > mvf_max_i32(level->w, level->h))
            k++;
        params->first_match[shape][k] = (int32_t)level->first_match;
        params->level_cols[shape][k] = level->cols;
    }
}

void mvf_partition_prepare(mvf_launch_plan *plan, const mvf_search_config *config,
                           const mvf_cuda *cuda, int64_t stride_bytes)
{
    panel best = choose_panel(plan->shape, config, cuda);
    mvf_partition_params *params = &plan->partition;
    *params = (mvf_partition_params){.stride_bytes = stride_bytes,
                                     .rate = config->rate,
                                     .width = config->width,
                                     .height = config->height,
                                     .cols = mvf_divide_up_i32(config->width, UNIT),
                                     .range_x = config->range_x,
                                     .range_y = config->range_y,
                                     .inside = config->edges == MVF_EDGES_INSIDE,
                                     .panel_cols = best.n_cols,
                                     .panel_rows = best.n_rows,
                                     .window_rows = best.window_rows,
                                     .sums_words = best.sums_words,
                                     .guide_shift = guide_shift(config),
                                     .guide_words = guide_words(plan->shape, config)};
    set_levels(params, config);
    plan->stages[0].shared_bytes = 4 * best.n_words;
    plan->n_threads = n_threads(&best, plan->shape);
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
    int32_t n_units = params.cols * mvf_divide_up_i32(params.height, UNIT);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->stages[0].function, (unsigned)n_units,
                 (unsigned)n_jobs, 1, (unsigned)plan->n_threads, 1, 1,
                 (unsigned)plan->stages[0].shared_bytes, stream, arguments, NULL);
    return MVF_OK;
}
