/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/error.h"
#include "sink/sink.h"
#include "sink/text.h"

/* Room for one row: 15 numbers, the separators and names. */
#define ROW_BYTES (16 * MVF_TEXT_NUMBER)
#define BUFFER_BYTES (1 << 16)

typedef struct csv_state {
    /* Whether there are columns for confidence and flags: as the first field has them. */
    int is_rated;
    char buffer[BUFFER_BYTES];
} csv_state;

/* What the rows of one frame start with. */
static char *put_frame_columns(char *to, const mvf_field *field)
{
    if (field->frame != MVF_NO_FRAME)
        to = mvf_text_int(to, field->frame);
    *to++ = ',';
    if (field->pts != MVF_NO_PTS)
        to = mvf_text_int(to, field->pts);
    *to++ = ',';
    to = mvf_text_time(to, field->pts, field->time_base);
    *to++ = ',';
    *to++ = mvf_picture_type_letter(field->type);
    return mvf_text_string(to, field->source == MVF_VECTORS_CODEC ? ",codec" : ",search");
}

static char *put_reference(char *to, const mvf_field *field, const mvf_block *block)
{
    if (block->ref < 0 || field->references[block->ref].frame == MVF_NO_FRAME)
        return to;
    return mvf_text_int(to, field->references[block->ref].frame);
}

/* What a method that rates its vectors adds to a row. */
static char *put_rating(char *to, const mvf_field *field, size_t i)
{
    *to++ = ',';
    if (field->confidence)
        to = mvf_text_int(to, field->confidence[i]);
    *to++ = ',';
    return mvf_text_int(to, field->blocks[i].flags);
}

static char *put_block_columns(char *to, const mvf_field *field, const mvf_block *block)
{
    *to++ = ',';
    to = mvf_text_int(to, block->dir);
    *to++ = ',';
    to = put_reference(to, field, block);
    *to++ = ',';
    to = mvf_text_int(to, block->x);
    *to++ = ',';
    to = mvf_text_int(to, block->y);
    *to++ = ',';
    to = mvf_text_int(to, block->w);
    *to++ = ',';
    to = mvf_text_int(to, block->h);
    *to++ = ',';
    if (block->dir)
        to = mvf_text_vector(to, block->mv_x, field->mv_scale);
    *to++ = ',';
    if (block->dir)
        to = mvf_text_vector(to, block->mv_y, field->mv_scale);
    *to++ = ',';
    /* A codec's vectors come without a cost. */
    if (block->dir && field->source != MVF_VECTORS_CODEC)
        to = mvf_text_int(to, block->cost);
    return to;
}

static mvf_status write_header(mvf_sink *sink)
{
    static const char header[] = "frame,pts,time,type,source,dir,ref,x,y,w,h,mv_x,mv_y,cost",
                      rated[] = ",confidence,flags";
    const csv_state *state = sink->state;
    MVF_TRY(mvf_sink_put(sink, header, sizeof header - 1));
    if (state->is_rated)
        MVF_TRY(mvf_sink_put(sink, rated, sizeof rated - 1));
    return mvf_sink_put(sink, "\n", 1);
}

static mvf_status start_rows(mvf_sink *sink, const mvf_field *field)
{
    csv_state *state = sink->state;
    if (!sink->n_fields) {
        state->is_rated = field->confidence != NULL;
        return write_header(sink);
    }
    if (field->confidence && field->n_blocks && !state->is_rated)
        return mvf_sink_refuse(sink, field,
                               "its blocks have a confidence, and the first frame's had no column "
                               "for it; jsonl, npz and mvf hold both");
    return MVF_OK;
}

static mvf_status write_rows(mvf_sink *sink, const mvf_field *field)
{
    csv_state *state = sink->state;
    char prefix[ROW_BYTES], *to = state->buffer, *last = to + BUFFER_BYTES - ROW_BYTES;
    size_t n_prefix = (size_t)(put_frame_columns(prefix, field) - prefix);
    MVF_TRY(start_rows(sink, field));
    if (!field->n_blocks) {
        memcpy(to, prefix, n_prefix);
        to = mvf_text_string(to + n_prefix, state->is_rated ? ",,,,,,,,,,,\n" : ",,,,,,,,,\n");
    }
    for (size_t i = 0; i < field->n_blocks; i++) {
        if (to > last) {
            MVF_TRY(mvf_sink_put(sink, state->buffer, (size_t)(to - state->buffer)));
            to = state->buffer;
        }
        memcpy(to, prefix, n_prefix);
        to = put_block_columns(to + n_prefix, field, &field->blocks[i]);
        if (state->is_rated)
            to = put_rating(to, field, i);
        *to++ = '\n';
    }
    MVF_TRY(mvf_sink_put(sink, state->buffer, (size_t)(to - state->buffer)));
    return mvf_output_flush(&sink->output);
}

static mvf_status finish(mvf_sink *sink)
{
    return sink->n_fields ? MVF_OK : write_header(sink);
}

const mvf_sink_format_ops mvf_sink_csv = {.name = "csv",
                                          .extension = ".csv",
                                          .state_bytes = sizeof(csv_state),
                                          .write = write_rows,
                                          .finish = finish};
