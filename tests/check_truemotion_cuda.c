/*
 * True motion on a CUDA device: the bits of the CPU, which check_truemotion.c compares with the
 * text of the contract.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "check_kernels.h"

/* Frames of a case, each searched in the one before and the one after, all in flight at once. */
#define N_FRAMES 4
#define N_FIELDS (N_FRAMES - 2)

typedef struct motion_case {
    int32_t width, height, bit_depth, step;
    mvf_effort effort;
    check_fill fill;
    check_plane planes[N_FRAMES];
} motion_case;

static int32_t pick(check_run *run, int32_t low, int32_t high)
{
    return low + (int32_t)(check_random(run) % (uint32_t)(high - low + 1));
}

static mvf_status submit(mvf_searcher *s, const motion_case *c)
{
    mvf_status status = MVF_OK;
    for (int64_t i = 1; i <= N_FIELDS && status == MVF_OK; i++) {
        mvf_picture current = check_plane_picture(&c->planes[i], i);
        mvf_picture references[2] = {check_plane_picture(&c->planes[i - 1], i - 1),
                                     check_plane_picture(&c->planes[i + 1], i + 1)};
        status = mvf_searcher_submit(s, &current, references, 2, NULL);
    }
    return status;
}

/* The fields of one backend; 0 if it fails. */
static int search(check_run *run, const motion_case *c, mvf_backend backend, mvf_field **fields)
{
    mvf_searcher *s;
    mvf_options options;
    mvf_options_init(&options);
    options.logger = run->logger;
    options.backend = backend;
    options.method = MVF_METHOD_TRUEMOTION;
    options.step_x = options.step_y = c->step;
    options.effort = c->effort;
    if (mvf_searcher_open(&s, &options, c->width, c->height, c->bit_depth) != MVF_OK)
        return 0;
    mvf_status status = submit(s, c);
    mvf_searcher_flush(s);
    for (int i = 0; i < N_FIELDS && status == MVF_OK; i++)
        status = mvf_searcher_receive(s, &fields[i]);
    int is_right = !strcmp(mvf_searcher_backend(s), backend == MVF_BACKEND_CPU ? "cpu" : "cuda");
    mvf_searcher_close(&s);
    return is_right && status == MVF_OK;
}

static int same(const mvf_field *a, const mvf_field *b)
{
    return a->n_blocks == b->n_blocks && a->flags == b->flags &&
           !memcmp(a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks) &&
           !memcmp(a->confidence, b->confidence, a->n_blocks);
}

static void compare(check_run *run, motion_case *c)
{
    char what[128];
    mvf_field *cpu[N_FIELDS] = {NULL}, *cuda[N_FIELDS] = {NULL};
    for (int i = 0; i < N_FRAMES; i++) {
        check_plane_alloc(run, &c->planes[i], c->width, c->height, c->bit_depth);
        /* The last two are the same picture. */
        check_plane_fill(run, &c->planes[i], c->fill, 2 * (i < 2 ? i : 2));
    }
    for (int32_t y = 0; y < c->height; y++)
        for (int32_t x = 0; x < c->width; x++)
            check_plane_set(&c->planes[3], x, y, check_plane_sample(&c->planes[2], x, y));
    int ok = search(run, c, MVF_BACKEND_CPU, cpu) && search(run, c, MVF_BACKEND_CUDA, cuda);
    for (int i = 0; i < N_FIELDS; i++) {
        ok = ok && same(cpu[i], cuda[i]);
        mvf_field_free(&cpu[i]);
        mvf_field_free(&cuda[i]);
    }
    snprintf(what, sizeof what, "truemotion on CUDA: %dx%d, %d bit, step %d, effort %d, %s",
             c->width, c->height, c->bit_depth, c->step, c->effort, check_fill_name(c->fill));
    check_result(run, ok, what);
    for (int i = 0; i < N_FRAMES; i++)
        check_plane_free(&c->planes[i]);
}

void check_cuda_truemotion(check_run *run)
{
    static const int32_t sizes[][2] = {{1, 1},   {2, 3},   {23, 5},    {24, 24},
                                       {25, 49}, {97, 24}, {640, 360}, {1919, 1079}};
    int n_sizes = run->small ? 6 : 8, n_random = run->small ? 18 : 60;
    for (int i = 0; i < n_sizes + n_random; i++) {
        motion_case c = {.bit_depth = pick(run, 0, 1) ? 8 : pick(run, 9, 16),
                         .step = i & 1 ? 1 : 4,
                         .effort = i & 2 ? MVF_EFFORT_LOW : MVF_EFFORT_HIGH,
                         .fill = (check_fill)pick(run, 0, N_FILLS - 1)};
        c.width = i < n_sizes ? sizes[i][0] : pick(run, 1, run->small ? 70 : 250);
        c.height = i < n_sizes ? sizes[i][1] : pick(run, 1, run->small ? 60 : 200);
        if (check_takes(run))
            compare(run, &c);
    }
}
