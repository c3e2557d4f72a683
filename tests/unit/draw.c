/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <math.h>

#include "overlay/arrows.h"

#define GUARD 0xa5
#define GUARD_BYTES 64

/* A canvas whose planes lie between guard bytes, rows included. */
typedef struct guarded {
    mvf_canvas canvas;
    uint8_t *memory[3];
    size_t n_bytes[3];
    int32_t widths[3], heights[3];
} guarded;

static int sample_bytes(const guarded *g)
{
    return g->canvas.bit_depth > 8 ? 2 : 1;
}

static void open_canvas(guarded *g, int32_t width, int32_t height, int shift_x, int shift_y,
                        int n_planes, int depth, int value)
{
    *g = (guarded){.canvas = {.width = width,
                              .height = height,
                              .chroma_shift_x = shift_x,
                              .chroma_shift_y = shift_y,
                              .bit_depth = depth,
                              .space = {0.2126, 0.0722, 0}}};
    for (int i = 0; i < n_planes; i++) {
        g->widths[i] = i ? (width + (1 << shift_x) - 1) >> shift_x : width;
        g->heights[i] = i ? (height + (1 << shift_y) - 1) >> shift_y : height;
        ptrdiff_t stride = g->widths[i] * sample_bytes(g) + GUARD_BYTES;
        g->n_bytes[i] = (size_t)stride * (size_t)g->heights[i] + GUARD_BYTES;
        g->memory[i] = malloc(g->n_bytes[i]);
        assert_non_null(g->memory[i]);
        memset(g->memory[i], GUARD, g->n_bytes[i]);
        g->canvas.planes[i] = g->memory[i] + GUARD_BYTES;
        g->canvas.strides_bytes[i] = stride;
        for (int32_t y = 0; y < g->heights[i]; y++)
            for (int32_t x = 0; x < g->widths[i]; x++) {
                uint8_t *at = g->canvas.planes[i] + y * stride + x * sample_bytes(g);
                if (depth > 8)
                    *(uint16_t *)(void *)at = (uint16_t)value;
                else
                    *at = (uint8_t)value;
            }
    }
}

static int sample(const guarded *g, int plane, int32_t x, int32_t y)
{
    const uint8_t *at =
        g->canvas.planes[plane] + y * g->canvas.strides_bytes[plane] + x * sample_bytes(g);
    return sample_bytes(g) == 2 ? *(const uint16_t *)(const void *)at : *at;
}

static void close_canvas(guarded *g)
{
    for (int i = 0; i < 3 && g->memory[i]; i++) {
        size_t row_bytes = (size_t)(g->widths[i] * sample_bytes(g));
        for (size_t at = 0; at < g->n_bytes[i]; at++) {
            size_t in_row = at < GUARD_BYTES
                                ? SIZE_MAX
                                : (at - GUARD_BYTES) % (size_t)g->canvas.strides_bytes[i];
            if (in_row >= row_bytes && g->memory[i][at] != GUARD)
                fail_msg("plane %d: a byte outside of it was written", i);
        }
        free(g->memory[i]);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static mvf_field *random_field(int32_t width, int32_t height, int block, uint32_t *seed)
{
    mvf_field *field;
    int cols = (width + block - 1) / block, rows = (height + block - 1) / block;
    assert_int_equal(mvf_field_alloc(&field, 1, (size_t)(cols * rows)), MVF_OK);
    field->mv_scale = 4;
    field->grid = (mvf_grid){block, block, block, block, cols, rows};
    for (int i = 0; i < cols * rows; i++) {
        mvf_block *b = &field->blocks[i];
        b->x = i % cols * block;
        b->y = i / cols * block;
        b->w = (uint16_t)(b->x + block > width ? width - b->x : block);
        b->h = (uint16_t)(b->y + block > height ? height - b->y : block);
        b->dir = (int8_t)((int)(next_random(seed) % 3) - 1);
        int reach = next_random(seed) % 16 ? 200 : 32767;
        b->mv_x = (int16_t)((int)(next_random(seed) % (2u * (unsigned)reach + 1)) - reach);
        b->mv_y = (int16_t)((int)(next_random(seed) % (2u * (unsigned)reach + 1)) - reach);
    }
    return field;
}

/* Any size, sampling and depth: nothing outside of the planes, no sample above the depth. */
static void test_stays_inside(void **state)
{
    static const struct {
        int x, y, planes;
    } samplings[] = {{0, 0, 1}, {0, 0, 3}, {1, 0, 3}, {1, 1, 3}, {0, 1, 3}, {2, 0, 3}, {2, 2, 3}};
    static const int sizes[][2] = {{1, 1}, {2, 3}, {17, 9}, {33, 65}, {121, 81}, {320, 240}};
    static const int depths[] = {8, 10, 16};
    uint32_t seed = 7;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < sizeof samplings / sizeof samplings[0]; k++)
            for (size_t d = 0; d < 3; d++) {
                guarded g;
                mvf_arrows *arrows;
                int most = (1 << depths[d]) - 1;
                open_canvas(&g, sizes[i][0], sizes[i][1], samplings[k].x, samplings[k].y,
                            samplings[k].planes, depths[d], most);
                mvf_field *field = random_field(sizes[i][0], sizes[i][1], 16, &seed);
                assert_int_equal(mvf_arrows_open(&arrows), MVF_OK);
                assert_int_equal(mvf_arrows_draw(arrows, &g.canvas, field), MVF_OK);
                for (int32_t y = 0; y < g.canvas.height; y++)
                    for (int32_t x = 0; x < g.canvas.width; x++)
                        assert_in_range(sample(&g, 0, x, y), 0, most);
                mvf_arrows_close(&arrows);
                mvf_field_free(&field);
                close_canvas(&g);
            }
}

static void draw_one(guarded *g, int dir, int mv_x, int mv_y)
{
    mvf_field *field;
    mvf_arrows *arrows;
    open_canvas(g, 64, 64, 1, 1, 3, 8, 100);
    assert_int_equal(mvf_field_alloc(&field, 1, 1), MVF_OK);
    field->mv_scale = 4;
    field->blocks[0] = (mvf_block){.x = 24,
                                   .y = 24,
                                   .w = 16,
                                   .h = 16,
                                   .mv_x = (int16_t)mv_x,
                                   .mv_y = (int16_t)mv_y,
                                   .dir = (int8_t)dir};
    assert_int_equal(mvf_arrows_open(&arrows), MVF_OK);
    assert_int_equal(mvf_arrows_draw(arrows, &g->canvas, field), MVF_OK);
    mvf_arrows_close(&arrows);
    mvf_field_free(&field);
}

/* The drawing's bounds in luma. */
static void bounds(const guarded *g, int box[4])
{
    box[0] = box[1] = INT32_MAX;
    box[2] = box[3] = INT32_MIN;
    for (int y = 0; y < g->canvas.height; y++)
        for (int x = 0; x < g->canvas.width; x++)
            if (sample(g, 0, x, y) != 100) {
                box[0] = x < box[0] ? x : box[0];
                box[1] = y < box[1] ? y : box[1];
                box[2] = x > box[2] ? x : box[2];
                box[3] = y > box[3] ? y : box[3];
            }
}

/* Rows of the drawing at column x: more where the head is. */
static int thickness(const guarded *g, int x)
{
    int n = 0;
    for (int y = 0; y < g->canvas.height; y++)
        n += sample(g, 0, x, y) != 100;
    return n;
}

/* mv (+12, 0) px to the past: content moved left from x = 44 to the centre, 32. */
static void test_direction_past(void **state)
{
    guarded g;
    int box[4];
    (void)state;
    draw_one(&g, -1, 48, 0);
    bounds(&g, box);
    assert_in_range(box[0], 29, 32);
    assert_in_range(box[2], 44, 46);
    assert_true(thickness(&g, 35) > thickness(&g, 42));
    close_canvas(&g);
}

/* The same vector to the future: content will move right, from the centre to x = 44. */
static void test_direction_future(void **state)
{
    guarded g;
    int box[4];
    (void)state;
    draw_one(&g, 1, 48, 0);
    bounds(&g, box);
    assert_in_range(box[0], 29, 32);
    assert_in_range(box[2], 44, 47);
    assert_true(thickness(&g, 41) > thickness(&g, 34));
    close_canvas(&g);
}

static void test_y_is_down(void **state)
{
    guarded g;
    int box[4];
    (void)state;
    draw_one(&g, -1, 0, -48);
    bounds(&g, box);
    assert_in_range(box[1], 17, 20);
    assert_in_range(box[3], 31, 35);
    close_canvas(&g);
}

static void test_still_and_none(void **state)
{
    guarded g;
    int box[4];
    (void)state;
    draw_one(&g, -1, 0, 0);
    bounds(&g, box);
    assert_in_range(box[0], 28, 32);
    assert_in_range(box[3], 32, 36);
    assert_true(sample(&g, 0, 32, 32) > 150);
    close_canvas(&g);
    draw_one(&g, 0, 40, 40);
    bounds(&g, box);
    assert_int_equal(box[0], INT32_MAX);
    close_canvas(&g);
}

/* 10 bits look like 8: each sample is 4 times the other, but for rounding. */
static void test_depths_agree(void **state)
{
    uint32_t seed = 3;
    guarded shallow, deep;
    mvf_arrows *arrows;
    mvf_field *field = random_field(160, 96, 16, &seed);
    (void)state;
    open_canvas(&shallow, 160, 96, 1, 1, 3, 8, 60);
    open_canvas(&deep, 160, 96, 1, 1, 3, 10, 240);
    assert_int_equal(mvf_arrows_open(&arrows), MVF_OK);
    assert_int_equal(mvf_arrows_draw(arrows, &shallow.canvas, field), MVF_OK);
    assert_int_equal(mvf_arrows_draw(arrows, &deep.canvas, field), MVF_OK);
    for (int i = 0; i < 3; i++)
        for (int y = 0; y < shallow.heights[i]; y++)
            for (int x = 0; x < shallow.widths[i]; x++)
                assert_true(abs(sample(&shallow, i, x, y) * 4 - sample(&deep, i, x, y)) <= 12);
    mvf_arrows_close(&arrows);
    mvf_field_free(&field);
    close_canvas(&shallow);
    close_canvas(&deep);
}

static void assert_colour(double x, double y, double red, double green, double blue)
{
    double rgb[3];
    mvf_wheel_colour(x, y, rgb);
    assert_true(fabs(rgb[0] - red) < 0.15);
    assert_true(fabs(rgb[1] - green) < 0.15);
    assert_true(fabs(rgb[2] - blue) < 0.15);
}

static void test_wheel(void **state)
{
    (void)state;
    assert_colour(1, 0, 1, 0, 0);
    assert_colour(1, -1e-9, 1, 0, 0.15);
    assert_colour(0, 1, 1, 0.9, 0);
    assert_colour(-1, 0, 0, 0.8, 1);
    assert_colour(0, -1, 0.35, 0, 1);
}

static void test_colour_spaces(void **state)
{
    const double white[3] = {1, 1, 1}, blue[3] = {0, 0, 1};
    mvf_colour_space limited = {0.299, 0.114, 0}, full = {0.299, 0.114, 1};
    (void)state;
    assert_true(fabsf(mvf_colour_to_yuv(white, &limited).y - 235) < 0.01f);
    assert_true(fabsf(mvf_colour_to_yuv(white, &full).y - 255) < 0.01f);
    assert_true(fabsf(mvf_colour_to_yuv(white, &full).u - 128) < 0.01f);
    assert_true(fabsf(mvf_colour_to_yuv(blue, &limited).u - 240) < 0.01f);
    assert_true(fabsf(mvf_colour_to_yuv(blue, &full).u - 255) < 0.01f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays_inside),
        cmocka_unit_test(test_direction_past),
        cmocka_unit_test(test_direction_future),
        cmocka_unit_test(test_y_is_down),
        cmocka_unit_test(test_still_and_none),
        cmocka_unit_test(test_depths_agree),
        cmocka_unit_test(test_wheel),
        cmocka_unit_test(test_colour_spaces),
    };
    return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
