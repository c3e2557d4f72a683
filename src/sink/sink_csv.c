/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sink/sink.h"
#include "sink/text.h"

/* Room for one row: 15 numbers, the separators and names. */
#define ROW_BYTES (16 * MVF_TEXT_NUMBER)
#define BUFFER_BYTES (1 << 16)

/* What stands before a block's place in most rows has no more characters than this. */
#define USUAL_PREFIX 64
/* Vectors whose text is kept: up to 256 px in quarters. */
#define MOST_KEPT 1024

/* Where a block lies, and the text of it: on a grid, that of the frame before is right again. */
typedef struct csv_place {
    int32_t x, y;
    uint16_t w, h;
    uint8_t n;
    char text[31];
} csv_place;

typedef struct csv_vector {
    uint8_t n;
    char text[15];
} csv_vector;

typedef struct csv_state {
    /* Whether there are columns for confidence and flags: as the first field has them. */
    int is_rated;
    csv_place *places;
    size_t n_places;
    /* The text of -MOST_KEPT to MOST_KEPT - 1 in units of 1/kept_scale px, where there is any. */
    int32_t kept_scale;
    csv_vector vectors[2 * MOST_KEPT];
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

/* Copies a text that is kept, with all of its room: there is as much in the row. */
static char *put_place(char *to, csv_place *place, const mvf_block *block)
{
    if (place->x != block->x || place->y != block->y || place->w != block->w ||
        place->h != block->h || !place->n) {
        char text[4 * MVF_TEXT_NUMBER + 5], *at = mvf_text_int(text, block->x);
        *at++ = ',';
        at = mvf_text_int(at, block->y);
        *at++ = ',';
        at = mvf_text_int(at, block->w);
        *at++ = ',';
        at = mvf_text_int(at, block->h);
        *at++ = ',';
        size_t n = (size_t)(at - text);
        memcpy(to, text, n);
        *place = (csv_place){.n = 0};
        if (n > sizeof place->text)
            return to + n;
        *place = (csv_place){block->x, block->y, block->w, block->h, .n = (uint8_t)n};
        memcpy(place->text, text, n);
        return to + n;
    }
    memcpy(to, place->text, sizeof place->text);
    return to + place->n;
}

static char *put_vector(char *to, csv_state *state, int32_t mv)
{
    if (mv < -MOST_KEPT || mv >= MOST_KEPT)
        return mvf_text_vector(to, mv, state->kept_scale);
    csv_vector *vector = &state->vectors[mv + MOST_KEPT];
    if (!vector->n) {
        char text[MVF_TEXT_NUMBER];
        size_t n = (size_t)(mvf_text_vector(text, mv, state->kept_scale) - text);
        memcpy(to, text, n);
        if (n <= sizeof vector->text) {
            vector->n = (uint8_t)n;
            memcpy(vector->text, text, n);
        }
        return to + n;
    }
    memcpy(to, vector->text, sizeof vector->text);
    return to + vector->n;
}

static char *put_block_columns(char *to, csv_state *state, const mvf_field *field, size_t i)
{
    const mvf_block *block = &field->blocks[i];
    to = put_place(to, &state->places[i], block);
    if (block->dir)
        to = put_vector(to, state, block->mv_x);
    *to++ = ',';
    if (block->dir)
        to = put_vector(to, state, block->mv_y);
    *to++ = ',';
    /* A codec's vectors come without a cost. */
    if (block->dir && field->source != MVF_VECTORS_CODEC)
        to = mvf_text_int(to, block->cost);
    return to;
}

/* What all rows of the frame that have this direction and reference start with. */
static char *put_start(char *to, const mvf_field *field, const mvf_block *block)
{
    to = put_frame_columns(to, field);
    *to++ = ',';
    to = mvf_text_int(to, block->dir);
    *to++ = ',';
    to = put_reference(to, field, block);
    *to++ = ',';
    return to;
}

/* Room for the places of so many blocks; texts of vectors in this unit. */
static mvf_status prepare(csv_state *state, const mvf_field *field)
{
    if (state->kept_scale != field->mv_scale)
        memset(state->vectors, 0, sizeof state->vectors);
    state->kept_scale = field->mv_scale;
    size_t n_before = state->n_places;
    if (field->n_blocks <= n_before)
        return MVF_OK;
    csv_place *places =
        mvf_grow_array(state->places, &state->n_places, field->n_blocks, sizeof *places);
    if (!places)
        return MVF_ERROR_MEMORY;
    memset(places + n_before, 0, (state->n_places - n_before) * sizeof *places);
    state->places = places;
    return MVF_OK;
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
    size_t n_prefix = 0;
    MVF_TRY(prepare(state, field));
    MVF_TRY(start_rows(sink, field));
    if (!field->n_blocks)
        to = mvf_text_string(put_frame_columns(to, field),
                             state->is_rated ? ",,,,,,,,,,,\n" : ",,,,,,,,,\n");
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        if (to > last) {
            MVF_TRY(mvf_sink_put(sink, state->buffer, (size_t)(to - state->buffer)));
            to = state->buffer;
        }
        if (i == 0 || block->dir != block[-1].dir || block->ref != block[-1].ref)
            n_prefix = (size_t)(put_start(prefix, field, block) - prefix);
        /* A copy of fixed size takes a few instructions; there is room for it. */
        if (n_prefix <= USUAL_PREFIX)
            memcpy(to, prefix, USUAL_PREFIX);
        else
            memcpy(to, prefix, n_prefix);
        to = put_block_columns(to + n_prefix, state, field, i);
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

static void release(mvf_sink *sink)
{
    free(((csv_state *)sink->state)->places);
}

const mvf_sink_format_ops mvf_sink_csv = {.name = "csv",
                                          .extension = ".csv",
                                          .state_bytes = sizeof(csv_state),
                                          .write = write_rows,
                                          .finish = finish,
                                          .release = release};
