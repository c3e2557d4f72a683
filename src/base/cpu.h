/*
 * base/cpu.h - which instruction levels this processor runs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_CPU_H
#define MVF_BASE_CPU_H

#include <mvfield/search.h>

/* The lower of `level` and the best that this machine runs. */
mvf_cpu_level mvf_cpu_clamp_level(mvf_cpu_level level);

#endif
