// What is asked of a device besides searching.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "instructions.h"
#include "params.h"

// Pins what the search relies on: __vibmin_s32(a, b, &p) sets p when the first operand is kept,
// equality included, and __vibmax_s32 likewise.
extern "C" __global__ void __launch_bounds__(MVF_SELF_TEST_THREADS)
    self_test(const int32_t *operands, mvf_self_test_result *result)
{
    mvf_self_test_result r = {0, 0, 0};
    for (uint32_t i = 0; i < 3; i++) {
        int32_t a = operands[2 * i], b = operands[2 * i + 1];
        bool min_first, max_first;
        int32_t low = __vibmin_s32(a, b, &min_first);
        int32_t high = __vibmax_s32(a, b, &max_first);
        r.min_keeps_first |= (uint32_t)min_first << i;
        r.max_keeps_first |= (uint32_t)max_first << i;
        r.wrong_values |= (uint32_t)(low != min(a, b) || high != max(a, b)) << i;
    }
    if (threadIdx.x == 0)
        *result = r;
}

// Nothing but the SAD instruction, in chains that do not wait for each other: the speed limit of
// every search that looks at all candidates.
extern "C" __global__ void __launch_bounds__(MVF_RATE_THREADS)
    sad_rate(uint32_t *sink, int32_t n_rounds)
{
    uint32_t sums[MVF_RATE_CHAINS], a = threadIdx.x * 2654435761u, b = ~a;
#pragma unroll
    for (int32_t i = 0; i < MVF_RATE_CHAINS; i++)
        sums[i] = i;
    for (int32_t round = 0; round < n_rounds; round++)
#pragma unroll
        for (int32_t i = 0; i < MVF_RATE_CHAINS; i++)
            sums[i] = sad4_timed(a, b, sums[i]);
#pragma unroll
    for (int32_t i = 1; i < MVF_RATE_CHAINS; i++)
        sums[0] += sums[i];
    sink[blockIdx.x * MVF_RATE_THREADS + threadIdx.x] = sums[0];
}
