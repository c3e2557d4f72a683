/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench_frames.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/named_file.h"
#include "cli/run.h"

#define MAX_ROUNDS 5
/* No round begins after so long, and no search goes on for longer in one. */
#define SECONDS_ALL 30
#define SECONDS_EACH 8
/* A search that is faster goes over the frames again and again, so that the first and the last ones
 * in flight, beside which nothing else is searched, count for little. */
#define SECONDS_LEAST 0.25
/* Per backend one for each number of threads. */
#define MAX_LIMITS 3
#define MAX_CASES 15

/* The SAD instruction of a backend on so many threads (0 on a GPU): the best of all rounds. */
typedef struct bench_limit {
    mvf_backend backend;
    int32_t threads;
    mvf_sad_limit sad;
} bench_limit;

typedef struct bench_case {
    const bench_limit *limit;
    mvf_method method;
    int32_t range_x, range_y;
    /* Whether the pictures lie on the GPU before the search. */
    int on_gpu;
    mvf_searcher *searcher;
    double speeds[MAX_ROUNDS];
    /* Frames/s: the median, and what comparing every candidate could reach at most. */
    double speed, brute_force;
} bench_case;

typedef struct bench_run {
    const cli_options *options;
    bench_frames frames;
    bench_limit limits[MAX_LIMITS];
    int n_limits;
    bench_case cases[MAX_CASES];
    int n_cases, n_rounds;
    int64_t n_searched, next_frame;
    double start;
    char processor[128], gpu[256];
} bench_run;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void name_processor(bench_run *run)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        snprintf(run->processor, sizeof run->processor, "%.*s", (int)strcspn(colon + 2, "\n"),
                 colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

static mvf_options search_options(const bench_run *run, const bench_limit *limit)
{
    mvf_options options = run->options->search;
    options.backend = limit->backend;
    options.threads = limit->threads;
    /* As many as can be for a GPU, which takes many at once; few on the CPU, to stay in little
     * memory. */
    options.max_in_flight = limit->backend == MVF_BACKEND_CUDA ? 64 : 4;
    return options;
}

static mvf_status add_case(bench_run *run, const bench_limit *limit, bench_case wanted)
{
    mvf_options options = search_options(run, limit);
    bench_case *c = &run->cases[run->n_cases];
    options.method = wanted.method;
    options.range_x = wanted.range_x;
    options.range_y = wanted.range_y;
    /* What was not asked for and a GPU does not do yet is left out without a word. */
    if (!options_was_given(run->options, "method") && limit->backend == MVF_BACKEND_CUDA)
        options.logger = (mvf_logger){NULL, NULL};
    *c = wanted;
    c->limit = limit;
    mvf_status status = mvf_searcher_open(&c->searcher, &options, run->frames.width,
                                          run->frames.height, run->frames.bit_depth);
    if (status == MVF_ERROR_UNSUPPORTED && !options.logger.callback)
        return MVF_OK;
    if (status == MVF_OK)
        run->n_cases++;
    return status;
}

/* On a GPU twice: searched where the frames lie, and uploaded first. */
static mvf_status add_range(bench_run *run, const bench_limit *limit, mvf_method method,
                            int32_t range_x, int32_t range_y)
{
    bench_case wanted = {.method = method, .range_x = range_x, .range_y = range_y};
    mvf_status status = MVF_OK;
    wanted.on_gpu = limit->backend == MVF_BACKEND_CUDA;
    if (wanted.on_gpu)
        status = add_case(run, limit, wanted);
    wanted.on_gpu = 0;
    return status == MVF_OK ? add_case(run, limit, wanted) : status;
}

static mvf_status add_method(bench_run *run, const bench_limit *limit, mvf_method method)
{
    const mvf_options *search = &run->options->search;
    if (options_was_given(run->options, "method") && search->method != method)
        return MVF_OK;
    if (options_was_given(run->options, "range"))
        return add_range(run, limit, method, search->range_x, search->range_y);
    if (method == MVF_METHOD_HIER)
        return add_range(run, limit, method, 64, 64);
    mvf_status status = add_range(run, limit, method, 16, 16);
    return status == MVF_OK ? add_range(run, limit, method, 32, 32) : status;
}

static mvf_status add_limit(bench_run *run, mvf_backend backend, int32_t threads)
{
    bench_limit *limit = &run->limits[run->n_limits++];
    *limit = (bench_limit){.backend = backend, .threads = threads};
    mvf_status status = add_method(run, limit, MVF_METHOD_FULL);
    return status == MVF_OK ? add_method(run, limit, MVF_METHOD_HIER) : status;
}

static mvf_status add_cpu(bench_run *run)
{
    int32_t all = run->options->search.threads;
    if (!all)
        all = run_processor_count();
    mvf_status status = add_limit(run, MVF_BACKEND_CPU, 1);
    return status == MVF_OK && all > 1 ? add_limit(run, MVF_BACKEND_CPU, all) : status;
}

/* With backend auto, a machine without a GPU is no fault. */
static mvf_status add_gpu(bench_run *run)
{
    mvf_device_info info;
    const mvf_options *search = &run->options->search;
    int is_needed = search->backend == MVF_BACKEND_CUDA;
    mvf_status status =
        mvf_device_describe(search->device, &info, is_needed ? &search->logger : NULL);
    if (!is_needed && (status != MVF_OK || !info.usable))
        return MVF_OK;
    if (status == MVF_OK)
        status = bench_frames_copy(&run->frames, search->device, &search->logger);
    if (status == MVF_OK)
        status = add_limit(run, MVF_BACKEND_CUDA, 0);
    if (status == MVF_OK)
        snprintf(run->gpu, sizeof run->gpu, "%s", info.name);
    return status;
}

static mvf_status prepare(bench_run *run)
{
    mvf_backend backend = run->options->search.backend;
    mvf_status status = bench_frames_load(&run->frames, run->options);
    if (status == MVF_OK && backend != MVF_BACKEND_CUDA)
        status = add_cpu(run);
    if (status == MVF_OK && backend != MVF_BACKEND_CPU)
        status = add_gpu(run);
    return status;
}

static mvf_status measure_limit(const bench_run *run, bench_limit *limit)
{
    mvf_options options = search_options(run, limit);
    mvf_sad_limit sad;
    mvf_status status = mvf_sad_limit_measure(&options, &sad);
    if (status == MVF_OK && sad.differences_per_second > limit->sad.differences_per_second)
        limit->sad = sad;
    return status;
}

static mvf_status receive_fields(bench_run *run, bench_case *c)
{
    mvf_field *field;
    mvf_status status;
    while ((status = mvf_searcher_receive(c->searcher, &field)) == MVF_OK) {
        mvf_field_free(&field);
        progress_update(++run->n_searched);
    }
    return status == MVF_AGAIN || status == MVF_EOF ? MVF_OK : status;
}

static mvf_status submit_pair(bench_run *run, bench_case *c, int32_t current)
{
    mvf_picture pair[2] = {bench_frames_picture(&run->frames, current, c->on_gpu),
                           bench_frames_picture(&run->frames, current - 1, c->on_gpu)};
    /* New numbers each time, or a round would find the planes of the one before. */
    pair[0].frame = run->next_frame + 1;
    pair[1].frame = run->next_frame++;
    mvf_status status;
    while ((status = mvf_searcher_submit(c->searcher, &pair[0], &pair[1], 1, NULL)) == MVF_AGAIN) {
        status = receive_fields(run, c);
        if (status != MVF_OK)
            return status;
    }
    return status == MVF_OK ? receive_fields(run, c) : status;
}

/* Whether a search that has taken n pairs in so many seconds goes on. */
static int goes_on(const bench_run *run, int32_t n, double spent)
{
    return !n || (n < run->frames.n - 1 ? spent < SECONDS_EACH : spent < SECONDS_LEAST);
}

/* One thread counts by processor time, which other programs do not stretch, and which tells what is
 * done beside the search, too. */
static mvf_status measure_case(bench_run *run, bench_case *c)
{
    clockid_t clock = c->limit->threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    double start = seconds(clock);
    mvf_status status = MVF_OK;
    int32_t n = 0;
    for (; status == MVF_OK && goes_on(run, n, seconds(clock) - start); n++) {
        int32_t pair = n % (run->frames.n - 1);
        /* The frame before the first is none of the frames that are there. */
        run->next_frame += !pair;
        status = run_interrupted(NULL) ? MVF_ERROR_INTERRUPTED : submit_pair(run, c, pair + 1);
    }
    if (status == MVF_OK)
        status = mvf_searcher_flush(c->searcher);
    if (status == MVF_OK)
        status = receive_fields(run, c);
    double spent = seconds(clock) - start;
    c->speeds[run->n_rounds] = spent > 0 ? n / spent : 0;
    return status;
}

static mvf_status measure_round(bench_run *run)
{
    mvf_status status = MVF_OK;
    for (int i = 0; i < run->n_limits && status == MVF_OK; i++)
        status = measure_limit(run, &run->limits[i]);
    for (int i = 0; i < run->n_cases && status == MVF_OK; i++)
        status = measure_case(run, &run->cases[i]);
    run->n_rounds += status == MVF_OK;
    return status;
}

static int compare_speeds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(bench_run *run)
{
    double area = (double)run->frames.width * run->frames.height;
    for (int i = 0; i < run->n_cases; i++) {
        bench_case *c = &run->cases[i];
        int middle = run->n_rounds / 2;
        qsort(c->speeds, (size_t)run->n_rounds, sizeof c->speeds[0], compare_speeds);
        c->speed =
            run->n_rounds % 2 ? c->speeds[middle] : (c->speeds[middle - 1] + c->speeds[middle]) / 2;
        c->brute_force = c->limit->sad.differences_per_second /
                         (area * (2 * c->range_x + 1) * (2 * c->range_y + 1));
    }
}

static mvf_status measure(bench_run *run)
{
    mvf_status status = MVF_OK;
    run->start = seconds(CLOCK_MONOTONIC);
    progress_start(run->options->progress,
                   (int64_t)MAX_ROUNDS * run->n_cases * (run->frames.n - 1));
    while (status == MVF_OK && run->n_rounds < MAX_ROUNDS &&
           (!run->n_rounds || seconds(CLOCK_MONOTONIC) - run->start < SECONDS_ALL))
        status = measure_round(run);
    progress_clear();
    if (status == MVF_OK)
        sum_up(run);
    return status;
}

static const char *method_name(const bench_case *c)
{
    return c->method == MVF_METHOD_FULL ? "full" : "hier";
}

/* "16", or "32x16"; with a sign before each. */
static const char *pair_text(char *text, size_t size, const char *sign, int32_t x, int32_t y)
{
    if (x == y && *sign)
        snprintf(text, size, "%s%d", sign, x);
    else
        snprintf(text, size, "%s%dx%s%d", sign, x, sign, y);
    return text;
}

static const char *level_name(const bench_run *run)
{
    mvf_cpu_level level = run->options->search.cpu_level, best = mvf_cpu_best_level();
    return mvf_cpu_level_name(level < best ? level : best);
}

static void print_limits(const bench_run *run)
{
    for (int i = 0; i < run->n_limits; i++) {
        const bench_limit *limit = &run->limits[i];
        printf("%-10s %.1f G differences/s by %s", i ? "" : "SAD limit",
               1e-9 * limit->sad.differences_per_second, limit->sad.instruction);
        if (limit->threads)
            printf(" on %d thread%s\n", limit->threads, limit->threads == 1 ? "" : "s");
        else
            printf(" on the GPU\n");
    }
}

static const char *place_name(const bench_case *c)
{
    return c->on_gpu ? "gpu" : "host";
}

static void print_case(const bench_run *run, const bench_case *c)
{
    char range[32], block[32], threads[16] = "-";
    if (c->limit->threads)
        snprintf(threads, sizeof threads, "%d", c->limit->threads);
    printf("%-4s %-6s  %-5s  %-9s %7s  %-6s  %10.1f  %11.1f  %6.2f\n",
           c->limit->threads ? "CPU" : "GPU", method_name(c),
           pair_text(block, sizeof block, "", run->options->search.block_w,
                     run->options->search.block_h),
           pair_text(range, sizeof range, "+-", c->range_x, c->range_y), threads, place_name(c),
           c->speed, c->brute_force, c->speed / c->brute_force);
}

static void print_table(const bench_run *run)
{
    printf("%-10s %s: %dx%d, %d bits, %d frames\n", "input",
           run->options->input ? run->options->input : "a built-in moving texture",
           run->frames.width, run->frames.height, run->frames.bit_depth, run->frames.n);
    if (run->limits[0].threads)
        printf("%-10s %s, level %s\n", "CPU", run->processor, level_name(run));
    if (run->gpu[0])
        printf("%-10s %s\n", "GPU", run->gpu);
    print_limits(run);
    printf("\n%-4s %-6s  %-5s  %-9s %7s  %-6s  %10s  %11s  %6s\n", "on", "method", "block", "range",
           "threads", "frames", "frames/s", "brute force", "ratio");
    for (int i = 0; i < run->n_cases; i++)
        print_case(run, &run->cases[i]);
    if (run->gpu[0])
        printf(
            "\nframes: where they lie before the search. gpu: in the GPU's memory, as its decoder "
            "leaves\nthem; host: in this machine's, from where each is uploaded first.");
    printf("\nbrute force: the frames/s at which every candidate could be compared, if the SAD "
           "instruction\nwere all that it takes. Medians of %d rounds; one thread by its processor "
           "time, the rest by\nthe clock.%s\n",
           run->n_rounds,
           run->frames.bit_depth > 8 ? " The instruction's samples have 8 bits." : "");
}

static void write_case(FILE *file, const bench_run *run, const bench_case *c)
{
    fprintf(file,
            "{\"backend\": \"%s\", \"method\": \"%s\", \"range\": [%d, %d], \"threads\": %d, "
            "\"frames\": \"%s\", \"frames_per_second\": %.4f, \"brute_force\": %.4f, \"ratio\": "
            "%.4f, \"rounds\": [",
            c->limit->threads ? "cpu" : "cuda", method_name(c), c->range_x, c->range_y,
            c->limit->threads, place_name(c), c->speed, c->brute_force, c->speed / c->brute_force);
    for (int i = 0; i < run->n_rounds; i++)
        fprintf(file, "%s%.4f", i ? ", " : "", c->speeds[i]);
    fprintf(file, "]}");
}

static void write_json(FILE *file, const bench_run *run)
{
    fprintf(file, "{\"mvfield\": \"%s\", \"input\": ", mvf_version());
    json_write_string(file, run->options->input ? run->options->input : "");
    fprintf(file, ", \"width\": %d, \"height\": %d, \"bit_depth\": %d, \"frames\": %d,\n",
            run->frames.width, run->frames.height, run->frames.bit_depth, run->frames.n);
    fprintf(file, " \"start\": %lld, \"block\": [%d, %d], \"cpu\": ",
            (long long)run->options->first_frame, run->options->search.block_w,
            run->options->search.block_h);
    json_write_string(file, run->processor);
    fprintf(file, ", \"cpu_level\": \"%s\", \"gpu\": ", level_name(run));
    json_write_string(file, run->gpu);
    fprintf(file, ",\n \"limits\": [");
    for (int i = 0; i < run->n_limits; i++)
        fprintf(file,
                "%s\n  {\"backend\": \"%s\", \"threads\": %d, \"instruction\": \"%s\", "
                "\"differences_per_second\": %.6g}",
                i ? "," : "", run->limits[i].sad.backend, run->limits[i].threads,
                run->limits[i].sad.instruction, run->limits[i].sad.differences_per_second);
    fprintf(file, "],\n \"results\": [");
    for (int i = 0; i < run->n_cases; i++) {
        fprintf(file, "%s\n  ", i ? "," : "");
        write_case(file, run, &run->cases[i]);
    }
    fprintf(file, "]}\n");
}

static mvf_status save_json(const bench_run *run, const char *name)
{
    named_file file;
    mvf_status status = named_file_open(&file, name, run->options->overwrite);
    if (status != MVF_OK)
        return status;
    write_json(file.file, run);
    return named_file_close(&file, MVF_OK);
}

static mvf_status report(const bench_run *run)
{
    const char *name = run->options->json_output;
    if (name && !strcmp(name, "-")) {
        write_json(stdout, run);
        return MVF_OK;
    }
    mvf_status status = name ? save_json(run, name) : MVF_OK;
    if (status == MVF_OK)
        print_table(run);
    return status;
}

/* Before minutes of measuring, not after. */
static mvf_status check_output(const cli_options *options)
{
    const char *name = options->json_output;
    return name && strcmp(name, "-") ? named_file_check(name, options->overwrite) : MVF_OK;
}

int command_bench(const cli_options *options)
{
    bench_run run = {.options = options, .processor = "a processor without a name"};
    name_processor(&run);
    mvf_status status = check_output(options);
    if (status == MVF_OK)
        status = prepare(&run);
    if (status == MVF_OK)
        status = measure(&run);
    if (status == MVF_OK)
        status = report(&run);
    int exit_status = status == MVF_OK ? run.frames.exit_status : message_exit_status(status);
    for (int i = 0; i < run.n_cases; i++)
        mvf_searcher_close(&run.cases[i].searcher);
    bench_frames_free(&run.frames);
    return exit_status;
}
