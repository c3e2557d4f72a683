/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <mvfield/field.h>

#include "base/memory.h"

#define WINDOW 9

/* The vectors of the blocks round one, its own first. */
typedef struct neighbourhood {
    int32_t count;
    mvf_vector vectors[WINDOW];
} neighbourhood;

static void add(neighbourhood *around, const mvf_block *block)
{
    around->vectors[around->count++] = (mvf_vector){block->mv_x, block->mv_y};
}

/* Of one layer's blocks, those with a vector to the same reference. */
static void gather(neighbourhood *around, const mvf_grid *grid, const mvf_block *layer, int32_t col,
                   int32_t row)
{
    const mvf_block *own = layer + (ptrdiff_t)row * grid->cols + col;
    around->count = 0;
    add(around, own);
    for (int32_t y = row - 1; y <= row + 1; y++)
        for (int32_t x = col - 1; x <= col + 1; x++) {
            if (x < 0 || y < 0 || x >= grid->cols || y >= grid->rows || (x == col && y == row))
                continue;
            const mvf_block *block = layer + (ptrdiff_t)y * grid->cols + x;
            if (block->dir == own->dir && block->ref == own->ref)
                add(around, block);
        }
}

static mvf_vector median_of(const neighbourhood *around)
{
    int32_t best = INT32_MAX;
    mvf_vector median = around->vectors[0];
    for (int32_t i = 0; i < around->count; i++) {
        mvf_vector v = around->vectors[i];
        int32_t sum = 0;
        for (int32_t j = 0; j < around->count; j++)
            sum += abs(v.x - around->vectors[j].x) + abs(v.y - around->vectors[j].y);
        if (sum < best) {
            best = sum;
            median = v;
        }
    }
    return median;
}

static void smooth_layer(const mvf_grid *grid, mvf_block *blocks, const mvf_block *before)
{
    neighbourhood around;
    for (int32_t row = 0; row < grid->rows; row++)
        for (int32_t col = 0; col < grid->cols; col++, blocks++) {
            if (!blocks->dir)
                continue;
            gather(&around, grid, before, col, row);
            mvf_vector median = median_of(&around);
            if (median.x == blocks->mv_x && median.y == blocks->mv_y)
                continue;
            blocks->mv_x = median.x;
            blocks->mv_y = median.y;
            blocks->flags |= MVF_BLOCK_SMOOTHED;
        }
}

mvf_status mvf_field_smooth(mvf_field *field)
{
    size_t n = (size_t)field->grid.cols * (size_t)field->grid.rows;
    if (!field->n_blocks)
        return MVF_OK;
    if (!n || field->n_blocks % n)
        return MVF_ERROR_UNSUPPORTED;
    mvf_block *before = mvf_alloc_array(n, sizeof *before);
    if (!before)
        return MVF_ERROR_MEMORY;
    for (size_t first = 0; first < field->n_blocks; first += n) {
        memcpy(before, field->blocks + first, n * sizeof *before);
        smooth_layer(&field->grid, field->blocks + first, before);
    }
    free(before);
    return MVF_OK;
}
