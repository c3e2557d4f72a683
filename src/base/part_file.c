/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#define MAX_ATTEMPTS 1000

int mvf_part_file_create(const char *path, char **part_path)
{
    size_t size = strlen(path) + 64;
    int file = -1;
    *part_path = mvf_alloc_array(size, 1);
    if (!*part_path) {
        errno = ENOMEM;
        return -1;
    }
    errno = EEXIST;
    for (int attempt = 0; file < 0 && errno == EEXIST && attempt < MAX_ATTEMPTS; attempt++) {
        snprintf(*part_path, size, "%s.%ld-%d.part", path, (long)getpid(), attempt);
        file = open(*part_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (file < 0) {
        int error = errno;
        free(*part_path);
        *part_path = NULL;
        errno = error;
    }
    return file;
}
