/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/bench_frames.h"

#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/run.h"

#define WIDTH 1920
#define HEIGHT 1080
/* How far the picture moves to each side. */
#define MARGIN 256
#define CANVAS_W (WIDTH + MARGIN)
#define CANVAS_H (HEIGHT + MARGIN)
#define N_DISCS 6

static uint32_t hash(uint32_t x, uint32_t y)
{
    uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    return h ^ h >> 13;
}

/* Noise on a grid of `cell` px with straight lines between, 0 to 255. */
static uint32_t smooth_noise(uint32_t x, uint32_t y, uint32_t cell)
{
    uint32_t cx = x / cell, cy = y / cell, fx = x % cell, fy = y % cell;
    uint32_t top = (hash(cx + cell, cy) & 255) * (cell - fx) + (hash(cx + 1 + cell, cy) & 255) * fx;
    uint32_t bottom =
        (hash(cx + cell, cy + 1) & 255) * (cell - fx) + (hash(cx + 1 + cell, cy + 1) & 255) * fx;
    return (top * (cell - fy) + bottom * fy) / (cell * cell);
}

/* Like pictures of the world: contrast halves with the size of the detail. Between 16 and 235. */
static void fill_canvas(uint8_t *canvas)
{
    for (uint32_t y = 0; y < CANVAS_H; y++)
        for (uint32_t x = 0; x < CANVAS_W; x++) {
            uint32_t sum = 0;
            for (uint32_t cell = 128, weight = 32; cell >= 4; cell /= 2, weight /= 2)
                sum += weight * smooth_noise(x, y, cell);
            canvas[y * CANVAS_W + x] = (uint8_t)(16 + sum * 219 / (63 * 255));
        }
}

/* To the margin and back, in steps of `speed`. */
static int32_t swing(int32_t frame, int32_t speed)
{
    int32_t at = frame * speed % (2 * MARGIN);
    return at < MARGIN ? at : 2 * MARGIN - at;
}

/* A round piece of the canvas that moves its own way. */
static void draw_disc(uint8_t *picture, const uint8_t *canvas, int32_t disc, int32_t frame)
{
    int32_t radius = 60 + 15 * disc;
    int32_t left = 100 + 250 * disc + swing(frame, 1 + 2 * disc);
    int32_t top = 80 + 80 * disc + swing(frame, 7 - disc);
    for (int32_t y = 0; y < 2 * radius && top + y < HEIGHT; y++) {
        int32_t dy = y - radius, half = 0;
        while (half < radius && (half + 1) * (half + 1) + dy * dy <= radius * radius)
            half++;
        int32_t x = radius - half, end = left + radius + half;
        int32_t n = (end < WIDTH ? end : WIDTH) - (left + x);
        if (n > 0)
            memcpy(picture + (top + y) * WIDTH + left + x,
                   canvas + (300 + 90 * disc + y) * CANVAS_W + 200 * disc + x, (size_t)n);
    }
}

static void add_noise(uint8_t *picture, uint32_t seed)
{
    for (int32_t i = 0; i < WIDTH * HEIGHT; i++) {
        seed = seed * 1664525 + 1013904223;
        picture[i] = (uint8_t)(picture[i] + (seed >> 31) + (seed >> 30 & 1) - 1);
    }
}

static void draw_frame(uint8_t *picture, const uint8_t *canvas, int32_t frame)
{
    int32_t x = swing(frame, 5), y = swing(frame, 2);
    for (int32_t row = 0; row < HEIGHT; row++)
        memcpy(picture + row * WIDTH, canvas + (y + row) * CANVAS_W + x, WIDTH);
    for (int32_t disc = 0; disc < N_DISCS; disc++)
        draw_disc(picture, canvas, disc, frame);
    add_noise(picture, hash((uint32_t)frame, 1));
}

static mvf_status make_frames(bench_frames *frames, int32_t n)
{
    uint8_t *canvas = malloc((size_t)CANVAS_W * CANVAS_H);
    frames->samples = malloc((size_t)n * WIDTH * HEIGHT);
    frames->width = WIDTH;
    frames->height = HEIGHT;
    frames->bit_depth = 8;
    if (!canvas || !frames->samples) {
        free(canvas);
        return MVF_ERROR_MEMORY;
    }
    fill_canvas(canvas);
    for (; frames->n < n; frames->n++) {
        uint8_t *picture = frames->samples + (size_t)frames->n * WIDTH * HEIGHT;
        draw_frame(picture, canvas, frames->n);
        frames->pictures[frames->n] =
            (mvf_picture){.data = picture, .stride_bytes = WIDTH, .time_base = {0, 1}};
    }
    free(canvas);
    return MVF_OK;
}

/* Takes the frame over, unless it differs in size from those before: MVF_EOF. */
static mvf_status keep_frame(bench_frames *frames, mvf_frame *frame)
{
    int32_t width, height, bit_depth;
    mvf_status status =
        mvf_frame_get_picture(frame, &frames->pictures[frames->n], &width, &height, &bit_depth);
    if (status == MVF_OK && frames->n &&
        (width != frames->width || height != frames->height || bit_depth != frames->bit_depth))
        status = MVF_EOF;
    if (status != MVF_OK) {
        mvf_frame_free(&frame);
        return status;
    }
    frames->width = width;
    frames->height = height;
    frames->bit_depth = bit_depth;
    frames->frames[frames->n++] = frame;
    return MVF_OK;
}

static mvf_status read_frames(bench_frames *frames, mvf_source *source, const cli_options *options,
                              int32_t n)
{
    int64_t index = 0;
    mvf_status status = mvf_source_seek(source, options->first_frame, &index);
    for (; status == MVF_OK && frames->n < n; index++) {
        mvf_frame *frame;
        status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : mvf_source_read(source, &frame);
        if (status == MVF_OK && index < options->first_frame)
            mvf_frame_free(&frame);
        else if (status == MVF_OK)
            status = keep_frame(frames, frame);
    }
    if (status != MVF_OK && status != MVF_EOF)
        return status;
    frames->exit_status = run_report(source, options, MVF_OK);
    if (frames->n >= 2)
        return MVF_OK;
    message_print(MVF_LOG_ERROR, "%s: a search needs two frames of one size, and there %s",
                  options->input, frames->n ? "is one" : "are none");
    return MVF_ERROR_DATA;
}

static mvf_status decode_frames(bench_frames *frames, const cli_options *options, int32_t n)
{
    mvf_source *source;
    if (mvf_reader_probe(options->input)) {
        message_print(MVF_LOG_ERROR, "%s: holds vectors; bench needs a video", options->input);
        return MVF_ERROR_ARGUMENT;
    }
    frames->frames = calloc((size_t)n, sizeof(mvf_frame *));
    if (!frames->frames)
        return MVF_ERROR_MEMORY;
    mvf_status status = run_open_source(&source, options, 0);
    if (status != MVF_OK)
        return status;
    status = read_frames(frames, source, options, n);
    mvf_source_close(&source);
    return status;
}

mvf_status bench_frames_load(bench_frames *frames, const cli_options *options)
{
    *frames = (bench_frames){.n = 0};
    int32_t n = options->n_frames > 100000 ? 100000 : (int32_t)options->n_frames;
    frames->pictures = calloc((size_t)n, sizeof *frames->pictures);
    if (!frames->pictures)
        return MVF_ERROR_MEMORY;
    return options->input ? decode_frames(frames, options, n) : make_frames(frames, n);
}

mvf_status bench_frames_copy(bench_frames *frames, int32_t device, const mvf_logger *logger)
{
    mvf_status status = MVF_OK;
    frames->copies = calloc((size_t)frames->n, sizeof(mvf_device_picture *));
    if (!frames->copies)
        return MVF_ERROR_MEMORY;
    for (int32_t i = 0; i < frames->n && status == MVF_OK; i++)
        status = mvf_device_picture_open(&frames->copies[i], device, frames->width, frames->height,
                                         frames->bit_depth, &frames->pictures[i], logger);
    return status;
}

mvf_picture bench_frames_picture(const bench_frames *frames, int32_t index, int on_gpu)
{
    mvf_picture picture = frames->pictures[index];
    if (on_gpu)
        mvf_device_picture_get(frames->copies[index], &picture);
    return picture;
}

void bench_frames_free(bench_frames *frames)
{
    for (int32_t i = 0; frames->copies && i < frames->n; i++)
        mvf_device_picture_close(&frames->copies[i]);
    free(frames->copies);
    for (int32_t i = 0; frames->frames && i < frames->n; i++)
        mvf_frame_free(&frames->frames[i]);
    free(frames->frames);
    free(frames->pictures);
    free(frames->samples);
    *frames = (bench_frames){.n = 0};
}
