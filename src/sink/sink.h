/*
 * sink/sink.h - what a format provides.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_SINK_H
#define MVF_SINK_SINK_H

#include <stdio.h>

#include <mvfield/sink.h>

typedef struct mvf_sink_format_ops {
    const char *name;
    /* Extension with its dot, or NULL. */
    const char *extension;
    /* Bytes of the format's own state, zeroed before `open`. */
    size_t state_bytes;
    /* Non-zero: the format writes no file. */
    int discards;
    mvf_status (*open)(mvf_sink *sink);
    mvf_status (*write)(mvf_sink *sink, const mvf_field *field);
    /* Writes what ends the file. */
    mvf_status (*finish)(mvf_sink *sink);
    /* Frees what the state holds; always called last. May be NULL. */
    void (*release)(mvf_sink *sink);
} mvf_sink_format_ops;

extern const mvf_sink_format_ops mvf_sink_csv;
extern const mvf_sink_format_ops mvf_sink_md5;
extern const mvf_sink_format_ops mvf_sink_null;

struct mvf_sink {
    const mvf_sink_format_ops *ops;
    void *state;
    mvf_logger logger;
    char *path;
    /* Where the file is until it is complete; NULL for standard output. */
    char *part_path;
    FILE *file;
};

/* Writes bytes to the sink's file; MVF_ERROR_IO with the system's reason. */
mvf_status mvf_sink_put(mvf_sink *sink, const void *bytes, size_t n_bytes);

#endif
