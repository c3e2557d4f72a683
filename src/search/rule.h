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
 * Method hier. Not all candidates are tried, but which ones is fixed, so that every engine gives
 * the same answer. No candidate hangs on another block of the same level or on another field.
 *   Levels. Level 0 is the frame. Level l + 1 has half as many samples each way, rounded up:
 *     s'(x, y) = (32 + sum of k_i k_j s(2x - 1 + i, 2y - 1 + j), i and j from 0 to 3) >> 6
 *     with k = 1, 3, 3, 1, where samples outside level l repeat the nearest edge sample. The range
 *     of level l is ceil(range / 2^l) each way. The top level is the lowest from 1 on whose range
 *     is at most 32 both ways.
 *   Blocks. Level 0 has those of the grid, level 1 one for each of them, and each level above half
 *     as many each way, rounded up. From level 1 on a block is max(8, block / 2) samples wide, at
 *     most the level's width; block c is at ((c * step) >> 1) + block / 4 - its width / 2 (the
 *     width before it is cut to the level's), moved into the level. The same for y.
 *   Top level. C is the whole window of the level's range, edges as above.
 *   Other levels. The parent of block (c, r) is block (c, r) of level 1 for level 0, and block
 *     (c >> 1, r >> 1) of the level above for the others. Starts are twice the vectors of the
 *     parent and of the parent's eight neighbours, as far as they exist, cut to the range of the
 *     level each way, and (0, 0). C holds the vectors at most 1 from a start both ways, within the
 *     range and the edges' rule of the level.
 * The choice is the same at each level, with the samples of that level; level 0's is the answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_RULE_H
#define MVF_SEARCH_RULE_H

#ifdef __CUDACC__
#define MVF_RULE static __host__ __device__ inline
/* What the compiler may work out. */
#define MVF_RULE_CONSTANT static __host__ __device__ constexpr
#else
#include <stdint.h>
#define MVF_RULE static inline
#define MVF_RULE_CONSTANT static inline
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

/* Method hier. */

#define MVF_HIER_TOP_RANGE 32
#define MVF_HIER_MIN_BLOCK 8
/* Of MVF_MAX_RANGE: levels 0 to 3. */
#define MVF_HIER_MAX_LEVELS 4

MVF_RULE int32_t mvf_rule_level_range(int32_t range, int32_t level)
{
    return (range + (1 << level) - 1) >> level;
}

MVF_RULE int32_t mvf_rule_level_size(int32_t size, int32_t level)
{
    return (size + (1 << level) - 1) >> level;
}

MVF_RULE int32_t mvf_rule_top_level(int32_t range_x, int32_t range_y)
{
    int32_t range = range_x > range_y ? range_x : range_y, level = 1;
    while (mvf_rule_level_range(range, level) > MVF_HIER_TOP_RANGE)
        level++;
    return level;
}

/* Columns (or rows) of blocks of a level, from those of level 0. */
MVF_RULE int32_t mvf_rule_level_cells(int32_t cells, int32_t level)
{
    return level < 2 ? cells : (cells + (1 << (level - 1)) - 1) >> (level - 1);
}

/* From level 1 on: the width (or height) of blocks before they are cut to the level. */
MVF_RULE int32_t mvf_rule_coarse_block(int32_t block)
{
    return block / 2 > MVF_HIER_MIN_BLOCK ? block / 2 : MVF_HIER_MIN_BLOCK;
}

/* From level 1 on: where block `cell` begins in a level of `size` samples. */
MVF_RULE int32_t mvf_rule_coarse_origin(int32_t cell, int32_t step, int32_t block, int32_t size)
{
    int32_t coarse = mvf_rule_coarse_block(block);
    int32_t origin = ((cell * step) >> 1) + block / 4 - coarse / 2;
    if (origin > size - coarse)
        origin = size - coarse;
    return origin > 0 ? origin : 0;
}

#endif
