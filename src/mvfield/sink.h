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

#include <mvfield/field.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * csv   one row a block under a header line:
 *       frame,pts,time,type,source,dir,ref,x,y,w,h,mv_x,mv_y,cost
 *       time in seconds to the microsecond; ref is the reference's frame index, empty if unknown;
 *       mv_x and mv_y in px as exact decimals with '.', whatever the locale. A frame without a
 *       field is one row whose columns from dir on are empty.
 * md5   the MD5 of the serialized fields, 32 hex digits and a line break.
 * null  nothing; for timing. Takes any path and creates no file.
 */
typedef struct mvf_sink_options {
    /* Set by mvf_sink_options_init(). */
    size_t struct_size;
    /* A format's name, or NULL (the default): by the path's extension. */
    const char *format;
    /* Whether an existing file may be replaced. Default 0. */
    int32_t overwrite;
    mvf_logger logger;
} mvf_sink_options;

MVF_API void mvf_sink_options_init(mvf_sink_options *options);

/* The name of format number `index`, from 0, or NULL past the last. */
MVF_API const char *mvf_sink_format(size_t index);

typedef struct mvf_sink mvf_sink;

/*
 * Opens a sink that will make `path`, or writes to standard output for "-". On failure *sink is
 * NULL: MVF_ERROR_ARGUMENT (unknown format, or none given and none known by the extension),
 * MVF_ERROR_EXISTS, MVF_ERROR_IO, MVF_ERROR_MEMORY. A sink serves one thread at a time.
 */
MVF_API mvf_status mvf_sink_open(mvf_sink **sink, const char *path,
                                 const mvf_sink_options *options);

/* Writes one field. After an error the sink can only be discarded. */
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
