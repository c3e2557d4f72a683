/*
 * cli/named_file.h - a file of text that appears under its name only when it is complete: what the
 * libraries have no format for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_NAMED_FILE_H
#define MVF_CLI_NAMED_FILE_H

#include <stdio.h>

#include <mvfield/status.h>

#include "base/part_file.h"

typedef struct named_file {
    const char *name;
    mvf_part_file part;
    FILE *file;
} named_file;

/* MVF_ERROR_EXISTS, after saying so, where there is something by that name and `overwrite` is 0. */
mvf_status named_file_check(const char *name, int overwrite);

/* Opens it beside its name, which has to stay and was checked. All of these say what failed. */
mvf_status named_file_open(named_file *file, const char *name, int overwrite);

/* Closes it, and with MVF_OK gives it its name, else removes it. The status, or why it failed. */
mvf_status named_file_close(named_file *file, mvf_status status);

#endif
