/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "sink/sink.h"

/* Room for one row: 13 numbers of at most 21 characters, separators and names. */
#define ROW_BYTES 384

/* Numbers are put together from integers: printf's decimal point is the locale's. */
static int print_decimal(char *text, size_t size, int64_t scaled, int n_digits)
{
    uint64_t unit = 1, magnitude = scaled < 0 ? 0 - (uint64_t)scaled : (uint64_t)scaled;
    for (int i = 0; i < n_digits; i++)
        unit *= 10;
    return snprintf(text, size, "%s%" PRIu64 ".%0*" PRIu64, scaled < 0 ? "-" : "", magnitude / unit,
                    n_digits, magnitude % unit);
}

/* Seconds to the microsecond, rounded to nearest; nothing without a time. */
static int print_time(char *text, size_t size, int64_t pts, mvf_rational time_base)
{
    if (pts == MVF_NO_PTS || !time_base.num || !time_base.den)
        return 0;
    int64_t num = (int64_t)time_base.num * 1000000, den = time_base.den;
    int64_t whole = pts / den, rest = pts % den;
    int64_t micro = (rest * num + (rest < 0 ? -den : den) / 2) / den;
    if (whole > INT64_MAX / num / 2 || whole < -(INT64_MAX / num / 2))
        return 0;
    return print_decimal(text, size, whole * num + micro, 6);
}

/* mv / scale exactly: the scale is a power of two, so the decimals end; zeros are cut. */
static int print_vector(char *text, size_t size, int32_t mv, int32_t scale)
{
    int64_t scaled = mv;
    int n_digits = 0;
    for (int32_t s = scale; s > 1; s /= 2, n_digits++)
        scaled *= 5;
    if (!n_digits)
        return snprintf(text, size, "%" PRId32, mv);
    int length = print_decimal(text, size, scaled, n_digits);
    while (text[length - 1] == '0')
        length--;
    if (text[length - 1] == '.')
        length--;
    text[length] = '\0';
    return length;
}

static int print_frame_columns(char *text, const mvf_field *field)
{
    int n = snprintf(text, ROW_BYTES, "%" PRId64 ",", field->frame);
    if (field->pts != MVF_NO_PTS)
        n += snprintf(text + n, ROW_BYTES - (size_t)n, "%" PRId64, field->pts);
    text[n++] = ',';
    n += print_time(text + n, ROW_BYTES - (size_t)n, field->pts, field->time_base);
    n += snprintf(text + n, ROW_BYTES - (size_t)n, ",%c,%s", mvf_picture_type_letter(field->type),
                  field->source == MVF_VECTORS_CODEC ? "codec" : "search");
    return n;
}

static int print_block_columns(char *text, size_t size, const mvf_field *field,
                               const mvf_block *block)
{
    int n = snprintf(text, size, ",%d,", block->dir);
    if (block->ref >= 0)
        n += snprintf(text + n, size - (size_t)n, "%" PRId64, field->references[block->ref].frame);
    n += snprintf(text + n, size - (size_t)n, ",%" PRId32 ",%" PRId32 ",%u,%u,", block->x, block->y,
                  block->w, block->h);
    n += print_vector(text + n, size - (size_t)n, block->mv_x, field->mv_scale);
    text[n++] = ',';
    n += print_vector(text + n, size - (size_t)n, block->mv_y, field->mv_scale);
    return n + snprintf(text + n, size - (size_t)n, ",%" PRIu32 "\n", block->cost);
}

static mvf_status write_header(mvf_sink *sink)
{
    static const char header[] = "frame,pts,time,type,source,dir,ref,x,y,w,h,mv_x,mv_y,cost\n";
    return mvf_sink_put(sink, header, sizeof header - 1);
}

static mvf_status write_rows(mvf_sink *sink, const mvf_field *field)
{
    char row[ROW_BYTES];
    int prefix = print_frame_columns(row, field);
    if (!field->n_blocks) {
        static const char empty[] = ",,,,,,,,,\n";
        memcpy(row + prefix, empty, sizeof empty);
        return mvf_sink_put(sink, row, (size_t)prefix + sizeof empty - 1);
    }
    for (size_t i = 0; i < field->n_blocks; i++) {
        int n =
            print_block_columns(row + prefix, ROW_BYTES - (size_t)prefix, field, &field->blocks[i]);
        MVF_TRY(mvf_sink_put(sink, row, (size_t)(prefix + n)));
    }
    return MVF_OK;
}

static mvf_status finish(mvf_sink *sink)
{
    (void)sink;
    return MVF_OK;
}

const mvf_sink_format_ops mvf_sink_csv = {.name = "csv",
                                          .extension = ".csv",
                                          .open = write_header,
                                          .write = write_rows,
                                          .finish = finish};
