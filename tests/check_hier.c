/*
 * Method hier against the text of rule.h, one sample and one candidate at a time, without any of
 * the library's code.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"

typedef struct image {
    int32_t width, height;
    int32_t *samples;
} image;

typedef struct answer {
    int32_t x, y;
    uint32_t cost;
} answer;

typedef struct oracle {
    mvf_options options;
    int32_t step_x, step_y;
    int32_t top;
    image current[5], reference[5];
    int32_t cols[5], rows[5];
    answer *answers[5];
} oracle;

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int32_t halve_up(int32_t value)
{
    return (value + 1) / 2;
}

static int32_t at(const image *im, int32_t x, int32_t y)
{
    return im->samples[clamp(y, 0, im->height - 1) * im->width + clamp(x, 0, im->width - 1)];
}

static void alloc_image(image *im, int32_t width, int32_t height)
{
    *im = (image){width, height, calloc((size_t)width * (size_t)height, sizeof(int32_t))};
    if (!im->samples)
        exit(1);
}

static void load_image(image *im, const check_plane *plane)
{
    alloc_image(im, plane->width, plane->height);
    for (int32_t y = 0; y < im->height; y++)
        for (int32_t x = 0; x < im->width; x++)
            im->samples[y * im->width + x] = (int32_t)check_plane_sample(plane, x, y);
}

static void halve_image(image *to, const image *from)
{
    static const int32_t k[4] = {1, 3, 3, 1};
    alloc_image(to, halve_up(from->width), halve_up(from->height));
    for (int32_t y = 0; y < to->height; y++)
        for (int32_t x = 0; x < to->width; x++) {
            int32_t sum = 32;
            for (int32_t j = 0; j < 4; j++)
                for (int32_t i = 0; i < 4; i++)
                    sum += k[i] * k[j] * at(from, 2 * x - 1 + i, 2 * y - 1 + j);
            to->samples[y * to->width + x] = sum / 64;
        }
}

/* One dimension of a block: where it begins and its size. */
typedef struct span {
    int32_t begin, size;
} span;

static span span_of(int32_t level, int32_t cell, int32_t step, int32_t block, int32_t size)
{
    int32_t coarse = block / 2 > 8 ? block / 2 : 8;
    if (level == 0)
        return (span){cell * step, size - cell * step < block ? size - cell * step : block};
    int32_t begin = cell * step / 2 + block / 4 - coarse / 2;
    if (begin + coarse > size)
        begin = size - coarse;
    return (span){begin < 0 ? 0 : begin, coarse < size ? coarse : size};
}

static int32_t range_of(int32_t range, int32_t level)
{
    for (int32_t i = 0; i < level; i++)
        range = halve_up(range);
    return range;
}

/* Whether (dx, dy) is at most 1 from a start both ways. */
static int is_near_start(const oracle *o, int32_t level, int32_t col, int32_t row, int32_t dx,
                         int32_t dy)
{
    int32_t range_x = range_of(o->options.range_x, level);
    int32_t range_y = range_of(o->options.range_y, level);
    int32_t up = level + 1;
    if (abs(dx) <= 1 && abs(dy) <= 1)
        return 1;
    for (int32_t j = -1; j <= 1; j++)
        for (int32_t i = -1; i <= 1; i++) {
            int32_t c = (level ? col / 2 : col) + i, r = (level ? row / 2 : row) + j;
            if (c < 0 || r < 0 || c >= o->cols[up] || r >= o->rows[up])
                continue;
            const answer *a = &o->answers[up][r * o->cols[up] + c];
            if (abs(dx - clamp(2 * a->x, -range_x, range_x)) <= 1 &&
                abs(dy - clamp(2 * a->y, -range_y, range_y)) <= 1)
                return 1;
        }
    return 0;
}

static uint32_t sad(const image *a, const image *b, span x, span y, int32_t dx, int32_t dy)
{
    uint32_t sum = 0;
    for (int32_t j = y.begin; j < y.begin + y.size; j++)
        for (int32_t i = x.begin; i < x.begin + x.size; i++)
            sum += (uint32_t)abs(at(a, i, j) - at(b, i + dx, j + dy));
    return sum;
}

static int is_better(answer a, answer b)
{
    int32_t ra = a.x * a.x + a.y * a.y, rb = b.x * b.x + b.y * b.y;
    if (a.cost != b.cost)
        return a.cost < b.cost;
    if (ra != rb)
        return ra < rb;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

static answer search_cell(const oracle *o, int32_t level, int32_t col, int32_t row)
{
    const image *current = &o->current[level], *reference = &o->reference[level];
    int32_t range_x = range_of(o->options.range_x, level);
    int32_t range_y = range_of(o->options.range_y, level);
    span x = span_of(level, col, o->step_x, o->options.block_w, current->width);
    span y = span_of(level, row, o->step_y, o->options.block_h, current->height);
    answer best = {0, 0, UINT32_MAX};
    for (int32_t dy = -range_y; dy <= range_y; dy++)
        for (int32_t dx = -range_x; dx <= range_x; dx++) {
            if (o->options.edges == MVF_EDGES_INSIDE &&
                (x.begin + dx < 0 || y.begin + dy < 0 || x.begin + dx + x.size > current->width ||
                 y.begin + dy + y.size > current->height))
                continue;
            if (level < o->top && !is_near_start(o, level, col, row, dx, dy))
                continue;
            answer a = {dx, dy, sad(current, reference, x, y, dx, dy)};
            if (is_better(a, best))
                best = a;
        }
    return best;
}

static void run_oracle(oracle *o, const check_plane *current, const check_plane *reference)
{
    o->top = 1;
    while (range_of(o->options.range_x, o->top) > 32 || range_of(o->options.range_y, o->top) > 32)
        o->top++;
    load_image(&o->current[0], current);
    load_image(&o->reference[0], reference);
    o->cols[0] = (current->width + o->step_x - 1) / o->step_x;
    o->rows[0] = (current->height + o->step_y - 1) / o->step_y;
    for (int32_t level = 1; level <= o->top; level++) {
        halve_image(&o->current[level], &o->current[level - 1]);
        halve_image(&o->reference[level], &o->reference[level - 1]);
        o->cols[level] = level == 1 ? o->cols[0] : halve_up(o->cols[level - 1]);
        o->rows[level] = level == 1 ? o->rows[0] : halve_up(o->rows[level - 1]);
    }
    for (int32_t level = o->top; level >= 0; level--) {
        size_t n = (size_t)o->cols[level] * (size_t)o->rows[level];
        o->answers[level] = calloc(n, sizeof *o->answers[level]);
        if (!o->answers[level])
            exit(1);
        for (int32_t row = 0; row < o->rows[level]; row++)
            for (int32_t col = 0; col < o->cols[level]; col++)
                o->answers[level][row * o->cols[level] + col] = search_cell(o, level, col, row);
    }
}

static void free_oracle(oracle *o)
{
    for (int32_t level = 0; level <= o->top; level++) {
        free(o->current[level].samples);
        free(o->reference[level].samples);
        free(o->answers[level]);
    }
}

static int same_answers(const oracle *o, const mvf_field *field)
{
    int32_t n = o->cols[0] * o->rows[0];
    if (field->n_blocks != (size_t)n)
        return 0;
    for (int32_t i = 0; i < n; i++) {
        const mvf_block *b = &field->blocks[i];
        const answer *a = &o->answers[0][i];
        if (b->mv_x == a->x * field->mv_scale && b->mv_y == a->y * field->mv_scale &&
            b->cost == a->cost)
            continue;
        fprintf(stderr, "block at (%d,%d): (%d,%d) cost %u instead of (%d,%d) cost %u\n", b->x,
                b->y, b->mv_x / field->mv_scale, b->mv_y / field->mv_scale, b->cost, a->x, a->y,
                a->cost);
        return 0;
    }
    return 1;
}

static void check_levels(check_run *run, oracle *o, const check_plane *current,
                         const check_plane *reference, const char *what)
{
    static const struct {
        mvf_cpu_level level;
        int32_t threads;
    } engines[] = {{MVF_CPU_C, 1},    {MVF_CPU_SSE2, 1}, {MVF_CPU_SSSE3, 1},
                   {MVF_CPU_AVX2, 1}, {MVF_CPU_BEST, 1}, {MVF_CPU_BEST, 3}};
    mvf_picture pictures[2] = {check_plane_picture(current, 1), check_plane_picture(reference, 0)};
    for (size_t i = 0; i < (run->cuda ? 1 : sizeof engines / sizeof engines[0]); i++) {
        mvf_field *field = NULL;
        char text[320];
        o->options.backend = run->cuda ? MVF_BACKEND_CUDA : MVF_BACKEND_CPU;
        o->options.cpu_level = engines[i].level;
        o->options.threads = engines[i].threads;
        int ok = mvf_search(&o->options, current->width, current->height, current->bit_depth,
                            &pictures[0], &pictures[1], &field) == MVF_OK;
        snprintf(text, sizeof text, "%s, %s, %d threads", what,
                 run->cuda ? "cuda" : mvf_cpu_level_name(engines[i].level), engines[i].threads);
        check_result(run, ok && same_answers(o, field), text);
        mvf_field_free(&field);
    }
}

static void check_hier_case(check_run *run, const check_case *c)
{
    check_plane planes[2];
    char what[256];
    if (!check_takes(run))
        return;
    oracle o = {.options = check_case_options(run, c),
                .step_x = c->step_x ? c->step_x : c->block_w,
                .step_y = c->step_y ? c->step_y : c->block_h};
    o.options.method = MVF_METHOD_HIER;
    check_case_alloc_planes(run, c, planes, 2, 5);
    run_oracle(&o, &planes[1], &planes[0]);
    check_case_describe(what, sizeof what, c, "hier");
    check_levels(run, &o, &planes[1], &planes[0], what);
    free_oracle(&o);
    check_case_free_planes(planes, 2);
}

void check_hier(check_run *run)
{
    for (size_t i = 0; i < CHECK_HIER_CASES; i++)
        check_hier_case(run, &check_hier_cases[i]);
    for (int i = 0; i < 40; i++) {
        static const int32_t ranges[] = {0, 1, 7, 16, 33, 64, 70, 150};
        check_case c = check_case_random(run, 100, 70);
        c.range_x = ranges[check_random(run) % 8];
        c.range_y = ranges[check_random(run) % 6];
        check_hier_case(run, &c);
    }
}
