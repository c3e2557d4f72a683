/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/run.h"

typedef enum side_kind { SIDE_SEARCH, SIDE_CODEC, SIDE_MVF, SIDE_FLOW } side_kind;

/* One of the two that are compared. */
typedef struct side {
    const char *name;
    side_kind kind;
    mvf_reader *reader;
    mvf_flow *flow;
    /* The field of the frame at hand; `owned` where it is to be freed. */
    const mvf_field *field;
    mvf_field *owned;
    /* Costs of searched vectors and the area they are for. */
    uint64_t cost, area_px;
    mvf_prediction prediction;
} side;

typedef struct compare_run {
    const cli_options *options;
    mvf_source *source;
    side sides[2];
    mvf_comparison *total, *one;
    int64_t n_frames, n_without, n_damaged, n_sizes;
    mvf_prediction still;
    /* Of the video. */
    int32_t bit_depth;
    mvf_frame *previous;
    int64_t previous_index;
} compare_run;

static mvf_status open_side(side *s, const char *name, const cli_options *options)
{
    mvf_logger logger = message_logger();
    s->name = name;
    s->kind = !strcmp(name, "codec") ? SIDE_CODEC : SIDE_SEARCH;
    if (!strcmp(name, "codec") || !strcmp(name, "search")) {
        if (options->video)
            return MVF_OK;
        message_print(MVF_LOG_ERROR, "compare %s: give the video whose vectors these are: --video",
                      name);
        return MVF_ERROR_ARGUMENT;
    }
    s->kind = mvf_reader_probe(name) ? SIDE_MVF : SIDE_FLOW;
    return s->kind == SIDE_MVF ? mvf_reader_open(&s->reader, name, &logger)
                               : mvf_flow_read(&s->flow, name, &logger);
}

static void close_side(side *s)
{
    mvf_field_free(&s->owned);
    mvf_reader_close(&s->reader);
    mvf_flow_free(&s->flow);
}

static int has_kind(const compare_run *run, side_kind kind)
{
    return run->sides[0].kind == kind || run->sides[1].kind == kind;
}

/* The side's field of the frame, or none. */
static mvf_status take_field(compare_run *run, side *s, int64_t index, mvf_frame *frame,
                             const mvf_field *searched)
{
    mvf_logger logger = message_logger();
    mvf_status status = MVF_OK;
    mvf_field_free(&s->owned);
    if (s->kind == SIDE_CODEC && frame)
        status = mvf_frame_get_codec_field(frame, &s->owned, &logger);
    else if (s->kind == SIDE_MVF && mvf_reader_seek(s->reader, index) == MVF_OK)
        status = mvf_reader_next(s->reader, &s->owned);
    s->field = s->kind == SIDE_SEARCH ? searched : s->owned;
    if (status != MVF_ERROR_DATA)
        return status;
    run->n_damaged++;
    message_forget_errors();
    return MVF_OK;
}

static void add_cost(side *s)
{
    mvf_field_statistics statistics;
    if (s->field->source == MVF_VECTORS_CODEC)
        return;
    mvf_field_measure(s->field, &statistics);
    s->cost += statistics.cost;
    s->area_px += statistics.area_px;
}

static double psnr(const mvf_prediction *prediction, int32_t bit_depth)
{
    double peak = (double)((1 << bit_depth) - 1);
    return 10 * log10(peak * peak * (double)prediction->n_samples / prediction->squared_error);
}

/* A whole frame predicted by (0, 0), with a field's own blocks. */
static void add_still(compare_run *run, const mvf_picture *current, const mvf_picture *reference,
                      const mvf_field *like)
{
    mvf_block block = {.w = (uint16_t)like->width, .h = (uint16_t)like->height, .dir = -1};
    mvf_field still = *like;
    still.n_blocks = 1;
    still.blocks = &block;
    mvf_field_measure_prediction(&still, -1, current, reference, &run->still);
}

/* Only the frame before is at hand; a codec does not tell its reference, so that one stands for it.
 */
static mvf_status add_predictions(compare_run *run, mvf_frame *frame, int64_t index)
{
    mvf_picture current, reference;
    int32_t width, height, depth, w, h, d;
    if (!run->previous || run->previous_index != index - 1)
        return MVF_OK;
    mvf_status status = mvf_frame_get_picture(frame, &current, &width, &height, &depth);
    if (status == MVF_OK)
        status = mvf_frame_get_picture(run->previous, &reference, &w, &h, &d);
    if (status == MVF_ERROR_MEMORY)
        return status;
    if (status != MVF_OK || w != width || h != height || d != depth)
        return MVF_OK;
    run->bit_depth = depth;
    for (int i = 0; i < 2; i++) {
        side *s = &run->sides[i];
        if (s->field->width == width && s->field->height == height && s->field->bit_depth == depth)
            mvf_field_measure_prediction(s->field, -1, &current, &reference, &s->prediction);
    }
    if (run->sides[0].field->width == width && run->sides[0].field->height == height &&
        run->sides[0].field->bit_depth == depth)
        add_still(run, &current, &reference, run->sides[0].field);
    return MVF_OK;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void print_frame(const compare_run *run, int64_t index)
{
    mvf_agreement a;
    mvf_comparison_get(run->one, &a);
    if (run->options->json)
        printf("%s\n    {\"frame\": %" PRId64 ", \"pixels\": %" PRIu64
               ", \"equal\": %.6f, \"mean_epe\": %.6f, \"p95_epe\": %.6f, \"max_epe\": %.6f, "
               "\"outliers\": %.6f}",
               run->n_frames > 1 ? "," : "", index, a.n_pixels, share(a.n_equal, a.n_pixels),
               a.mean_epe, a.p95_epe, a.max_epe, share(a.n_outliers, a.n_pixels));
    else
        printf("%s%" PRId64 ",%" PRIu64 ",%.6f,%.6f,%.6f,%.6f,%.6f\n",
               run->n_frames > 1 ? "" : "frame,pixels,equal,mean_epe,p95_epe,max_epe,outliers\n",
               index, a.n_pixels, share(a.n_equal, a.n_pixels), a.mean_epe, a.p95_epe, a.max_epe,
               share(a.n_outliers, a.n_pixels));
}

static mvf_status add_frame(compare_run *run, int64_t index)
{
    side *sides = run->sides;
    mvf_status status = mvf_comparison_add_fields(run->total, sides[0].field, sides[1].field);
    if (status == MVF_ERROR_ARGUMENT && !run->n_sizes++)
        message_print(MVF_LOG_WARNING,
                      "frame %" PRId64 ": %s is for %dx%d px and %s for %dx%d: left out", index,
                      sides[0].name, sides[0].field->width, sides[0].field->height, sides[1].name,
                      sides[1].field->width, sides[1].field->height);
    if (status != MVF_OK)
        return status == MVF_ERROR_ARGUMENT ? MVF_OK : status;
    run->n_frames++;
    add_cost(&sides[0]);
    add_cost(&sides[1]);
    if (!run->options->per_frame)
        return MVF_OK;
    mvf_comparison_reset(run->one);
    status = mvf_comparison_add_fields(run->one, sides[0].field, sides[1].field);
    if (status == MVF_OK)
        print_frame(run, index);
    return status;
}

static mvf_status compare_frame(compare_run *run, int64_t index, mvf_frame *frame,
                                const mvf_field *searched)
{
    mvf_status status = MVF_OK;
    for (int i = 0; i < 2 && status == MVF_OK; i++)
        status = take_field(run, &run->sides[i], index, frame, searched);
    if (status != MVF_OK)
        return status;
    const mvf_field *a = run->sides[0].field, *b = run->sides[1].field;
    if (a && b && a->n_blocks && b->n_blocks) {
        if (frame)
            status = add_predictions(run, frame, index);
        return status == MVF_OK ? add_frame(run, index) : status;
    }
    run->n_without++;
    return MVF_OK;
}

static mvf_status consume(void *opaque, mvf_frame *frame, const mvf_field *field)
{
    compare_run *run = opaque;
    mvf_status status = compare_frame(run, field->frame, frame, field);
    mvf_frame_free(&run->previous);
    run->previous = mvf_frame_ref(frame);
    run->previous_index = field->frame;
    return status == MVF_OK && !run->previous ? MVF_ERROR_MEMORY : status;
}

/* Frames of the video for fields that are in files. */
static mvf_status walk_video(compare_run *run)
{
    int64_t end = run_end(run->options);
    mvf_status status = MVF_OK;
    for (int64_t index = 0; index < end && status == MVF_OK; index++) {
        mvf_frame *frame;
        status =
            run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : mvf_source_read(run->source, &frame);
        if (status != MVF_OK)
            break;
        if (run_is_wanted(run->options, index))
            status = compare_frame(run, index, frame, NULL);
        mvf_frame_free(&run->previous);
        run->previous = frame;
        run->previous_index = index;
    }
    return status == MVF_EOF ? MVF_OK : status;
}

static mvf_status walk_files(compare_run *run)
{
    mvf_status status = MVF_OK;
    mvf_reader *reader = run->sides[0].reader;
    for (int64_t i = 0; i < mvf_reader_count(reader) && status == MVF_OK; i++) {
        mvf_field *field;
        mvf_reader_seek_index(reader, i);
        status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : mvf_reader_next(reader, &field);
        if (status == MVF_ERROR_DATA) {
            run->n_damaged++;
            message_forget_errors();
            status = MVF_OK;
        } else if (status == MVF_OK) {
            int64_t index = field->frame;
            mvf_field_free(&field);
            if (run_is_wanted(run->options, index))
                status = compare_frame(run, index, NULL, NULL);
        }
    }
    return status;
}

static mvf_status open_video(compare_run *run)
{
    cli_options options = *run->options;
    options.input = options.video;
    options.vectors = has_kind(run, SIDE_CODEC) ? VECTORS_CODEC : VECTORS_SEARCH;
    return run_open_source(&run->source, &options, 0);
}

static mvf_status compare_fields(compare_run *run)
{
    cli_options options = *run->options;
    mvf_status status = run->options->video ? open_video(run) : MVF_OK;
    if (status != MVF_OK)
        return status;
    options.vectors = has_kind(run, SIDE_SEARCH) ? VECTORS_SEARCH : VECTORS_CODEC;
    if (has_kind(run, SIDE_SEARCH) || has_kind(run, SIDE_CODEC))
        return run_fields(run->source, &options, consume, run);
    return run->source ? walk_video(run) : walk_files(run);
}

/* The first field with vectors, of those that the options ask for, as flow. */
static mvf_status flatten(compare_run *run, side *s)
{
    mvf_field *field = NULL;
    mvf_status status = MVF_OK;
    if (s->kind == SIDE_FLOW)
        return MVF_OK;
    if (s->kind != SIDE_MVF) {
        message_print(MVF_LOG_ERROR,
                      "%s: is flow of one frame; compare it with an mvf file or another flow file",
                      run->sides[s == run->sides].name);
        return MVF_ERROR_ARGUMENT;
    }
    while (!field && status == MVF_OK) {
        status = mvf_reader_next(s->reader, &field);
        if (field && (!field->n_blocks || !run_is_wanted(run->options, field->frame)))
            mvf_field_free(&field);
    }
    if (status == MVF_EOF)
        message_print(MVF_LOG_ERROR, "%s: holds no field with vectors%s", s->name,
                      run->options->first_frame ? " from --start on" : "");
    if (status == MVF_OK)
        status = mvf_flow_alloc(&s->flow, field->width, field->height);
    if (status == MVF_OK) {
        mvf_field_fill_flow(field, s->flow->vectors);
        s->field = s->owned = field;
        add_cost(s);
        return MVF_OK;
    }
    mvf_field_free(&field);
    return status == MVF_EOF ? MVF_ERROR_DATA : status;
}

static mvf_status compare_flows(compare_run *run)
{
    mvf_status status = flatten(run, &run->sides[0]);
    if (status == MVF_OK)
        status = flatten(run, &run->sides[1]);
    if (status != MVF_OK)
        return status;
    const mvf_flow *a = run->sides[0].flow, *b = run->sides[1].flow;
    if (a->width != b->width || a->height != b->height) {
        message_print(MVF_LOG_ERROR, "%s is %dx%d px and %s %dx%d: they cannot be compared",
                      run->sides[0].name, a->width, a->height, run->sides[1].name, b->width,
                      b->height);
        return MVF_ERROR_DATA;
    }
    mvf_comparison_add(run->total, a->vectors, b->vectors, (size_t)a->width * (size_t)a->height);
    run->n_frames = 1;
    return MVF_OK;
}

/* "null" where there is nothing to divide by. */
static void print_json_number(const char *key, double value)
{
    printf(isfinite(value) ? ", \"%s\": %.6f" : ", \"%s\": null", key, value);
}

static void print_json(const compare_run *run, const mvf_agreement *a)
{
    printf(run->options->per_frame ? "],\n " : "{");
    printf("\"a\": ");
    json_print_string(run->sides[0].name);
    printf(", \"b\": ");
    json_print_string(run->sides[1].name);
    printf(", \"frames\": %" PRId64 ", \"frames_without\": %" PRId64
           ", \"frames_damaged\": %" PRId64 ",\n \"pixels\": %" PRIu64 ", \"only_a\": %" PRIu64
           ", \"only_b\": %" PRIu64 ", \"neither\": %" PRIu64 ",\n \"equal\": %.6f",
           run->n_frames, run->n_without, run->n_damaged, a->n_pixels, a->n_only_a, a->n_only_b,
           a->n_neither, share(a->n_equal, a->n_pixels));
    print_json_number("mean_epe", a->mean_epe);
    print_json_number("median_epe", a->median_epe);
    print_json_number("p90_epe", a->p90_epe);
    print_json_number("p95_epe", a->p95_epe);
    print_json_number("p99_epe", a->p99_epe);
    print_json_number("max_epe", a->max_epe);
    printf(",\n \"over_1px\": %.6f, \"over_3px\": %.6f, \"outliers\": %.6f",
           share(a->n_over_1px, a->n_pixels), share(a->n_over_3px, a->n_pixels),
           share(a->n_outliers, a->n_pixels));
    print_json_number("cost_a", (double)run->sides[0].cost / (double)run->sides[0].area_px);
    print_json_number("cost_b", (double)run->sides[1].cost / (double)run->sides[1].area_px);
    print_json_number("psnr_a", psnr(&run->sides[0].prediction, run->bit_depth));
    print_json_number("psnr_b", psnr(&run->sides[1].prediction, run->bit_depth));
    print_json_number("psnr_still", psnr(&run->still, run->bit_depth));
    printf("}\n");
}

static void print_text(const compare_run *run, const mvf_agreement *a)
{
    const side *sides = run->sides;
    uint64_t all = a->n_pixels + a->n_only_a + a->n_only_b + a->n_neither;
    printf("frames           %" PRId64 " compared, %" PRId64 " without vectors in A or B\n",
           run->n_frames, run->n_without);
    printf(
        "pixels           %.2f %% with vectors in both, %.2f %% in A alone, %.2f %% in B alone\n",
        100 * share(a->n_pixels, all), 100 * share(a->n_only_a, all),
        100 * share(a->n_only_b, all));
    printf("same vector      %.2f %%\n", 100 * share(a->n_equal, a->n_pixels));
    printf("end-point error  mean %.3f px, median %.3f, 90 %% %.3f, 95 %% %.3f, 99 %% %.3f, "
           "largest %.3f\n",
           a->mean_epe, a->median_epe, a->p90_epe, a->p95_epe, a->p99_epe, a->max_epe);
    printf("outliers         over 1 px %.2f %%, over 3 px %.2f %%, over 3 px and 5 %% %.2f %%\n",
           100 * share(a->n_over_1px, a->n_pixels), 100 * share(a->n_over_3px, a->n_pixels),
           100 * share(a->n_outliers, a->n_pixels));
    for (int i = 0; i < 2; i++)
        if (sides[i].area_px)
            printf("cost of %c        %.4f a px\n", 'A' + i,
                   (double)sides[i].cost / (double)sides[i].area_px);
    for (int i = 0; i < 2; i++)
        if (sides[i].prediction.n_samples)
            printf("prediction by %c  %.2f dB\n", 'A' + i,
                   psnr(&sides[i].prediction, run->bit_depth));
    if (run->still.n_samples)
        printf("without motion   %.2f dB\n", psnr(&run->still, run->bit_depth));
}

static int report(const compare_run *run)
{
    mvf_agreement agreement;
    mvf_comparison_get(run->total, &agreement);
    if (run->options->json)
        print_json(run, &agreement);
    else
        print_text(run, &agreement);
    if (!agreement.n_pixels) {
        message_print(MVF_LOG_ERROR, "there is no pixel with a vector in both");
        return EXIT_FAILED;
    }
    if (run->options->fail_above >= 0 && agreement.mean_epe > run->options->fail_above) {
        message_print(MVF_LOG_ERROR, "the mean end-point error is %.3f px, above %.3f",
                      agreement.mean_epe, run->options->fail_above);
        return EXIT_FAILED;
    }
    if (run->source) {
        cli_options options = *run->options;
        options.input = options.video;
        return run_report(run->source, &options, MVF_OK);
    }
    return run->n_damaged ? EXIT_DAMAGED : EXIT_ALL_FRAMES;
}

static mvf_status open_all(compare_run *run)
{
    const cli_options *options = run->options;
    mvf_status status = open_side(&run->sides[0], options->input, options);
    if (status == MVF_OK)
        status = open_side(&run->sides[1], options->second_input, options);
    const char *idle = status == MVF_OK && !has_kind(run, SIDE_SEARCH)
                           ? options_find_idle(options, IDLE_WITH_CODEC)
                           : NULL;
    if (idle) {
        message_print(MVF_LOG_ERROR, "--%s has no effect where nothing is searched", idle);
        return MVF_ERROR_ARGUMENT;
    }
    if (status == MVF_OK)
        status = mvf_comparison_open(&run->total);
    return status == MVF_OK ? mvf_comparison_open(&run->one) : status;
}

int command_compare(const cli_options *options)
{
    compare_run run = {.options = options};
    mvf_status status = open_all(&run);
    if (status == MVF_OK && options->json && options->per_frame)
        printf("{\"per_frame\": [");
    if (status == MVF_OK)
        status = has_kind(&run, SIDE_FLOW) ? compare_flows(&run) : compare_fields(&run);
    int exit_status = status == MVF_OK ? report(&run) : message_exit_status(status);
    close_side(&run.sides[0]);
    close_side(&run.sides[1]);
    mvf_frame_free(&run.previous);
    mvf_comparison_close(&run.total);
    mvf_comparison_close(&run.one);
    mvf_source_close(&run.source);
    return exit_status;
}
