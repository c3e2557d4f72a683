/*
 * search/path_rule.h - smooth paths through a searched grid: part of the contract of rule.h, bit
 * for bit.
 *
 * Plain C and CUDA both compile this file.
 *
 * Once each block of a grid has its vector and cost, sub-sample refinement included, four passes
 * follow, of reach 1, 2, 4 and 1. In each:
 *   Candidates of a block, in this order: its own vector; (0, 0); the vectors of the eight blocks
 *     at (dx, dy) reach in raster order, as far as they are in the grid. One that is there already
 *     is left out, and so is one that edges inside forbids. All vectors are those from before the
 *     pass.
 *   Labels: the own vector, and of the others the five with the smallest (J, order), J being the
 *     last metric of the search at the vector + its rate.
 *   Costs: with m the smallest J of the block's candidates, n the px of the block that are visible
 *     and d the bit depth,
 *       C = min(32 (J - m) / (n 2^(d-8)), 800), rounded down: 32 is one gray level of 8 bits
 *   Paths. Along a line of blocks, L = C at the first, and from a block q with labels u to the next
 *     block p with labels v
 *       L(p, k) = C(p, k) + min_j (L(q, j) + min(4 |v_k - u_j|_1, 400)) - min_j L(q, j)
 *     |.|_1 adds the components' sizes in 1/16 px. Rows and columns, each in both senses. The label
 *     with the smallest sum of L becomes the block's vector, the earlier one among equals.
 * A block's cost is the metric at its last vector. References are smoothed one by one, before they
 * are merged.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_PATH_RULE_H
#define MVF_SEARCH_PATH_RULE_H

#include "search/rule.h"

#define MVF_PATH_PASSES 4
#define MVF_PATH_CANDIDATES 10
#define MVF_PATH_GRAY_LEVEL 32
#define MVF_PATH_COST_MAX 800
#define MVF_PATH_PENALTY_MAX 400

MVF_RULE int32_t mvf_rule_path_reach(int32_t pass)
{
    return pass == MVF_PATH_PASSES - 1 ? 1 : 1 << pass;
}

/* C of a label whose J is `more` above the smallest of the block, with w x h visible px. */
MVF_RULE int32_t mvf_rule_path_cost(uint32_t more, int32_t w, int32_t h, int32_t bit_depth)
{
    uint32_t gray_level = (uint32_t)(w * h) << (bit_depth - 8);
    if (more >= MVF_PATH_COST_MAX / MVF_PATH_GRAY_LEVEL * gray_level)
        return MVF_PATH_COST_MAX;
    return (int32_t)(more * MVF_PATH_GRAY_LEVEL / gray_level);
}

#endif
