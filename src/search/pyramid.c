/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/pyramid.h"

#include "search/rule.h"

/* The next level's filter reads this far outside. */
#define MIN_BORDER 2

static int32_t border_for(int32_t range, int32_t level)
{
    int32_t border = mvf_rule_level_range(range, level);
    return border > MIN_BORDER ? border : MIN_BORDER;
}

mvf_status mvf_pyramid_alloc(mvf_plane *plane, int32_t width, int32_t height, int32_t bit_depth,
                             int32_t range_x, int32_t range_y, int32_t level)
{
    return mvf_plane_alloc(plane, mvf_rule_level_size(width, level),
                           mvf_rule_level_size(height, level), bit_depth,
                           border_for(range_x, level), border_for(range_y, level));
}

void mvf_pyramid_halve(const mvf_search_kernels *kernels, const mvf_plane *from, mvf_plane *to)
{
    for (int32_t y = 0; y < to->height; y++)
        kernels->halve_row(mvf_plane_at(from, -1, 2 * y - 1), from->stride_bytes, to->width,
                           mvf_plane_at(to, 0, y));
    mvf_plane_extend_sides(to, 0, to->height);
    mvf_plane_extend_ends(to);
}
