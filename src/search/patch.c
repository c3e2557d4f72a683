/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "search/metric_rule.h"

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* `count` samples of the plane's row from x on, all inside the frame. */
static void widen(uint16_t *to, const mvf_plane *plane, int32_t x, int32_t y, int32_t count)
{
    const uint8_t *from = mvf_plane_at(plane, x, y);
    if (plane->sample_bytes == 2)
        memcpy(to, from, (size_t)count * sizeof *to);
    else
        for (int32_t i = 0; i < count; i++)
            to[i] = from[i];
}

static void gather_row(uint16_t *to, const mvf_plane *plane, int32_t x, int32_t y, int32_t w)
{
    int32_t left = clamp(-x, 0, w), right = clamp(x + w - plane->width, 0, w);
    if (left + right < w) {
        widen(to + left, plane, x + left, y, w - left - right);
    } else {
        /* Wholly outside: one edge sample, from which the rest is repeated. */
        left = left ? w - 1 : 0;
        right = w - 1 - left;
        widen(to + left, plane, clamp(x + left, 0, plane->width - 1), y, 1);
    }
    for (int32_t i = 0; i < left; i++)
        to[i] = to[left];
    for (int32_t i = w - right; i < w; i++)
        to[i] = to[w - right - 1];
}

void mvf_patch_gather(mvf_patch to, const mvf_plane *plane, int32_t x, int32_t y, int32_t w,
                      int32_t h)
{
    for (int32_t row = 0; row < h; row++)
        gather_row(mvf_patch_at(to, 0, row), plane, x, clamp(y + row, 0, plane->height - 1), w);
}

static uint32_t sad(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h && sum < limit; y++) {
        const uint16_t *p = mvf_patch_at(a, 0, y), *q = mvf_patch_at(b, 0, y);
        for (int32_t x = 0; x < w; x++)
            sum += (uint32_t)abs(p[x] - q[x]);
    }
    return sum;
}

static uint32_t ssd(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h && sum < limit; y++) {
        const uint16_t *p = mvf_patch_at(a, 0, y), *q = mvf_patch_at(b, 0, y);
        for (int32_t x = 0; x < w; x++)
            sum += (uint32_t)((p[x] - q[x]) * (p[x] - q[x]));
    }
    return sum;
}

static uint32_t satd_tile(mvf_patch a, mvf_patch b, int32_t w, int32_t h, int32_t tile)
{
    int32_t d[64] = {0};
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++)
            d[y * tile + x] = *mvf_patch_at(a, x, y) - *mvf_patch_at(b, x, y);
    return mvf_rule_satd_tile(d, tile);
}

static uint32_t satd(mvf_patch a, mvf_patch b, int32_t w, int32_t h, int32_t tile, uint32_t limit)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h && sum < limit; y += tile)
        for (int32_t x = 0; x < w; x += tile)
            sum += satd_tile(mvf_patch_move(a, x, y), mvf_patch_move(b, x, y),
                             clamp(w - x, 0, tile), clamp(h - y, 0, tile), tile);
    return sum;
}

static uint32_t satd4(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    return satd(a, b, w, h, 4, limit);
}

static uint32_t satd8(mvf_patch a, mvf_patch b, int32_t w, int32_t h, uint32_t limit)
{
    return satd(a, b, w, h, 8, limit);
}

static mvf_metric_function select_c(mvf_metric metric, int32_t tile)
{
    if (metric == MVF_METRIC_SAD)
        return sad;
    if (metric == MVF_METRIC_SSD)
        return ssd;
    return metric == MVF_METRIC_SATD4 || tile == 4 ? satd4 : satd8;
}

mvf_metric_function mvf_metric_select(mvf_metric metric, int32_t tile, int32_t bit_depth,
                                      mvf_cpu_level level)
{
#if defined(__x86_64__)
    mvf_metric_function function = NULL;
    if (mvf_cpu_clamp_level(level) >= MVF_CPU_AVX2)
        function = mvf_metric_select_avx2(metric, tile, bit_depth);
    if (function)
        return function;
#endif
    (void)level;
    (void)bit_depth;
    return select_c(metric, tile);
}

static void keep(const uint32_t *sums, uint32_t *best_j, int32_t *best_index, int32_t n,
                 uint32_t rate, int32_t index)
{
    for (int32_t i = 0; i < n; i++) {
        uint32_t j = sums[i] + rate;
        int better = j < best_j[i];
        best_j[i] = better ? j : best_j[i];
        best_index[i] = better ? index : best_index[i];
    }
}

mvf_partition_ops mvf_partition_select(int32_t size, int32_t bit_depth, mvf_cpu_level level)
{
#if defined(__x86_64__)
    if (mvf_cpu_clamp_level(level) >= MVF_CPU_AVX2)
        return mvf_partition_select_avx2(size, bit_depth);
#endif
    (void)size;
    (void)bit_depth;
    (void)level;
    return (mvf_partition_ops){NULL, keep};
}

mvf_byte_ops mvf_byte_select(mvf_cpu_level level)
{
#if defined(__x86_64__)
    if (mvf_cpu_clamp_level(level) >= MVF_CPU_AVX2)
        return mvf_byte_select_avx2();
#endif
    (void)level;
    return (mvf_byte_ops){NULL, NULL};
}
