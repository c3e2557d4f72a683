/*
 * video/entries.h - where in a stream decoding can begin, exactly, and the number of the frame that
 * comes out there. All of it is told from the packets; nothing is decoded.
 *
 * An entry is a key packet from which on every frame that is shown at or after it has the same
 * samples as in a run from the start. Frames that are decoded after it but shown before it (of an
 * open group of pictures) belong to the part before.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_VIDEO_ENTRIES_H
#define MVF_VIDEO_ENTRIES_H

#include <libavcodec/avcodec.h>

/* key_packet.c: what a packet begins with. */

typedef struct mvf_packet_start {
    /* Whether frames shown at or after this one need nothing that came before, apart from headers.
     */
    int is_exact;
    /* Whether it begins with an IDR picture of H.264, at which decoders forget all that was before.
     */
    int is_idr;
    /* Whether a frame comes out of it that is shown. */
    int is_shown;
    /* A digest of the parameter sets or sequence headers before its first picture; 0 without any.
     */
    uint64_t headers;
} mvf_packet_start;

/* Why frames of this codec cannot be numbered by packets, or NULL. */
const char *mvf_packet_numbers_obstacle(const AVCodecParameters *codec);

mvf_packet_start mvf_packet_start_parse(const AVCodecParameters *codec, const AVPacket *packet);

/* entries.c */

typedef struct mvf_entry {
    /* Ordinal of the packet in decoding order, and of its frame among those shown, from 0. */
    int64_t packet, frame;
    int64_t pts, dts, pos;
    int32_t n_bytes;
    int is_idr;
    /* How many shown frames have their packets before it. */
    size_t n_times_before;
} mvf_entry;

typedef struct mvf_entries {
    const AVCodecParameters *codec;
    /* In the order of the stream; the first one is its first packet. */
    mvf_entry *entries;
    size_t n, capacity;
    /* The times of the frames that are shown, in the order of their packets. */
    int64_t *times;
    size_t n_times, times_capacity;
    /* Of the packets so far, and of the frames that are shown. */
    int64_t n_packets, n_frames;
    /* Why there is no further entry, or none at all; NULL. */
    const char *obstacle;
    /* The last entry, as long as it is not known which frames are shown before it. */
    mvf_entry pending;
    int has_pending;
    int64_t latest_pts;
    uint64_t headers;
} mvf_entries;

/* With an `obstacle`, packets are only counted. */
void mvf_entries_init(mvf_entries *entries, const AVCodecParameters *codec, const char *obstacle);

/* Takes in the next packet of the stream; 0 or AVERROR(ENOMEM). */
int mvf_entries_add(mvf_entries *entries, const AVPacket *packet);

/* Nothing can be told about what follows, because of `obstacle`. */
void mvf_entries_stop(mvf_entries *entries, const char *obstacle);

/* After the last packet; 0 or AVERROR(ENOMEM). */
int mvf_entries_end(mvf_entries *entries);

/* The last entry at or before the frame, or NULL. */
const mvf_entry *mvf_entries_before(const mvf_entries *entries, int64_t frame);

/* The number of the entry nearest to the packet, the earlier of two equally near; there is one. */
size_t mvf_entries_nearest(const mvf_entries *entries, int64_t packet);

/* The times of the frames from the entry's on, in order; the caller frees them. NULL where two are
 * equal or memory runs out. */
int64_t *mvf_entries_times(const mvf_entries *entries, const mvf_entry *entry, size_t *n);

/* Lets go of the entries and times so far, which cannot be asked for any more; numbers go on. */
void mvf_entries_forget(mvf_entries *entries);

void mvf_entries_free(mvf_entries *entries);

#endif
