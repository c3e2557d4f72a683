/*
 * search/rule.h - what a search must return: the contract that every engine keeps, bit for bit.
 *
 * Plain C and CUDA both compile this file: fixed-width integers and inline functions only.
 *
 * The grid. Block (col, row) has its origin at (col * step_x, row * step_y); there are
 * ceil(width / step_x) columns and ceil(height / step_y) rows. A block that sticks out of the
 * frame is matched on its visible samples only: visible size = min(block, frame - origin).
 *
 * The candidates. C = { (dx, dy) : |dx| <= range_x, |dy| <= range_y }, whole samples. The block at
 * (bx, by) is compared with the reference at (bx + dx, by + dy).
 *   edges clamp   reference samples outside the frame repeat the nearest edge sample.
 *   edges inside  candidates whose visible samples would leave the frame are not in C; since the
 *                 block itself lies in the frame, what is left is a rectangle that contains (0, 0).
 *
 * The cost. SAD over the visible samples, at the input's own bit depth, in 32 bits: the largest is
 * 64 * 64 * 65535 = 268,431,360.
 *
 * The choice. The candidate with the smallest (cost, dx^2 + dy^2, dy, dx), compared in that order.
 * The order is total, so nothing is left to chance. Scanning candidates by rank, which is their
 * place in the order (dx^2 + dy^2, dy, dx), settles ties by itself: only a strictly smaller cost
 * replaces the best. A partial sum that has reached the best cost may stop early; it is a lower
 * bound and is never stored as a cost. Candidates may be skipped by lower bounds, never otherwise.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_RULE_H
#define MVF_SEARCH_RULE_H

#ifdef __CUDACC__
#define MVF_RULE static __host__ __device__ inline
#else
#include <stdint.h>
#define MVF_RULE static inline
#endif

/* A rectangle of candidates, both ends included. */
typedef struct mvf_window {
    int32_t x_min, x_max, y_min, y_max;
} mvf_window;

MVF_RULE int32_t mvf_rule_visible(int32_t origin, int32_t block, int32_t frame)
{
    return frame - origin < block ? frame - origin : block;
}

/* The candidates of the block at (bx, by) whose visible size is w x h. */
MVF_RULE mvf_window mvf_rule_window(int32_t bx, int32_t by, int32_t w, int32_t h,
                                    int32_t frame_width, int32_t frame_height, int32_t range_x,
                                    int32_t range_y, int32_t inside)
{
    mvf_window window = {-range_x, range_x, -range_y, range_y};
    if (inside) {
        window.x_min = window.x_min < -bx ? -bx : window.x_min;
        window.y_min = window.y_min < -by ? -by : window.y_min;
        window.x_max = window.x_max > frame_width - bx - w ? frame_width - bx - w : window.x_max;
        window.y_max = window.y_max > frame_height - by - h ? frame_height - by - h : window.y_max;
    }
    return window;
}

/* Whether (ax, ay) comes before (bx, by) in rank. */
MVF_RULE int32_t mvf_rule_rank_less(int32_t ax, int32_t ay, int32_t bx, int32_t by)
{
    int32_t a = ax * ax + ay * ay, b = bx * bx + by * by;
    if (a != b)
        return a < b;
    return ay != by ? ay < by : ax < bx;
}

#endif
