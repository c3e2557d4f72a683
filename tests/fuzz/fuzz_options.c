/*
 * fuzz_options.c - command lines: the first byte is the command, the rest its words, one a line.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "cli/options.h"
#include "fuzz.h"

/* Those of cli_command. */
#define N_COMMANDS 8
#define MAX_WORDS 64
#define MAX_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MAX_BYTES + 1];
    char *words[MAX_WORDS + 1] = {NULL};
    int n = 0;
    cli_options options;
    if (!size || size > MAX_BYTES)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *at = text; n < MAX_WORDS && at < text + size; at += strlen(at) + 1) {
        at[strcspn(at, "\n")] = '\0';
        words[n++] = at;
    }
    parse_result result =
        options_parse(&options, (cli_command)(1 << data[0] % N_COMMANDS), n, words);
    if (result == PARSE_RUN) {
        FUZZ_EXPECT(options.first_frame >= 0 && options.n_frames >= 1 && options.every >= 1);
        /* What the library says of them does not matter, only that it says something. */
        mvf_options_check(&options.search);
    }
    return 0;
}
