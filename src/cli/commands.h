/*
 * cli/commands.h - the subcommands: their names and texts, and one function each, which returns the
 * exit status.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_COMMANDS_H
#define MVF_CLI_COMMANDS_H

#include "cli/options.h"

int command_extract(const cli_options *options);
int command_merge(const cli_options *options);
int command_overlay(const cli_options *options);
int command_compare(const cli_options *options);
int command_stats(const cli_options *options);
int command_report(const cli_options *options);
int command_bench(const cli_options *options);
int command_completion(const cli_options *options);
int command_info(const cli_options *options);

typedef struct command_entry {
    cli_command command;
    int (*run)(const cli_options *options);
    const char *name;
    /* What follows the name and the options. */
    const char *operands;
    /* One line, and what help says before the options. */
    const char *summary, *text;
} command_entry;

/* The commands in the order that help lists them; NULL past the last. */
const command_entry *command_at(size_t index);
/* NULL: there is none of that name. */
const command_entry *command_find(const char *name);
const char *command_name(cli_command command);

#endif
