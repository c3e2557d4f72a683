/*
 * sink/text.h - numbers as text, the same in every locale and much faster than printf.
 *
 * Each function writes at `to`, without a NUL, and returns the place after what it wrote.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_TEXT_H
#define MVF_SINK_TEXT_H

#include <mvfield/field.h>

/* Most characters of one number written here. */
#define MVF_TEXT_NUMBER 32

char *mvf_text_int(char *to, int64_t value);

/* scaled / 10^n_digits with all of its digits; n_digits up to 15. */
char *mvf_text_decimal(char *to, int64_t scaled, int n_digits);

/* mv / scale exactly: the scale is a power of two, so the decimals end; zeros at the end are cut.
 */
char *mvf_text_vector(char *to, int32_t mv, int32_t scale);

/* Seconds to the microsecond, rounded to nearest; nothing where there is no time. */
char *mvf_text_time(char *to, int64_t pts, mvf_rational time_base);

char *mvf_text_string(char *to, const char *text);

/* Text, and a number after it: for JSON, whose keys and commas the text brings along. */
char *mvf_text_member(char *to, const char *text, int64_t value);

/* The grid as a JSON object, or null where blocks follow none. */
char *mvf_text_grid(char *to, const mvf_grid *grid);

#endif
