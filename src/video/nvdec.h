/*
 * video/nvdec.h - decoding on an NVIDIA GPU, into its memory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_VIDEO_NVDEC_H
#define MVF_VIDEO_NVDEC_H

#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>

#include <mvfield/picture.h>
#include <mvfield/status.h>

/* A GPU that decodes for one source. */
typedef struct mvf_nvdec mvf_nvdec;

/* Opens CUDA device `device`. Logs why it cannot be used: MVF_ERROR_NO_DEVICE, MVF_ERROR_DEVICE,
 * MVF_ERROR_UNSUPPORTED (this build or this FFmpeg has no part in it), MVF_ERROR_MEMORY. */
mvf_status mvf_nvdec_open(mvf_nvdec **nvdec, int32_t device, const mvf_logger *logger);

/* Frames may outlive it. Does nothing for NULL. */
void mvf_nvdec_close(mvf_nvdec **nvdec);

/* FFmpeg's decoder that hands the codec over to NVDEC, or NULL. */
const AVCodec *mvf_nvdec_find_decoder(enum AVCodecID codec);

/* Makes the decoder, which is not open yet, use the GPU for formats that its get_format() finds to
 * be AV_PIX_FMT_CUDA. 0 or AVERROR(ENOMEM). */
int mvf_nvdec_attach(mvf_nvdec *nvdec, AVCodecContext *codec);

/* Around the making of a session, on one thread: in several threads at once the driver makes all of
 * them little by little, and none can decode until all are made. */
void mvf_nvdec_begin_session(void);
void mvf_nvdec_end_session(void);

/* Waits for whatever uses surfaces of the decoder, before that is closed. MVF_ERROR_DEVICE, without
 * a message: the device has failed. */
mvf_status mvf_nvdec_finish(mvf_nvdec *nvdec);

/*
 * A frame in device memory (AV_PIX_FMT_CUDA) is on its way out. As long as few of them are, it
 * stays where it is; else it is replaced by a copy in host memory, lest the decoder run out of
 * surfaces. `format`: that which decoding in software gives. 0 or an AVERROR code.
 */
int mvf_nvdec_take(const mvf_nvdec *nvdec, AVFrame *av, enum AVPixelFormat format);

/* A copy in host memory, as decoding in software gives it. 0 or an AVERROR code. */
int mvf_nvdec_download(const AVFrame *av, enum AVPixelFormat format, AVFrame **host);

/* Says where and how the samples of a frame in device memory lie: memory, shift and stream. */
void mvf_nvdec_describe(const AVFrame *av, enum AVPixelFormat format, mvf_picture *picture);

#endif
