/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/reference.h"

#include <stdlib.h>

#include "base/memory.h"
#include "search/rule.h"

static int compare_rank(const void *a, const void *b)
{
    const mvf_vector *first = a, *second = b;
    return mvf_rule_rank_less(second->x, second->y, first->x, first->y) -
           mvf_rule_rank_less(first->x, first->y, second->x, second->y);
}

void mvf_rank_sort(mvf_vector *vectors, size_t count)
{
    qsort(vectors, count, sizeof *vectors, compare_rank);
}

mvf_vector *mvf_rank_candidates(int32_t range_x, int32_t range_y)
{
    size_t count = (size_t)(2 * range_x + 1) * (size_t)(2 * range_y + 1);
    mvf_vector *candidates = mvf_alloc_array(count, sizeof *candidates);
    if (!candidates)
        return NULL;
    mvf_vector *next = candidates;
    for (int32_t y = -range_y; y <= range_y; y++)
        for (int32_t x = -range_x; x <= range_x; x++)
            *next++ = (mvf_vector){(int16_t)x, (int16_t)y};
    mvf_rank_sort(candidates, count);
    return candidates;
}

static uint32_t sad_row_8(const uint8_t *a, const uint8_t *b, int32_t w)
{
    uint32_t sum = 0;
    for (int32_t x = 0; x < w; x++)
        sum += (uint32_t)abs(a[x] - b[x]);
    return sum;
}

static uint32_t sad_row_16(const uint16_t *a, const uint16_t *b, int32_t w)
{
    uint32_t sum = 0;
    for (int32_t x = 0; x < w; x++)
        sum += (uint32_t)abs(a[x] - b[x]);
    return sum;
}

uint32_t mvf_reference_sad(const uint8_t *current, ptrdiff_t current_stride_bytes,
                           const uint8_t *reference, ptrdiff_t reference_stride_bytes, int32_t w,
                           int32_t h, int32_t sample_bytes, uint32_t limit)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h && sum < limit; y++) {
        sum += sample_bytes == 1
                   ? sad_row_8(current, reference, w)
                   : sad_row_16((const uint16_t *)current, (const uint16_t *)reference, w);
        current += current_stride_bytes;
        reference += reference_stride_bytes;
    }
    return sum;
}

mvf_match mvf_reference_search_block(const mvf_search_config *config, const mvf_plane *current,
                                     const mvf_plane *reference, const mvf_vector *candidates,
                                     int32_t col, int32_t row)
{
    int32_t bx = col * config->step_x, by = row * config->step_y;
    int32_t w = mvf_rule_visible(bx, config->block_w, config->width);
    int32_t h = mvf_rule_visible(by, config->block_h, config->height);
    mvf_window window =
        mvf_rule_window(bx, by, w, h, config->width, config->height, config->range_x,
                        config->range_y, config->edges == MVF_EDGES_INSIDE);
    int32_t count = (2 * config->range_x + 1) * (2 * config->range_y + 1);
    const uint8_t *block = mvf_plane_at(current, bx, by);
    mvf_match best = {0, 0, UINT32_MAX};
    for (int32_t i = 0; i < count && best.cost > 0; i++) {
        mvf_vector v = candidates[i];
        if (v.x < window.x_min || v.x > window.x_max || v.y < window.y_min || v.y > window.y_max)
            continue;
        uint32_t cost = mvf_reference_sad(
            block, current->stride_bytes, mvf_plane_at(reference, bx + v.x, by + v.y),
            reference->stride_bytes, w, h, config->sample_bytes, best.cost);
        if (cost < best.cost)
            best = (mvf_match){v.x, v.y, cost};
    }
    return best;
}
