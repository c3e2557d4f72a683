/*
 * What encoders ask of a search - sub-sample vectors - against the oracle.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "oracle.h"

typedef struct encoder_case {
    mvf_options options;
    int32_t width, height, bit_depth;
    check_fill fill;
    check_plane current, reference;
} encoder_case;

static int32_t pick(check_run *run, int32_t n)
{
    return (int32_t)(check_random(run) % (uint32_t)n);
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
}

static void describe(char *text, size_t size, const encoder_case *c, const char *what)
{
    const mvf_options *o = &c->options;
    snprintf(text, size,
             "%s: %dx%d %d bit %s, blocks %dx%d, range %dx%d, edges %d, subpel %d filter %d metric "
             "%d, level %d",
             what, c->width, c->height, c->bit_depth, check_fill_name(c->fill), o->block_w,
             o->block_h, o->range_x, o->range_y, o->edges, o->subpel, o->interpolation,
             o->refine_metric, o->cpu_level);
}

static mvf_status run_search(const encoder_case *c, mvf_field **field)
{
    mvf_picture current = check_plane_picture(&c->current, 1),
                reference = check_plane_picture(&c->reference, 0);
    return mvf_search(&c->options, c->width, c->height, c->bit_depth, &current, &reference, field);
}

/* Whether the field's block is what the oracle finds for it. */
static int same_answer(const encoder_case *c, const mvf_field *field, const mvf_block *block)
{
    const mvf_options *o = &c->options;
    oracle_block b = {block->x, block->y, block->w, block->h, 8};
    if (o->block_w < 8 || o->block_h < 8)
        b.tile = 4;
    oracle_answer expected = oracle_search(o, &c->current, &c->reference, &b);
    if (field->mv_scale == 4 && block->mv_x == expected.x && block->mv_y == expected.y &&
        block->cost == expected.cost)
        return 1;
    fprintf(stderr, "block %dx%d at (%d,%d): (%d,%d)/4 cost %u instead of (%d,%d)/4 cost %u\n", b.w,
            b.h, b.x, b.y, block->mv_x, block->mv_y, block->cost, expected.x, expected.y,
            expected.cost);
    return 0;
}

static void check_against_oracle(check_run *run, encoder_case *c)
{
    char what[512];
    mvf_field *field;
    int ok = run_search(c, &field) == MVF_OK;
    for (size_t i = 0; ok && i < field->n_blocks; i++)
        ok = same_answer(c, field, &field->blocks[i]);
    describe(what, sizeof what, c, "oracle");
    check_result(run, ok, what);
    mvf_field_free(&field);
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

/* The same search at every instruction level. */
static void check_levels(check_run *run, encoder_case *c)
{
    static const mvf_cpu_level levels[] = {MVF_CPU_C, MVF_CPU_SSE2, MVF_CPU_AVX2, MVF_CPU_BEST};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        c->options.cpu_level = levels[i];
        check_against_oracle(run, c);
    }
}

void check_subpel(check_run *run)
{
    for (int i = 0; i < 60; i++) {
        encoder_case c = random_case(run);
        c.options.subpel = (mvf_subpel)(1 + pick(run, 2));
        c.options.interpolation = (mvf_interpolation)pick(run, 3);
        c.options.refine_metric = (mvf_metric)pick(run, 4);
        if (c.options.refine_metric == MVF_METRIC_SSD)
            c.bit_depth = 8;
        open_case(run, &c);
        check_levels(run, &c);
        close_case(&c);
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
