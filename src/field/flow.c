/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/flow.h>

#include <stdlib.h>

#include "base/memory.h"
#include "field/check.h"

mvf_status mvf_flow_alloc(mvf_flow **flow, int32_t width, int32_t height)
{
    *flow = NULL;
    if (width < 1 || height < 1 || width > MVF_FLOW_MAX_SIDE || height > MVF_FLOW_MAX_SIDE)
        return MVF_ERROR_ARGUMENT;
    size_t n_pixels = (size_t)width * (size_t)height;
    mvf_flow *made = mvf_alloc_array(1, sizeof *made);
    if (!made)
        return MVF_ERROR_MEMORY;
    *made = (mvf_flow){width, height, mvf_alloc_array(n_pixels, 2 * sizeof(float))};
    if (!made->vectors) {
        mvf_flow_free(&made);
        return MVF_ERROR_MEMORY;
    }
    for (size_t i = 0; i < 2 * n_pixels; i++)
        made->vectors[i] = MVF_FLOW_UNKNOWN;
    *flow = made;
    return MVF_OK;
}

void mvf_flow_free(mvf_flow **flow)
{
    if (!*flow)
        return;
    free((*flow)->vectors);
    free(*flow);
    *flow = NULL;
}

/* -1 where any block points into the past, else +1. */
static int chosen_direction(const mvf_field *field)
{
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir < 0)
            return -1;
    return 1;
}

/* The index of the block whose centre is nearest to sample `at`, of `count` blocks. */
static int32_t nearest_block(int32_t at, int32_t block, int32_t step, int32_t count)
{
    int64_t twice = 2 * (int64_t)at + 1 - block + step;
    int64_t index = twice < 0 ? 0 : twice / (2 * (int64_t)step);
    return (int32_t)(index < count ? index : count - 1);
}

static void set_vector(float *to, const mvf_field *field, const mvf_block *block)
{
    to[0] = (float)block->mv_x / (float)field->mv_scale;
    to[1] = (float)block->mv_y / (float)field->mv_scale;
}

static int covers(const mvf_block *block, int32_t x, int32_t y)
{
    return x >= block->x && y >= block->y && (int64_t)x - block->x < block->w &&
           (int64_t)y - block->y < block->h;
}

static void fill_from_layer(const mvf_field *field, const mvf_block *layer, int dir, float *vectors)
{
    const mvf_grid *grid = &field->grid;
    for (int32_t y = 0; y < field->height; y++) {
        int32_t row = nearest_block(y, grid->block_h, grid->step_y, grid->rows);
        for (int32_t x = 0; x < field->width; x++, vectors += 2) {
            int32_t col = nearest_block(x, grid->block_w, grid->step_x, grid->cols);
            const mvf_block *block = &layer[(size_t)row * (size_t)grid->cols + (size_t)col];
            if (block->dir == dir && covers(block, x, y))
                set_vector(vectors, field, block);
        }
    }
}

static const mvf_block *first_layer(const mvf_field *field, int dir)
{
    size_t cells = mvf_grid_cells(&field->grid);
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir == dir)
            return field->blocks + i / cells * cells;
    return field->blocks;
}

static void fill_from_block(const mvf_field *field, const mvf_block *block, float *vectors)
{
    int32_t left = block->x > 0 ? block->x : 0, top = block->y > 0 ? block->y : 0;
    int64_t right = (int64_t)block->x + block->w, bottom = (int64_t)block->y + block->h;
    for (int32_t y = top; y < bottom && y < field->height; y++)
        for (int32_t x = left; x < right && x < field->width; x++)
            set_vector(vectors + 2 * ((size_t)y * (size_t)field->width + (size_t)x), field, block);
}

void mvf_field_fill_flow(const mvf_field *field, float *vectors)
{
    size_t n_pixels = (size_t)field->width * (size_t)field->height;
    int dir = chosen_direction(field);
    for (size_t i = 0; i < 2 * n_pixels; i++)
        vectors[i] = MVF_FLOW_UNKNOWN;
    if (field->n_blocks && mvf_grid_cells(&field->grid)) {
        fill_from_layer(field, first_layer(field, dir), dir, vectors);
        return;
    }
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir == dir)
            fill_from_block(field, &field->blocks[i], vectors);
}
