/*
 * Pictures in CUDA memory give the fields of the same pictures in host memory: of any pitch and
 * address, with values in the high bits of words, on a stream of the caller's, for each engine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check_kernels.h"
#include "cuda/device.h"

#define WIDTH 133
#define HEIGHT 45
#define N_PAIRS 2

/* How pictures lie in device memory. */
typedef struct placing {
    const char *name;
    int32_t bit_depth, shift_bits;
    /* From the memory's begin to the first sample, and from row to row. */
    int32_t offset_bytes, stride_bytes;
    int on_stream;
} placing;

static const placing placings[] = {
    {"aligned", 8, 0, 0, 144, 0},
    {"odd pitch", 8, 0, 0, WIDTH, 0},
    {"odd address", 8, 0, 3, 144, 0},
    {"on a stream", 8, 0, 16, 144, 1},
    {"of words", 12, 0, 0, 272, 0},
    {"of words, odd pitch, on a stream", 16, 0, 2, 2 * WIDTH, 1},
    {"in high bits", 12, 4, 0, 272, 0},
    {"in high bits, odd pitch, on a stream", 10, 6, 2, 2 * WIDTH, 1},
};

/* One picture on the device, filled from pinned memory. */
typedef struct device_picture {
    CUdeviceptr memory;
    uint8_t *pinned;
    size_t n_bytes;
} device_picture;

static mvf_status alloc_picture(mvf_cuda *cuda, device_picture *picture, size_t n_bytes)
{
    void *pinned = NULL;
    picture->n_bytes = n_bytes;
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &picture->memory, n_bytes);
    MVF_CUDA_TRY(cuda, cuMemHostAlloc, &pinned, n_bytes, 0);
    picture->pinned = pinned;
    return MVF_OK;
}

/* What lies between the rows, and below the values, is noise. */
static void place_samples(check_run *run, const placing *p, const check_plane *plane,
                          uint8_t *memory, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        memory[i] = (uint8_t)check_random(run);
    for (int32_t y = 0; y < HEIGHT; y++) {
        uint8_t *row = memory + p->offset_bytes + (size_t)y * (size_t)p->stride_bytes;
        uint16_t *words = (uint16_t *)(void *)row;
        for (int32_t x = 0; x < WIDTH; x++) {
            uint32_t value = check_plane_sample(plane, x, y);
            if (p->bit_depth == 8)
                row[x] = (uint8_t)value;
            else
                words[x] =
                    (uint16_t)(value << p->shift_bits | (words[x] & ((1u << p->shift_bits) - 1)));
        }
    }
}

/* The samples come on the stream, or are ready where there is none, and are overwritten once they
 * have been submitted. */
static mvf_status submit(mvf_cuda *cuda, mvf_searcher *searcher, const device_picture *memory,
                         const mvf_picture *pictures)
{
    CUstream stream = pictures[0].stream;
    for (int i = 0; i < 2; i++)
        MVF_CUDA_TRY(cuda, cuMemcpyHtoDAsync_v2, memory[i].memory, memory[i].pinned,
                     memory[i].n_bytes, stream);
    if (!stream)
        MVF_CUDA_TRY(cuda, cuStreamSynchronize, stream);
    MVF_TRY(mvf_searcher_submit(searcher, &pictures[1], &pictures[0], 1, NULL));
    for (int i = 0; i < 2; i++)
        MVF_CUDA_TRY(cuda, cuMemsetD8Async, memory[i].memory, 0x5a, memory[i].n_bytes, stream);
    return MVF_OK;
}

static int same_blocks(const mvf_field *a, const mvf_field *b)
{
    return a && b && a->n_blocks == b->n_blocks && a->flags == b->flags &&
           !memcmp(a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks);
}

/* One way to place pictures, searched in one way. */
typedef struct trial {
    check_run *run;
    mvf_cuda *cuda;
    const placing *placing;
    const mvf_options *options;
    CUstream stream;
    const char *engine;
    check_plane planes[2];
    device_picture memory[2];
} trial;

static void check(const trial *t, int ok)
{
    char what[160];
    snprintf(what, sizeof what, "cuda: pictures in device memory, %s: %s", t->placing->name,
             t->engine);
    check_result(t->run, ok, what);
}

static void make_pictures(trial *t, int phase, mvf_picture *host, mvf_picture *device)
{
    const placing *p = t->placing;
    for (int i = 0; i < 2; i++) {
        check_plane_fill(t->run, &t->planes[i], FILL_TEXTURE, 3 * phase + 2 * i);
        place_samples(t->run, p, &t->planes[i], t->memory[i].pinned, t->memory[i].n_bytes);
        host[i] = device[i] = check_plane_picture(&t->planes[i], 2 * phase + i);
        device[i].memory = MVF_MEMORY_CUDA;
        device[i].data =
            (const void *)(uintptr_t)(t->memory[i].memory + (CUdeviceptr)p->offset_bytes);
        device[i].stride_bytes = p->stride_bytes;
        device[i].shift_bits = p->shift_bits;
        device[i].stream = t->stream;
    }
}

/* Pairs of pictures that follow one another into the same device memory. */
static mvf_status run_pairs(trial *t, mvf_searcher *searcher)
{
    for (int phase = 0; phase < N_PAIRS; phase++) {
        mvf_picture host[2], device[2];
        mvf_field *expected = NULL, *field = NULL;
        t->cuda->driver.cuStreamSynchronize(t->stream);
        make_pictures(t, phase, host, device);
        mvf_status status = mvf_search(t->options, WIDTH, HEIGHT, t->placing->bit_depth, &host[1],
                                       &host[0], &expected);
        if (status == MVF_OK)
            status = submit(t->cuda, searcher, t->memory, device);
        mvf_searcher_flush(searcher);
        if (status == MVF_OK)
            status = mvf_searcher_receive(searcher, &field);
        if (status == MVF_OK)
            check(t, same_blocks(field, expected));
        mvf_field_free(&field);
        mvf_field_free(&expected);
        MVF_TRY(status);
    }
    return MVF_OK;
}

static void check_pairs(trial *t, const char *engine)
{
    const placing *p = t->placing;
    mvf_searcher *searcher = NULL;
    t->engine = engine;
    mvf_status status = mvf_searcher_open(&searcher, t->options, WIDTH, HEIGHT, p->bit_depth);
    for (int i = 0; i < 2; i++) {
        check_plane_alloc(t->run, &t->planes[i], WIDTH, HEIGHT, p->bit_depth);
        t->memory[i] = (device_picture){.pinned = NULL};
        if (status == MVF_OK)
            status = alloc_picture(t->cuda, &t->memory[i],
                                   (size_t)p->offset_bytes + HEIGHT * (size_t)p->stride_bytes);
    }
    if (status == MVF_OK)
        status = run_pairs(t, searcher);
    check(t, status == MVF_OK);
    mvf_searcher_close(&searcher);
    for (int i = 0; i < 2; i++) {
        if (t->memory[i].memory)
            t->cuda->driver.cuMemFree_v2(t->memory[i].memory);
        if (t->memory[i].pinned)
            t->cuda->driver.cuMemFreeHost(t->memory[i].pinned);
        check_plane_free(&t->planes[i]);
    }
}

static void check_placing(check_run *run, mvf_cuda *cuda, const placing *p, CUstream stream)
{
    mvf_options options;
    trial t = {.run = run, .cuda = cuda, .placing = p, .options = &options, .stream = stream};
    mvf_options_init(&options);
    options.logger = run->logger;
    options.range_x = options.range_y = 7;
    options.backend = MVF_BACKEND_CUDA;
    check_pairs(&t, "full");
    options.smooth = MVF_SMOOTH_PATH;
    check_pairs(&t, "smooth paths");
    options.smooth = MVF_SMOOTH_NONE;
    options.backend = MVF_BACKEND_CPU;
    check_pairs(&t, "the CPU");
    if (!p->on_stream)
        return;
    options.backend = MVF_BACKEND_CUDA;
    options.method = MVF_METHOD_HIER;
    check_pairs(&t, "hier");
    options.method = MVF_METHOD_TRUEMOTION;
    check_pairs(&t, "true motion");
}

/* The library's own copies of pictures on the device. */

static void check_refusals(check_run *run, const mvf_picture *picture)
{
    mvf_device_picture *copy;
    mvf_picture elsewhere = *picture;
    elsewhere.memory = MVF_MEMORY_CUDA;
    int ok = mvf_device_picture_open(&copy, 0, WIDTH, HEIGHT, 8, &elsewhere, NULL) ==
                 MVF_ERROR_ARGUMENT &&
             !copy;
    ok &= mvf_device_picture_open(&copy, 0, 0, HEIGHT, 8, picture, NULL) == MVF_ERROR_ARGUMENT;
    ok &= mvf_device_picture_open(&copy, 0, WIDTH, HEIGHT, 17, picture, NULL) == MVF_ERROR_ARGUMENT;
    ok &= mvf_device_picture_open(&copy, 1000, WIDTH, HEIGHT, 8, picture, NULL) ==
              MVF_ERROR_NO_DEVICE &&
          !copy;
    mvf_device_picture_close(&copy);
    check_result(run, ok, "cuda: copies of pictures that cannot be had");
}

static mvf_field *search_pictures(const mvf_options *options, int32_t bit_depth,
                                  const mvf_picture *pictures)
{
    mvf_field *field;
    mvf_search(options, WIDTH, HEIGHT, bit_depth, &pictures[1], &pictures[0], &field);
    return field;
}

static void check_copies(check_run *run, int32_t bit_depth)
{
    check_plane planes[2];
    mvf_picture host[2], device[2];
    mvf_device_picture *copies[2] = {NULL, NULL};
    mvf_options options;
    int ok = 1;
    mvf_options_init(&options);
    options.logger = run->logger;
    options.range_x = options.range_y = 7;
    options.backend = MVF_BACKEND_CUDA;
    for (int i = 0; i < 2; i++) {
        check_plane_alloc(run, &planes[i], WIDTH, HEIGHT, bit_depth);
        check_plane_fill(run, &planes[i], FILL_TEXTURE, 2 * i);
        host[i] = check_plane_picture(&planes[i], i);
        ok &= mvf_device_picture_open(&copies[i], 0, WIDTH, HEIGHT, bit_depth, &host[i],
                                      &run->logger) == MVF_OK;
        if (ok)
            mvf_device_picture_get(copies[i], &device[i]);
    }
    if (ok) {
        mvf_field *expected = search_pictures(&options, bit_depth, host),
                  *field = search_pictures(&options, bit_depth, device);
        ok = same_blocks(field, expected) && field->frame == 1;
        mvf_field_free(&expected);
        mvf_field_free(&field);
    }
    check_result(run, ok, "cuda: copies of pictures on the device");
    check_refusals(run, &host[0]);
    for (int i = 0; i < 2; i++) {
        mvf_device_picture_close(&copies[i]);
        check_plane_free(&planes[i]);
    }
}

void check_cuda_pictures(check_run *run)
{
    mvf_cuda cuda;
    CUstream stream = NULL;
    if (mvf_cuda_open(&cuda, 0, &run->logger) != MVF_OK || mvf_cuda_enter(&cuda) != MVF_OK) {
        check_result(run, 0, "cuda: open the device");
        return;
    }
    check_result(run, !cuda.driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                 "cuda: make a stream");
    for (size_t i = 0; i < sizeof placings / sizeof placings[0]; i++)
        check_placing(run, &cuda, &placings[i], placings[i].on_stream ? stream : NULL);
    check_copies(run, 8);
    check_copies(run, 12);
    if (stream)
        cuda.driver.cuStreamDestroy_v2(stream);
    mvf_cuda_leave(&cuda);
    mvf_cuda_close(&cuda);
}
