/*
 * search/rate_cpu.h - how fast the processor's SAD instruction is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_RATE_CPU_H
#define MVF_SEARCH_RATE_CPU_H

#include <mvfield/search.h>

/* mvf_sad_limit_measure() on the CPU. */
mvf_status mvf_cpu_sad_rate(const mvf_options *options, mvf_sad_limit *limit);

#endif
