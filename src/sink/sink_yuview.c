/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/error.h"
#include "sink/sink.h"
#include "sink/text.h"

#define ROW_BYTES (10 * MVF_TEXT_NUMBER)
#define HEADER_BYTES 1024
#define BUFFER_BYTES (1 << 16)

/* The type numbers that the header gives. */
enum { TYPE_PAST, TYPE_FUTURE, TYPE_COST, TYPE_CONFIDENCE };

typedef struct yuview_state {
    /* The first field, without its blocks. */
    mvf_field first;
    /* 0 until the header is written. */
    int32_t mv_scale;
    /* Whether the header has a type for confidence. */
    int is_rated;
    char *to;
    char buffer[BUFFER_BYTES];
} yuview_state;

static char *put_frame_rate(char *to, mvf_rational rate)
{
    if (rate.num <= 0 || rate.den <= 0)
        return mvf_text_int(to, 0);
    return mvf_text_decimal(to, ((int64_t)rate.num * 1000 + rate.den / 2) / rate.den, 3);
}

static char *put_vector_type(char *to, const char *name, int type, const char *colour,
                             int32_t mv_scale)
{
    to = mvf_text_int(mvf_text_string(to, "%;type;"), type);
    to = mvf_text_string(mvf_text_string(to, ";"), name);
    to = mvf_text_string(to, ";vector;\n%;vectorColor;");
    to = mvf_text_string(to, colour);
    to = mvf_text_int(mvf_text_string(to, "\n%;scaleFactor;"), mv_scale > 0 ? mv_scale : 1);
    return mvf_text_string(to, "\n");
}

/* The mean absolute difference of a 16 x 16 block that the colours end at. */
static int64_t top_cost(const mvf_field *field)
{
    int64_t area =
        field->grid.block_w > 0 ? (int64_t)field->grid.block_w * field->grid.block_h : 256;
    int depth = field->bit_depth >= 8 && field->bit_depth <= 16 ? field->bit_depth : 8;
    int64_t top = area * (INT64_C(16) << (depth - 8));
    return top > INT32_MAX ? INT32_MAX : top;
}

static mvf_status write_header(mvf_sink *sink, const mvf_field *field)
{
    yuview_state *state = sink->state;
    char header[HEADER_BYTES];
    char *to = mvf_text_string(header, "%;syntax-version;v1.22\n%;seq-specs;mvfield;0;");
    to = mvf_text_int(to, field->width);
    to = mvf_text_int(mvf_text_string(to, ";"), field->height);
    to = put_frame_rate(mvf_text_string(to, ";"), sink->options.frame_rate);
    to = mvf_text_string(to, "\n");
    to = put_vector_type(to, "MVPast", TYPE_PAST, "220;40;40;255", field->mv_scale);
    to = put_vector_type(to, "MVFuture", TYPE_FUTURE, "40;80;220;255", field->mv_scale);
    to = mvf_text_int(mvf_text_string(to, "%;type;"), TYPE_COST);
    to = mvf_text_int(mvf_text_string(to, ";Cost;range;\n%;defaultRange;0;"), top_cost(field));
    to = mvf_text_string(to, ";jet\n");
    if (field->confidence) {
        to = mvf_text_int(mvf_text_string(to, "%;type;"), TYPE_CONFIDENCE);
        to = mvf_text_string(to, ";Confidence;range;\n%;defaultRange;0;255;jet\n");
    }
    state->is_rated = field->confidence != NULL;
    state->mv_scale = field->mv_scale;
    return mvf_sink_put(sink, header, (size_t)(to - header));
}

static char *put_place(char *to, int64_t frame, const mvf_block *block, int type)
{
    const int64_t values[6] = {frame, block->x, block->y, block->w, block->h, type};
    for (int i = 0; i < 6; i++) {
        to = mvf_text_int(to, values[i]);
        *to++ = ';';
    }
    return to;
}

static mvf_status flush(mvf_sink *sink, size_t room)
{
    yuview_state *state = sink->state;
    size_t n = (size_t)(state->to - state->buffer);
    if (BUFFER_BYTES - n >= room)
        return MVF_OK;
    state->to = state->buffer;
    return mvf_sink_put(sink, state->buffer, n);
}

/* YUView wants the rows of one frame and type together. */
static mvf_status write_type(mvf_sink *sink, const mvf_field *field, int64_t frame, int type)
{
    yuview_state *state = sink->state;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        int dir = type == TYPE_PAST ? -1 : type == TYPE_FUTURE ? 1 : block->dir;
        if (!block->dir || block->dir != dir)
            continue;
        MVF_TRY(flush(sink, ROW_BYTES));
        state->to = put_place(state->to, frame, block, type);
        if (type == TYPE_COST) {
            state->to = mvf_text_int(state->to, block->cost);
        } else if (type == TYPE_CONFIDENCE) {
            state->to = mvf_text_int(state->to, field->confidence[i]);
        } else {
            state->to = mvf_text_int(state->to, block->mv_x);
            *state->to++ = ';';
            state->to = mvf_text_int(state->to, block->mv_y);
        }
        *state->to++ = '\n';
    }
    return MVF_OK;
}

static mvf_status write_field(mvf_sink *sink, const mvf_field *field)
{
    yuview_state *state = sink->state;
    int64_t frame = field->frame == MVF_NO_FRAME ? sink->n_fields : field->frame;
    int last = field->source == MVF_VECTORS_CODEC ? TYPE_FUTURE : TYPE_COST;
    if (!sink->n_fields) {
        state->first = *field;
        state->first.confidence = NULL;
    }
    if (!field->n_blocks)
        return MVF_OK;
    /* A frame without vectors may not know their unit. */
    if (!state->mv_scale)
        MVF_TRY(write_header(sink, field));
    if (field->mv_scale != state->mv_scale)
        return mvf_sink_refuse(sink, field,
                               "its vector unit differs from the first frame's, and the file has "
                               "one; csv, jsonl, npz and mvf hold both");
    if (field->confidence && !state->is_rated)
        return mvf_sink_refuse(
            sink, field,
            "its blocks have a confidence, and the file's header has no type for "
            "it; jsonl, npz and mvf hold both");
    state->to = state->buffer;
    for (int type = TYPE_PAST; type <= last; type++)
        MVF_TRY(write_type(sink, field, frame, type));
    if (state->is_rated && field->confidence)
        MVF_TRY(write_type(sink, field, frame, TYPE_CONFIDENCE));
    MVF_TRY(flush(sink, BUFFER_BYTES));
    return mvf_output_flush(&sink->output);
}

static mvf_status finish(mvf_sink *sink)
{
    yuview_state *state = sink->state;
    return state->mv_scale ? MVF_OK : write_header(sink, &state->first);
}

const mvf_sink_format_ops mvf_sink_yuview = {.name = "yuview",
                                             .extension = ".yuview.csv",
                                             .state_bytes = sizeof(yuview_state),
                                             .write = write_field,
                                             .finish = finish};
