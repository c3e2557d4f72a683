/*
 * corpus.c - main() of a fuzz target without a fuzzer: gives it each file that is named once.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "fuzz.h"

static int try_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    long size = 0;
    uint8_t *data = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0)
        data = malloc((size_t)size + 1);
    int is_read =
        data && fseek(file, 0, SEEK_SET) == 0 && fread(data, 1, (size_t)size, file) == (size_t)size;
    if (file)
        fclose(file);
    if (is_read) {
        /* A block of its own size, so that reading beyond the end is seen. */
        uint8_t *exact = realloc(data, size ? (size_t)size : 1);
        data = exact ? exact : data;
        LLVMFuzzerTestOneInput(data, (size_t)size);
    }
    free(data);
    return is_read;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!try_file(argv[i])) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
    return 0;
}
