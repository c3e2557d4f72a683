/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

MVF_PRINTF(3, 0)
static void log_list(const mvf_logger *logger, mvf_log_level level, const char *format,
                     va_list arguments)
{
    char line[1024];
    if (!logger || !logger->callback)
        return;
    vsnprintf(line, sizeof line, format, arguments);
    logger->callback(logger->opaque, level, line);
}

void mvf_log(const mvf_logger *logger, mvf_log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_list(logger, level, format, arguments);
    va_end(arguments);
}

mvf_status mvf_fail(const mvf_logger *logger, mvf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_list(logger, MVF_LOG_ERROR, format, arguments);
    va_end(arguments);
    return status;
}
