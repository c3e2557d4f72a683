/*
 * cli/options.h - the command line, from one table that also makes the help texts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_OPTIONS_H
#define MVF_CLI_OPTIONS_H

#include <mvfield/video.h>

#include "cli/progress.h"

typedef enum cli_command {
    COMMAND_EXTRACT = 1 << 0,
    COMMAND_OVERLAY = 1 << 1,
    COMMAND_INFO = 1 << 2,
    COMMAND_COMPARE = 1 << 3,
    COMMAND_STATS = 1 << 4,
    COMMAND_REPORT = 1 << 5,
    COMMAND_BENCH = 1 << 6,
    COMMAND_COMPLETION = 1 << 7,
    COMMAND_MERGE = 1 << 8
} cli_command;

typedef enum reference_choice {
    REFERENCE_PREVIOUS = 1 << 0,
    REFERENCE_NEXT = 1 << 1,
    REFERENCE_BOTH = REFERENCE_PREVIOUS | REFERENCE_NEXT
} reference_choice;

typedef enum vectors_choice { VECTORS_SEARCH, VECTORS_CODEC } vectors_choice;

#define MAX_OPTIONS 96
#define MAX_DEVICES 64

typedef struct cli_options {
    /* What follows the command's name. */
    int argc;
    char **argv;
    const char *input;
    /* Of merge: all that are given, `input` the first. */
    const char **inputs;
    size_t n_inputs;
    /* Of compare. */
    const char *second_input;
    const char *video;
    /* Largest mean end-point error in px that counts as success; negative: any. */
    double fail_above;
    int json, per_frame;
    /* Of bench. */
    const char *json_output;
    const char *output;
    const char *format;
    int overwrite;
    /* Whether an interrupted run leaves no output, rather than one that ends early. */
    int whole_only;
    /* Part shard_index of shard_count; a count of 0: all. */
    int32_t shard_index, shard_count;
    /* The file that names the inputs instead, or NULL; of those, so many at a time (0: as suits the
     * machine), and on these devices. */
    const char *list;
    int names_end_in_nul;
    int32_t jobs;
    int32_t devices[MAX_DEVICES], n_devices;
    int all_devices;
    mvf_options search;
    mvf_hwaccel hwaccel;
    /* Whether the command looks at frames, not only at their fields. */
    int looks_at_frames;
    reference_choice reference;
    int64_t first_frame;
    /* INT64_MAX: all. */
    int64_t n_frames;
    /* Of these frames, one in so many. */
    int64_t every;
    vectors_choice vectors;
    /* As in mvf_sink_options. */
    int32_t compression;
    int32_t stream;
    /* How many decoders read the input at once; 0: as suits it. */
    int32_t n_decoders;
    /* As in mvf_source_options. */
    int32_t timeout_ms;
    int64_t max_pixels;
    /* max_motion_px 0: not given. */
    mvf_overlay_options overlay;
    /* "codec", "search", the name of an mvf file, or NULL. */
    const char *against;
    int measure_motion, play;
    /* Whether the motion of the whole frame is taken from the vectors. */
    int residual;
    progress_mode progress;
    /* Whether it is said where the time went. */
    int verbose;
    /* With info: list the presets. */
    int list_presets;
    /* Which options were given, by their place in the table. */
    unsigned char given[MAX_OPTIONS];
    /* And the value that counts, or NULL. */
    const char *values[MAX_OPTIONS];
} cli_options;

typedef enum parse_result { PARSE_RUN, PARSE_HELP, PARSE_ERROR } parse_result;

/* Where the fields come from instead of a search, so that some options do nothing. */
typedef enum idle_case { IDLE_WITH_CODEC, IDLE_WITH_MVF } idle_case;

/* The name of a given option that does nothing then, or NULL. */
const char *options_find_idle(const cli_options *options, idle_case which);

/* Parses what follows the command's name; says what is wrong with PARSE_ERROR, and prints the
 * help with PARSE_HELP. */
parse_result options_parse(cli_options *options, cli_command command, int argc, char **argv);

/* Whether the option of that name was given. */
int options_was_given(const cli_options *options, const char *name);

/* Whether the decoder has to give the codec's own vectors. */
int options_want_codec_vectors(const cli_options *options);

/* An option as help shows it. */
typedef struct option_text {
    /* What it stands under; NULL for those before the first heading. */
    const char *heading;
    const char *name;
    /* NULL: it takes none. */
    const char *value;
    const char *help;
    /* What would be right for a value, as messages say it; NULL where anything is. */
    const char *values;
} option_text;

/* Goes on to the command's option after place `index` of the table, from -1 on: its place, or -1
 * after the last. *text holds the option before it. */
int options_next(cli_command command, int index, option_text *text);

/* All that decides about the fields, as a command line: equal texts give equal fields of an input.
 * Returns what snprintf() returns. */
int options_describe(const cli_options *options, char *text, size_t size);

/* Prints what each preset sets. */
void options_print_presets(void);

#endif
