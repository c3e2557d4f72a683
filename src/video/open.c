/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <libavutil/attributes.h>
#include <libavutil/avstring.h>
#include <libavutil/display.h>
#include <libavutil/pixdesc.h>

/* FFmpeg's own rule for local files: a playlist on disk does not reach into the network. What only
 * its content makes a playlist reaches nothing at all. */
#define PLAYLIST_PROTOCOLS "file,crypto,data"
#define PLAYLIST_EXTENSIONS "m3u8,m3u,mpd,ffconcat,concat"
#define FILE_PROTOCOLS "data"
/* How far from 0 the first number of an image sequence is looked for. */
#define FIRST_IMAGE_RANGE "10000"
#define REMOTE_TIMEOUT_MS 30000
#define LOCAL_TIMEOUT_MS 600000

static int64_t bytes_read(const mvf_source *source)
{
    if (source->input.io)
        return source->input.n_bytes;
    return source->format && source->format->pb ? source->format->pb->bytes_read : 0;
}

void mvf_source_start_waiting(mvf_source *source)
{
    mvf_patience_start(&source->patience, bytes_read(source));
}

static int check_interrupt(void *opaque)
{
    mvf_source *source = opaque;
    if (source->options.interrupt && source->options.interrupt(source->options.interrupt_opaque))
        source->interrupted = 1;
    else if (mvf_patience_is_out(&source->patience, bytes_read(source)))
        source->timed_out = 1;
    return source->interrupted || source->timed_out;
}

mvf_status mvf_source_fail_timeout(const mvf_source *source)
{
    return mvf_fail(
        &source->options.logger, MVF_ERROR_IO,
        "%s: gave nothing for %.3g s and was given up (--timeout sets how long to wait)",
        source->name, (double)source->patience.limit_us / 1e6);
}

static int is_headerless(const char *url)
{
    const AVInputFormat *samples = av_find_input_format("rawvideo");
    return samples && av_match_ext(url, samples->extensions);
}

static mvf_status fail_open(mvf_source *source, int error)
{
    const mvf_logger *logger = &source->options.logger;
    mvf_status status = source->interrupted ? MVF_ERROR_INTERRUPTED : mvf_status_from_av(error);
    if (source->timed_out)
        return mvf_source_fail_timeout(source);
    if (status == MVF_ERROR_INTERRUPTED)
        return status;
    if (error == AVERROR(ENOMEM) && source->input.is_regular)
        return mvf_fail(logger, MVF_ERROR_DATA, "%s: its header asks for more memory than there is",
                        source->name);
    if (error == AVERROR_EOF ||
        (status == MVF_ERROR_DATA && source->input.io && avio_size(source->input.io) == 0))
        return mvf_fail(logger, MVF_ERROR_DATA, "%s: is empty; a video file is needed",
                        source->name);
    if (status == MVF_ERROR_DATA && mvf_input_is_cut(source->input.io, "mp4"))
        return mvf_fail(logger, status,
                        "%s: is cut off before the index that an MP4 file needs: %s", source->name,
                        av_err2str(error));
    if (is_headerless(source->url))
        return mvf_fail(logger, MVF_ERROR_DATA,
                        "%s: is samples without a header that says their size: give it one first, "
                        "as in ffmpeg -f rawvideo -video_size WxH -pixel_format FMT -i IN OUT.y4m",
                        source->name);
    /* The file was opened and read: what the reader of its format did not like is in it. */
    if (status == MVF_ERROR_DATA || (source->input.is_regular && !source->input.io->error))
        return mvf_fail(logger, MVF_ERROR_DATA, "%s: is not a video file that FFmpeg can read%s%s",
                        source->name, status == MVF_ERROR_DATA ? ": " : "",
                        status == MVF_ERROR_DATA ? av_err2str(error) : "");
    return mvf_fail(logger, status, "%s: cannot be opened: %s", source->name, av_err2str(error));
}

/* A file of exactly this name wins over a protocol or an image pattern that the name looks like. */
static int open_local(mvf_source *source, const char *url, int *is_local)
{
    struct stat status;
    AVIOInterruptCB interrupt = {check_interrupt, source};
    int is_stdin = !strcmp(url, "-");
    *is_local = is_stdin || stat(url, &status) == 0;
    return *is_local ? mvf_input_open(&source->input, is_stdin ? NULL : url, interrupt) : 0;
}

/* A file, or a row of them that a pattern names. */
static int is_stored(const mvf_source *source, const char *url, int is_local)
{
    const char *protocol = is_local ? NULL : avio_find_protocol_name(url);
    return is_local ? source->input.is_regular : protocol && !strcmp(protocol, "file");
}

static void set_patience(mvf_source *source, const char *url, int is_local)
{
    int64_t limit_ms = source->options.timeout_ms;
    source->is_live = !is_stored(source, url, is_local);
    source->is_careful |= source->is_live || !strcmp(url, "-");
    if (limit_ms < 0)
        limit_ms = is_local ? LOCAL_TIMEOUT_MS : REMOTE_TIMEOUT_MS;
    source->patience.limit_us = source->is_live ? limit_ms * 1000 : 0;
    mvf_source_start_waiting(source);
}

static int open_format(mvf_source *source, const char *url, int is_local)
{
    AVDictionary *options = NULL;
    char *full = av_asprintf("%s%s", !is_local ? "" : strcmp(url, "-") ? "file:" : "pipe:", url);
    source->format = avformat_alloc_context();
    int error = full && source->format ? 0 : AVERROR(ENOMEM);
    if (!error) {
        source->format->interrupt_callback = (AVIOInterruptCB){check_interrupt, source};
        source->format->pb = source->input.io;
        const char *allowed =
            av_match_ext(url, PLAYLIST_EXTENSIONS) ? PLAYLIST_PROTOCOLS : FILE_PROTOCOLS;
        error = is_local ? av_dict_set(&options, "protocol_whitelist", allowed, 0)
                         : av_dict_set(&options, "start_number_range", FIRST_IMAGE_RANGE, 0);
    }
    if (error >= 0)
        error = avformat_open_input(&source->format, full, NULL, &options);
    av_dict_free(&options);
    av_free(full);
    return error;
}

/* Looks into the streams, where FFmpeg may decode a frame or two of each. */
static int probe_streams(AVFormatContext *format, int64_t max_pixels)
{
    unsigned n = format->nb_streams;
    AVDictionary **options = av_calloc(n + 1, sizeof *options);
    int error = options ? 0 : AVERROR(ENOMEM);
    for (unsigned i = 0; i < n && error >= 0; i++)
        error = av_dict_set_int(&options[i], "max_pixels", max_pixels, 0);
    if (error >= 0)
        error = avformat_find_stream_info(format, options);
    for (unsigned i = 0; i < n && options; i++)
        av_dict_free(&options[i]);
    av_free(options);
    return error;
}

/* Keeps the sizes that the header gives, which FFmpeg drops where they are more than the limit. */
static int find_stream_info(mvf_source *source)
{
    AVFormatContext *format = source->format;
    unsigned n = format->nb_streams;
    int(*sizes)[2] = av_calloc(n + 1, sizeof *sizes);
    if (!sizes)
        return AVERROR(ENOMEM);
    for (unsigned i = 0; i < n; i++) {
        sizes[i][0] = format->streams[i]->codecpar->width;
        sizes[i][1] = format->streams[i]->codecpar->height;
    }
    int error = probe_streams(format, source->options.max_pixels);
    for (unsigned i = 0; i < n; i++) {
        AVCodecParameters *codec = format->streams[i]->codecpar;
        if (!codec->width && !codec->height) {
            codec->width = sizes[i][0];
            codec->height = sizes[i][1];
        }
    }
    av_free(sizes);
    return error;
}

mvf_status mvf_source_open_input(mvf_source *source, const char *url)
{
    int is_local;
    int error = open_local(source, url, &is_local);
    if (error == AVERROR(EISDIR))
        return mvf_fail(&source->options.logger, MVF_ERROR_IO,
                        "%s: is a directory; a video file is needed", source->name);
    if (!error) {
        set_patience(source, url, is_local);
        error = open_format(source, url, is_local);
    }
    if (error < 0)
        return fail_open(source, error);
    error = find_stream_info(source);
    if (source->interrupted)
        return MVF_ERROR_INTERRUPTED;
    int is_fatal = error == AVERROR(ENOMEM) || (error < 0 && !source->format->nb_streams);
    return source->timed_out || is_fatal ? fail_open(source, error) : MVF_OK;
}

static int is_picture_track(const AVStream *stream)
{
    return stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
           !(stream->disposition & AV_DISPOSITION_ATTACHED_PIC);
}

/* FFmpeg's choice, unless that is cover art; then the largest of the others. */
static int best_stream(AVFormatContext *format)
{
    int best = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    if (best >= 0 && is_picture_track(format->streams[best]))
        return best;
    int64_t best_area = -1;
    best = -1;
    for (unsigned i = 0; i < format->nb_streams; i++) {
        const AVCodecParameters *codec = format->streams[i]->codecpar;
        int64_t area = (int64_t)codec->width * codec->height;
        if (is_picture_track(format->streams[i]) && area > best_area) {
            best_area = area;
            best = (int)i;
        }
    }
    return best;
}

static mvf_status choose_stream(mvf_source *source)
{
    AVFormatContext *format = source->format;
    const mvf_logger *logger = &source->options.logger;
    int32_t wanted = source->options.stream;
    int best = best_stream(format);
    if (best < 0)
        return mvf_fail(logger, MVF_ERROR_NO_VIDEO, "%s: has no video stream%s", source->name,
                        av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0) >= 0
                            ? ", only cover art"
                            : "");
    if (wanted >= 0 && (uint32_t)wanted >= format->nb_streams)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "%s: has no stream %d; its %u streams count from 0, and stream %d is video",
                        source->name, wanted, format->nb_streams, best);
    if (wanted >= 0 && !is_picture_track(format->streams[wanted]))
        return mvf_fail(logger, MVF_ERROR_ARGUMENT,
                        "%s: stream %d is not a video stream; stream %d is one", source->name,
                        wanted, best);
    source->stream = format->streams[wanted >= 0 ? wanted : best];
    return MVF_OK;
}

static void select_streams(mvf_source *source)
{
    for (unsigned i = 0; i < source->format->nb_streams; i++) {
        AVStream *stream = source->format->streams[i];
        enum AVMediaType type = stream->codecpar->codec_type;
        int kept = source->options.keep_other_streams &&
                   (type == AVMEDIA_TYPE_AUDIO || type == AVMEDIA_TYPE_SUBTITLE);
        if (stream != source->stream && !kept)
            stream->discard = AVDISCARD_ALL;
    }
}

static int32_t clockwise_rotation(const AVStream *stream)
{
    size_t n_bytes;
    const uint8_t *matrix = mvf_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &n_bytes);
    if (!matrix || n_bytes < 9 * sizeof(int32_t))
        return 0;
    double turn = -av_display_rotation_get((const int32_t *)(const void *)matrix);
    return isfinite(turn) ? (int32_t)((lrint(turn) % 360 + 360) % 360) : 0;
}

static int64_t frame_count_hint(const AVFormatContext *format, const AVStream *stream,
                                AVRational rate)
{
    if (stream->nb_frames > 0)
        return stream->nb_frames;
    if (rate.num <= 0 || rate.den <= 0)
        return 0;
    if (stream->duration > 0)
        return av_rescale_q(stream->duration, stream->time_base, av_inv_q(rate));
    return format->duration > 0 ? av_rescale_q(format->duration, AV_TIME_BASE_Q, av_inv_q(rate))
                                : 0;
}

static void fill_info(mvf_source *source)
{
    AVStream *stream = source->stream;
    AVRational rate = av_guess_frame_rate(source->format, stream, NULL);
    AVRational aspect = av_guess_sample_aspect_ratio(source->format, stream, NULL);
    source->info = (mvf_source_info){
        .container = source->format->iformat->name,
        .codec = avcodec_get_name(stream->codecpar->codec_id),
        .stream = stream->index,
        .width = stream->codecpar->width,
        .height = stream->codecpar->height,
        .frame_rate = {rate.num, rate.den ? rate.den : 1},
        .time_base = {stream->time_base.num, stream->time_base.den},
        .sample_aspect = {aspect.num, aspect.den ? aspect.den : 1},
        .rotation = clockwise_rotation(stream),
        .frame_count_hint = frame_count_hint(source->format, stream, rate),
        .is_live = source->is_live,
    };
}

static int get_cleared(AVCodecContext *codec, AVFrame *frame, int flags)
{
    int error = avcodec_default_get_buffer2(codec, frame, flags);
    for (int i = 0; !error && !frame->hw_frames_ctx && i < AV_NUM_DATA_POINTERS; i++)
        if (frame->buf[i])
            memset(frame->buf[i]->data, 0, (size_t)frame->buf[i]->size);
    return error;
}

/* Decoders that get no memory for a picture may show another one instead and say nothing. The
 * memory is cleared, since damage may leave it as it is: by another thread, for frame threads wait
 * here for each other. */
static int get_picture_memory(AVCodecContext *codec, AVFrame *frame, int flags)
{
    const uint64_t others =
        AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM;
    mvf_source *source = codec->opaque;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    int is_plain = codec->codec->capabilities & AV_CODEC_CAP_DR1 && !codec->hw_frames_ctx &&
                   layout && !(layout->flags & others);
    int error = is_plain ? mvf_picture_pool_get(source->pictures, codec, frame)
                         : get_cleared(codec, frame, flags);
    if (error == AVERROR(ENOMEM))
        source->out_of_memory = 1;
    return error;
}

static void watch_memory(mvf_source *source)
{
    source->codec->opaque = source;
    source->codec->get_buffer2 = get_picture_memory;
#if LIBAVCODEC_VERSION_MAJOR < 60
    /* Deprecated, yet without it frame threads wait for each other. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    source->codec->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
}

/* Where it decides about NVDEC, FFmpeg asks what decodes: once more without the GPU if that
 * refuses.
 */
static enum AVPixelFormat choose_format(AVCodecContext *codec, const enum AVPixelFormat *formats)
{
    mvf_source *source = codec->opaque;
    for (int i = 0; formats[i] != AV_PIX_FMT_NONE && !source->gpu_refused; i++)
        if (formats[i] == AV_PIX_FMT_CUDA) {
            atomic_fetch_add(&(source->whole ? source->whole : source)->n_gpu_sessions, 1);
            /* It is made once this has returned. */
            if (!source->makes_session)
                mvf_nvdec_begin_session();
            source->makes_session = 1;
            return AV_PIX_FMT_CUDA;
        }
    if (!source->gpu_refused)
        mvf_source_refuse_gpu(source, codec);
    while (*formats != AV_PIX_FMT_NONE &&
           av_pix_fmt_desc_get(*formats)->flags & AV_PIX_FMT_FLAG_HWACCEL)
        formats++;
    return *formats;
}

/* Decoders that, with frame threads, abort the process where each sign of damage has to show. */
static int is_fragile(enum AVCodecID codec)
{
    return codec == AV_CODEC_ID_MPEG4 || codec == AV_CODEC_ID_RV30 || codec == AV_CODEC_ID_RV40;
}

/* Several threads are used as long as there is no damage, each sign of which has to show at once.
 */
static void set_threads(mvf_source *source)
{
    AVCodecContext *codec = source->codec;
    source->is_careful |= is_fragile(codec->codec_id);
    codec->thread_count = source->is_careful ? 1 : source->options.threads;
    if (!source->is_careful)
        codec->err_recognition |= AV_EF_EXPLODE;
    if (!source->options.codec_vectors)
        return;
    /* With frame threads, H.264 frames come out while another thread still decodes them, and then
     * lack some of their vectors; its slice threads do not tell of errors. */
    codec->thread_type = FF_THREAD_SLICE;
    if (codec->codec_id == AV_CODEC_ID_H264)
        codec->thread_count = 1;
}

void mvf_source_refuse_gpu(mvf_source *source, const AVCodecContext *codec)
{
    const char *format = codec ? av_get_pix_fmt_name(codec->sw_pix_fmt) : NULL;
    char what[64] = "";
    if (codec)
        snprintf(what, sizeof what, " of %dx%d px, %s", codec->coded_width, codec->coded_height,
                 format ? format : "of an unknown format");
    mvf_source *whole = source->whole ? source->whole : source;
    source->gpu_refused = 1;
    if (atomic_exchange(&whole->gpu_refusal_is_said, 1))
        return;
    mvf_log(&source->options.logger,
            source->options.hwaccel == MVF_HWACCEL_CUDA ? MVF_LOG_WARNING : MVF_LOG_INFO,
            "%s: decoding in software: NVDEC does not serve %s video%s", source->name,
            source->info.codec, what);
}

/* Codecs whose standards leave nothing open, so that all decoders give the same samples. */
static int is_exact(enum AVCodecID codec)
{
    return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || codec == AV_CODEC_ID_VP8 ||
           codec == AV_CODEC_ID_VP9 || codec == AV_CODEC_ID_AV1;
}

/* The decoder that uses the GPU, or NULL. One that does nothing else needs an input that can be
 * read again, by another one. */
static const AVCodec *find_gpu_decoder(mvf_source *source)
{
    enum AVCodecID codec = source->stream->codecpar->codec_id;
    if (!source->nvdec || source->gpu_refused)
        return NULL;
    if (source->options.hwaccel == MVF_HWACCEL_AUTO && !is_exact(codec))
        return NULL;
    const AVCodec *decoder = mvf_nvdec_find_decoder(codec);
    if (decoder && decoder != avcodec_find_decoder(codec) && !mvf_source_can_begin_again(source))
        decoder = NULL;
    if (!decoder)
        mvf_source_refuse_gpu(source, NULL);
    return decoder;
}

static int open_codec(mvf_source *source, const AVCodec *decoder)
{
    source->codec = avcodec_alloc_context3(decoder);
    if (!source->codec)
        return AVERROR(ENOMEM);
    int error = avcodec_parameters_to_context(source->codec, source->stream->codecpar);
    if (error < 0)
        return error;
    error = mvf_picture_pool_open(&source->pictures);
    if (error < 0)
        return error;
    source->codec->pkt_timebase = source->stream->time_base;
    source->codec->max_pixels = source->options.max_pixels;
    /* The decoder would not open at such a size, which only some of the frames may have. */
    if ((int64_t)source->codec->width * source->codec->height > source->options.max_pixels)
        source->codec->width = source->codec->height = 0;
    watch_memory(source);
    set_threads(source);
    if (source->options.codec_vectors)
        source->codec->export_side_data |= AV_CODEC_EXPORT_DATA_MVS;
    if (source->decodes_on_gpu) {
        source->codec->get_format = choose_format;
        error = mvf_nvdec_attach(source->nvdec, source->codec);
    }
    if (error < 0)
        return error;
    return avcodec_open2(source->codec, decoder, NULL);
}

mvf_status mvf_source_open_codec(mvf_source *source)
{
    const AVCodec *decoder = find_gpu_decoder(source);
    source->decodes_on_gpu = decoder != NULL;
    source->info.hwaccel = decoder ? MVF_HWACCEL_CUDA : MVF_HWACCEL_NONE;
    if (!decoder)
        decoder = avcodec_find_decoder(source->stream->codecpar->codec_id);
    if (!decoder)
        return mvf_fail(&source->options.logger, MVF_ERROR_UNSUPPORTED,
                        "%s: this FFmpeg has no decoder for %s video", source->name,
                        source->info.codec);
    int error = open_codec(source, decoder);
    if (error < 0)
        MVF_TRY(mvf_source_check_size(source));
    if (error < 0)
        return mvf_fail(&source->options.logger, mvf_status_from_av(error),
                        "%s: the %s decoder cannot be opened: %s", source->name, decoder->name,
                        av_err2str(error));
    return MVF_OK;
}

mvf_status mvf_source_open_decoder(mvf_source *source)
{
    MVF_TRY(choose_stream(source));
    select_streams(source);
    fill_info(source);
    return mvf_source_open_codec(source);
}

mvf_status mvf_source_reopen_decoder(mvf_source *source)
{
    source->is_careful = 1;
    mvf_source_close_decoder(source);
    return mvf_source_open_decoder(source);
}
