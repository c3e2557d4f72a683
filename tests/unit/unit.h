/*
 * unit.h - what the unit tests share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_UNIT_H
#define MVF_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mvfield/mvfield.h>

/* Sanitizers end a program that asks for too much memory; here that is a test. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* What a logger got. */
typedef struct unit_messages {
    int count;
    mvf_log_level level;
    char text[1024];
} unit_messages;

static inline void unit_keep_message(void *opaque, mvf_log_level level, const char *message)
{
    unit_messages *kept = opaque;
    kept->count++;
    kept->level = level;
    snprintf(kept->text, sizeof kept->text, "%s", message);
}

static inline mvf_logger unit_logger(unit_messages *messages)
{
    *messages = (unit_messages){.count = 0};
    return (mvf_logger){unit_keep_message, messages};
}

/* One error line, without a line break, that has `part` in it. */
static inline void unit_assert_message(const unit_messages *messages, const char *part)
{
    assert_int_equal(messages->count, 1);
    assert_int_equal(messages->level, MVF_LOG_ERROR);
    assert_null(strchr(messages->text, '\n'));
    if (!strstr(messages->text, part))
        fail_msg("\"%s\" says nothing of \"%s\"", messages->text, part);
}

#endif
