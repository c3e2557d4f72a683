/*
 * search/truemotion_rule.h - the numbers of true motion; truemotion.h says what they are for.
 *
 * Plain C and CUDA both compile this file.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_TRUEMOTION_RULE_H
#define MVF_SEARCH_TRUEMOTION_RULE_H

/* Units of a vector in one px. */
#define MVF_TM_UNIT 16
#define MVF_TM_MAX_VECTOR 16383

#define MVF_TM_MAX_LEVELS 12
/* Levels whose smaller side has this are halved once more. */
#define MVF_TM_SMALLEST_TO_HALVE 24
/* Level samples have four fractional bits. */
#define MVF_TM_SAMPLE_MAX 4095
/* Px that planes go on outside the frame. */
#define MVF_TM_BORDER 16
/* Where the reference window may start: beyond, nothing changes any more. */
#define MVF_TM_WINDOW_MIN (-8)
#define MVF_TM_WINDOW_PAST_END 4
#define MVF_TM_WINDOW 4
#define MVF_TM_PIXEL_COST_MAX 60

#define MVF_TM_CELL_PX 4
#define MVF_TM_COARSE_CELL_PX 2
#define MVF_TM_MAX_REACHES 3
#define MVF_TM_TOP_RANGE_PX 2

/* Labels of a cell, and the places kept for them. */
#define MVF_TM_LABELS 6
#define MVF_TM_PLACES 8
/* The cost of a place without a label; sums of four paths still fit into int16. */
#define MVF_TM_NO_LABEL 4096
#define MVF_TM_PENALTY_SLOPE 4
#define MVF_TM_PENALTY_MAX 80
#define MVF_TM_COARSE_PENALTY_MAX 160

/* Largest radius of a median. */
#define MVF_TM_MAX_RADIUS 4
#define MVF_TM_MEAN_RADIUS 2
/* How far apart, |.|_1, vectors may be that are averaged. */
#define MVF_TM_MEAN_REACH 8

/* How far forward and backward vectors may disagree, |.|_1. */
#define MVF_TM_DISAGREEMENT 16
/* Whole-px surroundings of a vector, and the vectors of cells at this distance, are its rivals. */
#define MVF_TM_RIVAL_REACH 3
#define MVF_TM_RIVAL_DISTANCE MVF_TM_UNIT
/* Sum of gradient features over the window's 8 px below which there is nothing to match. */
#define MVF_TM_FLAT_TEXTURE 32
#define MVF_TM_CONFIDENCE_COST 16

/* Flags of a match. */
#define MVF_TM_FLAG_OCCLUDED 1
#define MVF_TM_FLAG_FLAT 2

/* round(255 exp(-d / 20)), up to the last that is not 0. */
#define MVF_TM_N_WEIGHTS 256
#define MVF_TM_WEIGHTS                                                                             \
    255, 243, 231, 219, 209, 199, 189, 180, 171, 163, 155, 147, 140, 133, 127, 120, 115, 109, 104, \
        99, 94, 89, 85, 81, 77, 73, 69, 66, 63, 60, 57, 54, 51, 49, 47, 44, 42, 40, 38, 36, 35,    \
        33, 31, 30, 28, 27, 26, 24, 23, 22, 21, 20, 19, 18, 17, 16, 16, 15, 14, 13, 13, 12, 11,    \
        11, 10, 10, 9, 9, 9, 8, 8, 7, 7, 7, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3,  \
        3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  \
        1, 1, 1

/* max(1, round(255 exp(-d / 10))), the last entry for all that is larger. */
#define MVF_TM_N_NEAR_WEIGHTS 53
#define MVF_TM_NEAR_WEIGHTS                                                                       \
    255, 231, 209, 189, 171, 155, 140, 127, 115, 104, 94, 85, 77, 69, 63, 57, 51, 47, 42, 38, 35, \
        31, 28, 26, 23, 21, 19, 17, 16, 14, 13, 11, 10, 9, 9, 8, 7, 6, 6, 5, 5, 4, 4, 3, 3, 3, 3, \
        2, 2, 2, 2, 2, 1

#endif
