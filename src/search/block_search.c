/*
 * One unit of work is a block of the grid or, with partitions, a largest square with all that it
 * can be split into. Its candidates are tried in rank order, so that only a strictly smaller J
 * replaces a best one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "search/block_search.h"

#include <stdlib.h>

#include "base/memory.h"
#include "search/rank.h"
#include "search/refine.h"
#include "search/subpel_rule.h"

/* Blocks of all levels in 64 x 64 with halves: squares 1 + 4 + 16 + 64 + 256, four halves for each
 * square but the smallest. */
#define MAX_NODES 681
#define PATCH_SIDE (MVF_MAX_BLOCK + 2 * MVF_SUBPEL_MARGIN)

/* What one worker writes. */
typedef struct scratch {
    uint16_t current[MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    /* A prediction in whole samples, or what refinement reads. */
    uint16_t around[PATCH_SIDE * PATCH_SIDE];
    /* The reference under all candidates of a full search. */
    uint16_t *window;
    /* The candidates round hints. */
    mvf_vector *starts;
    /* Of each node: the metric at the candidate at hand, the best J, and the candidate it is of. */
    uint32_t sums[MAX_NODES], best_j[MAX_NODES];
    int32_t best_index[MAX_NODES];
} scratch;

struct mvf_block_search {
    const mvf_search_config *config;
    mvf_metric_function metric;
    mvf_partition_ops partition;
    mvf_byte_ops bytes;
    mvf_refiner refiner;
    /* Of a full search. */
    mvf_vector *candidates;
    int32_t n_candidates;
    int32_t n_nodes;
    scratch *scratch;
    int32_t n_workers;
};

typedef struct unit {
    const mvf_block_search *search;
    const mvf_plane *current_plane, *reference_plane;
    scratch *scratch;
    int32_t x, y, w, h;
    mvf_patch current;
    mvf_patch window;
    mvf_vector predictor;
    const mvf_vector *candidates;
    int32_t n_candidates;
} unit;

int mvf_block_search_needed(const mvf_search_config *config)
{
    return config->rate.lambda_q4 || config->metric != MVF_METRIC_SAD ||
           config->method == MVF_METHOD_REFINE || config->partitions != MVF_PARTITIONS_FIXED;
}

static mvf_patch around_patch(const unit *u)
{
    return (mvf_patch){u->scratch->around, PATCH_SIDE * sizeof *u->scratch->around};
}

/* The reference samples that the unit is compared with at the candidate. */
static mvf_patch reference_at(const unit *u, mvf_vector v)
{
    const mvf_search_config *config = u->search->config;
    if (config->method != MVF_METHOD_REFINE)
        return mvf_patch_move(u->window, v.x + config->range_x, v.y + config->range_y);
    mvf_patch_gather(around_patch(u), u->reference_plane, u->x + v.x, u->y + v.y, u->w, u->h);
    return around_patch(u);
}

static uint32_t rate_of(const unit *u, mvf_vector v)
{
    return mvf_rule_rate(&u->search->config->rate, 4 * v.x - u->predictor.x,
                         4 * v.y - u->predictor.y);
}

static mvf_window window_of(const unit *u, int32_t x, int32_t y, int32_t w, int32_t h)
{
    const mvf_search_config *config = u->search->config;
    return mvf_rule_window(x, y, w, h, config->width, config->height, config->range_x,
                           config->range_y, config->edges == MVF_EDGES_INSIDE);
}

static int is_in(mvf_window window, mvf_vector v)
{
    return v.x >= window.x_min && v.x <= window.x_max && v.y >= window.y_min && v.y <= window.y_max;
}

/* Refines the match of a block that lies in the unit. */
static mvf_match refine(const unit *u, mvf_refine_block block, mvf_match match)
{
    const mvf_block_search *search = u->search;
    if (search->config->subpel == MVF_SUBPEL_NONE)
        return match;
    mvf_patch_gather(around_patch(u), u->reference_plane, block.x + match.x - MVF_SUBPEL_MARGIN,
                     block.y + match.y - MVF_SUBPEL_MARGIN, block.w + 2 * MVF_SUBPEL_MARGIN,
                     block.h + 2 * MVF_SUBPEL_MARGIN);
    block.current = mvf_patch_move(u->current, block.x - u->x, block.y - u->y);
    block.reference = mvf_patch_move(around_patch(u), MVF_SUBPEL_MARGIN, MVF_SUBPEL_MARGIN);
    block.predictor = u->predictor;
    return mvf_refine(&search->refiner, &block, match);
}

/* Whether the planes themselves serve: the reference has borders of the search range. */
static int takes_bytes(const unit *u)
{
    return u->search->bytes.sad && u->w % 8 == 0;
}

static uint32_t cost_of(const unit *u, mvf_vector v, uint32_t limit)
{
    if (takes_bytes(u))
        return u->search->bytes.sad(mvf_plane_at(u->current_plane, u->x, u->y),
                                    u->current_plane->stride_bytes,
                                    mvf_plane_at(u->reference_plane, u->x + v.x, u->y + v.y),
                                    u->reference_plane->stride_bytes, u->w, u->h, limit);
    return u->search->metric(u->current, reference_at(u, v), u->w, u->h, limit);
}

static mvf_match search_block(const unit *u)
{
    mvf_window window = window_of(u, u->x, u->y, u->w, u->h);
    mvf_match best = {0, 0, 0};
    uint32_t best_j = UINT32_MAX;
    for (int32_t i = 0; i < u->n_candidates && best_j > 0; i++) {
        mvf_vector v = u->candidates[i];
        uint32_t rate = rate_of(u, v);
        if (!is_in(window, v) || rate >= best_j)
            continue;
        uint32_t limit = best_j - rate;
        uint32_t cost = cost_of(u, v, limit);
        if (cost >= limit)
            continue;
        best = (mvf_match){v.x, v.y, cost};
        best_j = cost + rate;
    }
    return refine(u, (mvf_refine_block){.x = u->x, .y = u->y, .w = u->w, .h = u->h}, best);
}

/* Partitions. */

/* The costs of the smallest blocks of a unit that lies wholly in the frame, all at once; 0 where
 * that cannot be done. */
static int sum_smallest_at_once(const unit *u, mvf_vector v, const mvf_level *level, uint32_t *sums)
{
    const mvf_block_search *search = u->search;
    if (u->w < search->config->block_w || u->h < search->config->block_h)
        return 0;
    if (search->bytes.sads_8 && level->w == 8)
        search->bytes.sads_8(mvf_plane_at(u->current_plane, u->x, u->y),
                             u->current_plane->stride_bytes,
                             mvf_plane_at(u->reference_plane, u->x + v.x, u->y + v.y),
                             u->reference_plane->stride_bytes, u->w / 8, u->h / 8, sums);
    else if (search->partition.sads)
        search->partition.sads(u->current, reference_at(u, v), level->w, u->w / level->w,
                               u->h / level->h, sums);
    else
        return 0;
    return 1;
}

/* The costs of the smallest blocks; those outside the frame cost nothing. */
static void sum_smallest(const unit *u, mvf_vector v, const mvf_level *level, uint32_t *sums)
{
    const mvf_search_config *config = u->search->config;
    if (sum_smallest_at_once(u, v, level, sums))
        return;
    mvf_patch reference = reference_at(u, v);
    for (int32_t y = 0; y < config->block_h; y += level->h)
        for (int32_t x = 0; x < config->block_w; x += level->w, sums++) {
            int32_t w = mvf_rule_visible(x, level->w, u->w);
            int32_t h = mvf_rule_visible(y, level->h, u->h);
            *sums = w <= 0 || h <= 0
                        ? 0
                        : u->search->metric(mvf_patch_move(u->current, x, y),
                                            mvf_patch_move(reference, x, y), w, h, UINT32_MAX);
        }
}

/* Sums neighbours in a row (two columns to one), n of them in all. */
static void pair_columns(uint32_t *to, const uint32_t *from, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        to[i] = from[2 * i] + from[2 * i + 1];
}

/* Sums rows of `n_cols` (two to one), n_rows of them in all. */
static void pair_rows(uint32_t *to, const uint32_t *from, int32_t n_cols, int32_t n_rows)
{
    for (int32_t row = 0; row < n_rows; row++, from += 2 * n_cols)
        for (int32_t col = 0; col < n_cols; col++)
            *to++ = from[col] + from[n_cols + col];
}

/* From the smallest blocks up, the costs of all others at one candidate. */
static void sum_levels(const unit *u, mvf_vector v)
{
    const mvf_search_config *config = u->search->config;
    const mvf_level *level = &config->levels[config->n_levels - 1];
    int32_t stride = config->partitions == MVF_PARTITIONS_RECT ? 3 : 1;
    uint32_t *sums = u->scratch->sums, halves[2 * 64];
    sum_smallest(u, v, level, sums + level->first_node);
    while (level > config->levels) {
        const uint32_t *below = sums + level->first_node;
        int32_t n = config->block_w / level->w;
        level -= stride;
        pair_columns(halves, below, n * n / 2);
        pair_rows(sums + level->first_node, halves, n / 2, n / 2);
        if (stride == 3) {
            pair_columns(sums + level[1].first_node, below, n * n / 2);
            pair_rows(sums + level[2].first_node, below, n, n / 2);
        }
    }
}

typedef void (*node_visitor)(const unit *u, void *opaque, const mvf_level *level, int32_t node,
                             mvf_refine_block block);

/* Visits the unit's nodes that lie in the frame. */
static void visit_nodes(const unit *u, node_visitor visit, void *opaque)
{
    const mvf_search_config *config = u->search->config;
    for (const mvf_level *level = config->levels; level < config->levels + config->n_levels;
         level++) {
        int32_t node = level->first_node;
        for (int32_t y = 0; y < config->block_h; y += level->h)
            for (int32_t x = 0; x < config->block_w; x += level->w, node++)
                if (x < u->w && y < u->h)
                    visit(u, opaque, level, node,
                          (mvf_refine_block){.x = u->x + x,
                                             .y = u->y + y,
                                             .w = mvf_rule_visible(x, level->w, u->w),
                                             .h = mvf_rule_visible(y, level->h, u->h)});
    }
}

/* Takes the candidate away from a block that it would move out of the frame. */
static void bar_node(const unit *u, void *opaque, const mvf_level *level, int32_t node,
                     mvf_refine_block block)
{
    const mvf_vector *v = opaque;
    (void)level;
    if (!is_in(window_of(u, block.x, block.y, block.w, block.h), *v))
        u->scratch->sums[node] = UINT32_MAX - rate_of(u, *v);
}

static void store_node(const unit *u, void *opaque, const mvf_level *level, int32_t node,
                       mvf_refine_block block)
{
    mvf_match *matches = opaque;
    mvf_vector v = u->candidates[u->scratch->best_index[node]];
    mvf_match match = {v.x, v.y, u->scratch->best_j[node] - rate_of(u, v)};
    size_t place =
        (size_t)(block.y / level->h) * (size_t)level->cols + (size_t)(block.x / level->w);
    matches[level->first_match + place] = refine(u, block, match);
}

static void search_partitions(const unit *u, mvf_match *matches)
{
    const mvf_block_search *search = u->search;
    scratch *s = u->scratch;
    mvf_window common = window_of(u, u->x, u->y, u->w, u->h);
    for (int32_t i = 0; i < search->n_nodes; i++)
        s->best_j[i] = UINT32_MAX;
    for (int32_t i = 0; i < u->n_candidates; i++) {
        mvf_vector v = u->candidates[i];
        sum_levels(u, v);
        /* What the whole unit may do, each part of it may. */
        if (!is_in(common, v))
            visit_nodes(u, bar_node, &v);
        search->partition.keep(s->sums, s->best_j, s->best_index, search->n_nodes, rate_of(u, v),
                               i);
    }
    visit_nodes(u, store_node, matches);
}

/* Candidates round hints. */

static int32_t whole(int32_t quarters)
{
    return (quarters + 2) >> 2;
}

static int32_t add_window(const unit *u, mvf_vector start, int32_t n)
{
    const mvf_search_config *config = u->search->config;
    int32_t r = config->refine_range, x = whole(start.x), y = whole(start.y);
    for (int32_t dy = y - r; dy <= y + r; dy++)
        for (int32_t dx = x - r; dx <= x + r; dx++)
            if (abs(dx) <= config->range_x && abs(dy) <= config->range_y)
                u->scratch->starts[n++] = (mvf_vector){(int16_t)dx, (int16_t)dy};
    return n;
}

/* The zero vector and the windows round the predictor and the hints, by rank, each vector once. */
static void list_starts(unit *u, const mvf_vector *hints, int32_t n_hints)
{
    mvf_vector *list = u->scratch->starts;
    int32_t n = 0, n_kept = 1;
    list[n++] = (mvf_vector){0, 0};
    n = add_window(u, u->predictor, n);
    for (int32_t i = 0; i < n_hints; i++)
        n = add_window(u, hints[i], n);
    mvf_rank_sort(list, (size_t)n);
    for (int32_t i = 1; i < n; i++)
        if (list[i].x != list[n_kept - 1].x || list[i].y != list[n_kept - 1].y)
            list[n_kept++] = list[i];
    u->candidates = list;
    u->n_candidates = n_kept;
}

static int32_t max_starts(const mvf_search_config *config)
{
    int32_t side = 2 * config->refine_range + 1;
    return 1 + (1 + MVF_MAX_HINTS) * side * side;
}

/* The whole search. */

static void load_unit(unit *u, const mvf_plane *current, const mvf_engine_job *job, int32_t col,
                      int32_t row)
{
    const mvf_search_config *config = u->search->config;
    size_t block = (size_t)row * (size_t)config->cols + (size_t)col;
    u->x = col * config->step_x;
    u->y = row * config->step_y;
    u->w = mvf_rule_visible(u->x, config->block_w, config->width);
    u->h = mvf_rule_visible(u->y, config->block_h, config->height);
    u->predictor = job->predictors ? job->predictors[block] : (mvf_vector){0, 0};
    mvf_patch_gather(u->current, current, u->x, u->y, u->w, u->h);
    if (config->method == MVF_METHOD_REFINE)
        list_starts(u, job->hints ? job->hints + block * (size_t)job->n_hints : NULL, job->n_hints);
    else
        mvf_patch_gather(u->window, u->reference_plane, u->x - config->range_x,
                         u->y - config->range_y, u->w + 2 * config->range_x,
                         u->h + 2 * config->range_y);
}

void mvf_block_search_row(mvf_block_search *search, const mvf_plane *current,
                          const mvf_plane *reference, const mvf_engine_job *job, int32_t row,
                          int32_t worker)
{
    const mvf_search_config *config = search->config;
    scratch *s = &search->scratch[worker];
    unit u = {
        .search = search,
        .current_plane = current,
        .reference_plane = reference,
        .scratch = s,
        .current = {s->current, MVF_MAX_BLOCK * sizeof *s->current},
        .window = {s->window, (MVF_MAX_BLOCK + 2 * config->range_x) * (ptrdiff_t)sizeof *s->window},
        .candidates = search->candidates,
        .n_candidates = search->n_candidates};
    for (int32_t col = 0; col < config->cols; col++) {
        load_unit(&u, current, job, col, row);
        if (config->partitions != MVF_PARTITIONS_FIXED)
            search_partitions(&u, job->matches);
        else
            job->matches[(size_t)row * (size_t)config->cols + (size_t)col] = search_block(&u);
    }
}

static int open_scratch(const mvf_search_config *config, scratch *s)
{
    size_t w = MVF_MAX_BLOCK + 2 * (size_t)config->range_x;
    size_t h = MVF_MAX_BLOCK + 2 * (size_t)config->range_y;
    if (config->method == MVF_METHOD_REFINE)
        s->starts = mvf_alloc_array((size_t)max_starts(config), sizeof *s->starts);
    else
        s->window = mvf_alloc_array(w * h, sizeof *s->window);
    return s->starts || s->window;
}

mvf_block_search *mvf_block_search_open(const mvf_search_config *config, mvf_cpu_level level,
                                        int32_t n_workers)
{
    mvf_block_search *search = mvf_alloc_array(1, sizeof *search);
    if (!search)
        return NULL;
    const mvf_level *last = &config->levels[config->n_levels - 1];
    search->config = config;
    search->metric = mvf_metric_select(config->metric, config->satd_tile, config->bit_depth, level);
    search->partition = mvf_partition_select(last->w, config->bit_depth, level);
    /* The faster sums are of SADs, and of pairs of 8 or fours of 4. */
    if (config->metric != MVF_METRIC_SAD || config->block_w < 16)
        search->partition.sads = NULL;
    if (config->metric == MVF_METRIC_SAD && config->sample_bytes == 1)
        search->bytes = mvf_byte_select(level);
    search->n_candidates = (2 * config->range_x + 1) * (2 * config->range_y + 1);
    search->n_nodes = last->first_node + (config->block_w / last->w) * (config->block_h / last->h);
    search->n_workers = n_workers;
    mvf_refiner_init(&search->refiner, config, level);
    search->candidates = mvf_rank_candidates(config->range_x, config->range_y);
    search->scratch = mvf_alloc_array((size_t)n_workers, sizeof *search->scratch);
    int ok = search->candidates && search->scratch;
    for (int32_t i = 0; ok && i < n_workers; i++)
        ok = open_scratch(config, &search->scratch[i]);
    if (!ok)
        mvf_block_search_close(&search);
    return search;
}

void mvf_block_search_close(mvf_block_search **slot)
{
    mvf_block_search *search = *slot;
    if (!search)
        return;
    for (int32_t i = 0; i < search->n_workers && search->scratch; i++) {
        free(search->scratch[i].window);
        free(search->scratch[i].starts);
    }
    free(search->scratch);
    free(search->candidates);
    free(search);
    *slot = NULL;
}
