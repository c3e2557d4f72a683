/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "field/check.h"
#include "sink/numpy.h"
#include "sink/sink.h"
#include "sink/text.h"
#include "sink/zip.h"

/* One block as the structured array holds it. */
#define RECORD_BYTES 27
#define RECORD_DESCR                                                                              \
    "[('x', '<i4'), ('y', '<i4'), ('w', '<u2'), ('h', '<u2'), ('mv_x', '<i2'), ('mv_y', '<i2'), " \
    "('cost', '<u4'), ('ref', '<i4'), ('dir', '|i1'), ('flags', '|u1'), ('confidence', '|u1')]"
#define MISSING_MV INT16_MIN
#define MISSING_COST UINT32_MAX
#define META_BYTES 2048

/* A field without its blocks and references. */
typedef struct npz_field {
    mvf_field head;
    size_t first_block;
} npz_field;

typedef struct npz_state {
    npz_field *fields;
    size_t n_fields, capacity;
    /* Whether any field has a confidence for its blocks. */
    int has_confidence;
    /* The records of all blocks; their number is known only at the end, and every array of the
     * archive needs all of them. */
    FILE *scratch;
    size_t n_blocks;
    uint8_t *records;
    uint8_t *row;
    size_t row_bytes;
    mvf_zip *zip;
} npz_state;

/* An array of the grid layout: a part of each block's record, or what stands for a block that is
 * missing. */
typedef struct grid_array {
    const char *name, *descr;
    size_t offset, n_bytes;
    int n_components;
    uint8_t missing[4];
} grid_array;

static const grid_array grid_arrays[] = {
    {"mv.npy", "'<i2'", 12, 4, 2, {0, 0x80, 0, 0x80}},
    {"cost.npy", "'<u4'", 16, 4, 1, {0xff, 0xff, 0xff, 0xff}},
    {"dir.npy", "'|i1'", 24, 1, 1, {0}},
    {"ref.npy", "'<i4'", 20, 4, 1, {0xff, 0xff, 0xff, 0xff}},
    {"block_flags.npy", "'|u1'", 25, 1, 1, {0}},
};
/* Where the search rates its vectors. */
static const grid_array confidence_array = {"confidence.npy", "'|u1'", 26, 1, 1, {0}};

static mvf_status scratch_fail(mvf_sink *sink)
{
    return mvf_fail(&sink->options.logger, MVF_ERROR_IO,
                    "%s: its temporary file cannot be used: %s", sink->path, strerror(errno));
}

static mvf_status start(mvf_sink *sink)
{
    npz_state *state = sink->state;
    state->scratch = mvf_output_scratch(sink->path);
    return state->scratch ? MVF_OK : scratch_fail(sink);
}

static int32_t reference_frame(const mvf_field *field, const mvf_block *block)
{
    int64_t frame = block->ref < 0 ? -1 : field->references[block->ref].frame;
    return frame < 0 || frame > INT32_MAX ? -1 : (int32_t)frame;
}

static void put_record(uint8_t *to, const mvf_field *field, size_t index)
{
    const mvf_block *block = &field->blocks[index];
    int has_cost = block->dir && field->source != MVF_VECTORS_CODEC;
    to = mvf_put_le(to, (uint32_t)block->x, 4);
    to = mvf_put_le(to, (uint32_t)block->y, 4);
    to = mvf_put_le(to, block->w, 2);
    to = mvf_put_le(to, block->h, 2);
    to = mvf_put_le(to, (uint16_t)(block->dir ? block->mv_x : MISSING_MV), 2);
    to = mvf_put_le(to, (uint16_t)(block->dir ? block->mv_y : MISSING_MV), 2);
    to = mvf_put_le(to, has_cost ? block->cost : MISSING_COST, 4);
    to = mvf_put_le(to, (uint32_t)reference_frame(field, block), 4);
    to = mvf_put_le(to, (uint8_t)block->dir, 1);
    to = mvf_put_le(to, block->flags, 1);
    mvf_put_le(to, field->confidence ? field->confidence[index] : 0, 1);
}

/* Room for so many records in the row. */
static mvf_status reserve_row(npz_state *state, size_t n)
{
    return mvf_reserve(&state->row, &state->row_bytes, (uint64_t)n * RECORD_BYTES);
}

static mvf_status keep_field(mvf_sink *sink, const mvf_field *field)
{
    npz_state *state = sink->state;
    npz_field *fields =
        mvf_grow_array(state->fields, &state->capacity, state->n_fields + 1, sizeof *fields);
    if (!fields)
        return MVF_ERROR_MEMORY;
    state->fields = fields;
    MVF_TRY(reserve_row(state, field->n_blocks));
    for (size_t i = 0; i < field->n_blocks; i++)
        put_record(state->row + i * RECORD_BYTES, field, i);
    state->has_confidence |= field->confidence != NULL;
    if (fwrite(state->row, RECORD_BYTES, field->n_blocks, state->scratch) != field->n_blocks)
        return scratch_fail(sink);
    state->fields[state->n_fields++] = (npz_field){*field, state->n_blocks};
    state->n_blocks += field->n_blocks;
    return MVF_OK;
}

/* The grid of all fields that have blocks, or NULL where there is no such one. */
static const mvf_field *find_common_grid(const npz_state *state)
{
    const mvf_field *first = NULL;
    for (size_t i = 0; i < state->n_fields; i++) {
        const mvf_field *field = &state->fields[i].head;
        if (!first && mvf_grid_cells(&field->grid))
            first = field;
        if (!field->n_blocks)
            continue;
        if (!first || field->n_blocks != mvf_grid_cells(&field->grid) ||
            memcmp(&field->grid, &first->grid, sizeof field->grid) ||
            field->mv_scale != first->mv_scale)
            return NULL;
    }
    return first;
}

static mvf_status begin_array(npz_state *state, const mvf_sink *sink, const char *name,
                              const char *descr, const int64_t *shape, int n_dimensions)
{
    char header[MVF_NUMPY_HEADER_BYTES];
    size_t n = mvf_numpy_header(header, descr, shape, n_dimensions);
    MVF_TRY(mvf_zip_begin(state->zip, name, sink->options.compression));
    return mvf_zip_put(state->zip, header, n);
}

/* Gathers one part of the records of a field; the loop is the format's speed. */
static void gather(uint8_t *to, const uint8_t *record, size_t n_blocks, const grid_array *array)
{
    record += array->offset;
    if (array->n_bytes == 1)
        for (size_t i = 0; i < n_blocks; i++, record += RECORD_BYTES)
            to[i] = *record;
    else
        for (size_t i = 0; i < n_blocks; i++, record += RECORD_BYTES)
            memcpy(to + 4 * i, record, 4);
}

static mvf_status write_grid_array(mvf_sink *sink, const mvf_grid *grid, const grid_array *array)
{
    npz_state *state = sink->state;
    size_t cells = mvf_grid_cells(grid);
    const int64_t shape[4] = {(int64_t)state->n_fields, grid->rows, grid->cols, 2};
    MVF_TRY(begin_array(state, sink, array->name, array->descr, shape,
                        array->n_components == 2 ? 4 : 3));
    for (size_t i = 0; i < state->n_fields; i++) {
        const npz_field *field = &state->fields[i];
        if (field->head.n_blocks)
            gather(state->row, state->records + field->first_block * RECORD_BYTES, cells, array);
        else
            for (size_t cell = 0; cell < cells; cell++)
                memcpy(state->row + cell * array->n_bytes, array->missing, array->n_bytes);
        MVF_TRY(mvf_zip_put(state->zip, state->row, cells * array->n_bytes));
    }
    return mvf_zip_end(state->zip);
}

static mvf_status write_grid_arrays(mvf_sink *sink, const mvf_grid *grid)
{
    npz_state *state = sink->state;
    MVF_TRY(reserve_row(state, mvf_grid_cells(grid)));
    for (size_t i = 0; i < sizeof grid_arrays / sizeof grid_arrays[0]; i++)
        MVF_TRY(write_grid_array(sink, grid, &grid_arrays[i]));
    return state->has_confidence ? write_grid_array(sink, grid, &confidence_array) : MVF_OK;
}

static mvf_status write_block_arrays(mvf_sink *sink)
{
    npz_state *state = sink->state;
    int64_t shape[1] = {(int64_t)state->n_blocks};
    MVF_TRY(begin_array(state, sink, "blocks.npy", RECORD_DESCR, shape, 1));
    MVF_TRY(mvf_zip_put(state->zip, state->records, state->n_blocks * RECORD_BYTES));
    MVF_TRY(mvf_zip_end(state->zip));
    shape[0] = (int64_t)state->n_fields + 1;
    MVF_TRY(begin_array(state, sink, "offsets.npy", "'<i8'", shape, 1));
    for (size_t i = 0; i <= state->n_fields; i++) {
        uint8_t bytes[8];
        mvf_put_le(bytes, i < state->n_fields ? state->fields[i].first_block : state->n_blocks, 8);
        MVF_TRY(mvf_zip_put(state->zip, bytes, 8));
    }
    return mvf_zip_end(state->zip);
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t get_frame(const mvf_field *field)
{
    return (uint64_t)field->frame;
}

static uint64_t get_pts(const mvf_field *field)
{
    return (uint64_t)field->pts;
}

static uint64_t get_time(const mvf_field *field)
{
    if (field->pts == MVF_NO_PTS || field->time_base.num <= 0 || field->time_base.den <= 0)
        return double_bits(NAN);
    return double_bits((double)field->pts * field->time_base.num / field->time_base.den);
}

static uint64_t get_type(const mvf_field *field)
{
    return (uint8_t)mvf_picture_type_letter(field->type);
}

static uint64_t get_flags(const mvf_field *field)
{
    return field->flags;
}

static uint64_t get_mv_scale(const mvf_field *field)
{
    return (uint32_t)field->mv_scale;
}

static uint64_t get_width(const mvf_field *field)
{
    return (uint32_t)field->width;
}

static uint64_t get_height(const mvf_field *field)
{
    return (uint32_t)field->height;
}

/* One value a field. */
static const struct {
    const char *name, *descr;
    int n_bytes;
    uint64_t (*get)(const mvf_field *field);
} frame_arrays[] = {
    {"frame.npy", "'<i8'", 8, get_frame}, {"pts.npy", "'<i8'", 8, get_pts},
    {"time.npy", "'<f8'", 8, get_time},   {"type.npy", "'|S1'", 1, get_type},
    {"flags.npy", "'<u4'", 4, get_flags}, {"mv_scale.npy", "'<i4'", 4, get_mv_scale},
    {"width.npy", "'<i4'", 4, get_width}, {"height.npy", "'<i4'", 4, get_height},
};

static mvf_status write_frame_arrays(mvf_sink *sink)
{
    npz_state *state = sink->state;
    const int64_t shape[1] = {(int64_t)state->n_fields};
    for (size_t a = 0; a < sizeof frame_arrays / sizeof frame_arrays[0]; a++) {
        MVF_TRY(begin_array(state, sink, frame_arrays[a].name, frame_arrays[a].descr, shape, 1));
        for (size_t i = 0; i < state->n_fields; i++) {
            uint8_t bytes[8];
            mvf_put_le(bytes, frame_arrays[a].get(&state->fields[i].head), frame_arrays[a].n_bytes);
            MVF_TRY(mvf_zip_put(state->zip, bytes, (size_t)frame_arrays[a].n_bytes));
        }
        MVF_TRY(mvf_zip_end(state->zip));
    }
    return MVF_OK;
}

/* NULL: the blocks of the fields follow no common grid. */
static char *put_layout(char *to, const mvf_grid *grid)
{
    static const mvf_grid none = {0};
    to = mvf_text_string(to, ",\"layout\":\"");
    to = mvf_text_string(to, grid ? "grid\",\"grid\":" : "blocks\",\"grid\":");
    return mvf_text_grid(to, grid ? grid : &none);
}

/* The first field with blocks, or else the first one, or NULL. */
static const mvf_field *find_first(const npz_state *state)
{
    for (size_t i = 0; i < state->n_fields; i++)
        if (state->fields[i].head.n_blocks)
            return &state->fields[i].head;
    return state->n_fields ? &state->fields[0].head : NULL;
}

static size_t make_meta(char *text, const mvf_sink *sink, const mvf_grid *grid)
{
    const npz_state *state = sink->state;
    mvf_field none = {.mv_scale = 1, .time_base = {0, 1}};
    const mvf_field *first = find_first(state) ? find_first(state) : &none;
    char *to = mvf_text_string(text, "{\"vectors\":\"from a block to its prediction in the "
                                     "reference; x right, y down; unit 1/mv_scale px\"");
    to = put_layout(to, grid);
    to = mvf_text_member(to, ",\"mv_scale\":", first->mv_scale);
    to = mvf_text_member(to, ",\"width\":", first->width);
    to = mvf_text_member(to, ",\"height\":", first->height);
    to = mvf_text_member(to, ",\"bit_depth\":", first->bit_depth);
    to = mvf_text_member(to, ",\"time_base\":[", first->time_base.num);
    to = mvf_text_member(to, ",", first->time_base.den);
    to = mvf_text_string(to, "],\"source\":");
    to = mvf_text_string(to, first->source == MVF_VECTORS_CODEC ? "\"codec\"" : "\"search\"");
    to = mvf_text_member(to, ",\"rotation\":", sink->options.rotation);
    to = mvf_text_member(to, ",\"missing_mv\":", MISSING_MV);
    to = mvf_text_member(to, ",\"missing_cost\":", MISSING_COST);
    to = mvf_text_member(to, ",\"missing_ref\":", -1);
    to = mvf_text_member(to, ",\"missing_pts\":", MVF_NO_PTS);
    return (size_t)(mvf_text_string(to, "}") - text);
}

/* NumPy's text has four bytes a character. */
static mvf_status write_meta(mvf_sink *sink, const mvf_grid *grid)
{
    npz_state *state = sink->state;
    char text[META_BYTES], descr[MVF_TEXT_NUMBER + 8];
    uint8_t wide[4 * META_BYTES];
    size_t n = make_meta(text, sink, grid);
    char *end = mvf_text_int(mvf_text_string(descr, "'<U"), (int64_t)n);
    *mvf_text_string(end, "'") = '\0';
    for (size_t i = 0; i < n; i++)
        mvf_put_le(wide + 4 * i, (uint8_t)text[i], 4);
    MVF_TRY(begin_array(state, sink, "meta.npy", descr, NULL, 0));
    MVF_TRY(mvf_zip_put(state->zip, wide, 4 * n));
    return mvf_zip_end(state->zip);
}

static mvf_status map_records(mvf_sink *sink)
{
    npz_state *state = sink->state;
    if (fflush(state->scratch))
        return scratch_fail(sink);
    if (!state->n_blocks)
        return MVF_OK;
    void *mapped = mmap(NULL, state->n_blocks * RECORD_BYTES, PROT_READ, MAP_PRIVATE,
                        fileno(state->scratch), 0);
    if (mapped == MAP_FAILED)
        return scratch_fail(sink);
    state->records = mapped;
    return MVF_OK;
}

static mvf_status write_archive(mvf_sink *sink)
{
    npz_state *state = sink->state;
    const mvf_field *common = find_common_grid(state);
    const mvf_grid *grid = common ? &common->grid : NULL;
    MVF_TRY(map_records(sink));
    MVF_TRY(mvf_zip_open(&state->zip, &sink->output));
    MVF_TRY(grid ? write_grid_arrays(sink, grid) : write_block_arrays(sink));
    MVF_TRY(write_frame_arrays(sink));
    MVF_TRY(write_meta(sink, grid));
    return mvf_zip_finish(state->zip);
}

static void release(mvf_sink *sink)
{
    npz_state *state = sink->state;
    if (state->records)
        munmap(state->records, state->n_blocks * RECORD_BYTES);
    if (state->scratch)
        fclose(state->scratch);
    mvf_zip_free(&state->zip);
    free(state->fields);
    free(state->row);
}

const mvf_sink_format_ops mvf_sink_npz = {.name = "npz",
                                          .extension = ".npz",
                                          .state_bytes = sizeof(npz_state),
                                          .files = MVF_SINK_ONE_SEEKABLE_FILE,
                                          .compresses = 1,
                                          .open = start,
                                          .write = keep_field,
                                          .finish = write_archive,
                                          .release = release};
