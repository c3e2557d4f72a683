/*
 * refine_block.h - what the kernels of sub-sample refinement share: where a block lies, its match,
 * and the candidates of a step by subpel_rule.h. Number 0 is the vector that the step began with, 1
 * to 8 are its neighbours in order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_REFINE_BLOCK_H
#define MVF_KERNELS_REFINE_BLOCK_H

#include "guides.h"
#include "params.h"
#include "search/metric_rule.h"
#include "search/subpel_rule.h"

/* As mvf_match. */
struct refine_match {
    int16_t x, y;
    uint32_t cost;
};

/* In the frame, as far as it is visible. */
struct refine_block {
    int32_t x, y, w, h;
    /* The whole-sample match. */
    int32_t match_x, match_y;
};

static __device__ __forceinline__ refine_block refine_locate(const mvf_refine_params &params,
                                                             const refine_match &match, int32_t col,
                                                             int32_t row)
{
    refine_block b;
    b.x = col * params.step_x;
    b.y = row * params.step_y;
    b.w = mvf_rule_visible(b.x, params.block_w, params.width);
    b.h = mvf_rule_visible(b.y, params.block_h, params.height);
    b.match_x = match.x;
    b.match_y = match.y;
    return b;
}

/* What a rate measures from; without one, nothing is read. */
static __device__ __forceinline__ mvf_guide_vector refine_predictor(const mvf_refine_params &params,
                                                                    const mvf_search_pair &pair,
                                                                    int32_t col, int32_t row)
{
    if (!params.rate.lambda_q4)
        return {0, 0};
    return predictor_of(pair, row / params.down * params.guide_cols + col / params.across);
}

static __device__ __forceinline__ int32_t candidate_x(int32_t i, int32_t distance)
{
    return i ? distance * mvf_rule_neighbour_x(i - 1) : 0;
}

static __device__ __forceinline__ int32_t candidate_y(int32_t i, int32_t distance)
{
    return i ? distance * mvf_rule_neighbour_y(i - 1) : 0;
}

/* Whether candidate i may be taken, which is (x, y) in quarter samples. */
static __device__ __forceinline__ bool is_candidate(const mvf_refine_params &params,
                                                    const refine_block &b, int32_t i, int32_t x,
                                                    int32_t y)
{
    return i == 0 || !params.inside ||
           mvf_rule_subpel_inside(x, y, b.x, b.y, b.w, b.h, params.width, params.height);
}

#endif
