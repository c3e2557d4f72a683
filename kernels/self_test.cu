// Pins what the search relies on: __vibmin_s32(a, b, &p) sets p when the first operand is kept,
// equality included, and __vibmax_s32 likewise.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"

extern "C" __global__ void __launch_bounds__(32)
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
