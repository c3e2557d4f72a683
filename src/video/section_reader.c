/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* More than a decoder of H.264 holds back. */
#define MOST_PUSHED 17

struct mvf_section_reader {
    mvf_source *source;
    /* The decoder's side of a source: it has no input of its own. */
    mvf_source view;
    int32_t threads;
    mvf_section *section;
    size_t next_packet;
    /* The times of the frames that are on their way, in order; nothing is known of them once
     * `is_unknown`. */
    int64_t *due;
    size_t n_due, due_capacity;
    int is_unknown;
    /* A frame of the section itself has come. */
    int has_begun;
    /* Whether all of the last section has come out of the decoder, and is not followed by a flush;
     * how many pictures are in it, or on their way out, that belong to no section. */
    int is_settled;
    int32_t n_pushed;
    mvf_status ended;
};

/* Takes in that a frame of this time is to come; 0 or AVERROR(ENOMEM). */
static int expect_frame(mvf_section_reader *reader, const mvf_section_packet *packet)
{
    reader->is_unknown |= packet->counts < 0;
    if (!packet->counts || packet->av->pts < reader->section->pts)
        return 0;
    int64_t *due =
        mvf_grow_array(reader->due, &reader->due_capacity, reader->n_due + 1, sizeof *due);
    if (!due)
        return AVERROR(ENOMEM);
    size_t at = reader->n_due++;
    for (; at > 0 && due[at - 1] > packet->av->pts; at--)
        due[at] = due[at - 1];
    due[at] = packet->av->pts;
    reader->due = due;
    return 0;
}

/*
 * A decoder of H.264 gives out its last frames when it is drained, after which it has to be
 * flushed, or when others follow. Where flushing takes long, the section's own IDR picture follows
 * it, again and again, without a time.
 */
static int pushes_out(const mvf_section_reader *reader)
{
    return mvf_source_is_slow_to_flush(&reader->view) && reader->section->is_idr &&
           !reader->section->is_last && reader->n_pushed < MOST_PUSHED;
}

static int push_out(mvf_section_reader *reader, AVPacket *to)
{
    int error = av_packet_ref(to, reader->section->packets[0].av);
    if (error < 0)
        return error;
    to->pts = to->dts = AV_NOPTS_VALUE;
    reader->n_pushed++;
    return 0;
}

static int read_packet(void *context, AVPacket *to)
{
    mvf_section_reader *reader = context;
    mvf_section *section = reader->section;
    mvf_section_packet packet = {.av = NULL};
    int error = 0;
    if (reader->next_packet < section->n) {
        packet = section->packets[reader->next_packet++];
        error = av_packet_ref(to, packet.av);
    } else if (pushes_out(reader)) {
        return push_out(reader, to);
    } else {
        section->has_read_on = section->reads_on;
        error = section->reads_on ? mvf_sections_read(reader->source, &packet) : AVERROR_EOF;
        if (!error)
            av_packet_move_ref(to, packet.av);
        av_packet_free(&packet.av);
        packet.av = to;
    }
    return error ? error : expect_frame(reader, &packet);
}

static int send_packet(void *context, const AVPacket *packet)
{
    mvf_section_reader *reader = context;
    return reader->source->decoder.calls.send(&reader->view, packet);
}

static int receive_frame(void *context, AVFrame *frame)
{
    mvf_section_reader *reader = context;
    return reader->source->decoder.calls.receive(&reader->view, frame);
}

/*
 * What is shown before the section is decoded from references that are not there. With one thread
 * errors in it do no harm to the rest; with more, where each is final, H.264 needs every reference
 * to be marked. A GPU's decoder has one thread, and takes long to open anew.
 */
static int needs_care(const mvf_section_reader *reader)
{
    int is_on_gpu = reader->view.decodes_on_gpu && !reader->view.gpu_refused;
    return reader->threads == 1 || is_on_gpu || reader->view.options.codec_vectors ||
           (reader->section && reader->section->n_leading &&
            reader->view.stream->codecpar->codec_id == AV_CODEC_ID_H264);
}

static mvf_status open_codec(mvf_section_reader *reader)
{
    reader->view.is_careful = needs_care(reader);
    mvf_source_close_decoder(&reader->view);
    return mvf_source_open_codec(&reader->view);
}

static mvf_status open_reader(mvf_section_reader *reader, const mvf_source_options *options)
{
    mvf_source *view = &reader->view, *source = reader->source;
    /* Whoever takes a section changes the logger meanwhile. */
    pthread_mutex_lock(&source->sections.mutex);
    view->options = source->options;
    pthread_mutex_unlock(&source->sections.mutex);
    if (options)
        memcpy(&view->options, options,
               options->struct_size < sizeof *options ? options->struct_size : sizeof *options);
    /* What the frames have to hold is the source's. */
    view->options.codec_vectors = source->options.codec_vectors;
    view->options.max_pixels = source->options.max_pixels;
    view->options.hwaccel = source->options.hwaccel;
    view->whole = source;
    view->gpu_refused = source->gpu_refusal_is_said;
    reader->threads = view->options.threads;
    view->info = source->info;
    view->stream = source->stream;
    view->name = mvf_strdup(source->name);
    view->received = av_frame_alloc();
    view->decoder = (mvf_decoder){.calls = {read_packet, send_packet, receive_frame},
                                  .context = reader,
                                  .packet = av_packet_alloc()};
    view->converter = mvf_luma_converter_alloc(&view->options.logger);
    if (!view->name || !view->received || !view->decoder.packet || !view->converter)
        return MVF_ERROR_MEMORY;
    if (!view->gpu_refused)
        MVF_TRY(mvf_source_open_gpu(view));
    return open_codec(reader);
}

mvf_status mvf_section_reader_open(mvf_section_reader **out, mvf_source *source,
                                   const mvf_source_options *options)
{
    *out = NULL;
    mvf_section_reader *reader = mvf_alloc_array(1, sizeof *reader);
    if (!reader)
        return MVF_ERROR_MEMORY;
    reader->source = source;
    reader->ended = MVF_EOF;
    mvf_status status = open_reader(reader, options);
    if (status != MVF_OK)
        mvf_section_reader_close(&reader);
    *out = reader;
    return status;
}

mvf_status mvf_section_reader_start(mvf_section_reader *reader, mvf_section *section)
{
    mvf_source *view = &reader->view;
    int was_careful = view->is_careful;
    int goes_on = reader->is_settled && section->is_idr;
    reader->section = section;
    reader->is_settled = 0;
    reader->n_due = reader->next_packet = 0;
    reader->is_unknown = reader->has_begun = 0;
    reader->ended = MVF_EOF;
    if (section->has_read_on)
        return MVF_ERROR_UNSUPPORTED;
    mvf_source_reset(view, 0);
    view->report.frames = section->info.first;
    if (!goes_on)
        reader->n_pushed = 0;
    if (needs_care(reader) != was_careful)
        MVF_TRY(open_codec(reader));
    else if (!goes_on)
        avcodec_flush_buffers(view->codec);
    reader->ended = MVF_OK;
    return MVF_OK;
}

/* Whether the frame that was decoded is the one that the packets promise, and whole. */
static int is_promised(mvf_section_reader *reader)
{
    const mvf_source *view = &reader->view;
    const AVFrame *av = view->received;
    if (view->decoder.refused_packets > reader->section->n_leading || mvf_is_damaged(av) ||
        mvf_source_is_too_large(view, av->width, av->height))
        return 0;
    if (reader->is_unknown)
        return 1;
    if (!reader->n_due || reader->due[0] != av->pts)
        return 0;
    memmove(reader->due, reader->due + 1, --reader->n_due * sizeof *reader->due);
    return 1;
}

/* The decoder has no more frames. */
static mvf_status end_section(mvf_section_reader *reader, int error)
{
    if (error != AVERROR_EOF)
        return error == AVERROR(ENOMEM) || error == AVERROR_EXIT ? mvf_status_from_av(error)
                                                                 : MVF_ERROR_DATA;
    if (!reader->section->is_last || !reader->has_begun || (!reader->is_unknown && reader->n_due) ||
        reader->view.decoder.refused_packets > reader->section->n_leading)
        return MVF_ERROR_DATA;
    mvf_sections_note(reader->source, MVF_NO_FRAME);
    return MVF_EOF;
}

/* Whether the frame that was decoded comes before the section's: a picture that pushed out those of
 * the section before, or what is shown before its first one. */
static int is_foreign(mvf_section_reader *reader)
{
    int64_t pts = reader->view.received->pts;
    if (reader->has_begun)
        return 0;
    if (!reader->n_pushed || pts != AV_NOPTS_VALUE)
        return pts < reader->section->pts;
    reader->n_pushed--;
    return 1;
}

static int is_over(const mvf_section_reader *reader)
{
    const mvf_section *section = reader->section;
    return !section->is_last && reader->view.report.frames >= section->info.end + section->n_beyond;
}

static mvf_status next_frame(mvf_section_reader *reader)
{
    mvf_source *view = &reader->view;
    if (is_over(reader))
        return MVF_EOF;
    for (;;) {
        int error = mvf_decoder_next(&view->decoder, view->received);
        if (error < 0)
            return end_section(reader, error);
        if (!is_foreign(reader))
            break;
        av_frame_unref(view->received);
    }
    reader->has_begun = 1;
    return is_promised(reader) ? MVF_OK : MVF_ERROR_DATA;
}

/* After the last frame: takes what the section's packets give beyond it, so that the decoder can go
 * on with another section. */
static void settle(mvf_section_reader *reader)
{
    mvf_source *view = &reader->view;
    int goes_on = pushes_out(reader);
    while (goes_on && (reader->n_due || reader->next_packet < reader->section->n)) {
        goes_on = mvf_decoder_next(&view->decoder, view->received) >= 0 && is_promised(reader);
        av_frame_unref(view->received);
    }
    reader->is_settled = goes_on;
}

mvf_status mvf_section_reader_read(mvf_section_reader *reader, mvf_frame **frame)
{
    *frame = NULL;
    MVF_TRY(reader->ended);
    reader->ended = next_frame(reader);
    if (reader->ended == MVF_ERROR_DATA && reader->view.decodes_on_gpu &&
        mvf_nvdec_finish(reader->view.nvdec) != MVF_OK)
        reader->ended = MVF_ERROR_DEVICE;
    if (reader->ended != MVF_OK) {
        av_frame_unref(reader->view.received);
        return reader->ended;
    }
    int64_t number = reader->view.report.frames;
    MVF_TRY(reader->ended = mvf_source_take_frame(&reader->view, frame));
    mvf_sections_note(reader->source, number);
    if (is_over(reader))
        settle(reader);
    return MVF_OK;
}

void mvf_section_reader_close(mvf_section_reader **slot)
{
    mvf_section_reader *reader = *slot;
    if (!reader)
        return;
    mvf_source *view = &reader->view;
    mvf_source_close_decoder(view);
    mvf_nvdec_close(&view->nvdec);
    av_packet_free(&view->decoder.packet);
    av_frame_free(&view->received);
    av_buffer_unref(&view->converter);
    free(view->name);
    free(reader->due);
    free(reader);
    *slot = NULL;
}
