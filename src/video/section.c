/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A section has at least so many frames, for each costs the decoding of a frame or two more. */
#define LEAST_FRAMES 60
/* The same on a GPU, where pictures that are decoded in vain take as long as others, and where the
 * decoder has to be flushed for it and that takes long. */
#define LEAST_FRAMES_ON_GPU 120
#define LEAST_FRAMES_AFTER_FLUSH 300
/* Shorter ones on a GPU towards the end, so that its decoders end at about the same time: that part
 * of what is left, but not less than so many frames. */
#define PART_OF_REST 14
#define LEAST_FRAMES_AT_END 30
/* Packets that wait; where no cut is found among so many, what follows is one section. */
#define MOST_BYTES (64 << 20)
#define MOST_BEYOND 2

/* FFmpeg's H.264 decoder chooses its format anew after it was flushed, and so makes a new session
 * with NVDEC: some 70 ms on an H200, one session at a time in the whole process. */
int mvf_source_is_slow_to_flush(const mvf_source *source)
{
    return source->decodes_on_gpu && !source->gpu_refused &&
           source->stream->codecpar->codec_id == AV_CODEC_ID_H264;
}

int mvf_sections_init(mvf_sections *sections)
{
    return pthread_mutex_init(&sections->mutex, NULL);
}

static void free_packets(mvf_section_packet *packets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        av_packet_free(&packets[i].av);
}

static void clear(mvf_sections *sections)
{
    free_packets(sections->ahead, sections->n_ahead);
    free(sections->ahead);
    sections->ahead = NULL;
    sections->n_ahead = sections->capacity = 0;
    sections->n_bytes = 0;
    mvf_entries_free(&sections->entries);
}

void mvf_sections_destroy(mvf_sections *sections)
{
    clear(sections);
    pthread_mutex_destroy(&sections->mutex);
}

static const char *find_obstacle(const mvf_source *source)
{
    if (!mvf_source_can_read_twice(source) || source->is_part)
        return "it cannot be read twice";
    if (source->options.codec_vectors &&
        !mvf_codec_exports_vectors(source->stream->codecpar->codec_id))
        return "it is not known whether its decoder exports vectors";
    return mvf_source_find_obstacle(source);
}

/* The first call that fails names the status of all later ones. */
static mvf_status end(mvf_sections *sections, mvf_status status)
{
    sections->ended = status;
    clear(sections);
    return status;
}

static mvf_status refuse(mvf_source *source, const char *why)
{
    mvf_log(&source->options.logger, MVF_LOG_DEBUG, "%s: one decoder reads all of it: %s",
            source->name, why);
    return end(&source->sections, MVF_ERROR_UNSUPPORTED);
}

/* Reads a packet and takes it in as one of the source's entries. */
static int read_packet(mvf_source *source, mvf_section_packet *packet)
{
    mvf_sections *sections = &source->sections;
    mvf_logger logger = source->options.logger;
    int64_t n_frames = sections->entries.n_frames;
    packet->av = av_packet_alloc();
    if (!packet->av)
        return AVERROR(ENOMEM);
    /* What there is to say of damage is said when the source itself is read. */
    source->options.logger = (mvf_logger){.callback = NULL};
    int error = sections->is_at_end ? AVERROR_EOF : source->decoder.calls.read(source, packet->av);
    source->options.logger = logger;
    sections->is_at_end |= error == AVERROR_EOF;
    sections->is_truncated |= source->report.truncated;
    source->report.truncated = 0;
    if (!error && (source->n_read_errors || source->is_marked))
        error = AVERROR_INVALIDDATA;
    if (!error)
        error = mvf_entries_add(&sections->entries, packet->av);
    if (error < 0)
        av_packet_free(&packet->av);
    packet->counts = sections->entries.obstacle ? -1 : (int)(sections->entries.n_frames - n_frames);
    return error;
}

int mvf_sections_read(mvf_source *source, mvf_section_packet *packet)
{
    pthread_mutex_lock(&source->sections.mutex);
    int error = read_packet(source, packet);
    mvf_entries_forget(&source->sections.entries);
    pthread_mutex_unlock(&source->sections.mutex);
    return error;
}

void mvf_sections_note(mvf_source *source, int64_t frame)
{
    pthread_mutex_lock(&source->sections.mutex);
    if (frame == MVF_NO_FRAME)
        source->report.truncated |= source->sections.is_truncated;
    else if (source->report.frames <= frame)
        source->report.frames = frame + 1;
    pthread_mutex_unlock(&source->sections.mutex);
}

static int read_ahead(mvf_source *source)
{
    mvf_sections *sections = &source->sections;
    mvf_section_packet *ahead =
        mvf_grow_array(sections->ahead, &sections->capacity, sections->n_ahead + 1, sizeof *ahead);
    if (!ahead)
        return AVERROR(ENOMEM);
    sections->ahead = ahead;
    int error = read_packet(source, &ahead[sections->n_ahead]);
    if (!error)
        sections->n_bytes += ahead[sections->n_ahead++].av->size;
    return error;
}

/* How many frames the section that begins next has at least where it need not end with a flush. */
static int64_t usual_frames(const mvf_source *source)
{
    int64_t n_frames = source->info.frame_count_hint;
    if (!source->decodes_on_gpu)
        return LEAST_FRAMES;
    int64_t part = (n_frames - source->sections.start.frame) / PART_OF_REST;
    if (n_frames <= 0 || part > LEAST_FRAMES_ON_GPU)
        return LEAST_FRAMES_ON_GPU;
    return part > LEAST_FRAMES_AT_END ? part : LEAST_FRAMES_AT_END;
}

/* Whether one of the entries that were found is far enough from the section's start; the others are
 * forgotten. */
static int find_cut(mvf_source *source, mvf_entry *cut)
{
    mvf_sections *sections = &source->sections;
    mvf_entries *entries = &sections->entries;
    int is_slow_to_flush = mvf_source_is_slow_to_flush(source), found = 0;
    int64_t usual = usual_frames(source);
    for (size_t i = 0; i < entries->n && !found; i++) {
        *cut = entries->entries[i];
        int64_t least = is_slow_to_flush && !cut->is_idr ? LEAST_FRAMES_AFTER_FLUSH : usual;
        if (cut->packet == sections->start.packet)
            sections->start = *cut;
        else
            found = cut->frame - sections->start.frame >= least;
    }
    mvf_entries_forget(entries);
    return found;
}

/* How many of the packets from number `cut` on the frames before that one need, and `n_beyond` of
 * those from it on. */
static size_t count_beyond(const mvf_sections *sections, size_t cut, int32_t n_beyond)
{
    int64_t pts = sections->ahead[cut].av->pts, next_pts = INT64_MAX;
    size_t n = n_beyond > 0, n_to_next = n;
    for (size_t i = cut + 1; i < sections->n_ahead; i++) {
        const mvf_section_packet *packet = &sections->ahead[i];
        if (!packet->counts)
            continue;
        if (packet->av->pts < pts) {
            n = i + 1 - cut;
        } else if (packet->av->pts < next_pts) {
            next_pts = packet->av->pts;
            n_to_next = i + 1 - cut;
        }
    }
    return n_beyond == MOST_BEYOND && n_to_next > n ? n_to_next : n;
}

/* The section of the first `n_own` packets that were read, with room for `n_beyond` more. */
static mvf_section *take_packets(mvf_sections *sections, size_t n_own, size_t n_beyond)
{
    mvf_section *section = mvf_alloc_array(1, sizeof *section);
    mvf_section_packet *packets = mvf_alloc_array(n_own + n_beyond + 1, sizeof *packets);
    if (!section || !packets) {
        free(section);
        free(packets);
        return NULL;
    }
    section->packets = packets;
    section->info = (mvf_section_info){sections->start.frame, MVF_SECTION_OPEN};
    /* At the start of the input nothing is left out, whatever the times. */
    section->pts = sections->start.packet ? sections->start.pts : INT64_MIN;
    section->is_idr = sections->start.is_idr;
    for (size_t i = 0; i < n_own; i++) {
        packets[i] = sections->ahead[i];
        sections->n_bytes -= packets[i].av->size;
        section->n_leading += packets[i].av->pts < section->pts;
    }
    section->n = n_own;
    sections->n_ahead -= n_own;
    if (n_own)
        memmove(sections->ahead, sections->ahead + n_own,
                sections->n_ahead * sizeof *sections->ahead);
    return section;
}

static mvf_section *take_section(mvf_sections *sections, const mvf_entry *cut, int32_t n_beyond)
{
    size_t n_own = (size_t)(cut->packet - sections->start.packet);
    size_t n_more = count_beyond(sections, n_own, n_beyond);
    mvf_section *section = take_packets(sections, n_own, n_more);
    if (!section)
        return NULL;
    section->info.end = cut->frame;
    section->n_beyond = n_beyond;
    for (size_t i = 0; i < n_more; i++) {
        section->packets[section->n].av = av_packet_clone(sections->ahead[i].av);
        section->packets[section->n].counts = sections->ahead[i].counts;
        if (!section->packets[section->n++].av) {
            mvf_section_free(&section);
            return NULL;
        }
    }
    sections->start = *cut;
    return section;
}

/* All that is left. */
static mvf_section *take_rest(mvf_sections *sections)
{
    mvf_section *section = take_packets(sections, sections->n_ahead, 0);
    if (!section)
        return NULL;
    if (sections->is_at_end && !sections->entries.obstacle)
        section->info.end = sections->entries.n_frames;
    section->is_last = 1;
    section->reads_on = !sections->is_at_end;
    sections->ended = MVF_EOF;
    return section;
}

/* Reads until the section that begins with what was read ahead is complete. NULL with *error. */
static mvf_section *read_section(mvf_source *source, int32_t n_beyond, int *error)
{
    mvf_sections *sections = &source->sections;
    mvf_section *section = NULL;
    for (;;) {
        mvf_entry cut;
        if (*error == AVERROR_EOF)
            *error = mvf_entries_end(&sections->entries);
        if (*error)
            return NULL;
        if (find_cut(source, &cut))
            section = take_section(sections, &cut, n_beyond);
        else if (sections->is_at_end || sections->entries.obstacle ||
                 sections->n_bytes > MOST_BYTES)
            section = take_rest(sections);
        else {
            *error = read_ahead(source);
            continue;
        }
        *error = section ? 0 : AVERROR(ENOMEM);
        return section;
    }
}

static mvf_status next_section(mvf_source *source, int64_t frame, int32_t n_beyond,
                               mvf_section **section)
{
    mvf_sections *sections = &source->sections;
    int is_first = !sections->has_begun, error = 0;
    MVF_TRY(sections->ended);
    if (is_first) {
        const char *obstacle = find_obstacle(source);
        sections->has_begun = 1;
        if (obstacle)
            return refuse(source, obstacle);
        mvf_entries_init(&sections->entries, source->stream->codecpar, NULL);
        error = read_ahead(source);
    }
    do {
        mvf_section_free(section);
        *section = read_section(source, n_beyond, &error);
        if (is_first && sections->entries.obstacle && *section && (*section)->is_last) {
            mvf_section_free(section);
            return refuse(source, sections->entries.obstacle);
        }
        if (error)
            return end(sections, mvf_status_from_av(error));
    } while (!(*section)->is_last && (*section)->info.end <= frame);
    return MVF_OK;
}

mvf_status mvf_source_next_section(mvf_source *source, int64_t frame, int32_t n_beyond,
                                   mvf_section **section)
{
    *section = NULL;
    if (n_beyond < 0 || n_beyond > MOST_BEYOND)
        return mvf_fail(&source->options.logger, MVF_ERROR_ARGUMENT,
                        "%d frames beyond a section: must be from 0 to %d", (int)n_beyond,
                        MOST_BEYOND);
    pthread_mutex_lock(&source->sections.mutex);
    mvf_status status = next_section(source, frame, n_beyond, section);
    pthread_mutex_unlock(&source->sections.mutex);
    return status;
}

mvf_status mvf_source_read_on(mvf_source *source, int64_t frame)
{
    mvf_sections *sections = &source->sections;
    int is_untouched = source->ended == MVF_OK && !source->n_packets && !sections->is_at_end;
    clear(sections);
    sections->ended = MVF_ERROR_UNSUPPORTED;
    source->ended = MVF_OK;
    /* Whoever wants that still is asked again. */
    source->interrupted = 0;
    /* What cannot be read twice has not been read at all. */
    if (is_untouched && frame == 0)
        return MVF_OK;
    if (!mvf_source_can_begin_again(source))
        return mvf_fail(&source->options.logger, MVF_ERROR_UNSUPPORTED,
                        "%s: cannot be read once more, for it is no file", source->name);
    source->n_others_to_skip = source->n_others;
    MVF_TRY(mvf_source_restart(source));
    source->n_frames_to_skip = frame;
    return MVF_OK;
}

void mvf_source_leave_gpu(mvf_source *source)
{
    pthread_mutex_lock(&source->sections.mutex);
    source->gpu_refused = 1;
    source->gpu_refusal_is_said = 1;
    pthread_mutex_unlock(&source->sections.mutex);
}

void mvf_section_get_info(const mvf_section *section, mvf_section_info *info)
{
    *info = section->info;
}

void mvf_section_free(mvf_section **slot)
{
    mvf_section *section = *slot;
    if (!section)
        return;
    free_packets(section->packets, section->n);
    free(section->packets);
    free(section);
    *slot = NULL;
}
