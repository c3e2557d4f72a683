/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/cpu.h"
#include "search/truemotion_parts.h"

/* The two half samples around a position in one direction, and the second one's weight of 8. */
typedef struct taps {
    int32_t phase[2], whole[2];
    int32_t weight;
} taps;

static taps taps_at(int32_t position, int32_t vector, int32_t end)
{
    int32_t fraction = vector & (MVF_TM_UNIT - 1), half = fraction >> 3;
    int32_t whole =
        mvf_tm_clamp(position + (vector >> 4), MVF_TM_WINDOW_MIN, end + MVF_TM_WINDOW_PAST_END);
    return (taps){{half, half ^ 1}, {whole, whole + half}, fraction & 7};
}

static int32_t channel(mvf_tm_features features, int32_t index)
{
    return (int32_t)(features >> 8 * index & 255);
}

static mvf_tm_features sample(const mvf_tm_level *level, const taps *x, const taps *y, int32_t i,
                              int32_t j, int32_t dx, int32_t dy)
{
    ptrdiff_t stride = level->stride_bytes / (ptrdiff_t)sizeof(mvf_tm_features);
    const mvf_tm_features *plane = level->phase[2 * y->phase[j] + x->phase[i]];
    return plane[(y->whole[j] + dy) * stride + x->whole[i] + dx];
}

static int32_t pixel_cost(mvf_tm_features current, const mvf_tm_level *reference, const taps *x,
                          const taps *y, int32_t dx, int32_t dy)
{
    mvf_tm_features a = sample(reference, x, y, 0, 0, dx, dy);
    mvf_tm_features b = sample(reference, x, y, 1, 0, dx, dy);
    mvf_tm_features c = sample(reference, x, y, 0, 1, dx, dy);
    mvf_tm_features d = sample(reference, x, y, 1, 1, dx, dy);
    int32_t sum = 0;
    for (int32_t i = 0; i < 3; i++) {
        int32_t above = channel(a, i) * (8 - x->weight) + channel(b, i) * x->weight;
        int32_t below = channel(c, i) * (8 - x->weight) + channel(d, i) * x->weight;
        int32_t value = (above * (8 - y->weight) + below * y->weight + 32) >> 6;
        sum += abs(channel(current, i) - value);
    }
    return sum < MVF_TM_PIXEL_COST_MAX ? sum : MVF_TM_PIXEL_COST_MAX;
}

static int32_t window_cost(const mvf_tm_level *current, const mvf_tm_level *reference, int32_t x,
                           int32_t y, int32_t vx, int32_t vy, mvf_tm_pattern pattern)
{
    static const uint8_t four[MVF_TM_WINDOW] = {1 << 1, 1 << 3, 1 << 0, 1 << 2};
    taps in_x = taps_at(x, vx, reference->width), in_y = taps_at(y, vy, reference->height);
    ptrdiff_t stride = current->stride_bytes / (ptrdiff_t)sizeof(mvf_tm_features);
    int32_t sum = 0;
    for (int32_t dy = 0; dy < MVF_TM_WINDOW; dy++)
        for (int32_t dx = 0; dx < MVF_TM_WINDOW; dx++)
            if (pattern == MVF_TM_PATTERN_8 ? !((dx + dy) & 1) : four[dy] >> dx & 1)
                sum += pixel_cost(current->phase[0][(y + dy) * stride + x + dx], reference, &in_x,
                                  &in_y, dx, dy);
    return pattern == MVF_TM_PATTERN_8 ? 2 * sum : 4 * sum;
}

static void cost_c(mvf_tm_candidates *list, const mvf_tm_level *current,
                   const mvf_tm_level *reference, int32_t x, int32_t y, mvf_tm_pattern pattern)
{
    for (int32_t i = 0; i < list->count; i++)
        list->cost[i] =
            (int16_t)window_cost(current, reference, x, y, list->x[i], list->y[i], pattern);
}

void mvf_tm_kernels_init(mvf_tm_kernels *kernels, mvf_cpu_level level)
{
    *kernels = (mvf_tm_kernels){cost_c, mvf_tm_path_c, mvf_tm_median_c};
    level = mvf_cpu_clamp_level(level);
#if defined(__x86_64__)
    if (level >= MVF_CPU_AVX2)
        mvf_tm_kernels_init_avx2(kernels);
#endif
}
