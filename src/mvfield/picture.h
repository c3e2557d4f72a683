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
    /* `data` is a CUdeviceptr in the primary context of the searcher's CUDA device. */
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
 * with the value in the low bits unless shift_bits says otherwise. Width, height and bit depth are
 * the searcher's.
 */
typedef struct mvf_picture {
    /* The first sample of the first row. */
    const void *data;
    /* Bytes from one row to the next; may be negative in host memory. Any pitch will do on a
     * device: multiples of 16 bytes, of an address that is one too, are read fastest. */
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
    /* With samples of two bytes: the bits below the value, which do not count; 0 to 16 - bit depth.
     * 6 for P010, whose 10 bits are the highest of a word; 0 by default. */
    int32_t shift_bits;
    /*
     * With device memory: a CUstream of the device's primary context, or CU_STREAM_LEGACY or
     * CU_STREAM_PER_THREAD, on which the caller works on the samples. They count as ready once the
     * work is done that this stream holds when the picture is submitted, and work that the caller
     * puts there after the call waits until the samples have been taken: neither side's processor
     * waits, and the memory may be written anew, on that stream, at once. Memory that is freed or
     * written in other ways has to wait for the stream. The stream stays the caller's, and has to
     * last until the call returns.
     *
     * NULL (the default): the samples are ready now, and the call waits until they are taken. With
     * host memory it must be NULL.
     */
    void *stream;
} mvf_picture;

/* Fills in host memory, MVF_NO_FRAME, MVF_NO_PTS, time base 0/1, type unknown, no samples, no shift
 * and no stream. */
MVF_API void mvf_picture_init(mvf_picture *picture);

#ifdef __cplusplus
}
#endif

#endif
