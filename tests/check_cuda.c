/*
 * The CUDA engine against the plain C engine where the naive search of check_search.c would take
 * too long: whole frames, wide ranges, several searchers at once, many runs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"

static mvf_options case_options(const check_run *run, const check_case *c, mvf_backend backend)
{
    mvf_options options = check_case_options(run, c);
    options.backend = backend;
    /* Plain C, except where it would take too long. */
    if (c->width * c->height < 640 * 480)
        options.cpu_level = MVF_CPU_C;
    return options;
}

static int same_fields(const mvf_field *a, const mvf_field *b)
{
    if (!a || !b || a->n_blocks != b->n_blocks)
        return 0;
    for (size_t i = 0; i < a->n_blocks; i++)
        if (a->blocks[i].cost != b->blocks[i].cost || a->blocks[i].mv_x != b->blocks[i].mv_x ||
            a->blocks[i].mv_y != b->blocks[i].mv_y) {
            fprintf(stderr, "block %zu at (%d,%d): (%d,%d) cost %u and (%d,%d) cost %u\n", i,
                    a->blocks[i].x, a->blocks[i].y, a->blocks[i].mv_x, a->blocks[i].mv_y,
                    a->blocks[i].cost, b->blocks[i].mv_x, b->blocks[i].mv_y, b->blocks[i].cost);
            return 0;
        }
    return 1;
}

static mvf_field *search_pair(const check_run *run, const check_case *c, mvf_backend backend,
                              const check_plane *planes)
{
    mvf_options options = case_options(run, c, backend);
    mvf_picture current = check_plane_picture(&planes[1], 1);
    mvf_picture reference = check_plane_picture(&planes[0], 0);
    mvf_field *field;
    mvf_search(&options, c->width, c->height, c->bit_depth, &current, &reference, &field);
    return field;
}

/* Comparisons of samples that a slow device has time for. */
#define SMALL_WORK 1e7

static int is_left_out(const check_run *run, const check_case *c)
{
    double n_candidates = (2.0 * c->range_x + 1) * (2.0 * c->range_y + 1);
    return run->small && c->width * (double)c->height * n_candidates > SMALL_WORK;
}

static void check_pair(check_run *run, const check_case *c)
{
    char what[256];
    check_plane planes[2];
    if (is_left_out(run, c) || !check_takes(run))
        return;
    check_case_alloc_planes(run, c, planes, 2, 3);
    mvf_field *expected = search_pair(run, c, MVF_BACKEND_CPU, planes);
    mvf_field *field = search_pair(run, c, MVF_BACKEND_CUDA, planes);
    check_case_describe(what, sizeof what, c, "cuda");
    check_result(run, same_fields(field, expected), what);
    mvf_field_free(&field);
    mvf_field_free(&expected);
    check_case_free_planes(planes, 2);
}

static const check_case large_cases[] = {
    {1920, 1080, 8, 16, 16, 0, 0, 32, 32, MVF_EDGES_CLAMP, FILL_NOISE},
    {1919, 1079, 8, 16, 16, 0, 0, 32, 32, MVF_EDGES_INSIDE, FILL_TEXTURE},
    {1920, 1080, 10, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {640, 360, 8, 8, 8, 0, 0, 64, 48, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {640, 360, 16, 8, 16, 0, 0, 33, 17, MVF_EDGES_INSIDE, FILL_EXTREMES},
    {333, 222, 16, 64, 32, 48, 32, 256, 256, MVF_EDGES_CLAMP, FILL_NOISE},
    {333, 222, 16, 64, 64, 0, 0, 256, 256, MVF_EDGES_INSIDE, FILL_TEXTURE},
    {333, 222, 8, 32, 64, 0, 0, 256, 17, MVF_EDGES_INSIDE, FILL_STRIPES},
    {333, 222, 8, 16, 4, 0, 0, 3, 256, MVF_EDGES_CLAMP, FILL_FLAT},
    {8192, 8192, 8, 64, 64, 0, 0, 2, 2, MVF_EDGES_CLAMP, FILL_EXTREMES},
    {8192, 17, 8, 4, 4, 0, 0, 7, 7, MVF_EDGES_CLAMP, FILL_NOISE},
    {17, 8192, 12, 4, 8, 1, 1, 7, 7, MVF_EDGES_CLAMP, FILL_TEXTURE},
};

/* Every block size and every range class, with the other choices taken in turn. */
static void check_combinations(check_run *run)
{
    static const int32_t sizes[] = {4, 8, 16, 32, 64}, ranges[] = {0, 1, 7, 16, 32, 64, 256};
    static const int32_t depths[] = {8, 10, 16};
    for (int i = 0; i < 75; i++) {
        check_case c = {131,
                        91,
                        depths[i / 25],
                        sizes[i % 5],
                        sizes[i / 5 % 5],
                        0,
                        0,
                        7,
                        9,
                        i & 1 ? MVF_EDGES_INSIDE : MVF_EDGES_CLAMP,
                        (check_fill)(i % N_FILLS)};
        check_pair(run, &c);
    }
    for (int i = 0; i < 49; i++) {
        check_case c = {70 + i,
                        50 + i,
                        depths[i % 3],
                        16,
                        16,
                        1 + i % 16,
                        16 - i % 7,
                        ranges[i % 7],
                        ranges[i / 7],
                        i & 1 ? MVF_EDGES_INSIDE : MVF_EDGES_CLAMP,
                        (check_fill)(i % N_FILLS)};
        c.step_x = i % 4 ? 0 : c.step_x;
        check_pair(run, &c);
    }
}

/* Frame k of a run of frames is planes[k % n_planes]. */
static void submit_frame(check_run *run, mvf_searcher *searcher, const check_plane *planes,
                         int n_planes, int frame)
{
    mvf_picture current = check_plane_picture(&planes[frame % n_planes], frame);
    mvf_picture references[2] = {check_plane_picture(&planes[(frame - 1) % n_planes], frame - 1),
                                 check_plane_picture(&planes[(frame + 1) % n_planes], frame + 1)};
    check_result(run, mvf_searcher_submit(searcher, &current, references, 2, NULL) == MVF_OK,
                 "cuda: submit");
}

#define N_SEARCHERS 3
#define N_FRAMES 24
#define N_PLANES 5

/* All frames of one case through the CPU, as what to expect. */
static void expect_fields(check_run *run, const check_case *c, mvf_method method,
                          const check_plane *planes, mvf_field **expected)
{
    mvf_searcher *searcher;
    mvf_options options = case_options(run, c, MVF_BACKEND_CPU);
    options.method = method;
    options.max_in_flight = N_FRAMES;
    if (mvf_searcher_open(&searcher, &options, c->width, c->height, c->bit_depth) != MVF_OK)
        exit(1);
    for (int i = 0; i < N_FRAMES; i++)
        submit_frame(run, searcher, planes, N_PLANES, i + 1);
    mvf_searcher_flush(searcher);
    for (int i = 0; i < N_FRAMES; i++)
        mvf_searcher_receive(searcher, &expected[i]);
    mvf_searcher_close(&searcher);
}

static void receive_frame(check_run *run, mvf_searcher *searcher, mvf_field *const *expected,
                          int *n_received)
{
    mvf_field *field;
    mvf_status status = mvf_searcher_receive(searcher, &field);
    if (status == MVF_AGAIN)
        return;
    check_result(run, status == MVF_OK && same_fields(field, expected[*n_received]),
                 "cuda: searchers side by side");
    (*n_received)++;
    mvf_field_free(&field);
}

static const check_case mixed_cases[N_SEARCHERS] = {
    {640, 360, 8, 16, 16, 0, 0, 16, 16, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {321, 201, 10, 8, 8, 0, 0, 9, 20, MVF_EDGES_INSIDE, FILL_NOISE},
    {200, 300, 8, 64, 32, 16, 16, 40, 8, MVF_EDGES_CLAMP, FILL_STRIPES},
};

/* All of them by the kernels for 16x16 blocks. */
static const check_case full_cases[N_SEARCHERS] = {
    {640, 360, 8, 16, 16, 0, 0, 32, 32, MVF_EDGES_CLAMP, FILL_PATCHES},
    {321, 201, 8, 16, 16, 0, 0, 9, 40, MVF_EDGES_INSIDE, FILL_NOISE},
    {203, 131, 8, 16, 16, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_BLACK},
};

/* The same mixed, in small. */
static const check_case small_cases[N_SEARCHERS] = {
    {70, 50, 8, 16, 16, 0, 0, 5, 4, MVF_EDGES_CLAMP, FILL_PATCHES},
    {41, 31, 10, 8, 8, 0, 0, 3, 6, MVF_EDGES_INSIDE, FILL_NOISE},
    {80, 30, 8, 64, 32, 16, 16, 4, 2, MVF_EDGES_CLAMP, FILL_STRIPES},
};

/* Several searchers with work in flight on one device; polling and waiting callers. */
static void check_side_by_side(check_run *run, const check_case *cases, mvf_method method,
                               int32_t max_in_flight)
{
    mvf_searcher *searchers[N_SEARCHERS];
    check_plane planes[N_SEARCHERS][N_PLANES];
    mvf_field *expected[N_SEARCHERS][N_FRAMES];
    int n_sent[N_SEARCHERS] = {0}, n_received[N_SEARCHERS] = {0}, n_left = N_SEARCHERS * N_FRAMES;
    if (!check_takes(run))
        return;
    for (int i = 0; i < N_SEARCHERS; i++) {
        mvf_options options = case_options(run, &cases[i], MVF_BACKEND_CUDA);
        options.method = method;
        options.max_in_flight = max_in_flight;
        check_case_alloc_planes(run, &cases[i], planes[i], N_PLANES, 3);
        expect_fields(run, &cases[i], method, planes[i], expected[i]);
        if (mvf_searcher_open(&searchers[i], &options, cases[i].width, cases[i].height,
                              cases[i].bit_depth) != MVF_OK)
            exit(1);
    }
    for (int turn = 0; n_left > 0 && turn < 100000000; turn++) {
        int i = turn % N_SEARCHERS;
        int received = n_received[i];
        if (n_sent[i] < N_FRAMES && n_sent[i] - n_received[i] < max_in_flight)
            submit_frame(run, searchers[i], planes[i], N_PLANES, ++n_sent[i]);
        else if (n_sent[i] == N_FRAMES && i)
            mvf_searcher_flush(searchers[i]);
        if (n_received[i] < n_sent[i])
            receive_frame(run, searchers[i], expected[i], &n_received[i]);
        n_left -= n_received[i] - received;
    }
    check_result(run, n_left == 0, "cuda: a polling caller gets every field");
    for (int i = 0; i < N_SEARCHERS; i++) {
        mvf_searcher_close(&searchers[i]);
        check_case_free_planes(planes[i], N_PLANES);
        for (int k = 0; k < N_FRAMES; k++)
            mvf_field_free(&expected[i][k]);
    }
}

static void check_many_runs(check_run *run, check_fill fill)
{
    const check_case large = {640, 360, 8, 16, 16, 0, 0, 24, 24, MVF_EDGES_CLAMP, fill};
    const check_case small = {70, 50, 8, 16, 16, 0, 0, 8, 8, MVF_EDGES_CLAMP, fill};
    const check_case c = run->small ? small : large;
    check_plane planes[2];
    if (!check_takes(run))
        return;
    check_case_alloc_planes(run, &c, planes, 2, 3);
    mvf_field *expected = search_pair(run, &c, MVF_BACKEND_CPU, planes);
    for (int i = 0; i < 20; i++) {
        mvf_field *field = search_pair(run, &c, MVF_BACKEND_CUDA, planes);
        check_result(run, same_fields(field, expected), "cuda: the same bytes run after run");
        mvf_field_free(&field);
    }
    mvf_field_free(&expected);
    check_case_free_planes(planes, 2);
}

void check_cuda(check_run *run)
{
    check_combinations(run);
    for (size_t i = 0; i < sizeof large_cases / sizeof large_cases[0]; i++)
        check_pair(run, &large_cases[i]);
    for (int32_t max_in_flight = 1; max_in_flight <= 16; max_in_flight += 15) {
        const check_case *cases = run->small ? small_cases : mixed_cases;
        check_side_by_side(run, cases, MVF_METHOD_FULL, max_in_flight);
        check_side_by_side(run, cases, MVF_METHOD_HIER, max_in_flight);
        if (!run->small)
            check_side_by_side(run, full_cases, MVF_METHOD_FULL, max_in_flight);
    }
    check_many_runs(run, FILL_STRIPES);
    check_many_runs(run, FILL_PATCHES);
}
