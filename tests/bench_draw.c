/*
 * bench_draw.c - how many 1080p frames a second one core draws: each mode, in 8 and in 10 bits.
 *
 *     tests/bench_draw [SECONDS]
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "overlay/drawing.h"

#define WIDTH 1920
#define HEIGHT 1080
#define BLOCK 16
#define N_FIELDS 24
#define N_ROUNDS 5

static uint32_t seed = 1;

static int32_t next_random(int32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int32_t)((seed >> 8) % (uint32_t)below);
}

/* A pan of up to 16 px, an object that moves in its own way, and noise of a quarter px or, for one
 * block in 16, of anything in range: quarter-sample vectors. */
static mvf_field *make_field(void)
{
    int32_t cols = (WIDTH + BLOCK - 1) / BLOCK, rows = (HEIGHT + BLOCK - 1) / BLOCK;
    mvf_field *field;
    if (mvf_field_alloc(&field, 1, (size_t)(cols * rows)) != MVF_OK)
        return NULL;
    field->width = WIDTH;
    field->height = HEIGHT;
    field->bit_depth = 8;
    field->mv_scale = 4;
    field->grid = (mvf_grid){BLOCK, BLOCK, BLOCK, BLOCK, cols, rows};
    int32_t pan_x = next_random(129) - 64, pan_y = next_random(65) - 32;
    int32_t own_x = next_random(129) - 64, own_y = next_random(129) - 64;
    for (int32_t i = 0; i < cols * rows; i++) {
        int32_t col = i % cols, row = i / cols;
        int inside = col > cols / 3 && col < cols / 2 && row > rows / 4 && row < 3 * rows / 4;
        int wild = next_random(16) == 0;
        mvf_block *block = &field->blocks[i];
        *block = (mvf_block){.x = col * BLOCK, .y = row * BLOCK, .w = BLOCK, .dir = -1};
        block->h = (uint16_t)(row * BLOCK + BLOCK > HEIGHT ? HEIGHT - row * BLOCK : BLOCK);
        block->mv_x =
            (int16_t)(wild ? next_random(129) - 64 : (inside ? own_x : pan_x) + next_random(3) - 1);
        block->mv_y =
            (int16_t)(wild ? next_random(129) - 64 : (inside ? own_y : pan_y) + next_random(3) - 1);
        block->cost = (uint32_t)next_random(256 * 16);
    }
    return field;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static mvf_canvas make_canvas(int depth)
{
    mvf_canvas canvas = {.width = WIDTH,
                         .height = HEIGHT,
                         .chroma_shift_x = 1,
                         .chroma_shift_y = 1,
                         .bit_depth = depth,
                         .space = {0.2126, 0.0722, 0}};
    for (int i = 0; i < 3; i++) {
        ptrdiff_t width = i ? WIDTH / 2 : WIDTH;
        canvas.strides_bytes[i] = width * (depth > 8 ? 2 : 1) + 64;
        size_t n_bytes = (size_t)canvas.strides_bytes[i] * (size_t)(i ? HEIGHT / 2 : HEIGHT);
        canvas.planes[i] = malloc(n_bytes);
        if (!canvas.planes[i])
            exit(1);
        memset(canvas.planes[i], 1, n_bytes);
    }
    return canvas;
}

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* The median of rounds that last `seconds` each. */
static double measure(uint32_t modes, int depth, mvf_field *const fields[N_FIELDS], double seconds)
{
    mvf_canvas canvas = make_canvas(depth);
    mvf_drawing drawing = {
        .style = {
            .modes = modes, .arrow_scale = 1, .max_motion_px = 16, .max_cost = 16, .opacity = 0.6}};
    double rates[N_ROUNDS];
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = now(), end = start;
        int n = 0;
        for (; end - start < seconds || n < N_FIELDS; n++, end = now())
            if (mvf_drawing_draw(&drawing, &canvas, fields[n % N_FIELDS],
                                 fields[(n + 1) % N_FIELDS]) != MVF_OK)
                exit(1);
        rates[round] = n / (end - start);
    }
    qsort(rates, N_ROUNDS, sizeof *rates, by_value);
    mvf_drawing_close(&drawing);
    for (int i = 0; i < 3; i++)
        free(canvas.planes[i]);
    return rates[N_ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"cost", "wheel",      "difference",
                                        "grid", "partitions", "arrows"};
    double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    mvf_field *fields[N_FIELDS];
    for (int i = 0; i < N_FIELDS; i++)
        if (!(fields[i] = make_field()))
            return 1;
    printf("%-12s %10s %10s   1080p frames/s drawn by one core\n", "", "8 bits", "10 bits");
    for (int mode = 5; mode >= 0; mode--)
        printf("%-12s %10.0f %10.0f\n", names[mode], measure(1u << mode, 8, fields, seconds),
               measure(1u << mode, 10, fields, seconds));
    for (int i = 0; i < N_FIELDS; i++)
        mvf_field_free(&fields[i]);
    return 0;
}
