/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* The first %d or %0Nd of `path`, with its length and N; NULL without one. */
static const char *find_pattern(const char *path, size_t *length, int *n_digits)
{
    for (const char *at = strchr(path, '%'); at; at = strchr(at + 1, '%')) {
        char *end;
        long digits = strtol(at + 1, &end, 10);
        if (*end != 'd' || digits < 0 || digits > 19 || (end > at + 1 && at[1] != '0'))
            continue;
        *length = (size_t)(end + 1 - at);
        *n_digits = (int)digits;
        return at;
    }
    return NULL;
}

char *mvf_image_name(const char *path, int64_t number)
{
    size_t length = 0, size = strlen(path) + 32;
    int n_digits = 6;
    const char *at = find_pattern(path, &length, &n_digits), *dash = "";
    char *name = mvf_alloc_array(size, 1);
    if (!name)
        return NULL;
    if (!at) {
        at = strrchr(path, '.');
        dash = "-";
    }
    snprintf(name, size, "%.*s%s%0*" PRId64 "%s", (int)(at - path), path, dash, n_digits, number,
             at + length);
    return name;
}
