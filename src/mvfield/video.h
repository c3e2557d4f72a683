/*
 * mvfield/video.h - libmvfield-video: frames from whatever FFmpeg opens, overlays to video files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_VIDEO_H
#define MVFIELD_VIDEO_H

#include <mvfield/mvfield.h>

#ifdef __cplusplus
extern "C" {
#endif

/* FFmpeg's frame, for callers that use FFmpeg themselves. */
struct AVFrame;

/*
 * Asked again and again while a call waits for a file, a pipe or the network; non-zero makes the
 * call return MVF_ERROR_INTERRUPTED. Called on the threads that read.
 */
typedef int (*mvf_interrupt_callback)(void *opaque);

typedef struct mvf_source_options {
    /* Set by mvf_source_options_init(). */
    size_t struct_size;
    /* Index of the stream in the file; -1 (the default): the best video stream, never cover art. */
    int32_t stream;
    /* Decoder threads; 0 (the default): as many as the decoder wants. */
    int32_t threads;
    /* Keep audio and subtitle packets for an overlay that copies them. Default 0. */
    int32_t keep_other_streams;
    mvf_interrupt_callback interrupt;
    void *interrupt_opaque;
    mvf_logger logger;
} mvf_source_options;

MVF_API void mvf_source_options_init(mvf_source_options *options);

typedef struct mvf_source mvf_source;
typedef struct mvf_frame mvf_frame;

/* What the container says. Sizes and formats of frames are each frame's own. */
typedef struct mvf_source_info {
    /* FFmpeg's short names; static storage. */
    const char *container;
    const char *codec;
    int32_t stream;
    int32_t width, height;
    /* As the container guesses it; 0/1 where it does not say. */
    mvf_rational frame_rate;
    mvf_rational time_base;
    mvf_rational sample_aspect;
    /* Clockwise turn in degrees that a player applies. Fields are in coded orientation. */
    int32_t rotation;
    /* A hint for progress display only: 0 where unknown, and often wrong. */
    int64_t frame_count_hint;
} mvf_source_info;

/*
 * Opens `url`: a file, "-" for standard input, a device or a network address. A local file of
 * exactly that name always wins over any other reading of it, so ':', '%' or a leading '-' mean
 * nothing there; a name with a pattern such as "%04d" that no file has is an image sequence. Pipes
 * and FIFOs are waited for, the interrupt callback being asked about every 50 ms.
 *
 * `options` may be NULL; they are copied. On failure *source is NULL: MVF_ERROR_IO,
 * MVF_ERROR_DATA, MVF_ERROR_NO_VIDEO, MVF_ERROR_ARGUMENT (no such stream, or not a video one),
 * MVF_ERROR_UNSUPPORTED (no decoder), MVF_ERROR_INTERRUPTED, MVF_ERROR_MEMORY. A source serves one
 * thread at a time; its frames may go to other threads and outlive it.
 */
MVF_API mvf_status mvf_source_open(mvf_source **source, const char *url,
                                   const mvf_source_options *options);

/* Lives as long as the source. */
MVF_API const mvf_source_info *mvf_source_get_info(const mvf_source *source);

/*
 * Reads the next frame in presentation order; the caller owns it, and its samples stay where the
 * decoder put them. Goes on past damage, which is counted. MVF_EOF after the last frame, when the
 * decoder has been drained; MVF_ERROR_DATA instead if there was no frame at all. MVF_ERROR_MEMORY,
 * MVF_ERROR_INTERRUPTED. After any of these, each further call returns the same.
 */
MVF_API mvf_status mvf_source_read(mvf_source *source, mvf_frame **frame);

/* What has been seen so far. */
typedef struct mvf_source_report {
    int64_t frames;
    /* Frames that the decoder marked as damaged, and packets that it refused or that could not be
     * read. */
    int64_t damaged_frames;
    int64_t refused_packets;
    /* Index of the first frame that was damaged or follows a refused packet (as far as the
     * decoder's threads let that be told), `frames` where none follows; MVF_NO_FRAME. */
    int64_t first_damage;
    /* Non-zero, after MVF_EOF: the input ended before its header or index (MP4, Matroska, AVI) says
     * that it should, in the middle of a packet, or by a read error. */
    int32_t truncated;
} mvf_source_report;

MVF_API void mvf_source_get_report(const mvf_source *source, mvf_source_report *report);

MVF_API void mvf_source_close(mvf_source **source);

/*
 * Describes the frame's luma as a picture that stays valid as long as the frame: in place for gray
 * and for YUV whose luma is a plane of 8 to 16 bits in the machine's byte order, converted to gray
 * of the same depth otherwise (RGB, palettes, packed YUV, P010; once, the frame keeps the result).
 * Alpha is ignored, and the range of YUV kept. Sizes and depth come with it.
 * MVF_ERROR_UNSUPPORTED, MVF_ERROR_MEMORY. A frame serves one thread at a time.
 */
MVF_API mvf_status mvf_frame_get_picture(mvf_frame *frame, mvf_picture *picture, int32_t *width,
                                         int32_t *height, int32_t *bit_depth);

/* Non-zero: the decoder marked the frame as damaged. */
MVF_API int32_t mvf_frame_is_damaged(const mvf_frame *frame);

/* FFmpeg's frame, owned by `frame`. */
MVF_API struct AVFrame *mvf_frame_get_avframe(mvf_frame *frame);

/* A second owner of the same frame, or NULL when memory runs out. */
MVF_API mvf_frame *mvf_frame_ref(const mvf_frame *frame);

MVF_API void mvf_frame_free(mvf_frame **frame);

typedef struct mvf_overlay_options {
    /* Set by mvf_overlay_options_init(). */
    size_t struct_size;
    /* Whether an existing file may be replaced. Default 0. */
    int32_t overwrite;
    /* Encoder threads; 0 (the default): as many as the encoder wants. */
    int32_t threads;
    mvf_logger logger;
} mvf_overlay_options;

MVF_API void mvf_overlay_options_init(mvf_overlay_options *options);

typedef struct mvf_overlay mvf_overlay;

/*
 * Opens a video file (.mp4, .mkv, .mov) that will hold the source's frames with fields drawn over
 * them, and the source's audio where the container takes it (open the source with
 * keep_other_streams). H.264 where FFmpeg has an encoder for it, else MPEG-4. Times, aspect,
 * rotation and colour tags are the source's. The encoder opens with the first frame. The file
 * appears under its name when mvf_overlay_close() succeeds. Errors as mvf_sink_open().
 */
MVF_API mvf_status mvf_overlay_open(mvf_overlay **overlay, const char *path, mvf_source *source,
                                    const mvf_overlay_options *options);

/* Draws `field` (NULL or without blocks: nothing) over a copy of `frame` and encodes it. */
MVF_API mvf_status mvf_overlay_write(mvf_overlay *overlay, mvf_frame *frame,
                                     const mvf_field *field);

MVF_API mvf_status mvf_overlay_close(mvf_overlay **overlay);

MVF_API void mvf_overlay_discard(mvf_overlay **overlay);

/*
 * Silences FFmpeg's own messages for the whole process (av_log_set_level()), which otherwise reach
 * standard error beside those of the loggers. For programs; the library never calls it.
 */
MVF_API void mvf_ffmpeg_quiet(void);

/* The versions of FFmpeg's libraries in use, as "libavformat 59.27.100, ...". Static storage. */
MVF_API const char *mvf_ffmpeg_versions(void);

#ifdef __cplusplus
}
#endif

#endif
