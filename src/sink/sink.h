/*
 * sink/sink.h - what a format provides.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_SINK_H
#define MVF_SINK_SINK_H

#include <mvfield/sink.h>

#include "sink/output.h"

typedef enum mvf_sink_files {
    MVF_SINK_ONE_FILE = 0,
    /* The format goes back to patch what it wrote. */
    MVF_SINK_ONE_SEEKABLE_FILE,
    /* The format opens a file for each field by mvf_sink_open_numbered(). */
    MVF_SINK_FILE_A_FIELD,
    MVF_SINK_NO_FILE
} mvf_sink_files;

typedef struct mvf_sink_format_ops {
    const char *name;
    /* Extension with its dot, or NULL. */
    const char *extension;
    /* Bytes of the format's own state, zeroed before `open`. */
    size_t state_bytes;
    mvf_sink_files files;
    /* Whether the format can compress. */
    int compresses;
    /* Whether a file can hold one part of a run. */
    int takes_shards;
    /* May be NULL, as `finish` and `release`. */
    mvf_status (*open)(mvf_sink *sink);
    /* The field has been checked. */
    mvf_status (*write)(mvf_sink *sink, const mvf_field *field);
    /* Writes what ends the file. */
    mvf_status (*finish)(mvf_sink *sink);
    /* Frees what the state holds; always called last. */
    void (*release)(mvf_sink *sink);
} mvf_sink_format_ops;

extern const mvf_sink_format_ops mvf_sink_csv;
extern const mvf_sink_format_ops mvf_sink_flo;
extern const mvf_sink_format_ops mvf_sink_jsonl;
extern const mvf_sink_format_ops mvf_sink_kitti;
extern const mvf_sink_format_ops mvf_sink_md5;
extern const mvf_sink_format_ops mvf_sink_mvf;
extern const mvf_sink_format_ops mvf_sink_npy;
extern const mvf_sink_format_ops mvf_sink_npz;
extern const mvf_sink_format_ops mvf_sink_null;
extern const mvf_sink_format_ops mvf_sink_yuview;

struct mvf_sink {
    const mvf_sink_format_ops *ops;
    void *state;
    mvf_sink_options options;
    /* What options.shard points to. */
    mvf_shard shard;
    char *path;
    mvf_output output;
    /* Fields written so far. */
    int64_t n_fields;
};

/* Writes bytes to the sink's file; MVF_ERROR_IO with the system's reason. */
mvf_status mvf_sink_put(mvf_sink *sink, const void *bytes, size_t n_bytes);

/* Opens the file of one field; mvf_output_close() gives it its name. */
mvf_status mvf_sink_open_numbered(mvf_sink *sink, const mvf_field *field);

/* For what a format cannot hold: MVF_ERROR_UNSUPPORTED. The message starts with path and frame. */
mvf_status mvf_sink_refuse(mvf_sink *sink, const mvf_field *field, const char *reason);

#endif
