/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/analysis.h>

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* Farther from the median than this a vector is not part of the global motion. */
#define NEAR_PX 2.0

static int compare_int16(const void *a, const void *b)
{
    return *(const int16_t *)a - *(const int16_t *)b;
}

static double median(int16_t *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_int16);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0;
}

static int chosen_direction(const mvf_field *field)
{
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir < 0)
            return -1;
    return 1;
}

static void take_medians(const mvf_field *field, int dir, int16_t *values,
                         mvf_global_motion *motion)
{
    for (int axis = 0; axis < 2; axis++) {
        size_t n = 0;
        for (size_t i = 0; i < field->n_blocks; i++)
            if (field->blocks[i].dir == dir)
                values[n++] = axis ? field->blocks[i].mv_y : field->blocks[i].mv_x;
        motion->n_vectors = n;
        if (n)
            *(axis ? &motion->median_y : &motion->median_x) = median(values, n) / field->mv_scale;
    }
}

static void take_near_mean(const mvf_field *field, int dir, mvf_global_motion *motion)
{
    double sum_x = 0, sum_y = 0;
    size_t n = 0;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        double x = (double)block->mv_x / field->mv_scale, y = (double)block->mv_y / field->mv_scale;
        if (block->dir != dir || hypot(x - motion->median_x, y - motion->median_y) > NEAR_PX)
            continue;
        sum_x += x;
        sum_y += y;
        n++;
    }
    motion->support = (double)n / (double)motion->n_vectors;
    motion->x = n ? sum_x / (double)n : motion->median_x;
    motion->y = n ? sum_y / (double)n : motion->median_y;
}

mvf_status mvf_field_estimate_global(const mvf_field *field, mvf_global_motion *motion)
{
    *motion = (mvf_global_motion){.n_vectors = 0};
    int16_t *values = mvf_alloc_array(field->n_blocks, sizeof *values);
    if (!values)
        return MVF_ERROR_MEMORY;
    int dir = chosen_direction(field);
    take_medians(field, dir, values, motion);
    if (motion->n_vectors)
        take_near_mean(field, dir, motion);
    free(values);
    return MVF_OK;
}
