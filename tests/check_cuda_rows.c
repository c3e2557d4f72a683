/*
 * The rows of CUDA's table of launch shapes that serve 16x16 blocks of 8-bit samples, each forced
 * in turn, against the CPU engine: sizes, ranges, edge rules, fills, batches.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"
#include "params.h"
#include "search/engine_cuda.h"
#include "search/launch_cuda.h"

#define N_PLANES 5
#define N_ROWS 3

static const char *const row_names[N_ROWS] = {"elimination", "exhaustion", "general"};

/* An engine, its planes, and room for the answers of one batch. */
typedef struct row_engine {
    const mvf_engine_ops *ops;
    mvf_engine *engine;
    mvf_engine_plane *planes[N_PLANES];
    mvf_match *matches;
    size_t n_matches;
} row_engine;

typedef struct row_case {
    int32_t width, height, range_x, range_y;
    mvf_edges edges;
} row_case;

static void give_up(const char *what)
{
    fprintf(stderr, "check_kernels: %s\n", what);
    exit(1);
}

static void open_engine(check_run *run, row_engine *e, const mvf_engine_ops *ops, const row_case *c,
                        int32_t first_shape)
{
    mvf_search_config config;
    mvf_options options;
    mvf_options_init(&options);
    options.logger = run->logger;
    options.block_w = options.block_h = 16;
    options.range_x = c->range_x;
    options.range_y = c->range_y;
    options.edges = c->edges;
    options.max_in_flight = MVF_CUDA_BATCH;
    if (mvf_search_configure(&config, &options, c->width, c->height, 8) != MVF_OK)
        give_up("a case that cannot be searched");
    config.first_shape = first_shape;
    *e = (row_engine){.ops = ops, .n_matches = config.n_matches};
    e->matches = calloc(MVF_CUDA_BATCH * config.n_matches, sizeof *e->matches);
    if (!e->matches || ops->open(&e->engine, &config, &options) != MVF_OK)
        give_up("an engine does not open");
    for (int i = 0; i < N_PLANES; i++)
        if (ops->plane_create(e->engine, &e->planes[i]) != MVF_OK)
            give_up("no plane");
}

static void close_engine(row_engine *e)
{
    for (int i = 0; i < N_PLANES; i++)
        e->ops->plane_destroy(e->engine, e->planes[i]);
    e->ops->close(e->engine);
    free(e->matches);
}

static void load_planes(row_engine *e, const check_plane *planes)
{
    for (int i = 0; i < N_PLANES; i++) {
        mvf_picture picture = check_plane_picture(&planes[i], i);
        if (e->ops->plane_load(e->engine, e->planes[i], &picture, NULL) != MVF_OK)
            give_up("a plane does not load");
    }
}

/* Pair i of a batch: one plane and the one before it, and now and then the same twice. */
static mvf_engine_job job_of(const row_engine *e, int i)
{
    int current = i % N_PLANES, reference = current ? current - 1 : current;
    return (mvf_engine_job){.current = e->planes[current],
                            .reference = e->planes[reference],
                            .matches = e->matches + (size_t)i * e->n_matches};
}

static void expect_matches(row_engine *cpu)
{
    for (int i = 0; i < N_PLANES; i++) {
        mvf_engine_job job = job_of(cpu, i);
        if (cpu->ops->submit(cpu->engine, &job) != MVF_OK ||
            cpu->ops->collect(cpu->engine, &job, 1) != MVF_OK)
            give_up("the CPU engine fails");
    }
}

static int same_matches(const row_engine *e, const row_engine *cpu, int n_jobs)
{
    for (int i = 0; i < n_jobs; i++) {
        const mvf_match *a = e->matches + (size_t)i * e->n_matches;
        const mvf_match *b = cpu->matches + (size_t)(i % N_PLANES) * cpu->n_matches;
        for (size_t k = 0; k < e->n_matches; k++)
            if (memcmp(&a[k], &b[k], sizeof a[k]) != 0) {
                fprintf(stderr, "pair %d, block %zu: (%d,%d) cost %u instead of (%d,%d) cost %u\n",
                        i, k, a[k].x, a[k].y, a[k].cost, b[k].x, b[k].y, b[k].cost);
                return 0;
            }
    }
    return 1;
}

static void check_batch(check_run *run, row_engine *e, const row_engine *cpu, int n_jobs,
                        const char *what)
{
    mvf_engine_job jobs[MVF_CUDA_BATCH];
    char text[256];
    memset(e->matches, 0xcd, MVF_CUDA_BATCH * e->n_matches * sizeof *e->matches);
    for (int i = 0; i < n_jobs; i++)
        jobs[i] = job_of(e, i);
    int ok = mvf_engine_cuda_search(e->engine, jobs, n_jobs) == MVF_OK;
    snprintf(text, sizeof text, "%s, batch of %d", what, n_jobs);
    check_result(run, ok && same_matches(e, cpu, n_jobs), text);
}

/* All rows on all fills; `batches` ends in 0. */
static void check_row_case(check_run *run, const row_case *c, const check_fill *fills, int n_fills,
                           const int *batches)
{
    row_engine cpu, rows[N_ROWS];
    check_plane planes[N_PLANES];
    char what[200];
    open_engine(run, &cpu, &mvf_engine_cpu, c, 0);
    for (int i = 0; i < N_ROWS; i++)
        open_engine(run, &rows[i], &mvf_engine_cuda, c, i);
    for (int i = 0; i < N_PLANES; i++)
        check_plane_alloc(run, &planes[i], c->width, c->height, 8);
    for (int f = 0; f < n_fills; f++) {
        for (int i = 0; i < N_PLANES; i++)
            check_plane_fill(run, &planes[i], fills[f], 3 * i);
        load_planes(&cpu, planes);
        expect_matches(&cpu);
        for (int i = 0; i < N_ROWS; i++) {
            snprintf(what, sizeof what, "%s: %dx%d, range %dx%d, edges %s, %s", row_names[i],
                     c->width, c->height, c->range_x, c->range_y,
                     c->edges == MVF_EDGES_INSIDE ? "inside" : "clamp", check_fill_name(fills[f]));
            load_planes(&rows[i], planes);
            for (const int *n = batches; *n; n++)
                check_batch(run, &rows[i], &cpu, *n, what);
        }
    }
    for (int i = 0; i < N_PLANES; i++)
        check_plane_free(&planes[i]);
    for (int i = 0; i < N_ROWS; i++)
        close_engine(&rows[i]);
    close_engine(&cpu);
}

static const check_fill all_fills[] = {FILL_NOISE,   FILL_FLAT,  FILL_STRIPES, FILL_EXTREMES,
                                       FILL_TEXTURE, FILL_BLACK, FILL_PATCHES};

/* Few and small enough for tools that slow kernels down a hundredfold. */
void check_cuda_rows_small(check_run *run)
{
    /* One group of eight blocks is dealt out block by block. */
    static const row_case cases[] = {{1, 1, 16, 16, MVF_EDGES_CLAMP},
                                     {64, 32, 32, 32, MVF_EDGES_CLAMP},
                                     {70, 50, 32, 32, MVF_EDGES_CLAMP},
                                     {83, 67, 40, 9, MVF_EDGES_INSIDE}};
    static const check_fill fills[] = {FILL_NOISE, FILL_TEXTURE};
    static const int batches[] = {1, 2, MVF_ELIMINATE_FEW_PAIRS, 0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_row_case(run, &cases[i], fills, 2, batches);
}

void check_cuda_rows(check_run *run)
{
    static const int32_t sizes[][2] = {{1, 1},   {16, 16},  {70, 50},   {5, 200},
                                       {64, 64}, {130, 17}, {203, 131}, {321, 241}};
    static const int32_t ranges[][2] = {{0, 0},  {1, 1},    {5, 31},  {16, 16},   {32, 32},
                                        {40, 9}, {33, 100}, {64, 64}, {100, 100}, {127, 127}};
    static const int one[] = {5, 0}, many[] = {1, 2, 31, 32, 0};
    /* More groups that bounds leave than are dealt out block by block. */
    static const row_case listed = {203, 131, 16, 16, MVF_EDGES_CLAMP};
    static const int small[2][2] = {{MVF_ELIMINATE_FEW_PAIRS - 1, 0}, {MVF_ELIMINATE_FEW_PAIRS, 0}};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 10; k++)
            for (int inside = 0; inside < 2; inside++) {
                row_case c = {sizes[i][0], sizes[i][1], ranges[k][0], ranges[k][1],
                              inside ? MVF_EDGES_INSIDE : MVF_EDGES_CLAMP};
                if (!run->small)
                    check_row_case(run, &c, all_fills, N_FILLS, i == 6 ? many : one);
                else if (i < 5 && k < 6)
                    check_row_case(run, &c, all_fills + (i + 3 * k + inside) % N_FILLS, 1,
                                   small[(i + k) % 2]);
            }
    if (run->small)
        check_row_case(run, &listed, all_fills, 1, small[1]);
}

void check_cuda_rows_frames(check_run *run)
{
    static const row_case cases[] = {{1920, 1080, 32, 32, MVF_EDGES_CLAMP},
                                     {1920, 1080, 32, 32, MVF_EDGES_INSIDE},
                                     {1920, 1080, 16, 16, MVF_EDGES_CLAMP},
                                     {1919, 1079, 64, 48, MVF_EDGES_CLAMP}};
    static const row_case longest = {1280, 720, 127, 127, MVF_EDGES_INSIDE};
    static const check_fill fills[] = {FILL_NOISE, FILL_TEXTURE, FILL_BLACK, FILL_PATCHES};
    static const int many[] = {1, 2, 31, 32, 0}, few[] = {2, 0};
    if (run->small)
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_row_case(run, &cases[i], i ? fills + 2 : fills, i ? 2 : 4, i == 0 ? many : few);
    check_row_case(run, &longest, fills + 3, 1, few);
}
