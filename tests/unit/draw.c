/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "draw_pinned.h"
#include "overlay/areas.h"
#include "overlay/blend.h"
#include "overlay/drawing.h"

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
                assert_int_equal(mvf_arrows_draw(arrows, &g.canvas, field, 1), MVF_OK);
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
    assert_int_equal(mvf_arrows_draw(arrows, &g->canvas, field, 1), MVF_OK);
    mvf_arrows_close(&arrows);
    mvf_field_free(&field);
}

/* On a grid of 4 px one block in three each way has an arrow, however few blocks there are. */
static void test_dense_grid(void **state)
{
    (void)state;
    for (int n = 1; n <= 12; n += 11) {
        guarded g;
        mvf_field *field;
        mvf_arrows *arrows;
        int first = n > 1 ? 6 : 2;
        open_canvas(&g, 64, 64, 1, 1, 3, 8, 100);
        assert_int_equal(mvf_field_alloc(&field, 1, (size_t)(n * n)), MVF_OK);
        field->mv_scale = 16;
        field->grid = (mvf_grid){4, 4, 4, 4, n, n};
        for (int i = 0; i < n * n; i++)
            field->blocks[i] =
                (mvf_block){.x = i % n * 4, .y = i / n * 4, .w = 4, .h = 4, .dir = -1};
        assert_int_equal(mvf_arrows_open(&arrows), MVF_OK);
        assert_int_equal(mvf_arrows_draw(arrows, &g.canvas, field, 1), MVF_OK);
        assert_true(sample(&g, 0, first, first) != 100);
        assert_true(n == 1 || sample(&g, 0, first + 12, first) != 100);
        assert_int_equal(sample(&g, 0, first + 4, first + 4), 100);
        assert_int_equal(sample(&g, 0, first + 6, first + 6), 100);
        mvf_arrows_close(&arrows);
        mvf_field_free(&field);
        close_canvas(&g);
    }
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
    assert_int_equal(mvf_arrows_draw(arrows, &shallow.canvas, field, 1), MVF_OK);
    assert_int_equal(mvf_arrows_draw(arrows, &deep.canvas, field, 1), MVF_OK);
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

static mvf_field *moving_field(int32_t width, int32_t height, int mv_x, int mv_y)
{
    uint32_t seed = 1;
    mvf_field *field = random_field(width, height, 16, &seed);
    field->width = width;
    field->height = height;
    field->bit_depth = 8;
    for (size_t i = 0; i < field->n_blocks; i++) {
        mvf_block *block = &field->blocks[i];
        block->dir = -1;
        block->mv_x = (int16_t)mv_x;
        block->mv_y = (int16_t)mv_y;
        block->cost = (uint32_t)(block->w * block->h * (int)(i % 20));
    }
    return field;
}

static void draw_modes(guarded *g, uint32_t modes, const mvf_field *field, const mvf_field *against)
{
    mvf_drawing drawing = {
        .style = {
            .modes = modes, .arrow_scale = 1, .max_motion_px = 16, .max_cost = 16, .opacity = 0.6}};
    assert_int_equal(mvf_drawing_draw(&drawing, &g->canvas, field, against), MVF_OK);
    mvf_drawing_close(&drawing);
}

/* Every mode, size, sampling and depth, on vectors that point anywhere. */
static void test_modes_stay_inside(void **state)
{
    static const int samplings[][3] = {{0, 0, 1}, {0, 0, 3}, {1, 0, 3}, {1, 1, 3}, {2, 2, 3}};
    static const int sizes[][2] = {{1, 1}, {17, 9}, {33, 65}, {121, 81}};
    uint32_t seed = 11;
    (void)state;
    for (int s = 0; s < 4; s++)
        for (int k = 0; k < 5; k++)
            for (int depth = 8; depth <= 16; depth += 2)
                for (uint32_t modes = 1; modes < 2 * MVF_DRAWS_ARROWS; modes++) {
                    guarded g;
                    int most = (1 << depth) - 1;
                    mvf_field *field = random_field(sizes[s][0], sizes[s][1], 16, &seed);
                    mvf_field *other = random_field(sizes[s][0], sizes[s][1], 8, &seed);
                    field->width = other->width = sizes[s][0];
                    field->height = other->height = sizes[s][1];
                    field->bit_depth = other->bit_depth = depth;
                    open_canvas(&g, sizes[s][0], sizes[s][1], samplings[k][0], samplings[k][1],
                                samplings[k][2], depth, most);
                    draw_modes(&g, modes, field, other);
                    for (int i = 0; i < samplings[k][2]; i++)
                        for (int32_t y = 0; y < g.heights[i]; y++)
                            for (int32_t x = 0; x < g.widths[i]; x++)
                                assert_in_range(sample(&g, i, x, y), 0, most);
                    close_canvas(&g);
                    mvf_field_free(&field);
                    mvf_field_free(&other);
                }
}

/* Each mode's mean over 4 x 3 tiles of each plane, within 2 of what is pinned. To pin anew after a
 * change that is meant to be seen: MVF_PIN=1 tests/unit/draw > tests/unit/draw_pinned.h. */
static void measure_tiles(const guarded *g, int tiles[PINNED_TILES])
{
    for (int i = 0; i < PINNED_TILES; i++) {
        int plane = i / 12, col = i % 4, row = i / 4 % 3, n = 0, sum = 0;
        for (int y = row * g->heights[plane] / 3; y < (row + 1) * g->heights[plane] / 3; y++)
            for (int x = col * g->widths[plane] / 4; x < (col + 1) * g->widths[plane] / 4; x++) {
                sum += sample(g, plane, x, y);
                n++;
            }
        tiles[i] = (sum + n / 2) / n;
    }
}

static mvf_field *pinned_field(int block, uint32_t seed)
{
    mvf_field *field = random_field(160, 96, block, &seed);
    field->width = 160;
    field->height = 96;
    field->bit_depth = 8;
    for (size_t i = 0; i < field->n_blocks; i++) {
        mvf_block *b = &field->blocks[i];
        b->mv_x = (int16_t)(b->mv_x % 80);
        b->mv_y = (int16_t)(b->mv_y % 80);
        b->cost = (uint32_t)(b->w * b->h) * (next_random(&seed) % 20);
    }
    return field;
}

static void draw_pinned_mode(int mode, int tiles[PINNED_TILES])
{
    guarded g;
    mvf_field *field = pinned_field(16, 21), *other = pinned_field(8, 22);
    open_canvas(&g, 160, 96, 1, 1, 3, 8, 90);
    draw_modes(&g, 1u << mode, field, other);
    measure_tiles(&g, tiles);
    close_canvas(&g);
    mvf_field_free(&field);
    mvf_field_free(&other);
}

static void test_pinned(void **state)
{
    int tiles[PINNED_TILES];
    (void)state;
    for (int mode = 0; mode < PINNED_MODES; mode++) {
        draw_pinned_mode(mode, tiles);
        for (int i = 0; i < PINNED_TILES; i++)
            if (abs(tiles[i] - pinned[mode][i]) > 2)
                fail_msg("mode %d, tile %d: %d instead of %d", mode, i, tiles[i], pinned[mode][i]);
    }
}

static int print_pinned(void)
{
    int tiles[PINNED_TILES];
    printf("/*\n * draw_pinned.h - what each mode looked like when it was last looked at.\n *\n"
           " * SPDX-License-Identifier: BSD-2-Clause\n */\n"
           "#define PINNED_MODES %d\n#define PINNED_TILES %d\n\n"
           "/* clang-format off */\n"
           "static const int pinned[PINNED_MODES][PINNED_TILES] = {\n",
           PINNED_MODES, PINNED_TILES);
    for (int mode = 0; mode < PINNED_MODES; mode++) {
        draw_pinned_mode(mode, tiles);
        for (int i = 0; i < PINNED_TILES; i++)
            printf("%s%d%s",
                   i % 12 ? " "
                   : i    ? "\n     "
                          : "    {",
                   tiles[i], i == PINNED_TILES - 1 ? "},\n" : ",");
    }
    printf("};\n");
    return 0;
}

/* Still is white, whatever the scale; the rim is the wheel's own colour; further out is darker. */
static void test_wheel_motion(void **state)
{
    double rgb[3], rim[3];
    (void)state;
    mvf_wheel_motion_colour(0, 0, rgb);
    for (int c = 0; c < 3; c++)
        assert_true(rgb[c] == 1);
    mvf_wheel_colour(1, 0, rim);
    mvf_wheel_motion_colour(1, 0, rgb);
    assert_true(fabs(rgb[0] - rim[0]) < 1e-6 && fabs(rgb[1] - rim[1]) < 1e-6);
    mvf_wheel_motion_colour(2, 0, rgb);
    assert_true(fabs(rgb[0] - 0.75 * rim[0]) < 1e-6);
}

/* Content that moves right is red over the whole block, and nothing else of the frame changes. */
static void test_wheel_area(void **state)
{
    guarded g;
    mvf_field *field;
    (void)state;
    open_canvas(&g, 64, 64, 1, 1, 3, 8, 100);
    assert_int_equal(mvf_field_alloc(&field, 1, 1), MVF_OK);
    field->width = field->height = 64;
    field->bit_depth = 8;
    field->mv_scale = 4;
    field->blocks[0] = (mvf_block){.x = 16, .y = 32, .w = 16, .h = 16, .mv_x = -64, .dir = -1};
    draw_modes(&g, MVF_DRAWS_WHEEL, field, NULL);
    assert_true(sample(&g, 2, 8, 16) > 150 && sample(&g, 1, 8, 16) < 118);
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
            if ((x < 8 || x >= 16 || y < 16 || y >= 24) && sample(&g, 2, x, y) > 140)
                fail_msg("red at chroma (%d, %d)", x, y);
    mvf_field_free(&field);
    close_canvas(&g);
}

/* The field's sum: only what differs by more than 0.75 px is marked. */
static void test_difference(void **state)
{
    guarded g;
    mvf_field *a = moving_field(64, 64, 8, 0), *b = moving_field(64, 64, 10, 0);
    (void)state;
    open_canvas(&g, 64, 64, 1, 1, 3, 8, 100);
    draw_modes(&g, MVF_DRAWS_DIFFERENCE, a, b);
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++)
            assert_int_equal(sample(&g, 0, x, y), 100);
    b->blocks[5].mv_x = 60;
    draw_modes(&g, MVF_DRAWS_DIFFERENCE, a, b);
    assert_true(sample(&g, 2, 12, 12) > 120);
    assert_int_equal(sample(&g, 2, 4, 4), 100);
    mvf_field_free(&a);
    mvf_field_free(&b);
    close_canvas(&g);
}

/* Where blocks lie over one another, one with a vector shows, then the cheaper, then the first. */
static void test_cells(void **state)
{
    mvf_field *field;
    mvf_cells cells = {.size_px = 0};
    (void)state;
    assert_int_equal(mvf_field_alloc(&field, 0, 4), MVF_OK);
    field->width = 32;
    field->height = 16;
    field->blocks[0] = (mvf_block){.x = 0, .y = 0, .w = 16, .h = 16, .dir = 0};
    field->blocks[1] = (mvf_block){.x = 0, .y = 0, .w = 16, .h = 16, .dir = -1, .cost = 9};
    field->blocks[2] = (mvf_block){.x = 0, .y = 0, .w = 16, .h = 16, .dir = 1, .cost = 8};
    field->blocks[3] = (mvf_block){.x = 0, .y = 0, .w = 8, .h = 16, .dir = 1, .cost = 4};
    assert_int_equal(mvf_cells_map(&cells, field), MVF_OK);
    assert_int_equal(cells.size_px, 8);
    assert_int_equal(cells.owners[0], 2);
    assert_int_equal(cells.owners[1], 2);
    assert_int_equal(cells.owners[2], -1);
    mvf_cells_free(&cells);
    mvf_field_free(&field);
}

/* An image lies upright for whoever watches, whichever way the picture is turned. */
static void test_image_turns(void **state)
{
    static const int rotations[] = {0, 90, 180, 270};
    static const int corners[4][2] = {{0, 0}, {0, 31}, {63, 31}, {63, 0}};
    const double white[3] = {1, 1, 1};
    (void)state;
    for (int r = 0; r < 4; r++) {
        guarded g;
        mvf_image image;
        mvf_sprite *sprite = NULL;
        int32_t x = 0, y = 0;
        open_canvas(&g, 64, 32, 1, 1, 3, 8, 20);
        assert_int_equal(mvf_image_alloc(&image, 8, 4), MVF_OK);
        mvf_image_fill(&image, 0, 0, 1, 1, white, 1);
        assert_int_equal(mvf_image_sprite(&sprite, &image, &g.canvas, rotations[r]), MVF_OK);
        mvf_image_anchor(&image, &g.canvas, rotations[r], &x, &y);
        mvf_sprite_draw(sprite, &g.canvas, x, y);
        assert_true(sample(&g, 0, corners[r][0], corners[r][1]) > 200);
        free(sprite);
        mvf_image_free(&image);
        close_canvas(&g);
    }
}

/* The vector loops and the plain ones are the same function. */
static void test_blending(void **state)
{
    uint8_t hide[64], add[64];
    uint16_t words[64], plain[64];
    uint32_t seed = 5;
    (void)state;
    for (int round = 0; round < 500; round++)
        for (int depth = 9; depth <= 16; depth++) {
            for (int i = 0; i < 64; i++) {
                hide[i] = (uint8_t)next_random(&seed);
                add[i] = (uint8_t)(next_random(&seed) % (255u * hide[i] / 256 + 1));
                words[i] = (uint16_t)(next_random(&seed) & ((1u << depth) - 1));
                plain[i] = mvf_blend_word(words[i], hide[i], add[i], depth);
                assert_true(plain[i] < 1 << depth);
            }
            mvf_blend_word_lanes(words, hide, add, 64, depth);
            assert_memory_equal(words, plain, sizeof words);
            for (int i = 0; i < 61; i++)
                plain[i] = mvf_blend_word(words[i], hide[0], add[0], depth);
            mvf_fill_words(words, 61, hide[0], add[0], depth);
            assert_memory_equal(words, plain, sizeof words);
        }
}

int main(void)
{
    if (getenv("MVF_PIN"))
        return print_pinned();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays_inside),
        cmocka_unit_test(test_direction_past),
        cmocka_unit_test(test_direction_future),
        cmocka_unit_test(test_y_is_down),
        cmocka_unit_test(test_still_and_none),
        cmocka_unit_test(test_depths_agree),
        cmocka_unit_test(test_wheel),
        cmocka_unit_test(test_colour_spaces),
        cmocka_unit_test(test_modes_stay_inside),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_wheel_motion),
        cmocka_unit_test(test_wheel_area),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_image_turns),
        cmocka_unit_test(test_dense_grid),
        cmocka_unit_test(test_blending),
    };
    return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
