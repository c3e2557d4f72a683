/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/named_file.h"
#include "cli/overlay.h"
#include "cli/report_page.h"
#include "cli/scene.h"

#define N_SECTORS 32
#define FULL_TURN 6.283185307179586
#define DATA_MARK "/*DATA*/"
#define VIDEO_MARK "/*VIDEO*/"

typedef struct report_frame {
    int64_t frame;
    double time, mean_px, longest_px, still, cost_px;
    int is_cut;
    char type;
    /* How many vectors, zero ones aside, point into each sector: content to the right first, then
     * clockwise, as watched. */
    uint32_t rose[N_SECTORS];
} report_frame;

typedef struct report_run {
    const cli_options *options;
    overlay_run overlay;
    mvf_source_info info;
    report_frame *frames;
    size_t n_frames, capacity;
    scene_watch scene;
    uint64_t n_vectors, n_still;
    double length_sum, longest_px, step;
    int failed;
    char *page, *video;
} report_run;

static void add_to_rose(report_run *run, const mvf_field *field, uint32_t *rose)
{
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        if (!block->dir || (!block->mv_x && !block->mv_y))
            continue;
        double turn = atan2(block->dir * block->mv_y, block->dir * block->mv_x) / FULL_TURN +
                      run->info.rotation / 360.0;
        rose[(int)lround(N_SECTORS * (turn + 2)) % N_SECTORS]++;
    }
}

static double time_of(const report_run *run, const mvf_field *field)
{
    if (field->pts == MVF_NO_PTS)
        return run->n_frames ? run->frames[run->n_frames - 1].time + run->step : 0;
    return (double)field->pts * field->time_base.num / field->time_base.den;
}

static report_frame *next_frame(report_run *run)
{
    if (run->n_frames == run->capacity) {
        size_t larger = 2 * run->capacity + 256;
        report_frame *moved = realloc(run->frames, larger * sizeof *moved);
        if (!moved)
            return NULL;
        run->frames = moved;
        run->capacity = larger;
    }
    return &run->frames[run->n_frames];
}

static void note_frame(void *opaque, const mvf_frame *video_frame, const mvf_field *field)
{
    report_run *run = opaque;
    report_frame *frame = next_frame(run);
    mvf_field_statistics sums;
    (void)video_frame;
    if (!frame) {
        run->failed = 1;
        return;
    }
    mvf_field_measure(field, &sums);
    *frame = (report_frame){.frame = field->frame,
                            .time = time_of(run, field),
                            .mean_px = sums.mean_length_px,
                            .longest_px = sums.max_length_px,
                            .type = mvf_picture_type_letter(field->type)};
    if (sums.n_vectors) {
        double area = (double)field->width * field->height;
        frame->still = (double)sums.n_still / (double)sums.n_vectors;
        frame->cost_px = (double)sums.cost / (double)sums.area_px;
        frame->is_cut =
            scene_begins(&run->scene, field, frame->cost_px, (double)sums.area_px / area);
    }
    add_to_rose(run, field, frame->rose);
    run->n_vectors += sums.n_vectors;
    run->n_still += sums.n_still;
    run->length_sum += sums.mean_length_px * (double)sums.n_vectors;
    run->longest_px = fmax(run->longest_px, sums.max_length_px);
    run->n_frames++;
}

static char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *format_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)n + 1, format, arguments);
    va_end(arguments);
    return text;
}

/* A word of the command line as a shell takes it. */
static char *quote(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+@%";
    size_t n = 3;
    if (*word && strspn(word, plain) == strlen(word))
        return format_text("%s", word);
    for (const char *at = word; *at; at++)
        n += *at == '\'' ? 4 : 1;
    char *quoted = malloc(n), *to = quoted;
    if (!quoted)
        return NULL;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(to, "'\\'", 3);
            to += 3;
        }
        *to++ = *word;
    }
    memcpy(to, "'", 2);
    return quoted;
}

static char *describe_command(const cli_options *options)
{
    char *line = format_text("mvfield report");
    for (int i = 0; line && i < options->argc; i++) {
        char *word = quote(options->argv[i]);
        char *longer = word ? format_text("%s %s", line, word) : NULL;
        free(word);
        free(line);
        line = longer;
    }
    return line;
}

static void write_summary_row(FILE *file, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void write_summary_row(FILE *file, const char *name, const char *format, ...)
{
    char value[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    fprintf(file, "[\"%s\", ", name);
    json_write_string(file, value);
    fprintf(file, "],\n");
}

static void write_summary(FILE *file, const report_run *run)
{
    uint64_t n = run->n_vectors ? run->n_vectors : 1;
    size_t n_cuts = 0;
    for (size_t i = 0; i < run->n_frames; i++)
        n_cuts += run->frames[i].is_cut != 0;
    write_summary_row(file, "frames", "%zu", run->n_frames);
    write_summary_row(file, "size", "%" PRId32 " x %" PRId32, run->info.width, run->info.height);
    /* FFmpeg names a container by all extensions that it goes by. */
    write_summary_row(file, "video", "%s in %.*s", run->info.codec,
                      (int)strcspn(run->info.container, ","), run->info.container);
    write_summary_row(file, "vectors", "%s, %" PRIu64,
                      run->options->vectors == VECTORS_CODEC ? "the codec's" : "searched",
                      run->n_vectors);
    write_summary_row(file, "mean motion", "%.2f px", run->length_sum / (double)n);
    write_summary_row(file, "largest motion", "%.2f px", run->longest_px);
    write_summary_row(file, "still", "%.1f %%", 100 * (double)run->n_still / (double)n);
    write_summary_row(file, "new scenes", "%zu", n_cuts);
    write_summary_row(file, "made by", "mvfield %s", mvf_version());
}

static void write_frame(FILE *file, const report_frame *frame)
{
    fprintf(file, "[%" PRId64 ",%.6f,%.4f,%.4f,%.4f,%.4f,%d,\"%c\",[", frame->frame, frame->time,
            frame->mean_px, frame->longest_px, frame->still, frame->cost_px, frame->is_cut,
            frame->type);
    for (int i = 0; i < N_SECTORS; i++)
        fprintf(file, "%s%" PRIu32, i ? "," : "", frame->rose[i]);
    fprintf(file, "]],\n");
}

static void write_data(FILE *file, const report_run *run, const char *command)
{
    const char *slash = strrchr(run->options->input, '/');
    fprintf(file, "{\"input\": ");
    json_write_string(file, slash && slash[1] ? slash + 1 : run->options->input);
    fprintf(file, ", \"command\": ");
    json_write_string(file, command);
    fprintf(file, ", \"sectors\": %d, \"rotation\": %d, \"step\": %.6f,\n\"summary\": [\n",
            N_SECTORS, run->info.rotation, run->step);
    write_summary(file, run);
    fprintf(file, "],\n\"frames\": [\n");
    for (size_t i = 0; i < run->n_frames; i++)
        write_frame(file, &run->frames[i]);
    fprintf(file, "]}");
}

static void write_base64(FILE *file, FILE *from)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t bytes[3];
    size_t n;
    while ((n = fread(bytes, 1, 3, from)) > 0) {
        uint32_t bits = (uint32_t)bytes[0] << 16;
        bits |= n > 1 ? (uint32_t)bytes[1] << 8 : 0;
        bits |= n > 2 ? bytes[2] : 0;
        char group[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                         n > 1 ? digits[bits >> 6 & 63] : '=', n > 2 ? digits[bits & 63] : '='};
        fwrite(group, 1, 4, file);
    }
}

static mvf_status fail_file(const char *name)
{
    message_print(MVF_LOG_ERROR, "%s: %s", name, strerror(errno));
    return MVF_ERROR_IO;
}

static void fill_page(FILE *file, const report_run *run, const char *command, FILE *video)
{
    const char *data = strstr(report_page, DATA_MARK), *place = strstr(report_page, VIDEO_MARK);
    fwrite(report_page, 1, (size_t)(data - report_page), file);
    write_data(file, run, command);
    data += strlen(DATA_MARK);
    fwrite(data, 1, (size_t)(place - data), file);
    write_base64(file, video);
    fputs(place + strlen(VIDEO_MARK), file);
}

static mvf_status write_page(const report_run *run)
{
    named_file page;
    char *command = describe_command(run->options);
    FILE *video = command ? fopen(run->video, "rb") : NULL;
    mvf_status status = command ? MVF_OK : MVF_ERROR_MEMORY;
    if (command && !video)
        status = fail_file(run->video);
    if (status == MVF_OK)
        status = named_file_open(&page, run->page, run->options->overwrite);
    if (status == MVF_OK) {
        fill_page(page.file, run, command, video);
        status = ferror(video) ? fail_file(run->video) : MVF_OK;
        status = named_file_close(&page, status);
    }
    if (video)
        fclose(video);
    free(command);
    return status;
}

/* The folder, which may be there, and the names of what goes into it. */
static mvf_status prepare(report_run *run)
{
    const char *folder = run->options->output;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return fail_file(folder);
    run->page = format_text("%s/index.html", folder);
    run->video = format_text("%s/video.%ld.part.mp4", folder, (long)getpid());
    if (!run->page || !run->video)
        return MVF_ERROR_MEMORY;
    return named_file_check(run->page, run->options->overwrite);
}

static mvf_status draw_video(report_run *run)
{
    cli_options options = *run->options;
    options.output = run->video;
    options.overlay.for_browsers = 1;
    if (!options.overlay.codec)
        options.overlay.codec = "h264";
    mvf_status status = overlay_open(&run->overlay, &options);
    if (status != MVF_OK)
        return status;
    run->info = *mvf_source_get_info(run->overlay.source);
    run->step = run->info.frame_rate.num > 0
                    ? (double)run->info.frame_rate.den / run->info.frame_rate.num
                    : 0.04;
    return overlay_draw(&run->overlay);
}

static void close_report(report_run *run)
{
    if (run->video)
        unlink(run->video);
    free(run->video);
    free(run->page);
    free(run->frames);
}

int command_report(const cli_options *options)
{
    report_run run = {.options = options, .scene = {.usual_cost = -1}};
    run.overlay.watch = note_frame;
    run.overlay.watch_opaque = &run;
    mvf_status status = prepare(&run);
    int exit_status;
    if (status != MVF_OK) {
        exit_status = message_exit_status(status);
    } else {
        status = draw_video(&run);
        if (status == MVF_OK && run.failed)
            status = MVF_ERROR_MEMORY;
        exit_status = overlay_finish(&run.overlay, status);
    }
    int is_drawn = exit_status == EXIT_ALL_FRAMES || exit_status == EXIT_DAMAGED ||
                   exit_status == EXIT_INTERRUPTED;
    if (is_drawn && run.n_frames) {
        mvf_status written = write_page(&run);
        exit_status = written == MVF_OK ? exit_status : message_exit_status(written);
    }
    close_report(&run);
    return exit_status;
}
