/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <stdlib.h>
#include <string.h>

#include <libavutil/time.h>

#include "base/memory.h"

/* Packets of other streams that wait for an overlay. */
#define MAX_OTHER_BYTES (64 << 20)
/* Reads that fail in a row until the rest of the input is given up. */
#define MAX_READ_ERRORS 32
#define RETRY_US 2000

void mvf_source_options_init(mvf_source_options *options)
{
    *options = (mvf_source_options){.struct_size = sizeof *options,
                                    .stream = -1,
                                    .timeout_ms = -1,
                                    .hwaccel = MVF_HWACCEL_NONE,
                                    .max_pixels = INT64_C(1) << 27};
}

static int is_kept(const mvf_source *source, int stream_index)
{
    return source->options.keep_other_streams &&
           (unsigned)stream_index < source->format->nb_streams &&
           source->format->streams[stream_index]->discard < AVDISCARD_ALL;
}

/* The container's index may know of more packets than a pipe delivered. */
static int index_promises_more(const mvf_source *source)
{
#if LIBAVFORMAT_VERSION_MAJOR >= 59
    return strstr(source->info.container, "mp4") &&
           avformat_index_get_entries_count(source->stream) > source->n_packets;
#else
    (void)source;
    return 0;
#endif
}

static int end_input(mvf_source *source)
{
    AVIOContext *io = source->format->pb;
    int error = io && io->error < 0 && io->error != AVERROR_EOF ? io->error : 0;
    if (source->interrupted)
        return AVERROR_EXIT;
    if (error)
        mvf_log(&source->options.logger, MVF_LOG_WARNING,
                "%s: reading failed, and what follows is lost: %s", source->name,
                av_err2str(error));
    source->report.truncated |= error || source->last_packet_cut || index_promises_more(source) ||
                                mvf_input_is_cut(io, source->info.container);
    source->at_end = 1;
    return AVERROR_EOF;
}

/* What came so far is all that there is. */
static int give_up_waiting(mvf_source *source)
{
    source->report.timed_out = 1;
    source->at_end = 1;
    return AVERROR_EOF;
}

/* 0 to try again, or what read_packet() returns. */
static int survive_read_error(mvf_source *source, int error)
{
    if (source->interrupted)
        return AVERROR_EXIT;
    if (source->timed_out)
        return give_up_waiting(source);
    if (error == AVERROR_EXIT)
        return AVERROR_EXIT;
    if (error == AVERROR_EOF)
        return end_input(source);
    if (error == AVERROR(ENOMEM))
        return error;
    if (error == AVERROR(EAGAIN)) {
        av_usleep(RETRY_US);
        return 0;
    }
    if (source->read_errors++ == 0) {
        source->n_read_errors++;
        /* An input that has nothing at all is an error, with a message of its own. */
        if (source->n_packets > 0)
            mvf_log(&source->options.logger, MVF_LOG_WARNING, "%s: damaged near frame %lld: %s",
                    source->name, (long long)source->report.frames, av_err2str(error));
    }
    if (source->read_errors < MAX_READ_ERRORS && !avio_feof(source->format->pb))
        return 0;
    source->report.truncated = 1;
    return end_input(source);
}

/* A packet of another stream to whoever writes it, unless it was passed on before. */
static int pass_on(mvf_source *source, AVPacket *packet)
{
    if (source->n_others_to_skip > 0) {
        source->n_others_to_skip--;
        return 0;
    }
    source->n_others++;
    return mvf_packet_queue_push(&source->others, packet);
}

static int read_packet(void *context, AVPacket *packet)
{
    mvf_source *source = context;
    mvf_source_start_waiting(source);
    for (;;) {
        int error = av_read_frame(source->format, packet);
        if (error < 0) {
            error = survive_read_error(source, error);
            if (error < 0)
                return error;
            continue;
        }
        source->read_errors = 0;
        if (packet->stream_index == source->stream->index) {
            source->n_packets++;
            source->last_packet_cut = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
            source->is_marked |= source->last_packet_cut;
            return 0;
        }
        if (is_kept(source, packet->stream_index))
            error = pass_on(source, packet);
        av_packet_unref(packet);
        if (error < 0)
            return error;
    }
}

/* A call that may have made a session with NVDEC is over. */
static void end_session(mvf_source *source)
{
    if (source->makes_session)
        mvf_nvdec_end_session();
    source->makes_session = 0;
}

static int send_packet(void *context, const AVPacket *packet)
{
    mvf_source *source = context;
    int error = avcodec_send_packet(source->codec, packet);
    end_session(source);
    return source->out_of_memory ? AVERROR(ENOMEM) : error;
}

static int receive_frame(void *context, AVFrame *frame)
{
    mvf_source *source = context;
    int error = avcodec_receive_frame(source->codec, frame);
    end_session(source);
    return source->out_of_memory ? AVERROR(ENOMEM) : error;
}

static void ignore_message(void *opaque, mvf_log_level level, const char *message)
{
    (void)opaque;
    (void)level;
    (void)message;
}

/* With hwaccel auto it does not matter why there is no GPU. */
mvf_status mvf_source_open_gpu(mvf_source *source)
{
    const mvf_source_options *options = &source->options;
    mvf_logger logger = options->logger;
    if (options->hwaccel == MVF_HWACCEL_NONE || options->codec_vectors)
        return MVF_OK;
    if (options->hwaccel != MVF_HWACCEL_AUTO && options->hwaccel != MVF_HWACCEL_CUDA)
        return mvf_fail(&logger, MVF_ERROR_ARGUMENT,
                        "hwaccel %d is not one that this version knows", (int)options->hwaccel);
    if (options->hwaccel == MVF_HWACCEL_AUTO)
        logger = (mvf_logger){ignore_message, NULL};
    mvf_status status = mvf_nvdec_open(&source->nvdec, options->device, &logger);
    return options->hwaccel == MVF_HWACCEL_AUTO && status != MVF_ERROR_MEMORY ? MVF_OK : status;
}

static mvf_status open_source(mvf_source *source, const char *url)
{
    source->url = mvf_strdup(url);
    source->name = mvf_printable(strcmp(url, "-") ? url : "standard input");
    source->received = av_frame_alloc();
    source->decoder.packet = av_packet_alloc();
    source->converter = mvf_luma_converter_alloc(&source->options.logger);
    if (!source->url || !source->name || !source->received || !source->decoder.packet ||
        !source->converter)
        return MVF_ERROR_MEMORY;
    MVF_TRY(mvf_source_open_input(source, url));
    MVF_TRY(mvf_source_open_gpu(source));
    return mvf_source_open_decoder(source);
}

mvf_status mvf_source_open(mvf_source **source, const char *url, const mvf_source_options *options)
{
    *source = NULL;
    mvf_source *opened = mvf_alloc_array(1, sizeof *opened);
    if (!opened)
        return MVF_ERROR_MEMORY;
    mvf_source_options_init(&opened->options);
    if (options)
        memcpy(&opened->options, options,
               options->struct_size < sizeof *options ? options->struct_size : sizeof *options);
    opened->input.fd = -1;
    opened->report.first_damage = MVF_NO_FRAME;
    opened->decoder.calls = (mvf_decoder_calls){read_packet, send_packet, receive_frame};
    opened->decoder.context = opened;
    if (mvf_packet_queue_init(&opened->others, MAX_OTHER_BYTES)) {
        free(opened);
        return MVF_ERROR_MEMORY;
    }
    if (mvf_sections_init(&opened->sections)) {
        mvf_packet_queue_destroy(&opened->others);
        free(opened);
        return MVF_ERROR_MEMORY;
    }
    mvf_status status = open_source(opened, url);
    if (status != MVF_OK)
        mvf_source_close(&opened);
    *source = opened;
    return status;
}

const mvf_source_info *mvf_source_get_info(const mvf_source *source)
{
    return &source->info;
}

static void note_refused(mvf_source *source)
{
    source->report.refused_packets = source->decoder.refused_packets + source->n_read_errors;
    if (source->report.refused_packets > 0 && source->report.first_damage == MVF_NO_FRAME)
        source->report.first_damage = source->report.frames;
}

static int64_t count_frame(mvf_source *source, int damaged)
{
    mvf_source_report *report = &source->report;
    report->damaged_frames += damaged;
    if (damaged && report->first_damage == MVF_NO_FRAME)
        report->first_damage = report->frames;
    return report->frames++;
}

mvf_status mvf_source_take_frame(mvf_source *source, mvf_frame **frame)
{
    AVFrame *av = source->received;
    int damaged = mvf_is_damaged(av);
    enum AVPixelFormat host_format = av->format;
    if (host_format == AV_PIX_FMT_CUDA) {
        host_format = source->codec->sw_pix_fmt;
        int error = mvf_nvdec_take(source->nvdec, av, host_format);
        if (error < 0)
            return error == AVERROR(ENOMEM) ? MVF_ERROR_MEMORY : MVF_ERROR_DEVICE;
    }
    int64_t pts = av->pts != AV_NOPTS_VALUE ? av->pts : av->best_effort_timestamp;
    mvf_frame *taken = mvf_frame_alloc(av, source->converter);
    if (!taken) {
        av_frame_unref(av);
        return MVF_ERROR_MEMORY;
    }
    taken->host_format = host_format;
    taken->index = count_frame(source, damaged);
    taken->pts = pts != AV_NOPTS_VALUE ? pts : MVF_NO_PTS;
    taken->time_base = source->stream->time_base;
    taken->damaged = damaged;
    taken->codec = source->stream->codecpar->codec_id;
    *frame = taken;
    return MVF_OK;
}

int mvf_source_is_too_large(const mvf_source *source, int64_t width, int64_t height)
{
    return width > MVF_MAX_DIMENSION || height > MVF_MAX_DIMENSION ||
           width * height > source->options.max_pixels;
}

mvf_status mvf_source_check_size(const mvf_source *source)
{
    const mvf_source_info *info = &source->info;
    if (!mvf_source_is_too_large(source, info->width, info->height))
        return MVF_OK;
    return mvf_fail(&source->options.logger, MVF_ERROR_UNSUPPORTED,
                    "%s: frames of %dx%d px are too large: at most %lld px (--max-pixels) and %d "
                    "on each side",
                    source->name, info->width, info->height, (long long)source->options.max_pixels,
                    MVF_MAX_DIMENSION);
}

int mvf_source_can_begin_again(const mvf_source *source)
{
    return !source->is_live && (!source->url || strcmp(source->url, "-") != 0);
}

/* All that was read so far was whole: it is read once more, up to here, by another decoder. */
static mvf_status begin_again(mvf_source *source)
{
    /* It may have been on its way to a frame already. */
    source->n_frames_to_skip += source->report.frames;
    source->n_others_to_skip = source->n_others;
    source->next_entry = 0;
    source->clean_until = 0;
    return mvf_source_restart(source);
}

/* Frames that are too large count like packets that the decoder refuses. */
static int refuse_large(mvf_source *source)
{
    const AVFrame *av = source->received;
    if (!mvf_source_is_too_large(source, av->width, av->height))
        return 0;
    source->info.width = av->width;
    source->info.height = av->height;
    source->decoder.refused_packets++;
    return 1;
}

static int shows_damage(const mvf_source *source, const AVFrame *av)
{
    return source->decoder.refused_packets || source->n_read_errors || source->is_marked ||
           (av && mvf_is_damaged(av));
}

/* Whether another decoder has to take over: it is one thread in software after damage, and software
 * after what NVDEC does not take. */
static int needs_other_decoder(mvf_source *source, const AVFrame *av)
{
    int is_on_gpu = source->decodes_on_gpu && mvf_source_can_begin_again(source);
    if (is_on_gpu && source->gpu_refused)
        return 1;
    if ((source->is_careful && !is_on_gpu) || !shows_damage(source, av))
        return 0;
    if (is_on_gpu)
        mvf_log(&source->options.logger, MVF_LOG_INFO, "%s: %s: decoding in software", source->name,
                mvf_nvdec_finish(source->nvdec) == MVF_OK
                    ? "shows damage, of which NVDEC tells little"
                    : "the GPU that decodes it failed");
    source->is_careful = 1;
    source->gpu_refused = 1;
    return 1;
}

/* Decodes the next frame to hand on. */
static mvf_status next_frame(mvf_source *source)
{
    for (;;) {
        AVFrame *av = source->received;
        int error = source->has_received ? 0 : mvf_decoder_next(&source->decoder, av);
        source->has_received = 0;
        if (needs_other_decoder(source, error >= 0 ? av : NULL)) {
            MVF_TRY(begin_again(source));
            continue;
        }
        note_refused(source);
        if (error < 0)
            return error == AVERROR_EOF ? MVF_EOF : mvf_status_from_av(error);
        if (!refuse_large(source)) {
            MVF_TRY(mvf_source_check_part(source, av));
            MVF_TRY(mvf_codec_vectors_watch(source, av));
            if (source->n_frames_to_skip == 0)
                return MVF_OK;
            source->n_frames_to_skip--;
            count_frame(source, mvf_is_damaged(av));
        }
        av_frame_unref(av);
    }
}

static mvf_status end_stream(mvf_source *source)
{
    if (source->report.frames > 0) {
        MVF_TRY(mvf_source_check_part(source, NULL));
        MVF_TRY(mvf_codec_vectors_watch(source, NULL));
        return MVF_EOF;
    }
    if (source->timed_out)
        return mvf_source_fail_timeout(source);
    MVF_TRY(mvf_source_check_size(source));
    const char *hint = "";
    if (strstr(source->info.container, "mp4") && source->n_packets == 0 && source->format->pb &&
        !source->format->pb->seekable)
        hint = "; an MP4 whose index is at its end cannot come from a pipe";
    else if (source->decoder.last_error == AVERROR(EINVAL))
        hint = "; its frames may be too large (--max-pixels)";
    return mvf_fail(&source->options.logger, MVF_ERROR_DATA,
                    "%s: its %s stream holds no frame that can be decoded (%lld packets)%s",
                    source->name, source->info.codec, (long long)source->n_packets, hint);
}

mvf_status mvf_source_read(mvf_source *source, mvf_frame **frame)
{
    *frame = NULL;
    if (source->ended != MVF_OK)
        return source->ended;
    source->ended = next_frame(source);
    if (source->ended == MVF_OK)
        return mvf_source_take_frame(source, frame);
    av_frame_unref(source->received);
    if (source->ended == MVF_EOF)
        source->ended = end_stream(source);
    return source->ended;
}

void mvf_source_get_report(const mvf_source *source, mvf_source_report *report)
{
    *report = source->report;
    report->gpu_sessions = source->n_gpu_sessions;
}

void mvf_source_close_decoder(mvf_source *source)
{
    if (source->decodes_on_gpu)
        mvf_nvdec_finish(source->nvdec);
    source->decodes_on_gpu = 0;
    avcodec_free_context(&source->codec);
    mvf_picture_pool_close(&source->pictures);
}

static void close_input(mvf_source *source)
{
    mvf_source_close_decoder(source);
    avformat_close_input(&source->format);
    mvf_input_close(&source->input);
}

void mvf_source_reset(mvf_source *source, int64_t n_packets)
{
    av_frame_unref(source->received);
    av_packet_unref(source->decoder.packet);
    source->has_received = 0;
    source->decoder.has_packet = source->decoder.draining = 0;
    source->decoder.refused_packets = source->n_read_errors = 0;
    source->n_packets = n_packets;
    source->at_end = source->read_errors = source->last_packet_cut = source->is_marked = 0;
    source->report = (mvf_source_report){.first_damage = MVF_NO_FRAME};
}

mvf_status mvf_source_restart(mvf_source *source)
{
    mvf_source_reset(source, 0);
    if (source->interrupted)
        return MVF_ERROR_INTERRUPTED;
    close_input(source);
    MVF_TRY(mvf_source_open_input(source, source->url));
    return mvf_source_open_decoder(source);
}

void mvf_source_close(mvf_source **source)
{
    if (!source || !*source)
        return;
    mvf_source *closed = *source;
    close_input(closed);
    mvf_packet_queue_destroy(&closed->others);
    av_packet_free(&closed->decoder.packet);
    av_frame_free(&closed->received);
    av_buffer_unref(&closed->converter);
    mvf_nvdec_close(&closed->nvdec);
    mvf_entries_free(&closed->entries);
    mvf_sections_destroy(&closed->sections);
    free(closed->url);
    free(closed->name);
    free(closed);
    *source = NULL;
}
