/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/rank.h"

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
