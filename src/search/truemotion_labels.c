/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "search/truemotion_parts.h"

#define N_NEIGHBOURS 8
static const int8_t neighbour_x[N_NEIGHBOURS] = {-1, 0, 1, -1, 1, -1, 0, 1};
static const int8_t neighbour_y[N_NEIGHBOURS] = {-1, -1, -1, 0, 0, 1, 1, 1};

static void add(mvf_tm_candidates *list, int32_t x, int32_t y)
{
    list->x[list->count] = (int16_t)mvf_tm_clamp(x, -MVF_TM_MAX_VECTOR, MVF_TM_MAX_VECTOR);
    list->y[list->count] = (int16_t)mvf_tm_clamp(y, -MVF_TM_MAX_VECTOR, MVF_TM_MAX_VECTOR);
    list->count++;
}

/* Adds a vector of another cell unless one much like it is in the list. Keys are vectors in whole
 * steps from the own one: the first nine candidates hold all keys within one step. */
static void add_distinct(mvf_tm_candidates *list, int32_t *keys, int32_t x, int32_t y,
                         int32_t log2_step)
{
    int32_t half = 1 << log2_step >> 1;
    int32_t key_x = (x - list->x[0] + half) >> log2_step;
    int32_t key_y = (y - list->y[0] + half) >> log2_step;
    if ((uint32_t)(key_x + 1) <= 2 && (uint32_t)(key_y + 1) <= 2)
        return;
    int32_t key = key_x * 65536 + key_y;
    for (int32_t i = 1 + N_NEIGHBOURS; i < list->count; i++)
        if (keys[i] == key)
            return;
    keys[list->count] = key;
    add(list, x, y);
}

/* Where a pass looks for vectors, as places relative to the cell. */
typedef struct neighbourhood {
    int32_t count;
    ptrdiff_t places[N_NEIGHBOURS * MVF_TM_MAX_REACHES];
} neighbourhood;

static void find_places(neighbourhood *around, const mvf_tm_field *field, int32_t col, int32_t row,
                        const mvf_tm_pass *pass)
{
    around->count = 0;
    for (int32_t r = 0; r < pass->n_reaches; r++)
        for (int32_t i = 0; i < N_NEIGHBOURS; i++) {
            int32_t x = mvf_tm_clamp(col + pass->reaches[r] * neighbour_x[i], 0, field->cols - 1);
            int32_t y = mvf_tm_clamp(row + pass->reaches[r] * neighbour_y[i], 0, field->rows - 1);
            around->places[around->count++] = (y - row) * field->stride + x - col;
        }
}

/* Whether all places are in the grid: then they are the same for all such cells. */
static int is_inner(const mvf_tm_field *field, int32_t col, int32_t row, int32_t reach)
{
    return col >= reach && row >= reach && col + reach < field->cols && row + reach < field->rows;
}

static void gather(mvf_tm_candidates *list, const mvf_tm_field *field, ptrdiff_t at,
                   const neighbourhood *around, int32_t log2_step)
{
    int32_t keys[MVF_TM_MAX_CANDIDATES];
    list->count = 0;
    add(list, field->x[at], field->y[at]);
    for (int32_t i = 0; i < N_NEIGHBOURS; i++)
        add(list, field->x[at] + neighbour_x[i] * (1 << log2_step),
            field->y[at] + neighbour_y[i] * (1 << log2_step));
    for (int32_t i = 0; i < around->count; i++) {
        ptrdiff_t other = at + around->places[i];
        add_distinct(list, keys, field->x[other], field->y[other], log2_step);
    }
}

static void gather_top(mvf_tm_candidates *list)
{
    list->count = 0;
    add(list, 0, 0);
    for (int32_t y = -MVF_TM_TOP_RANGE_PX; y <= MVF_TM_TOP_RANGE_PX; y++)
        for (int32_t x = -MVF_TM_TOP_RANGE_PX; x <= MVF_TM_TOP_RANGE_PX; x++)
            if (x || y)
                add(list, x * MVF_TM_UNIT, y * MVF_TM_UNIT);
}

/* Puts a candidate among the labels after the first, which are sorted by cost. */
static void insert(mvf_tm_labels *labels, int32_t *count, int32_t x, int32_t y, int32_t cost)
{
    int32_t place = *count;
    if (place == MVF_TM_LABELS) {
        if (cost >= labels->cost[--place])
            return;
    } else {
        ++*count;
    }
    for (; place > 1 && labels->cost[place - 1] > cost; place--) {
        labels->cost[place] = labels->cost[place - 1];
        labels->x[place] = labels->x[place - 1];
        labels->y[place] = labels->y[place - 1];
    }
    labels->cost[place] = (int16_t)cost;
    labels->x[place] = (int16_t)x;
    labels->y[place] = (int16_t)y;
}

static void keep_best(mvf_tm_labels *labels, const mvf_tm_candidates *list)
{
    int32_t count = 1;
    for (int32_t i = 0; i < MVF_TM_PLACES; i++) {
        labels->x[i] = list->x[0];
        labels->y[i] = list->y[0];
        labels->cost[i] = MVF_TM_NO_LABEL;
    }
    labels->cost[0] = list->cost[0];
    for (int32_t i = 1; i < list->count; i++)
        insert(labels, &count, list->x[i], list->y[i], list->cost[i]);
}

void mvf_tm_label_top(const mvf_tm_workspace *work, const mvf_tm_field *field,
                      const mvf_tm_level *current, const mvf_tm_level *reference,
                      mvf_tm_pattern pattern)
{
    int32_t offset = (MVF_TM_WINDOW - field->cell_px) / 2;
    mvf_tm_labels *labels = work->labels;
    mvf_tm_candidates list;
    gather_top(&list);
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col++) {
            work->kernels.cost(&list, current, reference, col * field->cell_px - offset,
                               row * field->cell_px - offset, pattern);
            keep_best(labels++, &list);
        }
}

void mvf_tm_label_pass(const mvf_tm_workspace *work, const mvf_tm_field *field,
                       const mvf_tm_level *current, const mvf_tm_level *reference,
                       const mvf_tm_pass *pass)
{
    int32_t offset = (MVF_TM_WINDOW - field->cell_px) / 2;
    int32_t reach = pass->reaches[pass->n_reaches - 1], have_inner = 0;
    mvf_tm_labels *labels = work->labels;
    neighbourhood inner, outer;
    mvf_tm_candidates list;
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col++) {
            int is_in = is_inner(field, col, row, reach);
            if (!is_in)
                find_places(&outer, field, col, row, pass);
            else if (!have_inner)
                find_places(&inner, field, col, row, pass);
            have_inner |= is_in;
            gather(&list, field, row * field->stride + col, is_in ? &inner : &outer,
                   pass->log2_step);
            work->kernels.cost(&list, current, reference, col * field->cell_px - offset,
                               row * field->cell_px - offset, pass->pattern);
            keep_best(labels++, &list);
        }
}
