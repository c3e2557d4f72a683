/*
 * cli/message.h - what the command says on standard error, one line at a time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_MESSAGE_H
#define MVF_CLI_MESSAGE_H

#include <mvfield/status.h>

/* Exit statuses of the command. */
enum {
    EXIT_ALL_FRAMES = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_DAMAGED = 3,
    EXIT_INTERRUPTED = 130
};

/* Messages above this level are dropped. */
void message_set_level(mvf_log_level level);

/* A logger for the libraries that prints lines as "mvfield: ...". */
mvf_logger message_logger(void);

/* The same, for what is not the end: its errors are warnings. */
mvf_logger message_warning_logger(void);

void message_print(mvf_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line that was asked for, whatever the level. */
void message_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes it that the errors said so far were survived. */
void message_forget_errors(void);

/* The exit status for a library call that failed with `status`; says so unless a line has told why
 * already. */
int message_exit_status(mvf_status status);

#endif
