/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/cpu.h"
#include "search/subpel_template.h"

mvf_predict_function mvf_predict_select(mvf_interpolation filter, mvf_cpu_level level)
{
#if defined(__x86_64__)
    if (mvf_cpu_clamp_level(level) >= MVF_CPU_AVX2)
        return mvf_predict_select_avx2(filter);
#endif
    (void)level;
    return select_predict(filter);
}

void mvf_patch_average(mvf_patch to, mvf_patch other, int32_t w, int32_t h)
{
    average_rows(to, other, w, h);
}
