/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

/* MPEG-4 keeps the denominator of its time base in 16 bits. */
#define MPEG4_MAX_DEN 65535
#define MPEG4_QUANTIZER 3
#define JPEG_QUANTIZER 3
#define BITS_PER_PIXEL 0.2

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
static enum AVPixelFormat closest_format(const mvf_encoder_wishes *wishes, int allow_deep)
{
    static const enum AVPixelFormat formats[2][3] = {
        {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P},
        {AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10},
    };
    const AVFrame *frame = wishes->frame;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    int is_yuv = layout->nb_components >= 3 &&
                 !(layout->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL));
    int sampling = 0;
    if (is_yuv && layout->log2_chroma_h == 0)
        sampling = layout->log2_chroma_w == 0 ? 2 : 1;
    /* A last odd column or row has no chroma sample of its own in H.264. */
    if (sampling == 0 && (frame->width % 2 || frame->height % 2))
        sampling = 2;
    /* 4:2:2 on its side would be another format. */
    if (sampling == 1 && (frame->width % 2 || wishes->sideways))
        sampling = 2;
    return formats[allow_deep && layout->comp[0].depth > 8][sampling];
}

/* Formats that are not the canvas's: RGB of as many bits, and what else the encoder offers. */
static enum AVPixelFormat closest_output(const AVCodec *codec, enum AVPixelFormat canvas)
{
    static const enum AVPixelFormat wanted[] = {AV_PIX_FMT_RGB48BE, AV_PIX_FMT_RGB24,
                                                AV_PIX_FMT_RGB8, AV_PIX_FMT_NONE};
    const enum AVPixelFormat *formats = encoder_formats(codec);
    int is_deep = av_pix_fmt_desc_get(canvas)->comp[0].depth > 8;
    for (int i = !is_deep; wanted[i] != AV_PIX_FMT_NONE; i++)
        if (takes_format(codec, wanted[i]))
            return wanted[i];
    return formats ? avcodec_find_best_pix_fmt_of_list(formats, canvas, 0, NULL) : canvas;
}

static int is_rgb(enum AVPixelFormat format)
{
    return (av_pix_fmt_desc_get(format)->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

/* The format to draw in, and that to encode, which are mostly the same. */
static void choose_formats(mvf_encoder *encoder, const AVCodec *implementation,
                           const mvf_encoder_wishes *wishes)
{
    int is_even = wishes->width % 2 == 0 && wishes->height % 2 == 0;
    int takes_all = !encoder_formats(implementation);
    encoder->canvas_format = encoder->codec->pix_fmt = AV_PIX_FMT_YUV420P;
    if (wishes->for_browsers)
        return;
    for (int allow_deep = 1; allow_deep >= 0; allow_deep--) {
        enum AVPixelFormat format = closest_format(wishes, allow_deep);
        encoder->canvas_format = encoder->codec->pix_fmt = format;
        if (takes_all || takes_format(implementation, format))
            return;
    }
    /* MPEG-4 and VP8 alone code odd sizes in 4:2:0. */
    encoder->canvas_format = encoder->codec->pix_fmt = AV_PIX_FMT_YUV420P;
    int takes_odd =
        implementation->id == AV_CODEC_ID_MPEG4 || implementation->id == AV_CODEC_ID_VP8;
    if ((is_even || takes_odd) && takes_format(implementation, AV_PIX_FMT_YUV420P))
        return;
    encoder->canvas_format = closest_format(wishes, 1);
    encoder->codec->pix_fmt = closest_output(implementation, encoder->canvas_format);
}

static void set_colour_tags(mvf_encoder *encoder, const AVFrame *frame)
{
    AVCodecContext *codec = encoder->codec;
    codec->color_range =
        mvf_plain_format(frame->format) != frame->format ? AVCOL_RANGE_JPEG : frame->color_range;
    codec->color_primaries = frame->color_primaries;
    codec->color_trc = frame->color_trc;
    codec->colorspace = frame->colorspace;
    codec->chroma_sample_location = frame->chroma_location;
    if (is_rgb(frame->format)) {
        codec->color_range = AVCOL_RANGE_MPEG;
        codec->colorspace = mvf_usual_matrix(frame->height);
    }
    encoder->canvas_range = codec->color_range;
    encoder->canvas_matrix = codec->colorspace;
    if (is_rgb(codec->pix_fmt)) {
        codec->color_range = AVCOL_RANGE_JPEG;
        codec->colorspace = AVCOL_SPC_RGB;
    } else if (codec->codec_id == AV_CODEC_ID_MJPEG) {
        codec->color_range = AVCOL_RANGE_JPEG;
        codec->colorspace = AVCOL_SPC_SMPTE170M;
    } else if (codec->codec_id == AV_CODEC_ID_WEBP) {
        codec->color_range = AVCOL_RANGE_MPEG;
        codec->colorspace = AVCOL_SPC_SMPTE170M;
    }
}

/* Where the encoder has a scale from `best` to `worst`; quality 1 to 100, 0 for `usual`. */
static int on_scale(int32_t quality, int best, int worst, int usual)
{
    return quality ? worst + (best - worst) * (quality - 1) / 99 : usual;
}

static void set_fixed_quantizer(AVCodecContext *codec, int quantizer)
{
    codec->flags |= AV_CODEC_FLAG_QSCALE;
    codec->global_quality = FF_QP2LAMBDA * quantizer;
}

static void set_crf(AVCodecContext *codec, const mvf_encoder_wishes *wishes, AVDictionary **options)
{
    int is_vpx = codec->codec_id == AV_CODEC_ID_VP9 || codec->codec_id == AV_CODEC_ID_VP8 ||
                 codec->codec_id == AV_CODEC_ID_AV1;
    double bits = BITS_PER_PIXEL * codec->width * codec->height * av_q2d(wishes->frame_rate);
    int crf = is_vpx ? on_scale(wishes->quality, 0, 63, 24) : on_scale(wishes->quality, 0, 51, 18);
    if (!is_vpx)
        av_dict_set(options, "preset", "veryfast", 0);
    if (codec->codec_id == AV_CODEC_ID_HEVC)
        av_dict_set(options, "x265-params", "log-level=error", 0);
    av_dict_set_int(options, "crf", crf, 0);
    if (is_vpx) {
        av_dict_set(options, "deadline", "realtime", 0);
        av_dict_set(options, "cpu-used", "6", 0);
        av_dict_set(options, "row-mt", "1", 0);
    }
    if (codec->priv_data && av_opt_find(codec->priv_data, "crf", NULL, 0, 0))
        return;
    bits = bits * on_scale(wishes->quality, 300, 10, 100) / 100;
    codec->bit_rate = (int64_t)(bits < 2e9 ? bits : 2e9);
}

static void set_quality(AVCodecContext *codec, const mvf_encoder_wishes *wishes,
                        AVDictionary **options)
{
    switch (codec->codec_id) {
    case AV_CODEC_ID_MPEG4:
        set_fixed_quantizer(codec, on_scale(wishes->quality, 1, 31, MPEG4_QUANTIZER));
        codec->max_b_frames = 0;
        break;
    case AV_CODEC_ID_MJPEG:
        set_fixed_quantizer(codec, on_scale(wishes->quality, 2, 31, JPEG_QUANTIZER));
        break;
    case AV_CODEC_ID_WEBP:
        av_dict_set_int(options, "quality", wishes->quality ? wishes->quality : 85, 0);
        break;
    case AV_CODEC_ID_PNG:
    case AV_CODEC_ID_APNG:
        av_dict_set(options, "pred", "mixed", 0);
        break;
    default:
        set_crf(codec, wishes, options);
    }
}

static int configure(mvf_encoder *encoder, const AVCodec *implementation,
                     const mvf_encoder_wishes *wishes, AVDictionary **options)
{
    AVCodecContext *codec = encoder->codec;
    codec->width = wishes->width;
    codec->height = wishes->height;
    choose_formats(encoder, implementation, wishes);
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
    codec->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    if (wishes->container->constant_rate)
        codec->max_b_frames = 0;
    if (wishes->global_header)
        codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    set_colour_tags(encoder, wishes->frame);
    set_quality(codec, wishes, options);
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

/* By an encoder's name, or by that of a codec, for which those that the container prefers come
 * first. */
static const AVCodec *find_encoder(const mvf_encoder_wishes *wishes)
{
    const AVCodec *found = avcodec_find_encoder_by_name(wishes->codec);
    const AVCodecDescriptor *wanted = avcodec_descriptor_get_by_name(wishes->codec);
    const char *const *names = wishes->container->encoders;
    for (int i = 0; wanted && i < MVF_MAX_ENCODERS && names[i]; i++) {
        const AVCodec *preferred = avcodec_find_encoder_by_name(names[i]);
        if (preferred && preferred->id == wanted->id)
            return preferred;
    }
    return found || !wanted ? found : avcodec_find_encoder(wanted->id);
}

int mvf_encoder_open(mvf_encoder *encoder, const mvf_encoder_wishes *wishes)
{
    int error = AVERROR_ENCODER_NOT_FOUND;
    const char *const *names = wishes->container->encoders;
    if (wishes->codec) {
        const AVCodec *implementation = find_encoder(wishes);
        return implementation ? open_one(encoder, implementation, wishes) : error;
    }
    for (int i = 0; i < MVF_MAX_ENCODERS && names[i]; i++) {
        const AVCodec *implementation = avcodec_find_encoder_by_name(names[i]);
        if (!implementation)
            continue;
        error = open_one(encoder, implementation, wishes);
        if (error >= 0 || error == AVERROR(ENOMEM))
            break;
    }
    return error;
}
