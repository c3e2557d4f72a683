/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "field/check.h"
#include "sink/numpy.h"
#include "sink/sink.h"

#define MISSING INT16_MIN

typedef struct npy_state {
    /* What all fields share; no cells until the first field that has a grid. */
    mvf_grid grid;
    int32_t mv_scale;
    uint8_t *cells;
    size_t n_cells;
} npy_state;

static mvf_status write_header(mvf_sink *sink)
{
    npy_state *state = sink->state;
    char header[MVF_NUMPY_HEADER_BYTES];
    const int64_t shape[4] = {sink->n_fields, state->grid.rows, state->grid.cols, 2};
    size_t n_bytes = mvf_numpy_header(header, "'<i2'", shape, 4);
    return mvf_sink_put(sink, header, n_bytes);
}

static mvf_status write_missing(mvf_sink *sink)
{
    npy_state *state = sink->state;
    for (size_t i = 0; i < 2 * state->n_cells; i++)
        mvf_put_le(state->cells + 2 * i, (uint16_t)MISSING, 2);
    return mvf_sink_put(sink, state->cells, 4 * state->n_cells);
}

/* The first field with a grid says what all must have. */
static mvf_status take_grid(mvf_sink *sink, const mvf_field *field)
{
    npy_state *state = sink->state;
    state->grid = field->grid;
    state->mv_scale = field->mv_scale;
    state->n_cells = mvf_grid_cells(&field->grid);
    state->cells = mvf_alloc_array(state->n_cells, 4);
    if (!state->cells)
        return MVF_ERROR_MEMORY;
    for (int64_t i = 0; i < sink->n_fields; i++)
        MVF_TRY(write_missing(sink));
    return MVF_OK;
}

static mvf_status check_shape(mvf_sink *sink, const mvf_field *field)
{
    npy_state *state = sink->state;
    if (!mvf_grid_cells(&field->grid))
        return mvf_sink_refuse(sink, field,
                               "its blocks follow no grid, which npy needs; npz, csv, jsonl and "
                               "mvf hold them");
    if (field->n_blocks > mvf_grid_cells(&field->grid))
        return mvf_sink_refuse(sink, field,
                               "it has a vector for each of several references, and npy holds one "
                               "a block; npz, csv, jsonl and mvf hold all");
    if (memcmp(&field->grid, &state->grid, sizeof state->grid) ||
        field->mv_scale != state->mv_scale)
        return mvf_sink_refuse(sink, field,
                               "its grid or vector unit differs from the frames before, and an npy "
                               "array has one shape; npz, csv, jsonl and mvf hold both");
    return MVF_OK;
}

static mvf_status write_field(mvf_sink *sink, const mvf_field *field)
{
    npy_state *state = sink->state;
    if (!state->n_cells && mvf_grid_cells(&field->grid))
        MVF_TRY(take_grid(sink, field));
    if (!field->n_blocks)
        return state->n_cells ? write_missing(sink) : MVF_OK;
    MVF_TRY(check_shape(sink, field));
    for (size_t i = 0; i < state->n_cells; i++) {
        const mvf_block *block = &field->blocks[i];
        mvf_put_le(state->cells + 4 * i, (uint16_t)(block->dir ? block->mv_x : MISSING), 2);
        mvf_put_le(state->cells + 4 * i + 2, (uint16_t)(block->dir ? block->mv_y : MISSING), 2);
    }
    return mvf_sink_put(sink, state->cells, 4 * state->n_cells);
}

/* The number of fields is known only now. */
static mvf_status patch_header(mvf_sink *sink)
{
    MVF_TRY(mvf_output_seek(&sink->output, 0));
    return write_header(sink);
}

static void release(mvf_sink *sink)
{
    npy_state *state = sink->state;
    free(state->cells);
}

const mvf_sink_format_ops mvf_sink_npy = {.name = "npy",
                                          .extension = ".npy",
                                          .state_bytes = sizeof(npy_state),
                                          .files = MVF_SINK_ONE_SEEKABLE_FILE,
                                          .open = write_header,
                                          .write = write_field,
                                          .finish = patch_header,
                                          .release = release};
