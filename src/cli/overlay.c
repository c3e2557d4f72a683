/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/overlay.h"
#include "cli/run.h"

/* What the colour wheel shows of codec vectors, whose range nobody knows before the end. */
#define CODEC_MAX_MOTION_PX 32

static int is_codec(const char *against)
{
    return against && !strcmp(against, "codec");
}

static int is_search(const char *against)
{
    return against && !strcmp(against, "search");
}

/* The field of the frame in the file, or NULL where there is none. */
static mvf_status read_against(overlay_run *run, int64_t frame, mvf_field **field)
{
    *field = NULL;
    if (mvf_reader_seek(run->reader, frame) != MVF_OK)
        return MVF_OK;
    mvf_status status = mvf_reader_next(run->reader, field);
    if (status == MVF_ERROR_DATA)
        message_forget_errors();
    return status == MVF_EOF || status == MVF_ERROR_DATA ? MVF_OK : status;
}

static mvf_status draw_field(void *opaque, mvf_frame *frame, const mvf_field *field)
{
    overlay_run *run = opaque;
    mvf_field *other = NULL;
    mvf_logger logger = message_logger();
    mvf_status status = MVF_OK;
    if (run->with_codec)
        status = mvf_frame_get_codec_field(frame, &other, &logger);
    else if (run->reader)
        status = read_against(run, field->frame, &other);
    const mvf_field *first = run->is_swapped ? other : field;
    const mvf_field *second = run->is_swapped ? field : other;
    if (status == MVF_OK)
        status = mvf_overlay_write(run->overlay, frame, first, second);
    run->has_frames |= status == MVF_OK;
    if (status == MVF_OK && run->watch)
        run->watch(run->watch_opaque, frame, first);
    mvf_field_free(&other);
    return status;
}

static mvf_status note_motion(void *opaque, mvf_frame *frame, const mvf_field *field)
{
    double *most = opaque;
    mvf_field_statistics statistics;
    (void)frame;
    mvf_field_measure(field, &statistics);
    *most = statistics.max_length_px > *most ? statistics.max_length_px : *most;
    return MVF_OK;
}

/* The first of two passes: the largest motion of the clip. */
static mvf_status measure_motion(const cli_options *options, double *most_px)
{
    mvf_source *source = NULL;
    *most_px = 0;
    mvf_status status = run_open_source(&source, options, 0);
    if (status == MVF_OK)
        status = run_fields(source, options, note_motion, most_px);
    mvf_source_close(&source);
    if (status == MVF_OK)
        message_print(MVF_LOG_INFO, "the largest motion is %.2f px", *most_px);
    *most_px = *most_px > 0.25 ? *most_px : 0.25;
    return status;
}

static mvf_status choose_max_motion(const cli_options *options, double *max_motion_px)
{
    int32_t x = options->search.range_x, y = options->search.range_y;
    if (options->measure_motion)
        return measure_motion(options, max_motion_px);
    if (*max_motion_px > 0)
        return MVF_OK;
    *max_motion_px = options->vectors == VECTORS_CODEC ? CODEC_MAX_MOTION_PX : x > y ? x : y;
    *max_motion_px = *max_motion_px > 0 ? *max_motion_px : 1;
    return MVF_OK;
}

static mvf_status open_against(overlay_run *run, const cli_options *options)
{
    mvf_logger logger = message_logger();
    const char *against = options->against;
    run->is_swapped = is_search(against);
    run->with_codec = is_codec(against) || is_search(against);
    if (!against || run->with_codec)
        return MVF_OK;
    return mvf_reader_open(&run->reader, against, &logger);
}

mvf_status overlay_open(overlay_run *run, const cli_options *options)
{
    mvf_overlay_options overlay_options = options->overlay;
    overlay_options.overwrite = options->overwrite;
    overlay_options.threads = options->search.threads;
    overlay_options.logger = message_logger();
    run->options = *options;
    /* With both kinds of vectors, the search drives and the codec's come along. */
    if (is_search(options->against))
        run->options.vectors = VECTORS_SEARCH;
    /* Without drawing and plots, nobody looks at the fields: that of the codec costs nothing when
     * the decoder was not asked for vectors. */
    if (!options->overlay.draw && !run->watch)
        run->options.vectors = VECTORS_CODEC;
    mvf_status status = run_spare_input(options->input, options->output);
    if (status == MVF_OK)
        status = choose_max_motion(options, &overlay_options.max_motion_px);
    if (status == MVF_OK)
        status = run_open_source(&run->source, options, 1);
    if (status == MVF_OK)
        status = open_against(run, options);
    if (status == MVF_OK)
        status = mvf_overlay_open(&run->overlay, options->output, run->source, &overlay_options);
    return status;
}

mvf_status overlay_draw(overlay_run *run)
{
    return run_fields(run->source, &run->options, draw_field, run);
}

int overlay_finish(overlay_run *run, mvf_status status)
{
    int interrupted = status == MVF_ERROR_INTERRUPTED && run->has_frames;
    if (status == MVF_OK || interrupted) {
        mvf_status closed = mvf_overlay_close(&run->overlay);
        status = closed == MVF_OK ? status : closed;
        interrupted = status == MVF_ERROR_INTERRUPTED;
    }
    int exit_status = status == MVF_OK || interrupted
                          ? run_report(run->source, &run->options, status)
                          : message_exit_status(status);
    mvf_overlay_discard(&run->overlay);
    mvf_source_close(&run->source);
    mvf_reader_close(&run->reader);
    return exit_status;
}

static void exec_player(const int ends[2])
{
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    execlp("ffplay", "ffplay", "-loglevel", "error", "-autoexit", "-window_title", "mvfield", "-",
           (char *)NULL);
    execlp("mpv", "mpv", "--really-quiet", "-", (char *)NULL);
    message_print(MVF_LOG_ERROR, "--play: neither ffplay nor mpv is here; write a file with -o, or "
                                 "pipe -o - to your player");
    _exit(127);
}

/* A player that reads what this process writes to standard output. */
static pid_t start_player(void)
{
    int ends[2];
    if (pipe(ends))
        return -1;
    pid_t player = fork();
    if (player == 0)
        exec_player(ends);
    if (player > 0 && dup2(ends[1], STDOUT_FILENO) < 0)
        player = -1;
    close(ends[0]);
    close(ends[1]);
    return player;
}

static int is_player_gone(pid_t player)
{
    int ended = 0;
    close(STDOUT_FILENO);
    return waitpid(player, &ended, 0) < 0 || ended != 0;
}

int command_overlay(const cli_options *options)
{
    overlay_run run = {.source = NULL};
    pid_t player = 0;
    if (!options->play && !strcmp(options->output, "-") && isatty(STDOUT_FILENO)) {
        message_print(MVF_LOG_ERROR, "standard output is a terminal, which shows no video: pipe it "
                                     "into a player, or give --play");
        return EXIT_USAGE;
    }
    if (options->play && (player = start_player()) < 0) {
        message_print(MVF_LOG_ERROR, "--play: the player cannot be started");
        return EXIT_FAILED;
    }
    mvf_status status = overlay_open(&run, options);
    if (status == MVF_OK)
        status = overlay_draw(&run);
    int exit_status = overlay_finish(&run, status);
    if (player && is_player_gone(player) && exit_status == 0)
        exit_status = EXIT_FAILED;
    return exit_status;
}
