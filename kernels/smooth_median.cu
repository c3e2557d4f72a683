// Vector medians of 3 x 3 matches, by mvf_field_smooth(): of whole grids, a thread each block.
//
// Each of the nine vectors gets a key: the sum of its distances to the others above, its place in
// the order of the rule below. The smallest key is the median, found three operands at a time.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"
#include "search/subpel_rule.h"
#include "vectors.h"

#define WINDOW 9
// Of a place in the order.
#define ORDER_BITS 4

struct median_window {
    // The own one first; zero where there is no block.
    uint32_t vectors[WINDOW];
    // All bits where there is one, else none.
    int32_t exist[WINDOW];
};

static __device__ __forceinline__ median_window gather(const mvf_median_params &p, int32_t col,
                                                       int32_t row)
{
    // Words of vectors, each followed by a cost.
    const uint2 *matches = (const uint2 *)p.pairs[blockIdx.y].matches;
    median_window w;
#pragma unroll
    for (int32_t i = 0; i < WINDOW; i++) {
        int32_t x = col + (i ? mvf_rule_neighbour_x(i - 1) : 0);
        int32_t y = row + (i ? mvf_rule_neighbour_y(i - 1) : 0);
        bool exists = x >= 0 && y >= 0 && x < p.cols && y < p.rows;
        w.vectors[i] = exists ? matches[(int64_t)y * p.cols + x].x : 0;
        w.exist[i] = exists ? -1 : 0;
    }
    return w;
}

static __device__ __forceinline__ uint32_t median_of(const median_window &w)
{
    int32_t keys[WINDOW] = {0}, thirds[3];
#pragma unroll
    for (int32_t i = 0; i < WINDOW; i++)
#pragma unroll
        for (int32_t j = i + 1; j < WINDOW; j++) {
            int32_t apart = distance(w.vectors[i], w.vectors[j]) & w.exist[i] & w.exist[j];
            keys[i] += apart;
            keys[j] += apart;
        }
#pragma unroll
    for (int32_t i = 0; i < WINDOW; i++)
        keys[i] = w.exist[i] ? keys[i] << ORDER_BITS | i : INT32_MAX;
#pragma unroll
    for (int32_t i = 0; i < 3; i++)
        thirds[i] = __vimin3_s32(keys[i], keys[i + 3], keys[i + 6]);
    int32_t best = __vimin3_s32(thirds[0], thirds[1], thirds[2]) & ((1 << ORDER_BITS) - 1);
    uint32_t median = w.vectors[0];
#pragma unroll
    for (int32_t i = 1; i < WINDOW; i++)
        median = best == i ? w.vectors[i] : median;
    return median;
}

extern "C" __global__ void __launch_bounds__(MVF_SMOOTH_THREADS)
    smooth_median(const __grid_constant__ mvf_median_params params)
{
    int32_t index = blockIdx.x * MVF_SMOOTH_THREADS + threadIdx.x;
    if (index >= params.cols * params.rows)
        return;
    uint32_t *medians = (uint32_t *)(params.medians + blockIdx.y * params.pair_bytes);
    medians[index] = median_of(gather(params, index % params.cols, index / params.cols));
}
