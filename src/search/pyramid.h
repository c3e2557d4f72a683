/*
 * search/pyramid.h - the levels of a plane for method hier (rule.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_PYRAMID_H
#define MVF_SEARCH_PYRAMID_H

#include "plane/plane.h"
#include "search/kernels.h"

/* Allocates level `level` of a plane of width x height samples, with borders for the level's range
 * and for the filter. Free with mvf_plane_free(). */
mvf_status mvf_pyramid_alloc(mvf_plane *plane, int32_t width, int32_t height, int32_t bit_depth,
                             int32_t range_x, int32_t range_y, int32_t level);

/* Fills `to`, the level above `from`, borders included. `from` has borders of at least 2 samples.
 */
void mvf_pyramid_halve(const mvf_search_kernels *kernels, const mvf_plane *from, mvf_plane *to);

#endif
