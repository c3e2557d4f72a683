/*
 * sink/output.h - a file that appears under its name only when it is complete.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_OUTPUT_H
#define MVF_SINK_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include <mvfield/status.h>

#include "base/part_file.h"

typedef struct mvf_output {
    const mvf_logger *logger;
    char *path;
    mvf_part_file part;
    FILE *file;
    /* What `file` is copied to at the end, where that cannot seek and the format has to. */
    FILE *target;
} mvf_output;

/* `path` "-" is standard output. With `seeks`, `file` is one that can seek. */
mvf_status mvf_output_open(mvf_output *output, const char *path, int overwrite, int seeks,
                           const mvf_logger *logger);

/* MVF_ERROR_IO with the system's reason. */
mvf_status mvf_output_put(mvf_output *output, const void *bytes, size_t n_bytes);
/* Moves to byte `offset` from the file's start. */
mvf_status mvf_output_seek(mvf_output *output, int64_t offset);
/* Hands what was written to whoever waits for it, where the file is not one that is renamed. */
mvf_status mvf_output_flush(mvf_output *output);
mvf_status mvf_output_fail(const mvf_output *output);

/* Completes the file under its name. In any case *output is then as good as never opened. */
mvf_status mvf_output_close(mvf_output *output);

/* Removes what was written; does nothing to an output that is not open. */
void mvf_output_discard(mvf_output *output);

/*
 * A file without a name, beside `path` so that it is on a disk meant for such data, or NULL with
 * errno set.
 */
FILE *mvf_output_scratch(const char *path);

/* `path` with `number` for the first %d or %0Nd in it (%% is a percent sign there), else before
 * the extension as -NNNNNN. NULL when memory runs out. */
char *mvf_output_numbered_path(const char *path, int64_t number);

#endif
