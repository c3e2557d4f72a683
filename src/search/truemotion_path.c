/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "search/truemotion_parts.h"

static int32_t smallest(const int16_t *values)
{
    int32_t best = values[0];
    for (int32_t i = 1; i < MVF_TM_PLACES; i++)
        best = values[i] < best ? values[i] : best;
    return best;
}

/* One cell further: `path` holds L of the cell before, and then of this one. */
static void step_path(int16_t *path, const mvf_tm_labels *from, const mvf_tm_labels *to,
                      int32_t penalty_max)
{
    int16_t next[MVF_TM_PLACES];
    int32_t floor = smallest(path);
    for (int32_t k = 0; k < MVF_TM_PLACES; k++) {
        int32_t best = INT16_MAX;
        for (int32_t j = 0; j < MVF_TM_LABELS; j++) {
            int32_t penalty =
                MVF_TM_PENALTY_SLOPE * (abs(to->x[k] - from->x[j]) + abs(to->y[k] - from->y[j]));
            int32_t sum = path[j] + (penalty < penalty_max ? penalty : penalty_max);
            best = sum < best ? sum : best;
        }
        next[k] = (int16_t)(to->cost[k] + best - floor);
    }
    memcpy(path, next, sizeof next);
}

void mvf_tm_path_c(const mvf_tm_labels *cells, int16_t *sums, ptrdiff_t step, int32_t n,
                   int32_t penalty_max)
{
    int16_t path[MVF_TM_PLACES];
    memcpy(path, cells->cost, sizeof path);
    for (int32_t i = 0; i < n; i++) {
        if (i)
            step_path(path, cells + (i - 1) * step, cells + i * step, penalty_max);
        for (int32_t k = 0; k < MVF_TM_PLACES; k++)
            sums[i * step * MVF_TM_PLACES + k] += path[k];
    }
}

static void both_senses(const mvf_tm_workspace *work, ptrdiff_t first, ptrdiff_t step, int32_t n,
                        int32_t penalty_max)
{
    ptrdiff_t last = first + (n - 1) * step;
    work->kernels.path(work->labels + first, work->sums + first * MVF_TM_PLACES, step, n,
                       penalty_max);
    work->kernels.path(work->labels + last, work->sums + last * MVF_TM_PLACES, -step, n,
                       penalty_max);
}

void mvf_tm_choose(const mvf_tm_workspace *work, mvf_tm_field *field, int32_t rows, int32_t columns,
                   int32_t penalty_max)
{
    ptrdiff_t n = (ptrdiff_t)field->cols * field->rows;
    memset(work->sums, 0, (size_t)n * MVF_TM_PLACES * sizeof *work->sums);
    for (int32_t row = 0; rows && row < field->rows; row++)
        both_senses(work, (ptrdiff_t)row * field->cols, 1, field->cols, penalty_max);
    for (int32_t col = 0; columns && col < field->cols; col++)
        both_senses(work, col, field->cols, field->rows, penalty_max);

    const mvf_tm_labels *labels = work->labels;
    const int16_t *sums = work->sums;
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col++, labels++, sums += MVF_TM_PLACES) {
            int32_t best = 0;
            for (int32_t k = 1; k < MVF_TM_LABELS; k++)
                best = sums[k] < sums[best] ? k : best;
            field->x[row * field->stride + col] = labels->x[best];
            field->y[row * field->stride + col] = labels->y[best];
        }
}
