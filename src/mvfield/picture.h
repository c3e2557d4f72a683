/*
 * mvfield/picture.h - one luma plane, described where it lies.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_PICTURE_H
#define MVFIELD_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include <mvfield/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "No time stamp" and "no frame index". Never printed or exported as a number. */
#define MVF_NO_PTS INT64_MIN
#define MVF_NO_FRAME INT64_MIN

/* How the codec coded the picture. */
typedef enum mvf_picture_type {
    MVF_PICTURE_UNKNOWN = 0,
    MVF_PICTURE_I = 1,
    MVF_PICTURE_P = 2,
    MVF_PICTURE_B = 3
} mvf_picture_type;

/* The letter of a picture type: '?', 'I', 'P', 'B'. Thread-safe. */
MVF_API char mvf_picture_type_letter(mvf_picture_type type);

/* Where samples lie. */
typedef enum mvf_memory {
    /* `data` is an address of this process. */
    MVF_MEMORY_HOST = 0,
    /* `data` is a CUdeviceptr of the searcher's CUDA device. */
    MVF_MEMORY_CUDA = 1
} mvf_memory;

/* Time as a fraction of a second; den > 0. */
typedef struct mvf_rational {
    int32_t num;
    int32_t den;
} mvf_rational;

/*
 * A view of one luma plane. The library neither keeps nor frees the samples.
 *
 * Samples of 8 bits take one byte; samples of 9 to 16 bits take two, in the machine's byte order,
 * with the value in the low bits. Width, height and bit depth are the searcher's.
 */
typedef struct mvf_picture {
    /* The first sample of the first row. */
    const void *data;
    /* Bytes from one row to the next; may be negative in host memory. */
    ptrdiff_t stride_bytes;
    /* Where `data` points to. */
    mvf_memory memory;
    /* Handed through to the field. */
    mvf_picture_type type;
    /*
     * Frame index: the ordinal of the decoded frame in presentation order, from 0. Two pictures
     * given to one searcher with the same index must hold the same samples: the searcher then
     * prepares (copies, uploads) them once. MVF_NO_FRAME: always prepared anew.
     */
    int64_t frame;
    /* Presentation time in units of `time_base`, or MVF_NO_PTS. */
    int64_t pts;
    mvf_rational time_base;
} mvf_picture;

/* Fills in host memory, MVF_NO_FRAME, MVF_NO_PTS, time base 0/1, type unknown, no samples. */
MVF_API void mvf_picture_init(mvf_picture *picture);

#ifdef __cplusplus
}
#endif

#endif
