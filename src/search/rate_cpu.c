/*
 * The packed SAD instruction alone, in every width that the level allows: operands in registers,
 * twelve independent results in flight, nothing added up.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "search/rate_cpu.h"

#include <stdlib.h>
#include <time.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/pool.h"

/* Long enough for the clock, short enough that some measurements run undisturbed. */
#define SECONDS_EACH 0.002
#define N_MEASUREMENTS 9

typedef struct sad_loop {
    const char *instruction;
    mvf_cpu_level level;
    /* Absolute differences in one round. */
    double differences;
    void (*run)(int64_t n_rounds);
} sad_loop;

static void run_c(int64_t n_rounds)
{
    uint8_t a[64] = {1}, b[64] = {2};
    volatile uint32_t sink;
    uint32_t sum = 0;
    for (int64_t i = 0; i < n_rounds; i++) {
        /* Or the compiler takes the sum out of the loop. */
        __asm__ volatile("" : : "r"(a), "r"(b) : "memory");
        for (int k = 0; k < 64; k++)
            sum += (uint32_t)abs(a[k] - b[k]);
    }
    sink = sum;
    (void)sink;
}

#if defined(__x86_64__)
#define TWELVE(AT) \
    AT("0")        \
    AT("1") AT("2") AT("3") AT("4") AT("5") AT("6") AT("7") AT("8") AT("9") AT("10") AT("11")
#define SAD_SSE2(n) "psadbw %%xmm15, %%xmm" n "\n\t"
#define SAD_XMM(n) "vpsadbw %%xmm15, %%xmm14, %%xmm" n "\n\t"
#define SAD_YMM(n) "vpsadbw %%ymm15, %%ymm14, %%ymm" n "\n\t"
#define SAD_ZMM(n) "vpsadbw %%zmm15, %%zmm14, %%zmm" n "\n\t"

#define LOOP(name, instruction, end)                                                             \
    static void name(int64_t n_rounds)                                                           \
    {                                                                                            \
        __asm__ volatile("1:\n\t" TWELVE(instruction) "dec %0\n\tjnz 1b\n\t" end                 \
                         : "+r"(n_rounds)                                                        \
                         :                                                                       \
                         : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
                           "xmm8", "xmm9", "xmm10", "xmm11", "xmm14", "xmm15");                  \
    }

LOOP(run_sse2, SAD_SSE2, "")
LOOP(run_xmm, SAD_XMM, "vzeroupper")
LOOP(run_ymm, SAD_YMM, "vzeroupper")
LOOP(run_zmm, SAD_ZMM, "vzeroupper")
#endif

/* By rising level: the fastest of those that the level allows counts. */
static const sad_loop loops[] = {
    {"plain C", MVF_CPU_C, 64, run_c},
#if defined(__x86_64__)
    {"psadbw xmm", MVF_CPU_SSE2, 12 * 16, run_sse2},
    {"vpsadbw xmm", MVF_CPU_AVX2, 12 * 16, run_xmm},
    {"vpsadbw ymm", MVF_CPU_AVX2, 12 * 32, run_ymm},
    {"vpsadbw zmm", MVF_CPU_AVX512, 12 * 64, run_zmm},
#endif
};
#define N_LOOPS (sizeof loops / sizeof loops[0])

/* One loop on every thread at once. */
typedef struct rate_run {
    const sad_loop *loop;
    int64_t n_rounds;
    int32_t n_threads;
    mvf_pool *pool;
} rate_run;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_task(void *context, int32_t task, int32_t worker)
{
    const rate_run *run = context;
    (void)task;
    (void)worker;
    run->loop->run(run->n_rounds);
}

/* One thread by its processor time, which other programs do not stretch; several by the clock,
 * since they share the processors among each other. */
static double time_rounds(rate_run *run)
{
    clockid_t clock = run->pool ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    double start = seconds(clock);
    if (run->pool) {
        mvf_pool_job job = {.run = run_task, .context = run, .n_tasks = run->n_threads};
        mvf_pool_submit(run->pool, &job);
        mvf_pool_finished(run->pool, &job, 1);
    } else {
        run->loop->run(run->n_rounds);
    }
    return seconds(clock) - start;
}

/* The best of a few: whatever disturbs makes it slower. */
static double measure(rate_run *run)
{
    double best = 0, time;
    for (run->n_rounds = 1024; (time = time_rounds(run)) < SECONDS_EACH / 2;)
        run->n_rounds *= 2;
    for (int i = 0; i < N_MEASUREMENTS; i++) {
        double work = run->loop->differences * (double)run->n_rounds * run->n_threads;
        time = time_rounds(run);
        if (time > 0 && work / time > best)
            best = work / time;
    }
    return best;
}

mvf_status mvf_cpu_sad_rate(const mvf_options *options, mvf_sad_limit *limit)
{
    mvf_cpu_level level = mvf_cpu_clamp_level(options->cpu_level);
    rate_run run = {.n_threads = options->threads ? options->threads : mvf_processor_count()};
    if (run.n_threads > 1 && mvf_pool_open(&run.pool, run.n_threads) != MVF_OK)
        return mvf_fail(&options->logger, MVF_ERROR_MEMORY,
                        "%d threads cannot be started: out of memory", (int)run.n_threads);
    *limit = (mvf_sad_limit){.backend = "cpu"};
    for (size_t i = 0; i < N_LOOPS; i++) {
        if (loops[i].level > level || (level > MVF_CPU_C && loops[i].level == MVF_CPU_C))
            continue;
        run.loop = &loops[i];
        double rate = measure(&run);
        if (rate > limit->differences_per_second) {
            limit->differences_per_second = rate;
            limit->instruction = loops[i].instruction;
        }
    }
    mvf_pool_close(&run.pool);
    return MVF_OK;
}
