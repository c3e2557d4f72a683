/*
 * True motion on a CUDA device: the bits of the CPU, which check_truemotion.c compares with the
 * text of the contract.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"
#include "search/engine.h"

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

/* Batches of any size and few images: pairs of pictures, most of which come several times. */
#define N_PAIRS 10
static const int pairs[N_PAIRS][2] = {{1, 0}, {2, 1}, {3, 2}, {2, 3}, {1, 2},
                                      {0, 3}, {3, 3}, {0, 1}, {2, 0}, {1, 3}};

typedef struct memory_case {
    int32_t max_in_flight, most_images;
    /* Whether the pictures lie on the device. */
    int on_gpu;
} memory_case;

/* Answers all pairs at once. */
static mvf_status answer(mvf_engine *engine, mvf_engine_plane *const *planes, mvf_engine_job *jobs)
{
    const mvf_engine_ops *ops = &mvf_engine_cuda;
    mvf_status status = MVF_OK;
    int n = 0;
    for (; n < N_PAIRS && status == MVF_OK; n++) {
        jobs[n].current = planes[pairs[n][0]];
        jobs[n].reference = planes[pairs[n][1]];
        status = ops->submit(engine, &jobs[n]);
    }
    for (int i = 0; i < n; i++) {
        mvf_status collected = jobs[i].state ? ops->collect(engine, &jobs[i], 1) : MVF_ERROR_DEVICE;
        if (collected == MVF_OK)
            ops->take(engine, &jobs[i]);
        else
            status = collected;
    }
    return status;
}

static mvf_status answer_with(const mvf_search_config *config, const mvf_options *options,
                              const mvf_picture *pictures, mvf_engine_job *jobs)
{
    const mvf_engine_ops *ops = &mvf_engine_cuda;
    mvf_engine *engine;
    mvf_engine_plane *planes[N_FRAMES] = {NULL};
    mvf_status status = ops->open(&engine, config, options);
    if (status != MVF_OK)
        return status;
    for (int i = 0; i < N_FRAMES && status == MVF_OK; i++) {
        status = ops->plane_create(engine, &planes[i]);
        if (status == MVF_OK)
            status = ops->plane_load(engine, planes[i], &pictures[i], NULL);
    }
    if (status == MVF_OK)
        status = answer(engine, planes, jobs);
    for (int i = 0; i < N_FRAMES; i++)
        if (planes[i])
            ops->plane_destroy(engine, planes[i]);
    ops->close(engine);
    return status;
}

/* The same with copies of the pictures on the device. */
static mvf_status answer_on_gpu(const mvf_search_config *config, const mvf_options *options,
                                const mvf_picture *pictures, mvf_engine_job *jobs)
{
    mvf_device_picture *copies[N_FRAMES] = {NULL};
    mvf_picture copied[N_FRAMES];
    mvf_status status = MVF_OK;
    for (int i = 0; i < N_FRAMES && status == MVF_OK; i++) {
        status = mvf_device_picture_open(&copies[i], 0, config->width, config->height,
                                         config->bit_depth, &pictures[i], &options->logger);
        if (status == MVF_OK)
            mvf_device_picture_get(copies[i], &copied[i]);
    }
    if (status == MVF_OK)
        status = answer_with(config, options, copied, jobs);
    for (int i = 0; i < N_FRAMES; i++)
        mvf_device_picture_close(&copies[i]);
    return status;
}

static int same_answer(const mvf_field *wanted, const mvf_engine_job *job)
{
    return !memcmp(wanted->blocks, job->blocks, wanted->n_blocks * sizeof *wanted->blocks) &&
           !memcmp(wanted->confidence, job->confidence, wanted->n_blocks) &&
           !(wanted->flags & MVF_FIELD_DUPLICATE) == !job->is_identical;
}

static void check_memory_case(check_run *run, const mvf_options *of_cpu, int32_t width,
                              int32_t height, const mvf_picture *pictures, mvf_field *const *wanted,
                              memory_case c)
{
    char what[128];
    mvf_search_config config;
    mvf_options options = *of_cpu;
    mvf_engine_job jobs[N_PAIRS] = {{.ref = 0}};
    options.backend = MVF_BACKEND_CUDA;
    options.max_in_flight = c.max_in_flight;
    int ok = mvf_search_configure(&config, &options, width, height, 8) == MVF_OK;
    config.most_images = c.most_images;
    for (int i = 0; i < N_PAIRS; i++) {
        jobs[i].blocks = calloc(config.n_matches, sizeof *jobs[i].blocks);
        jobs[i].confidence = calloc(config.n_matches, 1);
        jobs[i].dir = wanted[i]->blocks[0].dir;
    }
    ok =
        ok && (c.on_gpu ? answer_on_gpu : answer_with)(&config, &options, pictures, jobs) == MVF_OK;
    for (int i = 0; i < N_PAIRS; i++) {
        ok = ok && same_answer(wanted[i], &jobs[i]);
        free(jobs[i].blocks);
        free(jobs[i].confidence);
    }
    snprintf(what, sizeof what, "truemotion on CUDA: step %d, %d pairs a batch, %d images%s",
             options.step_x, c.max_in_flight, c.most_images, c.on_gpu ? ", on the GPU" : "");
    check_result(run, ok, what);
}

static void check_memory(check_run *run, int32_t step)
{
    enum { WIDTH = 41, HEIGHT = 30 };
    static const memory_case cases[] = {{8, 2, 0}, {1, 2, 0}, {2, 3, 0}, {3, 4, 0},
                                        {8, 0, 0}, {8, 2, 1}, {2, 3, 1}, {8, 0, 1}};
    check_plane planes[N_FRAMES];
    mvf_picture pictures[N_FRAMES];
    mvf_field *wanted[N_PAIRS] = {NULL};
    mvf_options options;
    mvf_options_init(&options);
    options.logger = run->logger;
    options.backend = MVF_BACKEND_CPU;
    options.method = MVF_METHOD_TRUEMOTION;
    options.step_x = options.step_y = step;
    for (int i = 0; i < N_FRAMES; i++) {
        check_plane_alloc(run, &planes[i], WIDTH, HEIGHT, 8);
        check_plane_fill(run, &planes[i], FILL_TEXTURE, 2 * i);
        pictures[i] = check_plane_picture(&planes[i], i);
    }
    int ok = 1;
    for (int i = 0; i < N_PAIRS; i++)
        ok &= mvf_search(&options, WIDTH, HEIGHT, 8, &pictures[pairs[i][0]], &pictures[pairs[i][1]],
                         &wanted[i]) == MVF_OK;
    check_result(run, ok, "truemotion on the CPU, to compare with");
    for (size_t i = 0; i < sizeof cases / sizeof *cases && ok; i++)
        check_memory_case(run, &options, WIDTH, HEIGHT, pictures, wanted, cases[i]);
    for (int i = 0; i < N_PAIRS; i++)
        mvf_field_free(&wanted[i]);
    for (int i = 0; i < N_FRAMES; i++)
        check_plane_free(&planes[i]);
}

void check_cuda_truemotion(check_run *run)
{
    check_memory(run, 4);
    if (!run->small)
        check_memory(run, 1);
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
