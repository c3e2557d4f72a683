/*
 * base/integers.h - minimum, maximum and rounding up of whole numbers. Values that are rounded are
 * not negative, units are positive.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_INTEGERS_H
#define MVF_BASE_INTEGERS_H

#include <stdint.h>

static inline int32_t mvf_min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t mvf_max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* How many units hold the value. */
static inline int64_t mvf_divide_up_i64(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit;
}

static inline int32_t mvf_divide_up_i32(int32_t value, int32_t unit)
{
    return (value + unit - 1) / unit;
}

/* The least multiple of the unit that is no less. */
static inline int64_t mvf_round_up_i64(int64_t value, int64_t unit)
{
    return mvf_divide_up_i64(value, unit) * unit;
}

static inline int32_t mvf_round_up_i32(int32_t value, int32_t unit)
{
    return mvf_divide_up_i32(value, unit) * unit;
}

#endif
