/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libavutil/md5.h>

#include "video/entries.h"

/* Frames nearer to the start than this are decoded up to. */
#define WORTH_SEEKING 50
/* Packets read beyond the wanted one, so that all that may be shown before it are known. */
#define REORDER_PACKETS 256
/* So long after an entry, a decoder may patch damage with what was before it. */
#define CONCEALING_FRAMES 32
/* Of either end of a file, for telling it from others. */
#define ID_BYTES (1 << 20)

static int can_seek(const mvf_source *source)
{
    return source->input.owned && (source->format->pb->seekable & AVIO_SEEKABLE_NORMAL);
}

int mvf_source_can_read_twice(const mvf_source *source)
{
    return can_seek(source) && !source->options.keep_other_streams && !source->report.frames &&
           !source->n_packets;
}

const char *mvf_source_find_obstacle(const mvf_source *source)
{
    const AVCodecParameters *codec = source->stream->codecpar;
    /* For blocks that a B frame skips, FFmpeg leaves in the table of vectors what an earlier frame
     * has put there. */
    if (source->options.codec_vectors && codec->codec_id == AV_CODEC_ID_MPEG4)
        return "the vectors that FFmpeg gives for MPEG-4 depend on all frames before";
    return mvf_packet_numbers_obstacle(codec);
}

/* Reads packets, without decoding, until it is known where to begin for the frame. */
static int list_entries(mvf_source *source, int64_t frame, mvf_entries *entries)
{
    AVPacket *packet = source->decoder.packet;
    mvf_logger logger = source->options.logger;
    int error = 0;
    mvf_entries_init(entries, source->stream->codecpar, mvf_source_find_obstacle(source));
    /* What there is to say of the packets is said when they are decoded. */
    source->options.logger = (mvf_logger){.callback = NULL};
    while (!error &&
           (frame > INT64_MAX - REORDER_PACKETS ||
            (!entries->obstacle && (int64_t)entries->n_times <= frame + REORDER_PACKETS))) {
        error = source->decoder.calls.read(source, packet);
        if (source->n_read_errors)
            mvf_entries_stop(entries, "a part of it cannot be read");
        if (!error)
            error = mvf_entries_add(entries, packet);
        av_packet_unref(packet);
    }
    source->options.logger = logger;
    if (!error || error == AVERROR_EOF)
        error = mvf_entries_end(entries);
    return error;
}

static int is_packet_of(const AVPacket *packet, const mvf_entry *entry)
{
    return packet->pts == entry->pts && packet->pos == entry->pos && packet->size == entry->n_bytes;
}

/* Reads packets up to the entry's, the `n`-th from here, which then waits for the decoder. */
static int read_to(mvf_source *source, const mvf_entry *entry, int64_t n)
{
    AVPacket *packet = source->decoder.packet;
    for (int64_t i = 0; i < n; i++) {
        av_packet_unref(packet);
        if (source->decoder.calls.read(source, packet) < 0)
            return 0;
    }
    source->decoder.has_packet = 1;
    return is_packet_of(packet, entry);
}

/* Goes to the entry by the container's own index, where that is exact. */
static int enter_by_index(mvf_source *source, const mvf_entry *entry)
{
    const char *container = source->info.container;
    int by_dts = strstr(container, "mp4") != NULL;
    if (!by_dts && !strstr(container, "matroska"))
        return 0;
    mvf_source_reset(source, entry->packet);
    return av_seek_frame(source->format, source->stream->index, by_dts ? entry->dts : entry->pts,
                         AVSEEK_FLAG_BACKWARD) >= 0 &&
           read_to(source, entry, 1);
}

/* Goes to the entry by way of all packets before it. */
static mvf_status enter_by_reading(mvf_source *source, const mvf_entry *entry, int *entered)
{
    MVF_TRY(mvf_source_restart(source));
    *entered = read_to(source, entry, entry->packet + 1);
    return source->interrupted ? MVF_ERROR_INTERRUPTED : MVF_OK;
}

/* Decodes from the entry to the frame, which then waits in source->received. Each frame on the way
 * has to be the one that the packets' times promise. */
static int decode_to(mvf_source *source, const mvf_entry *entry, const int64_t *times, size_t n,
                     int64_t frame)
{
    AVFrame *av = source->received;
    for (int64_t next = 0; next < (int64_t)n;) {
        if (mvf_decoder_next(&source->decoder, av) < 0 || av->pts == AV_NOPTS_VALUE)
            return 0;
        if (av->pts >= entry->pts) {
            if (av->pts != times[next] || source->decoder.refused_packets || mvf_is_damaged(av))
                return 0;
            if (entry->frame + next++ == frame)
                return 1;
        } else {
            /* Of those shown before the entry, some lack what they are predicted from. */
            source->decoder.refused_packets = 0;
        }
        av_frame_unref(av);
    }
    return 0;
}

static mvf_status seek_by_entries(mvf_source *source, const mvf_entries *entries, int64_t frame,
                                  int *found)
{
    const mvf_entry *entry = mvf_entries_before(entries, frame);
    size_t n_times = 0;
    int64_t *times = entry && entry->packet ? mvf_entries_times(entries, entry, &n_times) : NULL;
    mvf_status status = MVF_OK;
    source->next_entry = 0;
    source->clean_until = 0;
    if (!times || frame - entry->frame >= (int64_t)n_times) {
        free(times);
        return MVF_OK;
    }
    status = mvf_source_reopen_decoder(source);
    int entered = status == MVF_OK && enter_by_index(source, entry);
    if (status == MVF_OK && !entered)
        status = enter_by_reading(source, entry, &entered);
    if (status == MVF_OK && entered && decode_to(source, entry, times, n_times, frame)) {
        source->has_received = *found = 1;
        source->report.frames = frame;
        source->next_entry = (size_t)(entry - entries->entries) + 1;
        source->clean_until = entry->frame + CONCEALING_FRAMES;
    }
    free(times);
    return status;
}

mvf_status mvf_source_seek(mvf_source *source, int64_t frame, int64_t *next)
{
    mvf_entries listed = {.codec = NULL};
    int is_part = source->is_part, was_careful = source->is_careful, found = 0, error = 0;
    mvf_status status = MVF_OK;
    *next = source->report.frames;
    if (!is_part && (frame < WORTH_SEEKING || !mvf_source_can_read_twice(source) ||
                     mvf_source_find_obstacle(source)))
        return MVF_OK;
    if (!is_part)
        error = list_entries(source, frame, &listed);
    if (!error)
        status = seek_by_entries(source, is_part ? &source->entries : &listed, frame, &found);
    if (status == MVF_OK && !found) {
        source->is_careful = is_part || was_careful;
        status = mvf_source_restart(source);
    }
    *next = source->report.frames;
    mvf_entries_free(&listed);
    return status;
}

static mvf_status refuse_part(const mvf_source *source, const char *what)
{
    return mvf_fail(&source->options.logger, MVF_ERROR_DATA,
                    "%s: cannot be extracted in parts, only whole: near frame %" PRId64 " %s",
                    source->name, source->report.frames, what);
}

mvf_status mvf_source_check_part(mvf_source *source, const AVFrame *frame)
{
    const mvf_entries *entries = &source->entries;
    int64_t number = source->report.frames;
    if (!source->is_part)
        return MVF_OK;
    if (!frame)
        return source->next_entry < entries->n
                   ? refuse_part(source, "there are fewer frames than its packets promise")
                   : MVF_OK;
    int is_damaged =
        source->decoder.refused_packets || source->n_read_errors || mvf_is_damaged(frame);
    if (is_damaged && number < source->clean_until)
        return refuse_part(source, "it is damaged, where decoding of this part begins");
    if (source->next_entry == entries->n || entries->entries[source->next_entry].frame != number)
        return MVF_OK;
    const mvf_entry *entry = &entries->entries[source->next_entry++];
    return entry->packet == 0 || frame->pts == entry->pts
               ? MVF_OK
               : refuse_part(source, "there are not the frames that its packets promise");
}

static mvf_status refuse_input(const mvf_source *source)
{
    return mvf_fail(&source->options.logger, MVF_ERROR_UNSUPPORTED,
                    "%s: cannot be cut into parts: that needs a file, for it is read twice",
                    source->name);
}

/* The first frame whose field belongs after cut number `cut` of `count`. */
static int64_t cut_frame(const mvf_source *source, int32_t cut, int32_t count)
{
    const mvf_entries *entries = &source->entries;
    int64_t target = av_rescale(entries->n_packets, cut, count);
    int64_t before = target, after = entries->n_packets - target;
    if (cut == 0)
        return 0;
    if (cut == count)
        return MVF_SHARD_END;
    if (entries->n > 1) {
        const mvf_entry *entry = &entries->entries[mvf_entries_nearest(entries, target)];
        /* The key frame's own field belongs to the part before, which has its reference. */
        if (entry->packet && llabs(entry->packet - target) <= after)
            return entry->frame + 1;
    }
    return before <= after ? 0 : MVF_SHARD_END;
}

mvf_status mvf_source_identify(const mvf_source *source, uint8_t id[16])
{
    struct stat status;
    if (!can_seek(source))
        return refuse_input(source);
    uint8_t *bytes = malloc(2 * ID_BYTES + sizeof(int64_t));
    if (!bytes)
        return MVF_ERROR_MEMORY;
    int failed = fstat(source->input.fd, &status);
    int64_t n_file = failed ? 0 : status.st_size, n = n_file < ID_BYTES ? n_file : ID_BYTES;
    failed = failed || pread(source->input.fd, bytes, (size_t)n, 0) != n ||
             pread(source->input.fd, bytes + n, (size_t)n, (off_t)(n_file - n)) != n;
    for (int i = 0; i < 8; i++)
        bytes[2 * n + i] = (uint8_t)(n_file >> 8 * i);
    if (!failed)
        av_md5_sum(id, bytes, (size_t)(2 * n + 8));
    free(bytes);
    return failed
               ? mvf_fail(&source->options.logger, MVF_ERROR_IO, "%s: cannot be read", source->name)
               : MVF_OK;
}

static void tell_part(const mvf_source *source, const mvf_shard *shard)
{
    const char *why = source->entries.obstacle ? source->entries.obstacle
                                               : "there is no other place where decoding can start";
    if (shard->first == 0 && shard->end == MVF_SHARD_END && shard->count > 1)
        mvf_log(&source->options.logger, MVF_LOG_INFO, "%s: shard %d/%d is all of it: %s",
                source->name, shard->index, shard->count, why);
    else if (shard->first == shard->end)
        mvf_log(&source->options.logger, MVF_LOG_INFO,
                "%s: shard %d/%d is empty: there are too few places to cut the file at",
                source->name, shard->index, shard->count);
}

mvf_status mvf_source_cut(mvf_source *source, int32_t index, int32_t count, mvf_shard *shard)
{
    const mvf_logger *logger = &source->options.logger;
    *shard = (mvf_shard){.index = index, .count = count};
    if (count < 1 || index < 0 || index >= count)
        return mvf_fail(logger, MVF_ERROR_ARGUMENT, "shard %d/%d: must be from 0 to %d", index,
                        count, count - 1);
    if (!mvf_source_can_read_twice(source))
        return refuse_input(source);
    MVF_TRY(mvf_source_identify(source, shard->input));
    mvf_entries_free(&source->entries);
    int error = list_entries(source, INT64_MAX, &source->entries);
    if (error < 0 && error != AVERROR_EOF)
        return mvf_status_from_av(error);
    mvf_source_reset(source, 0);
    source->is_part = 1;
    shard->first = cut_frame(source, index, count);
    shard->end = cut_frame(source, index + 1, count);
    tell_part(source, shard);
    return MVF_OK;
}
