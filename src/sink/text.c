/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/text.h"

#include <string.h>

#include "field/check.h"

/* 00 to 99: two digits at a time. */
static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static int count_digits(uint32_t value)
{
    if (value < 100)
        return 1 + (value >= 10);
    if (value < 10000)
        return 3 + (value >= 1000);
    if (value < 1000000)
        return 5 + (value >= 100000);
    return value < 100000000 ? 7 + (value >= 10000000) : 9 + (value >= 1000000000);
}

/* Most numbers of a field are small, and 32-bit division is several times faster. */
static char *put_uint32(char *to, uint32_t value)
{
    char *end = to + count_digits(value), *at = end;
    for (; value >= 100; value /= 100)
        memcpy(at -= 2, digit_pairs + 2 * (value % 100), 2);
    if (value >= 10)
        memcpy(to, digit_pairs + 2 * value, 2);
    else
        *to = (char)('0' + value);
    return end;
}

static char *put_uint(char *to, uint64_t value)
{
    char digits[20];
    int n = 0;
    if (value <= UINT32_MAX)
        return put_uint32(to, (uint32_t)value);
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n)
        *to++ = digits[--n];
    return to;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

char *mvf_text_int(char *to, int64_t value)
{
    if (value < 0)
        *to++ = '-';
    return put_uint(to, magnitude(value));
}

char *mvf_text_decimal(char *to, int64_t scaled, int n_digits)
{
    uint64_t unit = 1, value = magnitude(scaled);
    for (int i = 0; i < n_digits; i++)
        unit *= 10;
    if (scaled < 0)
        *to++ = '-';
    to = put_uint(to, value / unit);
    *to++ = '.';
    for (uint64_t rest = value % unit; unit > 1; rest %= unit) {
        unit /= 10;
        *to++ = (char)('0' + rest / unit);
    }
    return to;
}

char *mvf_text_vector(char *to, int32_t mv, int32_t scale)
{
    int n_digits = 0;
    int64_t scaled = mv;
    if (mv % scale == 0)
        return mvf_text_int(to, mv / scale);
    for (int32_t s = scale; s > 1; s /= 2, n_digits++)
        scaled *= 5;
    to = mvf_text_decimal(to, scaled, n_digits);
    while (to[-1] == '0')
        to--;
    return to;
}

char *mvf_text_time(char *to, int64_t pts, mvf_rational time_base)
{
    if (pts == MVF_NO_PTS || time_base.num <= 0 || time_base.den <= 0)
        return to;
    __int128 scaled = (__int128)pts * time_base.num * 1000000, half = time_base.den / 2;
    __int128 micro = (scaled < 0 ? scaled - half : scaled + half) / time_base.den;
    if (micro > INT64_MAX || micro < -INT64_MAX)
        return to;
    return mvf_text_decimal(to, (int64_t)micro, 6);
}

char *mvf_text_string(char *to, const char *text)
{
    size_t n = strlen(text);
    memcpy(to, text, n);
    return to + n;
}

char *mvf_text_member(char *to, const char *text, int64_t value)
{
    return mvf_text_int(mvf_text_string(to, text), value);
}

char *mvf_text_grid(char *to, const mvf_grid *grid)
{
    if (!mvf_grid_cells(grid))
        return mvf_text_string(to, "null");
    to = mvf_text_member(to, "{\"cols\":", grid->cols);
    to = mvf_text_member(to, ",\"rows\":", grid->rows);
    to = mvf_text_member(to, ",\"block\":[", grid->block_w);
    to = mvf_text_member(to, ",", grid->block_h);
    to = mvf_text_member(to, "],\"step\":[", grid->step_x);
    to = mvf_text_member(to, ",", grid->step_y);
    return mvf_text_string(to, "]}");
}
