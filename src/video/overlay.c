/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

#define SAME(public, internal) \
    static_assert((int)(public) == (int)(internal), "modes have the same values on both sides")
SAME(MVF_DRAW_COST, MVF_DRAWS_COST);
SAME(MVF_DRAW_WHEEL, MVF_DRAWS_WHEEL);
SAME(MVF_DRAW_DIFFERENCE, MVF_DRAWS_DIFFERENCE);
SAME(MVF_DRAW_GRID, MVF_DRAWS_GRID);
SAME(MVF_DRAW_PARTITIONS, MVF_DRAWS_PARTITIONS);
SAME(MVF_DRAW_ARROWS, MVF_DRAWS_ARROWS);

/* Frames that an encoder may hold back. */
#define MAX_DELAYED 512

/* A stream of the source that is copied, or whose texts are converted. */
typedef struct copied_stream {
    AVStream *out;
    mvf_timeline timeline;
    mvf_subtitles *subtitles;
    int32_t warned_text;
} copied_stream;

/* What is known of a frame that the encoder still holds. */
typedef struct delayed_frame {
    int64_t encoder_pts, pts, duration, index;
} delayed_frame;

struct mvf_overlay {
    mvf_source *source;
    mvf_logger logger;
    mvf_overlay_options options;
    char *path, *name, *codec;
    const mvf_container *container;
    mvf_media_output output;
    AVFormatContext *format;
    AVStream *video;
    copied_stream *copied;
    unsigned n_copied;
    mvf_encoder encoder;
    mvf_painter painter;
    AVPacket *packet;
    AVRational time_base, frame_rate;
    int64_t step;
    mvf_timeline timeline;
    int64_t n_frames, first_pts, end_pts;
    delayed_frame delayed[MAX_DELAYED];
    int32_t starts_late;
    int32_t first_size[2];
    int32_t warned_times, warned_missing, warned_size, warned_copy, n_images;
};

void mvf_overlay_options_init(mvf_overlay_options *options)
{
    *options = (mvf_overlay_options){.struct_size = sizeof *options,
                                     .draw = MVF_DRAW_ARROWS,
                                     .arrow_scale = 1,
                                     .max_motion_px = 16,
                                     .max_cost = 16,
                                     .opacity = -1};
}

static mvf_status fail_av(const mvf_overlay *overlay, int error, const char *what)
{
    return mvf_fail(&overlay->logger, mvf_status_from_av(error), "%s: %s: %s", overlay->name, what,
                    av_err2str(error));
}

static mvf_status fail_existing(const mvf_overlay *overlay, const char *path, const char *when)
{
    return mvf_fail(&overlay->logger, MVF_ERROR_EXISTS, "%s: exists %s (overwrite replaces it)",
                    path, when);
}

static mvf_status open_output(mvf_overlay *overlay, mvf_media_output *output, const char *path)
{
    int error;
    mvf_status status = mvf_media_output_open(output, path, overlay->options.overwrite, &error);
    if (status == MVF_ERROR_EXISTS)
        return fail_existing(overlay, path, "already");
    return status == MVF_OK ? status : fail_av(overlay, error, "cannot be written");
}

static mvf_status commit_output(mvf_overlay *overlay, mvf_media_output *output, const char *path)
{
    int error = mvf_media_output_commit(output);
    if (error == AVERROR(EEXIST))
        return fail_existing(overlay, path, "by now");
    return error < 0 ? fail_av(overlay, error, "writing failed") : MVF_OK;
}

static mvf_status check_options(const mvf_overlay *overlay)
{
    const mvf_overlay_options *options = &overlay->options;
    const char *wrong = NULL;
    if (!(options->arrow_scale > 0) || !(options->max_motion_px > 0) || !(options->max_cost > 0))
        wrong = "the arrows' scale, the largest motion and the largest cost must be above 0";
    else if (!(options->opacity <= 1))
        wrong = "the opacity must be from 0 to 1";
    else if (options->quality < 0 || options->quality > 100)
        wrong = "the quality must be from 1 to 100";
    else if (options->draw >= 2 * MVF_DRAW_ARROWS || (unsigned)options->layout > MVF_LAYOUT_SIDE ||
             (unsigned)options->ground > MVF_GROUND_GRAY)
        wrong = "there is no such mode, layout or ground";
    return wrong ? mvf_fail(&overlay->logger, MVF_ERROR_ARGUMENT, "%s", wrong) : MVF_OK;
}

static void set_drawing(mvf_overlay *overlay)
{
    const mvf_overlay_options *options = &overlay->options;
    double usual = options->ground == MVF_GROUND_VIDEO ? 0.6 : 1;
    overlay->painter.layout = options->layout;
    overlay->painter.ground = options->ground;
    overlay->painter.drawing.style =
        (mvf_drawing_style){.modes = options->draw,
                            .arrow_scale = options->arrow_scale,
                            .max_motion_px = options->max_motion_px,
                            .max_cost = options->max_cost,
                            .opacity = options->opacity < 0 ? usual : options->opacity,
                            .legend = options->legend,
                            .caption = options->caption,
                            .rotation = overlay->source->info.rotation};
}

static mvf_status prepare(mvf_overlay *overlay, const char *path)
{
    overlay->path = mvf_strdup(path);
    overlay->name = mvf_printable(strcmp(path, "-") ? path : "standard output");
    overlay->packet = av_packet_alloc();
    overlay->codec = overlay->options.codec ? mvf_strdup(overlay->options.codec) : NULL;
    if (!overlay->path || !overlay->name || !overlay->packet ||
        (overlay->options.codec && !overlay->codec))
        return MVF_ERROR_MEMORY;
    MVF_TRY(check_options(overlay));
    set_drawing(overlay);
    overlay->container = mvf_container_find(path);
    if (!overlay->container)
        return mvf_fail(&overlay->logger, MVF_ERROR_ARGUMENT,
                        "%s: no video format goes with this name; those of overlays are %s",
                        overlay->name, mvf_container_extensions());
    if (!overlay->container->muxer)
        return MVF_OK;
    MVF_TRY(open_output(overlay, &overlay->output, path));
    if (!overlay->container->needs_seeking || overlay->output.io->seekable)
        return MVF_OK;
    return mvf_fail(&overlay->logger, MVF_ERROR_ARGUMENT,
                    "%s: a pipe cannot take .%s, whose begin is written last; .mkv and .y4m it can",
                    overlay->name, overlay->container->extension);
}

static void take_options(mvf_overlay *overlay, const mvf_overlay_options *options)
{
    mvf_overlay_options_init(&overlay->options);
    if (!options)
        return;
    size_t size = options->struct_size < sizeof *options ? options->struct_size : sizeof *options;
    memcpy(&overlay->options, options, size);
    overlay->logger = options->logger;
}

mvf_status mvf_overlay_open(mvf_overlay **overlay, const char *path, mvf_source *source,
                            const mvf_overlay_options *options)
{
    *overlay = NULL;
    mvf_overlay *opened = mvf_alloc_array(1, sizeof *opened);
    if (!opened)
        return MVF_ERROR_MEMORY;
    opened->source = source;
    opened->output.fd = -1;
    take_options(opened, options);
    mvf_status status = prepare(opened, path);
    if (status != MVF_OK)
        mvf_overlay_discard(&opened);
    *overlay = opened;
    return status;
}

static void choose_times(mvf_overlay *overlay)
{
    const mvf_source_info *info = &overlay->source->info;
    AVRational rate = {info->frame_rate.num, info->frame_rate.den};
    overlay->frame_rate = rate.num > 0 && rate.den > 0 ? rate : (AVRational){25, 1};
    overlay->time_base = overlay->container->constant_rate ? av_inv_q(overlay->frame_rate)
                                                           : overlay->source->stream->time_base;
    overlay->step = av_rescale_q(1, av_inv_q(overlay->frame_rate), overlay->time_base);
    if (overlay->step < 1)
        overlay->step = 1;
}

/* How far pixels are turned, since the file does not say that players shall turn them. */
static int32_t turn_of(const mvf_overlay *overlay)
{
    const char *muxer = overlay->container->muxer ? overlay->container->muxer : "";
    int holds_rotation = !strcmp(muxer, "mp4") || !strcmp(muxer, "mov");
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 16, 0)
    holds_rotation = holds_rotation || !strcmp(muxer, "matroska") || !strcmp(muxer, "webm");
#endif
    return holds_rotation ? 0 : overlay->source->info.rotation;
}

static void set_painter(mvf_overlay *overlay)
{
    const AVCodecContext *codec = overlay->encoder.codec;
    mvf_painter *painter = &overlay->painter;
    painter->format = overlay->encoder.canvas_format;
    painter->matrix = overlay->encoder.canvas_matrix;
    painter->range = overlay->encoder.canvas_range;
    painter->out_format = codec->pix_fmt;
    painter->out_width = codec->width;
    painter->out_height = codec->height;
    painter->out_matrix = codec->colorspace;
    painter->out_range = codec->color_range;
    painter->turn = turn_of(overlay);
}

static mvf_status check_codec(mvf_overlay *overlay)
{
    const AVCodecContext *codec = overlay->encoder.codec;
    const mvf_container *container = overlay->container;
    int fits = container->muxer ? avformat_query_codec(overlay->format->oformat, codec->codec_id,
                                                       FF_COMPLIANCE_EXPERIMENTAL)
                                : !strcmp(codec->codec->name, container->encoders[0]);
    if (!overlay->codec || fits)
        return MVF_OK;
    return mvf_fail(&overlay->logger, MVF_ERROR_UNSUPPORTED, "%s: .%s files do not hold %s",
                    overlay->name, container->extension, avcodec_get_name(codec->codec_id));
}

static mvf_status open_encoder(mvf_overlay *overlay, AVFrame *frame)
{
    int32_t size[2];
    /* For its chroma alone, which decides where the second of two pictures starts. */
    overlay->painter.format = AV_PIX_FMT_YUV420P;
    mvf_painter_size(&overlay->painter, frame->width, frame->height, size);
    int32_t odd = overlay->options.for_browsers ? 1 : 0, turn = turn_of(overlay);
    int sideways = turn == 90 || turn == 270;
    mvf_encoder_wishes wishes = {
        .frame = frame,
        .width = (size[sideways] + odd) & ~odd,
        .height = (size[!sideways] + odd) & ~odd,
        .sideways = sideways,
        .for_browsers = overlay->options.for_browsers,
        .container = overlay->container,
        .codec = overlay->codec,
        .quality = overlay->options.quality,
        .time_base = overlay->time_base,
        .frame_rate = overlay->frame_rate,
        .sample_aspect =
            av_guess_sample_aspect_ratio(overlay->source->format, overlay->source->stream, frame),
        .threads = overlay->options.threads,
        .global_header =
            overlay->format && (overlay->format->oformat->flags & AVFMT_GLOBALHEADER) != 0,
    };
    if (sideways && wishes.sample_aspect.num > 0)
        wishes.sample_aspect = av_inv_q(wishes.sample_aspect);
    int error = mvf_encoder_open(&overlay->encoder, &wishes);
    if (error == AVERROR_ENCODER_NOT_FOUND && overlay->codec)
        return mvf_fail(&overlay->logger, MVF_ERROR_UNSUPPORTED,
                        "this FFmpeg has no encoder or codec named %s", overlay->codec);
    if (error < 0)
        return fail_av(overlay, error, "no encoder takes these frames");
    set_painter(overlay);
    mvf_log(&overlay->logger, MVF_LOG_DEBUG, "%s: encoded by %s", overlay->name,
            overlay->encoder.codec->codec->name);
    return check_codec(overlay);
}

static int add_side_data(AVStream *out, enum AVPacketSideDataType type, const uint8_t *data,
                         size_t n_bytes)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 0)
    AVCodecParameters *codec = out->codecpar;
    AVPacketSideData *made = av_packet_side_data_new(&codec->coded_side_data,
                                                     &codec->nb_coded_side_data, type, n_bytes, 0);
    uint8_t *place = made ? made->data : NULL;
#else
    uint8_t *place = av_stream_new_side_data(out, type, n_bytes);
#endif
    if (!place)
        return AVERROR(ENOMEM);
    memcpy(place, data, n_bytes);
    return 0;
}

static int copy_side_data(AVStream *out, const AVStream *in, int is_turned)
{
    static const enum AVPacketSideDataType types[] = {AV_PKT_DATA_DISPLAYMATRIX,
                                                      AV_PKT_DATA_MASTERING_DISPLAY_METADATA,
                                                      AV_PKT_DATA_CONTENT_LIGHT_LEVEL};
    for (size_t i = is_turned ? 1 : 0; i < sizeof types / sizeof types[0]; i++) {
        size_t n_bytes;
        const uint8_t *data = mvf_stream_side_data(in, types[i], &n_bytes);
        int error = data ? add_side_data(out, types[i], data, n_bytes) : 0;
        if (error)
            return error;
    }
    return 0;
}

static int add_video(mvf_overlay *overlay)
{
    const AVStream *in = overlay->source->stream;
    AVStream *out = avformat_new_stream(overlay->format, NULL);
    if (!out)
        return AVERROR(ENOMEM);
    overlay->video = out;
    out->time_base = overlay->time_base;
    out->avg_frame_rate = in->avg_frame_rate;
    out->sample_aspect_ratio = overlay->encoder.codec->sample_aspect_ratio;
    out->disposition = in->disposition;
    int error = avcodec_parameters_from_context(out->codecpar, overlay->encoder.codec);
    return error < 0 ? error : copy_side_data(out, in, overlay->painter.turn != 0);
}

static int is_wanted(const mvf_overlay *overlay, const AVStream *in)
{
    enum AVMediaType type = in->codecpar->codec_type;
    return overlay->source->options.keep_other_streams && in->discard < AVDISCARD_ALL &&
           (type == AVMEDIA_TYPE_AUDIO || type == AVMEDIA_TYPE_SUBTITLE);
}

static int is_held(const mvf_overlay *overlay, const AVCodecParameters *codec)
{
    if (codec->codec_type == AVMEDIA_TYPE_AUDIO && codec->sample_rate <= 0)
        return 0;
    return avformat_query_codec(overlay->format->oformat, codec->codec_id, FF_COMPLIANCE_NORMAL) ==
           1;
}

static int add_copied(mvf_overlay *overlay, const AVStream *in)
{
    copied_stream *copied = &overlay->copied[in->index];
    AVStream *out = avformat_new_stream(overlay->format, NULL);
    if (!out)
        return AVERROR(ENOMEM);
    out->time_base = in->time_base;
    int error = copied->subtitles ? mvf_subtitles_describe(copied->subtitles, out)
                                  : avcodec_parameters_copy(out->codecpar, in->codecpar);
    if (!copied->subtitles)
        out->codecpar->codec_tag = 0;
    out->disposition = in->disposition;
    if (error >= 0)
        error = av_dict_copy(&out->metadata, in->metadata, 0);
    copied->out = out;
    return error < 0 ? error : 0;
}

static int add_other(mvf_overlay *overlay, const AVStream *in)
{
    if (!is_wanted(overlay, in))
        return 0;
    int error = is_held(overlay, in->codecpar)
                    ? 0
                    : mvf_subtitles_open(&overlay->copied[in->index].subtitles, in,
                                         overlay->format->oformat);
    if (!error)
        return add_copied(overlay, in);
    if (error == AVERROR(ENOMEM))
        return error;
    mvf_log(&overlay->logger, MVF_LOG_WARNING,
            "%s: stream %d (%s) is left out: the format does not hold it", overlay->name, in->index,
            avcodec_get_name(in->codecpar->codec_id));
    return 0;
}

static int write_header(mvf_overlay *overlay, int with_copies)
{
    AVFormatContext *in = overlay->source->format;
    overlay->format->pb = overlay->output.io;
    overlay->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    overlay->format->flush_packets = overlay->source->is_live;
    /* Y4M of more than 8 bits is an extension of FFmpeg's. */
    if (!strcmp(overlay->container->muxer, "yuv4mpegpipe"))
        overlay->format->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    int error = add_video(overlay);
    for (unsigned i = 0; with_copies && !error && i < overlay->n_copied; i++)
        error = add_other(overlay, in->streams[i]);
    if (error < 0)
        return error;
    /* MP4 states when a track starts in units of the whole file's, by default coarser than ours. */
    AVDictionary *options = NULL;
    if (overlay->time_base.num == 1)
        error = av_dict_set_int(&options, "movie_timescale", overlay->time_base.den, 0);
    if (error >= 0)
        error = avformat_write_header(overlay->format, &options);
    av_dict_free(&options);
    return error;
}

static int new_muxer(mvf_overlay *overlay)
{
    avformat_free_context(overlay->format);
    overlay->format = NULL;
    return avformat_alloc_output_context2(&overlay->format, NULL, overlay->container->muxer, NULL);
}

/* A stream that the muxer refuses in the end must not cost the video. */
static mvf_status open_muxer(mvf_overlay *overlay)
{
    int error = write_header(overlay, 1);
    if (error < 0 && error != AVERROR(ENOMEM) && overlay->format->nb_streams > 1) {
        mvf_log(&overlay->logger, MVF_LOG_WARNING, "%s: the other streams are left out: %s",
                overlay->name, av_err2str(error));
        for (unsigned i = 0; i < overlay->n_copied; i++)
            overlay->copied[i].out = NULL;
        error = mvf_media_output_restart(&overlay->output);
        if (!error)
            error = new_muxer(overlay);
        if (error >= 0)
            error = write_header(overlay, 0);
    }
    return error < 0 ? fail_av(overlay, error, "the header cannot be written") : MVF_OK;
}

/* Times below zero would be cut off by players: then everything starts at zero instead. */
static void set_start(mvf_overlay *overlay, const mvf_frame *frame)
{
    AVRational in = overlay->source->stream->time_base;
    overlay->first_pts = frame->pts;
    overlay->starts_late = frame->index > 0;
    if (frame->pts == MVF_NO_PTS || frame->pts >= 0)
        return;
    mvf_log(&overlay->logger, MVF_LOG_INFO, "%s: starts at 0 instead of %.3f s", overlay->name,
            (double)frame->pts * av_q2d(in));
    overlay->timeline.offset = -av_rescale_q(frame->pts, in, overlay->time_base);
    for (unsigned i = 0; i < overlay->n_copied; i++)
        overlay->copied[i].timeline.offset =
            -av_rescale_q(frame->pts, in, overlay->source->format->streams[i]->time_base);
}

static mvf_status start(mvf_overlay *overlay, mvf_frame *frame)
{
    overlay->n_copied = overlay->source->format->nb_streams;
    overlay->copied = mvf_alloc_array(overlay->n_copied, sizeof *overlay->copied);
    if (!overlay->copied)
        return MVF_ERROR_MEMORY;
    int error = overlay->container->muxer ? new_muxer(overlay) : 0;
    if (error < 0)
        return fail_av(overlay, error, "this FFmpeg has no muxer for the format");
    choose_times(overlay);
    MVF_TRY(open_encoder(overlay, frame->av));
    if (overlay->container->muxer)
        MVF_TRY(open_muxer(overlay));
    set_start(overlay, frame);
    return MVF_OK;
}

/* Whether a packet of another stream lies outside of the video that is being written. */
static int is_outside(const mvf_overlay *overlay, const AVPacket *packet, AVRational time_base,
                      int at_end)
{
    AVRational video = overlay->source->stream->time_base;
    int64_t pts = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    if (overlay->starts_late && overlay->first_pts != MVF_NO_PTS &&
        av_compare_ts(pts, time_base, overlay->first_pts, video) < 0)
        return 1;
    return !at_end && overlay->end_pts != MVF_NO_PTS &&
           av_compare_ts(pts, time_base, overlay->end_pts, video) >= 0;
}

/* Gives the packet its time in the output; 0 where the format has none for it. Sound before time 0
 * is left out then, as a muxer that moves it would move the video too. */
static int set_copied_time(mvf_overlay *overlay, AVPacket *packet, AVRational in)
{
    copied_stream *copied = &overlay->copied[packet->stream_index];
    int64_t time = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts, moved;
    int64_t second = av_rescale_q(1, (AVRational){1, 1}, in);
    mvf_timeline_next(&copied->timeline, time, packet->duration > 0 ? packet->duration : 1,
                      second > 1 ? second : 1, &moved);
    packet->pts = packet->pts != AV_NOPTS_VALUE ? packet->pts + moved - time : moved;
    packet->dts = moved;
    return packet->pts >= 0 || (overlay->format->oformat->flags & AVFMT_TS_NEGATIVE);
}

/* Above 0: the packet is to be written. */
static int convert_text(mvf_overlay *overlay, AVPacket *packet)
{
    copied_stream *copied = &overlay->copied[packet->stream_index];
    int result = copied->subtitles ? mvf_subtitles_convert(copied->subtitles, packet) : 1;
    if (result == AVERROR(ENOMEM))
        return result;
    if (result < 0 && !copied->warned_text++)
        mvf_log(&overlay->logger, MVF_LOG_WARNING,
                "%s: subtitles of stream %d that cannot be converted are left out: %s",
                overlay->name, packet->stream_index, av_err2str(result));
    return result < 0 ? 0 : result;
}

static mvf_status write_copied(mvf_overlay *overlay, AVPacket *packet)
{
    copied_stream *copied = &overlay->copied[packet->stream_index];
    AVRational in = overlay->source->format->streams[packet->stream_index]->time_base;
    int result = convert_text(overlay, packet);
    if (result < 0)
        return fail_av(overlay, result, "subtitles cannot be converted");
    if (!result || !set_copied_time(overlay, packet, in))
        return MVF_OK;
    packet->stream_index = copied->out->index;
    packet->pos = -1;
    av_packet_rescale_ts(packet, in, copied->out->time_base);
    int error = av_interleaved_write_frame(overlay->format, packet);
    if (error < 0 && (overlay->output.io->error || error == AVERROR(ENOMEM)))
        return fail_av(overlay, error, "writing failed");
    if (error < 0 && !overlay->warned_copy++)
        mvf_log(&overlay->logger, MVF_LOG_WARNING, "%s: packets of stream %s are left out: %s",
                overlay->name, avcodec_get_name(copied->out->codecpar->codec_id),
                av_err2str(error));
    return MVF_OK;
}

/* Passes on what the source has read of other streams; `is_last`: no more video follows. */
static mvf_status copy_others(mvf_overlay *overlay, int is_last)
{
    AVPacket *packet;
    mvf_status status = MVF_OK;
    int until_end = !is_last || overlay->source->at_end;
    if (!overlay->format)
        return MVF_OK;
    while (status == MVF_OK && (packet = mvf_packet_queue_pop(&overlay->source->others))) {
        unsigned index = (unsigned)packet->stream_index;
        int has_time = packet->pts != AV_NOPTS_VALUE || packet->dts != AV_NOPTS_VALUE;
        if (index < overlay->n_copied && overlay->copied[index].out && has_time &&
            !is_outside(overlay, packet, overlay->source->format->streams[index]->time_base,
                        until_end))
            status = write_copied(overlay, packet);
        av_packet_free(&packet);
    }
    return status;
}

static const delayed_frame *find_delayed(const mvf_overlay *overlay, int64_t encoder_pts)
{
    for (int i = 0; i < MAX_DELAYED; i++)
        if (overlay->delayed[i].encoder_pts == encoder_pts && overlay->delayed[i].duration > 0)
            return &overlay->delayed[i];
    return NULL;
}

/* The packet is the whole file. */
static mvf_status write_image(mvf_overlay *overlay, int64_t index)
{
    mvf_media_output output;
    if (overlay->options.single_image && overlay->n_images)
        return MVF_OK;
    char *path = overlay->options.single_image ? mvf_strdup(overlay->path)
                                               : mvf_image_name(overlay->path, index);
    if (!path)
        return MVF_ERROR_MEMORY;
    mvf_status status = open_output(overlay, &output, path);
    if (status == MVF_OK) {
        avio_write(output.io, overlay->packet->data, overlay->packet->size);
        status = commit_output(overlay, &output, path);
        mvf_media_output_discard(&output);
        overlay->n_images++;
    }
    free(path);
    return status;
}

static mvf_status write_video(mvf_overlay *overlay)
{
    av_packet_rescale_ts(overlay->packet, overlay->time_base, overlay->video->time_base);
    int error = av_interleaved_write_frame(overlay->format, overlay->packet);
    return error < 0 ? fail_av(overlay, error, "writing failed") : MVF_OK;
}

static mvf_status write_packets(mvf_overlay *overlay)
{
    for (;;) {
        AVPacket *packet = overlay->packet;
        int error = avcodec_receive_packet(overlay->encoder.codec, packet);
        if (error == AVERROR(EAGAIN) || error == AVERROR_EOF)
            return MVF_OK;
        if (error < 0)
            return fail_av(overlay, error, "encoding failed");
        const delayed_frame *frame = find_delayed(overlay, packet->pts);
        packet->duration = frame ? frame->duration : overlay->step;
        if (frame && overlay->encoder.counts_frames)
            packet->pts = packet->dts = frame->pts;
        packet->stream_index = 0;
        if (overlay->format)
            MVF_TRY(write_video(overlay));
        else
            MVF_TRY(write_image(overlay, frame ? frame->index : overlay->n_images));
    }
}

static int64_t own_duration(const mvf_overlay *overlay, const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_MAJOR >= 58
    int64_t duration = frame->duration;
#else
    int64_t duration = frame->pkt_duration;
#endif
    duration = av_rescale_q(duration, overlay->source->stream->time_base, overlay->time_base);
    return duration > 0 ? duration : overlay->step;
}

/* The frame's time in the output. */
static int64_t next_time(mvf_overlay *overlay, const mvf_frame *frame)
{
    AVRational in = overlay->source->stream->time_base;
    int64_t second = (int64_t)ceil(1 / av_q2d(overlay->time_base)), pts = frame->pts, time;
    int had_time = pts != MVF_NO_PTS;
    if (had_time)
        pts = av_rescale_q(pts, in, overlay->time_base);
    int changed = mvf_timeline_next(&overlay->timeline, pts, overlay->step, second, &time);
    if (changed && had_time && !overlay->warned_times++)
        mvf_log(&overlay->logger, MVF_LOG_WARNING,
                "%s: frame %lld is not later than the one before it; such times are moved up",
                overlay->name, (long long)frame->index);
    if (!had_time && !overlay->warned_missing++)
        mvf_log(&overlay->logger, MVF_LOG_INFO,
                "%s: frame %lld has no time; such frames follow at the frame rate", overlay->name,
                (long long)frame->index);
    overlay->end_pts = had_time ? frame->pts + 1 : overlay->end_pts;
    return time;
}

static void describe(const mvf_overlay *overlay, const mvf_frame *frame, const mvf_field *field,
                     mvf_caption *caption)
{
    static const char *const types[] = {"", "I", "P", "B"};
    AVRational base = overlay->source->stream->time_base;
    size_t type = field ? (size_t)field->type : 0;
    *caption = (mvf_caption){
        .frame = frame->index,
        .seconds = frame->pts == MVF_NO_PTS ? NAN : (double)frame->pts * av_q2d(base),
        .type = type < sizeof types / sizeof types[0] ? types[type] : "",
    };
}

static mvf_status encode(mvf_overlay *overlay, const mvf_frame *frame, const mvf_field *field,
                         const mvf_field *against)
{
    AVFrame *painted;
    mvf_caption caption;
    describe(overlay, frame, field, &caption);
    int error = mvf_painter_paint(&overlay->painter, frame->av, field, against, &caption, &painted);
    if (error < 0)
        return fail_av(overlay, error, "the frame cannot be drawn on");
    int64_t time = next_time(overlay, frame);
    delayed_frame *delayed = &overlay->delayed[overlay->n_frames % MAX_DELAYED];
    delayed->pts = time;
    delayed->index = frame->index;
    delayed->duration = own_duration(overlay, frame->av);
    delayed->encoder_pts = overlay->encoder.counts_frames ? overlay->n_frames : time;
    painted->pts = delayed->encoder_pts;
    painted->pict_type = AV_PICTURE_TYPE_NONE;
    painted->color_range = overlay->painter.out_range;
    painted->colorspace = overlay->painter.out_matrix;
    overlay->n_frames++;
    error = avcodec_send_frame(overlay->encoder.codec, painted);
    return error < 0 ? fail_av(overlay, error, "encoding failed") : write_packets(overlay);
}

static int belongs(const mvf_field *field, const AVFrame *frame)
{
    return !field || !field->n_blocks ||
           (field->width == frame->width && field->height == frame->height);
}

static mvf_status check_fields(const mvf_overlay *overlay, const AVFrame *frame,
                               const mvf_field *field, const mvf_field *against)
{
    const mvf_field *wrong = belongs(field, frame) ? against : field;
    if (belongs(field, frame) && belongs(against, frame))
        return MVF_OK;
    return mvf_fail(&overlay->logger, MVF_ERROR_ARGUMENT,
                    "a field of %dx%d does not belong to a frame of %dx%d", wrong->width,
                    wrong->height, frame->width, frame->height);
}

static mvf_status warn_of_words(mvf_overlay *overlay, const AVFrame *frame)
{
    mvf_canvas canvas = {.width = frame->width, .height = frame->height};
    int has_text = 0;
    if (!overlay->options.caption && !overlay->options.legend)
        return MVF_OK;
    MVF_TRY(mvf_drawing_find_text(&overlay->painter.drawing, &canvas, &has_text));
    if (!has_text)
        mvf_log(&overlay->logger, MVF_LOG_WARNING,
                "%s: there are no words on the picture: no font is found, or this build has no "
                "FreeType and fontconfig",
                overlay->name);
    return MVF_OK;
}

mvf_status mvf_overlay_write(mvf_overlay *overlay, mvf_frame *frame, const mvf_field *field,
                             const mvf_field *against)
{
    int32_t size[2];
    MVF_TRY(mvf_frame_download(frame));
    const AVFrame *av = frame->av;
    MVF_TRY(check_fields(overlay, av, field, against));
    if (!overlay->encoder.codec) {
        MVF_TRY(start(overlay, frame));
        mvf_painter_size(&overlay->painter, av->width, av->height, overlay->first_size);
        MVF_TRY(warn_of_words(overlay, av));
    }
    mvf_painter_size(&overlay->painter, av->width, av->height, size);
    if ((size[0] != overlay->first_size[0] || size[1] != overlay->first_size[1]) &&
        !overlay->warned_size++)
        mvf_log(&overlay->logger, MVF_LOG_WARNING,
                "%s: frame %lld is %dx%d; it and its like are scaled to the first frame's size",
                overlay->name, (long long)frame->index, av->width, av->height);
    MVF_TRY(copy_others(overlay, 0));
    return encode(overlay, frame, field, against);
}

static mvf_status finish(mvf_overlay *overlay)
{
    if (!overlay->encoder.codec)
        return mvf_fail(&overlay->logger, MVF_ERROR_DATA,
                        "%s: is not written, since there was no frame", overlay->name);
    int error = avcodec_send_frame(overlay->encoder.codec, NULL);
    if (error < 0 && error != AVERROR_EOF)
        return fail_av(overlay, error, "encoding failed");
    MVF_TRY(write_packets(overlay));
    if (!overlay->format)
        return MVF_OK;
    MVF_TRY(copy_others(overlay, 1));
    error = av_write_trailer(overlay->format);
    return error < 0 ? fail_av(overlay, error, "writing failed")
                     : commit_output(overlay, &overlay->output, overlay->path);
}

mvf_status mvf_overlay_close(mvf_overlay **overlay)
{
    mvf_status status = *overlay ? finish(*overlay) : MVF_OK;
    mvf_overlay_discard(overlay);
    return status;
}

void mvf_overlay_discard(mvf_overlay **overlay)
{
    if (!overlay || !*overlay)
        return;
    mvf_overlay *closed = *overlay;
    avcodec_free_context(&closed->encoder.codec);
    avformat_free_context(closed->format);
    mvf_media_output_discard(&closed->output);
    mvf_painter_close(&closed->painter);
    av_packet_free(&closed->packet);
    for (unsigned i = 0; closed->copied && i < closed->n_copied; i++)
        mvf_subtitles_free(&closed->copied[i].subtitles);
    free(closed->copied);
    free(closed->path);
    free(closed->name);
    free(closed->codec);
    free(closed);
    *overlay = NULL;
}
