/*
 * cli/worker_plan.h - how many decoders, threads and devices a run gets.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_WORKER_PLAN_H
#define MVF_CLI_WORKER_PLAN_H

#include "cli/options.h"

/* Fields of the workers that wait for their turn, all together. */
#define WORKER_WAITING_BYTES ((int64_t)256 << 20)

typedef struct worker_plan {
    /* One: the source's own decoder. */
    int32_t n_workers;
    /* Of each one's decoder, and again of its search on the CPU; 0: as many as there are. */
    int32_t threads_per_worker;
    /* Handed out to the workers in turn; none: the options' own. */
    int32_t devices[MAX_DEVICES], n_devices;
} worker_plan;

/* What suits the source, the options and the machine. Says what is wrong with a device. */
mvf_status worker_plan_make(worker_plan *plan, const mvf_source *source,
                            const cli_options *options);

/* The same for one decoder that reads all of it. */
worker_plan worker_plan_whole(const worker_plan *plan, const cli_options *options);

/* Makes the options' search that of worker `index`. */
void worker_plan_search(const worker_plan *plan, int32_t index, mvf_options *search);

#endif
