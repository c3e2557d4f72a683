/*
 * cli/help.h - the help texts, wrapped for a terminal.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_HELP_H
#define MVF_CLI_HELP_H

#include <stdio.h>

#include "cli/options.h"

/* Prints the help of one command to standard output, or that of the whole program to `file`. */
void help_print(cli_command command);
void help_print_all(FILE *file);

#endif
