/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/run.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mvfield/section.h>

#include "cli/line.h"
#include "cli/message.h"

/* The side of frames that are never searched. */
#define TRIAL_PX 64

static atomic_int stop_requested, is_broken_off;

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
    return stop_requested || is_broken_off;
}

void run_break_off(int is_over)
{
    is_broken_off = is_over;
}

static int find_file(const char *path, int standard_stream, struct stat *found)
{
    return (strcmp(path, "-") ? stat(path, found) : fstat(standard_stream, found)) == 0 &&
           S_ISREG(found->st_mode);
}

mvf_status run_spare_input(const char *input, const char *output)
{
    struct stat in, out;
    if (!output)
        return MVF_OK;
    /* The same name may be that of many files, by a pattern. */
    int is_same = (strcmp(input, output) == 0 && strcmp(input, "-")) ||
                  (find_file(input, STDIN_FILENO, &in) && find_file(output, STDOUT_FILENO, &out) &&
                   in.st_dev == out.st_dev && in.st_ino == out.st_ino);
    if (!is_same)
        return MVF_OK;
    message_print(MVF_LOG_ERROR, "%s: is the input, which it would replace: give another output",
                  strcmp(output, "-") ? output : "standard output");
    return MVF_ERROR_EXISTS;
}

void run_source_options(mvf_source_options *source_options, const cli_options *options)
{
    mvf_source_options_init(source_options);
    source_options->stream = options->stream;
    source_options->threads = options->search.threads;
    source_options->codec_vectors = options_want_codec_vectors(options);
    source_options->timeout_ms = options->timeout_ms;
    source_options->max_pixels = options->max_pixels;
    source_options->hwaccel = options->hwaccel;
    source_options->device = options->search.device;
    source_options->interrupt = run_interrupted;
    source_options->logger = message_logger();
}

/* Whether a search would run on a GPU, told by one that is opened. It is kept for as long as the
 * device would otherwise be opened twice. */
static int searches_on_cuda(const cli_options *options, mvf_searcher **trial)
{
    mvf_options search = options->search;
    mvf_device_info device;
    search.logger = (mvf_logger){.callback = NULL};
    if (search.backend == MVF_BACKEND_CPU || options_want_codec_vectors(options) ||
        mvf_device_describe(search.device, &device, NULL) != MVF_OK || !device.usable)
        return 0;
    return mvf_searcher_open(trial, &search, TRIAL_PX, TRIAL_PX, 8) == MVF_OK &&
           !strcmp(mvf_searcher_backend(*trial), "cuda");
}

mvf_status run_open_source(mvf_source **source, const cli_options *options, int keep_other_streams)
{
    mvf_source_options source_options;
    run_source_options(&source_options, options);
    source_options.keep_other_streams = keep_other_streams;
    mvf_searcher *trial = NULL;
    if (options->hwaccel == MVF_HWACCEL_AUTO && !searches_on_cuda(options, &trial))
        source_options.hwaccel = MVF_HWACCEL_NONE;
    mvf_status status = mvf_source_open(source, options->input, &source_options);
    mvf_searcher_close(&trial);
    return status;
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

int run_refers_back(const cli_options *options)
{
    return options->vectors == VECTORS_SEARCH && options->reference & REFERENCE_PREVIOUS;
}

mvf_status run_seek(mvf_source *source, const cli_options *options, int64_t *start)
{
    return mvf_source_seek(source, options->first_frame - run_refers_back(options), start);
}

int run_can_leave_gpu(const mvf_source *source, const cli_options *options)
{
    return options->search.backend != MVF_BACKEND_CUDA &&
           mvf_source_get_info(source)->hwaccel == MVF_HWACCEL_CUDA;
}

int run_leaves_gpu(mvf_source *source, const cli_options *options, mvf_status status, int64_t field)
{
    if (status != MVF_ERROR_DEVICE && status != MVF_ERROR_NO_DEVICE)
        return 0;
    mvf_source_leave_gpu(source);
    message_forget_errors();
    message_print(MVF_LOG_WARNING,
                  "the GPU failed: from frame %" PRId64
                  " on, decoding in software and searching on the CPU",
                  field > options->first_frame ? field : options->first_frame);
    return 1;
}

mvf_status run_read_again(mvf_source *source, const cli_options *options, int64_t field,
                          int64_t *start)
{
    int64_t first = field > options->first_frame ? field : options->first_frame;
    mvf_status status = mvf_source_read_on(source, 0);
    return status == MVF_OK ? mvf_source_seek(source, first - run_refers_back(options), start)
                            : status;
}

int64_t run_expected_frames(const mvf_source *source, const cli_options *options)
{
    int64_t n = mvf_source_get_info(source)->frame_count_hint;
    return n < options->n_frames ? n : options->n_frames;
}

mvf_status run_read(void *source, mvf_frame **frame)
{
    return mvf_source_read(source, frame);
}

typedef struct frame_consumer {
    run_consumer consume;
    void *opaque;
    int64_t n_done;
    /* The first frame that has not been handed on. */
    int64_t next;
} frame_consumer;

static mvf_status consume_field(void *opaque, mvf_frame *frame, mvf_field **field)
{
    frame_consumer *consumer = opaque;
    int64_t next = (*field)->frame + 1;
    mvf_status status = consumer->consume(consumer->opaque, frame, *field);
    if (status != MVF_OK)
        return status;
    consumer->next = next;
    progress_update(++consumer->n_done);
    return MVF_OK;
}

mvf_status run_fields(mvf_source *source, const cli_options *options, run_consumer consume,
                      void *opaque)
{
    line_engines engines;
    line l;
    frame_consumer consumer = {.consume = consume, .opaque = opaque};
    line_frames frames = {.read = run_read, .opaque = source, .end = run_end(options)};
    if (line_engines_init(&engines))
        return MVF_ERROR_MEMORY;
    line_init(&l, options, &engines, consume_field, &consumer);
    l.is_live = mvf_source_get_info(source)->is_live;
    int can_leave_gpu = run_can_leave_gpu(source, options);
    if (can_leave_gpu)
        l.search.logger = message_warning_logger();
    progress_start(options->progress, run_expected_frames(source, options));
    mvf_status status = run_seek(source, options, &frames.start);
    if (status == MVF_OK)
        status = line_run(&l, &frames);
    if (can_leave_gpu && run_leaves_gpu(source, options, status, consumer.next)) {
        l.search.backend = MVF_BACKEND_CPU;
        frames.first = consumer.next;
        status = run_read_again(source, options, frames.first, &frames.start);
        if (status == MVF_OK)
            status = line_run(&l, &frames);
    }
    progress_clear();
    line_reset(&l);
    line_engines_destroy(&engines);
    return status;
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
