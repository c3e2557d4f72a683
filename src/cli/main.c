/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"

static const struct {
    const char *name;
    cli_command command;
    int (*run)(const cli_options *options);
    const char *summary;
} commands[] = {
    {"extract", COMMAND_EXTRACT, command_extract, "motion vectors to a file"},
    {"overlay", COMMAND_OVERLAY, command_overlay, "motion drawn over the video"},
    {"report", COMMAND_REPORT, command_report, "a page with the overlay and plots of its motion"},
    {"compare", COMMAND_COMPARE, command_compare, "two sets of vectors: agreement, errors, gain"},
    {"stats", COMMAND_STATS, command_stats, "how much moves, where to, and when the scene changes"},
    {"bench", COMMAND_BENCH, command_bench, "this machine's search speed against its own limit"},
    {"info", COMMAND_INFO, command_info, "this build and machine, or what a file offers"},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(FILE *to)
{
    fprintf(to, "usage: mvfield COMMAND ...\n\n"
                "Turns video into motion vector fields, on a GPU or on the CPU with the same "
                "bits.\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  mvfield %-8s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n  mvfield extract clip.mp4 -o clip.csv\n"
                "  mvfield overlay clip.mp4 -o arrows.mp4\n\n"
                "mvfield COMMAND --help lists the options.\n");
}

/* A file opened where a standard stream is closed would take its number, and messages would go into
 * it. These stand-ins are opened the wrong way round, so that using one is still an error. */
static void hold_standard_streams(void)
{
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            open("/dev/null", stream ? O_RDONLY : O_WRONLY);
}

/* What is still in stdio's buffers may fail to be written only now. A failed command has said
 * already what happened. */
static int check_output(int exit_status)
{
    int failed = ferror(stdout);
    if (exit_status || (fflush(stdout) == 0 && !failed))
        return exit_status;
    message_print(MVF_LOG_ERROR, "standard output: writing failed%s%s", failed ? "" : ": ",
                  failed ? "" : strerror(errno));
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    mvf_ffmpeg_quiet();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return check_output(0);
    }
    if (!strcmp(argv[1], "--version")) {
        printf("mvfield %s\n", mvf_version());
        return check_output(0);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        cli_options options;
        if (strcmp(argv[1], commands[i].name))
            continue;
        switch (options_parse(&options, commands[i].command, argc - 2, argv + 2)) {
        case PARSE_ERROR:
            return EXIT_USAGE;
        case PARSE_HELP:
            return check_output(0);
        case PARSE_RUN:
            break;
        }
        run_catch_signals();
        return check_output(commands[i].run(&options));
    }
    message_print(MVF_LOG_ERROR, "%s: there is no such command (mvfield --help lists them)",
                  argv[1]);
    return EXIT_USAGE;
}
