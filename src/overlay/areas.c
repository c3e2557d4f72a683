/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/areas.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* Up to this length in px two vectors agree: quarter samples against whole ones. */
#define AGREE_PX 0.75

/* The motion of the block's content in px: against its vector for a past reference, along it for a
 * future one. */
static void block_motion(const mvf_block *block, int32_t mv_scale, double motion[2])
{
    double px_per_unit = (block->dir < 0 ? -1.0 : 1.0) / mv_scale;
    motion[0] = block->mv_x * px_per_unit;
    motion[1] = block->mv_y * px_per_unit;
}

/* One paint a block; blocks that show nothing have an opacity of 0. */
static void fill_cells(const mvf_canvas *canvas, const mvf_cells *cells, const mvf_paint *paints)
{
    const int32_t *owner = cells->owners;
    int32_t size = cells->size_px;
    for (int32_t row = 0; row < cells->rows; row++, owner += cells->cols)
        for (int32_t col = 0, end; col < cells->cols; col = end) {
            end = col + 1;
            while (end < cells->cols && owner[end] == owner[col])
                end++;
            if (owner[col] >= 0 && paints[owner[col]].hide)
                mvf_canvas_fill(canvas, col * size, row * size, (end - col) * size, size,
                                &paints[owner[col]]);
        }
}

mvf_status mvf_areas_wheel(const mvf_canvas *canvas, const mvf_field *field, const mvf_cells *cells,
                           double max_px, double opacity)
{
    mvf_paint *paints = mvf_alloc_array(field->n_blocks, sizeof *paints);
    if (!paints)
        return MVF_ERROR_MEMORY;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        const mvf_block *before = i ? block - 1 : NULL;
        double motion[2], rgb[3];
        if (!block->dir)
            continue;
        if (before && before->dir == block->dir && before->mv_x == block->mv_x &&
            before->mv_y == block->mv_y) {
            paints[i] = paints[i - 1];
            continue;
        }
        block_motion(block, field->mv_scale, motion);
        mvf_wheel_motion_colour(motion[0] / max_px, motion[1] / max_px, rgb);
        paints[i] = mvf_paint_make(&canvas->space, rgb, opacity);
    }
    fill_cells(canvas, cells, paints);
    free(paints);
    return MVF_OK;
}

void mvf_heat_colour(double share, double rgb[3])
{
    /* Every quarter of Matplotlib's "inferno", by Stefan van der Walt and Nathaniel Smith (CC0). */
    static const double stops[5][3] = {{0.001, 0.000, 0.014},
                                       {0.342, 0.062, 0.429},
                                       {0.736, 0.216, 0.330},
                                       {0.978, 0.557, 0.035},
                                       {0.988, 0.998, 0.645}};
    double place = 4 * fmin(fmax(share, 0), 1);
    int low = place >= 4 ? 3 : (int)place;
    for (int c = 0; c < 3; c++)
        rgb[c] = stops[low][c] + (place - low) * (stops[low + 1][c] - stops[low][c]);
}

mvf_status mvf_areas_cost(const mvf_canvas *canvas, const mvf_field *field, const mvf_cells *cells,
                          double max_cost, double opacity)
{
    mvf_paint *paints = mvf_alloc_array(field->n_blocks, sizeof *paints);
    if (!paints)
        return MVF_ERROR_MEMORY;
    double unit = max_cost * (field->bit_depth > 8 ? 1 << (field->bit_depth - 8) : 1);
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        double rgb[3];
        if (!block->dir || !block->w || !block->h)
            continue;
        mvf_heat_colour(block->cost / (unit * block->w * block->h), rgb);
        paints[i] = mvf_paint_make(&canvas->space, rgb, opacity);
    }
    fill_cells(canvas, cells, paints);
    free(paints);
    return MVF_OK;
}

/* Rows of stripes that slant up to the right, over one rectangle. */
static void hatch(const mvf_canvas *canvas, int32_t x, int32_t y, int32_t w, int32_t h,
                  const mvf_paint *paint)
{
    int32_t thick = canvas->height >= 1080 ? canvas->height / 540 : 1, period = 6 * thick;
    int32_t end = x + w < canvas->width ? x + w : canvas->width;
    for (int32_t row = y; row < y + h && row < canvas->height; row++)
        for (int32_t at = x - (x + row) % period; at < end; at += period) {
            int32_t from = at > x ? at : x, to = at + thick < end ? at + thick : end;
            mvf_canvas_fill(canvas, from, row, to - from, 1, paint);
        }
}

/* A vector of the field in a cell, or NULL. */
static const mvf_block *vector_at(const mvf_field *field, const mvf_cells *cells, int32_t x,
                                  int32_t y)
{
    if (!field->n_blocks)
        return NULL;
    size_t row = (size_t)(y / cells->size_px), col = (size_t)(x / cells->size_px);
    int32_t owner = cells->owners[row * (size_t)cells->cols + col];
    return owner >= 0 && field->blocks[owner].dir ? &field->blocks[owner] : NULL;
}

void mvf_areas_hatch(const mvf_canvas *canvas, const mvf_field *field, const mvf_cells *cells)
{
    const double gray[3] = {0.75, 0.75, 0.75};
    mvf_paint paint = mvf_paint_make(&canvas->space, gray, 0.8);
    int32_t size = cells->size_px;
    for (int32_t y = 0; y < field->height; y += size)
        for (int32_t x = 0, end; x < field->width; x = end) {
            int has_vector = vector_at(field, cells, x, y) != NULL;
            end = x + size;
            while (!has_vector && end < field->width && !vector_at(field, cells, end, y))
                end += size;
            if (!has_vector)
                hatch(canvas, x, y, end - x, size, &paint);
        }
}

static void draw_difference(const mvf_canvas *canvas, const int32_t box[4], double distance_px,
                            double max_px, double opacity)
{
    const double red[3] = {1, 0.1, 0.1};
    if (distance_px < AGREE_PX)
        return;
    double strength = fmin(0.3 + 0.7 * distance_px / max_px, 1);
    mvf_paint paint = mvf_paint_make(&canvas->space, red, opacity * strength);
    mvf_canvas_fill(canvas, box[0], box[1], box[2], box[3], &paint);
}

static double distance(const mvf_block *a, int32_t scale_a, const mvf_block *b, int32_t scale_b)
{
    double motion_a[2], motion_b[2];
    block_motion(a, scale_a, motion_a);
    block_motion(b, scale_b, motion_b);
    return hypot(motion_a[0] - motion_b[0], motion_a[1] - motion_b[1]);
}

mvf_status mvf_areas_difference(const mvf_canvas *canvas, const mvf_field *field,
                                const mvf_cells *cells, const mvf_field *against,
                                const mvf_cells *against_cells, double max_px, double opacity)
{
    const double magenta[3] = {1, 0, 1};
    mvf_paint alone = mvf_paint_make(&canvas->space, magenta, 0.8);
    int32_t size = cells->size_px;
    if (against->n_blocks && against_cells->size_px < size)
        size = against_cells->size_px;
    for (int32_t y = 0; y < field->height; y += size)
        for (int32_t x = 0; x < field->width; x += size) {
            const mvf_block *a = vector_at(field, cells, x, y);
            const mvf_block *b = vector_at(against, against_cells, x, y);
            const int32_t box[4] = {x, y, size, size};
            if (a && b)
                draw_difference(canvas, box, distance(a, field->mv_scale, b, against->mv_scale),
                                max_px, opacity);
            else if (a || b)
                hatch(canvas, x, y, size, size, &alone);
        }
    return MVF_OK;
}

static int32_t line_px(const mvf_canvas *canvas)
{
    return canvas->height >= 1440 ? canvas->height / 720 : 1;
}

/* A rectangle's edge, inside of it. */
static void outline(const mvf_canvas *canvas, const int32_t box[4], int32_t thick,
                    const mvf_paint *paint)
{
    int32_t x = box[0], y = box[1], w = box[2], h = box[3];
    if (w <= 0 || h <= 0)
        return;
    mvf_canvas_line(canvas, x, y, w, thick, paint);
    mvf_canvas_line(canvas, x, y + thick, thick, h - thick, paint);
    mvf_canvas_line(canvas, x + w - thick, y + thick, thick, h - thick, paint);
    mvf_canvas_line(canvas, x + thick, y + h - thick, w - 2 * thick, thick, paint);
}

void mvf_outline_grid(const mvf_canvas *canvas, const mvf_field *field)
{
    const double white[3] = {1, 1, 1};
    mvf_paint paint = mvf_paint_make(&canvas->space, white, 0.4);
    int32_t thick = line_px(canvas);
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        mvf_canvas_line(canvas, block->x, block->y, block->w, thick, &paint);
        mvf_canvas_line(canvas, block->x, block->y + thick, thick, block->h - thick, &paint);
    }
}

void mvf_reference_colour(int dir, int ref, double rgb[3])
{
    static const double colours[2][4][3] = {
        {{1, 0.9, 0.1}, {1, 0.6, 0.1}, {1, 0.3, 0.1}, {0.8, 0.1, 0.1}},
        {{0.1, 0.7, 1}, {0.2, 0.35, 1}, {0.1, 0.9, 0.7}, {0.1, 0.8, 0.2}},
    };
    int place = ref < 0 ? 0 : ref > 3 ? 3 : ref;
    for (int c = 0; c < 3; c++)
        rgb[c] = colours[dir > 0][place][c];
}

/* How many references on the same side come before the block's own. */
static int side_index(const mvf_field *field, const mvf_block *block)
{
    int index = 0;
    for (int i = 0; i < block->ref && (size_t)i < field->n_references; i++)
        index += (field->references[i].frame > field->frame) == (block->dir > 0);
    return index;
}

void mvf_outline_partitions(const mvf_canvas *canvas, const mvf_field *field)
{
    int32_t thick = line_px(canvas);
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        int32_t inset = block->dir > 0 ? thick : 0;
        const int32_t box[4] = {block->x + inset, block->y + inset, block->w - 2 * inset,
                                block->h - 2 * inset};
        double rgb[3] = {0.75, 0.75, 0.75};
        if (block->dir)
            mvf_reference_colour(block->dir, side_index(field, block), rgb);
        mvf_paint paint = mvf_paint_make(&canvas->space, rgb, 0.75);
        outline(canvas, box, thick, &paint);
    }
}
