/*
 * Smooth fields on a CUDA device: the bits of plain C, whose paths check_smooth_paths.c compares
 * with the text of the rule.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"
#include "search/engine_cuda.h"

/* Frames of a case, all but the ends searched in the one before and the one after. */
#define MAX_FRAMES 10

/* What each kernel that labels blocks is for. */
typedef struct smooth_kind {
    mvf_subpel subpel;
    mvf_interpolation interpolation;
    mvf_metric metric, refine_metric;
} smooth_kind;

static const smooth_kind kinds[] = {
    {MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, MVF_METRIC_SAD, MVF_METRIC_SAD},
    {MVF_SUBPEL_QUARTER, MVF_INTERPOLATION_H264, MVF_METRIC_SAD, MVF_METRIC_SATD},
    {MVF_SUBPEL_QUARTER, MVF_INTERPOLATION_HEVC, MVF_METRIC_SAD, MVF_METRIC_SAD},
    {MVF_SUBPEL_HALF, MVF_INTERPOLATION_BILINEAR, MVF_METRIC_SAD, MVF_METRIC_SATD4},
    {MVF_SUBPEL_NONE, MVF_INTERPOLATION_HEVC, MVF_METRIC_SATD, MVF_METRIC_SAD},
    {MVF_SUBPEL_QUARTER, MVF_INTERPOLATION_H264, MVF_METRIC_SATD4, MVF_METRIC_SAD},
    {MVF_SUBPEL_QUARTER, MVF_INTERPOLATION_HEVC, MVF_METRIC_SAD, MVF_METRIC_SATD},
    {MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, MVF_METRIC_SATD4, MVF_METRIC_SATD},
    {MVF_SUBPEL_HALF, MVF_INTERPOLATION_H264, MVF_METRIC_SAD, MVF_METRIC_SATD4},
    {MVF_SUBPEL_QUARTER, MVF_INTERPOLATION_BILINEAR, MVF_METRIC_SAD, MVF_METRIC_SAD},
};
#define N_KINDS (int)(sizeof kinds / sizeof kinds[0])

typedef struct smooth_case {
    check_case c;
    mvf_options options;
    int n_frames;
    check_plane planes[MAX_FRAMES];
    /* Of every block and both references, or NULL. */
    mvf_vector *predictors;
} smooth_case;

static int32_t pick(check_run *run, int32_t low, int32_t high)
{
    return low + (int32_t)(check_random(run) % (uint32_t)(high - low + 1));
}

static size_t n_blocks(const smooth_case *s)
{
    int32_t step_x = s->c.step_x ? s->c.step_x : s->c.block_w;
    int32_t step_y = s->c.step_y ? s->c.step_y : s->c.block_h;
    return (size_t)((s->c.width + step_x - 1) / step_x) *
           (size_t)((s->c.height + step_y - 1) / step_y);
}

static mvf_status submit(mvf_searcher *searcher, const smooth_case *s)
{
    mvf_status status = MVF_OK;
    mvf_guides guides;
    mvf_guides_init(&guides);
    guides.predictors = s->predictors;
    for (int64_t i = 1; i + 1 < s->n_frames && status == MVF_OK; i++) {
        mvf_picture current = check_plane_picture(&s->planes[i], i);
        mvf_picture references[2] = {check_plane_picture(&s->planes[i - 1], i - 1),
                                     check_plane_picture(&s->planes[i + 1], i + 1)};
        status = mvf_searcher_submit_guided(searcher, &current, references, 2, &guides, NULL);
    }
    return status;
}

/* The fields of one backend, of which there are two less than frames; 0 if it fails. */
static int search(const smooth_case *s, mvf_backend backend, mvf_smooth smooth, mvf_field **fields)
{
    mvf_searcher *searcher;
    mvf_options options = s->options;
    options.backend = backend;
    options.smooth = smooth;
    if (mvf_searcher_open(&searcher, &options, s->c.width, s->c.height, s->c.bit_depth) != MVF_OK)
        return 0;
    mvf_status status = submit(searcher, s);
    mvf_searcher_flush(searcher);
    for (int i = 0; i + 2 < s->n_frames && status == MVF_OK; i++)
        status = mvf_searcher_receive(searcher, &fields[i]);
    mvf_searcher_close(&searcher);
    return status == MVF_OK;
}

static int same(const mvf_field *a, const mvf_field *b)
{
    return a->n_blocks == b->n_blocks && a->flags == b->flags &&
           !memcmp(a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks);
}

static void free_fields(const smooth_case *s, mvf_field **fields)
{
    for (int i = 0; i + 2 < s->n_frames; i++)
        mvf_field_free(&fields[i]);
}

/* Returns how many blocks of the first field smoothing has changed. */
static int compare(check_run *run, const smooth_case *s, mvf_smooth smooth)
{
    char what[320];
    mvf_field *cpu[MAX_FRAMES] = {NULL}, *cuda[MAX_FRAMES] = {NULL}, *rough[MAX_FRAMES] = {NULL};
    const mvf_options *o = &s->options;
    int n_changed = 0;
    int ok = search(s, MVF_BACKEND_CPU, smooth, cpu) && search(s, MVF_BACKEND_CUDA, smooth, cuda) &&
             search(s, MVF_BACKEND_CPU, MVF_SMOOTH_NONE, rough);
    for (int i = 0; i + 2 < s->n_frames; i++)
        ok = ok && same(cpu[i], cuda[i]);
    for (size_t i = 0; ok && i < cpu[0]->n_blocks; i++)
        n_changed += cpu[0]->blocks[i].mv_x != rough[0]->blocks[i].mv_x ||
                     cpu[0]->blocks[i].mv_y != rough[0]->blocks[i].mv_y;
    free_fields(s, cpu);
    free_fields(s, cuda);
    free_fields(s, rough);
    int n = snprintf(what, sizeof what,
                     "smooth %d, method %d metric %d subpel %d by %d metric %d, lambda %u, merge "
                     "%d, %d changed: ",
                     smooth, o->method, o->metric, o->subpel, o->interpolation, o->refine_metric,
                     o->lambda_q4, o->merge, n_changed);
    check_case_describe(what + n, sizeof what - (size_t)n, &s->c, "cuda");
    check_result(run, ok, what);
    return n_changed;
}

static void set_options(check_run *run, smooth_case *s, const smooth_kind *kind)
{
    mvf_options *o = &s->options;
    *o = check_case_options(run, &s->c);
    o->subpel = kind->subpel;
    o->interpolation = kind->interpolation;
    o->metric = kind->metric;
    o->refine_metric = kind->refine_metric;
    o->cpu_level = MVF_CPU_C;
    o->max_in_flight = MAX_FRAMES;
    if (kind->metric == MVF_METRIC_SAD && pick(run, 0, 3) == 0)
        o->method = MVF_METHOD_HIER;
    else if (pick(run, 0, 3) == 0)
        o->method = MVF_METHOD_REFINE;
    if (o->method != MVF_METHOD_HIER && pick(run, 0, 2) == 0)
        o->lambda_q4 = (uint32_t)pick(run, 1, 400);
    if (pick(run, 0, 4) == 0)
        o->merge = MVF_MERGE_BEST;
}

static void make_predictors(check_run *run, smooth_case *s)
{
    size_t n = 2 * n_blocks(s);
    s->predictors = NULL;
    if (s->options.method == MVF_METHOD_HIER || pick(run, 0, 1))
        return;
    s->predictors = calloc(n, sizeof *s->predictors);
    for (size_t i = 0; s->predictors && i < n; i++)
        s->predictors[i] = (mvf_vector){(int16_t)pick(run, -30, 30), (int16_t)pick(run, -30, 30)};
}

static int check_both(check_run *run, smooth_case *s)
{
    check_case_alloc_planes(run, &s->c, s->planes, s->n_frames, 2);
    int n_changed = compare(run, s, MVF_SMOOTH_PATH) + compare(run, s, MVF_SMOOTH_MEDIAN);
    check_case_free_planes(s->planes, s->n_frames);
    free(s->predictors);
    return n_changed;
}

/* Every kind with each sample size; fields of one block among them. */
static void check_random_cases(check_run *run, int n)
{
    int n_changed = 0;
    for (int i = 0; i < n; i++) {
        smooth_case s = {.n_frames = 3 + (i % 8 == 0)};
        int32_t most = i % 9 ? run->small ? 72 : 160 : 9;
        s.c = check_case_random(run, most, most);
        s.c.range_x = pick(run, 0, 6);
        s.c.range_y = pick(run, 0, 6);
        set_options(run, &s, &kinds[i % N_KINDS]);
        make_predictors(run, &s);
        n_changed += check_both(run, &s);
    }
    check_result(run, n_changed > n, "smooth: the cases have something to smooth");
}

/* Frames of the size that they have, and more of them than are smoothed at a time. */
static void check_large_cases(check_run *run)
{
    static const check_case cases[] = {
        {1920, 1080, 8, 16, 16, 0, 0, 8, 8, MVF_EDGES_CLAMP, FILL_PATCHES},
        {1919, 1079, 8, 8, 8, 0, 0, 8, 8, MVF_EDGES_INSIDE, FILL_TEXTURE},
        {1920, 1080, 8, 4, 4, 0, 0, 3, 3, MVF_EDGES_CLAMP, FILL_NOISE},
        {97, 65, 16, 64, 32, 48, 32, 256, 256, MVF_EDGES_CLAMP, FILL_NOISE},
        {4099, 17, 10, 16, 16, 1, 7, 4, 4, MVF_EDGES_CLAMP, FILL_EXTREMES},
        {17, 4099, 8, 16, 16, 7, 1, 4, 4, MVF_EDGES_CLAMP, FILL_STRIPES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        smooth_case s = {.c = cases[i], .n_frames = i == 2 ? MAX_FRAMES : 3};
        s.options = check_case_options(run, &s.c);
        s.options.max_in_flight = MAX_FRAMES;
        s.options.subpel = i & 1 ? MVF_SUBPEL_QUARTER : MVF_SUBPEL_NONE;
        check_both(run, &s);
    }
}

/* Whether the device smooths at all: what it leaves, the searcher does. */
static void check_who(check_run *run, mvf_smooth smooth, mvf_merge merge, int expected)
{
    mvf_search_config config;
    mvf_engine *engine;
    mvf_engine_plane *plane = NULL;
    mvf_match match;
    mvf_vector median;
    const check_case c = {16, 16, 8, 16, 16, 0, 0, 2, 2, MVF_EDGES_CLAMP, FILL_NOISE};
    mvf_options options = check_case_options(run, &c);
    check_plane picture;
    options.smooth = smooth;
    options.merge = merge;
    check_case_alloc_planes(run, &c, &picture, 1, 0);
    mvf_picture view = check_plane_picture(&picture, 0);
    mvf_status status = mvf_search_configure(&config, &options, 16, 16, 8);
    if (status == MVF_OK)
        status = mvf_engine_cuda.open(&engine, &config, &options);
    if (status == MVF_OK) {
        status = mvf_engine_cuda.plane_create(engine, &plane);
        if (status == MVF_OK)
            status = mvf_engine_cuda.plane_load(engine, plane, &view, NULL);
        mvf_engine_job job = {
            .current = plane, .reference = plane, .matches = &match, .medians = &median};
        if (status == MVF_OK)
            status = mvf_engine_cuda_search(engine, &job, 1);
        check_result(run, status == MVF_OK && job.is_smooth == expected,
                     "smooth: what the device does and what it leaves");
        if (plane)
            mvf_engine_cuda.plane_destroy(engine, plane);
        mvf_engine_cuda.close(engine);
    }
    check_result(run, status == MVF_OK, "smooth: an engine");
    check_case_free_planes(&picture, 1);
}

void check_cuda_smooth(check_run *run)
{
    check_who(run, MVF_SMOOTH_NONE, MVF_MERGE_NONE, 0);
    check_who(run, MVF_SMOOTH_MEDIAN, MVF_MERGE_NONE, 1);
    check_who(run, MVF_SMOOTH_MEDIAN, MVF_MERGE_BEST, 0);
    check_who(run, MVF_SMOOTH_PATH, MVF_MERGE_BEST, 1);
    check_random_cases(run, run->small ? 60 : 200);
    if (!run->small)
        check_large_cases(run);
}
