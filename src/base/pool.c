/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

typedef struct worker {
    mvf_pool *pool;
    int32_t index;
    pthread_t thread;
} worker;

struct mvf_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work_queued;
    pthread_cond_t job_done;
    mvf_pool_job *first_job, *last_job;
    int closing;
    int32_t n_workers;
    worker *workers;
};

/* Takes a job of which no task is left out of the queue. */
static void remove_job(mvf_pool *pool, const mvf_pool_job *job)
{
    mvf_pool_job **link = &pool->first_job, *before = NULL;
    while (*link != job) {
        before = *link;
        link = &before->next_job;
    }
    *link = job->next_job;
    if (pool->last_job == job)
        pool->last_job = before;
}

/* Runs the next task of a job that has one left; called with the mutex held, as it returns. */
static void run_task(mvf_pool *pool, mvf_pool_job *job, int32_t index)
{
    int32_t task = job->next_task++;
    if (job->next_task == job->n_tasks)
        remove_job(pool, job);
    pthread_mutex_unlock(&pool->mutex);
    job->run(job->context, task, index);
    pthread_mutex_lock(&pool->mutex);
    if (++job->n_done == job->n_tasks)
        pthread_cond_broadcast(&pool->job_done);
}

/* The oldest job first. */
static void *work(void *argument)
{
    worker *self = argument;
    mvf_pool *pool = self->pool;
    pthread_mutex_lock(&pool->mutex);
    while (pool->first_job || !pool->closing) {
        if (pool->first_job)
            run_task(pool, pool->first_job, self->index);
        else
            pthread_cond_wait(&pool->work_queued, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static mvf_status start_workers(mvf_pool *pool, int32_t n_workers)
{
    while (pool->n_workers < n_workers) {
        worker *next = &pool->workers[pool->n_workers];
        next->pool = pool;
        next->index = pool->n_workers;
        if (pthread_create(&next->thread, NULL, work, next))
            return MVF_ERROR_MEMORY;
        pool->n_workers++;
    }
    return MVF_OK;
}

mvf_status mvf_pool_open(mvf_pool **out, int32_t n_workers)
{
    *out = NULL;
    mvf_pool *pool = mvf_alloc_array(1, sizeof *pool);
    worker *workers = mvf_alloc_array((size_t)n_workers, sizeof *workers);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        return MVF_ERROR_MEMORY;
    }
    pool->workers = workers;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work_queued, NULL);
    pthread_cond_init(&pool->job_done, NULL);
    mvf_status status = start_workers(pool, n_workers);
    if (status != MVF_OK) {
        mvf_pool_close(&pool);
        return status;
    }
    *out = pool;
    return MVF_OK;
}

int32_t mvf_pool_size(const mvf_pool *pool)
{
    return pool->n_workers;
}

void mvf_pool_submit(mvf_pool *pool, mvf_pool_job *job)
{
    pthread_mutex_lock(&pool->mutex);
    job->next_task = 0;
    job->n_done = 0;
    job->next_job = NULL;
    if (job->n_tasks <= 0) {
        pthread_mutex_unlock(&pool->mutex);
        return;
    }
    if (pool->last_job)
        pool->last_job->next_job = job;
    else
        pool->first_job = job;
    pool->last_job = job;
    if (job->n_tasks == 1)
        pthread_cond_signal(&pool->work_queued);
    else
        pthread_cond_broadcast(&pool->work_queued);
    pthread_mutex_unlock(&pool->mutex);
}

int mvf_pool_finished(mvf_pool *pool, mvf_pool_job *job, int wait)
{
    pthread_mutex_lock(&pool->mutex);
    while (wait && job->n_done < job->n_tasks)
        pthread_cond_wait(&pool->job_done, &pool->mutex);
    int finished = job->n_done >= job->n_tasks;
    pthread_mutex_unlock(&pool->mutex);
    return finished;
}

void mvf_pool_join(mvf_pool *pool, mvf_pool_job *job)
{
    pthread_mutex_lock(&pool->mutex);
    while (job->next_task < job->n_tasks)
        run_task(pool, job, -1);
    while (job->n_done < job->n_tasks)
        pthread_cond_wait(&pool->job_done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void mvf_pool_close(mvf_pool **slot)
{
    mvf_pool *pool = *slot;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->work_queued);
    pthread_mutex_unlock(&pool->mutex);
    for (int32_t i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->job_done);
    pthread_cond_destroy(&pool->work_queued);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->workers);
    free(pool);
    *slot = NULL;
}

int32_t mvf_processor_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int32_t)online : 1;
}
