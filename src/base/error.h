/*
 * base/error.h - handing on a status, and saying its cause once.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_ERROR_H
#define MVF_BASE_ERROR_H

#include <mvfield/status.h>

/* Returns the status of `call` from the enclosing function unless it is MVF_OK. */
#define MVF_TRY(call)                    \
    do {                                 \
        mvf_status try_status_ = (call); \
        if (try_status_ != MVF_OK)       \
            return try_status_;          \
    } while (0)

#if defined(__GNUC__)
#define MVF_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))
#else
#define MVF_PRINTF(format_index, first_index)
#endif

/* Sends one line to `logger`, which may be NULL. */
void mvf_log(const mvf_logger *logger, mvf_log_level level, const char *format, ...)
    MVF_PRINTF(3, 4);

/* Logs at MVF_LOG_ERROR and returns `status`: for "return mvf_fail(...)" where a cause is seen. */
mvf_status mvf_fail(const mvf_logger *logger, mvf_status status, const char *format, ...)
    MVF_PRINTF(3, 4);

#endif
