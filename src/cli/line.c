/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/line.h"

#include <stdlib.h>
#include <string.h>

#include "cli/hints.h"
#include "cli/message.h"
#include "cli/run.h"

/* A frame on its way, with its luma described. */
struct line_frame {
    mvf_frame *frame;
    mvf_picture picture;
    int32_t width, height, bit_depth;
    struct line_frame *next;
};

int line_engines_init(line_engines *engines)
{
    *engines = (line_engines){.is_cpu = 0};
    return pthread_mutex_init(&engines->mutex, NULL);
}

void line_engines_destroy(line_engines *engines)
{
    pthread_mutex_destroy(&engines->mutex);
}

static void free_frame(line_frame *frame)
{
    if (frame)
        mvf_frame_free(&frame->frame);
    free(frame);
}

static mvf_status read_frame(line *l, line_frame **out)
{
    *out = NULL;
    int64_t start = timing_now();
    line_frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        return MVF_ERROR_MEMORY;
    mvf_status status = l->frames->read(l->frames->opaque, &frame->frame);
    if (status == MVF_OK)
        status = mvf_frame_get_picture(frame->frame, &frame->picture, &frame->width, &frame->height,
                                       &frame->bit_depth);
    timing_add(&l->spent, TIMING_DECODE, start);
    if (status != MVF_OK) {
        free_frame(frame);
        return status;
    }
    *out = frame;
    return MVF_OK;
}

/* A pair is searched only where both frames have the same size and depth. */
static int fit_together(const line_frame *a, const line_frame *b)
{
    return a && b && a->width == b->width && a->height == b->height && a->bit_depth == b->bit_depth;
}

static line_frame *take_oldest(line *l)
{
    line_frame *frame = l->oldest;
    l->oldest = frame->next;
    if (!l->oldest)
        l->end = &l->oldest;
    return frame;
}

static mvf_status hand_on(line *l, mvf_frame *frame, mvf_field **field)
{
    mvf_status status = run_finish_field(l->options, *field);
    int64_t start = timing_now();
    if (status == MVF_OK)
        status = l->consume(l->opaque, frame, field);
    timing_add(&l->spent, TIMING_WRITE, start);
    return status;
}

/* Hands on the fields that are ready; once flushed, all of them. */
static mvf_status deliver(line *l)
{
    for (;;) {
        mvf_field *field;
        int64_t start = timing_now();
        mvf_status status = mvf_searcher_receive(l->searcher, &field);
        timing_add(&l->spent, TIMING_SEARCH, start);
        if (status != MVF_OK)
            return status == MVF_AGAIN || status == MVF_EOF ? MVF_OK : status;
        line_frame *frame = take_oldest(l);
        if (mvf_frame_is_damaged(frame->frame))
            field->flags |= MVF_FIELD_DAMAGED;
        if (mvf_frame_is_key(frame->frame))
            field->flags |= MVF_FIELD_KEY;
        status = hand_on(l, frame->frame, &field);
        mvf_field_free(&field);
        free_frame(frame);
        if (status != MVF_OK)
            return status;
    }
}

static mvf_status drain(line *l)
{
    if (!l->searcher)
        return MVF_OK;
    mvf_searcher_flush(l->searcher);
    return deliver(l);
}

/* One line says that the CPU took over; frames of another size, and other lines, need no second
 * one. */
static mvf_status open_searcher(line *l)
{
    pthread_mutex_lock(&l->engines->mutex);
    if (l->search.backend == MVF_BACKEND_AUTO && l->engines->is_cpu)
        l->search.backend = MVF_BACKEND_CPU;
    mvf_status status =
        mvf_searcher_open(&l->searcher, &l->search, l->width, l->height, l->bit_depth);
    if (status == MVF_OK && !strcmp(mvf_searcher_backend(l->searcher), "cpu")) {
        l->engines->is_cpu |= l->search.backend == MVF_BACKEND_AUTO;
        l->search.backend = MVF_BACKEND_CPU;
    }
    pthread_mutex_unlock(&l->engines->mutex);
    return status;
}

static mvf_status fit_searcher(line *l, const line_frame *frame)
{
    if (l->searcher && l->width == frame->width && l->height == frame->height &&
        l->bit_depth == frame->bit_depth)
        return MVF_OK;
    mvf_status status = drain(l);
    if (status != MVF_OK)
        return status;
    mvf_searcher_close(&l->searcher);
    l->width = frame->width;
    l->height = frame->height;
    l->bit_depth = frame->bit_depth;
    int64_t start = timing_now();
    status = open_searcher(l);
    timing_add(&l->spent, TIMING_START, start);
    return status;
}

/* A second owner of the frame's samples, which waits for its field. */
static line_frame *share_frame(const line_frame *frame)
{
    line_frame *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *frame;
    copy->next = NULL;
    copy->frame = mvf_frame_ref(frame->frame);
    if (!copy->frame) {
        free(copy);
        return NULL;
    }
    return copy;
}

/* Submits the current frame, with the codec's vectors as hints where the method wants them. */
static mvf_status submit_pair(line *l, const mvf_picture *references, size_t n_references)
{
    const line_frame *current = l->current;
    mvf_logger logger = message_logger();
    mvf_vector *hints = NULL;
    mvf_guides guides;
    mvf_guides_init(&guides);
    mvf_status status = MVF_OK;
    if (l->options->search.method == MVF_METHOD_REFINE)
        status = hints_from_codec(&guides, &hints, l->searcher, current->frame,
                                  current->picture.frame, references, n_references, &logger);
    while (status == MVF_OK) {
        int64_t start = timing_now();
        status = mvf_searcher_submit_guided(l->searcher, &current->picture, references,
                                            n_references, &guides, NULL);
        timing_add(&l->spent, TIMING_TRANSFER, start);
        if (status != MVF_AGAIN)
            break;
        status = deliver(l);
    }
    free(hints);
    return status;
}

static mvf_status submit(line *l, const line_frame *next)
{
    mvf_picture references[2];
    size_t n_references = 0;
    const line_frame *current = l->current;
    if (l->options->reference & REFERENCE_PREVIOUS && fit_together(l->previous, current))
        references[n_references++] = l->previous->picture;
    if (l->options->reference & REFERENCE_NEXT && fit_together(next, current))
        references[n_references++] = next->picture;
    mvf_status status = fit_searcher(l, current);
    if (status != MVF_OK)
        return status;
    line_frame *waiting = share_frame(current);
    if (!waiting)
        return MVF_ERROR_MEMORY;
    status = submit_pair(l, references, n_references);
    if (status == MVF_OK)
        status = l->options->looks_at_frames ? mvf_frame_download(waiting->frame)
                                             : mvf_frame_drop_samples(waiting->frame);
    if (status != MVF_OK) {
        free_frame(waiting);
        return status;
    }
    *l->end = waiting;
    l->end = &waiting->next;
    return l->is_live ? drain(l) : deliver(l);
}

static void shift_frames(line *l, line_frame *next)
{
    free_frame(l->previous);
    l->previous = l->current;
    l->current = next;
}

static int is_wanted(const line *l, int64_t frame)
{
    return frame >= l->frames->first && frame < l->frames->end && run_is_wanted(l->options, frame);
}

static mvf_status submit_wanted(line *l, const line_frame *next)
{
    return l->current && is_wanted(l, l->current->picture.frame) ? submit(l, next) : MVF_OK;
}

/* Moves on by one frame; `next` may be NULL at the end. Takes ownership of `next`. A frame waits
 * for the next one only where that is its reference. */
static mvf_status advance(line *l, line_frame *next)
{
    if (!(l->options->reference & REFERENCE_NEXT)) {
        shift_frames(l, next);
        return submit_wanted(l, NULL);
    }
    mvf_status status = submit_wanted(l, next);
    shift_frames(l, next);
    return status;
}

static mvf_status search_all(line *l)
{
    for (int64_t index = l->frames->start, end = l->frames->end;; index++) {
        line_frame *next = NULL;
        /* The frame after the last wanted one serves as its reference only if asked for. */
        if (index > end || (index == end && !(l->options->reference & REFERENCE_NEXT)))
            return advance(l, NULL);
        mvf_status status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : MVF_OK;
        if (status == MVF_OK)
            status = read_frame(l, &next);
        if (status == MVF_OK || status == MVF_EOF || status == MVF_ERROR_INTERRUPTED) {
            mvf_status advanced = advance(l, next);
            if (advanced != MVF_OK)
                return advanced;
        }
        if (status != MVF_OK)
            return status == MVF_EOF ? MVF_OK : status;
    }
}

static mvf_status search(line *l)
{
    mvf_status status = search_all(l);
    /* What was submitted before a signal still belongs to the output. */
    if (status == MVF_OK || status == MVF_ERROR_INTERRUPTED) {
        mvf_status drained = drain(l);
        status = drained == MVF_OK ? status : drained;
    }
    shift_frames(l, NULL);
    shift_frames(l, NULL);
    if (status != MVF_OK)
        line_reset(l);
    return status;
}

static mvf_status take_codec_field(line *l, mvf_frame *frame)
{
    mvf_field *field;
    mvf_logger logger = message_logger();
    mvf_status status = mvf_frame_get_codec_field(frame, &field, &logger);
    if (status == MVF_OK)
        status = hand_on(l, frame, &field);
    mvf_field_free(&field);
    return status;
}

static mvf_status take_codec_fields(line *l)
{
    mvf_status status = MVF_OK;
    for (int64_t index = l->frames->start; index < l->frames->end && status == MVF_OK; index++) {
        mvf_frame *frame = NULL;
        int64_t start = timing_now();
        status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED
                                       : l->frames->read(l->frames->opaque, &frame);
        timing_add(&l->spent, TIMING_DECODE, start);
        if (status == MVF_OK && is_wanted(l, index))
            status = take_codec_field(l, frame);
        mvf_frame_free(&frame);
    }
    return status == MVF_EOF ? MVF_OK : status;
}

void line_init(line *l, const cli_options *options, line_engines *engines, line_consumer consume,
               void *opaque)
{
    *l = (line){.options = options,
                .search = options->search,
                .engines = engines,
                .consume = consume,
                .opaque = opaque};
    l->end = &l->oldest;
}

mvf_status line_run(line *l, const line_frames *frames)
{
    l->frames = frames;
    return l->options->vectors == VECTORS_CODEC ? take_codec_fields(l) : search(l);
}

void line_reset(line *l)
{
    mvf_searcher_close(&l->searcher);
    while (l->oldest)
        free_frame(take_oldest(l));
}
