/*
 * search/subpel_rule.h - sub-sample refinement: part of the contract of rule.h, bit for bit.
 *
 * Plain C and CUDA both compile this file.
 *
 * Units. Vectors here are in quarter samples. A vector v is an integer part floor(v / 4) and a
 * phase v & 3 on each axis; sample (x, y) of its prediction lies at the integer part plus the
 * phase.
 *
 * The refinement. It starts from the integer best, 4 * (dx, dy), whose cost is taken again in the
 * refinement metric. Step `half` tries its eight neighbours at distance 2, step `quarter` the eight
 * neighbours at distance 1 of the best so far, both in the order of mvf_rule_neighbour(): rows from
 * top to bottom, left to right. Only a strictly smaller J replaces the best. All eight neighbours
 * belong to the best as it was when the step began. A neighbour may leave the search range by up to
 * 3/4 sample.
 *
 * Edges. Whatever interpolation reads outside the frame repeats the nearest edge sample, under
 * either edge rule. With edges inside, a vector is skipped unless each whole-sample position around
 * it is inside: the block moved by floor(v / 4) and by ceil(v / 4) lies in the frame.
 *
 * The filters, all in integers, results clipped to the bit depth, phases 1, 2, 3 = 1/4, 1/2, 3/4:
 *   bilinear  ((4 - fx)(4 - fy) A + fx (4 - fy) B + (4 - fx) fy C + fx fy D + 8) >> 4.
 *   h264      ITU-T H.264 8.4.2.2.1. Half samples by the taps 1 -5 20 20 -5 1, (sum + 16) >> 5; the
 *             centre by the same taps over unrounded half samples, (sum + 512) >> 10. Quarter
 *             samples are the rounded-up averages of the two nearest whole or half samples, the
 *             diagonal ones of the two nearest half samples b, h, m, s of the standard.
 *   hevc      ITU-T H.265 8.5.3.3.3.1. Taps -1 4 -10 58 17 -5 1 0 (1/4), -1 4 -11 40 40 -11 4 -1
 *             (1/2), mirrored (3/4). Horizontal sums are shifted down by min(4, depth - 8), a
 * second pass by 6; the result is rounded down from 14 bits (16 at depths above 12).
 * `>>` of a negative number rounds down. No intermediate leaves 32 bits at 16-bit samples.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_SUBPEL_RULE_H
#define MVF_SEARCH_SUBPEL_RULE_H

#include "search/rule.h"

/* Samples that interpolation around the integer best may read beyond the block on each side: one
 * for the vectors left of it and above it, and up to three more before and four after for taps. */
#define MVF_SUBPEL_MARGIN 4

#define MVF_FILTER_H264 0
#define MVF_FILTER_HEVC 1
#define MVF_FILTER_BILINEAR 2

/* The neighbours 0 to 7 of a vector, at distance 1. */
MVF_RULE int32_t mvf_rule_neighbour_x(int32_t i)
{
    return (i < 4 ? i : i + 1) % 3 - 1;
}

MVF_RULE int32_t mvf_rule_neighbour_y(int32_t i)
{
    return (i < 4 ? i : i + 1) / 3 - 1;
}

/* With edges inside: whether the block may be predicted by the vector (x, y). */
MVF_RULE int32_t mvf_rule_subpel_inside(int32_t x, int32_t y, int32_t bx, int32_t by, int32_t w,
                                        int32_t h, int32_t frame_width, int32_t frame_height)
{
    return bx + (x >> 2) >= 0 && by + (y >> 2) >= 0 && bx + w + ((x + 3) >> 2) <= frame_width &&
           by + h + ((y + 3) >> 2) <= frame_height;
}

MVF_RULE int32_t mvf_rule_clip(int32_t value, int32_t top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

MVF_RULE_CONSTANT int32_t mvf_rule_taps_h264(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e,
                                             int32_t f)
{
    return a + f - 5 * (b + e) + 20 * (c + d);
}

/* Tap `i` (0 to 7, for the samples at -3 to 4) of the phase. */
MVF_RULE_CONSTANT int32_t mvf_rule_tap_hevc(int32_t phase, int32_t i)
{
    const int32_t quarter[8] = {-1, 4, -10, 58, 17, -5, 1, 0};
    const int32_t half[8] = {-1, 4, -11, 40, 40, -11, 4, -1};
    if (phase == 0)
        return i == 3 ? 64 : 0;
    return phase == 2 ? half[i] : quarter[phase == 1 ? i : 7 - i];
}

/* Shifts of hevc by bit depth: after the first pass, and from the intermediate to samples. */
MVF_RULE int32_t mvf_rule_hevc_first_shift(int32_t bit_depth)
{
    return bit_depth < 12 ? bit_depth - 8 : 4;
}

MVF_RULE int32_t mvf_rule_hevc_last_shift(int32_t bit_depth)
{
    return bit_depth < 12 ? 14 - bit_depth : 2;
}

/*
 * The two predictions whose rounded-up average is a quarter sample of h264: phases (*ax, *ay) and
 * (*bx, *by) in quarter samples, even, up to 4 (the next whole sample). Returns 0 where (fx, fy) is
 * a whole or half sample itself.
 */
MVF_RULE int32_t mvf_rule_h264_pair(int32_t fx, int32_t fy, int32_t *ax, int32_t *ay, int32_t *bx,
                                    int32_t *by)
{
    int32_t odd_x = fx & 1, odd_y = fy & 1;
    *ax = *bx = fx;
    *ay = *by = fy;
    if (odd_x && odd_y) {
        /* e, g, p, r: b or s (half in x, whole in y) and h or m (whole in x, half in y). */
        *ax = 2;
        *ay = fy == 1 ? 0 : 4;
        *bx = fx == 1 ? 0 : 4;
        *by = 2;
    } else if (odd_x) {
        *ax = fx - 1;
        *bx = fx + 1;
    } else if (odd_y) {
        *ay = fy - 1;
        *by = fy + 1;
    }
    return odd_x || odd_y;
}

#endif
