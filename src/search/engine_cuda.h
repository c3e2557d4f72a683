/*
 * search/engine_cuda.h - what tests and benchmarks ask of the CUDA engine beyond engine.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_ENGINE_CUDA_H
#define MVF_SEARCH_ENGINE_CUDA_H

#include "search/engine.h"

/* What one engine launches. */
typedef struct mvf_cuda_measurement {
    /* Device time of one launch over all its jobs, in microseconds: the median of the launches. */
    double launch_us;
    const char *kernel;
    int32_t n_registers, static_shared_bytes, dynamic_shared_bytes;
} mvf_cuda_measurement;

/* Answers n_jobs jobs (1 to the smaller of max_in_flight and MVF_CUDA_BATCH) with one batch. */
mvf_status mvf_engine_cuda_search(mvf_engine *engine, mvf_engine_job *jobs, int32_t n_jobs);

/*
 * Launches searches of batch_jobs jobs each (as n_jobs above), n_launches (1 or more) times after
 * as many for warming up, and times each with events. The jobs (loaded planes, no answers taken)
 * are taken in turn, over and over: no launch finds its own answers as hints. With method hier that
 * includes the levels of the jobs' current planes: in a row of frames each plane is that once.
 */
mvf_status mvf_engine_cuda_measure(mvf_engine *engine, mvf_engine_job *jobs, int32_t n_jobs,
                                   int32_t batch_jobs, int32_t n_launches,
                                   mvf_cuda_measurement *measurement);

/*
 * Absolute differences that the device takes in a second with the SAD instruction and nothing else:
 * the limit of every search that looks at all candidates.
 */
mvf_status mvf_cuda_sad_rate(int32_t device, const mvf_logger *logger,
                             double *differences_per_second);

#endif
