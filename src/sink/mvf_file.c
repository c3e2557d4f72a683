/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/mvf_file.h"

#include <errno.h>
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

/* Deflate makes at most 1032 bytes of one. */
#define MAX_RATIO 1032

uint32_t mvf_checksum(uint32_t crc, const void *bytes, size_t n_bytes)
{
    return (uint32_t)crc32_z(crc, bytes, n_bytes);
}

void mvf_chunk_write_header(uint8_t bytes[MVF_CHUNK_HEADER_BYTES], const mvf_chunk *chunk)
{
    uint8_t *to = mvf_put_le(bytes, chunk->type, 4);
    to = mvf_put_le(to, chunk->method, 4);
    to = mvf_put_le(to, chunk->n_bytes, 8);
    to = mvf_put_le(to, chunk->n_plain_bytes, 8);
    to = mvf_put_le(to, chunk->crc, 4);
    mvf_put_le(to, mvf_checksum(0, bytes, MVF_CHUNK_HEADER_BYTES - 4), 4);
}

size_t mvf_chunk_padding(uint64_t n_bytes)
{
    size_t over = n_bytes % MVF_CHUNK_ALIGNMENT;
    return over ? MVF_CHUNK_ALIGNMENT - over : 0;
}

uint64_t mvf_chunk_end(uint64_t offset, const mvf_chunk *chunk)
{
    return offset + MVF_CHUNK_HEADER_BYTES + chunk->n_bytes + mvf_chunk_padding(chunk->n_bytes);
}

void mvf_trailer_write(uint8_t bytes[MVF_TRAILER_BYTES], uint64_t index_offset, uint64_t n_fields)
{
    uint8_t *to = mvf_put_le(bytes, index_offset, 8);
    to = mvf_put_le(to, n_fields, 8);
    to = mvf_put_le(to, mvf_checksum(0, bytes, 16), 4);
    mvf_put_le(to, MVF_TRAILER_MAGIC, 4);
}

size_t mvf_shard_write(uint8_t bytes[MVF_SHARD_MAX_BYTES], const mvf_shard *shard)
{
    size_t n = shard->settings ? strlen(shard->settings) : 0;
    uint8_t *to = mvf_put_le(bytes, (uint32_t)shard->index, 4);
    to = mvf_put_le(to, (uint32_t)shard->count, 4);
    to = mvf_put_le(to, (uint64_t)shard->first, 8);
    to = mvf_put_le(to, (uint64_t)shard->end, 8);
    memcpy(to, shard->input, sizeof shard->input);
    memcpy(to + sizeof shard->input, shard->settings ? shard->settings : "", n);
    return MVF_SHARD_FIXED_BYTES + n;
}

mvf_status mvf_file_damaged(const mvf_file *file, uint64_t offset, const char *what)
{
    return mvf_fail(file->logger, MVF_ERROR_DATA, "%s: damaged at byte %" PRIu64 ": %s", file->path,
                    offset, what);
}

mvf_status mvf_file_read_at(const mvf_file *file, void *to, size_t n_bytes, uint64_t offset)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = pread(file->fd, (uint8_t *)to + done, n_bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return mvf_fail(file->logger, MVF_ERROR_IO,
                            "%s: cannot be read at byte %" PRIu64 ": %s", file->path, offset + done,
                            n ? strerror(errno) : "the file has become shorter");
        done += (size_t)n;
    }
    return MVF_OK;
}

mvf_status mvf_file_read_chunk(const mvf_file *file, uint64_t offset, mvf_chunk *chunk,
                               const char **fault)
{
    uint8_t bytes[MVF_CHUNK_HEADER_BYTES];
    *fault = "the file ends inside a chunk";
    if (offset > file->n_bytes || file->n_bytes - offset < sizeof bytes)
        return MVF_ERROR_DATA;
    MVF_TRY(mvf_file_read_at(file, bytes, sizeof bytes, offset));
    *chunk = (mvf_chunk){.type = mvf_get_le32(bytes),
                         .method = mvf_get_le32(bytes + 4),
                         .crc = mvf_get_le32(bytes + 24),
                         .n_bytes = mvf_get_le64(bytes + 8),
                         .n_plain_bytes = mvf_get_le64(bytes + 16)};
    if (mvf_checksum(0, bytes, sizeof bytes - 4) != mvf_get_le32(bytes + 28))
        *fault = "no chunk header, or its checksum is wrong";
    else if (chunk->n_bytes > file->n_bytes - offset - sizeof bytes)
        *fault = "the file ends inside a chunk";
    else if (chunk->method > MVF_CHUNK_PACKED)
        *fault = "the compression is not known";
    else if (chunk->method == MVF_CHUNK_PLAIN ? chunk->n_plain_bytes != chunk->n_bytes
                                              : chunk->n_plain_bytes / MAX_RATIO > chunk->n_bytes)
        *fault = "the sizes of a chunk contradict each other";
    else
        return MVF_OK;
    return MVF_ERROR_DATA;
}

mvf_status mvf_file_find_index(const mvf_file *file, uint64_t *offset, mvf_chunk *chunk)
{
    uint8_t trailer[MVF_TRAILER_BYTES];
    const char *fault;
    if (file->n_bytes < file->fields_offset + sizeof trailer)
        return MVF_ERROR_DATA;
    MVF_TRY(mvf_file_read_at(file, trailer, sizeof trailer, file->n_bytes - sizeof trailer));
    uint64_t n_fields = mvf_get_le64(trailer + 8);
    *offset = mvf_get_le64(trailer);
    if (mvf_get_le32(trailer + 20) != MVF_TRAILER_MAGIC ||
        mvf_get_le32(trailer + 16) != mvf_checksum(0, trailer, 16))
        return MVF_ERROR_DATA;
    MVF_TRY(mvf_file_read_chunk(file, *offset, chunk, &fault));
    return chunk->type != MVF_CHUNK_INDEX || chunk->method != MVF_CHUNK_PLAIN ||
                   chunk->n_bytes % MVF_INDEX_ENTRY_BYTES ||
                   chunk->n_bytes / MVF_INDEX_ENTRY_BYTES != n_fields
               ? MVF_ERROR_DATA
               : MVF_OK;
}

static mvf_status read_header(mvf_file *file)
{
    uint8_t bytes[MVF_FILE_FIXED_BYTES];
    size_t n = file->n_bytes < sizeof bytes ? (size_t)file->n_bytes : sizeof bytes;
    MVF_TRY(mvf_file_read_at(file, bytes, n, 0));
    if (n < MVF_FILE_MAGIC_BYTES || memcmp(bytes, MVF_FILE_MAGIC, MVF_FILE_MAGIC_BYTES))
        return mvf_fail(file->logger, MVF_ERROR_DATA, "%s: is not an mvf file (at byte 0)",
                        file->path);
    if (n < sizeof bytes)
        return mvf_file_damaged(file, n, "the file ends inside its header");
    if (mvf_checksum(0, bytes, sizeof bytes - 4) != mvf_get_le32(bytes + sizeof bytes - 4))
        return mvf_file_damaged(file, 0, "the checksum of the header is wrong");
    file->version_major = mvf_get_le16(bytes + 8);
    file->version_minor = mvf_get_le16(bytes + 10);
    file->header_bytes = file->fields_offset = mvf_get_le32(bytes + 12);
    file->rotation = (int32_t)mvf_get_le32(bytes + 16);
    file->frame_rate.num = (int32_t)mvf_get_le32(bytes + 20);
    file->frame_rate.den = (int32_t)mvf_get_le32(bytes + 24);
    if (file->version_major != MVF_FILE_MAJOR)
        return mvf_fail(file->logger, MVF_ERROR_UNSUPPORTED,
                        "%s: is version %d.%d of the mvf format; this library reads version %d",
                        file->path, file->version_major, file->version_minor, MVF_FILE_MAJOR);
    if (file->fields_offset < MVF_FILE_FIXED_BYTES || file->fields_offset % MVF_CHUNK_ALIGNMENT)
        return mvf_file_damaged(file, 12, "the size of the header is wrong");
    return MVF_OK;
}

static mvf_status read_shard(mvf_file *file)
{
    uint8_t bytes[MVF_SHARD_MAX_BYTES + 1];
    uint64_t offset = file->fields_offset;
    mvf_chunk chunk;
    const char *fault;
    mvf_status status = mvf_file_read_chunk(file, offset, &chunk, &fault);
    /* Damage here is that of the first field: it is met when that is read. */
    if (status == MVF_ERROR_DATA || (status == MVF_OK && chunk.type != MVF_CHUNK_SHARD))
        return MVF_OK;
    MVF_TRY(status);
    size_t n = (size_t)chunk.n_bytes;
    if (chunk.method != MVF_CHUNK_PLAIN || chunk.n_bytes < MVF_SHARD_FIXED_BYTES ||
        chunk.n_bytes > MVF_SHARD_MAX_BYTES)
        return mvf_file_damaged(file, offset, "what part of a run it is has a wrong size");
    MVF_TRY(mvf_file_read_at(file, bytes, n, offset + MVF_CHUNK_HEADER_BYTES));
    if (mvf_checksum(0, bytes, n) != chunk.crc)
        return mvf_file_damaged(file, offset, "the checksum of what part of a run it is is wrong");
    bytes[n] = '\0';
    mvf_shard *shard = &file->shard;
    shard->index = (int32_t)mvf_get_le32(bytes);
    shard->count = (int32_t)mvf_get_le32(bytes + 4);
    shard->first = (int64_t)mvf_get_le64(bytes + 8);
    shard->end = (int64_t)mvf_get_le64(bytes + 16);
    memcpy(shard->input, bytes + 24, sizeof shard->input);
    if (shard->count < 1 || shard->index < 0 || shard->index >= shard->count || shard->first < 0 ||
        shard->end < shard->first) {
        shard->count = 0;
        return mvf_file_damaged(file, offset, "there is no such part of a run");
    }
    shard->settings = mvf_strdup((const char *)bytes + MVF_SHARD_FIXED_BYTES);
    file->fields_offset = mvf_chunk_end(offset, &chunk);
    return shard->settings ? MVF_OK : MVF_ERROR_MEMORY;
}

mvf_status mvf_file_open(mvf_file *file, const char *path, const mvf_logger *logger)
{
    struct stat info;
    *file = (mvf_file){.path = path, .logger = logger, .fd = -1};
    /* Opening what is no file may wait, or set something off. */
    if (!stat(path, &info) && !S_ISREG(info.st_mode))
        return mvf_fail(logger, MVF_ERROR_IO, "%s: is not a regular file", path);
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &info))
        return mvf_fail(logger, MVF_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    file->n_bytes = (uint64_t)info.st_size;
    MVF_TRY(read_header(file));
    return read_shard(file);
}

void mvf_file_close(mvf_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free((char *)(uintptr_t)file->shard.settings);
    *file = (mvf_file){.fd = -1};
}
