/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/json.h"

/* The length of the UTF-8 sequence at `text`, or 0. */
static int sequence_length(const unsigned char *text)
{
    int n = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (text[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return n;
}

void json_write_string(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    putc('"', file);
    while (*at) {
        int n = sequence_length(at);
        if (!n) {
            fputs("\\ufffd", file);
            n = 1;
        } else if (*at < 0x20 || *at == 0x7f || *at == '<') {
            fprintf(file, "\\u%04x", *at);
        } else {
            if (*at == '"' || *at == '\\')
                putc('\\', file);
            fwrite(at, 1, (size_t)n, file);
        }
        at += n;
    }
    putc('"', file);
}

void json_print_string(const char *text)
{
    json_write_string(stdout, text);
}
