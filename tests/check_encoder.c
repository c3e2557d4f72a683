/*
 * What encoders ask of a search - sub-sample vectors, rates, metrics, hints, partitions - against
 * the oracle.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "oracle.h"

#define N_HINTS 3

typedef struct encoder_case {
    mvf_options options;
    int32_t width, height, bit_depth;
    check_fill fill;
    check_plane current, reference;
    /* Of each block of the grid; NULL: none. */
    mvf_vector *predictors, *hints;
    uint16_t mv_bits[40];
} encoder_case;

static int32_t pick(check_run *run, int32_t n)
{
    return (int32_t)(check_random(run) % (uint32_t)n);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "check_kernels: out of memory\n");
        exit(1);
    }
    return memory;
}

static size_t count_blocks(const encoder_case *c)
{
    const mvf_options *o = &c->options;
    return (size_t)((c->width + o->block_w - 1) / o->block_w) *
           (size_t)((c->height + o->block_h - 1) / o->block_h);
}

static mvf_vector *random_vectors(check_run *run, size_t n, int32_t reach)
{
    mvf_vector *vectors = allocate(n, sizeof *vectors);
    for (size_t i = 0; i < n; i++)
        vectors[i] = (mvf_vector){(int16_t)(pick(run, 2 * reach + 1) - reach),
                                  (int16_t)(pick(run, 2 * reach + 1) - reach)};
    return vectors;
}

static void open_case(check_run *run, encoder_case *c)
{
    check_plane_alloc(run, &c->current, c->width, c->height, c->bit_depth);
    check_plane_alloc(run, &c->reference, c->width, c->height, c->bit_depth);
    check_plane_fill(run, &c->current, c->fill, 1);
    check_plane_fill(run, &c->reference, c->fill, 0);
}

static void close_case(encoder_case *c)
{
    check_plane_free(&c->current);
    check_plane_free(&c->reference);
    free(c->predictors);
    free(c->hints);
}

static void describe(char *text, size_t size, const encoder_case *c, const char *what)
{
    const mvf_options *o = &c->options;
    snprintf(text, size,
             "%s: %dx%d %d bit %s, method %d blocks %dx%d, range %dx%d, edges %d, metric %d, "
             "subpel %d filter %d metric %d, lambda %u/16, partitions %d from %d, level %d",
             what, c->width, c->height, c->bit_depth, check_fill_name(c->fill), o->method,
             o->block_w, o->block_h, o->range_x, o->range_y, o->edges, o->metric, o->subpel,
             o->interpolation, o->refine_metric, o->lambda_q4, o->partitions, o->partition_min,
             o->cpu_level);
}

static mvf_status search_with(mvf_searcher *s, const encoder_case *c, mvf_field **field)
{
    mvf_picture current = check_plane_picture(&c->current, 1),
                reference = check_plane_picture(&c->reference, 0);
    mvf_guides guides;
    mvf_guides_init(&guides);
    guides.predictors = c->predictors;
    guides.hints = c->hints;
    guides.hints_per_block = N_HINTS;
    mvf_status status = mvf_searcher_submit_guided(s, &current, &reference, 1, &guides, NULL);
    if (status == MVF_OK)
        status = mvf_searcher_flush(s);
    return status == MVF_OK ? mvf_searcher_receive(s, field) : status;
}

static mvf_status run_search(const encoder_case *c, mvf_field **field)
{
    mvf_searcher *s;
    mvf_options options = c->options;
    *field = NULL;
    if (options.mv_bits)
        options.mv_bits = c->mv_bits;
    mvf_status status = mvf_searcher_open(&s, &options, c->width, c->height, c->bit_depth);
    if (status == MVF_OK)
        status = search_with(s, c, field);
    mvf_searcher_close(&s);
    return status;
}

static int32_t satd_tile(const mvf_options *o)
{
    int32_t smallest = o->block_w < o->block_h ? o->block_w : o->block_h;
    if (o->partitions != MVF_PARTITIONS_FIXED)
        smallest = o->partition_min;
    return smallest < 8 ? 4 : 8;
}

/* Whether the field's block is what the oracle finds for it. */
static int same_answer(const encoder_case *c, const mvf_field *field, const mvf_block *block)
{
    const mvf_options *o = &c->options;
    oracle_block b = {block->x, block->y, block->w, block->h, .tile = satd_tile(o)};
    size_t n_cols = (size_t)((c->width + o->block_w - 1) / o->block_w);
    size_t index = (size_t)(b.y / o->block_h) * n_cols + (size_t)(b.x / o->block_w);
    if (c->predictors)
        b.predictor = c->predictors[index];
    if (c->hints) {
        b.hints = c->hints + index * N_HINTS;
        b.n_hints = N_HINTS;
    }
    oracle_answer expected = oracle_search(o, &c->current, &c->reference, &b);
    if (field->mv_scale == 4 && block->mv_x == expected.x && block->mv_y == expected.y &&
        block->cost == expected.cost)
        return 1;
    fprintf(stderr, "block %dx%d at (%d,%d): (%d,%d)/4 cost %u instead of (%d,%d)/4 cost %u\n", b.w,
            b.h, b.x, b.y, block->mv_x, block->mv_y, block->cost, expected.x, expected.y,
            expected.cost);
    return 0;
}

static mvf_field *check_against_oracle(check_run *run, encoder_case *c)
{
    char what[512];
    mvf_field *field;
    int ok = run_search(c, &field) == MVF_OK;
    for (size_t i = 0; ok && i < field->n_blocks; i++)
        ok = same_answer(c, field, &field->blocks[i]);
    describe(what, sizeof what, c, "oracle");
    check_result(run, ok, what);
    return field;
}

static int same_block(const mvf_block *a, const mvf_block *b)
{
    return a->x == b->x && a->y == b->y && a->w == b->w && a->h == b->h && a->mv_x == b->mv_x &&
           a->mv_y == b->mv_y && a->cost == b->cost && a->dir == b->dir && a->flags == b->flags &&
           a->ref == b->ref;
}

static int same_blocks(const mvf_field *a, const mvf_field *b)
{
    int same = a && b && a->n_blocks == b->n_blocks && a->flags == b->flags;
    for (size_t i = 0; same && i < a->n_blocks; i++)
        same = same_block(&a->blocks[i], &b->blocks[i]);
    return same;
}

/* Where the last metric is SAD: whether each block differs from its prediction by its cost. */
static int predicts_its_costs(const encoder_case *c, const mvf_field *field)
{
    const mvf_options *o = &c->options;
    check_plane prediction = c->current;
    mvf_picture reference = check_plane_picture(&c->reference, 0);
    prediction.memory = allocate(c->current.n_bytes, 1);
    prediction.origin = prediction.memory + (c->current.origin - c->current.memory);
    int ok = mvf_field_predict(field, &reference, o->interpolation, prediction.origin,
                               prediction.stride_bytes) == MVF_OK;
    for (size_t i = 0; ok && i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        uint32_t sum = 0;
        for (int32_t y = b->y; y < b->y + b->h; y++)
            for (int32_t x = b->x; x < b->x + b->w; x++)
                sum += (uint32_t)abs((int)check_plane_sample(&c->current, x, y) -
                                     (int)check_plane_sample(&prediction, x, y));
        ok = sum == b->cost;
    }
    free(prediction.memory);
    return ok;
}

/* Plain C against the oracle, the other instruction levels against plain C. */
static mvf_field *check_levels(check_run *run, encoder_case *c)
{
    static const mvf_cpu_level levels[] = {MVF_CPU_SSE2, MVF_CPU_SSSE3, MVF_CPU_AVX2, MVF_CPU_BEST};
    char what[512];
    c->options.cpu_level = MVF_CPU_C;
    mvf_field *field, *first = check_against_oracle(run, c);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        c->options.cpu_level = levels[i];
        int ok = run_search(c, &field) == MVF_OK && same_blocks(first, field);
        describe(what, sizeof what, c, "levels");
        check_result(run, ok, what);
        mvf_field_free(&field);
    }
    return first;
}

static encoder_case random_case(check_run *run)
{
    static const int32_t sizes[] = {4, 8, 16, 32, 64};
    encoder_case c = {.width = 1 + pick(run, 70), .height = 1 + pick(run, 50), .bit_depth = 8};
    mvf_options_init(&c.options);
    c.options.logger = run->logger;
    c.options.backend = MVF_BACKEND_CPU;
    c.options.threads = 1 + pick(run, 3);
    c.options.block_w = sizes[pick(run, 5)];
    c.options.block_h = sizes[pick(run, 5)];
    c.options.range_x = pick(run, 4);
    c.options.range_y = pick(run, 4);
    c.options.edges = pick(run, 2) ? MVF_EDGES_INSIDE : MVF_EDGES_CLAMP;
    c.fill = (check_fill)pick(run, N_FILLS);
    if (pick(run, 2))
        c.bit_depth = 9 + pick(run, 8);
    return c;
}

static void run_case(check_run *run, encoder_case *c)
{
    if (c->options.metric == MVF_METRIC_SSD || c->options.refine_metric == MVF_METRIC_SSD)
        c->bit_depth = 8;
    open_case(run, c);
    mvf_field *field = check_levels(run, c);
    mvf_metric last =
        c->options.subpel == MVF_SUBPEL_NONE ? c->options.metric : c->options.refine_metric;
    if (field && last == MVF_METRIC_SAD)
        check_result(run, predicts_its_costs(c, field), "mvf_field_predict() gives the costs");
    mvf_field_free(&field);
    close_case(c);
}

static void random_subpel(check_run *run, encoder_case *c)
{
    c->options.subpel = (mvf_subpel)(1 + pick(run, 2));
    c->options.interpolation = (mvf_interpolation)pick(run, 3);
    c->options.refine_metric = (mvf_metric)pick(run, 4);
}

void check_subpel(check_run *run)
{
    for (int i = 0; i < 60; i++) {
        encoder_case c = random_case(run);
        random_subpel(run, &c);
        run_case(run, &c);
    }
}

static void random_rate(check_run *run, encoder_case *c)
{
    static const uint32_t lambdas[] = {1, 16, 40, 900, 65535};
    c->options.lambda_q4 = lambdas[pick(run, 5)];
    if (pick(run, 2))
        c->predictors = random_vectors(run, count_blocks(c), 20);
    if (pick(run, 2)) {
        c->options.mv_bits = c->mv_bits;
        c->options.n_mv_bits = 1 + pick(run, 40);
        for (int32_t i = 0; i < 40; i++)
            c->mv_bits[i] = (uint16_t)pick(run, 300);
    }
}

void check_rates(check_run *run)
{
    for (int i = 0; i < 60; i++) {
        encoder_case c = random_case(run);
        c.options.metric = (mvf_metric)pick(run, 4);
        random_rate(run, &c);
        if (pick(run, 8) == 0)
            c.options.lambda_q4 = 0;
        if (pick(run, 2))
            random_subpel(run, &c);
        run_case(run, &c);
    }
}

void check_hints(check_run *run)
{
    for (int i = 0; i < 40; i++) {
        encoder_case c = random_case(run);
        c.options.method = MVF_METHOD_REFINE;
        c.options.range_x = c.options.range_y = 12;
        c.options.refine_range = pick(run, 3);
        if (pick(run, 2))
            random_rate(run, &c);
        if (pick(run, 2))
            random_subpel(run, &c);
        if (pick(run, 4))
            c.hints = random_vectors(run, count_blocks(&c) * N_HINTS, 60);
        run_case(run, &c);
    }
}

/* The tree, worked out from the field of all levels. */
typedef struct tree {
    const encoder_case *c;
    /* All levels, and the leaves of the cheapest tree as they come. */
    const mvf_field *all;
    mvf_block *leaves;
    size_t n_leaves;
    int misplaced;
} tree;

/* The block of nominal size w x h at (x, y), or NULL outside the frame. */
static const mvf_block *find_block(const tree *t, int32_t x, int32_t y, int32_t w, int32_t h)
{
    size_t first = 0;
    const mvf_options *o = &t->c->options;
    if (x >= t->c->width || y >= t->c->height)
        return NULL;
    for (int32_t size = o->block_w; size >= o->partition_min; size /= 2)
        for (int32_t shape = 0; shape < 3; shape++) {
            int32_t level_w = shape == 2 ? size / 2 : size, level_h = shape == 1 ? size / 2 : size;
            if (shape && (o->partitions != MVF_PARTITIONS_RECT || size == o->partition_min))
                continue;
            size_t cols = (size_t)((t->c->width + level_w - 1) / level_w);
            size_t rows = (size_t)((t->c->height + level_h - 1) / level_h);
            if (level_w == w && level_h == h)
                return &t->all->blocks[first + (size_t)(y / h) * cols + (size_t)(x / w)];
            first += cols * rows;
        }
    return NULL;
}

/* The cost of a leaf, which it adds to the tree. */
static uint64_t add_leaf(tree *t, int32_t x, int32_t y, int32_t w, int32_t h)
{
    const mvf_options *o = &t->c->options;
    const mvf_block *b = find_block(t, x, y, w, h);
    mvf_vector predictor = {0, 0};
    if (!b)
        return 0;
    size_t cols = (size_t)((t->c->width + o->block_w - 1) / o->block_w);
    if (t->c->predictors)
        predictor = t->c->predictors[(size_t)(y / o->block_h) * cols + (size_t)(x / o->block_w)];
    t->misplaced |= b->x != x || b->y != y;
    t->leaves[t->n_leaves++] = *b;
    return b->cost + oracle_rate(o, b->mv_x - predictor.x, b->mv_y - predictor.y) + o->leaf_cost;
}

static uint64_t add_tree(tree *t, int32_t x, int32_t y, int32_t size);

static uint64_t add_way(tree *t, int32_t x, int32_t y, int32_t size, int way)
{
    int32_t half = size / 2;
    if (way == 0)
        return add_leaf(t, x, y, size, size);
    if (way == 1)
        return add_leaf(t, x, y, size, half) + add_leaf(t, x, y + half, size, half);
    if (way == 2)
        return add_leaf(t, x, y, half, size) + add_leaf(t, x + half, y, half, size);
    uint64_t sum = add_tree(t, x, y, half);
    sum += add_tree(t, x + half, y, half);
    sum += add_tree(t, x, y + half, half);
    return sum + add_tree(t, x + half, y + half, half);
}

static uint64_t add_tree(tree *t, int32_t x, int32_t y, int32_t size)
{
    const mvf_options *o = &t->c->options;
    size_t start = t->n_leaves;
    uint64_t best = UINT64_MAX;
    int best_way = 0;
    if (x >= t->c->width || y >= t->c->height)
        return 0;
    for (int way = 0; way < 4; way++) {
        if (way && size == o->partition_min)
            break;
        if ((way == 1 || way == 2) && o->partitions != MVF_PARTITIONS_RECT)
            continue;
        t->n_leaves = start;
        uint64_t cost = add_way(t, x, y, size, way);
        if (cost < best) {
            best = cost;
            best_way = way;
        }
    }
    t->n_leaves = start;
    return add_way(t, x, y, size, best_way);
}

static void check_tree(check_run *run, encoder_case *c, const mvf_field *all)
{
    char what[512];
    mvf_field *field;
    /* Trial cuts are written behind the leaves so far. */
    tree t = {.c = c, .all = all, .leaves = allocate(2 * all->n_blocks + 1024, sizeof(mvf_block))};
    for (int32_t y = 0; y < c->height; y += c->options.block_h)
        for (int32_t x = 0; x < c->width; x += c->options.block_w)
            add_tree(&t, x, y, c->options.block_w);
    c->options.partition_output = MVF_PARTITION_TREE;
    int ok = run_search(c, &field) == MVF_OK && field->n_blocks == t.n_leaves &&
             field->grid.cols == 0 && !t.misplaced;
    for (size_t i = 0; ok && i < t.n_leaves; i++)
        ok = same_block(&field->blocks[i], &t.leaves[i]);
    describe(what, sizeof what, c, "tree");
    check_result(run, ok, what);
    mvf_field_free(&field);
    free(t.leaves);
}

static void random_partitions(check_run *run, encoder_case *c)
{
    c->options.block_h = c->options.block_w;
    c->options.partitions = (mvf_partitions)(1 + pick(run, 2));
    c->options.partition_min = c->options.block_w >> pick(run, 5);
    if (c->options.partition_min < 4)
        c->options.partition_min = 4;
    c->options.partition_output = MVF_PARTITION_ALL;
    c->options.leaf_cost = pick(run, 3) ? (uint32_t)pick(run, 2000) : 0;
}

void check_partitions(check_run *run)
{
    for (int i = 0; i < 40; i++) {
        encoder_case c = random_case(run);
        random_partitions(run, &c);
        c.options.metric = (mvf_metric)pick(run, 4);
        if (pick(run, 2))
            random_rate(run, &c);
        if (pick(run, 3) == 0)
            random_subpel(run, &c);
        if (pick(run, 4) == 0)
            c.options.method = MVF_METHOD_REFINE;
        if (c.options.metric == MVF_METRIC_SSD || c.options.refine_metric == MVF_METRIC_SSD)
            c.bit_depth = 8;
        open_case(run, &c);
        mvf_field *all = check_levels(run, &c);
        if (all)
            check_tree(run, &c, all);
        mvf_field_free(&all);
        close_case(&c);
    }
}

#define N_REFERENCES 3

/* One picture searched in three references. */
typedef struct merge_case {
    encoder_case c;
    check_plane references[N_REFERENCES];
} merge_case;

static mvf_field *search_references(merge_case *m, mvf_merge merge)
{
    mvf_searcher *s;
    mvf_field *field = NULL;
    mvf_picture references[N_REFERENCES], current = check_plane_picture(&m->c.current, 1);
    mvf_options options = m->c.options;
    options.merge = merge;
    for (int i = 0; i < N_REFERENCES; i++)
        references[i] = check_plane_picture(&m->references[i], i ? i + 1 : 0);
    if (mvf_searcher_open(&s, &options, m->c.width, m->c.height, m->c.bit_depth) != MVF_OK)
        return NULL;
    if (mvf_searcher_submit(s, &current, references, N_REFERENCES, NULL) == MVF_OK &&
        mvf_searcher_flush(s) == MVF_OK)
        mvf_searcher_receive(s, &field);
    mvf_searcher_close(&s);
    return field;
}

static uint64_t j_of(const merge_case *m, const mvf_block *b)
{
    return b->cost + oracle_rate(&m->c.options, b->mv_x, b->mv_y);
}

/* Whether the merged blocks from *merged on are right for the three answers; moves *merged on. */
static int check_merged(const merge_case *m, mvf_merge merge, const mvf_block *const *answers,
                        const mvf_block **merged)
{
    const mvf_options *o = &m->c.options;
    int first = 0, second = -1;
    for (int i = 1; i < N_REFERENCES; i++)
        if (j_of(m, answers[i]) < j_of(m, answers[first]))
            first = i;
    for (int i = 0; i < N_REFERENCES; i++)
        if (i != first && (second < 0 || j_of(m, answers[i]) < j_of(m, answers[second])))
            second = i;
    const mvf_block *a = answers[first], *b = answers[second];
    oracle_block block = {a->x, a->y, a->w, a->h, .tile = satd_tile(o)};
    uint32_t cost =
        oracle_average(o, &m->c.current, &m->references[first], (mvf_vector){a->mv_x, a->mv_y},
                       &m->references[second], (mvf_vector){b->mv_x, b->mv_y}, &block);
    uint64_t j = cost + j_of(m, a) - a->cost + j_of(m, b) - b->cost;
    if (merge == MVF_MERGE_BEST || j >= j_of(m, a))
        return same_block(a, (*merged)++);
    mvf_block pair[2] = {*a, *b};
    for (int i = 0; i < 2; i++) {
        pair[i].cost = cost;
        pair[i].flags |= MVF_BLOCK_AVERAGE;
        if (!same_block(&pair[i], (*merged)++))
            return 0;
    }
    return 1;
}

static void check_merge(check_run *run, merge_case *m, const mvf_field *apart, mvf_merge merge)
{
    char what[512];
    mvf_field *field = search_references(m, merge);
    size_t n = apart ? apart->n_blocks / N_REFERENCES : 0;
    int ok = field && n;
    const mvf_block *next = ok ? field->blocks : NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const mvf_block *answers[N_REFERENCES];
        for (size_t r = 0; r < N_REFERENCES; r++)
            answers[r] = &apart->blocks[r * n + i];
        ok = next < field->blocks + field->n_blocks && check_merged(m, merge, answers, &next);
    }
    ok = ok && next == field->blocks + field->n_blocks;
    describe(what, sizeof what, &m->c, merge == MVF_MERGE_BEST ? "merge best" : "merge average");
    check_result(run, ok, what);
    mvf_field_free(&field);
}

static merge_case open_merge(check_run *run)
{
    merge_case m = {.c = random_case(run)};
    m.c.options.lambda_q4 = (uint32_t)pick(run, 2) * 30;
    m.c.options.metric = pick(run, 2) ? MVF_METRIC_SAD : MVF_METRIC_SATD;
    if (pick(run, 2))
        random_subpel(run, &m.c);
    if (m.c.options.refine_metric == MVF_METRIC_SSD)
        m.c.bit_depth = 8;
    if (m.c.options.block_w == m.c.options.block_h && pick(run, 2)) {
        m.c.options.partitions = MVF_PARTITIONS_RECT;
        m.c.options.partition_min = m.c.options.block_w;
    }
    m.c.options.partition_output = MVF_PARTITION_ALL;
    open_case(run, &m.c);
    for (int r = 0; r < N_REFERENCES; r++) {
        check_plane_alloc(run, &m.references[r], m.c.width, m.c.height, m.c.bit_depth);
        check_plane_fill(run, &m.references[r], m.c.fill, r);
    }
    return m;
}

static void close_merge(merge_case *m)
{
    for (int r = 0; r < N_REFERENCES; r++)
        check_plane_free(&m->references[r]);
    close_case(&m->c);
}

void check_merges(check_run *run)
{
    for (int i = 0; i < 30; i++) {
        merge_case m = open_merge(run);
        mvf_field *apart = search_references(&m, MVF_MERGE_NONE);
        check_merge(run, &m, apart, MVF_MERGE_BEST);
        check_merge(run, &m, apart, MVF_MERGE_AVERAGE);
        mvf_field_free(&apart);
        close_merge(&m);
    }
}

/* The refinement that has a kernel of its own: quarter samples by SATD under h264's filter. */
static void common_subpel(encoder_case *c)
{
    c->bit_depth = 8;
    c->options.subpel = MVF_SUBPEL_QUARTER;
    c->options.interpolation = MVF_INTERPOLATION_H264;
    c->options.refine_metric = MVF_METRIC_SATD;
}

/* The CUDA engine against plain C, which the oracle checks. */
static void compare_cuda(check_run *run, encoder_case *c)
{
    char what[512];
    mvf_field *expected, *field;
    open_case(run, c);
    c->options.cpu_level = MVF_CPU_BEST;
    c->options.backend = MVF_BACKEND_CPU;
    int ok = run_search(c, &expected) == MVF_OK;
    c->options.backend = MVF_BACKEND_CUDA;
    ok = run_search(c, &field) == MVF_OK && ok && same_blocks(expected, field);
    describe(what, sizeof what, c, "cuda");
    check_result(run, ok, what);
    mvf_field_free(&expected);
    mvf_field_free(&field);
    close_case(c);
}

/* What the kernel for squares from 8 on takes. */
static void random_squares(check_run *run, encoder_case *c)
{
    c->options.block_w = c->options.block_h = 16 << pick(run, 3);
    c->options.partitions = pick(run, 3) ? MVF_PARTITIONS_SQUARE : MVF_PARTITIONS_RECT;
    c->options.partition_min = 4 << pick(run, 3);
    c->options.partition_output = MVF_PARTITION_ALL;
}

/* Ranges at which the strips that this kernel's lanes take come out even, or leave few or many
 * over, or reach beyond the range, and such that it takes in several panels. */
static encoder_case random_squares_case(check_run *run)
{
    static const int32_t ranges[] = {0, 1, 4, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 41, 64, 70};
    encoder_case c = random_case(run);
    c.width = 1 + pick(run, 150);
    c.height = 1 + pick(run, 100);
    c.options.range_x = ranges[pick(run, 16)];
    c.options.range_y = ranges[pick(run, 16)];
    random_squares(run, &c);
    if (pick(run, 3) == 0) {
        random_rate(run, &c);
        if (pick(run, 2))
            c.options.partitions = MVF_PARTITIONS_FIXED;
    }
    return c;
}

static void random_refine_method(check_run *run, encoder_case *c)
{
    c->options.method = MVF_METHOD_REFINE;
    c->options.refine_range = pick(run, 4);
    if (pick(run, 4))
        c->hints = random_vectors(run, count_blocks(c) * N_HINTS, 90);
    if (pick(run, 2))
        c->predictors = random_vectors(run, count_blocks(c), 90);
}

static encoder_case random_cuda_case(check_run *run)
{
    encoder_case c = random_case(run);
    int32_t most = run->small && pick(run, 4) ? 4 : 20;
    c.options.range_x = pick(run, most);
    c.options.range_y = pick(run, most);
    if (pick(run, 3) == 0)
        random_squares(run, &c);
    else if (pick(run, 3) == 0)
        random_partitions(run, &c);
    if (c.options.partitions != MVF_PARTITIONS_SQUARE && pick(run, 2))
        c.options.metric = (mvf_metric)pick(run, 4);
    if (pick(run, 2))
        random_rate(run, &c);
    if (pick(run, 4) == 0)
        random_refine_method(run, &c);
    if (pick(run, 2))
        random_subpel(run, &c);
    else if (pick(run, 2))
        common_subpel(&c);
    if (c.options.metric == MVF_METRIC_SSD || c.options.refine_metric == MVF_METRIC_SSD)
        c.bit_depth = 8;
    return c;
}

static void compare_merges(check_run *run)
{
    char what[512];
    merge_case m = open_merge(run);
    mvf_merge merge = pick(run, 3) ? MVF_MERGE_AVERAGE : MVF_MERGE_BEST;
    mvf_field *expected = search_references(&m, merge);
    m.c.options.backend = MVF_BACKEND_CUDA;
    mvf_field *field = search_references(&m, merge);
    describe(what, sizeof what, &m.c, "cuda, merged");
    check_result(run, same_blocks(expected, field), what);
    mvf_field_free(&expected);
    mvf_field_free(&field);
    close_merge(&m);
}

#define N_SUBMISSIONS 9
#define N_GUIDED_REFERENCES 2

/* Submissions with guides of their own, some without, in as few batches as there can be. */
static void run_guided(check_run *run, encoder_case *c, mvf_backend backend, mvf_field **fields)
{
    mvf_searcher *s;
    mvf_options options = c->options;
    mvf_picture pictures[2] = {check_plane_picture(&c->current, 1),
                               check_plane_picture(&c->reference, 0)};
    mvf_picture references[N_GUIDED_REFERENCES] = {pictures[1], pictures[0]};
    size_t n = N_GUIDED_REFERENCES * count_blocks(c);
    options.backend = backend;
    options.max_in_flight = N_SUBMISSIONS;
    if (options.mv_bits)
        options.mv_bits = c->mv_bits;
    if (mvf_searcher_open(&s, &options, c->width, c->height, c->bit_depth) != MVF_OK)
        return;
    for (int i = 0; i < N_SUBMISSIONS; i++) {
        int32_t n_hints = 1 + (i * 5 + 3) % MVF_MAX_HINTS;
        mvf_vector *predictors = random_vectors(run, n, 60);
        mvf_vector *hints = random_vectors(run, n * (size_t)n_hints, 60);
        mvf_guides guides;
        mvf_guides_init(&guides);
        guides.predictors = i % 3 == 1 ? NULL : predictors;
        guides.hints = i % 4 == 2 ? NULL : hints;
        guides.hints_per_block = n_hints;
        mvf_status status = mvf_searcher_submit_guided(s, &pictures[0], references,
                                                       N_GUIDED_REFERENCES, &guides, NULL);
        check_result(run, status == MVF_OK, "cuda: submit with guides");
        free(predictors);
        free(hints);
    }
    mvf_searcher_flush(s);
    for (int i = 0; i < N_SUBMISSIONS; i++)
        mvf_searcher_receive(s, &fields[i]);
    mvf_searcher_close(&s);
}

static void compare_guided(check_run *run)
{
    char what[512];
    mvf_field *expected[N_SUBMISSIONS] = {NULL}, *fields[N_SUBMISSIONS] = {NULL};
    encoder_case c = random_cuda_case(run);
    if (pick(run, 2))
        c.options.method = MVF_METHOD_REFINE;
    if (!c.options.lambda_q4)
        c.options.lambda_q4 = 33;
    open_case(run, &c);
    uint64_t state = run->state;
    run_guided(run, &c, MVF_BACKEND_CPU, expected);
    run->state = state;
    run_guided(run, &c, MVF_BACKEND_CUDA, fields);
    describe(what, sizeof what, &c, "cuda, guided");
    for (int i = 0; i < N_SUBMISSIONS; i++) {
        check_result(run, same_blocks(expected[i], fields[i]), what);
        mvf_field_free(&expected[i]);
        mvf_field_free(&fields[i]);
    }
    close_case(&c);
}

void check_cuda_encoder(check_run *run)
{
    for (int i = 0; i < (run->small ? 250 : 600); i++) {
        encoder_case c = random_cuda_case(run);
        if (check_takes(run))
            compare_cuda(run, &c);
    }
    for (int i = 0; i < (run->small ? 40 : 120); i++) {
        encoder_case c = random_squares_case(run);
        compare_cuda(run, &c);
    }
    for (int i = 0; i < (run->small ? 12 : 40); i++)
        if (check_takes(run))
            compare_guided(run);
    for (int i = 0; i < (run->small ? 20 : 60); i++)
        if (check_takes(run))
            compare_merges(run);
    for (int i = 0; i < 6 && !run->small; i++) {
        encoder_case c = random_case(run);
        c.width = 1919 - 64 * i;
        c.height = 1079 + i;
        c.options.block_w = c.options.block_h = 16;
        c.options.range_x = 33;
        c.options.range_y = i == 5 ? 70 : 32;
        if (i % 2)
            random_squares(run, &c);
        random_subpel(run, &c);
        c.options.refine_metric = MVF_METRIC_SATD;
        c.options.threads = 0;
        compare_cuda(run, &c);
    }
}

/* A pan by (+0.75, -0.25) px: each block that the filter can reach in full must say (3, -1)/4 at
 * no cost, since the current frame is the prediction itself. */
static void check_pan(check_run *run, mvf_interpolation filter, int32_t bit_depth,
                      mvf_metric metric)
{
    char what[512];
    mvf_field *field;
    encoder_case c = {.width = 160, .height = 112, .bit_depth = bit_depth, .fill = FILL_TEXTURE};
    mvf_options_init(&c.options);
    c.options.logger = run->logger;
    c.options.backend = MVF_BACKEND_CPU;
    c.options.range_x = c.options.range_y = 8;
    c.options.subpel = MVF_SUBPEL_QUARTER;
    c.options.interpolation = filter;
    c.options.refine_metric = metric;
    open_case(run, &c);
    for (int32_t y = 0; y < c.height; y++)
        for (int32_t x = 0; x < c.width; x++)
            check_plane_set(&c.current, x, y,
                            (uint32_t)oracle_sample(&c.reference, filter, 4 * x + 3, 4 * y - 1));
    int ok = run_search(&c, &field) == MVF_OK;
    for (size_t i = 0; ok && i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        ok = b->mv_x == 3 && b->mv_y == -1 && b->cost == 0;
    }
    describe(what, sizeof what, &c, "pan by (+0.75,-0.25)");
    check_result(run, ok, what);
    mvf_field_free(&field);
    close_case(&c);
}

void check_pans(check_run *run)
{
    for (int filter = 0; filter < 3; filter++)
        for (int metric = 0; metric < 4; metric++) {
            check_pan(run, (mvf_interpolation)filter, 8, (mvf_metric)metric);
            if (metric != MVF_METRIC_SSD)
                check_pan(run, (mvf_interpolation)filter, 10, (mvf_metric)metric);
        }
}
