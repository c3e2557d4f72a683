/*
 * mvfield/sink.h - fields to files.
 *
 * A sink writes fields in the order that it gets them. Its file is written beside its final name
 * and renamed by mvf_sink_close(), so it is there complete or not at all.
 *
 * Rule for all formats: a frame without a field is recorded as present with no blocks, never as
 * zero vectors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_SINK_H
#define MVFIELD_SINK_H

#include <mvfield/shard.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The formats. Numbers in text are exact decimals with '.', whatever the locale; binary numbers are
 * little-endian on every machine. "Missing" is a frame without a field, or a block without a vector
 * (dir 0). A codec's vectors have no cost.
 *
 * csv: One row a block under a header line:
 *
 *     frame,pts,time,type,source,dir,ref,x,y,w,h,mv_x,mv_y,cost
 *
 * time in seconds to the microsecond, empty where there is none, like pts; type ? I P or B; source
 * search or codec; ref is the reference's frame index, empty if unknown; mv_x and mv_y in px. A
 * frame without a field is one row whose columns from dir on are empty; a block without a vector
 * has empty mv_x, mv_y and cost; cost is empty with codec vectors. With method truemotion two more
 * columns: confidence (0 to 255) and flags (MVF_BLOCK_); as the first field has them or not, and
 * MVF_ERROR_UNSUPPORTED for later ones that do where it did not.
 *
 * jsonl: One JSON object a line and frame: frame, pts, time_base [num, den], time, type, key,
 * source, width, height, bit_depth, mv_scale, grid {cols, rows, block, step} or null, references
 * [{frame, pts}], columns (the names of what a block's array holds: dir, ref, x, y, w, h, mv_x,
 * mv_y, cost, as in csv, with method truemotion confidence and flags too) and blocks, which is
 * empty without a field. What is unknown or missing is null. "damaged", "duplicate" and "residual"
 * are there (true) where they apply.
 *
 * npy: int16 array (fields, rows, cols, 2): x, then y, in 1/mv_scale px. Missing: -32768 in both.
 * For fields of one grid and one reference: MVF_ERROR_UNSUPPORTED for others.
 *
 * npz: NumPy archive. One value a field: frame, pts (int64), time (float64, s), type (S1), flags
 * (uint32, MVF_FIELD_), mv_scale, width, height (int32). meta: JSON text that describes all.
 * Fields of one grid and one reference: mv (fields, rows, cols, 2) int16 in 1/mv_scale px, cost
 * uint32, dir int8, ref int32 (the reference's frame index), block_flags uint8 and, with method
 * truemotion, confidence uint8, each (fields, rows, cols). Any others: blocks, a structured array
 * (x, y, w, h, mv_x, mv_y, cost, ref, dir, flags, confidence) of all blocks, where field k has
 * blocks[offsets[k]:offsets[k+1]]. Missing: mv -32768, cost 4294967295, ref -1, dir 0, pts -2^63,
 * time NaN. Stored unless compression is 1 to 9.
 *
 * flo: Middlebury flow, one file a field: the vector of every pixel toward the reference in px,
 * as mvf_field_fill_flow() gives it; missing: 1e10 in both. The file's number is the frame index:
 * for the first %d or %0Nd in the path (where %% is a percent sign), or else, as -NNNNNN, before
 * the extension. Each file gets its name when it is complete and then stays, also if the sink is
 * discarded. MVF_ERROR_ARGUMENT for "-".
 *
 * kitti: 16-bit RGB PNG flow (.png), one file a field, named alike: 64 x + 32768, 64 y + 32768,
 * 1; missing: 0, 0, 0, and so are, with a warning, vectors outside -512 to +511.98 px.
 *
 * yuview: Statistics that YUView draws over a video (.yuview.csv): types 0 MVPast and 1 MVFuture
 * (vectors in 1/scaleFactor px), 2 Cost and, with method truemotion, 3 Confidence; no rows where
 * something is missing.
 *
 * mvf: The library's own: read it back with mvfield/reader.h. doc/mvf-format.md describes each
 * byte. Packed and deflated with compression 1 to 9, else as it lies in memory.
 *
 * md5: The MD5 of the fields as mvf holds them, 32 hex digits and a line break.
 *
 * null: Nothing; for timing. Takes any path and creates no file.
 */
typedef struct mvf_sink_options {
    /* Set by mvf_sink_options_init(). */
    size_t struct_size;
    /* A format's name, or NULL (the default): by the path's extension. */
    const char *format;
    /* Whether an existing file may be replaced, or one that is there when this one is complete.
     * Default 0. Symbolic links are followed; a device or a pipe is written in place. */
    int32_t overwrite;
    /* Gets the messages. Default none. */
    mvf_logger logger;
    /* zlib's level for npz and mvf: 0 none, 1 to 9; -1 (the default): the format's own, none. */
    int32_t compression;
    /* About the video, for the formats with a place for it: the clockwise turn in degrees that a
     * player applies, while fields are in coded orientation; the frame rate, 0/1 if unknown. */
    int32_t rotation;
    mvf_rational frame_rate;
    /* What part of a run the file will hold, for formats mvf and null; NULL (the default): all of
     * it. It is copied, its settings as well. */
    const mvf_shard *shard;
} mvf_sink_options;

/* Fills in the defaults. */
MVF_API void mvf_sink_options_init(mvf_sink_options *options);

/* The name of format number `index`, from 0, or NULL past the last. */
MVF_API const char *mvf_sink_format(size_t index);

/* A file, or several, that fields are written to. */
typedef struct mvf_sink mvf_sink;

/*
 * Opens a sink that will make `path`, or writes to standard output for "-". On failure *sink is
 * NULL: MVF_ERROR_ARGUMENT (unknown format, none given and none known by the extension, or an
 * option that the format cannot serve), MVF_ERROR_EXISTS, MVF_ERROR_IO, MVF_ERROR_MEMORY.
 * `options` may be NULL; they are copied. A sink serves one thread at a time.
 */
MVF_API mvf_status mvf_sink_open(mvf_sink **sink, const char *path,
                                 const mvf_sink_options *options);

/*
 * Writes one field. MVF_ERROR_ARGUMENT (the field contradicts itself), MVF_ERROR_UNSUPPORTED (the
 * format cannot hold it), MVF_ERROR_EXISTS (flo, kitti), MVF_ERROR_IO, MVF_ERROR_MEMORY. After an
 * error the sink can only be closed or discarded.
 */
MVF_API mvf_status mvf_sink_write(mvf_sink *sink, const mvf_field *field);

/* Completes the file under its final name and frees *sink, which becomes NULL. On failure nothing
 * is left under that name. */
MVF_API mvf_status mvf_sink_close(mvf_sink **sink);

/* Frees *sink and removes what it wrote; does nothing for NULL. */
MVF_API void mvf_sink_discard(mvf_sink **sink);

#ifdef __cplusplus
}
#endif

#endif
