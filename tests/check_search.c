/*
 * Whole searches against rule.h, followed here to the letter and without any of the library's code:
 * clamped coordinates, every candidate in raster order, the whole key compared.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check_kernels.h"

typedef struct key {
    uint32_t cost;
    int32_t length, y, x;
} key;

static int key_less(key a, key b)
{
    if (a.cost != b.cost)
        return a.cost < b.cost;
    if (a.length != b.length)
        return a.length < b.length;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

static int32_t clamp(int32_t value, int32_t top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

static uint32_t naive_sad(const check_plane *current, const check_plane *reference,
                          const mvf_block *block, int32_t dx, int32_t dy)
{
    uint32_t sum = 0;
    for (int32_t y = block->y; y < block->y + block->h; y++)
        for (int32_t x = block->x; x < block->x + block->w; x++) {
            int32_t a = (int32_t)check_plane_sample(current, x, y);
            int32_t b = (int32_t)check_plane_sample(reference, clamp(x + dx, reference->width - 1),
                                                    clamp(y + dy, reference->height - 1));
            sum += (uint32_t)abs(a - b);
        }
    return sum;
}

static int leaves_frame(const check_plane *plane, const mvf_block *block, int32_t dx, int32_t dy)
{
    return block->x + dx < 0 || block->y + dy < 0 || block->x + dx + block->w > plane->width ||
           block->y + dy + block->h > plane->height;
}

static key naive_search(const check_case *c, const check_plane *current,
                        const check_plane *reference, const mvf_block *block)
{
    key best = {UINT32_MAX, 0, 0, 0};
    for (int32_t dy = -c->range_y; dy <= c->range_y; dy++)
        for (int32_t dx = -c->range_x; dx <= c->range_x; dx++) {
            if (c->edges == MVF_EDGES_INSIDE && leaves_frame(reference, block, dx, dy))
                continue;
            key k = {naive_sad(current, reference, block, dx, dy), dx * dx + dy * dy, dy, dx};
            if (key_less(k, best))
                best = k;
        }
    return best;
}

/* The grid and the visible sizes, from the case alone. */
static int same_geometry(const check_case *c, const mvf_field *field)
{
    int32_t step_x = c->step_x ? c->step_x : c->block_w;
    int32_t step_y = c->step_y ? c->step_y : c->block_h;
    size_t i = 0;
    for (int32_t y = 0; y < c->height; y += step_y)
        for (int32_t x = 0; x < c->width; x += step_x, i++) {
            const mvf_block *b = &field->blocks[i];
            int32_t w = x + c->block_w > c->width ? c->width - x : c->block_w;
            int32_t h = y + c->block_h > c->height ? c->height - y : c->block_h;
            if (i >= field->n_blocks || b->x != x || b->y != y || b->w != w || b->h != h)
                return 0;
        }
    return i == field->n_blocks;
}

typedef struct engine_choice {
    const char *name;
    mvf_backend backend;
    int32_t threads;
    mvf_cpu_level level;
} engine_choice;

static const engine_choice cpu_engines[] = {
    {"c, 1 thread", MVF_BACKEND_CPU, 1, MVF_CPU_C},
    {"sse2", MVF_BACKEND_CPU, 1, MVF_CPU_SSE2},
    {"ssse3", MVF_BACKEND_CPU, 1, MVF_CPU_SSSE3},
    {"avx2", MVF_BACKEND_CPU, 1, MVF_CPU_AVX2},
    {"best, 1 thread", MVF_BACKEND_CPU, 1, MVF_CPU_BEST},
    {"best, 3 threads", MVF_BACKEND_CPU, 3, MVF_CPU_BEST},
};
static const engine_choice cuda_engines[] = {{"cuda", MVF_BACKEND_CUDA, 0, MVF_CPU_BEST}};

static int same_blocks(const mvf_field *field, const key *expected, char *difference, size_t size)
{
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        if (b->cost == expected[i].cost && b->mv_x == expected[i].x * field->mv_scale &&
            b->mv_y == expected[i].y * field->mv_scale)
            continue;
        snprintf(difference, size, "block at (%d,%d): (%d,%d) cost %u instead of (%d,%d) cost %u",
                 b->x, b->y, b->mv_x / field->mv_scale, b->mv_y / field->mv_scale, b->cost,
                 expected[i].x, expected[i].y, expected[i].cost);
        return 0;
    }
    return 1;
}

static void check_engine(check_run *run, const check_case *c, const engine_choice *engine,
                         const check_plane *current, const check_plane *reference, key *expected)
{
    char what[512], difference[256] = "no field";
    mvf_options options = check_case_options(run, c);
    mvf_picture pictures[2] = {check_plane_picture(current, 1), check_plane_picture(reference, 0)};
    mvf_field *field;
    options.backend = engine->backend;
    options.threads = engine->threads;
    options.cpu_level = engine->level;
    int ok = mvf_search(&options, c->width, c->height, c->bit_depth, &pictures[0], &pictures[1],
                        &field) == MVF_OK;
    if (ok && expected[0].length < 0)
        for (size_t i = 0; i < field->n_blocks; i++)
            expected[i] = naive_search(c, current, reference, &field->blocks[i]);
    ok = ok && same_geometry(c, field) && same_blocks(field, expected, difference, 256);
    check_case_describe(what, sizeof what, c, engine->name);
    if (!ok)
        fprintf(stderr, "%s\n", difference);
    check_result(run, ok, what);
    mvf_field_free(&field);
}

static void check_against_rule(check_run *run, const check_case *c)
{
    check_plane planes[2];
    if (!check_takes(run))
        return;
    check_case_alloc_planes(run, c, planes, 2, 3);
    int32_t step_x = c->step_x ? c->step_x : c->block_w,
            step_y = c->step_y ? c->step_y : c->block_h;
    size_t n =
        (size_t)((c->width + step_x - 1) / step_x) * (size_t)((c->height + step_y - 1) / step_y);
    key *expected = calloc(n, sizeof *expected);
    if (!expected)
        exit(1);
    /* A negative length: not computed yet. */
    expected[0].length = -1;
    const engine_choice *engines = run->cuda ? cuda_engines : cpu_engines;
    size_t n_engines = run->cuda ? 1 : sizeof cpu_engines / sizeof cpu_engines[0];
    for (size_t i = 0; i < n_engines; i++)
        check_engine(run, c, &engines[i], &planes[1], &planes[0], expected);
    free(expected);
    check_case_free_planes(planes, 2);
}

static const check_case fixed_cases[] = {
    {64, 64, 8, 16, 16, 0, 0, 8, 8, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {70, 50, 8, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {70, 50, 8, 16, 16, 0, 0, 128, 128, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {70, 50, 8, 16, 16, 0, 0, 128, 128, MVF_EDGES_INSIDE, FILL_NOISE},
    {154, 86, 8, 8, 8, 0, 0, 7, 9, MVF_EDGES_INSIDE, FILL_TEXTURE},
    {1, 1, 8, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_NOISE},
    {1, 1, 16, 4, 4, 0, 0, 0, 0, MVF_EDGES_INSIDE, FILL_NOISE},
    {2, 2, 8, 64, 64, 0, 0, 256, 256, MVF_EDGES_CLAMP, FILL_NOISE},
    {1, 64, 8, 16, 16, 0, 0, 5, 33, MVF_EDGES_CLAMP, FILL_NOISE},
    {17, 9, 8, 8, 8, 0, 0, 32, 32, MVF_EDGES_CLAMP, FILL_EXTREMES},
    {130, 33, 8, 64, 32, 0, 0, 9, 9, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {130, 70, 16, 64, 64, 0, 0, 4, 4, MVF_EDGES_CLAMP, FILL_EXTREMES},
    {96, 64, 10, 16, 16, 0, 0, 12, 12, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {96, 64, 12, 8, 16, 0, 0, 12, 5, MVF_EDGES_INSIDE, FILL_NOISE},
    {80, 48, 8, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_FLAT},
    {80, 48, 8, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_STRIPES},
    {80, 48, 8, 16, 16, 4, 4, 6, 6, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {61, 47, 8, 32, 8, 5, 3, 6, 2, MVF_EDGES_INSIDE, FILL_TEXTURE},
    {160, 96, 8, 16, 16, 0, 0, 32, 32, MVF_EDGES_CLAMP, FILL_NOISE},
    {160, 96, 8, 16, 16, 0, 0, 64, 32, MVF_EDGES_CLAMP, FILL_TEXTURE},
    /* More rows than bounds are left out below blocks that they do not help. */
    {40, 230, 8, 16, 16, 0, 0, 20, 12, MVF_EDGES_CLAMP, FILL_NOISE},
    {52, 150, 10, 8, 8, 0, 0, 18, 9, MVF_EDGES_INSIDE, FILL_NOISE},
};

void check_search(check_run *run)
{
    for (size_t i = 0; i < sizeof fixed_cases / sizeof fixed_cases[0]; i++)
        check_against_rule(run, &fixed_cases[i]);
    for (int i = 0; i < 60; i++) {
        check_case c = check_case_random(run, 130, 90);
        c.range_x = (int32_t)(check_random(run) % 20);
        c.range_y = (int32_t)(check_random(run) % 20);
        check_against_rule(run, &c);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void bench_options(check_run *run, const mvf_options *options, const check_plane *planes,
                          const char *name)
{
    mvf_searcher *searcher;
    if (mvf_searcher_open(&searcher, options, planes->width, planes->height, planes->bit_depth) !=
        MVF_OK)
        exit(1);
    double start = seconds();
    int n_frames = 0;
    while (seconds() - start < 2) {
        mvf_picture current = check_plane_picture(&planes[n_frames & 1], n_frames + 1);
        mvf_picture reference = check_plane_picture(&planes[~n_frames & 1], n_frames);
        mvf_field *field;
        while (mvf_searcher_receive(searcher, &field) == MVF_OK)
            mvf_field_free(&field);
        n_frames += mvf_searcher_submit(searcher, &current, &reference, 1, NULL) == MVF_OK;
    }
    printf("%s 16x16 +-%d 1080p %s, %s: %.2f frames/s\n", name, options->range_x,
           run->cuda ? "" : mvf_cpu_level_name(options->cpu_level), mvf_searcher_backend(searcher),
           n_frames / (seconds() - start));
    mvf_searcher_close(&searcher);
}

void bench_search(check_run *run)
{
    static const int32_t ranges[] = {16, 32, 64};
    check_case c = {1920, 1080, 8, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_TEXTURE};
    check_plane planes[2];
    for (int i = 0; i < 2; i++) {
        check_plane_alloc(run, &planes[i], c.width, c.height, c.bit_depth);
        check_plane_fill(run, &planes[i], c.fill, 3 * i);
    }
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        c.range_x = c.range_y = ranges[i];
        mvf_options options = check_case_options(run, &c);
        options.backend = run->cuda ? MVF_BACKEND_CUDA : MVF_BACKEND_CPU;
        options.threads = 1;
        int32_t best = run->cuda ? MVF_CPU_C + 1 : (int32_t)mvf_cpu_best_level();
        for (int32_t level = MVF_CPU_SSE2; level <= best; level++) {
            options.cpu_level = (mvf_cpu_level)level;
            options.method = MVF_METHOD_FULL;
            bench_options(run, &options, planes, "full");
            options.method = MVF_METHOD_HIER;
            if (!run->cuda)
                bench_options(run, &options, planes, "hier");
        }
    }
    for (int i = 0; i < 2; i++)
        check_plane_free(&planes[i]);
}
