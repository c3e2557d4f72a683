/*
 * sink/mvf_file.h - the parts of an mvf file, as doc/mvf-format.md describes them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_MVF_FILE_H
#define MVF_SINK_MVF_FILE_H

#include <mvfield/shard.h>

#define MVF_FILE_MAGIC "\x89MVF\r\n\x1a\n"
#define MVF_FILE_MAGIC_BYTES 8
#define MVF_FILE_MAJOR 1
#define MVF_FILE_MINOR 1

/* File header: the fixed part, and all of it with the text that follows. */
#define MVF_FILE_FIXED_BYTES 64
#define MVF_FILE_HEADER_BYTES 192

#define MVF_CHUNK_FIELD 0x5246564du /* "MVFR" */
#define MVF_CHUNK_INDEX 0x4946564du /* "MVFI" */
#define MVF_CHUNK_SHARD 0x5346564du /* "MVFS" */
#define MVF_CHUNK_HEADER_BYTES 32
#define MVF_CHUNK_ALIGNMENT 8
#define MVF_CHUNK_PLAIN 0
/* The packed record, as a zlib stream. */
#define MVF_CHUNK_PACKED 1

#define MVF_INDEX_ENTRY_BYTES 24

/* What part of a run the file holds: the fixed part, and all of it with the settings. */
#define MVF_SHARD_FIXED_BYTES 40
#define MVF_SHARD_MAX_BYTES 1064

#define MVF_TRAILER_MAGIC 0x4546564du /* "MVFE" */
#define MVF_TRAILER_BYTES 24

typedef struct mvf_chunk {
    uint32_t type, method, crc;
    uint64_t n_bytes, n_plain_bytes;
} mvf_chunk;

/* The CRC-32 of bytes that follow those of `crc`; 0 to begin with. */
uint32_t mvf_checksum(uint32_t crc, const void *bytes, size_t n_bytes);

void mvf_chunk_write_header(uint8_t bytes[MVF_CHUNK_HEADER_BYTES], const mvf_chunk *chunk);

/* Zero bytes between the end of the chunk and the next one. */
size_t mvf_chunk_padding(uint64_t n_bytes);

void mvf_trailer_write(uint8_t bytes[MVF_TRAILER_BYTES], uint64_t index_offset, uint64_t n_fields);

/* The payload of the shard chunk; the number of its bytes. */
size_t mvf_shard_write(uint8_t bytes[MVF_SHARD_MAX_BYTES], const mvf_shard *shard);

/* A file that is read; `path` and `logger` are the caller's. */
typedef struct mvf_file {
    const char *path;
    const mvf_logger *logger;
    int fd;
    uint64_t n_bytes;
    int32_t version_major, version_minor, rotation;
    mvf_rational frame_rate;
    uint64_t header_bytes;
    /* Where the first field's chunk is. */
    uint64_t fields_offset;
    /* count is 0: it is no shard. The settings are freed by mvf_file_close(). */
    mvf_shard shard;
} mvf_file;

/* Opens the file and reads its header and what part of a run it is. MVF_ERROR_IO, MVF_ERROR_DATA,
 * MVF_ERROR_UNSUPPORTED, MVF_ERROR_MEMORY, each with a message. mvf_file_close() must follow. */
mvf_status mvf_file_open(mvf_file *file, const char *path, const mvf_logger *logger);

void mvf_file_close(mvf_file *file);

/* MVF_ERROR_DATA, with a message that names the byte. */
mvf_status mvf_file_damaged(const mvf_file *file, uint64_t offset, const char *what);

/* MVF_ERROR_IO, with a message. */
mvf_status mvf_file_read_at(const mvf_file *file, void *to, size_t n_bytes, uint64_t offset);

/* Reads the header of the chunk at `offset`. MVF_ERROR_DATA with *fault set, without a message. */
mvf_status mvf_file_read_chunk(const mvf_file *file, uint64_t offset, mvf_chunk *chunk,
                               const char **fault);

/* Where the next chunk is. */
uint64_t mvf_chunk_end(uint64_t offset, const mvf_chunk *chunk);

/* The index chunk by way of the trailer. MVF_ERROR_DATA, without a message, where either is
 * damaged. */
mvf_status mvf_file_find_index(const mvf_file *file, uint64_t *offset, mvf_chunk *chunk);

#endif
