/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"

#include "base/cpu.h"

void mvf_search_kernels_init(mvf_search_kernels *kernels, int32_t sample_bytes, mvf_cpu_level level)
{
    level = mvf_cpu_clamp_level(level);
    mvf_search_kernels_init_c(kernels, sample_bytes);
#if defined(__x86_64__)
    if (level >= MVF_CPU_SSE2)
        mvf_search_kernels_init_sse2(kernels, sample_bytes);
    if (level >= MVF_CPU_SSSE3)
        mvf_search_kernels_init_ssse3(kernels, sample_bytes);
    if (level >= MVF_CPU_AVX2)
        mvf_search_kernels_init_avx2(kernels, sample_bytes);
    if (level >= MVF_CPU_AVX512)
        mvf_search_kernels_init_avx512(kernels, sample_bytes);
#endif
}
