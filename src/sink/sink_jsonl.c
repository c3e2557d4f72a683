/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/error.h"
#include "field/check.h"
#include "sink/sink.h"
#include "sink/text.h"

/* Room for one block, and for what stands before the blocks without the references. */
#define BLOCK_BYTES (18 * MVF_TEXT_NUMBER)
#define FRAME_BYTES 2048
#define BUFFER_BYTES (1 << 16)

typedef struct jsonl_state {
    char *to;
    char buffer[BUFFER_BYTES];
} jsonl_state;

static mvf_status make_room(mvf_sink *sink, size_t n_bytes)
{
    jsonl_state *state = sink->state;
    size_t n = (size_t)(state->to - state->buffer);
    if (BUFFER_BYTES - n >= n_bytes)
        return MVF_OK;
    state->to = state->buffer;
    return mvf_sink_put(sink, state->buffer, n);
}

static char *put_number_or_null(char *to, int64_t value, int known)
{
    return known ? mvf_text_int(to, value) : mvf_text_string(to, "null");
}

static char *put_time_members(char *to, const mvf_field *field)
{
    to = mvf_text_string(to, "{\"frame\":");
    to = put_number_or_null(to, field->frame, field->frame != MVF_NO_FRAME);
    to = mvf_text_string(to, ",\"pts\":");
    to = put_number_or_null(to, field->pts, field->pts != MVF_NO_PTS);
    to = mvf_text_member(to, ",\"time_base\":[", field->time_base.num);
    to = mvf_text_member(to, ",", field->time_base.den);
    to = mvf_text_string(to, "],\"time\":");
    char *time = to;
    to = mvf_text_time(to, field->pts, field->time_base);
    return to == time ? mvf_text_string(to, "null") : to;
}

static char *put_picture_members(char *to, const mvf_field *field)
{
    to = mvf_text_string(to, ",\"type\":\"");
    *to++ = mvf_picture_type_letter(field->type);
    to = mvf_text_string(to, "\",\"key\":");
    to = mvf_text_string(to, field->flags & MVF_FIELD_KEY ? "true" : "false");
    if (field->flags & MVF_FIELD_DAMAGED)
        to = mvf_text_string(to, ",\"damaged\":true");
    if (field->flags & MVF_FIELD_DUPLICATE)
        to = mvf_text_string(to, ",\"duplicate\":true");
    if (field->flags & MVF_FIELD_RESIDUAL)
        to = mvf_text_string(to, ",\"residual\":true");
    to = mvf_text_string(to, ",\"source\":");
    to = mvf_text_string(to, field->source == MVF_VECTORS_CODEC ? "\"codec\"" : "\"search\"");
    to = mvf_text_member(to, ",\"width\":", field->width);
    to = mvf_text_member(to, ",\"height\":", field->height);
    to = mvf_text_member(to, ",\"bit_depth\":", field->bit_depth);
    return mvf_text_member(to, ",\"mv_scale\":", field->mv_scale);
}

static char *put_reference(char *to, const mvf_reference *reference)
{
    to = mvf_text_string(to, "{\"frame\":");
    to = put_number_or_null(to, reference->frame, reference->frame != MVF_NO_FRAME);
    to = mvf_text_string(to, ",\"pts\":");
    to = put_number_or_null(to, reference->pts, reference->pts != MVF_NO_PTS);
    return mvf_text_string(to, "}");
}

static char *put_vector(char *to, const mvf_field *field, const mvf_block *block)
{
    if (!block->dir)
        return mvf_text_string(to, "null,null,null]");
    to = mvf_text_vector(to, block->mv_x, field->mv_scale);
    *to++ = ',';
    to = mvf_text_vector(to, block->mv_y, field->mv_scale);
    *to++ = ',';
    to = put_number_or_null(to, block->cost, field->source != MVF_VECTORS_CODEC);
    *to++ = ']';
    return to;
}

/* What a method that rates its vectors adds to a block. */
static char *put_rating(char *to, const mvf_block *block, uint8_t confidence)
{
    to = mvf_text_member(to - 1, ",", confidence);
    to = mvf_text_member(to, ",", block->flags);
    *to++ = ']';
    return to;
}

static char *put_block(char *to, const mvf_field *field, const mvf_block *block)
{
    int64_t reference = block->ref < 0 ? MVF_NO_FRAME : field->references[block->ref].frame;
    const int64_t place[4] = {block->x, block->y, block->w, block->h};
    *to++ = '[';
    to = mvf_text_int(to, block->dir);
    *to++ = ',';
    to = put_number_or_null(to, reference, reference != MVF_NO_FRAME);
    *to++ = ',';
    for (int i = 0; i < 4; i++) {
        to = mvf_text_int(to, place[i]);
        *to++ = ',';
    }
    return put_vector(to, field, block);
}

static mvf_status start(mvf_sink *sink)
{
    jsonl_state *state = sink->state;
    state->to = state->buffer;
    return MVF_OK;
}

static mvf_status write_references(mvf_sink *sink, const mvf_field *field)
{
    jsonl_state *state = sink->state;
    state->to = mvf_text_string(state->to, ",\"references\":[");
    for (size_t i = 0; i < field->n_references; i++) {
        MVF_TRY(make_room(sink, FRAME_BYTES));
        if (i)
            *state->to++ = ',';
        state->to = put_reference(state->to, &field->references[i]);
    }
    state->to = mvf_text_string(state->to, "]");
    return MVF_OK;
}

static mvf_status write_blocks(mvf_sink *sink, const mvf_field *field)
{
    jsonl_state *state = sink->state;
    for (size_t i = 0; i < field->n_blocks; i++) {
        MVF_TRY(make_room(sink, BLOCK_BYTES));
        if (i)
            *state->to++ = ',';
        state->to = put_block(state->to, field, &field->blocks[i]);
        if (field->confidence)
            state->to = put_rating(state->to, &field->blocks[i], field->confidence[i]);
    }
    return MVF_OK;
}

static mvf_status write_line(mvf_sink *sink, const mvf_field *field)
{
    jsonl_state *state = sink->state;
    MVF_TRY(make_room(sink, FRAME_BYTES));
    state->to = put_time_members(state->to, field);
    state->to = put_picture_members(state->to, field);
    state->to = mvf_text_grid(mvf_text_string(state->to, ",\"grid\":"), &field->grid);
    MVF_TRY(write_references(sink, field));
    state->to =
        mvf_text_string(state->to, ",\"columns\":[\"dir\",\"ref\",\"x\",\"y\",\"w\",\"h\",\"mv_x\","
                                   "\"mv_y\",\"cost\"");
    if (field->confidence)
        state->to = mvf_text_string(state->to, ",\"confidence\",\"flags\"");
    state->to = mvf_text_string(state->to, "],\"blocks\":[");
    MVF_TRY(write_blocks(sink, field));
    MVF_TRY(make_room(sink, BLOCK_BYTES));
    state->to = mvf_text_string(state->to, "]}\n");
    MVF_TRY(make_room(sink, BUFFER_BYTES));
    return mvf_output_flush(&sink->output);
}

const mvf_sink_format_ops mvf_sink_jsonl = {.name = "jsonl",
                                            .extension = ".jsonl",
                                            .state_bytes = sizeof(jsonl_state),
                                            .open = start,
                                            .write = write_line};
