/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/message.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "cli/progress.h"

#define LINE_BYTES 2048

static mvf_log_level highest_level = MVF_LOG_INFO;
/* Whether a line has said what failed. */
static atomic_int is_explained;

void message_set_level(mvf_log_level level)
{
    highest_level = level;
}

/* Names from anywhere are in the line, which neither break it nor speak to the terminal. */
static void put_line(const char *prefix, const char *line)
{
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "%s", line);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    /* One write for the line, so that lines of several threads do not mix. */
    progress_clear();
    fprintf(stderr, "mvfield: %s%s\n", prefix, text);
}

static void print_line(void *opaque, mvf_log_level level, const char *line)
{
    (void)opaque;
    if (level > highest_level)
        return;
    if (level == MVF_LOG_ERROR)
        is_explained = 1;
    put_line(level == MVF_LOG_WARNING ? "warning: " : "", line);
}

mvf_logger message_logger(void)
{
    return (mvf_logger){print_line, NULL};
}

static void print_warning(void *opaque, mvf_log_level level, const char *line)
{
    print_line(opaque, level == MVF_LOG_ERROR ? MVF_LOG_WARNING : level, line);
}

mvf_logger message_warning_logger(void)
{
    return (mvf_logger){print_warning, NULL};
}

void message_print(mvf_log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* Names of files may hold anything; a message is one line. */
    for (char *at = line; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    print_line(NULL, level, line);
}

void message_report(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    put_line("", line);
}

void message_forget_errors(void)
{
    is_explained = 0;
}

int message_exit_status(mvf_status status)
{
    if (status == MVF_ERROR_INTERRUPTED)
        message_print(MVF_LOG_ERROR, "interrupted before there was any output");
    /* The libraries name the causes that they know. */
    else if (!is_explained)
        message_print(MVF_LOG_ERROR, "%s", mvf_status_string(status));
    if (status == MVF_ERROR_INTERRUPTED)
        return EXIT_INTERRUPTED;
    return status == MVF_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}
