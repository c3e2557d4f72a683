/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void mvf_entries_init(mvf_entries *entries, const AVCodecParameters *codec, const char *obstacle)
{
    *entries = (mvf_entries){.codec = codec, .latest_pts = INT64_MIN, .obstacle = obstacle};
}

void mvf_entries_stop(mvf_entries *entries, const char *obstacle)
{
    if (!entries->obstacle)
        entries->obstacle = obstacle;
    entries->has_pending = 0;
}

/* Without any entry, for frames cannot be told from each other at all. */
static void give_up(mvf_entries *entries, const char *obstacle)
{
    mvf_entries_stop(entries, obstacle);
    entries->n = 0;
}

static int add_time(mvf_entries *entries, int64_t pts)
{
    int64_t *times = mvf_grow_array(entries->times, &entries->times_capacity, entries->n_times + 1,
                                    sizeof *times);
    if (!times)
        return AVERROR(ENOMEM);
    entries->times = times;
    entries->times[entries->n_times++] = pts;
    entries->n_frames++;
    return 0;
}

static int settle(mvf_entries *entries)
{
    if (!entries->has_pending)
        return 0;
    entries->has_pending = 0;
    /* The decoder drops leading frames at the very start, or not. */
    if (entries->pending.packet == 0 && entries->pending.frame > 0) {
        give_up(entries, "its first frames need others that are not there");
        return 0;
    }
    mvf_entry *grown =
        mvf_grow_array(entries->entries, &entries->capacity, entries->n + 1, sizeof *grown);
    if (!grown)
        return AVERROR(ENOMEM);
    entries->entries = grown;
    entries->entries[entries->n++] = entries->pending;
    return 0;
}

/* Looks at a packet that is not an entry: is its frame shown before the pending entry's? */
static void note_order(mvf_entries *entries, const AVPacket *packet, int counts)
{
    mvf_entry *pending = &entries->pending;
    if (!entries->has_pending || packet->pts > pending->pts)
        return;
    /* Two frames of one time, or time that goes back: their order is not known. */
    if (packet->pts == pending->pts || packet->flags & AV_PKT_FLAG_KEY)
        entries->has_pending = 0;
    else
        pending->frame += counts;
}

static int add_numbered(mvf_entries *entries, const AVPacket *packet)
{
    mvf_packet_start start = mvf_packet_start_parse(entries->codec, packet);
    int is_first = entries->n_packets == 0, error = 0;
    int counts = start.is_shown && !(packet->flags & AV_PKT_FLAG_DISCARD);
    if (is_first)
        entries->headers = start.headers;
    else if (start.headers && start.headers != entries->headers) {
        error = settle(entries);
        mvf_entries_stop(entries, "its headers change");
    }
    if (is_first && !start.is_exact)
        give_up(entries, "it does not begin with a frame at which decoding can start");
    if (error || entries->obstacle)
        return error;
    /* Headers that have not changed are also those that the container has. */
    int has_headers =
        start.headers == entries->headers || (!start.headers && entries->codec->extradata_size > 0);
    int is_entry = start.is_exact && start.is_shown && has_headers &&
                   packet->pts > entries->latest_pts && (counts || is_first);
    if (is_entry) {
        error = settle(entries);
        entries->has_pending = !error && !entries->obstacle;
        entries->pending = (mvf_entry){.packet = entries->n_packets,
                                       .frame = entries->n_frames,
                                       .pts = packet->pts,
                                       .dts = packet->dts,
                                       .pos = packet->pos,
                                       .n_bytes = packet->size,
                                       .is_idr = start.is_idr,
                                       .n_times_before = entries->n_times};
    } else {
        note_order(entries, packet, counts);
    }
    if (packet->pts > entries->latest_pts)
        entries->latest_pts = packet->pts;
    return !error && counts ? add_time(entries, packet->pts) : error;
}

int mvf_entries_add(mvf_entries *entries, const AVPacket *packet)
{
    int error = 0;
    if (packet->pts == AV_NOPTS_VALUE)
        give_up(entries, "not all of its packets have a time");
    else if (packet->flags & AV_PKT_FLAG_CORRUPT)
        mvf_entries_stop(entries, "a packet is damaged");
    else if (!entries->obstacle)
        error = add_numbered(entries, packet);
    entries->n_packets++;
    return error;
}

int mvf_entries_end(mvf_entries *entries)
{
    return settle(entries);
}

const mvf_entry *mvf_entries_before(const mvf_entries *entries, int64_t frame)
{
    for (size_t i = entries->n; i-- > 0;)
        if (entries->entries[i].frame <= frame)
            return &entries->entries[i];
    return NULL;
}

size_t mvf_entries_nearest(const mvf_entries *entries, int64_t packet)
{
    size_t nearest = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < entries->n; i++) {
        int64_t distance = llabs(entries->entries[i].packet - packet);
        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t *mvf_entries_times(const mvf_entries *entries, const mvf_entry *entry, size_t *n)
{
    size_t first = entry->n_times_before, n_sorted = 0;
    int64_t *times = malloc((entries->n_times - first + 1) * sizeof *times);
    if (!times)
        return NULL;
    for (size_t i = first; i < entries->n_times; i++)
        if (entries->times[i] >= entry->pts)
            times[n_sorted++] = entries->times[i];
    qsort(times, n_sorted, sizeof *times, compare_times);
    for (size_t i = 1; i < n_sorted; i++)
        if (times[i] == times[i - 1]) {
            free(times);
            return NULL;
        }
    *n = n_sorted;
    return times;
}

void mvf_entries_forget(mvf_entries *entries)
{
    entries->n = entries->n_times = 0;
}

void mvf_entries_free(mvf_entries *entries)
{
    free(entries->entries);
    free(entries->times);
    *entries = (mvf_entries){.codec = NULL};
}
