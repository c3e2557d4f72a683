/*
 * check_kernels - every kernel and every engine against plain C, and their benchmark.
 *
 *     check_kernels [--cuda [--small] [--share I/N]] [--seed N] [--only TEXT]
 *                   [--bench [--rows N] [--clip FILE]]
 *
 * Without --cuda it checks the CPU; with it the first CUDA device, and exits with 77 where there is
 * none (with 1 when MVF_REQUIRE_GPU is set). --small leaves out what takes long on a device that is
 * emulated, and --share takes one case in N, for tools that slow everything down. The seed is
 * printed and each group is seeded anew, so a failure can be run again by itself with --seed and
 * --only. --bench times what passed, each benchmark under a name of its own for --only, such as
 * "bench rows", of tables the first N rows; FILE holds 8-bit luma frames of 1920x1080 to time CUDA
 * on, beside patterns.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check_kernels.h"

static const struct {
    const char *name;
    void (*run)(check_run *run);
    int cuda;
} groups[] = {
    {"twins", check_twins, 0},
    {"search", check_search, 0},
    {"hier", check_hier, 0},
    {"subpel", check_subpel, 0},
    {"pans", check_pans, 0},
    {"rates", check_rates, 0},
    {"hints", check_hints, 0},
    {"partitions", check_partitions, 0},
    {"merges", check_merges, 0},
    {"smooth paths", check_smooth_paths, 0},
    {"truemotion", check_truemotion, 0},
#ifdef HAVE_CUDA
    {"cuda layout", check_cuda_layout, 0},
#endif
    {"search", check_search, 1},
    {"hier", check_hier, 1},
#ifdef HAVE_CUDA
    {"hier, level by level", check_cuda_hier_levels, 1},
    {"hier, whole engines", check_cuda_hier, 1},
    {"minimum", check_cuda_minimum, 1},
    {"16x16 rows, small", check_cuda_rows_small, 1},
    {"16x16 rows", check_cuda_rows, 1},
    {"16x16 rows, frames", check_cuda_rows_frames, 1},
#endif
    {"cuda", check_cuda, 1},
    {"cuda encoder", check_cuda_encoder, 1},
    {"cuda truemotion", check_cuda_truemotion, 1},
#ifdef HAVE_CUDA
    {"cuda smooth", check_cuda_smooth, 1},
    {"pictures in CUDA memory", check_cuda_pictures, 1},
#endif
};

static const struct {
    const char *name;
    void (*run)(check_run *run);
    /* 2: with and without. */
    int cuda;
} benches[] = {
    {"bench search", bench_search, 2},
    {"bench truemotion", bench_truemotion, 0},
#ifdef HAVE_CUDA
    {"bench shapes", bench_cuda_shapes, 1},
    {"bench encoder", bench_cuda_encoder, 1},
    {"bench rows", bench_cuda_rows, 1},
    {"bench hier", bench_cuda_hier, 1},
    {"bench smooth", bench_cuda_smooth, 1},
    {"bench minimum", bench_cuda_minimum, 1},
    {"bench truemotion on CUDA", bench_cuda_true_motion, 1},
#endif
};

uint32_t check_random(check_run *run)
{
    /* xorshift64*, Vigna 2014. */
    run->state ^= run->state >> 12;
    run->state ^= run->state << 25;
    run->state ^= run->state >> 27;
    return (uint32_t)(run->state * 2685821657736338717ull >> 32);
}

int check_takes(check_run *run)
{
    return run->n_cases++ % run->n_shares == run->share;
}

void check_result(check_run *run, int ok, const char *what)
{
    run->n_checks++;
    if (ok)
        return;
    run->n_failed++;
    fprintf(stderr, "FAIL: %s (seed %llu)\n", what, (unsigned long long)run->seed);
}

static int is_share(check_run *run, const char *text)
{
    char rest;
    return sscanf(text, "%d/%d%c", &run->share, &run->n_shares, &rest) == 2 && run->share >= 0 &&
           run->share < run->n_shares;
}

static uint64_t parse_arguments(check_run *run, int argc, char **argv)
{
    uint64_t seed = (uint64_t)time(NULL);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cuda"))
            run->cuda = 1;
        else if (!strcmp(argv[i], "--small"))
            run->small = 1;
        else if (!strcmp(argv[i], "--share") && i + 1 < argc && is_share(run, argv[i + 1]))
            i++;
        else if (!strcmp(argv[i], "--bench"))
            run->bench = 1;
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            run->only = argv[++i];
        else if (!strcmp(argv[i], "--rows") && i + 1 < argc)
            run->n_rows = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--clip") && i + 1 < argc)
            run->clip = argv[++i];
        else {
            fprintf(stderr, "usage: check_kernels [--cuda [--small] [--share I/N]] [--seed N] "
                            "[--only TEXT] [--bench [--rows N] [--clip FILE]]\n");
            exit(2);
        }
    }
    return seed;
}

static void print_message(void *opaque, mvf_log_level level, const char *message)
{
    (void)opaque;
    if (level <= MVF_LOG_WARNING)
        fprintf(stderr, "check_kernels: %s\n", message);
}

/* Ends the program where CUDA is asked for and there is no device. */
static void require_device(const check_run *run)
{
    mvf_device_info info;
    if (mvf_device_describe(0, &info, &run->logger) == MVF_OK && info.usable) {
        printf("device: %s, compute capability %d\n", info.name, info.compute_capability);
        return;
    }
    const char *required = getenv("MVF_REQUIRE_GPU");
    printf("skipped: no CUDA device\n");
    exit(required && *required && strcmp(required, "0") ? 1 : 77);
}

/* Holds the device's context, which each search would make anew otherwise. */
static mvf_searcher *hold_device(const check_run *run)
{
    mvf_searcher *holder = NULL;
    mvf_options options;
    mvf_options_init(&options);
    options.backend = MVF_BACKEND_CUDA;
    options.logger = run->logger;
    if (run->cuda && mvf_searcher_open(&holder, &options, 16, 16, 8) != MVF_OK)
        exit(1);
    return holder;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    /* What has passed shall be seen even if the program is ended from outside. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    check_run run = {.logger = {print_message, NULL}, .n_shares = 1};
    run.seed = parse_arguments(&run, argc, argv);
    printf("seed %llu\n", (unsigned long long)run.seed);
    if (run.cuda)
        require_device(&run);
    mvf_searcher *holder = hold_device(&run);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (groups[i].cuda != run.cuda || (run.only && !strstr(groups[i].name, run.only)))
            continue;
        int before = run.n_checks, failed = run.n_failed;
        double start = seconds();
        run.state = run.seed * 2 + 1;
        run.n_cases = 0;
        groups[i].run(&run);
        printf("%-24s %6d checks, %d failed, %.1f s\n", groups[i].name, run.n_checks - before,
               run.n_failed - failed, seconds() - start);
    }
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        if (!run.bench || run.n_failed || !(benches[i].cuda == 2 || benches[i].cuda == run.cuda) ||
            (run.only && !strstr(benches[i].name, run.only)))
            continue;
        run.state = run.seed * 2 + 1;
        benches[i].run(&run);
    }
    mvf_searcher_close(&holder);
    printf("%d checks, %d failed\n", run.n_checks, run.n_failed);
    return run.n_failed ? 1 : 0;
}
