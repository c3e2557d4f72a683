/* SPDX-License-Identifier: BSD-2-Clause */
#if defined(__GNUC__) && !defined(__clang__)
/* At -O2, gcc makes vectors only of loops that need no rest. */
#pragma GCC optimize("O3")
#endif
#include "search/subpel_template.h"

mvf_predict_function mvf_predict_select_avx2(mvf_interpolation filter)
{
    return select_predict(filter);
}
