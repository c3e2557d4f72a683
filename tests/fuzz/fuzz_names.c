/*
 * fuzz_names.c - names of numbered files, and text inside JSON. The first eight bytes are the
 * number.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/json.h"
#include "fuzz.h"
#include "sink/output.h"

/* A JSON string: printable ASCII or UTF-8 as it came, and nothing that ends it early. */
static void check_json(const char *text)
{
    char *json = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&json, &n);
    FUZZ_EXPECT(file);
    json_write_string(file, text);
    FUZZ_EXPECT(fclose(file) == 0);
    FUZZ_EXPECT(n >= 2 && json[0] == '"' && json[n - 1] == '"');
    for (size_t i = 1; i < n - 1; i++) {
        FUZZ_EXPECT((uint8_t)json[i] >= 0x20 && json[i] != '"');
        if (json[i] == '\\')
            FUZZ_EXPECT(++i < n - 1 && strchr("\"\\/bfnrtu", json[i]));
    }
    free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char digits[32];
    if (size < 8)
        return 0;
    int64_t number = (int64_t)mvf_get_le64(data);
    char *path = calloc(size - 8 + 1, 1);
    FUZZ_EXPECT(path);
    memcpy(path, data + 8, size - 8);
    char *numbered = mvf_output_numbered_path(path, number);
    FUZZ_EXPECT(numbered);
    snprintf(digits, sizeof digits, "%" PRId64, number < 0 ? 0 : number);
    FUZZ_EXPECT(number < 0 || strstr(numbered, digits));
    check_json(path);
    free(numbered);
    free(path);
    return 0;
}
