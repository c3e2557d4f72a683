/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <stdlib.h>
#include <string.h>

#include <libavutil/opt.h>

#include "base/memory.h"

/* A MOV text ends at 64 KiB, with as much again for its styles. */
#define MAX_BYTES (1 << 18)
/* How long a text stays where nothing says so and no other follows. */
#define USUAL_SECONDS 3
/* The muxer ends a text once another stream's count of ticks is beyond the text's, whatever their
 * time bases: too early with coarser ones than theirs. Finer ones run out in long gaps. */
#define MOV_TICKS 90000

struct mvf_subtitles {
    AVCodecContext *decoder, *encoder;
    uint8_t *buffer;
};

/* Codecs of which each packet is a text on its own. */
static int is_text(enum AVCodecID codec)
{
    static const enum AVCodecID codecs[] = {AV_CODEC_ID_SUBRIP, AV_CODEC_ID_ASS, AV_CODEC_ID_WEBVTT,
                                            AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_TEXT};
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (codecs[i] == codec)
            return 1;
    return 0;
}

static const AVCodec *find_encoder(const AVOutputFormat *format)
{
    static const enum AVCodecID codecs[] = {AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_WEBVTT};
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (avformat_query_codec(format, codecs[i], FF_COMPLIANCE_NORMAL) == 1)
            return avcodec_find_encoder(codecs[i]);
    return NULL;
}

static int open_decoder(mvf_subtitles *subtitles, const AVStream *in)
{
    const AVCodec *codec = avcodec_find_decoder(in->codecpar->codec_id);
    AVCodecContext *decoder = codec ? avcodec_alloc_context3(codec) : NULL;
    subtitles->decoder = decoder;
    if (!decoder)
        return codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND;
    int error = avcodec_parameters_to_context(decoder, in->codecpar);
    decoder->pkt_timebase = in->time_base;
#if LIBAVCODEC_VERSION_MAJOR < 59
    av_opt_set(decoder, "sub_text_format", "ass", 0);
#endif
    return error < 0 ? error : avcodec_open2(decoder, codec, NULL);
}

/* The decoder's header names the styles that its texts refer to. */
static int open_encoder(mvf_subtitles *subtitles, const AVCodec *codec)
{
    const AVCodecContext *decoder = subtitles->decoder;
    AVCodecContext *encoder = avcodec_alloc_context3(codec);
    subtitles->encoder = encoder;
    if (!encoder)
        return AVERROR(ENOMEM);
    encoder->time_base = AV_TIME_BASE_Q;
    if (decoder->subtitle_header) {
        size_t n_bytes = (size_t)decoder->subtitle_header_size;
        encoder->subtitle_header = av_mallocz(n_bytes + 1);
        if (!encoder->subtitle_header)
            return AVERROR(ENOMEM);
        memcpy(encoder->subtitle_header, decoder->subtitle_header, n_bytes);
        encoder->subtitle_header_size = decoder->subtitle_header_size;
    }
    return avcodec_open2(encoder, codec, NULL);
}

int mvf_subtitles_open(mvf_subtitles **subtitles, const AVStream *in, const AVOutputFormat *format)
{
    const AVCodec *codec = is_text(in->codecpar->codec_id) ? find_encoder(format) : NULL;
    *subtitles = NULL;
    if (!codec)
        return AVERROR_ENCODER_NOT_FOUND;
    mvf_subtitles *opened = mvf_alloc_array(1, sizeof *opened);
    if (!opened)
        return AVERROR(ENOMEM);
    opened->buffer = mvf_alloc_array(MAX_BYTES, 1);
    int error = opened->buffer ? open_decoder(opened, in) : AVERROR(ENOMEM);
    if (error >= 0)
        error = open_encoder(opened, codec);
    if (error < 0)
        mvf_subtitles_free(&opened);
    *subtitles = opened;
    return error < 0 ? error : 0;
}

int mvf_subtitles_describe(const mvf_subtitles *subtitles, AVStream *out)
{
    int error = avcodec_parameters_from_context(out->codecpar, subtitles->encoder);
    if (out->codecpar->codec_id != AV_CODEC_ID_MOV_TEXT)
        return error < 0 ? error : 0;
    /* What the encoder makes, while MOV's default is QuickTime's older "text". */
    out->codecpar->codec_tag = MKTAG('t', 'x', '3', 'g');
    out->time_base = (AVRational){1, MOV_TICKS};
    return error < 0 ? error : 0;
}

/* The number of bytes in the buffer. */
static int encode_text(mvf_subtitles *subtitles, AVSubtitle *text)
{
    text->start_display_time = 0;
    for (unsigned i = 0; i < text->num_rects; i++)
        if (text->rects[i]->type != SUBTITLE_ASS || !text->rects[i]->ass)
            return AVERROR_INVALIDDATA;
    return text->num_rects
               ? avcodec_encode_subtitle(subtitles->encoder, subtitles->buffer, MAX_BYTES, text)
               : 0;
}

static int64_t duration_of(const AVSubtitle *text, AVRational time_base)
{
    int is_known = text->end_display_time > 0 && text->end_display_time < UINT32_MAX;
    int64_t ms = is_known ? text->end_display_time : USUAL_SECONDS * 1000;
    return av_rescale_q(ms, (AVRational){1, 1000}, time_base);
}

/* In place of the packet's own data and side data, which the text's settings are. */
static int replace_data(const mvf_subtitles *subtitles, AVPacket *packet, int n_bytes)
{
    AVPacket *made = av_packet_alloc();
    int error = made ? av_new_packet(made, n_bytes) : AVERROR(ENOMEM);
    if (!error) {
        memcpy(made->data, subtitles->buffer, (size_t)n_bytes);
        made->pts = packet->pts;
        made->dts = packet->dts;
        made->duration = packet->duration;
        made->stream_index = packet->stream_index;
        made->flags = AV_PKT_FLAG_KEY;
        av_packet_unref(packet);
        av_packet_move_ref(packet, made);
    }
    av_packet_free(&made);
    return error;
}

int mvf_subtitles_convert(mvf_subtitles *subtitles, AVPacket *packet)
{
    AVSubtitle text = {0};
    int has_text = 0;
    int error = avcodec_decode_subtitle2(subtitles->decoder, &text, &has_text, packet);
    if (error < 0 || !has_text)
        return error < 0 ? error : 0;
    if (packet->duration <= 0)
        packet->duration = duration_of(&text, subtitles->decoder->pkt_timebase);
    int n_bytes = encode_text(subtitles, &text);
    avsubtitle_free(&text);
    if (n_bytes <= 0)
        return n_bytes;
    error = replace_data(subtitles, packet, n_bytes);
    return error < 0 ? error : 1;
}

void mvf_subtitles_free(mvf_subtitles **subtitles)
{
    if (!*subtitles)
        return;
    avcodec_free_context(&(*subtitles)->decoder);
    avcodec_free_context(&(*subtitles)->encoder);
    free((*subtitles)->buffer);
    free(*subtitles);
    *subtitles = NULL;
}
