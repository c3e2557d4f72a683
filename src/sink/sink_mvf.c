/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "field/record.h"
#include "sink/mvf_file.h"
#include "sink/sink.h"

static const char description[MVF_FILE_HEADER_BYTES - MVF_FILE_FIXED_BYTES] =
    "mvf 1.1: vectors from a block to its prediction in the reference; x right, y down; unit "
    "1/mv_scale px\n";

typedef struct index_entry {
    int64_t frame, pts;
    uint64_t offset;
} index_entry;

typedef struct mvf_state {
    uint64_t offset;
    index_entry *index;
    size_t n_entries, index_capacity;
    uint8_t *record, *packed;
    size_t record_capacity, packed_capacity;
} mvf_state;

static mvf_status put(mvf_sink *sink, const void *bytes, size_t n_bytes)
{
    ((mvf_state *)sink->state)->offset += n_bytes;
    return mvf_sink_put(sink, bytes, n_bytes);
}

static mvf_status write_header(mvf_sink *sink)
{
    uint8_t bytes[MVF_FILE_HEADER_BYTES] = {0};
    const mvf_sink_options *options = &sink->options;
    memcpy(bytes, MVF_FILE_MAGIC, MVF_FILE_MAGIC_BYTES);
    uint8_t *to = mvf_put_le(bytes + MVF_FILE_MAGIC_BYTES, MVF_FILE_MAJOR, 2);
    to = mvf_put_le(to, MVF_FILE_MINOR, 2);
    to = mvf_put_le(to, MVF_FILE_HEADER_BYTES, 4);
    to = mvf_put_le(to, (uint32_t)options->rotation, 4);
    to = mvf_put_le(to, (uint32_t)options->frame_rate.num, 4);
    mvf_put_le(to, (uint32_t)options->frame_rate.den, 4);
    mvf_put_le(bytes + MVF_FILE_FIXED_BYTES - 4, mvf_checksum(0, bytes, MVF_FILE_FIXED_BYTES - 4),
               4);
    memcpy(bytes + MVF_FILE_FIXED_BYTES, description, sizeof description);
    return put(sink, bytes, sizeof bytes);
}

static mvf_status write_chunk(mvf_sink *sink, uint32_t type, uint32_t method, const uint8_t *bytes,
                              size_t n_bytes, size_t n_plain_bytes)
{
    static const uint8_t padding[MVF_CHUNK_ALIGNMENT];
    uint8_t head[MVF_CHUNK_HEADER_BYTES];
    mvf_chunk chunk = {.type = type,
                       .method = method,
                       .crc = mvf_checksum(0, bytes, n_bytes),
                       .n_bytes = n_bytes,
                       .n_plain_bytes = n_plain_bytes};
    mvf_chunk_write_header(head, &chunk);
    MVF_TRY(put(sink, head, sizeof head));
    MVF_TRY(put(sink, bytes, n_bytes));
    return put(sink, padding, mvf_chunk_padding(n_bytes));
}

static mvf_status start(mvf_sink *sink)
{
    uint8_t bytes[MVF_SHARD_MAX_BYTES];
    MVF_TRY(write_header(sink));
    if (!sink->options.shard)
        return MVF_OK;
    size_t n_bytes = mvf_shard_write(bytes, sink->options.shard);
    return write_chunk(sink, MVF_CHUNK_SHARD, MVF_CHUNK_PLAIN, bytes, n_bytes, n_bytes);
}

static mvf_status note_field(mvf_state *state, const mvf_field *field)
{
    index_entry *index =
        mvf_grow_array(state->index, &state->index_capacity, state->n_entries + 1, sizeof *index);
    if (!index)
        return MVF_ERROR_MEMORY;
    state->index = index;
    state->index[state->n_entries++] = (index_entry){field->frame, field->pts, state->offset};
    return MVF_OK;
}

static mvf_status write_packed(mvf_sink *sink, const mvf_field *field, size_t n_bytes)
{
    mvf_state *state = sink->state;
    uLong n_packed = compressBound((uLong)n_bytes);
    mvf_record_pack(state->record, field);
    MVF_TRY(mvf_reserve(&state->packed, &state->packed_capacity, n_packed));
    if (compress2(state->packed, &n_packed, state->record, (uLong)n_bytes,
                  sink->options.compression) != Z_OK)
        return MVF_ERROR_MEMORY;
    return write_chunk(sink, MVF_CHUNK_FIELD, MVF_CHUNK_PACKED, state->packed, n_packed, n_bytes);
}

static mvf_status write_field(mvf_sink *sink, const mvf_field *field)
{
    mvf_state *state = sink->state;
    size_t n_bytes = mvf_record_bytes(field);
    MVF_TRY(note_field(state, field));
    MVF_TRY(mvf_reserve(&state->record, &state->record_capacity, n_bytes));
    if (sink->options.compression > 0) {
        MVF_TRY(write_packed(sink, field, n_bytes));
    } else {
        mvf_record_write(state->record, field);
        MVF_TRY(
            write_chunk(sink, MVF_CHUNK_FIELD, MVF_CHUNK_PLAIN, state->record, n_bytes, n_bytes));
    }
    return mvf_output_flush(&sink->output);
}

static mvf_status write_index(mvf_sink *sink)
{
    mvf_state *state = sink->state;
    uint64_t offset = state->offset;
    size_t n_bytes = state->n_entries * MVF_INDEX_ENTRY_BYTES;
    MVF_TRY(mvf_reserve(&state->record, &state->record_capacity, n_bytes + 1));
    uint8_t *to = state->record;
    for (size_t i = 0; i < state->n_entries; i++) {
        to = mvf_put_le(to, (uint64_t)state->index[i].frame, 8);
        to = mvf_put_le(to, (uint64_t)state->index[i].pts, 8);
        to = mvf_put_le(to, state->index[i].offset, 8);
    }
    MVF_TRY(write_chunk(sink, MVF_CHUNK_INDEX, MVF_CHUNK_PLAIN, state->record, n_bytes, n_bytes));
    uint8_t trailer[MVF_TRAILER_BYTES];
    mvf_trailer_write(trailer, offset, state->n_entries);
    return put(sink, trailer, sizeof trailer);
}

static void release(mvf_sink *sink)
{
    mvf_state *state = sink->state;
    free(state->index);
    free(state->record);
    free(state->packed);
}

const mvf_sink_format_ops mvf_sink_mvf = {.name = "mvf",
                                          .extension = ".mvf",
                                          .state_bytes = sizeof(mvf_state),
                                          .compresses = 1,
                                          .takes_shards = 1,
                                          .open = start,
                                          .write = write_field,
                                          .finish = write_index,
                                          .release = release};
