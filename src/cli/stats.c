/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/scene.h"

#define N_LENGTHS 9
#define N_DIRECTIONS 8
#define FULL_TURN 6.283185307179586

/* Upper ends of the length classes in px; the first is for vectors that are zero. */
static const double length_ends[N_LENGTHS] = {0, 1, 2, 4, 8, 16, 32, 64, INFINITY};
static const char *const length_names[N_LENGTHS] = {"0",    "0-1",   "1-2",   "2-4",    "4-8",
                                                    "8-16", "16-32", "32-64", "over 64"};
/* The way that content moves, which is against its vector into the past. */
static const char *const direction_names[N_DIRECTIONS] = {
    "right", "down-right", "down", "down-left", "left", "up-left", "up", "up-right"};

typedef struct frame_list {
    int64_t *frames;
    size_t n, capacity;
} frame_list;

typedef struct stats_run {
    const cli_options *options;
    int64_t n_frames, n_fields;
    uint64_t n_vectors, n_still, lengths[N_LENGTHS], directions[N_DIRECTIONS];
    double length_sum, longest, cost, area;
    scene_watch scene;
    double global_x, global_y, global_rotation, global_zoom, global_support;
    frame_list cuts, duplicates;
} stats_run;

/* What one frame's line says. */
typedef struct frame_stats {
    mvf_field_statistics sums;
    mvf_global_motion global;
    double cost_px, coverage;
    int is_cut, is_duplicate;
} frame_stats;

static int append(frame_list *list, int64_t frame)
{
    if (list->n == list->capacity) {
        size_t larger = list->capacity * 2 + 64;
        int64_t *moved = realloc(list->frames, larger * sizeof *moved);
        if (!moved)
            return 0;
        list->frames = moved;
        list->capacity = larger;
    }
    list->frames[list->n++] = frame;
    return 1;
}

static void add_vector(stats_run *run, const mvf_field *field, const mvf_block *block)
{
    double x = (double)block->mv_x / field->mv_scale, y = (double)block->mv_y / field->mv_scale;
    double length = hypot(x, y);
    int class = 0;
    while (length > length_ends[class])
        class ++;
    run->lengths[class]++;
    if (!class)
        return;
    double turn = atan2(block->dir * y, block->dir * x) / FULL_TURN;
    run->directions[(int)lround(N_DIRECTIONS * (turn + 1)) % N_DIRECTIONS]++;
}

static int is_duplicate(const mvf_field *field, const frame_stats *frame)
{
    if (field->flags & MVF_FIELD_DUPLICATE)
        return 1;
    return field->source == MVF_VECTORS_SEARCH && field->n_blocks && !frame->sums.cost &&
           frame->sums.n_still == frame->sums.n_vectors && frame->sums.n_vectors;
}

static mvf_status measure(stats_run *run, const mvf_field *field, frame_stats *frame)
{
    double area = (double)field->width * field->height;
    mvf_field_measure(field, &frame->sums);
    mvf_status status = mvf_field_estimate_global(field, 0, &frame->global);
    if (frame->sums.area_px)
        frame->cost_px = (double)frame->sums.cost / (double)frame->sums.area_px;
    frame->coverage = area > 0 ? (double)frame->sums.area_px / area : 0;
    frame->is_cut = scene_begins(&run->scene, field, frame->cost_px, frame->coverage);
    frame->is_duplicate = is_duplicate(field, frame);
    return status;
}

static void add_field(stats_run *run, const mvf_field *field, const frame_stats *frame)
{
    run->n_fields++;
    run->n_vectors += frame->sums.n_vectors;
    run->n_still += frame->sums.n_still;
    run->length_sum += frame->sums.mean_length_px * (double)frame->sums.n_vectors;
    run->longest = fmax(run->longest, frame->sums.max_length_px);
    run->cost += (double)frame->sums.cost;
    run->area += (double)frame->sums.area_px;
    run->global_x += frame->global.x;
    run->global_y += frame->global.y;
    run->global_rotation += frame->global.rotation_degrees;
    run->global_zoom += frame->global.zoom;
    run->global_support += frame->global.support;
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir)
            add_vector(run, field, &field->blocks[i]);
}

static void print_frame(const stats_run *run, const mvf_field *field, const frame_stats *frame)
{
    uint64_t n = frame->sums.n_vectors ? frame->sums.n_vectors : 1;
    int is_first = run->n_frames == 1;
    if (!run->options->json) {
        printf("%s%" PRId64 ",%" PRIu64 ",%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.6f,%.4f,%.4f,%d,%d\n",
               is_first ? "frame,vectors,mean_length,max_length,still,global_x,global_y,"
                          "global_rotation,global_zoom,global_support,cost_px,cut,duplicate\n"
                        : "",
               field->frame, frame->sums.n_vectors, frame->sums.mean_length_px,
               frame->sums.max_length_px, (double)frame->sums.n_still / (double)n, frame->global.x,
               frame->global.y, frame->global.rotation_degrees, frame->global.zoom,
               frame->global.support, frame->cost_px, frame->is_cut, frame->is_duplicate);
        return;
    }
    printf("%s\n    {\"frame\": %" PRId64 ", \"vectors\": %" PRIu64
           ", \"mean_length\": %.4f, \"max_length\": %.4f, \"still\": %.4f, \"global\": [%.4f, "
           "%.4f], \"global_rotation\": %.4f, \"global_zoom\": %.6f, \"global_support\": %.4f, "
           "\"cost_px\": %.4f, \"cut\": %s, \"duplicate\": %s}",
           is_first ? "" : ",", field->frame, frame->sums.n_vectors, frame->sums.mean_length_px,
           frame->sums.max_length_px, (double)frame->sums.n_still / (double)n, frame->global.x,
           frame->global.y, frame->global.rotation_degrees, frame->global.zoom,
           frame->global.support, frame->cost_px, frame->is_cut ? "true" : "false",
           frame->is_duplicate ? "true" : "false");
}

static mvf_status take_field(void *opaque, mvf_frame *video_frame, const mvf_field *field)
{
    stats_run *run = opaque;
    frame_stats frame = {.global = {.zoom = 1}};
    (void)video_frame;
    run->n_frames++;
    if (field->n_blocks || (field->source == MVF_VECTORS_CODEC && field->type != MVF_PICTURE_I)) {
        mvf_status status = measure(run, field, &frame);
        if (status != MVF_OK)
            return status;
        if ((frame.is_cut && !append(&run->cuts, field->frame)) ||
            (frame.is_duplicate && !append(&run->duplicates, field->frame)))
            return MVF_ERROR_MEMORY;
        add_field(run, field, &frame);
    }
    if (run->options->per_frame)
        print_frame(run, field, &frame);
    return MVF_OK;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double mean(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

static void print_list_json(const char *key, const frame_list *list)
{
    printf(",\n \"%s\": [", key);
    for (size_t i = 0; i < list->n; i++)
        printf("%s%" PRId64, i ? ", " : "", list->frames[i]);
    printf("]");
}

static void print_shares_json(const char *key, const char *const *names, const uint64_t *counts,
                              int n)
{
    printf(",\n \"%s\": {", key);
    for (int i = 0; i < n; i++)
        printf("%s\"%s\": %" PRIu64, i ? ", " : "", names[i], counts[i]);
    printf("}");
}

static void print_json(const stats_run *run)
{
    double n = (double)run->n_fields;
    printf(run->options->per_frame ? "],\n " : "{");
    printf("\"input\": ");
    json_print_string(run->options->input);
    printf(", \"frames\": %" PRId64 ", \"fields\": %" PRId64 ", \"vectors\": %" PRIu64
           ",\n \"mean_length\": %.6f, \"max_length\": %.6f, \"still\": %.6f, \"cost_px\": %.6f",
           run->n_frames, run->n_fields, run->n_vectors,
           mean(run->length_sum, (double)run->n_vectors), run->longest,
           share(run->n_still, run->n_vectors), mean(run->cost, run->area));
    printf(",\n \"global\": [%.6f, %.6f], \"global_rotation\": %.6f, \"global_zoom\": %.6f, "
           "\"global_support\": %.6f",
           mean(run->global_x, n), mean(run->global_y, n), mean(run->global_rotation, n),
           n > 0 ? run->global_zoom / n : 1, mean(run->global_support, n));
    print_shares_json("lengths", length_names, run->lengths, N_LENGTHS);
    print_shares_json("directions", direction_names, run->directions, N_DIRECTIONS);
    print_list_json("scene_cuts", &run->cuts);
    print_list_json("duplicates", &run->duplicates);
    printf("}\n");
}

static void print_shares(const char *title, const char *const *names, const uint64_t *counts, int n)
{
    uint64_t all = 0;
    for (int i = 0; i < n; i++)
        all += counts[i];
    for (int i = 0; i < n; i++)
        printf("%-16s %-10s %6.2f %%\n", i ? "" : title, names[i], 100 * share(counts[i], all));
}

static void print_list(const char *title, const frame_list *list)
{
    printf("%-16s %zu", title, list->n);
    for (size_t i = 0; i < list->n && i < 20; i++)
        printf("%s%" PRId64, i ? ", " : ": frames ", list->frames[i]);
    printf(list->n > 20 ? ", ...\n" : "\n");
}

static void print_text(const stats_run *run)
{
    double n = (double)run->n_fields;
    printf("frames           %" PRId64 ", %" PRId64 " with a field\n", run->n_frames,
           run->n_fields);
    printf("vectors          %" PRIu64 ", mean length %.3f px, longest %.3f px\n", run->n_vectors,
           mean(run->length_sum, (double)run->n_vectors), run->longest);
    printf("still            %.2f %%\n", 100 * share(run->n_still, run->n_vectors));
    if (run->cost > 0)
        printf("cost             %.3f a px\n", mean(run->cost, run->area));
    printf("whole frame      (%+.3f, %+.3f) px toward the reference in the mean, turned by %+.3f "
           "degrees, %.4f times as large; %.1f %% of the vectors agree\n",
           mean(run->global_x, n), mean(run->global_y, n), mean(run->global_rotation, n),
           n > 0 ? run->global_zoom / n : 1, 100 * mean(run->global_support, n));
    print_shares("lengths in px", length_names, run->lengths, N_LENGTHS);
    print_shares("content moves", direction_names, run->directions, N_DIRECTIONS);
    print_list("scene changes", &run->cuts);
    print_list("repeated frames", &run->duplicates);
}

int command_stats(const cli_options *options)
{
    cli_input input;
    stats_run run = {.options = options, .scene = {.usual_cost = -1}};
    mvf_status status = input_open(&input, options, 0);
    if (status == MVF_OK && options->json && options->per_frame)
        printf("{\"per_frame\": [");
    if (status == MVF_OK)
        status = input_run(&input, options, take_field, &run);
    int exit_status = EXIT_FAILED;
    if (status == MVF_OK || status == MVF_ERROR_INTERRUPTED) {
        options->json ? print_json(&run) : print_text(&run);
        exit_status = input_report(&input, options, status);
    } else {
        exit_status = message_exit_status(status);
    }
    free(run.cuts.frames);
    free(run.duplicates.frames);
    input_close(&input);
    return exit_status;
}
