/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/truemotion.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "search/truemotion_parts.h"

const mvf_tm_schedule mvf_tm_schedules[] = {
    [MVF_EFFORT_HIGH] = {MVF_TM_PATTERN_8, 1, 3, 1},
    [MVF_EFFORT_LOW] = {MVF_TM_PATTERN_4, 0, 2, 0},
};

struct mvf_tm_pair {
    const mvf_tm_schedule *plan;
    const mvf_tm_image *current, *reference;
    int32_t step_px;
    mvf_tm_kernels kernels;
    /* By direction. */
    mvf_tm_field flows[2];
};

/* Passes under way. */
typedef struct search {
    const mvf_tm_schedule *plan;
    mvf_tm_workspace work;
    int32_t n_passes;
} search;

static void close_search(search *s)
{
    mvf_free_aligned(s->work.labels);
    mvf_free_aligned(s->work.sums);
    mvf_free_aligned(s->work.x);
    mvf_free_aligned(s->work.y);
}

/* With memory for cells of `cell_px` on level 0. */
static mvf_status open_search(search *s, const mvf_tm_pair *pair, int32_t cell_px)
{
    mvf_tm_field largest;
    MVF_TRY(mvf_tm_field_alloc(&largest, &pair->current->levels[0], cell_px));
    size_t n = (size_t)largest.cols * (size_t)largest.rows;
    size_t n_plane = mvf_tm_field_cells(&largest);
    mvf_tm_field_free(&largest);
    *s = (search){.plan = pair->plan, .work = {.kernels = pair->kernels}};
    s->work.labels = mvf_alloc_aligned(n, sizeof *s->work.labels);
    s->work.sums = mvf_alloc_aligned(n, MVF_TM_PLACES * sizeof *s->work.sums);
    s->work.x = mvf_alloc_aligned(n_plane, sizeof *s->work.x);
    s->work.y = mvf_alloc_aligned(n_plane, sizeof *s->work.y);
    if (s->work.labels && s->work.sums && s->work.x && s->work.y)
        return MVF_OK;
    close_search(s);
    return MVF_ERROR_MEMORY;
}

static void choose(search *s, mvf_tm_field *field, int32_t penalty_max)
{
    int32_t turn = s->n_passes++ & 1;
    mvf_tm_choose(&s->work, field, s->plan->both_axes || !turn, s->plan->both_axes || turn,
                  penalty_max);
}

static void run_pass(search *s, mvf_tm_field *field, const mvf_tm_level *current,
                     const mvf_tm_level *reference, const mvf_tm_pass *pass)
{
    mvf_tm_label_pass(&s->work, field, current, reference, pass);
    choose(s, field, pass->penalty_max);
}

static void search_coarse(search *s, mvf_tm_field *field, const mvf_tm_level *current,
                          const mvf_tm_level *reference)
{
    mvf_tm_pass pass = {
        s->plan->coarse_pattern, MVF_TM_HALF, 3, {1, 3, 8}, MVF_TM_COARSE_PENALTY_MAX};
    for (; pass.log2_step >= MVF_TM_QUARTER; pass.log2_step--) {
        run_pass(s, field, current, reference, &pass);
        mvf_tm_median(&s->work, field, 2);
    }
}

static void search_finest(search *s, mvf_tm_field *field, const mvf_tm_level *current,
                          const mvf_tm_level *reference)
{
    mvf_tm_pass pass = {MVF_TM_PATTERN_8, MVF_TM_QUARTER, 3, {1, 3, 8}, MVF_TM_PENALTY_MAX};
    for (int32_t i = 0; i < s->plan->n_fine; i++, pass.log2_step = MVF_TM_EIGHTH)
        run_pass(s, field, current, reference, &pass);
}

/* From the top level down to cells of 4x4 px. */
static mvf_status find_flow(search *s, mvf_tm_field *field, const mvf_tm_image *from,
                            const mvf_tm_image *to)
{
    for (int32_t i = from->n_levels - 1; i >= 0; i--) {
        const mvf_tm_level *current = &from->levels[i], *reference = &to->levels[i];
        mvf_tm_field coarse = *field;
        mvf_status status =
            mvf_tm_field_alloc(field, current, i ? MVF_TM_COARSE_CELL_PX : MVF_TM_CELL_PX);
        if (status == MVF_OK && coarse.memory)
            mvf_tm_descend(field, &coarse, 2);
        mvf_tm_field_free(&coarse);
        MVF_TRY(status);
        if (i == from->n_levels - 1) {
            mvf_tm_label_top(&s->work, field, current, reference, s->plan->coarse_pattern);
            choose(s, field, MVF_TM_COARSE_PENALTY_MAX);
        }
        if (i)
            search_coarse(s, field, current, reference);
        else
            search_finest(s, field, current, reference);
    }
    return MVF_OK;
}

/* Splits cells into four and moves each once more. */
static mvf_status refine(search *s, mvf_tm_field *field, const mvf_tm_level *current,
                         const mvf_tm_level *reference)
{
    const mvf_tm_pass pass = {MVF_TM_PATTERN_8, MVF_TM_EIGHTH, 1, {2}, MVF_TM_PENALTY_MAX};
    mvf_tm_field fine;
    MVF_TRY(mvf_tm_field_alloc(&fine, current, MVF_TM_CELL_PX / 2));
    mvf_tm_descend(&fine, field, 1);
    mvf_tm_field_free(field);
    *field = fine;
    run_pass(s, field, current, reference, &pass);
    mvf_tm_median(&s->work, field, MVF_TM_MAX_RADIUS);
    return MVF_OK;
}

/* Spreads what is known of 4x4 cells over their pixels. */
static void spread(mvf_tm_match *matches, const mvf_tm_match *cells, const mvf_tm_level *level)
{
    int32_t cols = (level->width + MVF_TM_CELL_PX - 1) / MVF_TM_CELL_PX;
    for (int32_t y = 0; y < level->height; y++)
        for (int32_t x = 0; x < level->width; x++)
            *matches++ = cells[(ptrdiff_t)(y / MVF_TM_CELL_PX) * cols + x / MVF_TM_CELL_PX];
}

static mvf_status match_pixels(search *s, mvf_tm_field *field, const mvf_tm_level *current,
                               const mvf_tm_level *reference, mvf_tm_match *matches)
{
    size_t n = (size_t)field->cols * (size_t)field->rows;
    mvf_tm_match *cells = mvf_alloc_array(n, sizeof *cells);
    if (!cells)
        return MVF_ERROR_MEMORY;
    mvf_tm_rate(&s->work, field, current, reference, cells);
    spread(matches, cells, current);
    free(cells);
    if (s->plan->refines)
        MVF_TRY(refine(s, field, current, reference));
    mvf_tm_mean(&s->work, field);
    mvf_tm_interpolate(matches, field, current);
    return MVF_OK;
}

static void match_cells(search *s, mvf_tm_field *field, const mvf_tm_level *current,
                        const mvf_tm_level *reference, mvf_tm_match *matches)
{
    mvf_tm_rate(&s->work, field, current, reference, matches);
    mvf_tm_mean(&s->work, field);
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col++, matches++) {
            matches->x = field->x[row * field->stride + col];
            matches->y = field->y[row * field->stride + col];
        }
}

mvf_status mvf_tm_pair_open(mvf_tm_pair **out, const mvf_tm_image *current,
                            const mvf_tm_image *reference, mvf_effort effort, int32_t step_px,
                            mvf_cpu_level level)
{
    mvf_tm_pair *pair = mvf_alloc_array(1, sizeof *pair);
    *out = pair;
    if (!pair)
        return MVF_ERROR_MEMORY;
    *pair =
        (mvf_tm_pair){&mvf_tm_schedules[effort], current, reference, step_px, {NULL, NULL, NULL},
                      {{.cols = 0}, {.cols = 0}}};
    mvf_tm_kernels_init(&pair->kernels, level);
    return MVF_OK;
}

void mvf_tm_pair_close(mvf_tm_pair **slot)
{
    mvf_tm_pair *pair = *slot;
    if (!pair)
        return;
    mvf_tm_field_free(&pair->flows[MVF_TM_FORWARD]);
    mvf_tm_field_free(&pair->flows[MVF_TM_BACKWARD]);
    free(pair);
    *slot = NULL;
}

mvf_status mvf_tm_pair_find_flow(mvf_tm_pair *pair, mvf_tm_direction direction)
{
    search s;
    MVF_TRY(open_search(&s, pair, MVF_TM_CELL_PX));
    mvf_status status =
        direction == MVF_TM_FORWARD
            ? find_flow(&s, &pair->flows[direction], pair->current, pair->reference)
            : find_flow(&s, &pair->flows[direction], pair->reference, pair->current);
    close_search(&s);
    return status;
}

mvf_status mvf_tm_pair_match(mvf_tm_pair *pair, mvf_tm_match *matches)
{
    const mvf_tm_level *level = &pair->current->levels[0], *other = &pair->reference->levels[0];
    mvf_tm_field *forward = &pair->flows[MVF_TM_FORWARD];
    mvf_status status = MVF_OK;
    search s;
    MVF_TRY(open_search(
        &s, pair, pair->step_px == 1 && pair->plan->refines ? MVF_TM_CELL_PX / 2 : MVF_TM_CELL_PX));
    mvf_tm_check(forward, &pair->flows[MVF_TM_BACKWARD], level);
    mvf_tm_median(&s.work, forward, 2);
    if (pair->step_px == 1)
        status = match_pixels(&s, forward, level, other, matches);
    else
        match_cells(&s, forward, level, other, matches);
    close_search(&s);
    return status;
}
