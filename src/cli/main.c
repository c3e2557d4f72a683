/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/run.h"

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

static int is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

static const command_entry *find_command(const char *name)
{
    const command_entry *found = command_find(name);
    if (!found && !access(name, F_OK))
        message_print(MVF_LOG_ERROR,
                      "%s: a command goes before it, as in mvfield extract %s -o OUT", name, name);
    else if (!found)
        message_print(MVF_LOG_ERROR, "%s: there is no such command (mvfield --help lists them)",
                      name);
    return found;
}

/* "help" alone, or with a command's name. */
static int print_help(const char *name)
{
    const command_entry *found = name ? find_command(name) : NULL;
    if (name && !found)
        return EXIT_USAGE;
    if (found)
        help_print(found->command);
    else
        help_print_all(stdout);
    return EXIT_ALL_FRAMES;
}

static int run_words(int argc, char **argv)
{
    cli_options options;
    const command_entry *found = find_command(argv[0]);
    if (!found)
        return EXIT_USAGE;
    switch (options_parse(&options, found->command, argc - 1, argv + 1)) {
    case PARSE_ERROR:
        return EXIT_USAGE;
    case PARSE_HELP:
        return EXIT_ALL_FRAMES;
    case PARSE_RUN:
        break;
    }
    run_catch_signals();
    return found->run(&options);
}

/* Fields and frames come and go all the time: given back to the system after each, their memory
 * would be cleared and mapped anew, page by page, which takes longer than filling in a field. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    keep_freed_memory();
    mvf_ffmpeg_quiet();
    if (argc < 2) {
        help_print_all(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1]))
        return check_output(print_help(argc > 2 ? argv[2] : NULL));
    if (!strcmp(argv[1], "--version")) {
        printf("mvfield %s\n", mvf_version());
        return check_output(EXIT_ALL_FRAMES);
    }
    return check_output(run_words(argc - 1, argv + 1));
}
