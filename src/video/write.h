/*
 * video/write.h - the parts behind an overlay: output file, encoder, muxer, picture.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_VIDEO_WRITE_H
#define MVF_VIDEO_WRITE_H

#include "overlay/arrows.h"
#include "video/internal.h"

/* output.c: a file that is written beside its final name and renamed when it is complete. */

typedef struct mvf_media_output {
    char *path, *part_path;
    int fd;
    AVIOContext *io;
} mvf_media_output;

/* Returns a status without a message; *error is an AVERROR code for MVF_ERROR_IO. */
mvf_status mvf_media_output_open(mvf_media_output *output, const char *path, int overwrite,
                                 int *error);
/* Empties the file, which stays open. */
int mvf_media_output_restart(mvf_media_output *output);
/* Closes and renames; 0 or an AVERROR code. */
int mvf_media_output_commit(mvf_media_output *output);
/* Closes and removes, unless it was committed. */
void mvf_media_output_discard(mvf_media_output *output);

/* timeline.c: times that only grow, as muxers and encoders demand. */

typedef struct mvf_timeline {
    int64_t last, offset;
    int32_t started;
} mvf_timeline;

/*
 * The output time for `time`: the same plus the offset, as long as that grows. A time that stands
 * still or runs back a little becomes last + 1; one that runs back by `restart` or more starts a
 * new stretch one `step` after the last. MVF_NO_PTS continues by `step`. Returns whether the time
 * was changed.
 */
int mvf_timeline_next(mvf_timeline *timeline, int64_t time, int64_t step, int64_t restart,
                      int64_t *result);

/* paint.c: the encoder's picture of a frame, with the field drawn over it. */

typedef struct mvf_painter {
    enum AVPixelFormat format;
    int32_t width, height;
    enum AVColorSpace matrix;
    enum AVColorRange range;
    AVFrame *canvas, *resized;
    mvf_scaler to_canvas, to_size;
    mvf_arrows *arrows;
} mvf_painter;

/* *painted belongs to the painter. 0 or an AVERROR code. */
int mvf_painter_paint(mvf_painter *painter, const AVFrame *frame, const mvf_field *field,
                      AVFrame **painted);
void mvf_painter_close(mvf_painter *painter);

/* The matrix that a picture's samples follow where it does not say. */
enum AVColorSpace mvf_usual_matrix(int height);

/* encode.c: H.264 where FFmpeg has an encoder for it, else MPEG-4. */

typedef struct mvf_encoder_wishes {
    const AVFrame *frame;
    AVRational time_base, frame_rate, sample_aspect;
    int32_t threads, global_header, no_b_frames;
} mvf_encoder_wishes;

typedef struct mvf_encoder {
    AVCodecContext *codec;
    /* Times are the ordinals of frames: the encoder does not take the stream's time base. */
    int32_t counts_frames;
} mvf_encoder;

/* 0 or the AVERROR code of the last encoder tried. */
int mvf_encoder_open(mvf_encoder *encoder, const mvf_encoder_wishes *wishes);

#endif
