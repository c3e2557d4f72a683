/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "search/truemotion_parts.h"

static int sees(const mvf_tm_field *backward, const mvf_tm_level *level, int32_t col, int32_t row,
                int32_t vx, int32_t vy)
{
    int32_t g = backward->cell_px;
    int32_t x = 16 * g * col + 8 * (g - 1) + vx, y = 16 * g * row + 8 * (g - 1) + vy;
    if (x < 0 || y < 0 || x > 16 * (level->width - 1) || y > 16 * (level->height - 1))
        return 0;
    ptrdiff_t at = ((y + 8) >> 4) / g * backward->stride + ((x + 8) >> 4) / g;
    return abs(vx + backward->x[at]) + abs(vy + backward->y[at]) <= MVF_TM_DISAGREEMENT;
}

void mvf_tm_check(mvf_tm_field *forward, const mvf_tm_field *backward, const mvf_tm_level *level)
{
    for (int32_t row = 0; row < forward->rows; row++)
        for (int32_t col = 0; col < forward->cols; col++) {
            ptrdiff_t at = row * forward->stride + col;
            if (!sees(backward, level, col, row, forward->x[at], forward->y[at]))
                forward->visible[at] = 0;
        }
}

static int32_t texture(const mvf_tm_level *level, int32_t x, int32_t y)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < MVF_TM_WINDOW * MVF_TM_WINDOW; i++) {
        int32_t dx = i % MVF_TM_WINDOW, dy = i / MVF_TM_WINDOW;
        const mvf_tm_features *row =
            level->phase[0] + (y + dy) * (level->stride_bytes / (ptrdiff_t)sizeof *row);
        if (!((dx + dy) & 1))
            sum += abs((int32_t)(row[x + dx] >> 8 & 255) - 128) +
                   abs((int32_t)(row[x + dx] >> 16 & 255) - 128);
    }
    return sum;
}

static void add_rival(mvf_tm_candidates *list, int32_t x, int32_t y)
{
    if (abs(x - list->x[0]) + abs(y - list->y[0]) < MVF_TM_RIVAL_DISTANCE)
        return;
    list->x[list->count] = (int16_t)x;
    list->y[list->count++] = (int16_t)y;
}

/* The cell's own vector and those that it must beat. */
static void gather_rivals(mvf_tm_candidates *list, const mvf_tm_field *field, int32_t col,
                          int32_t row)
{
    ptrdiff_t at = row * field->stride + col;
    *list = (mvf_tm_candidates){1, {field->x[at]}, {field->y[at]}, {0}};
    for (int32_t i = 0; i < 9; i++) {
        int32_t dx = i % 3 - 1, dy = i / 3 - 1;
        int32_t c = mvf_tm_clamp(col + dx * MVF_TM_RIVAL_REACH, 0, field->cols - 1);
        int32_t r = mvf_tm_clamp(row + dy * MVF_TM_RIVAL_REACH, 0, field->rows - 1);
        add_rival(list, field->x[at] + dx * MVF_TM_UNIT, field->y[at] + dy * MVF_TM_UNIT);
        add_rival(list, field->x[r * field->stride + c], field->y[r * field->stride + c]);
    }
}

static int32_t smallest_rival(const mvf_tm_candidates *list)
{
    int32_t best = INT32_MAX;
    for (int32_t i = 1; i < list->count; i++)
        best = list->cost[i] < best ? list->cost[i] : best;
    return best;
}

static uint8_t confidence(int32_t cost, int32_t rival, int32_t occluded)
{
    if (occluded || rival <= cost)
        return 0;
    return (uint8_t)(255 * (rival - cost) / (rival + MVF_TM_CONFIDENCE_COST));
}

void mvf_tm_rate(const mvf_tm_workspace *work, const mvf_tm_field *field,
                 const mvf_tm_level *current, const mvf_tm_level *reference, mvf_tm_match *matches)
{
    mvf_tm_candidates list;
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col++, matches++) {
            int32_t px = col * field->cell_px, py = row * field->cell_px;
            int32_t occluded = !field->visible[row * field->stride + col];
            gather_rivals(&list, field, col, row);
            work->kernels.cost(&list, current, reference, px, py, MVF_TM_PATTERN_8);
            matches->cost = (uint16_t)list.cost[0];
            matches->confidence = confidence(list.cost[0], smallest_rival(&list), occluded);
            matches->flags = occluded ? MVF_TM_OCCLUDED : 0;
            if (texture(current, px, py) < MVF_TM_FLAT_TEXTURE)
                matches->flags |= MVF_TM_FLAT;
        }
}
