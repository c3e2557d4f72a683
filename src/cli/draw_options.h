/*
 * cli/draw_options.h - the options of what is drawn and how it is written. Each takes a value and
 * returns NULL, or says what would be right.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_DRAW_OPTIONS_H
#define MVF_CLI_DRAW_OPTIONS_H

#include "cli/options.h"

const char *draw_set_modes(cli_options *options, const char *value);
const char *draw_set_against(cli_options *options, const char *value);
const char *draw_set_scale(cli_options *options, const char *value);
const char *draw_set_max_motion(cli_options *options, const char *value);
const char *draw_set_max_cost(cli_options *options, const char *value);
const char *draw_set_opacity(cli_options *options, const char *value);
const char *draw_set_layout(cli_options *options, const char *value);
const char *draw_set_ground(cli_options *options, const char *value);
const char *draw_set_legend(cli_options *options, const char *value);
const char *draw_set_caption(cli_options *options, const char *value);
const char *draw_set_codec(cli_options *options, const char *value);
const char *draw_set_quality(cli_options *options, const char *value);
const char *draw_set_frame(cli_options *options, const char *value);
const char *draw_set_play(cli_options *options, const char *value);

/* What is wrong with the drawing options together, or NULL. `given` tells whether an option was. */
const char *draw_check(const cli_options *options,
                       int (*given)(const cli_options *options, const char *name));

#endif
