/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"

#include <tmmintrin.h>

#define FN(name) name##_ssse3
#define V(name) _mm_##name
#define ALWAYS static inline __attribute__((always_inline))

/* pabsw saves one instruction in four of each bound. */
#include "search/bounds_128.h"

ALWAYS void store_bytes(uint8_t *p, vector words)
{
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

#include "search/halve_template.h"

void mvf_search_kernels_init_ssse3(mvf_search_kernels *kernels, int32_t sample_bytes)
{
    kernels->bound_window = bound_window_ssse3;
    kernels->bound_groups = bound_groups_ssse3;
    kernels->count_candidates = count_candidates_ssse3;
    kernels->list_groups = list_groups_ssse3;
    if (sample_bytes == 1)
        kernels->halve_row = halve_row_8_ssse3;
}
