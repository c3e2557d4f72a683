/*
 * guides.h - what the caller knows of the blocks of a pair.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_GUIDES_H
#define MVF_KERNELS_GUIDES_H

#include "params.h"

/* What the rate of block `index` of the grid measures from. */
static __device__ inline mvf_guide_vector predictor_of(const mvf_search_pair &pair, int32_t index)
{
    return pair.predictors ? ((const mvf_guide_vector *)pair.predictors)[index]
                           : mvf_guide_vector{0, 0};
}

#endif
