/*
 * mvfield/reader.h - fields back from mvf files.
 *
 * The file is checked as it is read, and may be cut off or damaged anywhere: fields that are whole
 * are handed out, and each message names the file and the byte where the damage is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_READER_H
#define MVFIELD_READER_H

#include <mvfield/shard.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An mvf file that is open for reading. */
typedef struct mvf_reader mvf_reader;

/* What an mvf file says of itself. */
typedef struct mvf_reader_info {
    /* Set by the caller to sizeof(mvf_reader_info). */
    size_t struct_size;
    /* Fields that the file's index names; in a file that has lost it, those that are whole. */
    int64_t n_fields;
    /* Frame of the first and of the last field; MVF_NO_FRAME without one. */
    int64_t first_frame, last_frame;
    /* The size of the file. */
    int64_t file_bytes;
    /* Non-zero: the file ends as it should. Else it is cut off or its end is damaged, and how many
     * fields are missing cannot be known. */
    int32_t is_complete;
    /* Where the first damage is that was seen when the file was opened; -1 for none. */
    int64_t damage_offset;
    /* The version of the format that the file is in. */
    int32_t version_major, version_minor;
    /* What the sink was told about the video: see mvf_sink_options. */
    int32_t rotation;
    mvf_rational frame_rate;
} mvf_reader_info;

/* Whether `path` is a regular file that starts as an mvf file does. */
MVF_API int32_t mvf_reader_probe(const char *path);

/*
 * Opens an mvf file. A file that is cut off or has lost its index opens, with a warning, as long as
 * its header is whole; all of it is then read once. On failure *reader is NULL: MVF_ERROR_IO,
 * MVF_ERROR_DATA, MVF_ERROR_UNSUPPORTED (a later version of the format), MVF_ERROR_MEMORY. A reader
 * serves one thread at a time; its file must not change. `logger` may be NULL; it is copied.
 */
MVF_API mvf_status mvf_reader_open(mvf_reader **reader, const char *path, const mvf_logger *logger);

/* Fills in *info, whose struct_size the caller has set. */
MVF_API void mvf_reader_get_info(const mvf_reader *reader, mvf_reader_info *info);

/* What part of a run the file holds, or NULL: not one of several. It is the reader's. */
MVF_API const mvf_shard *mvf_reader_get_shard(const mvf_reader *reader);

/* The number of fields: n_fields of mvf_reader_info. */
MVF_API int64_t mvf_reader_count(const mvf_reader *reader);

/*
 * Reads the next field, which the caller then owns. MVF_EOF after the last. MVF_ERROR_DATA: this
 * field is damaged, or (in a file that is cut off, once, after its last whole field) the rest is
 * missing; *field is NULL, and the next call goes on after the damage. MVF_ERROR_IO,
 * MVF_ERROR_MEMORY.
 */
MVF_API mvf_status mvf_reader_next(mvf_reader *reader, mvf_field **field);

/* Makes the field of that frame the next one. MVF_ERROR_ARGUMENT: there is none, and nothing
 * changed. */
MVF_API mvf_status mvf_reader_seek(mvf_reader *reader, int64_t frame);

/* Makes field number `index`, from 0, the next one; the count itself is the end. */
MVF_API mvf_status mvf_reader_seek_index(mvf_reader *reader, int64_t index);

/* Closes *reader and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_reader_close(mvf_reader **reader);

#ifdef __cplusplus
}
#endif

#endif
