/*
 * mvfield/version.h - the version of the library and of these headers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_VERSION_H
#define MVFIELD_VERSION_H

/* Symbols marked MVF_API are the whole binary interface; everything else is hidden. */
#if defined(__GNUC__)
#define MVF_API __attribute__((visibility("default")))
#else
#define MVF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers, "major.minor.patch". configure reads it from this line. */
#define MVF_VERSION_STRING "0.1.0"

/* The version of the library in use, in the same form; static storage. Thread-safe. */
MVF_API const char *mvf_version(void);

#ifdef __cplusplus
}
#endif

#endif
