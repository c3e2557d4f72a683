/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "sink/mvf_file.h"
#include "sink/output.h"

#define BUFFER_BYTES ((size_t)1 << 20)
/* Whole entries of an index. */
#define INDEX_BUFFER_BYTES (BUFFER_BYTES / MVF_INDEX_ENTRY_BYTES * MVF_INDEX_ENTRY_BYTES)

/* What is kept of a shard while others are read. */
typedef struct part {
    const char *path;
    mvf_shard shard;
    uint64_t n_bytes, header_bytes, fields_offset, index_offset, n_fields;
    uint32_t header_crc;
} part;

typedef struct merge {
    const mvf_logger *logger;
    part *parts;
    size_t n;
    mvf_output output;
    /* Of what has been written. */
    uint64_t offset;
    uint8_t *buffer;
    /* Of the frames in the index so far. */
    int64_t last_frame;
    uint32_t index_crc;
} merge;

void mvf_merge_options_init(mvf_merge_options *options)
{
    *options = (mvf_merge_options){.struct_size = sizeof *options};
}

static mvf_status put(merge *m, const void *bytes, size_t n_bytes)
{
    m->offset += n_bytes;
    return mvf_output_put(&m->output, bytes, n_bytes);
}

/* The file's header, with the text that follows it, into the buffer; its checksum. */
static mvf_status read_header(merge *m, const mvf_file *file, uint32_t *crc)
{
    if (file->header_bytes > BUFFER_BYTES)
        return mvf_file_damaged(file, 12, "the header is too large");
    MVF_TRY(mvf_file_read_at(file, m->buffer, (size_t)file->header_bytes, 0));
    *crc = mvf_checksum(0, m->buffer, (size_t)file->header_bytes);
    return MVF_OK;
}

static mvf_status survey(merge *m, part *to, const char *path)
{
    mvf_file file;
    mvf_chunk index;
    mvf_status status = mvf_file_open(&file, path, m->logger);
    if (status == MVF_OK && !file.shard.count)
        status = mvf_fail(m->logger, MVF_ERROR_ARGUMENT,
                          "%s: is not a shard: it was made without --shard", path);
    if (status == MVF_OK) {
        *to = (part){.path = path, .shard = file.shard, .n_bytes = file.n_bytes};
        file.shard.settings = NULL;
        to->header_bytes = file.header_bytes;
        to->fields_offset = file.fields_offset;
        status = read_header(m, &file, &to->header_crc);
    }
    if (status == MVF_OK) {
        status = mvf_file_find_index(&file, &to->index_offset, &index);
        to->n_fields = status == MVF_OK ? index.n_bytes / MVF_INDEX_ENTRY_BYTES : 0;
        if (status == MVF_ERROR_DATA || (status == MVF_OK && to->index_offset < to->fields_offset))
            status = mvf_fail(m->logger, MVF_ERROR_DATA,
                              "%s: is not complete: its end is missing or damaged", path);
    }
    mvf_file_close(&file);
    return status;
}

static int compare_parts(const void *a, const void *b)
{
    int32_t x = ((const part *)a)->shard.index, y = ((const part *)b)->shard.index;
    return (x > y) - (x < y);
}

/* Whether the part is one of the same run as the first. */
static mvf_status check_kin(const merge *m, const part *other)
{
    const part *first = &m->parts[0];
    if (memcmp(first->shard.input, other->shard.input, sizeof first->shard.input))
        return mvf_fail(m->logger, MVF_ERROR_ARGUMENT, "%s and %s: are shards of different inputs",
                        first->path, other->path);
    if (strcmp(first->shard.settings, other->shard.settings))
        return mvf_fail(m->logger, MVF_ERROR_ARGUMENT,
                        "%s and %s: were made in different ways: %s, and %s", first->path,
                        other->path, first->shard.settings, other->shard.settings);
    if (first->header_crc != other->header_crc)
        return mvf_fail(m->logger, MVF_ERROR_DATA,
                        "%s and %s: have different headers, so one of them is damaged", first->path,
                        other->path);
    if (first->shard.count != other->shard.count)
        return mvf_fail(m->logger, MVF_ERROR_ARGUMENT,
                        "%s and %s: are shards of different cuts: %d/%d and %d/%d", first->path,
                        other->path, first->shard.index, first->shard.count, other->shard.index,
                        other->shard.count);
    return MVF_OK;
}

static mvf_status fail_missing(const merge *m)
{
    int32_t count = m->parts[0].shard.count, n_missing = count - (int32_t)m->n;
    char list[128] = "";
    size_t at = 0;
    int32_t n_named = 0;
    for (int32_t i = 0; i < count && n_named < 8; i++) {
        if (at < m->n && m->parts[at].shard.index == i) {
            at++;
            continue;
        }
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%d", n_named++ ? ", " : "", i);
    }
    return mvf_fail(m->logger, MVF_ERROR_ARGUMENT, "shard%s %s%s of %d %s missing",
                    n_missing == 1 ? "" : "s", list, n_missing > n_named ? " and others" : "",
                    count, n_missing == 1 ? "is" : "are");
}

/* Sorts the parts, and makes sure that they are all those of one run. */
static mvf_status check_set(merge *m)
{
    for (size_t i = 1; i < m->n; i++)
        MVF_TRY(check_kin(m, &m->parts[i]));
    qsort(m->parts, m->n, sizeof *m->parts, compare_parts);
    for (size_t i = 1; i < m->n; i++)
        if (m->parts[i].shard.index == m->parts[i - 1].shard.index)
            return mvf_fail(m->logger, MVF_ERROR_ARGUMENT, "%s and %s: are both shard %d/%d",
                            m->parts[i - 1].path, m->parts[i].path, m->parts[i].shard.index,
                            m->parts[i].shard.count);
    if (m->n != (size_t)m->parts[0].shard.count)
        return fail_missing(m);
    for (size_t i = 0; i < m->n; i++) {
        const mvf_shard *shard = &m->parts[i].shard;
        int64_t first = i ? m->parts[i - 1].shard.end : 0;
        if (shard->first != first || (i + 1 == m->n && shard->end != MVF_SHARD_END))
            return mvf_fail(m->logger, MVF_ERROR_ARGUMENT,
                            "%s: does not fit to the other shards: it has the frames from %" PRId64
                            " to %" PRId64 ", and those from %" PRId64 " on are needed",
                            m->parts[i].path, shard->first, shard->end, first);
    }
    return MVF_OK;
}

/* Opens the part again; it must not have changed since. */
static mvf_status open_part(const merge *m, const part *from, mvf_file *file)
{
    MVF_TRY(mvf_file_open(file, from->path, m->logger));
    if (file->n_bytes != from->n_bytes || file->fields_offset != from->fields_offset)
        return mvf_fail(m->logger, MVF_ERROR_IO, "%s: has changed while it was read", from->path);
    return MVF_OK;
}

static mvf_status copy_header(merge *m)
{
    mvf_file file;
    uint32_t crc = 0;
    mvf_status status = open_part(m, &m->parts[0], &file);
    if (status == MVF_OK)
        status = read_header(m, &file, &crc);
    if (status == MVF_OK)
        status = put(m, m->buffer, (size_t)file.header_bytes);
    mvf_file_close(&file);
    return status;
}

/* Where in the fields' chunks a copy is. */
typedef struct chunk_walk {
    uint8_t header[MVF_CHUNK_HEADER_BYTES];
    size_t n_header;
    uint64_t payload_left, padding_left, n_chunks;
    uint32_t crc, wanted_crc;
} chunk_walk;

/* Follows the chunks through the next bytes. What is wrong, or NULL. */
static const char *walk_chunks(chunk_walk *walk, const uint8_t *bytes, size_t n)
{
    while (n) {
        size_t step;
        if (walk->payload_left) {
            step = walk->payload_left < n ? (size_t)walk->payload_left : n;
            walk->crc = mvf_checksum(walk->crc, bytes, step);
            walk->payload_left -= step;
            if (!walk->payload_left && walk->crc != walk->wanted_crc)
                return "the checksum of a field is wrong";
        } else if (walk->padding_left) {
            step = 1;
            walk->padding_left--;
            if (*bytes)
                return "there is something between two fields";
        } else {
            size_t missing = sizeof walk->header - walk->n_header;
            step = missing < n ? missing : n;
            memcpy(walk->header + walk->n_header, bytes, step);
            walk->n_header += step;
            if (walk->n_header == sizeof walk->header) {
                const uint8_t *header = walk->header;
                if (mvf_checksum(0, header, sizeof walk->header - 4) != mvf_get_le32(header + 28) ||
                    mvf_get_le32(header) != MVF_CHUNK_FIELD)
                    return "no field, or the checksum of its header is wrong";
                walk->payload_left = mvf_get_le64(header + 8);
                walk->padding_left = mvf_chunk_padding(walk->payload_left);
                walk->wanted_crc = mvf_get_le32(header + 24);
                walk->crc = 0;
                walk->n_header = 0;
                walk->n_chunks++;
            }
        }
        bytes += step;
        n -= step;
    }
    return NULL;
}

static mvf_status copy_fields(merge *m, const part *from)
{
    mvf_file file;
    chunk_walk walk = {.n_header = 0};
    mvf_status status = open_part(m, from, &file);
    for (uint64_t at = from->fields_offset; status == MVF_OK && at < from->index_offset;) {
        uint64_t left = from->index_offset - at;
        size_t n = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
        status = mvf_file_read_at(&file, m->buffer, n, at);
        const char *fault = status == MVF_OK ? walk_chunks(&walk, m->buffer, n) : NULL;
        if (fault)
            status = mvf_file_damaged(&file, at, fault);
        if (status == MVF_OK)
            status = put(m, m->buffer, n);
        at += n;
    }
    if (status == MVF_OK && (walk.n_header || walk.payload_left || walk.padding_left ||
                             walk.n_chunks != from->n_fields))
        status = mvf_file_damaged(&file, from->index_offset,
                                  "the index is not that of the fields before it");
    mvf_file_close(&file);
    return status;
}

/* Moves the entries of a part to where its fields are now; they have to be in order. */
static mvf_status move_entries(merge *m, const mvf_file *file, const part *from, size_t n_bytes,
                               uint64_t fields_offset)
{
    for (size_t i = 0; i < n_bytes; i += MVF_INDEX_ENTRY_BYTES) {
        uint8_t *entry = m->buffer + i;
        int64_t frame = (int64_t)mvf_get_le64(entry);
        uint64_t offset = mvf_get_le64(entry + 16);
        if (frame < from->shard.first || frame >= from->shard.end || frame <= m->last_frame ||
            offset < from->fields_offset || offset >= from->index_offset)
            return mvf_file_damaged(file, from->index_offset,
                                    "the index names a field that does not belong there");
        m->last_frame = frame;
        mvf_put_le(entry + 16, offset - from->fields_offset + fields_offset, 8);
    }
    return MVF_OK;
}

/* Goes through the part's index, whose fields now start at `fields_offset`: sums it up, or writes
 * it. */
static mvf_status pass_index(merge *m, const part *from, uint64_t fields_offset, int writes)
{
    mvf_file file;
    mvf_chunk chunk;
    uint64_t index_offset, left = from->n_fields * MVF_INDEX_ENTRY_BYTES;
    uint32_t crc = 0;
    mvf_status status = open_part(m, from, &file);
    if (status == MVF_OK)
        status = mvf_file_find_index(&file, &index_offset, &chunk);
    for (uint64_t at = from->index_offset + MVF_CHUNK_HEADER_BYTES; status == MVF_OK && left;) {
        size_t n = left < INDEX_BUFFER_BYTES ? (size_t)left : INDEX_BUFFER_BYTES;
        status = mvf_file_read_at(&file, m->buffer, n, at);
        if (status != MVF_OK)
            break;
        crc = mvf_checksum(crc, m->buffer, n);
        status = move_entries(m, &file, from, n, fields_offset);
        if (status == MVF_OK && writes)
            status = put(m, m->buffer, n);
        else
            m->index_crc = mvf_checksum(m->index_crc, m->buffer, n);
        at += n;
        left -= n;
    }
    if (status == MVF_OK && crc != chunk.crc)
        status = mvf_file_damaged(&file, from->index_offset, "the checksum of the index is wrong");
    mvf_file_close(&file);
    return status;
}

static mvf_status pass_indexes(merge *m, uint64_t fields_offset, int writes)
{
    m->last_frame = -1;
    for (size_t i = 0; i < m->n; i++) {
        MVF_TRY(pass_index(m, &m->parts[i], fields_offset, writes));
        fields_offset += m->parts[i].index_offset - m->parts[i].fields_offset;
    }
    return MVF_OK;
}

static mvf_status join(merge *m)
{
    uint8_t head[MVF_CHUNK_HEADER_BYTES], trailer[MVF_TRAILER_BYTES];
    uint64_t n_fields = 0;
    for (size_t i = 0; i < m->n; i++)
        n_fields += m->parts[i].n_fields;
    MVF_TRY(copy_header(m));
    uint64_t fields_offset = m->offset;
    /* First, so that a bad index costs no time. */
    MVF_TRY(pass_indexes(m, fields_offset, 0));
    for (size_t i = 0; i < m->n; i++)
        MVF_TRY(copy_fields(m, &m->parts[i]));
    uint64_t index_offset = m->offset;
    mvf_chunk index = {.type = MVF_CHUNK_INDEX,
                       .method = MVF_CHUNK_PLAIN,
                       .crc = m->index_crc,
                       .n_bytes = n_fields * MVF_INDEX_ENTRY_BYTES,
                       .n_plain_bytes = n_fields * MVF_INDEX_ENTRY_BYTES};
    mvf_chunk_write_header(head, &index);
    MVF_TRY(put(m, head, sizeof head));
    MVF_TRY(pass_indexes(m, fields_offset, 1));
    mvf_trailer_write(trailer, index_offset, n_fields);
    return put(m, trailer, sizeof trailer);
}

static mvf_status merge_parts(merge *m, const char *const *paths, const char *output,
                              const mvf_merge_options *options)
{
    size_t n = m->n;
    m->parts = mvf_alloc_array(n, sizeof *m->parts);
    m->buffer = mvf_alloc_array(BUFFER_BYTES, 1);
    m->n = 0;
    if (!m->parts || !m->buffer)
        return MVF_ERROR_MEMORY;
    for (; m->n < n; m->n++)
        MVF_TRY(survey(m, &m->parts[m->n], paths[m->n]));
    MVF_TRY(check_set(m));
    MVF_TRY(mvf_output_open(&m->output, output, options->overwrite, 0, m->logger));
    mvf_status status = join(m);
    if (status == MVF_OK)
        return mvf_output_close(&m->output);
    mvf_output_discard(&m->output);
    return status;
}

mvf_status mvf_merge_shards(const char *const *paths, size_t n, const char *output,
                            const mvf_merge_options *given)
{
    mvf_merge_options options;
    mvf_merge_options_init(&options);
    if (given)
        memcpy(&options, given,
               given->struct_size < sizeof options ? given->struct_size : sizeof options);
    if (n == 0)
        return mvf_fail(&options.logger, MVF_ERROR_ARGUMENT, "there is no shard to merge");
    merge m = {.logger = &options.logger, .n = n};
    mvf_status status = merge_parts(&m, paths, output, &options);
    for (size_t i = 0; m.parts && i < n; i++)
        free((char *)(uintptr_t)m.parts[i].shard.settings);
    free(m.parts);
    free(m.buffer);
    return status;
}
