/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/run.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hints.h"
#include "cli/message.h"

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

void run_catch_signals(void)
{
    /* One signal asks for a stop in good order; a second one ends the process at once. */
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A closed pipe and a file that may not grow are errors of writing, which are reported. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int32_t run_processor_count(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

int run_interrupted(void *opaque)
{
    (void)opaque;
    return stop_requested;
}

mvf_status run_open_source(mvf_source **source, const cli_options *options, int keep_other_streams)
{
    mvf_source_options source_options;
    mvf_source_options_init(&source_options);
    source_options.stream = options->stream;
    source_options.threads = options->search.threads;
    source_options.keep_other_streams = keep_other_streams;
    source_options.codec_vectors = options->vectors == VECTORS_CODEC ||
                                   options->search.method == MVF_METHOD_REFINE ||
                                   (options->against && !strcmp(options->against, "codec"));
    source_options.timeout_ms = options->timeout_ms;
    source_options.max_pixels = options->max_pixels;
    source_options.interrupt = run_interrupted;
    source_options.logger = message_logger();
    return mvf_source_open(source, options->input, &source_options);
}

/* A frame in the pipeline, with its luma described. */
typedef struct run_frame {
    mvf_frame *frame;
    mvf_picture picture;
    int32_t width, height, bit_depth;
    struct run_frame *next;
} run_frame;

typedef struct run_state {
    const cli_options *options;
    run_consumer consume;
    void *opaque;
    mvf_options search;
    mvf_searcher *searcher;
    /* What the searcher was opened for. */
    int32_t width, height, bit_depth;
    /* The frames around the one to search next. */
    run_frame *previous, *current;
    /* Each field is handed on before the next frame is waited for. */
    int is_live;
    /* Those of the fields in flight, oldest first: a search that fails does not give its own back.
     */
    run_frame *oldest, **end;
    int64_t n_done;
} run_state;

static void free_frame(run_frame *frame)
{
    if (frame)
        mvf_frame_free(&frame->frame);
    free(frame);
}

static mvf_status read_frame(mvf_source *source, run_frame **out)
{
    *out = NULL;
    run_frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        return MVF_ERROR_MEMORY;
    mvf_status status = mvf_source_read(source, &frame->frame);
    if (status == MVF_OK)
        status = mvf_frame_get_picture(frame->frame, &frame->picture, &frame->width, &frame->height,
                                       &frame->bit_depth);
    if (status != MVF_OK) {
        free_frame(frame);
        return status;
    }
    *out = frame;
    return MVF_OK;
}

/* A pair is searched only where both frames have the same size and depth. */
static int fit_together(const run_frame *a, const run_frame *b)
{
    return a && b && a->width == b->width && a->height == b->height && a->bit_depth == b->bit_depth;
}

mvf_status run_finish_field(const cli_options *options, mvf_field *field)
{
    mvf_status status = MVF_OK;
    for (int32_t dir = -1; options->residual && dir < 2 && status == MVF_OK; dir += 2) {
        mvf_global_motion motion;
        status = mvf_field_estimate_global(field, dir, &motion);
        if (status == MVF_OK)
            mvf_field_subtract_global(field, &motion);
    }
    return status;
}

static run_frame *take_oldest(run_state *state)
{
    run_frame *frame = state->oldest;
    state->oldest = frame->next;
    if (!state->oldest)
        state->end = &state->oldest;
    return frame;
}

/* Hands on the fields that are ready; once flushed, all of them. */
static mvf_status deliver(run_state *state)
{
    mvf_field *field;
    mvf_status status;
    while ((status = mvf_searcher_receive(state->searcher, &field)) == MVF_OK) {
        run_frame *frame = take_oldest(state);
        if (mvf_frame_is_damaged(frame->frame))
            field->flags |= MVF_FIELD_DAMAGED;
        if (mvf_frame_is_key(frame->frame))
            field->flags |= MVF_FIELD_KEY;
        status = run_finish_field(state->options, field);
        if (status == MVF_OK)
            status = state->consume(state->opaque, frame->frame, field);
        mvf_field_free(&field);
        free_frame(frame);
        if (status != MVF_OK)
            return status;
        progress_update(++state->n_done);
    }
    return status == MVF_AGAIN || status == MVF_EOF ? MVF_OK : status;
}

static mvf_status drain(run_state *state)
{
    if (!state->searcher)
        return MVF_OK;
    mvf_searcher_flush(state->searcher);
    return deliver(state);
}

static mvf_status fit_searcher(run_state *state, const run_frame *frame)
{
    if (state->searcher && state->width == frame->width && state->height == frame->height &&
        state->bit_depth == frame->bit_depth)
        return MVF_OK;
    mvf_status status = drain(state);
    if (status != MVF_OK)
        return status;
    mvf_searcher_close(&state->searcher);
    state->width = frame->width;
    state->height = frame->height;
    state->bit_depth = frame->bit_depth;
    status = mvf_searcher_open(&state->searcher, &state->search, frame->width, frame->height,
                               frame->bit_depth);
    /* One line says that the CPU took over; frames of another size need no second one. */
    if (status == MVF_OK && !strcmp(mvf_searcher_backend(state->searcher), "cpu"))
        state->search.backend = MVF_BACKEND_CPU;
    return status;
}

/* A second owner of the frame's samples, which waits for its field. */
static run_frame *share_frame(const run_frame *frame)
{
    run_frame *copy = malloc(sizeof *copy);
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
static mvf_status submit_pair(run_state *state, const mvf_picture *references, size_t n_references)
{
    const run_frame *current = state->current;
    mvf_logger logger = message_logger();
    mvf_vector *hints = NULL;
    mvf_guides guides;
    mvf_guides_init(&guides);
    mvf_status status = MVF_OK;
    if (state->options->search.method == MVF_METHOD_REFINE)
        status = hints_from_codec(&guides, &hints, state->searcher, current->frame,
                                  current->picture.frame, references, n_references, &logger);
    while (status == MVF_OK) {
        status = mvf_searcher_submit_guided(state->searcher, &current->picture, references,
                                            n_references, &guides, NULL);
        if (status != MVF_AGAIN)
            break;
        status = deliver(state);
    }
    free(hints);
    return status;
}

static mvf_status submit(run_state *state, const run_frame *next)
{
    mvf_picture references[2];
    size_t n_references = 0;
    const run_frame *current = state->current;
    if (state->options->reference & REFERENCE_PREVIOUS && fit_together(state->previous, current))
        references[n_references++] = state->previous->picture;
    if (state->options->reference & REFERENCE_NEXT && fit_together(next, current))
        references[n_references++] = next->picture;
    mvf_status status = fit_searcher(state, current);
    if (status != MVF_OK)
        return status;
    run_frame *waiting = share_frame(current);
    if (!waiting)
        return MVF_ERROR_MEMORY;
    status = submit_pair(state, references, n_references);
    if (status != MVF_OK) {
        free_frame(waiting);
        return status;
    }
    *state->end = waiting;
    state->end = &waiting->next;
    return state->is_live ? drain(state) : deliver(state);
}

int64_t run_end(const cli_options *options)
{
    int64_t most = (INT64_MAX - options->first_frame - 1) / options->every;
    int64_t n_after_first = options->n_frames - 1;
    if (n_after_first < 0)
        return options->first_frame;
    return n_after_first > most ? INT64_MAX
                                : options->first_frame + n_after_first * options->every + 1;
}

int run_is_wanted(const cli_options *options, int64_t frame)
{
    return frame >= options->first_frame && frame < run_end(options) &&
           (frame - options->first_frame) % options->every == 0;
}

static void shift_frames(run_state *state, run_frame *next)
{
    free_frame(state->previous);
    state->previous = state->current;
    state->current = next;
}

static mvf_status submit_wanted(run_state *state, const run_frame *next)
{
    int is_wanted = state->current && run_is_wanted(state->options, state->current->picture.frame);
    return is_wanted ? submit(state, next) : MVF_OK;
}

/* Moves on by one frame; `next` may be NULL at the end. Takes ownership of `next`. A frame waits
 * for the next one only where that is its reference. */
static mvf_status advance(run_state *state, run_frame *next)
{
    if (!(state->options->reference & REFERENCE_NEXT)) {
        shift_frames(state, next);
        return submit_wanted(state, NULL);
    }
    mvf_status status = submit_wanted(state, next);
    shift_frames(state, next);
    return status;
}

static mvf_status read_all(mvf_source *source, run_state *state)
{
    const cli_options *options = state->options;
    int64_t end = run_end(options);
    /* The frame before the first wanted one is its reference. */
    int64_t first = options->first_frame - (options->reference & REFERENCE_PREVIOUS ? 1 : 0);
    int64_t start = 0;
    mvf_status sought = mvf_source_seek(source, first, &start);
    if (sought != MVF_OK)
        return sought;
    for (int64_t index = start;; index++) {
        run_frame *next = NULL;
        /* The frame after the last wanted one serves as its reference only if asked for. */
        if (index > end || (index == end && !(options->reference & REFERENCE_NEXT)))
            return advance(state, NULL);
        mvf_status status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : MVF_OK;
        if (status == MVF_OK)
            status = read_frame(source, &next);
        if (status == MVF_OK || status == MVF_EOF || status == MVF_ERROR_INTERRUPTED) {
            mvf_status advanced = advance(state, next);
            if (advanced != MVF_OK)
                return advanced;
        }
        if (status != MVF_OK)
            return status == MVF_EOF ? MVF_OK : status;
    }
}

static int64_t expected_frames(const mvf_source *source, const cli_options *options)
{
    int64_t n = mvf_source_get_info(source)->frame_count_hint;
    return n < options->n_frames ? n : options->n_frames;
}

static mvf_status run_search(mvf_source *source, const cli_options *options, run_consumer consume,
                             void *opaque)
{
    run_state state = {
        .options = options, .consume = consume, .opaque = opaque, .search = options->search};
    state.is_live = mvf_source_get_info(source)->is_live;
    state.end = &state.oldest;
    progress_start(options->progress, expected_frames(source, options));
    mvf_status status = read_all(source, &state);
    /* What was submitted before a signal still belongs to the output. */
    if (status == MVF_OK || status == MVF_ERROR_INTERRUPTED) {
        mvf_status drained = drain(&state);
        status = drained == MVF_OK ? status : drained;
    }
    progress_clear();
    free_frame(state.previous);
    free_frame(state.current);
    mvf_searcher_close(&state.searcher);
    while (state.oldest)
        free_frame(take_oldest(&state));
    return status;
}

static mvf_status take_codec_field(mvf_frame *frame, const cli_options *options,
                                   run_consumer consume, void *opaque)
{
    mvf_field *field;
    mvf_logger logger = message_logger();
    mvf_status status = mvf_frame_get_codec_field(frame, &field, &logger);
    if (status == MVF_OK)
        status = run_finish_field(options, field);
    if (status == MVF_OK)
        status = consume(opaque, frame, field);
    mvf_field_free(&field);
    return status;
}

static mvf_status run_codec(mvf_source *source, const cli_options *options, run_consumer consume,
                            void *opaque)
{
    int64_t start = 0, end = run_end(options);
    progress_start(options->progress, expected_frames(source, options));
    mvf_status status = mvf_source_seek(source, options->first_frame, &start);
    for (int64_t index = start; index < end && status == MVF_OK; index++) {
        mvf_frame *frame = NULL;
        status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : mvf_source_read(source, &frame);
        if (status == MVF_OK && run_is_wanted(options, index))
            status = take_codec_field(frame, options, consume, opaque);
        mvf_frame_free(&frame);
        progress_update(index + 1);
    }
    progress_clear();
    return status == MVF_EOF ? MVF_OK : status;
}

mvf_status run_fields(mvf_source *source, const cli_options *options, run_consumer consume,
                      void *opaque)
{
    return options->vectors == VECTORS_CODEC ? run_codec(source, options, consume, opaque)
                                             : run_search(source, options, consume, opaque);
}

int run_report(const mvf_source *source, const cli_options *options, mvf_status status)
{
    mvf_source_report report;
    mvf_source_get_report(source, &report);
    if (status == MVF_ERROR_INTERRUPTED) {
        message_print(MVF_LOG_ERROR, "interrupted; the output is complete up to there");
        return EXIT_INTERRUPTED;
    }
    if (report.timed_out)
        message_print(MVF_LOG_WARNING,
                      "%s gave nothing for too long (--timeout says for how long it may) and was "
                      "given up; the output holds the %" PRId64 " frames before",
                      options->input, report.frames);
    if (report.damaged_frames || report.refused_packets) {
        message_print(MVF_LOG_WARNING,
                      "%s is damaged: %" PRId64 " of %" PRId64 " frames are marked as damaged and "
                      "%" PRId64 " packets could not be decoded, first near frame %" PRId64
                      "; the output holds all that could be had",
                      options->input, report.damaged_frames, report.frames, report.refused_packets,
                      report.first_damage);
        return EXIT_DAMAGED;
    }
    if (report.truncated) {
        message_print(MVF_LOG_WARNING,
                      "%s ends too early: it promises more than the %" PRId64
                      " frames that are in it; the output holds all of these",
                      options->input, report.frames);
        return EXIT_DAMAGED;
    }
    if (report.timed_out)
        return EXIT_DAMAGED;
    if (options->shard_count)
        return EXIT_ALL_FRAMES;
    if (report.frames <= options->first_frame)
        message_print(MVF_LOG_WARNING, "%s: has %" PRId64 " frames, so none from --start %" PRId64,
                      options->input, report.frames, options->first_frame);
    else if (report.frames == 1 && options->n_frames > 1)
        message_print(MVF_LOG_INFO,
                      "%s: has one frame, and so nothing to search its motion against",
                      options->input);
    return EXIT_ALL_FRAMES;
}
