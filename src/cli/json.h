/*
 * cli/json.h - text as JSON has it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_JSON_H
#define MVF_CLI_JSON_H

/* Prints `text` on standard output as a JSON string; bytes that are not UTF-8 become U+FFFD. */
void json_print_string(const char *text);

#endif
