/*
 * Smooth paths against the text of search/path_rule.h: a search without them is smoothed here, one
 * label and one pair of labels at a time, and compared with a search with them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define MAX_BLOCKS 400
#define N_LABELS 6

static int32_t pick(check_run *run, int32_t n)
{
    return (int32_t)(check_random(run) % (uint32_t)n);
}

typedef struct path_case {
    mvf_options options;
    int32_t width, height, bit_depth, cols, rows;
    check_plane current, reference;
    mvf_vector predictors[MAX_BLOCKS];
} path_case;

typedef struct label {
    oracle_answer answer;
    uint64_t j;
    int64_t cost, sum;
} label;

typedef struct labels {
    int count;
    label list[16];
} labels;

static oracle_block block_at(const path_case *c, int i)
{
    const mvf_options *o = &c->options;
    oracle_block b = {.x = i % c->cols * o->step_x, .y = i / c->cols * o->step_y};
    b.w = c->width - b.x < o->block_w ? c->width - b.x : o->block_w;
    b.h = c->height - b.y < o->block_h ? c->height - b.y : o->block_h;
    b.tile = o->block_w < 8 || o->block_h < 8 ? 4 : 8;
    b.predictor = c->predictors[i];
    return b;
}

static void add(const path_case *c, labels *l, int i, int32_t x, int32_t y)
{
    oracle_block b = block_at(c, i);
    for (int k = 0; k < l->count; k++)
        if (l->list[k].answer.x == x && l->list[k].answer.y == y)
            return;
    /* The search found the own vector: it needs no leave. */
    if (l->count && !oracle_is_candidate(&c->options, &c->reference, &b, x, y))
        return;
    label *new = &l->list[l->count++];
    new->sum = 0;
    new->answer = oracle_rate_vector(&c->options, &c->current, &c->reference, &b, x, y, &new->j);
}

/* All candidates of a block, the cheapest moved to the front one by one. */
static void find_labels(const path_case *c, labels *l, const oracle_answer *vectors, int i,
                        int reach)
{
    int col = i % c->cols, row = i / c->cols;
    oracle_block b = block_at(c, i);
    uint64_t least = UINT64_MAX, unit = (uint64_t)(b.w * b.h) << (c->bit_depth - 8);
    l->count = 0;
    add(c, l, i, vectors[i].x, vectors[i].y);
    add(c, l, i, 0, 0);
    for (int y = row - reach; y <= row + reach; y += reach)
        for (int x = col - reach; x <= col + reach; x += reach)
            if (x >= 0 && y >= 0 && x < c->cols && y < c->rows && (x != col || y != row))
                add(c, l, i, vectors[y * c->cols + x].x, vectors[y * c->cols + x].y);
    for (int k = 0; k < l->count; k++)
        least = l->list[k].j < least ? l->list[k].j : least;
    for (int k = 0; k < l->count; k++) {
        uint64_t cost = 32 * (l->list[k].j - least) / unit;
        l->list[k].cost = cost < 800 ? (int64_t)cost : 800;
    }
    for (int place = 1; place < l->count; place++) {
        int best = place;
        for (int k = place + 1; k < l->count; k++)
            best = l->list[k].j < l->list[best].j ? k : best;
        label moved = l->list[best];
        memmove(&l->list[place + 1], &l->list[place], (size_t)(best - place) * sizeof moved);
        l->list[place] = moved;
    }
    l->count = l->count < N_LABELS ? l->count : N_LABELS;
}

static int64_t least_of(const int64_t *values, int n)
{
    int64_t least = values[0];
    for (int i = 1; i < n; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* One line: n blocks, `step` apart. */
static void add_path(labels *all, int first, int step, int n)
{
    int64_t before[N_LABELS] = {0}, here[N_LABELS] = {0};
    for (int i = 0; i < n; i++) {
        labels *p = &all[first + i * step];
        for (int k = 0; k < p->count; k++) {
            here[k] = p->list[k].cost;
            if (!i)
                continue;
            const labels *q = &all[first + (i - 1) * step];
            int64_t way[N_LABELS] = {0};
            for (int j = 0; j < q->count; j++) {
                const oracle_answer *v = &p->list[k].answer, *u = &q->list[j].answer;
                int64_t penalty = 4 * 4 * (abs(v->x - u->x) + abs(v->y - u->y));
                way[j] = before[j] + (penalty < 400 ? penalty : 400);
            }
            here[k] += least_of(way, q->count) - least_of(before, q->count);
        }
        for (int k = 0; k < p->count; k++)
            p->list[k].sum += here[k];
        memcpy(before, here, sizeof before);
    }
}

static void smooth(const path_case *c, oracle_answer *vectors)
{
    static const int reaches[4] = {1, 2, 4, 1};
    static labels all[MAX_BLOCKS];
    int n = c->cols * c->rows;
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < n; i++)
            find_labels(c, &all[i], vectors, i, reaches[pass]);
        for (int row = 0; row < c->rows; row++) {
            add_path(all, row * c->cols, 1, c->cols);
            add_path(all, row * c->cols + c->cols - 1, -1, c->cols);
        }
        for (int col = 0; col < c->cols; col++) {
            add_path(all, col, c->cols, c->rows);
            add_path(all, (c->rows - 1) * c->cols + col, -c->cols, c->rows);
        }
        for (int i = 0; i < n; i++) {
            const label *best = &all[i].list[0];
            for (int k = 1; k < all[i].count; k++)
                best = all[i].list[k].sum < best->sum ? &all[i].list[k] : best;
            vectors[i] = best->answer;
        }
    }
}

static mvf_field *search(const path_case *c, const mvf_options *options)
{
    mvf_searcher *s;
    mvf_field *field = NULL;
    mvf_guides guides;
    mvf_guides_init(&guides);
    guides.predictors = options->lambda_q4 ? c->predictors : NULL;
    mvf_picture current = check_plane_picture(&c->current, 1),
                reference = check_plane_picture(&c->reference, 0);
    if (mvf_searcher_open(&s, options, c->width, c->height, c->bit_depth) != MVF_OK)
        return NULL;
    if (mvf_searcher_submit_guided(s, &current, &reference, 1, &guides, NULL) == MVF_OK &&
        mvf_searcher_flush(s) == MVF_OK)
        mvf_searcher_receive(s, &field);
    mvf_searcher_close(&s);
    return field;
}

static int says(const mvf_field *field, const oracle_answer *vectors)
{
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        if (b->mv_x != vectors[i].x || b->mv_y != vectors[i].y || b->cost != vectors[i].cost)
            return 0;
    }
    return 1;
}

/* Every instruction level and number of threads against the oracle. */
static void check_levels(check_run *run, path_case *c)
{
    static const mvf_cpu_level levels[] = {MVF_CPU_C, MVF_CPU_SSE2, MVF_CPU_AVX2, MVF_CPU_BEST};
    static oracle_answer vectors[MAX_BLOCKS];
    char what[256];
    mvf_field *field = search(c, &c->options);
    size_t n = (size_t)c->cols * (size_t)c->rows, n_changed = 0;
    int ok = field && field->n_blocks == n;
    for (size_t i = 0; ok && i < n; i++) {
        const mvf_block *b = &field->blocks[i];
        vectors[i] = (oracle_answer){b->mv_x, b->mv_y, b->cost};
    }
    if (ok)
        smooth(c, vectors);
    for (size_t i = 0; ok && i < n; i++)
        n_changed += field->blocks[i].mv_x != vectors[i].x || field->blocks[i].mv_y != vectors[i].y;
    mvf_field_free(&field);
    for (int i = 0; ok && i < 4; i++) {
        mvf_options options = c->options;
        options.smooth = MVF_SMOOTH_PATH;
        options.cpu_level = levels[i];
        options.threads = 1 + i;
        field = search(c, &options);
        ok = field && says(field, vectors);
        mvf_field_free(&field);
    }
    const mvf_options *o = &c->options;
    snprintf(what, sizeof what,
             "paths: %dx%d %d bit, blocks %dx%d step %dx%d, metric %d subpel %d metric %d, lambda "
             "%u, edges %d: %zu of %zu changed",
             c->width, c->height, c->bit_depth, o->block_w, o->block_h, o->step_x, o->step_y,
             o->metric, o->subpel, o->refine_metric, o->lambda_q4, o->edges, n_changed, n);
    check_result(run, ok, what);
}

static void random_case(check_run *run, path_case *c)
{
    static const int32_t sizes[] = {4, 8, 8, 16, 16, 32};
    static const mvf_metric metrics[] = {MVF_METRIC_SAD, MVF_METRIC_SAD, MVF_METRIC_SATD,
                                         MVF_METRIC_SATD4};
    mvf_options *o = &c->options;
    mvf_options_init(o);
    o->logger = run->logger;
    o->backend = MVF_BACKEND_CPU;
    o->threads = 1;
    c->bit_depth = pick(run, 2) ? 8 : 9 + pick(run, 8);
    o->block_w = sizes[pick(run, 6)];
    o->block_h = pick(run, 2) ? o->block_w : sizes[pick(run, 6)];
    o->step_x = pick(run, 3) ? o->block_w : 1 + pick(run, o->block_w);
    o->step_y = pick(run, 3) ? o->block_h : 1 + pick(run, o->block_h);
    o->range_x = pick(run, 9);
    o->range_y = pick(run, 9);
    o->method = pick(run, 4) ? MVF_METHOD_FULL : MVF_METHOD_HIER;
    o->edges = pick(run, 4) ? MVF_EDGES_CLAMP : MVF_EDGES_INSIDE;
    o->metric = o->method == MVF_METHOD_HIER ? MVF_METRIC_SAD : metrics[pick(run, 4)];
    o->subpel = (mvf_subpel)pick(run, 3);
    o->interpolation = (mvf_interpolation)pick(run, 3);
    o->refine_metric = metrics[pick(run, 4)];
    o->lambda_q4 = o->method == MVF_METHOD_HIER ? 0 : (uint32_t)pick(run, 2) * 200;
    c->cols = 1 + pick(run, 16);
    c->rows = 1 + pick(run, 12);
    c->width = (c->cols - 1) * o->step_x + 1 + pick(run, o->step_x);
    c->height = (c->rows - 1) * o->step_y + 1 + pick(run, o->step_y);
    for (int i = 0; i < c->cols * c->rows; i++)
        if (o->lambda_q4)
            c->predictors[i] =
                (mvf_vector){(int16_t)(pick(run, 61) - 30), (int16_t)(pick(run, 61) - 30)};
        else
            c->predictors[i] = (mvf_vector){0, 0};
}

void check_smooth_paths(check_run *run)
{
    for (int i = 0; i < 60; i++) {
        static path_case c;
        random_case(run, &c);
        check_fill fill = (check_fill)pick(run, N_FILLS);
        check_plane_alloc(run, &c.current, c.width, c.height, c.bit_depth);
        check_plane_alloc(run, &c.reference, c.width, c.height, c.bit_depth);
        check_plane_fill(run, &c.current, fill, 1);
        check_plane_fill(run, &c.reference, fill, 0);
        check_levels(run, &c);
        check_plane_free(&c.current);
        check_plane_free(&c.reference);
    }
}
