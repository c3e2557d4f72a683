/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <stdlib.h>
#include <string.h>

/* Frames nearer to the start than this are decoded up to. */
#define WORTH_SEEKING 50
/* Packets read beyond the wanted one, so that all that may be shown before it are known. */
#define REORDER_PACKETS 256

typedef struct packet_place {
    int64_t pts, dts, pos;
    int is_key;
} packet_place;

/* The packets of the stream from the first on, in decoding order, and their times in order. */
typedef struct packet_list {
    packet_place *places;
    int64_t *times;
    size_t n, capacity;
} packet_list;

/* Codecs of which each packet holds one frame that is shown. */
static int has_frame_a_packet(enum AVCodecID codec)
{
    static const enum AVCodecID codecs[] = {AV_CODEC_ID_H264,  AV_CODEC_ID_HEVC,
                                            AV_CODEC_ID_MPEG4, AV_CODEC_ID_MJPEG,
                                            AV_CODEC_ID_FFV1,  AV_CODEC_ID_PRORES};
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++)
        if (codecs[i] == codec)
            return 1;
    return 0;
}

static int can_seek(const mvf_source *source)
{
    const char *container = source->info.container;
    return source->input.owned && (source->format->pb->seekable & AVIO_SEEKABLE_NORMAL) &&
           (strstr(container, "mp4") || strstr(container, "matroska")) &&
           has_frame_a_packet(source->stream->codecpar->codec_id) &&
           !source->options.keep_other_streams && !source->report.frames && !source->n_packets;
}

static packet_place place_of(const AVPacket *packet)
{
    return (packet_place){packet->pts, packet->dts, packet->pos,
                          (packet->flags & AV_PKT_FLAG_KEY) != 0};
}

/* Whether frame numbers can still be told from the packets. */
static int add_place(packet_list *list, const AVPacket *packet)
{
    if (packet->pts == AV_NOPTS_VALUE ||
        packet->flags & (AV_PKT_FLAG_DISCARD | AV_PKT_FLAG_CORRUPT))
        return 0;
    if (list->n == list->capacity) {
        size_t larger = list->capacity * 2 + 1024;
        packet_place *moved = realloc(list->places, larger * sizeof *moved);
        if (!moved)
            return 0;
        list->places = moved;
        list->capacity = larger;
    }
    list->places[list->n++] = place_of(packet);
    return 1;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the times; 0 where two are equal. */
static int sort_times(packet_list *list)
{
    list->times = malloc(list->n * sizeof *list->times);
    if (!list->times)
        return 0;
    for (size_t i = 0; i < list->n; i++)
        list->times[i] = list->places[i].pts;
    qsort(list->times, list->n, sizeof *list->times, compare_times);
    for (size_t i = 1; i < list->n; i++)
        if (list->times[i] == list->times[i - 1])
            return 0;
    return 1;
}

/* Reads packets up to those that belong to the frame; 0 where it may not be there. */
static int list_packets(mvf_source *source, int64_t frame, packet_list *list)
{
    AVPacket *packet = source->decoder.packet;
    int64_t wanted = frame + 1 + REORDER_PACKETS;
    int error = 0, known = 1;
    while (known && (int64_t)list->n < wanted) {
        error = av_read_frame(source->format, packet);
        if (error < 0)
            break;
        if (packet->stream_index == source->stream->index)
            known = add_place(list, packet);
        av_packet_unref(packet);
    }
    return known && (!error || error == AVERROR_EOF) && frame < (int64_t)list->n &&
           list->places[0].is_key && sort_times(list);
}

/* Whether nothing that is decoded before packet `i` is shown after it, and decoding can start. */
static int is_clean_start(const packet_list *list, size_t i)
{
    if (!list->places[i].is_key)
        return 0;
    for (size_t k = 0; k < i; k++)
        if (list->places[k].pts > list->places[i].pts)
            return 0;
    return 1;
}

static int64_t rank_of(const packet_list *list, int64_t pts)
{
    const int64_t *found = bsearch(&pts, list->times, list->n, sizeof *list->times, compare_times);
    return found ? found - list->times : -1;
}

/* Goes to the file position for `timestamp` and reads one packet, which the decoder then has. */
static int jump(mvf_source *source, int64_t timestamp)
{
    int error =
        av_seek_frame(source->format, source->stream->index, timestamp, AVSEEK_FLAG_BACKWARD);
    avcodec_flush_buffers(source->codec);
    source->decoder.draining = 0;
    av_packet_unref(source->decoder.packet);
    source->decoder.has_packet = 0;
    while (error >= 0) {
        error = av_read_frame(source->format, source->decoder.packet);
        if (error < 0)
            break;
        if (source->decoder.packet->stream_index == source->stream->index) {
            source->decoder.has_packet = 1;
            return 1;
        }
        av_packet_unref(source->decoder.packet);
    }
    return 0;
}

/* The number of the packet that the decoder has, or -1. */
static int64_t find_packet(const mvf_source *source, const packet_list *list)
{
    packet_place place = place_of(source->decoder.packet);
    for (size_t i = 0; i < list->n; i++)
        if (list->places[i].pts == place.pts && list->places[i].dts == place.dts &&
            list->places[i].pos == place.pos)
            return (int64_t)i;
    return -1;
}

/* Decodes from packet `start` to the frame, which then waits in source->received. Each frame on the
 * way has to be the one that the packets' times promise. */
static int decode_to(mvf_source *source, const packet_list *list, size_t start, int64_t frame)
{
    int64_t next = rank_of(list, list->places[start].pts);
    for (;;) {
        AVFrame *av = source->received;
        if (mvf_decoder_next(&source->decoder, av) < 0 || source->decoder.refused_packets ||
            av->pts == AV_NOPTS_VALUE || av->decode_error_flags ||
            (av->flags & AV_FRAME_FLAG_CORRUPT))
            return 0;
        int is_early = av->pts < list->places[start].pts;
        if (!is_early && av->pts != list->times[next])
            return 0;
        if (!is_early && next++ == frame)
            return 1;
        av_frame_unref(av);
    }
}

static int seek_by_list(mvf_source *source, const packet_list *list, int64_t frame)
{
    int64_t time = list->times[frame];
    size_t start = list->n;
    for (size_t i = list->n; i-- > 0 && start == list->n;)
        if (list->places[i].pts <= time && is_clean_start(list, i))
            start = i;
    if (start == list->n || !start)
        return 0;
    int by_dts = strstr(source->info.container, "mp4") != NULL;
    if (!jump(source, by_dts ? list->places[start].dts : list->places[start].pts))
        return 0;
    int64_t found = find_packet(source, list);
    if (found <= 0 || !is_clean_start(list, (size_t)found) || list->places[found].pts > time)
        return 0;
    source->n_packets = found + 1;
    if (!decode_to(source, list, (size_t)found, frame))
        return 0;
    source->has_received = 1;
    source->report.frames = frame;
    return 1;
}

/* Back to the start, as if nothing had been read. */
static mvf_status start_again(mvf_source *source)
{
    av_frame_unref(source->received);
    av_packet_unref(source->decoder.packet);
    source->decoder.has_packet = source->decoder.draining = 0;
    source->decoder.refused_packets = source->n_packets = source->n_read_errors = 0;
    source->at_end = source->read_errors = source->last_packet_cut = 0;
    source->report = (mvf_source_report){.first_damage = MVF_NO_FRAME};
    return source->interrupted ? MVF_ERROR_INTERRUPTED : mvf_source_reopen(source);
}

mvf_status mvf_source_seek(mvf_source *source, int64_t frame, int64_t *next)
{
    packet_list list = {.places = NULL};
    mvf_status status = MVF_OK;
    *next = source->report.frames;
    if (frame < WORTH_SEEKING || !can_seek(source))
        return MVF_OK;
    if (!list_packets(source, frame, &list) || !seek_by_list(source, &list, frame))
        status = start_again(source);
    *next = source->report.frames;
    free(list.places);
    free(list.times);
    return status;
}
