/*
 * video/write.h - the parts behind an overlay: output files, encoder, muxer, picture.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_VIDEO_WRITE_H
#define MVF_VIDEO_WRITE_H

#include "base/part_file.h"
#include "overlay/drawing.h"
#include "video/internal.h"

/* output.c: a file that is written beside its final name and renamed when it is complete. */

typedef struct mvf_media_output {
    mvf_part_file part;
    int fd;
    AVIOContext *io;
    /* An AVERROR code once a file could not be sought in, which muxers do not look at; else 0. */
    int seek_error;
} mvf_media_output;

/* "-" is standard output, which is not renamed. Returns a status without a message; *error is an
 * AVERROR code for MVF_ERROR_IO. */
mvf_status mvf_media_output_open(mvf_media_output *output, const char *path, int overwrite,
                                 int *error);
/* Empties the file, which stays open. */
int mvf_media_output_restart(mvf_media_output *output);
/* Closes and renames; 0 or an AVERROR code, of EEXIST where there is such a file by now. */
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

/* subtitles.c: text subtitles as the container wants them, where it does not take them as they are:
 * MOV text or WebVTT. */

typedef struct mvf_subtitles mvf_subtitles;

/* 0 or an AVERROR code with NULL, also where these are no texts or the format takes none. */
int mvf_subtitles_open(mvf_subtitles **subtitles, const AVStream *in, const AVOutputFormat *format);
/* Fills in the output stream's codec, and its time base where that counts; 0 or an AVERROR code. */
int mvf_subtitles_describe(const mvf_subtitles *subtitles, AVStream *out);
/* Replaces the text in the packet, which keeps its times and gets a duration where it has none. 1,
 * or 0 where there is no text to show, or an AVERROR code, after which the next packet may do. */
int mvf_subtitles_convert(mvf_subtitles *subtitles, AVPacket *packet);
/* Sets *subtitles, which may be NULL, to NULL. */
void mvf_subtitles_free(mvf_subtitles **subtitles);

/* container.c: kinds of files by their names. */

#define MVF_MAX_ENCODERS 4

typedef struct mvf_container {
    const char *extension;
    /* FFmpeg's name; NULL: one file an image. */
    const char *muxer;
    /* Encoders in order of preference. Hardware encoders are left out, as they may be listed and
     * not there. */
    const char *encoders[MVF_MAX_ENCODERS];
    /* It has no times, only a frame rate; times are rounded to it. */
    int32_t constant_rate;
    /* What is known in the end is written at its begin, which no pipe can do. */
    int32_t needs_seeking;
} mvf_container;

/* NULL for a name that goes with no kind. */
const mvf_container *mvf_container_find(const char *path);
/* All extensions, for messages. Static storage. */
const char *mvf_container_extensions(void);

/* images.c */

/* The name of an image: `number` in place of the path's %d or %0Nd, else before the extension in
 * six digits; the caller frees it. NULL without memory. */
char *mvf_image_name(const char *path, int64_t number);

/* turn.c */

/* Turns a frame clockwise by 90, 180 or 270 degrees into one of that size and the same format. */
void mvf_frame_turn(const AVFrame *from, AVFrame *to, int32_t turn);

/* paint.c: the encoder's picture of a frame, with the field drawn over it. */

typedef struct mvf_painter {
    /* The canvas: YUV of the source's matrix and range, for one picture or two side by side. */
    enum AVPixelFormat format;
    enum AVColorSpace matrix;
    enum AVColorRange range;
    mvf_layout layout;
    mvf_ground ground;
    mvf_drawing drawing;
    /* What the encoder takes. */
    enum AVPixelFormat out_format;
    int32_t out_width, out_height;
    enum AVColorSpace out_matrix;
    enum AVColorRange out_range;
    /* Degrees that the pixels are turned clockwise in the end; the output's size is that after it.
     * Where it is sideways, the output's format has as much chroma one way as the other. */
    int32_t turn;
    AVFrame *canvas, *part, *converted, *turned;
    mvf_scaler to_canvas, to_output;
} mvf_painter;

/* The canvas's size for frames of that size. */
void mvf_painter_size(const mvf_painter *painter, int32_t width, int32_t height, int32_t size[2]);

/* *painted belongs to the painter. The fields may be NULL. 0 or an AVERROR code. */
int mvf_painter_paint(mvf_painter *painter, const AVFrame *frame, const mvf_field *field,
                      const mvf_field *against, const mvf_caption *caption, AVFrame **painted);
void mvf_painter_close(mvf_painter *painter);

/* The matrix that a picture's samples follow where it does not say. */
enum AVColorSpace mvf_usual_matrix(int height);

/* encode.c */

typedef struct mvf_encoder_wishes {
    const AVFrame *frame;
    int32_t width, height;
    const mvf_container *container;
    /* As in mvf_overlay_options. */
    const char *codec;
    int32_t quality;
    AVRational time_base, frame_rate, sample_aspect;
    /* `sideways`: the frame's rows become columns. */
    int32_t threads, global_header, for_browsers, sideways;
} mvf_encoder_wishes;

typedef struct mvf_encoder {
    AVCodecContext *codec;
    /* Times are the ordinals of frames: the encoder does not take the stream's time base. */
    int32_t counts_frames;
    /* The YUV format to draw in, with its matrix and range; the codec's own may differ. */
    enum AVPixelFormat canvas_format;
    enum AVColorSpace canvas_matrix;
    enum AVColorRange canvas_range;
} mvf_encoder;

/* 0 or the AVERROR code of the last encoder tried. */
int mvf_encoder_open(mvf_encoder *encoder, const mvf_encoder_wishes *wishes);

#endif
