/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/path_smooth.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "search/path_rule.h"
#include "search/refine.h"
#include "search/truemotion_parts.h"

#define PATCH_SIDE (MVF_MAX_BLOCK + 2 * MVF_SUBPEL_MARGIN)
#define PATCH_BYTES (PATCH_SIDE * (ptrdiff_t)sizeof(uint16_t))
/* Units of true motion's vectors in a quarter sample. */
#define TM_UNITS (MVF_TM_UNIT / 4)
#define BLOCK_BYTES (MVF_MAX_BLOCK * (ptrdiff_t)sizeof(uint16_t))

/* The metric at each label; the label's own cost is a scaled difference. */
typedef struct label_costs {
    uint32_t cost[MVF_TM_LABELS];
} label_costs;

typedef struct smoother {
    const mvf_path_input *in;
    mvf_refiner refiner;
    mvf_byte_ops bytes;
    int32_t pass;
    mvf_match *matches;
    mvf_tm_workspace work;
    mvf_tm_field field;
    label_costs *costs;
} smoother;

/* One block while its labels are found. */
typedef struct block {
    const smoother *smoother;
    int32_t x, y, w, h;
    mvf_vector predictor;
    mvf_patch current;
} block;

/* A vector in quarter samples, its cost and its J. */
typedef struct candidate {
    int32_t x, y;
    uint32_t cost, j;
} candidate;

typedef struct candidates {
    int32_t count;
    candidate list[MVF_PATH_CANDIDATES];
} candidates;

static int lies_in(const smoother *s, int32_t x, int32_t y, int32_t w, int32_t h)
{
    const mvf_search_config *config = s->in->config;
    return x >= 0 && y >= 0 && x + w <= config->width && y + h <= config->height;
}

static uint32_t cost_at(const block *b, int32_t x, int32_t y)
{
    const smoother *s = b->smoother;
    const mvf_plane *reference = s->in->reference;
    int32_t from_x = b->x + (x >> 2), from_y = b->y + (y >> 2);
    uint16_t around[PATCH_SIDE * PATCH_SIDE], samples[MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    const mvf_patch window = {around, PATCH_BYTES};
    mvf_patch prediction = {samples, BLOCK_BYTES};
    if (s->bytes.sad && b->w % 8 == 0 && !((x | y) & 3) && lies_in(s, from_x, from_y, b->w, b->h))
        return s->bytes.sad(mvf_plane_at(s->in->current, b->x, b->y), s->in->current->stride_bytes,
                            mvf_plane_at(reference, from_x, from_y), reference->stride_bytes, b->w,
                            b->h, UINT32_MAX);
    mvf_patch_gather(window, reference, from_x - MVF_SUBPEL_MARGIN, from_y - MVF_SUBPEL_MARGIN,
                     b->w + 2 * MVF_SUBPEL_MARGIN, b->h + 2 * MVF_SUBPEL_MARGIN);
    mvf_patch centre = mvf_patch_move(window, MVF_SUBPEL_MARGIN, MVF_SUBPEL_MARGIN);
    if ((x | y) & 3)
        s->refiner.predict(prediction, centre, b->w, b->h, x & 3, y & 3, s->in->config->bit_depth);
    else
        prediction = centre;
    return s->refiner.metric(b->current, prediction, b->w, b->h, UINT32_MAX);
}

static void add(candidates *c, const block *b, int32_t x, int32_t y)
{
    const mvf_search_config *config = b->smoother->in->config;
    for (int32_t i = 0; i < c->count; i++)
        if (c->list[i].x == x && c->list[i].y == y)
            return;
    if (config->edges == MVF_EDGES_INSIDE &&
        !mvf_rule_subpel_inside(x, y, b->x, b->y, b->w, b->h, config->width, config->height))
        return;
    c->list[c->count++] = (candidate){.x = x, .y = y, .cost = cost_at(b, x, y)};
}

static void gather(candidates *c, const block *b, int32_t col, int32_t row)
{
    const smoother *s = b->smoother;
    const mvf_search_config *config = s->in->config;
    int32_t factor = 4 / config->match_scale, reach = mvf_rule_path_reach(s->pass);
    const mvf_match *own = s->matches + (ptrdiff_t)row * config->cols + col;
    *c = (candidates){1, {{.x = own->x * factor, .y = own->y * factor, .cost = own->cost}}};
    add(c, b, 0, 0);
    for (int32_t i = 0; i < 8; i++) {
        int32_t x = col + reach * mvf_rule_neighbour_x(i);
        int32_t y = row + reach * mvf_rule_neighbour_y(i);
        if (x < 0 || y < 0 || x >= config->cols || y >= config->rows)
            continue;
        const mvf_match *other = s->matches + (ptrdiff_t)y * config->cols + x;
        add(c, b, other->x * factor, other->y * factor);
    }
    for (int32_t i = 0; i < c->count; i++)
        c->list[i].j = c->list[i].cost + mvf_rule_rate(&config->rate, c->list[i].x - b->predictor.x,
                                                       c->list[i].y - b->predictor.y);
}

/* Sorts the candidates after the own one by J, earlier ones first among equals. */
static void sort(candidates *c)
{
    for (int32_t i = 2; i < c->count; i++) {
        candidate moved = c->list[i];
        int32_t place = i;
        for (; place > 1 && c->list[place - 1].j > moved.j; place--)
            c->list[place] = c->list[place - 1];
        c->list[place] = moved;
    }
}

static void label(const block *b, const candidates *c, mvf_tm_labels *labels, label_costs *costs)
{
    uint32_t least = UINT32_MAX;
    for (int32_t i = 0; i < c->count; i++)
        least = c->list[i].j < least ? c->list[i].j : least;
    for (int32_t i = 0; i < MVF_TM_PLACES; i++) {
        int32_t is_label = i < MVF_TM_LABELS && i < c->count;
        const candidate *from = &c->list[is_label ? i : 0];
        labels->x[i] = (int16_t)(from->x * TM_UNITS);
        labels->y[i] = (int16_t)(from->y * TM_UNITS);
        labels->cost[i] = is_label ? (int16_t)mvf_rule_path_cost(from->j - least, b->w, b->h,
                                                                 b->smoother->in->config->bit_depth)
                                   : MVF_TM_NO_LABEL;
        if (is_label)
            costs->cost[i] = from->cost;
    }
}

static void label_row(void *context, int32_t row, int32_t worker)
{
    const smoother *s = context;
    const mvf_search_config *config = s->in->config;
    uint16_t samples[MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    (void)worker;
    for (int32_t col = 0; col < config->cols; col++) {
        ptrdiff_t at = (ptrdiff_t)row * config->cols + col;
        candidates c;
        block b = {.smoother = s,
                   .x = col * config->step_x,
                   .y = row * config->step_y,
                   .current = {samples, BLOCK_BYTES}};
        b.w = mvf_rule_visible(b.x, config->block_w, config->width);
        b.h = mvf_rule_visible(b.y, config->block_h, config->height);
        if (s->in->predictors)
            b.predictor = s->in->predictors[at];
        mvf_patch_gather(b.current, s->in->current, b.x, b.y, b.w, b.h);
        gather(&c, &b, col, row);
        sort(&c);
        label(&b, &c, s->work.labels + at, s->costs + at);
    }
}

/* Gives each block the vector of its best label, and that label's cost. */
static void take(const smoother *s)
{
    const mvf_search_config *config = s->in->config;
    int32_t divisor = MVF_TM_UNIT / config->match_scale;
    ptrdiff_t n = (ptrdiff_t)config->cols * config->rows;
    for (ptrdiff_t i = 0; i < n; i++) {
        const mvf_tm_labels *labels = s->work.labels + i;
        int32_t best = 0;
        while (labels->x[best] != s->field.x[i] || labels->y[best] != s->field.y[i])
            best++;
        s->matches[i] = (mvf_match){(int16_t)(s->field.x[i] / divisor),
                                    (int16_t)(s->field.y[i] / divisor), s->costs[i].cost[best]};
    }
}

static void close_smoother(smoother *s)
{
    mvf_free_aligned(s->work.labels);
    mvf_free_aligned(s->work.sums);
    free(s->costs);
    free(s->field.x);
    free(s->field.y);
}

static mvf_status open_smoother(smoother *s, const mvf_path_input *in, mvf_match *matches)
{
    const mvf_search_config *config = in->config;
    size_t n = (size_t)config->cols * (size_t)config->rows;
    *s = (smoother){.in = in, .matches = matches};
    s->field.cols = config->cols;
    s->field.rows = config->rows;
    s->field.stride = config->cols;
    s->field.x = mvf_alloc_array(n, sizeof *s->field.x);
    s->field.y = mvf_alloc_array(n, sizeof *s->field.y);
    s->costs = mvf_alloc_array(n, sizeof *s->costs);
    s->work.labels = mvf_alloc_aligned(n, sizeof *s->work.labels);
    s->work.sums = mvf_alloc_aligned(n, MVF_TM_PLACES * sizeof *s->work.sums);
    mvf_tm_kernels_init(&s->work.kernels, in->level);
    mvf_refiner_init(&s->refiner, config, in->level);
    mvf_metric metric = config->subpel == MVF_SUBPEL_NONE ? config->metric : config->refine_metric;
    if (metric == MVF_METRIC_SAD && config->sample_bytes == 1)
        s->bytes = mvf_byte_select(in->level);
    if (s->field.x && s->field.y && s->costs && s->work.labels && s->work.sums)
        return MVF_OK;
    close_smoother(s);
    return MVF_ERROR_MEMORY;
}

mvf_status mvf_path_smooth(const mvf_path_input *in, mvf_match *matches)
{
    smoother s;
    MVF_TRY(open_smoother(&s, in, matches));
    for (s.pass = 0; s.pass < MVF_PATH_PASSES; s.pass++) {
        in->run_tasks(in->engine, label_row, &s, in->config->rows);
        mvf_tm_choose(&s.work, &s.field, 1, 1, MVF_PATH_PENALTY_MAX);
        take(&s);
    }
    close_smoother(&s);
    return MVF_OK;
}
