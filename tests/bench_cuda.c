/*
 * What needs the CUDA engine's own headers: pictures in CUDA memory, and kernel times against the
 * limit of the SAD instruction, measured in the same run.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"
#include "cuda/device.h"
#include "params.h"
#include "search/engine_cuda.h"

static mvf_status upload(mvf_cuda *cuda, CUdeviceptr *memory, const check_plane *plane)
{
    size_t n_bytes = (size_t)plane->stride_bytes * (size_t)plane->height;
    mvf_status status = mvf_cuda_check(cuda, cuda->driver.cuMemAlloc_v2(memory, n_bytes), "alloc");
    if (status == MVF_OK)
        status = mvf_cuda_check(
            cuda, cuda->driver.cuMemcpyHtoDAsync_v2(*memory, plane->origin, n_bytes, NULL), "copy");
    if (status == MVF_OK)
        status = mvf_cuda_check(cuda, cuda->driver.cuStreamSynchronize(NULL), "synchronize");
    return status;
}

static int same_matches(const mvf_field *a, const mvf_field *b)
{
    for (size_t i = 0; a && b && i < a->n_blocks; i++)
        if (a->blocks[i].cost != b->blocks[i].cost || a->blocks[i].mv_x != b->blocks[i].mv_x ||
            a->blocks[i].mv_y != b->blocks[i].mv_y)
            return 0;
    return a && b && a->n_blocks == b->n_blocks;
}

/* The same pair from host memory and from device memory. */
static void check_pictures(check_run *run, mvf_cuda *cuda, int32_t bit_depth)
{
    check_plane planes[2];
    mvf_picture host[2], device[2];
    CUdeviceptr memory[2] = {0, 0};
    mvf_field *expected, *field;
    mvf_options options;
    mvf_options_init(&options);
    options.backend = MVF_BACKEND_CUDA;
    options.logger = run->logger;
    for (int i = 0; i < 2; i++) {
        check_plane_alloc(run, &planes[i], 333, 77, bit_depth);
        check_plane_fill(run, &planes[i], FILL_TEXTURE, 2 * i);
        check_result(run, upload(cuda, &memory[i], &planes[i]) == MVF_OK, "upload");
        host[i] = device[i] = check_plane_picture(&planes[i], i);
        device[i].memory = MVF_MEMORY_CUDA;
        device[i].data = (const void *)(uintptr_t)memory[i];
    }
    mvf_search(&options, 333, 77, bit_depth, &host[1], &host[0], &expected);
    mvf_search(&options, 333, 77, bit_depth, &device[1], &device[0], &field);
    check_result(run, same_matches(field, expected), "cuda: pictures in device memory");
    mvf_field_free(&expected);
    mvf_field_free(&field);
    for (int i = 0; i < 2; i++) {
        cuda->driver.cuMemFree_v2(memory[i]);
        check_plane_free(&planes[i]);
    }
}

void check_cuda_pictures(check_run *run)
{
    mvf_cuda cuda;
    if (mvf_cuda_open(&cuda, 0, &run->logger) != MVF_OK || mvf_cuda_enter(&cuda) != MVF_OK) {
        check_result(run, 0, "cuda: open the device");
        return;
    }
    check_pictures(run, &cuda, 8);
    check_pictures(run, &cuda, 12);
    mvf_cuda_leave(&cuda);
    mvf_cuda_close(&cuda);
}

/* Pairs of consecutive frames that one launch answers. */
#define MAX_FRAMES 9

typedef struct scene {
    const char *name;
    check_fill fill;
    /* The first frame in the clip, or -1: the pattern. */
    int first_frame;
} scene;

/* Frames of media/bench/mix-1080p-h264.mp4. */
static const scene scenes[] = {{"noise", FILL_NOISE, -1}, {"texture", FILL_TEXTURE, -1},
                               {"flat", FILL_FLAT, -1},   {"bunny", FILL_FLAT, 4},
                               {"street", FILL_FLAT, 40}, {"wall", FILL_FLAT, 100}};

typedef struct shape {
    int32_t bit_depth, block_w, block_h, range_x, range_y, n_jobs;
    mvf_subpel subpel;
    mvf_interpolation interpolation;
    mvf_partitions partitions;
    mvf_method method;
} shape;

#define GRID(bit_depth, w, h, x, y, n_jobs)                                     \
    {                                                                           \
        bit_depth, w, h, x, y, n_jobs, MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, \
            MVF_PARTITIONS_FIXED, MVF_METHOD_FULL                               \
    }
#define HIER(bit_depth, n_jobs)                                                     \
    {                                                                               \
        bit_depth, 16, 16, 64, 64, n_jobs, MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, \
            MVF_PARTITIONS_FIXED, MVF_METHOD_HIER                                   \
    }
#define QUARTER(filter, w, partitions)                                              \
    {                                                                               \
        8, w, w, 32, 32, 8, MVF_SUBPEL_QUARTER, filter, partitions, MVF_METHOD_FULL \
    }

static const shape shapes[] = {
    GRID(8, 16, 16, 32, 32, 1),
    GRID(8, 16, 16, 32, 32, 8),
    GRID(8, 16, 16, 32, 32, 32),
    GRID(8, 16, 16, 16, 16, 32),
    GRID(8, 8, 8, 16, 16, 8),
    GRID(8, 32, 32, 32, 32, 8),
    GRID(8, 64, 64, 64, 64, 8),
    GRID(10, 16, 16, 32, 32, 8),
    GRID(8, 4, 4, 8, 8, 8),
    QUARTER(MVF_INTERPOLATION_H264, 16, MVF_PARTITIONS_FIXED),
    QUARTER(MVF_INTERPOLATION_HEVC, 16, MVF_PARTITIONS_FIXED),
    {8, 64, 64, 32, 32, 8, MVF_SUBPEL_NONE, MVF_INTERPOLATION_H264, MVF_PARTITIONS_SQUARE,
     MVF_METHOD_FULL},
    QUARTER(MVF_INTERPOLATION_H264, 64, MVF_PARTITIONS_SQUARE),
    HIER(8, 32),
    HIER(8, 8),
    HIER(8, 1),
    HIER(10, 32),
};

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

static void print_measurement(const scene *s, const shape *p, const mvf_search_config *config,
                              const mvf_cuda_measurement *m, double rate)
{
    double frames = 1e6 * p->n_jobs / m->launch_us;
    double differences = (double)config->width * config->height * (2 * p->range_x + 1) *
                         (2 * p->range_y + 1) * frames;
    printf(
        "%-8s %s %2d bit %2dx%-2d +-%-2d x%-2d %9.1f us/frame %9.1f frames/s %6.3f of the limit  "
        "%s%s %d registers %d bytes shared\n",
        s->name, p->method == MVF_METHOD_HIER ? "hier" : "full", p->bit_depth, p->block_w,
        p->block_h, p->range_x, p->n_jobs, m->launch_us / p->n_jobs, frames, differences / rate,
        m->kernel, p->subpel == MVF_SUBPEL_NONE ? "" : " + quarter samples by satd", m->n_registers,
        m->static_shared_bytes + m->dynamic_shared_bytes);
}

static mvf_status time_shape(check_run *run, const scene *s, const shape *p,
                             const mvf_picture *pictures, double rate)
{
    mvf_options options;
    mvf_search_config config;
    mvf_engine *engine;
    mvf_engine_plane *planes[MAX_FRAMES];
    mvf_engine_job jobs[MVF_CUDA_BATCH];
    mvf_cuda_measurement m = {.launch_us = 0};
    mvf_options_init(&options);
    options.logger = run->logger;
    options.block_w = p->block_w;
    options.block_h = p->block_h;
    options.range_x = p->range_x;
    options.range_y = p->range_y;
    options.max_in_flight = MVF_CUDA_BATCH;
    options.subpel = p->subpel;
    options.interpolation = p->interpolation;
    options.refine_metric = MVF_METRIC_SATD;
    options.partitions = p->partitions;
    options.method = p->method;
    if (mvf_search_configure(&config, &options, 1920, 1080, p->bit_depth) != MVF_OK ||
        mvf_engine_cuda.open(&engine, &config, &options) != MVF_OK)
        return MVF_ERROR_DEVICE;
    mvf_status status = MVF_OK;
    int n_planes = 0;
    for (; n_planes < MAX_FRAMES && status == MVF_OK; n_planes++) {
        status = mvf_engine_cuda.plane_create(engine, &planes[n_planes]);
        if (status != MVF_OK)
            break;
        status = mvf_engine_cuda.plane_load(engine, planes[n_planes], &pictures[n_planes]);
    }
    for (int i = 0; i < p->n_jobs && status == MVF_OK; i++)
        jobs[i] = (mvf_engine_job){.current = planes[1 + i % (MAX_FRAMES - 1)],
                                   .reference = planes[i % (MAX_FRAMES - 1)]};
    if (status == MVF_OK)
        status = mvf_engine_cuda_measure(engine, jobs, p->n_jobs, 20, &m);
    if (status == MVF_OK)
        print_measurement(s, p, &config, &m, rate);
    while (n_planes-- > 0)
        mvf_engine_cuda.plane_destroy(engine, planes[n_planes]);
    mvf_engine_cuda.close(engine);
    return status;
}

static void bench_scene(check_run *run, const scene *s, double rate)
{
    static const int32_t depths[] = {8, 10};
    check_plane planes[MAX_FRAMES];
    mvf_picture pictures[MAX_FRAMES];
    for (int d = 0; d < 2; d++) {
        int ok = 1;
        for (int i = 0; i < MAX_FRAMES; i++) {
            check_plane_alloc(run, &planes[i], 1920, 1080, depths[d]);
            ok = ok && fill_frame(run, s, &planes[i], i);
            pictures[i] = check_plane_picture(&planes[i], i);
        }
        for (size_t i = 0; ok && i < sizeof shapes / sizeof shapes[0]; i++)
            if (shapes[i].bit_depth == depths[d])
                check_result(run, time_shape(run, s, &shapes[i], pictures, rate) == MVF_OK,
                             "cuda: bench");
        for (int i = 0; i < MAX_FRAMES; i++)
            check_plane_free(&planes[i]);
    }
}

void bench_cuda(check_run *run)
{
    double rate;
    if (mvf_cuda_sad_rate(0, &run->logger, &rate) != MVF_OK) {
        check_result(run, 0, "cuda: the rate of the SAD instruction");
        return;
    }
    printf("SAD instruction: %.1f T differences/s; 16x16 +-32 1080p at most %.0f frames/s\n",
           rate / 1e12, rate / (1920.0 * 1080 * 65 * 65));
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        if (scenes[i].first_frame < 0 || run->clip)
            bench_scene(run, &scenes[i], rate);
}
