/*
 * video/internal.h - the parts of libmvfield-video, all of FFmpeg's types included.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_VIDEO_INTERNAL_H
#define MVF_VIDEO_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include "base/error.h"
#include "mvfield/section.h"
#include "mvfield/video.h"
#include "video/entries.h"
#include "video/nvdec.h"

/* The status that stands for FFmpeg's error code `error` (negative). */
mvf_status mvf_status_from_av(int error);

/* `name` with control characters replaced, so that a message stays one line; NULL without memory.
 */
char *mvf_printable(const char *name);

/* The side data of `type` that the container gives for the stream, or NULL. */
const uint8_t *mvf_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                    size_t *n_bytes);

/* yuvj* is yuv* whose frames are tagged as full range. */
enum AVPixelFormat mvf_plain_format(enum AVPixelFormat format);

/* patience.c: how long an input may give nothing. */

typedef struct mvf_patience {
    /* 0: for ever. */
    int64_t limit_us;
    /* Written by whichever thread of FFmpeg's waits. */
    _Atomic int64_t waited_us, last_us, n_bytes;
} mvf_patience;

/* A wait begins, with `n_bytes` read in all. */
void mvf_patience_start(mvf_patience *patience, int64_t n_bytes);

/* Asked again and again during a wait: whether the limit is passed without another byte. */
int mvf_patience_is_out(mvf_patience *patience, int64_t n_bytes);

/* picture_pool.c: memory for the samples of decoded pictures, cleared ahead of use by a thread. */

typedef struct mvf_picture_pool mvf_picture_pool;

/* 0 or AVERROR(ENOMEM). */
int mvf_picture_pool_open(mvf_picture_pool **pool);

/* Pictures may outlive it. Does nothing for NULL. */
void mvf_picture_pool_close(mvf_picture_pool **pool);

/* As get_buffer2(), with zeros, for a format whose planes hold samples alone. Thread-safe. */
int mvf_picture_pool_get(mvf_picture_pool *pool, AVCodecContext *codec, AVFrame *frame);

/* input.c: a local file, a pipe or standard input, read so that an interrupt is always heard. */

typedef struct mvf_input {
    int fd;
    /* Whether `fd` was opened here. */
    int owned;
    int is_regular;
    /* Read so far. */
    int64_t n_bytes;
    AVIOContext *io;
    AVIOInterruptCB interrupt;
} mvf_input;

/* Fails with errno set; `path` NULL is standard input. */
int mvf_input_open(mvf_input *input, const char *path, AVIOInterruptCB interrupt);
void mvf_input_close(mvf_input *input);

/* Whether the container promises more than the file holds. Moves the read position, so only after
 * the last packet. */
int mvf_input_is_cut(AVIOContext *io, const char *container);

/* decode.c: packets in, frames out, right on every path. */

typedef struct mvf_decoder_calls {
    /* The next packet of the stream, or AVERROR_EOF once there are no more. */
    int (*read)(void *context, AVPacket *packet);
    /* As avcodec_send_packet() and avcodec_receive_frame(). */
    int (*send)(void *context, const AVPacket *packet);
    int (*receive)(void *context, AVFrame *frame);
} mvf_decoder_calls;

typedef struct mvf_decoder {
    mvf_decoder_calls calls;
    void *context;
    /* A packet that is read and not yet accepted when `has_packet`. */
    AVPacket *packet;
    int has_packet;
    int draining;
    int64_t refused_packets;
    /* Of the last one. */
    int last_error;
} mvf_decoder;

/* 0 with a frame, AVERROR_EOF after the last one, or an error that ends decoding: AVERROR_EXIT and
 * AVERROR(ENOMEM). Anything else is counted in refused_packets and passed over. */
int mvf_decoder_next(mvf_decoder *decoder, AVFrame *frame);

/* scale.c: pixel formats and sizes by swscale; the context is kept for frames of a kind. */

typedef struct mvf_scaler {
    struct SwsContext *context;
    int from_format, from_width, from_height, to_format, to_width, to_height;
} mvf_scaler;

/* Samples of YUV and gray keep their range; RGB and palettes become YUV by `matrix`, of full range
 * or not. 0 or an AVERROR code. */
int mvf_scaler_convert(mvf_scaler *scaler, const AVFrame *from, AVFrame *to,
                       enum AVColorSpace matrix, int full_range);

/* The matrix and the range on both sides; those of RGB do not count. */
typedef struct mvf_scale_colours {
    enum AVColorSpace from_matrix, to_matrix;
    int from_full_range, to_full_range;
} mvf_scale_colours;

/* Colours stay the same to the eye while samples change. One scaler serves one kind of both. */
int mvf_scaler_recolour(mvf_scaler *scaler, const AVFrame *from, AVFrame *to,
                        const mvf_scale_colours *colours);

void mvf_scaler_close(mvf_scaler *scaler);

/* luma.c */

/* Bit depth of plane 0 of `format` where that plane is luma as mvf_picture wants it, else 0. */
int32_t mvf_luma_depth_in_place(enum AVPixelFormat format);

/* The conversion context that the frames of one source share. */
AVBufferRef *mvf_luma_converter_alloc(const mvf_logger *logger);

/* A gray frame made of `frame`. */
mvf_status mvf_luma_convert(AVBufferRef *converter, const AVFrame *frame, AVFrame **gray);

/* planar.c */

/* Copies the samples of `from`, which may be packed in other ways and be larger, into the planes of
 * `to`, which has its format, size and memory. 0, or AVERROR(ENOSYS) for formats that differ in
 * more.
 */
int mvf_planar_copy(const AVFrame *from, AVFrame *to);

/* frame.c */

struct mvf_frame {
    AVFrame *av;
    /* Of a frame in device memory: the format that decoding in software gives. */
    enum AVPixelFormat host_format;
    AVFrame *gray;
    AVBufferRef *converter;
    int64_t index;
    int64_t pts;
    AVRational time_base;
    int32_t damaged;
    enum AVCodecID codec;
};

/* Takes over what `av` refers to. */
mvf_frame *mvf_frame_alloc(AVFrame *av, AVBufferRef *converter);

mvf_picture_type mvf_picture_type_from_av(enum AVPictureType type);

/* Whether the decoder says that something of the frame is missing. */
int mvf_is_damaged(const AVFrame *av);

/* packets.c: packets of other streams on their way from a source to an overlay. */

typedef struct mvf_packet_queue {
    pthread_mutex_t mutex;
    struct mvf_packet_node *first, **end;
    size_t n_bytes, limit_bytes;
    int64_t n_dropped;
} mvf_packet_queue;

int mvf_packet_queue_init(mvf_packet_queue *queue, size_t limit_bytes);
void mvf_packet_queue_destroy(mvf_packet_queue *queue);

/* Takes over what `packet` refers to; beyond the limit the oldest packets are dropped and counted.
 * Returns 0 or AVERROR(ENOMEM). */
int mvf_packet_queue_push(mvf_packet_queue *queue, AVPacket *packet);

/* The oldest packet, which the caller frees, or NULL. */
AVPacket *mvf_packet_queue_pop(mvf_packet_queue *queue);

/* section.c: a source cut into sections. */

typedef struct mvf_section_packet {
    AVPacket *av;
    /* Whether a frame comes out of it that is shown; -1 where that cannot be told. */
    int counts;
} mvf_section_packet;

struct mvf_section {
    mvf_section_info info;
    /* How many frames of the next section it has as well. */
    int32_t n_beyond;
    mvf_section_packet *packets;
    size_t n;
    /* Frames shown before this time are not its own; how many of its packets hold such ones. */
    int64_t pts;
    int64_t n_leading;
    /* Whether its first packet is an IDR picture of H.264. */
    int is_idr;
    /* It ends with the input; it reads on from the source after its packets; and has done so. */
    int is_last, reads_on, has_read_on;
};

/* Where the cutting of a source has come to. */
typedef struct mvf_sections {
    pthread_mutex_t mutex;
    int has_begun, is_at_end;
    /* What every further call returns. */
    mvf_status ended;
    mvf_entries entries;
    /* Packets from the next section's first on, and where it begins. */
    mvf_section_packet *ahead;
    size_t n_ahead, capacity;
    int64_t n_bytes;
    mvf_entry start;
    /* Whether the input ended too early: of matter once its last frame is read. */
    int is_truncated;
} mvf_sections;

/* Whether flushing the source's decoder takes long. */
int mvf_source_is_slow_to_flush(const mvf_source *source);

int mvf_sections_init(mvf_sections *sections);
void mvf_sections_destroy(mvf_sections *sections);

/* The next packet after those of the section that reads on, owned by the caller; 0, AVERROR_EOF or
 * another error. */
int mvf_sections_read(mvf_source *source, mvf_section_packet *packet);

/* A frame of that number was read; at the end of the last section, MVF_NO_FRAME. */
void mvf_sections_note(mvf_source *source, int64_t frame);

/* source.c */

struct mvf_source {
    char *url;
    /* The same, fit for messages. */
    char *name;
    mvf_source_options options;
    mvf_source_info info;
    mvf_source_report report;
    mvf_input input;
    /* Whether it is no regular file, and not even local. */
    int is_live;
    /* Whether one thread decodes: since the input is damaged, was entered in the middle, or cannot
     * be read twice. What several threads make of damage is not the same each time. */
    int is_careful;
    /* Frames, and packets of other streams, that were handed on before a second reading began. */
    int64_t n_frames_to_skip, n_others_to_skip, n_others;
    AVFormatContext *format;
    AVStream *stream;
    AVCodecContext *codec;
    mvf_picture_pool *pictures;
    /* NULL: decoding in software. `decodes_on_gpu`: the codec was opened for NVDEC; `gpu_refused`:
     * it is not to be, or could not be, used (any more). */
    mvf_nvdec *nvdec;
    int decodes_on_gpu, gpu_refused;
    /* Whether the latter was said, by it or by a reader of its sections, whose source is `whole`.
     */
    atomic_int gpu_refusal_is_said;
    mvf_source *whole;
    /* Whether FFmpeg is making one. */
    int makes_session;
    /* Sessions with NVDEC that were asked for, by it and by the readers of its sections. */
    _Atomic int64_t n_gpu_sessions;
    AVFrame *received;
    /* Whether it holds the next frame already. */
    int has_received;
    AVBufferRef *converter;
    mvf_decoder decoder;
    /* After mvf_source_cut(): where decoding can begin, the entry whose frame comes next, and the
     * first frame whose damage does no harm. */
    int is_part;
    mvf_entries entries;
    size_t next_entry;
    int64_t clean_until;
    /* What mvf_source_next_section() cuts. */
    mvf_sections sections;
    /* Packets of the stream, runs of failed reads, and failed reads in a row. */
    int64_t n_packets, n_read_errors;
    /* Whether the container marked one of them as damaged. */
    int is_marked;
    /* Whether a frame came with codec vectors. */
    int has_vectors;
    int read_errors;
    int last_packet_cut;
    mvf_patience patience;
    mvf_status ended;
    mvf_packet_queue others;
    /* Also read by the overlay, on its own thread. */
    atomic_int at_end;
    atomic_int interrupted;
    atomic_int timed_out;
    /* Set by the decoder's threads. */
    atomic_int out_of_memory;
};

/* The input's next wait begins. */
void mvf_source_start_waiting(mvf_source *source);

/* codec_vectors.c */

/* Whether the decoder is known to export vectors. */
int mvf_codec_exports_vectors(enum AVCodecID codec);

/* Looks at a frame as it is taken, or at the end (NULL): MVF_ERROR_UNSUPPORTED, with a message,
 * once it is clear that vectors were asked for and the decoder exports none. */
mvf_status mvf_codec_vectors_watch(mvf_source *source, const AVFrame *frame);

/* Opens the GPU that the options ask for, if they do. */
mvf_status mvf_source_open_gpu(mvf_source *source);

/* Whether it can be read once more from the start. */
int mvf_source_can_begin_again(const mvf_source *source);

void mvf_source_close_decoder(mvf_source *source);

/* Back to the start, as if nothing had been read. */
mvf_status mvf_source_restart(mvf_source *source);

/* Makes a frame, with the next number, of source->received. */
mvf_status mvf_source_take_frame(mvf_source *source, mvf_frame **frame);

/* Forgets what was counted; the next packet is number `n_packets`. */
void mvf_source_reset(mvf_source *source, int64_t n_packets);

/* seek.c */

/* Whether it is a file that can be read twice, and nothing of it has been used. */
int mvf_source_can_read_twice(const mvf_source *source);

/* Why decoding can begin only at the start, or NULL. */
const char *mvf_source_find_obstacle(const mvf_source *source);

/* Looks at a frame as it is taken, or at the end (NULL): MVF_ERROR_DATA, with a message, once the
 * part of the input that is read does not have the frames that its packets promise. */
mvf_status mvf_source_check_part(mvf_source *source, const AVFrame *frame);

/* open.c */

/* Whether the options refuse frames of that size. */
int mvf_source_is_too_large(const mvf_source *source, int64_t width, int64_t height);

/* MVF_ERROR_UNSUPPORTED, with a message, where the container's size is too large. */
mvf_status mvf_source_check_size(const mvf_source *source);

/* Logs that the input timed out; MVF_ERROR_IO. */
mvf_status mvf_source_fail_timeout(const mvf_source *source);

/* NVDEC is not used from here on, for what the decoder (or NULL: the stream alone) says: logs it.
 */
void mvf_source_refuse_gpu(mvf_source *source, const AVCodecContext *codec);

mvf_status mvf_source_open_input(mvf_source *source, const char *url);
mvf_status mvf_source_open_decoder(mvf_source *source);

/* Only what decodes source->stream, which is chosen. */
mvf_status mvf_source_open_codec(mvf_source *source);

/* Opens the decoder anew, for one thread, before the first packet. */
mvf_status mvf_source_reopen_decoder(mvf_source *source);

#endif
