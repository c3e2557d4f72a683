/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "search/truemotion_parts.h"

#define MAX_WINDOW ((2 * MVF_TM_MAX_RADIUS + 1) * (2 * MVF_TM_MAX_RADIUS + 1))

static const uint8_t weights_of[MVF_TM_N_WEIGHTS] = {MVF_TM_WEIGHTS};

/* Bisects between the smallest and the largest value, all lanes in step. */
void mvf_tm_median_c(int16_t *medians, const int16_t *values, ptrdiff_t stride, int32_t radius,
                     const int16_t *weights)
{
    int32_t side = 2 * radius + 1;
    for (int32_t lane = 0; lane < MVF_TM_LANES; lane++) {
        const int16_t *corner = values + lane - radius * stride - radius;
        int32_t total = 0, low = INT16_MAX, high = INT16_MIN;
        for (int32_t i = 0; i < side * side; i++) {
            int32_t value = corner[i / side * stride + i % side];
            total += weights[i * MVF_TM_LANES + lane];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        while (low < high) {
            int32_t middle = (low + high) >> 1, sum = 0;
            for (int32_t i = 0; i < side * side; i++)
                if (corner[i / side * stride + i % side] <= middle)
                    sum += weights[i * MVF_TM_LANES + lane];
            if (sum >= (total + 1) / 2)
                high = middle;
            else
                low = middle + 1;
        }
        medians[lane] = (int16_t)low;
    }
}

/* The weights of the windows of neighbouring cells, and whether a lane has any at all. */
static void weigh(int16_t *weights, int16_t *any, const mvf_tm_field *field, ptrdiff_t at,
                  int32_t radius)
{
    const uint8_t *own = field->guide + at;
    memset(any, 0, MVF_TM_LANES * sizeof *any);
    for (int32_t dy = -radius; dy <= radius; dy++)
        for (int32_t dx = -radius; dx <= radius; dx++, weights += MVF_TM_LANES) {
            const uint8_t *guide = own + dy * field->stride + dx;
            const uint8_t *visible = field->visible + at + dy * field->stride + dx;
            for (int32_t lane = 0; lane < MVF_TM_LANES; lane++) {
                weights[lane] = weights_of[abs(own[lane] - guide[lane])] & visible[lane];
                any[lane] |= weights[lane];
            }
        }
}

/* Makes the workspace's vectors the field's, row by row. */
static void take_vectors(const mvf_tm_workspace *work, mvf_tm_field *field)
{
    for (int32_t row = 0; row < field->rows; row++) {
        ptrdiff_t at = row * field->stride;
        memcpy(field->x + at, work->x + at, (size_t)field->cols * sizeof *field->x);
        memcpy(field->y + at, work->y + at, (size_t)field->cols * sizeof *field->y);
    }
}

void mvf_tm_median(const mvf_tm_workspace *work, mvf_tm_field *field, int32_t radius)
{
    int16_t weights[MAX_WINDOW * MVF_TM_LANES], any[MVF_TM_LANES];
    int16_t x[MVF_TM_LANES], y[MVF_TM_LANES];
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col += MVF_TM_LANES) {
            ptrdiff_t at = row * field->stride + col;
            weigh(weights, any, field, at, radius);
            work->kernels.median(x, field->x + at, field->stride, radius, weights);
            work->kernels.median(y, field->y + at, field->stride, radius, weights);
            for (int32_t lane = 0; lane < MVF_TM_LANES && col + lane < field->cols; lane++) {
                work->x[at + lane] = any[lane] ? x[lane] : field->x[at + lane];
                work->y[at + lane] = any[lane] ? y[lane] : field->y[at + lane];
            }
        }
    take_vectors(work, field);
}

static int16_t mean_of(int32_t own, int32_t sum, int32_t weight)
{
    return (int16_t)(own + mvf_tm_divide(2 * sum + weight, 2 * weight));
}

static void mean_cell(const mvf_tm_workspace *work, const mvf_tm_field *field, ptrdiff_t at)
{
    int32_t own_x = field->x[at], own_y = field->y[at], guide = field->guide[at];
    int32_t weight = 0, sum_x = 0, sum_y = 0;
    for (int32_t dy = -MVF_TM_MEAN_RADIUS; dy <= MVF_TM_MEAN_RADIUS; dy++)
        for (int32_t dx = -MVF_TM_MEAN_RADIUS; dx <= MVF_TM_MEAN_RADIUS; dx++) {
            ptrdiff_t other = at + dy * field->stride + dx;
            int32_t x = field->x[other] - own_x, y = field->y[other] - own_y;
            if (abs(x) + abs(y) > MVF_TM_MEAN_REACH || !(field->visible[other] || other == at))
                continue;
            int32_t w = weights_of[abs(guide - field->guide[other])];
            weight += w;
            sum_x += w * x;
            sum_y += w * y;
        }
    work->x[at] = mean_of(own_x, sum_x, weight);
    work->y[at] = mean_of(own_y, sum_y, weight);
}

void mvf_tm_mean(const mvf_tm_workspace *work, mvf_tm_field *field)
{
    for (int32_t row = 0; row < field->rows; row++)
        for (int32_t col = 0; col < field->cols; col++)
            mean_cell(work, field, row * field->stride + col);
    take_vectors(work, field);
}
