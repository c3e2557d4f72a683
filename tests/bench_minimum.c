/*
 * Three ways to keep the least cost and where it was found, in one kernel: minimum.cu. Their bits
 * against plain C, and their times in turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check_kernels.h"
#include "cuda/device.h"
#include "minimum.h"
#include "search/engine_cuda.h"

extern const unsigned char mvf_fatbin_minimum[];

#define FIRST (-MINIMUM_SPAN / 2)

static const char *const ways[] = {"vibmin", "select", "packed32", "packed64"};
#define N_WAYS (sizeof ways / sizeof ways[0])

/* Launches that are timed; the median counts. */
#define N_ROUNDS 21

/* A pair of frames on the device, and what its kernels write. */
typedef struct minimum_run {
    mvf_cuda cuda;
    CUmodule module;
    int32_t tiles_across, tiles_down;
    int64_t stride_bytes;
    /* Both planes with their borders, here and there. */
    size_t n_bytes, n_match_bytes;
    uint8_t *planes[2];
    CUdeviceptr device_planes[2], device_matches;
    minimum_params params;
} minimum_run;

static int32_t plane_rows(const minimum_run *r)
{
    return MINIMUM_TILE * r->tiles_down + MINIMUM_SPAN;
}

static const uint8_t *sample(const minimum_run *r, int plane, int32_t x, int32_t y)
{
    return r->planes[plane] + (y - FIRST) * r->stride_bytes + x - FIRST;
}

/* Little noise on texture: many vectors cost the same. */
static mvf_status fill(check_run *run, minimum_run *r)
{
    r->stride_bytes = (MINIMUM_TILE * r->tiles_across + MINIMUM_SPAN + 16 + 15) / 16 * 16;
    r->n_bytes = (size_t)(r->stride_bytes * plane_rows(r));
    r->n_match_bytes =
        (size_t)r->tiles_across * (size_t)r->tiles_down * MINIMUM_TILE * MINIMUM_TILE / 16 * 8;
    for (int i = 0; i < 2; i++) {
        r->planes[i] = malloc(r->n_bytes);
        if (!r->planes[i])
            return MVF_ERROR_MEMORY;
        for (size_t k = 0; k < r->n_bytes; k++)
            r->planes[i][k] = (uint8_t)(120 + check_random(run) % 4);
    }
    return MVF_OK;
}

static mvf_status upload(minimum_run *r)
{
    mvf_cuda *cuda = &r->cuda;
    for (int i = 0; i < 2; i++) {
        MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &r->device_planes[i], r->n_bytes);
        MVF_CUDA_TRY(cuda, cuMemcpyHtoDAsync_v2, r->device_planes[i], r->planes[i], r->n_bytes,
                     NULL);
    }
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &r->device_matches, r->n_match_bytes);
    MVF_CUDA_TRY(cuda, cuStreamSynchronize, NULL);
    CUdeviceptr origin = (CUdeviceptr)(sample(r, 0, 0, 0) - r->planes[0]);
    r->params = (minimum_params){.current = r->device_planes[0] + origin,
                                 .reference = r->device_planes[1] + origin,
                                 .matches = r->device_matches,
                                 .stride_bytes = r->stride_bytes,
                                 .tiles_across = r->tiles_across};
    return MVF_OK;
}

static void require(mvf_status status, const char *what)
{
    if (status == MVF_OK)
        return;
    fprintf(stderr, "check_kernels: minimum: %s\n", what);
    exit(1);
}

static void open_run(check_run *run, minimum_run *r, int32_t tiles_across, int32_t tiles_down)
{
    *r = (minimum_run){.tiles_across = tiles_across, .tiles_down = tiles_down};
    require(mvf_cuda_open(&r->cuda, 0, &run->logger), "no device");
    require(mvf_cuda_enter(&r->cuda), "no context");
    require(mvf_cuda_load(&r->cuda, &r->module, mvf_fatbin_minimum), "no module");
    require(fill(run, r), "out of memory");
    require(upload(r), "no device memory");
}

static void close_run(minimum_run *r)
{
    for (int i = 0; i < 2; i++) {
        free(r->planes[i]);
        r->cuda.driver.cuMemFree_v2(r->device_planes[i]);
    }
    r->cuda.driver.cuMemFree_v2(r->device_matches);
    r->cuda.driver.cuModuleUnload(r->module);
    mvf_cuda_leave(&r->cuda);
    mvf_cuda_close(&r->cuda);
}

static mvf_status get_kernel(minimum_run *r, size_t way, int32_t block, CUfunction *function)
{
    char name[32];
    snprintf(name, sizeof name, "minimum_%s_%d", ways[way], (int)block);
    MVF_CUDA_TRY(&r->cuda, cuModuleGetFunction, function, r->module, name);
    return MVF_OK;
}

static mvf_status launch(minimum_run *r, CUfunction function)
{
    void *arguments[] = {&r->params};
    MVF_CUDA_TRY(&r->cuda, cuLaunchKernel, function, (unsigned)r->tiles_across,
                 (unsigned)r->tiles_down, 1, MINIMUM_THREADS, 1, 1, 0, NULL, arguments, NULL);
    return MVF_OK;
}

static size_t match_bytes(const minimum_run *r, int32_t block)
{
    return r->n_match_bytes * 16 / (size_t)(block * block);
}

/* Launches a kernel whose matches are those of no kernel before, and takes them. */
static mvf_status search(minimum_run *r, size_t way, int32_t block, mvf_match *matches)
{
    CUfunction function;
    MVF_TRY(get_kernel(r, way, block, &function));
    MVF_CUDA_TRY(&r->cuda, cuMemsetD8Async, r->device_matches, 0xee, r->n_match_bytes, NULL);
    MVF_TRY(launch(r, function));
    MVF_CUDA_TRY(&r->cuda, cuMemcpyDtoH_v2, matches, r->device_matches, match_bytes(r, block));
    return MVF_OK;
}

/* The contract in plain C. */

static uint32_t sad(const minimum_run *r, int32_t x, int32_t y, int32_t block, int32_t dx,
                    int32_t dy)
{
    uint32_t sum = 0;
    for (int32_t j = 0; j < block; j++)
        for (int32_t i = 0; i < block; i++)
            sum +=
                (uint32_t)abs(*sample(r, 0, x + i, y + j) - *sample(r, 1, x + i + dx, y + j + dy));
    return sum;
}

static int comes_before(const mvf_match *a, const mvf_match *b)
{
    int32_t far = a->x * a->x + a->y * a->y, other = b->x * b->x + b->y * b->y;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    if (far != other)
        return far < other;
    return a->y != b->y ? a->y < b->y : a->x < b->x;
}

static mvf_match best_match(const minimum_run *r, int32_t x, int32_t y, int32_t block)
{
    mvf_match best = {0, 0, UINT32_MAX};
    for (int32_t dy = FIRST; dy < -FIRST; dy++)
        for (int32_t dx = FIRST; dx < -FIRST; dx++) {
            mvf_match match = {(int16_t)dx, (int16_t)dy, sad(r, x, y, block, dx, dy)};
            if (comes_before(&match, &best))
                best = match;
        }
    return best;
}

static void fill_expected(const minimum_run *r, int32_t block, mvf_match *expected)
{
    int32_t across = MINIMUM_TILE / block, n = across * across;
    for (int32_t tile = 0; tile < r->tiles_across * r->tiles_down; tile++)
        for (int32_t i = 0; i < n; i++)
            expected[tile * n + i] =
                best_match(r, tile % r->tiles_across * MINIMUM_TILE + i % across * block,
                           tile / r->tiles_across * MINIMUM_TILE + i / across * block, block);
}

/* Whether all ways give the bits of plain C, or, without `is_checked`, of the first way. */
static int same_bits(minimum_run *r, int32_t block, int is_checked)
{
    mvf_match *expected = malloc(r->n_match_bytes), *found = malloc(r->n_match_bytes);
    int same = expected && found;
    if (same && is_checked)
        fill_expected(r, block, expected);
    else if (same)
        same = search(r, 0, block, expected) == MVF_OK;
    for (size_t way = 0; same && way < N_WAYS; way++)
        same = search(r, way, block, found) == MVF_OK &&
               !memcmp(found, expected, match_bytes(r, block));
    free(expected);
    free(found);
    return same;
}

void check_cuda_minimum(check_run *run)
{
    minimum_run r;
    char what[64];
    open_run(run, &r, 2, 1);
    for (int32_t block = 4; block <= MINIMUM_TILE; block *= 2) {
        snprintf(what, sizeof what, "cuda minimum: %dx%d blocks", (int)block, (int)block);
        check_result(run, same_bits(&r, block, 1), what);
    }
    close_run(&r);
}

/* Benchmark. */

static int compare_floats(const void *a, const void *b)
{
    float first = *(const float *)a, second = *(const float *)b;
    return (first > second) - (first < second);
}

static mvf_status time_launch(minimum_run *r, CUfunction function, const CUevent *events,
                              float *milliseconds)
{
    mvf_cuda *cuda = &r->cuda;
    MVF_CUDA_TRY(cuda, cuEventRecord, events[0], NULL);
    MVF_TRY(launch(r, function));
    MVF_CUDA_TRY(cuda, cuEventRecord, events[1], NULL);
    MVF_CUDA_TRY(cuda, cuEventSynchronize, events[1]);
    MVF_CUDA_TRY(cuda, cuEventElapsedTime, milliseconds, events[0], events[1]);
    return MVF_OK;
}

/* Milliseconds of each way, in turn; the first rounds warm the device up. */
static mvf_status time_ways(minimum_run *r, int32_t block, const CUevent *events, double *medians,
                            int *n_registers)
{
    CUfunction functions[N_WAYS];
    float times[N_WAYS][N_ROUNDS];
    for (size_t way = 0; way < N_WAYS; way++) {
        MVF_TRY(get_kernel(r, way, block, &functions[way]));
        MVF_CUDA_TRY(&r->cuda, cuFuncGetAttribute, &n_registers[way], CU_FUNC_ATTRIBUTE_NUM_REGS,
                     functions[way]);
    }
    for (int round = -N_ROUNDS; round < N_ROUNDS; round++)
        for (size_t way = 0; way < N_WAYS; way++)
            MVF_TRY(time_launch(r, functions[way], events, &times[way][round < 0 ? 0 : round]));
    for (size_t way = 0; way < N_WAYS; way++) {
        qsort(times[way], N_ROUNDS, sizeof times[way][0], compare_floats);
        medians[way] = (double)times[way][N_ROUNDS / 2];
    }
    return MVF_OK;
}

static void print_ways(const minimum_run *r, int32_t block, double rate, const double *medians,
                       const int *n_registers)
{
    double n_differences = (double)MINIMUM_TILE * MINIMUM_TILE * r->tiles_across * r->tiles_down *
                           MINIMUM_SPAN * MINIMUM_SPAN;
    for (size_t way = 0; way < N_WAYS; way++)
        printf(
            "%2dx%-2d %-9s %8.1f us a frame, %5.3f of vibmin's, %4.2f of the limit, %d registers\n",
            (int)block, (int)block, ways[way], 1000 * medians[way], medians[way] / medians[0],
            n_differences / (medians[way] / 1000) / rate, n_registers[way]);
}

static mvf_status bench_blocks(check_run *run, minimum_run *r, double rate)
{
    mvf_cuda *cuda = &r->cuda;
    CUevent events[2] = {NULL, NULL};
    mvf_status status = MVF_OK;
    for (int i = 0; i < 2 && status == MVF_OK; i++)
        status = mvf_cuda_check(cuda, cuda->driver.cuEventCreate(&events[i], CU_EVENT_DEFAULT),
                                "cuEventCreate");
    for (int32_t block = MINIMUM_TILE; block >= 4 && status == MVF_OK; block /= 2) {
        double medians[N_WAYS];
        int n_registers[N_WAYS];
        check_result(run, same_bits(r, block, 0), "cuda minimum: the same bits");
        status = time_ways(r, block, events, medians, n_registers);
        if (status == MVF_OK)
            print_ways(r, block, rate, medians, n_registers);
    }
    for (int i = 0; i < 2; i++)
        if (events[i])
            cuda->driver.cuEventDestroy_v2(events[i]);
    return status;
}

void bench_cuda_minimum(check_run *run)
{
    minimum_run r;
    double rate = 0;
    require(mvf_cuda_sad_rate(0, &run->logger, &rate), "no rate of the SAD instruction");
    /* 1920 x 1072. */
    open_run(run, &r, 120, 67);
    check_result(run, bench_blocks(run, &r, rate) == MVF_OK, "cuda minimum: bench");
    close_run(&r);
}
