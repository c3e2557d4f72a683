/*
 * mvfield/status.h - what every call returns, and how messages reach the caller.
 *
 * The libraries never print, exit, abort or assert on input, on a device error or when memory runs
 * out: they return one of the codes below, and say the cause once, where it is first seen, through
 * the logger of the object at hand.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_STATUS_H
#define MVFIELD_STATUS_H

#include <mvfield/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are part of the binary interface and never change. Errors are negative. */
typedef enum mvf_status {
    MVF_OK = 0,
    /* No result yet: submit more input, or (from a submit call) receive a result first. */
    MVF_AGAIN = -1,
    /* No more results: the stream has ended, or the object was flushed and is empty. */
    MVF_EOF = -2,
    /* An argument is out of its documented range; nothing was changed. */
    MVF_ERROR_ARGUMENT = -3,
    MVF_ERROR_MEMORY = -4,
    /* The request is meaningful but this build, this machine or this input cannot serve it. */
    MVF_ERROR_UNSUPPORTED = -5,
    /* Reading or writing failed; the message names the file and the system's reason. */
    MVF_ERROR_IO = -6,
    /* The input is damaged or is not what it claims to be. */
    MVF_ERROR_DATA = -7,
    /* No usable GPU: no driver, no device, or none that runs these kernels. */
    MVF_ERROR_NO_DEVICE = -8,
    /* A GPU call failed; the searcher cannot go on with this device. */
    MVF_ERROR_DEVICE = -9,
    /* The output file exists and overwriting was not asked for. */
    MVF_ERROR_EXISTS = -10,
    /* The input opened, but has no video stream. */
    MVF_ERROR_NO_VIDEO = -11,
    /* The caller's interrupt callback asked to stop. */
    MVF_ERROR_INTERRUPTED = -12,
    /* A fault of the library itself; please report it. */
    MVF_ERROR_INTERNAL = -13
} mvf_status;

/* A short English phrase for `status`, in static storage; never NULL. Thread-safe. */
MVF_API const char *mvf_status_string(mvf_status status);

/* How grave a message is. */
typedef enum mvf_log_level {
    MVF_LOG_ERROR = 0,
    MVF_LOG_WARNING = 1,
    MVF_LOG_INFO = 2,
    MVF_LOG_DEBUG = 3
} mvf_log_level;

/*
 * Receives one message: one line of UTF-8 text without a line break at its end, valid during the
 * call only. It is called on whichever thread saw the cause, several threads included, so it must
 * be thread-safe; it must not call back into the object that it is called for.
 */
typedef void (*mvf_log_callback)(void *opaque, mvf_log_level level, const char *message);

/* A callback of NULL drops the messages. `opaque` is handed through untouched. */
typedef struct mvf_logger {
    mvf_log_callback callback;
    void *opaque;
} mvf_logger;

#ifdef __cplusplus
}
#endif

#endif
