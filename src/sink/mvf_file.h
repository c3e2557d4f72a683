/*
 * sink/mvf_file.h - the numbers of the mvf format; doc/mvf-format.md describes it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_MVF_FILE_H
#define MVF_SINK_MVF_FILE_H

#define MVF_FILE_MAGIC "\x89MVF\r\n\x1a\n"
#define MVF_FILE_MAGIC_BYTES 8
#define MVF_FILE_MAJOR 1
#define MVF_FILE_MINOR 1

/* File header: the fixed part, and all of it with the text that follows. */
#define MVF_FILE_FIXED_BYTES 64
#define MVF_FILE_HEADER_BYTES 192

#define MVF_CHUNK_FIELD 0x5246564du /* "MVFR" */
#define MVF_CHUNK_INDEX 0x4946564du /* "MVFI" */
#define MVF_CHUNK_HEADER_BYTES 32
#define MVF_CHUNK_ALIGNMENT 8
#define MVF_CHUNK_PLAIN 0
/* The packed record, as a zlib stream. */
#define MVF_CHUNK_PACKED 1

#define MVF_INDEX_ENTRY_BYTES 24

#define MVF_TRAILER_MAGIC 0x4546564du /* "MVFE" */
#define MVF_TRAILER_BYTES 24

#endif
