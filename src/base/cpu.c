/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/cpu.h"

mvf_cpu_level mvf_cpu_best_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    int has_bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                   __builtin_cpu_supports("popcnt");
    int has_avx2 = has_bits && __builtin_cpu_supports("avx2");
    if (has_avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return MVF_CPU_AVX512;
    if (has_avx2)
        return MVF_CPU_AVX2;
    if (__builtin_cpu_supports("ssse3"))
        return MVF_CPU_SSSE3;
    return MVF_CPU_SSE2;
#else
    return MVF_CPU_C;
#endif
}

mvf_cpu_level mvf_cpu_clamp_level(mvf_cpu_level level)
{
    mvf_cpu_level best = mvf_cpu_best_level();
    return level < best ? level : best;
}

const char *mvf_cpu_level_name(mvf_cpu_level level)
{
    switch (level) {
    case MVF_CPU_C:
        return "c";
    case MVF_CPU_SSE2:
        return "sse2";
    case MVF_CPU_SSSE3:
        return "ssse3";
    case MVF_CPU_AVX2:
        return "avx2";
    case MVF_CPU_AVX512:
        return "avx512";
    case MVF_CPU_BEST:
        return "best";
    }
    return "unknown";
}
