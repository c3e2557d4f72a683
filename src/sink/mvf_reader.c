/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/reader.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "field/record.h"
#include "sink/mvf_file.h"

typedef struct index_entry {
    int64_t frame;
    uint64_t offset;
} index_entry;

struct mvf_reader {
    mvf_logger logger;
    char *path;
    mvf_file file;
    mvf_reader_info info;
    index_entry *index;
    size_t n_entries, capacity, next;
    /* Whether the end of a file that is cut off has been reported by mvf_reader_next(). */
    int end_reported;
    uint8_t *stored, *plain;
    size_t stored_capacity, plain_capacity;
};

static mvf_status read_stored(mvf_reader *reader, uint64_t offset, const mvf_chunk *chunk,
                              const char **fault)
{
    MVF_TRY(mvf_reserve(&reader->stored, &reader->stored_capacity, chunk->n_bytes));
    MVF_TRY(mvf_file_read_at(&reader->file, reader->stored, (size_t)chunk->n_bytes,
                             offset + MVF_CHUNK_HEADER_BYTES));
    *fault = "the checksum of a field is wrong";
    return mvf_checksum(0, reader->stored, (size_t)chunk->n_bytes) == chunk->crc ? MVF_OK
                                                                                 : MVF_ERROR_DATA;
}

static mvf_status add_entry(mvf_reader *reader, int64_t frame, uint64_t offset)
{
    index_entry *index =
        mvf_grow_array(reader->index, &reader->capacity, reader->n_entries + 1, sizeof *index);
    if (!index)
        return MVF_ERROR_MEMORY;
    reader->index = index;
    reader->index[reader->n_entries++] = (index_entry){frame, offset};
    return MVF_OK;
}

/* MVF_ERROR_DATA, without a message, where the trailer or the index is damaged. */
static mvf_status read_index(mvf_reader *reader)
{
    mvf_chunk chunk;
    uint64_t offset;
    const char *fault;
    MVF_TRY(mvf_file_find_index(&reader->file, &offset, &chunk));
    MVF_TRY(read_stored(reader, offset, &chunk, &fault));
    for (uint64_t i = 0; i < chunk.n_bytes / MVF_INDEX_ENTRY_BYTES; i++) {
        const uint8_t *entry = reader->stored + i * MVF_INDEX_ENTRY_BYTES;
        MVF_TRY(add_entry(reader, (int64_t)mvf_get_le64(entry), mvf_get_le64(entry + 16)));
    }
    reader->info.is_complete = 1;
    return MVF_OK;
}

/* The frame index that the record in reader->stored starts with. */
static int peek_frame(const mvf_reader *reader, const mvf_chunk *chunk, int64_t *frame)
{
    uint8_t bytes[8];
    z_stream inflater = {.next_in = reader->stored,
                         .avail_in = chunk->n_bytes > 4096 ? 4096 : (uInt)chunk->n_bytes,
                         .next_out = bytes,
                         .avail_out = sizeof bytes};
    if (chunk->method == MVF_CHUNK_PLAIN) {
        if (chunk->n_bytes < sizeof bytes)
            return 0;
        memcpy(bytes, reader->stored, sizeof bytes);
    } else {
        if (inflateInit(&inflater) != Z_OK)
            return 0;
        inflate(&inflater, Z_SYNC_FLUSH);
        inflateEnd(&inflater);
        if (inflater.avail_out)
            return 0;
    }
    *frame = (int64_t)mvf_get_le64(bytes);
    return 1;
}

/* Finds the fields of a file without an index, one after the other up to the first damage. */
static mvf_status scan_fields(mvf_reader *reader)
{
    uint64_t offset = reader->file.fields_offset;
    const char *fault = "the file ends without its index";
    reader->n_entries = 0;
    while (offset < reader->file.n_bytes) {
        mvf_chunk chunk;
        int64_t frame;
        mvf_status status = mvf_file_read_chunk(&reader->file, offset, &chunk, &fault);
        if (status == MVF_OK && chunk.type != MVF_CHUNK_FIELD) {
            fault = "the index is damaged";
            break;
        }
        if (status == MVF_OK)
            status = read_stored(reader, offset, &chunk, &fault);
        if (status == MVF_ERROR_DATA || (status == MVF_OK && !peek_frame(reader, &chunk, &frame)))
            break;
        MVF_TRY(status);
        MVF_TRY(add_entry(reader, frame, offset));
        offset = mvf_chunk_end(offset, &chunk);
        fault = "the file ends without its index";
    }
    if (offset > reader->file.n_bytes)
        offset = reader->file.n_bytes;
    reader->info.damage_offset = (int64_t)offset;
    mvf_log(&reader->logger, MVF_LOG_WARNING,
            "%s: damaged at byte %" PRIu64 " of %" PRIu64 ": %s; the %zu fields before that are "
            "whole, and what may have followed is missing",
            reader->path, offset, reader->file.n_bytes, fault, reader->n_entries);
    return MVF_OK;
}

static mvf_status open_file(mvf_reader *reader)
{
    MVF_TRY(mvf_file_open(&reader->file, reader->path, &reader->logger));
    mvf_status status = read_index(reader);
    return status == MVF_ERROR_DATA ? scan_fields(reader) : status;
}

static void fill_info(mvf_reader *reader)
{
    size_t n = reader->n_entries;
    const mvf_file *file = &reader->file;
    reader->info.file_bytes = (int64_t)file->n_bytes;
    reader->info.version_major = file->version_major;
    reader->info.version_minor = file->version_minor;
    reader->info.rotation = file->rotation;
    reader->info.frame_rate = file->frame_rate;
    reader->info.n_fields = (int64_t)n;
    reader->info.first_frame = n ? reader->index[0].frame : MVF_NO_FRAME;
    reader->info.last_frame = n ? reader->index[n - 1].frame : MVF_NO_FRAME;
}

mvf_status mvf_reader_open(mvf_reader **out, const char *path, const mvf_logger *logger)
{
    *out = NULL;
    mvf_reader *reader = mvf_alloc_array(1, sizeof *reader);
    if (!reader)
        return MVF_ERROR_MEMORY;
    reader->file.fd = -1;
    reader->info.damage_offset = -1;
    if (logger)
        reader->logger = *logger;
    reader->path = mvf_strdup(path);
    mvf_status status = reader->path ? open_file(reader) : MVF_ERROR_MEMORY;
    fill_info(reader);
    if (status != MVF_OK)
        mvf_reader_close(&reader);
    *out = reader;
    return status;
}

void mvf_reader_get_info(const mvf_reader *reader, mvf_reader_info *info)
{
    size_t n = info->struct_size < sizeof *info ? info->struct_size : sizeof *info;
    if (n > sizeof n)
        memcpy((uint8_t *)info + sizeof n, (const uint8_t *)&reader->info + sizeof n, n - sizeof n);
}

const mvf_shard *mvf_reader_get_shard(const mvf_reader *reader)
{
    return reader->file.shard.count ? &reader->file.shard : NULL;
}

int64_t mvf_reader_count(const mvf_reader *reader)
{
    return (int64_t)reader->n_entries;
}

static mvf_status inflate_record(mvf_reader *reader, const mvf_chunk *chunk, const char **fault)
{
    uLongf n_bytes = (uLongf)chunk->n_plain_bytes;
    MVF_TRY(mvf_reserve(&reader->plain, &reader->plain_capacity, chunk->n_plain_bytes + 1));
    *fault = "a compressed field cannot be expanded";
    int result = uncompress(reader->plain, &n_bytes, reader->stored, (uLong)chunk->n_bytes);
    if (result == Z_MEM_ERROR)
        return MVF_ERROR_MEMORY;
    return result == Z_OK && n_bytes == chunk->n_plain_bytes ? MVF_OK : MVF_ERROR_DATA;
}

static mvf_status read_field(mvf_reader *reader, uint64_t offset, mvf_field **field)
{
    mvf_chunk chunk;
    char text[256];
    const char *fault;
    mvf_status status = mvf_file_read_chunk(&reader->file, offset, &chunk, &fault);
    if (status == MVF_OK && chunk.type != MVF_CHUNK_FIELD) {
        fault = "the index points to something that is not a field";
        status = MVF_ERROR_DATA;
    }
    if (status == MVF_OK)
        status = read_stored(reader, offset, &chunk, &fault);
    int packed = status == MVF_OK && chunk.method == MVF_CHUNK_PACKED;
    if (packed)
        status = inflate_record(reader, &chunk, &fault);
    if (status == MVF_OK) {
        fault = text;
        status = mvf_record_read(field, packed ? reader->plain : reader->stored,
                                 (size_t)chunk.n_plain_bytes, packed, text, sizeof text);
    }
    return status == MVF_ERROR_DATA ? mvf_file_damaged(&reader->file, offset, fault) : status;
}

mvf_status mvf_reader_next(mvf_reader *reader, mvf_field **field)
{
    *field = NULL;
    if (reader->next < reader->n_entries)
        return read_field(reader, reader->index[reader->next++].offset, field);
    if (reader->info.is_complete || reader->end_reported)
        return MVF_EOF;
    reader->end_reported = 1;
    return mvf_fail(&reader->logger, MVF_ERROR_DATA,
                    "%s: damaged at byte %" PRId64 ": the fields from there on are missing",
                    reader->path, reader->info.damage_offset);
}

mvf_status mvf_reader_seek(mvf_reader *reader, int64_t frame)
{
    /* Most often it is the next one anyway. */
    if (reader->next < reader->n_entries && reader->index[reader->next].frame == frame)
        return MVF_OK;
    for (size_t i = 0; i < reader->n_entries; i++)
        if (reader->index[i].frame == frame) {
            reader->next = i;
            return MVF_OK;
        }
    return MVF_ERROR_ARGUMENT;
}

mvf_status mvf_reader_seek_index(mvf_reader *reader, int64_t index)
{
    if (index < 0 || (uint64_t)index > reader->n_entries)
        return MVF_ERROR_ARGUMENT;
    reader->next = (size_t)index;
    return MVF_OK;
}

int32_t mvf_reader_probe(const char *path)
{
    uint8_t bytes[MVF_FILE_MAGIC_BYTES];
    struct stat info;
    /* To open a FIFO and close it again would end its writer. */
    if (stat(path, &info) || !S_ISREG(info.st_mode))
        return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return 0;
    int is_mvf = pread(file, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes &&
                 !memcmp(bytes, MVF_FILE_MAGIC, sizeof bytes);
    close(file);
    return is_mvf;
}

void mvf_reader_close(mvf_reader **slot)
{
    mvf_reader *reader = *slot;
    if (!reader)
        return;
    mvf_file_close(&reader->file);
    free(reader->path);
    free(reader->index);
    free(reader->stored);
    free(reader->plain);
    free(reader);
    *slot = NULL;
}
