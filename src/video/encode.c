/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

/* MPEG-4 keeps the denominator of its time base in 16 bits. */
#define MPEG4_MAX_DEN 65535
#define MPEG4_QUANTIZER 3
#define BITS_PER_PIXEL 0.2

/* In order of preference: hardware encoders are left out, as they may be listed and not there. */
static const char *const encoder_names[] = {"libx264", "libopenh264", "mpeg4"};

#define N_ENCODERS (sizeof encoder_names / sizeof encoder_names[0])

static const enum AVPixelFormat *encoder_formats(const AVCodec *codec)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *formats = NULL;
    avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, NULL);
    return formats;
#else
    return codec->pix_fmts;
#endif
}

static int takes_format(const AVCodec *codec, enum AVPixelFormat format)
{
    const enum AVPixelFormat *formats = encoder_formats(codec);
    for (; formats && *formats != AV_PIX_FMT_NONE; formats++)
        if (*formats == format)
            return 1;
    return 0;
}

/* The planar format closest to the frame's. Arrows need chroma, so gray becomes 4:2:0, as do RGB
 * and palettes, which every player then shows. */
static enum AVPixelFormat closest_format(const AVFrame *frame, int allow_deep)
{
    static const enum AVPixelFormat formats[2][3] = {
        {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P},
        {AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10},
    };
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    int is_yuv = layout->nb_components >= 3 &&
                 !(layout->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL));
    int sampling = 0;
    if (is_yuv && layout->log2_chroma_h == 0)
        sampling = layout->log2_chroma_w == 0 ? 2 : 1;
    /* A last odd column or row has no chroma sample of its own in H.264. */
    if (sampling == 0 && (frame->width % 2 || frame->height % 2))
        sampling = 2;
    if (sampling == 1 && frame->width % 2)
        sampling = 2;
    return formats[allow_deep && layout->comp[0].depth > 8][sampling];
}

static enum AVPixelFormat choose_format(const AVCodec *codec, const AVFrame *frame)
{
    int is_even = frame->width % 2 == 0 && frame->height % 2 == 0;
    for (int allow_deep = 1; allow_deep >= 0; allow_deep--) {
        enum AVPixelFormat format = closest_format(frame, allow_deep);
        if (takes_format(codec, format))
            return format;
    }
    /* MPEG-4 alone codes odd sizes in 4:2:0. */
    if ((is_even || codec->id == AV_CODEC_ID_MPEG4) && takes_format(codec, AV_PIX_FMT_YUV420P))
        return AV_PIX_FMT_YUV420P;
    return AV_PIX_FMT_NONE;
}

static void set_colour_tags(AVCodecContext *codec, const AVFrame *frame)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    codec->color_range =
        mvf_plain_format(frame->format) != frame->format ? AVCOL_RANGE_JPEG : frame->color_range;
    codec->color_primaries = frame->color_primaries;
    codec->color_trc = frame->color_trc;
    codec->colorspace = frame->colorspace;
    codec->chroma_sample_location = frame->chroma_location;
    if (layout->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) {
        codec->color_range = AVCOL_RANGE_MPEG;
        codec->colorspace = mvf_usual_matrix(frame->height);
    }
}

static void set_quality(AVCodecContext *codec, AVRational rate, AVDictionary **options)
{
    if (codec->codec_id == AV_CODEC_ID_MPEG4) {
        codec->flags |= AV_CODEC_FLAG_QSCALE;
        codec->global_quality = FF_QP2LAMBDA * MPEG4_QUANTIZER;
        codec->max_b_frames = 0;
        return;
    }
    double bits = BITS_PER_PIXEL * codec->width * codec->height * av_q2d(rate);
    av_dict_set(options, "preset", "veryfast", 0);
    av_dict_set(options, "crf", "18", 0);
    if (av_opt_find(codec->priv_data, "crf", NULL, 0, 0) == NULL)
        codec->bit_rate = (int64_t)(bits < 2e9 ? bits : 2e9);
}

static int configure(mvf_encoder *encoder, const AVCodec *implementation,
                     const mvf_encoder_wishes *wishes, AVDictionary **options)
{
    AVCodecContext *codec = encoder->codec;
    codec->width = wishes->frame->width;
    codec->height = wishes->frame->height;
    codec->pix_fmt = choose_format(implementation, wishes->frame);
    if (codec->pix_fmt == AV_PIX_FMT_NONE)
        return AVERROR(ENOSYS);
    codec->sample_aspect_ratio = wishes->sample_aspect;
    codec->time_base = wishes->time_base;
    codec->framerate = wishes->frame_rate;
    encoder->counts_frames =
        codec->codec_id == AV_CODEC_ID_MPEG4 && codec->time_base.den > MPEG4_MAX_DEN;
    if (encoder->counts_frames)
        codec->time_base = (AVRational){1, 25};
    codec->thread_count = wishes->threads;
    if (wishes->no_b_frames)
        codec->max_b_frames = 0;
    if (wishes->global_header)
        codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    set_colour_tags(codec, wishes->frame);
    set_quality(codec, wishes->frame_rate, options);
    return 0;
}

static int open_one(mvf_encoder *encoder, const AVCodec *implementation,
                    const mvf_encoder_wishes *wishes)
{
    AVDictionary *options = NULL;
    encoder->codec = avcodec_alloc_context3(implementation);
    int error =
        encoder->codec ? configure(encoder, implementation, wishes, &options) : AVERROR(ENOMEM);
    if (!error)
        error = avcodec_open2(encoder->codec, implementation, &options);
    av_dict_free(&options);
    if (error < 0)
        avcodec_free_context(&encoder->codec);
    return error;
}

int mvf_encoder_open(mvf_encoder *encoder, const mvf_encoder_wishes *wishes)
{
    int error = AVERROR_ENCODER_NOT_FOUND;
    for (size_t i = 0; i < N_ENCODERS; i++) {
        const AVCodec *implementation = avcodec_find_encoder_by_name(encoder_names[i]);
        if (!implementation)
            continue;
        error = open_one(encoder, implementation, wishes);
        if (error >= 0 || error == AVERROR(ENOMEM))
            break;
    }
    return error;
}
