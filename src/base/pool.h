/*
 * base/pool.h - worker threads that share out the tasks of jobs, oldest job first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_POOL_H
#define MVF_BASE_POOL_H

#include <stdint.h>

#include <mvfield/status.h>

typedef struct mvf_pool mvf_pool;

/* One job: `n_tasks` calls of `run`, in any order and on any worker. The caller owns the struct and
 * keeps it until the job is done. */
typedef struct mvf_pool_job {
    void (*run)(void *context, int32_t task, int32_t worker);
    void *context;
    int32_t n_tasks;
    /* The pool's own. */
    int32_t next_task, n_done;
    struct mvf_pool_job *next_job;
} mvf_pool_job;

/* Starts `n_workers` threads, numbered from 0. */
mvf_status mvf_pool_open(mvf_pool **pool, int32_t n_workers);

int32_t mvf_pool_size(const mvf_pool *pool);

/* Queues a job; never blocks. */
void mvf_pool_submit(mvf_pool *pool, mvf_pool_job *job);

/* Whether all tasks of the job have run; with `wait` non-zero, once they have. */
int mvf_pool_finished(mvf_pool *pool, mvf_pool_job *job, int wait);

/* Takes part in a job that was queued, until all of its tasks have run. They get `worker` -1 from
 * here. */
void mvf_pool_join(mvf_pool *pool, mvf_pool_job *job);

/* Waits for the queued jobs, then ends the threads. Does nothing for NULL. */
void mvf_pool_close(mvf_pool **pool);

/* Processors that this process may run on; at least 1. */
int32_t mvf_processor_count(void);

#endif
