/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "search/truemotion_parts.h"

static const uint8_t near_weights[MVF_TM_N_NEAR_WEIGHTS] = {MVF_TM_NEAR_WEIGHTS};

static uint8_t cell_luma(const mvf_tm_level *level, int32_t x, int32_t y, int32_t cell_px)
{
    int32_t sum = 0, n = cell_px * cell_px;
    for (int32_t dy = 0; dy < cell_px; dy++)
        for (int32_t dx = 0; dx < cell_px; dx++) {
            int32_t in_x = mvf_tm_clamp(x + dx, 0, level->width - 1);
            int32_t in_y = mvf_tm_clamp(y + dy, 0, level->height - 1);
            sum += level->luma[(ptrdiff_t)in_y * level->width + in_x];
        }
    return (uint8_t)((sum + n / 2) / n);
}

mvf_status mvf_tm_field_alloc(mvf_tm_field *field, const mvf_tm_level *level, int32_t cell_px)
{
    *field = (mvf_tm_field){.cols = (level->width + cell_px - 1) / cell_px,
                            .rows = (level->height + cell_px - 1) / cell_px,
                            .cell_px = cell_px};
    field->stride = field->cols + 2 * MVF_TM_MAX_RADIUS + MVF_TM_LANES;
    size_t n = mvf_tm_field_cells(field);
    field->memory = mvf_alloc_array(n, 2 * sizeof *field->x + 2);
    if (!field->memory)
        return MVF_ERROR_MEMORY;
    ptrdiff_t origin = MVF_TM_MAX_RADIUS * field->stride + MVF_TM_MAX_RADIUS;
    field->x = (int16_t *)field->memory + origin;
    field->y = field->x + n;
    field->guide = (uint8_t *)((int16_t *)field->memory + 2 * n) + origin;
    field->visible = field->guide + n;
    for (int32_t row = 0; row < field->rows; row++) {
        memset(field->visible + row * field->stride, 255, (size_t)field->cols);
        for (int32_t col = 0; col < field->cols; col++)
            field->guide[row * field->stride + col] =
                cell_luma(level, col * cell_px, row * cell_px, cell_px);
    }
    return MVF_OK;
}

void mvf_tm_field_free(mvf_tm_field *field)
{
    free(field->memory);
    field->memory = NULL;
}

void mvf_tm_descend(mvf_tm_field *fine, const mvf_tm_field *coarse, int32_t scale)
{
    /* From 2x2 px of level 1 to 4x4 px of level 0 the grid stays the same. */
    int32_t shift = scale == 2 && fine->cell_px == 2 * coarse->cell_px ? 0 : 1;
    for (int32_t row = 0; row < fine->rows; row++)
        for (int32_t col = 0; col < fine->cols; col++) {
            ptrdiff_t from = (row >> shift) * coarse->stride + (col >> shift);
            ptrdiff_t to = row * fine->stride + col;
            fine->x[to] = (int16_t)(mvf_tm_clamp(scale * coarse->x[from], -MVF_TM_MAX_VECTOR,
                                                 MVF_TM_MAX_VECTOR));
            fine->y[to] = (int16_t)(mvf_tm_clamp(scale * coarse->y[from], -MVF_TM_MAX_VECTOR,
                                                 MVF_TM_MAX_VECTOR));
            if (scale == 1)
                fine->visible[to] = coarse->visible[from];
        }
}

static void interpolate_pixel(mvf_tm_match *match, const mvf_tm_field *field, int32_t x, int32_t y,
                              int32_t luma)
{
    int32_t g = field->cell_px, weight = 0, sum_x = 0, sum_y = 0;
    int32_t first_col = mvf_tm_divide(2 * x + 1 - g, 2 * g);
    int32_t first_row = mvf_tm_divide(2 * y + 1 - g, 2 * g);
    for (int32_t row = first_row; row < first_row + 2; row++)
        for (int32_t col = first_col; col < first_col + 2; col++) {
            if (row < 0 || col < 0 || row >= field->rows || col >= field->cols)
                continue;
            ptrdiff_t at = row * field->stride + col;
            int32_t shade = abs(luma - field->guide[at]);
            int32_t w =
                (2 * g - abs(2 * x + 1 - (2 * col + 1) * g)) *
                (2 * g - abs(2 * y + 1 - (2 * row + 1) * g)) *
                near_weights[shade < MVF_TM_N_NEAR_WEIGHTS ? shade : MVF_TM_N_NEAR_WEIGHTS - 1];
            weight += w;
            sum_x += w * field->x[at];
            sum_y += w * field->y[at];
        }
    match->x = (int16_t)mvf_tm_divide(2 * sum_x + weight, 2 * weight);
    match->y = (int16_t)mvf_tm_divide(2 * sum_y + weight, 2 * weight);
}

void mvf_tm_interpolate(mvf_tm_match *matches, const mvf_tm_field *field, const mvf_tm_level *level)
{
    const uint8_t *luma = level->luma;
    for (int32_t y = 0; y < level->height; y++)
        for (int32_t x = 0; x < level->width; x++)
            interpolate_pixel(matches++, field, x, y, *luma++);
}
