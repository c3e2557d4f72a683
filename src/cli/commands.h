/*
 * cli/commands.h - one function a subcommand; each returns the exit status.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_COMMANDS_H
#define MVF_CLI_COMMANDS_H

#include "cli/options.h"

int command_extract(const cli_options *options);
int command_overlay(const cli_options *options);
int command_compare(const cli_options *options);
int command_stats(const cli_options *options);
int command_report(const cli_options *options);
int command_bench(const cli_options *options);
int command_info(const cli_options *options);

#endif
