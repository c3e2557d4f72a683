/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/cells.h"

#include <stdlib.h>

#include "base/error.h"

static int32_t common_divisor(int32_t a, int32_t b)
{
    while (b) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int is_overlapped(const mvf_grid *grid)
{
    return grid->cols > 0 && (grid->step_x < grid->block_w || grid->step_y < grid->block_h);
}

static int32_t cell_size(const mvf_field *field)
{
    int32_t size = 0;
    if (field->grid.cols > 0)
        return common_divisor(field->grid.step_x, field->grid.step_y);
    for (size_t i = 0; i < field->n_blocks && size != 1; i++) {
        const mvf_block *block = &field->blocks[i];
        size = common_divisor(common_divisor(block->x, block->y), size);
        if (block->x + block->w < field->width)
            size = common_divisor(block->w, size);
        if (block->y + block->h < field->height)
            size = common_divisor(block->h, size);
    }
    return abs(size) > 0 ? abs(size) : field->width + field->height;
}

static mvf_status resize(mvf_cells *cells, const mvf_field *field)
{
    cells->size_px = cell_size(field);
    cells->cols = (field->width + cells->size_px - 1) / cells->size_px;
    cells->rows = (field->height + cells->size_px - 1) / cells->size_px;
    size_t n = (size_t)cells->cols * (size_t)cells->rows;
    if (n > cells->capacity) {
        int32_t *grown = realloc(cells->owners, n * sizeof *grown);
        if (!grown)
            return MVF_ERROR_MEMORY;
        cells->owners = grown;
        cells->capacity = n;
    }
    for (size_t i = 0; i < n; i++)
        cells->owners[i] = -1;
    return MVF_OK;
}

/* What of the frame the block shows in, along one axis. */
static void find_span(int32_t at, int32_t size, int32_t block, int32_t step, int32_t frame,
                      int32_t span[2])
{
    int32_t margin = (block - step) / 2;
    span[0] = at;
    span[1] = at + size;
    if (step && step < block) {
        span[0] = at > 0 ? at + margin : 0;
        span[1] = at + step < frame ? at + margin + step : frame;
    }
    span[0] = span[0] > 0 ? span[0] : 0;
    span[1] = span[1] < frame ? span[1] : frame;
}

static int is_better(const mvf_block *a, const mvf_block *b)
{
    if (!a->dir || !b->dir)
        return a->dir && !b->dir;
    return (uint64_t)a->cost * b->w * b->h < (uint64_t)b->cost * a->w * a->h;
}

static void add_block(mvf_cells *cells, const mvf_field *field, size_t index)
{
    const mvf_block *block = &field->blocks[index];
    const mvf_grid *grid = &field->grid;
    int32_t size = cells->size_px, x[2], y[2];
    find_span(block->x, block->w, grid->block_w, is_overlapped(grid) ? grid->step_x : 0,
              field->width, x);
    find_span(block->y, block->h, grid->block_h, is_overlapped(grid) ? grid->step_y : 0,
              field->height, y);
    for (int32_t row = y[0] / size; row * size < y[1]; row++)
        for (int32_t col = x[0] / size; col * size < x[1]; col++) {
            int32_t *owner = &cells->owners[(size_t)row * (size_t)cells->cols + (size_t)col];
            if (*owner < 0 || is_better(block, &field->blocks[*owner]))
                *owner = (int32_t)index;
        }
}

mvf_status mvf_cells_map(mvf_cells *cells, const mvf_field *field)
{
    MVF_TRY(resize(cells, field));
    for (size_t i = 0; i < field->n_blocks; i++)
        add_block(cells, field, i);
    return MVF_OK;
}

void mvf_cells_free(mvf_cells *cells)
{
    free(cells->owners);
    *cells = (mvf_cells){.owners = NULL};
}
