/*
 * fuzz_file.h - bytes as a file, for readers that take a name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_FUZZ_FILE_H
#define MVF_TESTS_FUZZ_FILE_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

typedef struct fuzz_file {
    int file;
    char path[64];
} fuzz_file;

/* A file in memory. */
static inline void fuzz_file_open(fuzz_file *file, const uint8_t *bytes, size_t n_bytes)
{
    file->file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_EXPECT(file->file >= 0);
    snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->file);
    FUZZ_EXPECT(write(file->file, bytes, n_bytes) == (ssize_t)n_bytes);
}

static inline void fuzz_file_close(fuzz_file *file)
{
    close(file->file);
}

#endif
