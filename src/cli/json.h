/*
 * cli/json.h - text as JSON has it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_JSON_H
#define MVF_CLI_JSON_H

#include <stdio.h>

/* Writes `text` as a JSON string, which also may stand in a script inside of HTML; bytes that are
 * not UTF-8 become U+FFFD. */
void json_write_string(FILE *file, const char *text);

/* The same on standard output. */
void json_print_string(const char *text);

#endif
