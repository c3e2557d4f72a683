/* SPDX-License-Identifier: BSD-2-Clause */
#include "field/check.h"

#include <inttypes.h>
#include <stdio.h>

size_t mvf_grid_cells(const mvf_grid *grid)
{
    return grid->cols > 0 && grid->rows > 0 ? (size_t)grid->cols * (size_t)grid->rows : 0;
}

/* Steps that cover [0, size): as many as there are block origins. */
static int32_t count_steps(int32_t size, int32_t step)
{
    return size / step + (size % step != 0);
}

static const char *find_grid_fault(const mvf_field *field, char *text, size_t size)
{
    const mvf_grid *grid = &field->grid;
    if (!grid->cols && !grid->rows)
        return NULL;
    if (grid->cols <= 0 || grid->rows <= 0 || grid->block_w <= 0 || grid->block_h <= 0 ||
        grid->step_x <= 0 || grid->step_y <= 0 || grid->block_w > UINT16_MAX ||
        grid->block_h > UINT16_MAX || grid->step_x > UINT16_MAX || grid->step_y > UINT16_MAX)
        snprintf(text, size,
                 "its grid has %" PRId32 " x %" PRId32 " blocks of %" PRId32 " x %" PRId32
                 " px, %" PRId32 " x %" PRId32 " px apart",
                 grid->cols, grid->rows, grid->block_w, grid->block_h, grid->step_x, grid->step_y);
    else if (grid->cols != count_steps(field->width, grid->step_x) ||
             grid->rows != count_steps(field->height, grid->step_y))
        snprintf(text, size,
                 "its grid of %" PRId32 " x %" PRId32 " blocks, %" PRId32 " x %" PRId32
                 " px apart, does not belong to %" PRId32 " x %" PRId32 " px",
                 grid->cols, grid->rows, grid->step_x, grid->step_y, field->width, field->height);
    else if (field->n_blocks % mvf_grid_cells(grid))
        snprintf(text, size, "it has %zu blocks on a grid of %" PRId32 " x %" PRId32,
                 field->n_blocks, grid->cols, grid->rows);
    else
        return NULL;
    return text;
}

static const char *find_block_fault(const mvf_field *field, char *text, size_t size)
{
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        int known = block->ref >= 0 && (size_t)block->ref < field->n_references;
        if (block->dir >= -1 && block->dir <= 1 && (known || block->ref == -1))
            continue;
        snprintf(text, size, "block %zu has direction %d and reference %d of %zu", i, block->dir,
                 block->ref, field->n_references);
        return text;
    }
    return NULL;
}

const char *mvf_field_find_fault(const mvf_field *field, char *text, size_t size)
{
    if (field->n_blocks && (field->mv_scale < 1 || field->mv_scale > MVF_MAX_MV_SCALE ||
                            (field->mv_scale & (field->mv_scale - 1))))
        snprintf(text, size, "its mv_scale is %" PRId32 ", not a power of two up to %d",
                 field->mv_scale, MVF_MAX_MV_SCALE);
    else if (field->width < 0 || field->height < 0)
        snprintf(text, size, "its size is %" PRId32 " x %" PRId32 " px", field->width,
                 field->height);
    else if (field->n_references > INT16_MAX)
        snprintf(text, size, "it has %zu references", field->n_references);
    else if (find_grid_fault(field, text, size) || find_block_fault(field, text, size))
        return text;
    else
        return NULL;
    return text;
}
