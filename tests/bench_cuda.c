/*
 * Kernel times against the limit of the SAD instruction, measured in the same run.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check_kernels.h"
#include "cuda/device.h"
#include "params.h"
#include "search/engine_cuda.h"
#include "search/launch_cuda.h"

#define MAX_FRAMES 30
#define N_LAUNCHES 20

typedef struct scene {
    const char *name;
    check_fill fill;
    /* The first frame in the clip, or -1: the fill. */
    int first_frame;
    /* Whether each frame is searched in itself. */
    int identical;
} scene;

/* Frames of media/bench/mix-1080p-h264.mp4: more than the cache holds. */
static const scene scenes[] = {
    {"bunny", FILL_FLAT, 0, 0},   {"street", FILL_FLAT, 40, 0}, {"wall", FILL_FLAT, 100, 0},
    {"noise", FILL_NOISE, -1, 0}, {"black", FILL_BLACK, -1, 0}, {"identical", FILL_PATCHES, -1, 1},
};
#define N_SCENES (sizeof scenes / sizeof scenes[0])

static int fill_frame(check_run *run, const scene *s, check_plane *plane, int frame)
{
    if (s->first_frame < 0) {
        check_plane_fill(run, plane, s->fill, 2 * frame);
        return 1;
    }
    FILE *clip = run->clip ? fopen(run->clip, "rb") : NULL;
    size_t n_bytes = (size_t)1920 * 1080;
    uint8_t *samples = malloc(n_bytes);
    int ok = clip && samples && !fseek(clip, (long)n_bytes * (s->first_frame + frame), SEEK_SET) &&
             fread(samples, 1, n_bytes, clip) == n_bytes;
    for (size_t i = 0; ok && i < n_bytes; i++)
        check_plane_set(plane, (int32_t)(i % 1920), (int32_t)(i / 1920),
                        (uint32_t)samples[i] << (plane->bit_depth - 8));
    free(samples);
    if (clip)
        fclose(clip);
    return ok;
}

static int is_at_hand(const check_run *run, const scene *s)
{
    return s->first_frame < 0 || run->clip;
}

static void alloc_frames(check_run *run, const scene *s, int32_t bit_depth, check_plane *planes,
                         int n)
{
    for (int i = 0; i < n; i++) {
        check_plane_alloc(run, &planes[i], 1920, 1080, bit_depth);
        check_result(run, fill_frame(run, s, &planes[i], i), "cuda: a frame of the clip");
    }
}

typedef struct shape {
    int32_t bit_depth, block_w, block_h, range, n_jobs;
    mvf_subpel subpel;
    mvf_interpolation interpolation;
    mvf_partitions partitions;
    mvf_method method;
    /* As in the search config. */
    int32_t first_shape;
} shape;

#define GRID(bit_depth, w, h, range, n_jobs)                                     \
    {                                                                            \
        bit_depth, w, h, range, n_jobs, MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, \
            MVF_PARTITIONS_FIXED, MVF_METHOD_FULL, 0                             \
    }
/* An engine and its frames. */
typedef struct bench_engine {
    mvf_engine *engine;
    int n_planes;
    mvf_engine_plane *planes[MAX_FRAMES];
} bench_engine;

static void close_engine(bench_engine *e)
{
    while (e->n_planes > 0)
        mvf_engine_cuda.plane_destroy(e->engine, e->planes[--e->n_planes]);
    mvf_engine_cuda.close(e->engine);
    e->engine = NULL;
}

static mvf_status load_frames(bench_engine *e, const check_plane *frames, int n_frames)
{
    for (int i = 0; i < n_frames; i++) {
        mvf_picture picture = check_plane_picture(&frames[i], i);
        mvf_status status = mvf_engine_cuda.plane_create(e->engine, &e->planes[i]);
        if (status != MVF_OK)
            return status;
        e->n_planes++;
        status = mvf_engine_cuda.plane_load(e->engine, e->planes[i], &picture, NULL);
        if (status != MVF_OK)
            return status;
    }
    return MVF_OK;
}

static mvf_status open_with(check_run *run, bench_engine *e, mvf_options *options,
                            int32_t first_shape, const check_plane *frames, int n_frames)
{
    mvf_search_config config;
    options->logger = run->logger;
    options->max_in_flight = MVF_CUDA_BATCH;
    *e = (bench_engine){.engine = NULL};
    mvf_status status = mvf_search_configure(&config, options, 1920, 1080, frames->bit_depth);
    if (status != MVF_OK)
        return status;
    config.first_shape = first_shape;
    status = mvf_engine_cuda.open(&e->engine, &config, options);
    if (status != MVF_OK)
        return status;
    status = load_frames(e, frames, n_frames);
    if (status != MVF_OK)
        close_engine(e);
    return status;
}

static mvf_status open_engine(check_run *run, bench_engine *e, const shape *p,
                              const check_plane *frames, int n_frames)
{
    mvf_options options;
    mvf_options_init(&options);
    options.block_w = p->block_w;
    options.block_h = p->block_h;
    options.range_x = options.range_y = p->range;
    options.subpel = p->subpel;
    options.interpolation = p->interpolation;
    options.refine_metric = MVF_METRIC_SATD;
    options.partitions = p->partitions;
    options.method = p->method;
    return open_with(run, e, &options, p->first_shape, frames, n_frames);
}

/* Batches of the scene's pairs, one after the other. */
static mvf_status measure(const bench_engine *e, const scene *s, int batch_jobs, int n_launches,
                          mvf_cuda_measurement *m)
{
    mvf_engine_job jobs[MAX_FRAMES];
    for (int i = 0; i + 1 < e->n_planes; i++)
        jobs[i] = (mvf_engine_job){.current = e->planes[s->identical ? i : i + 1],
                                   .reference = e->planes[i]};
    return mvf_engine_cuda_measure(e->engine, jobs, e->n_planes - 1, batch_jobs, n_launches, m);
}

static double sad_rate(check_run *run)
{
    double rate = 0;
    check_result(run, mvf_cuda_sad_rate(0, &run->logger, &rate) == MVF_OK,
                 "cuda: the rate of the SAD instruction");
    return rate;
}

/* Frames a second at which the device could look at every candidate of a 1080p frame. */
static double limit(double rate, int32_t range)
{
    return rate / (1920.0 * 1080 * (2 * range + 1) * (2 * range + 1));
}

/* Shapes by whatever kernels serve them. */

static const shape shapes[] = {
    GRID(8, 8, 8, 16, 8), GRID(8, 32, 32, 32, 8),  GRID(8, 64, 64, 64, 8),
    GRID(8, 4, 4, 8, 8),  GRID(8, 16, 16, 128, 8), GRID(10, 16, 16, 32, 8),
};

static void bench_shape(check_run *run, const scene *s, const shape *p, double rate)
{
    bench_engine e;
    check_plane frames[9];
    mvf_cuda_measurement m = {.launch_us = 1};
    alloc_frames(run, s, p->bit_depth, frames, 9);
    mvf_status status = open_engine(run, &e, p, frames, 9);
    if (status == MVF_OK) {
        status = measure(&e, s, p->n_jobs, N_LAUNCHES, &m);
        close_engine(&e);
    }
    check_result(run, status == MVF_OK, "cuda: bench");
    double fps = 1e6 * p->n_jobs / m.launch_us;
    printf("%-9s %2d bit %2dx%-2d +-%-3d x%-2d %9.1f us/frame %9.1f frames/s %6.3f of the limit  "
           "%s%s %d registers %d bytes shared\n",
           s->name, p->bit_depth, p->block_w, p->block_h, p->range, p->n_jobs,
           m.launch_us / p->n_jobs, fps, fps / limit(rate, p->range), m.kernel,
           p->subpel == MVF_SUBPEL_NONE ? "" : " + quarter samples by satd", m.n_registers,
           m.static_shared_bytes + m.dynamic_shared_bytes);
    for (int i = 0; i < 9; i++)
        check_plane_free(&frames[i]);
}

void bench_cuda_shapes(check_run *run)
{
    double rate = sad_rate(run);
    for (size_t i = 0; i < N_SCENES && !run->n_failed; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            if (is_at_hand(run, &scenes[i]) && !scenes[i].identical)
                bench_shape(run, &scenes[i], &shapes[k], rate);
}

/* What encoders ask for. */

#define ENCODER_JOBS 8
#define ENCODER_LAUNCHES 3

/* Zeros stand for what the search of 16x16 blocks takes. */
typedef struct encoder_shape {
    const char *name;
    int32_t bit_depth, range, block, partition_min;
    mvf_partitions partitions;
    mvf_metric metric;
    mvf_subpel subpel;
    mvf_interpolation interpolation;
    mvf_method method;
    uint32_t lambda_q4;
    int refined_by_sad;
} encoder_shape;

static const encoder_shape encoder_shapes[] = {
    {.name = "16x16", .bit_depth = 8, .range = 32, .block = 16},
    {.name = "16x16, quarter samples, h264",
     .bit_depth = 8,
     .range = 32,
     .block = 16,
     .subpel = MVF_SUBPEL_QUARTER},
    {.name = "16x16, quarter samples, hevc",
     .bit_depth = 8,
     .range = 32,
     .block = 16,
     .subpel = MVF_SUBPEL_QUARTER,
     .interpolation = MVF_INTERPOLATION_HEVC},
    {.name = "16x16, quarter samples, h264, sad",
     .bit_depth = 8,
     .range = 32,
     .block = 16,
     .subpel = MVF_SUBPEL_QUARTER,
     .refined_by_sad = 1},
    {.name = "squares of 64 to 8",
     .bit_depth = 8,
     .range = 32,
     .block = 64,
     .partitions = MVF_PARTITIONS_SQUARE,
     .partition_min = 8},
    {.name = "the same, quarter samples, h264",
     .bit_depth = 8,
     .range = 32,
     .block = 64,
     .partitions = MVF_PARTITIONS_SQUARE,
     .partition_min = 8,
     .subpel = MVF_SUBPEL_QUARTER},
    {.name = "squares of 64 to 8",
     .bit_depth = 8,
     .range = 16,
     .block = 64,
     .partitions = MVF_PARTITIONS_SQUARE,
     .partition_min = 8},
    {.name = "squares of 64 to 8",
     .bit_depth = 10,
     .range = 16,
     .block = 64,
     .partitions = MVF_PARTITIONS_SQUARE,
     .partition_min = 8},
    {.name = "squares of 64 to 4",
     .bit_depth = 8,
     .range = 16,
     .block = 64,
     .partitions = MVF_PARTITIONS_SQUARE,
     .partition_min = 4},
    {.name = "squares and halves, 64 to 8",
     .bit_depth = 8,
     .range = 16,
     .block = 64,
     .partitions = MVF_PARTITIONS_RECT,
     .partition_min = 8},
    {.name = "squares and halves, 16 to 4",
     .bit_depth = 8,
     .range = 16,
     .block = 16,
     .partitions = MVF_PARTITIONS_RECT,
     .partition_min = 4},
    {.name = "16x16, lambda 5", .bit_depth = 8, .range = 32, .block = 16, .lambda_q4 = 80},
    {.name = "16x16, ssd", .bit_depth = 8, .range = 16, .block = 16, .metric = MVF_METRIC_SSD},
    {.name = "16x16, satd", .bit_depth = 8, .range = 16, .block = 16, .metric = MVF_METRIC_SATD},
    {.name = "16x16, round zero",
     .bit_depth = 8,
     .range = 16,
     .block = 16,
     .method = MVF_METHOD_REFINE},
    {.name = "8x8, round zero, satd",
     .bit_depth = 8,
     .range = 16,
     .block = 8,
     .metric = MVF_METRIC_SATD,
     .method = MVF_METHOD_REFINE},
};

static mvf_options encoder_options(const encoder_shape *p)
{
    mvf_options options;
    mvf_options_init(&options);
    options.block_w = options.block_h = p->block;
    options.range_x = options.range_y = p->range;
    options.partitions = p->partitions;
    options.partition_min = p->partition_min;
    options.metric = p->metric;
    options.subpel = p->subpel;
    options.interpolation = p->interpolation;
    options.refine_metric = p->refined_by_sad ? MVF_METRIC_SAD : MVF_METRIC_SATD;
    options.method = p->method;
    options.lambda_q4 = p->lambda_q4;
    return options;
}

static void bench_encoder_shape(check_run *run, const scene *s, const encoder_shape *p, double rate)
{
    bench_engine e;
    check_plane frames[ENCODER_JOBS + 1];
    mvf_cuda_measurement m = {.launch_us = 1};
    mvf_options options = encoder_options(p);
    if (getenv("R5") && p->subpel == MVF_SUBPEL_NONE && !(p->range == 32 && !p->lambda_q4))
        return;
    alloc_frames(run, s, p->bit_depth, frames, ENCODER_JOBS + 1);
    mvf_status status = open_with(run, &e, &options, 0, frames, ENCODER_JOBS + 1);
    if (status == MVF_OK) {
        status = measure(&e, s, ENCODER_JOBS, ENCODER_LAUNCHES, &m);
        close_engine(&e);
    }
    check_result(run, status == MVF_OK, "cuda: bench");
    double us = m.launch_us / ENCODER_JOBS;
    printf("%-7s %2d bit +-%d %-32s %9.1f us/frame %6.3f of the limit  %s %d registers\n", s->name,
           p->bit_depth, p->range, p->name, us, 1e6 / us / limit(rate, p->range), m.kernel,
           m.n_registers);
    for (int i = 0; i <= ENCODER_JOBS; i++)
        check_plane_free(&frames[i]);
}

void bench_cuda_encoder(check_run *run)
{
    double rate = sad_rate(run);
    for (size_t i = 0; i < N_SCENES && !run->n_failed; i++)
        for (size_t k = 0; k < sizeof encoder_shapes / sizeof encoder_shapes[0]; k++)
            if (is_at_hand(run, &scenes[i]) && scenes[i].fill != FILL_BLACK && !scenes[i].identical)
                bench_encoder_shape(run, &scenes[i], &encoder_shapes[k], rate);
}

/* Tables of rows, timed in turn. */

#define N_ROUNDS 2
#define MAX_ROWS 16
/* Values of first_shape. */
#define N_FIRST_SHAPES 3

typedef struct row_table {
    const shape *rows;
    size_t n_rows;
    /* Microseconds a frame. */
    double us[MAX_ROWS][N_SCENES][N_ROUNDS];
    const char *kernels[MAX_ROWS];
    int32_t n_registers[MAX_ROWS];
} row_table;

#define ROW(range, first_shape, n_jobs)                                                          \
    {                                                                                            \
        8, 16, 16, range, n_jobs, MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, MVF_PARTITIONS_FIXED, \
            MVF_METHOD_FULL, first_shape                                                         \
    }
#define HIER(bit_depth, block, range, n_jobs)                                            \
    {                                                                                    \
        bit_depth, block, block, range, n_jobs, MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, \
            MVF_PARTITIONS_FIXED, MVF_METHOD_HIER, 0                                     \
    }

/* Those of the launch table that serve 16x16 blocks. */
static const shape full_rows[] = {
    ROW(32, MVF_SHAPE_ELIMINATE, 32), ROW(32, MVF_SHAPE_ELIMINATE, 8),
    ROW(32, MVF_SHAPE_ELIMINATE, 1),  ROW(32, MVF_SHAPE_EXHAUST, 32),
    ROW(32, MVF_SHAPE_OTHERS, 32),    ROW(32, MVF_SHAPE_OTHERS, 1),
    ROW(16, MVF_SHAPE_ELIMINATE, 32), ROW(16, MVF_SHAPE_OTHERS, 32),
    ROW(8, MVF_SHAPE_ELIMINATE, 32),  ROW(8, MVF_SHAPE_OTHERS, 32),
    ROW(4, MVF_SHAPE_ELIMINATE, 32),  ROW(4, MVF_SHAPE_OTHERS, 32),
    ROW(64, MVF_SHAPE_ELIMINATE, 8),  ROW(64, MVF_SHAPE_OTHERS, 8),
};

/* Method hier, with the levels of each frame. */
static const shape hier_rows[] = {
    HIER(8, 16, 64, 32), HIER(8, 16, 64, 8), HIER(8, 16, 64, 1),  HIER(8, 16, 32, 32),
    HIER(8, 16, 128, 8), HIER(8, 8, 64, 32), HIER(8, 32, 64, 32), HIER(10, 16, 64, 32),
};

/* Whether two rows differ in no more than what engines that are open side by side may. */
static int same_frames(const shape *a, const shape *b)
{
    return a->bit_depth == b->bit_depth && a->block_w == b->block_w && a->range == b->range;
}

static mvf_status time_row(const bench_engine *e, row_table *t, size_t scene_index, size_t i,
                           int round)
{
    mvf_cuda_measurement m = {.launch_us = 0};
    int32_t n_jobs = t->rows[i].n_jobs;
    mvf_status status = measure(e, &scenes[scene_index], n_jobs, N_LAUNCHES, &m);
    t->us[i][scene_index][round] = m.launch_us / n_jobs;
    t->kernels[i] = m.kernel;
    t->n_registers[i] = m.n_registers;
    return status;
}

/* Rows first to end, each value of first_shape by an engine. */
static mvf_status time_rows(check_run *run, row_table *t, size_t scene_index, size_t first,
                            size_t end, const check_plane *frames)
{
    bench_engine engines[N_FIRST_SHAPES] = {{.engine = NULL}};
    mvf_status status = MVF_OK;
    for (size_t i = first; i < end && status == MVF_OK; i++) {
        bench_engine *e = &engines[t->rows[i].first_shape];
        if (!e->engine)
            status = open_engine(run, e, &t->rows[i], frames, MAX_FRAMES);
    }
    for (int round = 0; round < N_ROUNDS; round++)
        for (size_t i = first; i < end && status == MVF_OK; i++)
            status = time_row(&engines[t->rows[i].first_shape], t, scene_index, i, round);
    for (int i = 0; i < N_FIRST_SHAPES; i++)
        if (engines[i].engine)
            close_engine(&engines[i]);
    return status;
}

/* Rows of one bit depth from `first` on; returns where they end. */
static size_t time_depth(check_run *run, row_table *t, size_t scene_index, size_t first)
{
    check_plane frames[MAX_FRAMES];
    const shape *rows = t->rows;
    size_t end = first;
    alloc_frames(run, &scenes[scene_index], rows[first].bit_depth, frames, MAX_FRAMES);
    for (size_t i = first; i < t->n_rows && rows[i].bit_depth == rows[first].bit_depth; i = end) {
        for (end = i + 1; end < t->n_rows && same_frames(&rows[i], &rows[end]);)
            end++;
        check_result(run, time_rows(run, t, scene_index, i, end, frames) == MVF_OK, "cuda: bench");
    }
    for (int i = 0; i < MAX_FRAMES; i++)
        check_plane_free(&frames[i]);
    return end;
}

static void print_row(const check_run *run, const row_table *t, size_t i, double rate)
{
    const shape *r = &t->rows[i];
    printf("\n%2d bit %2dx%-2d +-%-3d x%-2d %-17s %3d regs", r->bit_depth, r->block_w, r->block_h,
           r->range, r->n_jobs, t->kernels[i], t->n_registers[i]);
    for (size_t k = 0; k < N_SCENES; k++) {
        double fps = 2e6 / (t->us[i][k][0] + t->us[i][k][1]);
        if (is_at_hand(run, &scenes[k]))
            printf(" %9.0f (%4.2f)", fps, fps / limit(rate, r->range));
    }
}

/* The larger time of two rounds by the smaller, less one. */
static double apart(const double *us)
{
    return us[0] > us[1] ? us[0] / us[1] - 1 : us[1] / us[0] - 1;
}

static void print_table(const check_run *run, const row_table *t, double rate)
{
    double worst = 0;
    printf("%-53s", "frames/s (of the limit of every candidate)");
    for (size_t k = 0; k < N_SCENES; k++)
        if (is_at_hand(run, &scenes[k]))
            printf(" %16s", scenes[k].name);
    for (size_t i = 0; i < t->n_rows; i++) {
        print_row(run, t, i, rate);
        for (size_t k = 0; k < N_SCENES; k++)
            if (is_at_hand(run, &scenes[k]) && apart(t->us[i][k]) > worst)
                worst = apart(t->us[i][k]);
    }
    printf("\ntwo rounds differ by at most %.1f %%\n", 100 * worst);
}

static void bench_table(check_run *run, row_table *t)
{
    double rate = sad_rate(run);
    if (run->n_rows && (size_t)run->n_rows < t->n_rows)
        t->n_rows = (size_t)run->n_rows;
    for (size_t k = 0; k < N_SCENES && !run->n_failed; k++)
        for (size_t i = 0; is_at_hand(run, &scenes[k]) && i < t->n_rows && !run->n_failed;)
            i = time_depth(run, t, k, i);
    printf("SAD instruction: %.1f T differences/s, at the end %.1f; +-32 at most %.0f frames/s\n",
           rate / 1e12, sad_rate(run) / 1e12, limit(rate, 32));
    if (!run->n_failed)
        print_table(run, t, rate);
}

void bench_cuda_rows(check_run *run)
{
    static row_table table = {.rows = full_rows, .n_rows = sizeof full_rows / sizeof full_rows[0]};
    bench_table(run, &table);
}

void bench_cuda_hier(check_run *run)
{
    static row_table table = {.rows = hier_rows, .n_rows = sizeof hier_rows / sizeof hier_rows[0]};
    bench_table(run, &table);
}

/* What smoothing adds to a search. */

#define SMOOTH_JOBS 32
#define SMOOTH_LAUNCHES 5

static const shape smooth_shapes[] = {
    {.bit_depth = 8, .block_w = 16, .block_h = 16, .range = 32},
    {.bit_depth = 8, .block_w = 16, .block_h = 16, .range = 32, .subpel = MVF_SUBPEL_QUARTER},
    {.bit_depth = 8, .block_w = 8, .block_h = 8, .range = 16},
    {.bit_depth = 8, .block_w = 8, .block_h = 8, .range = 16, .subpel = MVF_SUBPEL_QUARTER},
    {.bit_depth = 10, .block_w = 16, .block_h = 16, .range = 32},
};

/* Microseconds a frame. */
static double time_smooth(check_run *run, const scene *s, const shape *p, mvf_smooth smooth,
                          const check_plane *frames)
{
    bench_engine e;
    mvf_options options;
    mvf_cuda_measurement m = {.launch_us = 0};
    mvf_options_init(&options);
    options.block_w = p->block_w;
    options.block_h = p->block_h;
    options.range_x = options.range_y = p->range;
    options.subpel = p->subpel;
    options.smooth = smooth;
    mvf_status status = open_with(run, &e, &options, 0, frames, MAX_FRAMES);
    if (status == MVF_OK) {
        status = measure(&e, s, SMOOTH_JOBS, SMOOTH_LAUNCHES, &m);
        close_engine(&e);
    }
    check_result(run, status == MVF_OK, "cuda: bench");
    return m.launch_us / SMOOTH_JOBS;
}

static void bench_smooth_shape(check_run *run, const scene *s, const shape *p)
{
    check_plane frames[MAX_FRAMES];
    alloc_frames(run, s, p->bit_depth, frames, MAX_FRAMES);
    double none = time_smooth(run, s, p, MVF_SMOOTH_NONE, frames);
    double median = time_smooth(run, s, p, MVF_SMOOTH_MEDIAN, frames);
    double path = time_smooth(run, s, p, MVF_SMOOTH_PATH, frames);
    printf("%-9s %2d bit %2dx%-2d +-%-2d%-17s search %8.1f us/frame, medians %6.1f more, paths "
           "%6.1f more\n",
           s->name, p->bit_depth, p->block_w, p->block_h, p->range,
           p->subpel == MVF_SUBPEL_NONE ? "" : " quarter samples", none, median - none,
           path - none);
    for (int i = 0; i < MAX_FRAMES; i++)
        check_plane_free(&frames[i]);
}

void bench_cuda_smooth(check_run *run)
{
    for (size_t i = 0; i < N_SCENES && !run->n_failed; i++)
        for (size_t k = 0; k < sizeof smooth_shapes / sizeof smooth_shapes[0]; k++)
            if (is_at_hand(run, &scenes[i]) && scenes[i].fill != FILL_BLACK && !scenes[i].identical)
                bench_smooth_shape(run, &scenes[i], &smooth_shapes[k]);
}

/* True motion, from pictures in host memory to finished fields. */

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Searches the frames back and forth, n_rounds times; 0 if a field is missing. */
static int search_rounds(mvf_searcher *searcher, const check_plane *frames, int n_rounds)
{
    mvf_field *field;
    mvf_status status = MVF_OK;
    int n_fields = 0, n_pairs = n_rounds * (MAX_FRAMES - 1);
    for (int i = 0; i < n_pairs && (status == MVF_OK || status == MVF_AGAIN); i++) {
        int turn = i % (2 * MAX_FRAMES - 2), back = turn >= MAX_FRAMES - 1;
        int at = back ? 2 * MAX_FRAMES - 2 - turn : turn;
        mvf_picture reference = check_plane_picture(&frames[at], i),
                    current = check_plane_picture(&frames[back ? at - 1 : at + 1], i + 1);
        status = mvf_searcher_submit(searcher, &current, &reference, 1, NULL);
        while (status == MVF_OK && (status = mvf_searcher_receive(searcher, &field)) == MVF_OK) {
            mvf_field_free(&field);
            n_fields++;
        }
    }
    mvf_searcher_flush(searcher);
    while (mvf_searcher_receive(searcher, &field) == MVF_OK) {
        mvf_field_free(&field);
        n_fields++;
    }
    return n_fields == n_pairs;
}

static void bench_true_motion(check_run *run, const scene *s, const check_plane *frames,
                              mvf_effort effort, int32_t step)
{
    enum { N_ROUNDS_TIMED = 3 };
    mvf_options options;
    mvf_searcher *searcher;
    mvf_options_init(&options);
    options.logger = run->logger;
    options.backend = MVF_BACKEND_CUDA;
    options.method = MVF_METHOD_TRUEMOTION;
    options.block_w = options.block_h = 4;
    options.step_x = options.step_y = step;
    options.effort = effort;
    options.max_in_flight = MVF_CUDA_BATCH;
    mvf_status status = mvf_searcher_open(&searcher, &options, 1920, 1080, 8);
    check_result(run, status == MVF_OK, "cuda: open true motion");
    if (status != MVF_OK)
        return;
    int ok = search_rounds(searcher, frames, 1);
    double start = wall_seconds();
    ok &= search_rounds(searcher, frames, N_ROUNDS_TIMED);
    check_result(run, ok, "cuda: bench of true motion");
    printf("truemotion %-9s effort %-4s step %d: %7.1f frames/s\n", s->name,
           effort == MVF_EFFORT_LOW ? "low" : "high", (int)step,
           N_ROUNDS_TIMED * (MAX_FRAMES - 1) / (wall_seconds() - start));
    mvf_searcher_close(&searcher);
}

static void bench_true_motion_scene(check_run *run, const scene *s, int32_t step)
{
    check_plane frames[MAX_FRAMES];
    alloc_frames(run, s, 8, frames, MAX_FRAMES);
    bench_true_motion(run, s, frames, MVF_EFFORT_HIGH, step);
    bench_true_motion(run, s, frames, MVF_EFFORT_LOW, step);
    for (int i = 0; i < MAX_FRAMES; i++)
        check_plane_free(&frames[i]);
}

void bench_cuda_true_motion(check_run *run)
{
#ifdef __GLIBC__
    /* As the command does. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
    for (int32_t step = 4; step; step = step == 4 ? 1 : 0)
        for (size_t k = 0; k < N_SCENES && !run->n_failed; k++)
            if (is_at_hand(run, &scenes[k]) && scenes[k].first_frame >= 0)
                bench_true_motion_scene(run, &scenes[k], step);
}
