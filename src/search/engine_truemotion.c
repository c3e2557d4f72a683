/*
 * The CPU engine of method truemotion. A pair is two tasks, one for each flow, whose steps follow
 * one another; the task that ends last does the rest. Pairs in flight share out the threads.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "plane/plane.h"
#include "search/engine.h"
#include "search/truemotion_parts.h"

struct mvf_engine {
    mvf_search_config config;
    mvf_cpu_level level;
    mvf_pool *pool;
};

struct mvf_engine_plane {
    mvf_plane plane;
    /* Made from the plane by the first job that needs it, on that job's thread. */
    mvf_tm_image *image;
    pthread_mutex_t mutex;
    int is_built;
};

typedef struct tm_job {
    mvf_pool_job pool_job;
    const mvf_engine *engine;
    mvf_engine_job *job;
    mvf_tm_pair *pair;
    /* Of the two flows, then of the whole. */
    mvf_status statuses[2], status;
    atomic_int n_flows_left;
} tm_job;

static void tm_close(mvf_engine *engine)
{
    mvf_pool_close(&engine->pool);
    free(engine);
}

static mvf_status tm_open(mvf_engine **out, const mvf_search_config *config,
                          const mvf_options *options)
{
    mvf_engine *engine = mvf_alloc_array(1, sizeof *engine);
    if (!engine)
        return MVF_ERROR_MEMORY;
    engine->config = *config;
    engine->level = options->cpu_level;
    int32_t n_workers = options->threads ? options->threads : mvf_processor_count();
    if (mvf_pool_open(&engine->pool, n_workers) != MVF_OK) {
        tm_close(engine);
        return mvf_fail(&options->logger, MVF_ERROR_MEMORY,
                        "the CPU engine cannot start %d threads: out of memory", n_workers);
    }
    *out = engine;
    return MVF_OK;
}

static void tm_plane_destroy(mvf_engine *engine, mvf_engine_plane *plane)
{
    (void)engine;
    pthread_mutex_destroy(&plane->mutex);
    mvf_tm_image_destroy(&plane->image);
    mvf_plane_free(&plane->plane);
    free(plane);
}

static mvf_status tm_plane_create(mvf_engine *engine, mvf_engine_plane **out)
{
    const mvf_search_config *config = &engine->config;
    mvf_engine_plane *plane = mvf_alloc_array(1, sizeof *plane);
    if (!plane)
        return MVF_ERROR_MEMORY;
    if (pthread_mutex_init(&plane->mutex, NULL)) {
        free(plane);
        return MVF_ERROR_MEMORY;
    }
    if (mvf_plane_alloc(&plane->plane, config->width, config->height, config->bit_depth, 0, 0) !=
            MVF_OK ||
        mvf_tm_image_create(&plane->image, config->width, config->height) != MVF_OK) {
        tm_plane_destroy(engine, plane);
        return MVF_ERROR_MEMORY;
    }
    *out = plane;
    return MVF_OK;
}

static mvf_status tm_plane_load(mvf_engine *engine, mvf_engine_plane *plane,
                                const mvf_picture *picture, mvf_pool *threads)
{
    (void)engine;
    (void)threads;
    if (picture->memory != MVF_MEMORY_HOST)
        return MVF_ERROR_UNSUPPORTED;
    mvf_plane_load(&plane->plane, picture);
    plane->is_built = 0;
    return MVF_OK;
}

static mvf_status tm_plane_view(mvf_engine_plane *plane, mvf_picture *picture)
{
    picture->memory = MVF_MEMORY_HOST;
    picture->data = plane->plane.origin;
    picture->stride_bytes = plane->plane.stride_bytes;
    return MVF_OK;
}

static mvf_status build(const mvf_engine_plane *shared)
{
    /* Jobs see planes as read-only: the mutex keeps it so from the first build on. */
    mvf_engine_plane *plane = (mvf_engine_plane *)(uintptr_t)shared;
    mvf_status status = MVF_OK;
    pthread_mutex_lock(&plane->mutex);
    if (!plane->is_built)
        status = mvf_tm_image_load(plane->image, plane->plane.origin, plane->plane.stride_bytes,
                                   plane->plane.bit_depth);
    plane->is_built = status == MVF_OK;
    pthread_mutex_unlock(&plane->mutex);
    return status;
}

static int32_t are_identical(const mvf_plane *a, const mvf_plane *b)
{
    size_t row_bytes = (size_t)a->width * (size_t)a->sample_bytes;
    for (int32_t y = 0; y < a->height; y++)
        if (memcmp(mvf_plane_at(a, 0, y), mvf_plane_at(b, 0, y), row_bytes))
            return 0;
    return 1;
}

static mvf_status find_flow(tm_job *state, mvf_tm_direction direction)
{
    const mvf_engine_job *job = state->job;
    /* Each task begins with the image that the other one needs second. */
    MVF_TRY(build(direction == MVF_TM_FORWARD ? job->current : job->reference));
    MVF_TRY(build(direction == MVF_TM_FORWARD ? job->reference : job->current));
    return mvf_tm_pair_find_flow(state->pair, direction);
}

static mvf_status finish(const tm_job *state)
{
    const mvf_search_config *config = &state->engine->config;
    mvf_engine_job *job = state->job;
    MVF_TRY(state->statuses[MVF_TM_FORWARD]);
    MVF_TRY(state->statuses[MVF_TM_BACKWARD]);
    mvf_tm_match *found = mvf_alloc_array(config->n_matches, sizeof *found);
    if (!found)
        return MVF_ERROR_MEMORY;
    mvf_status status = mvf_tm_pair_match(state->pair, found);
    if (status == MVF_OK)
        mvf_tm_write_blocks(config, found, job);
    job->is_identical = are_identical(&job->current->plane, &job->reference->plane);
    free(found);
    return status;
}

static void run_flow(void *context, int32_t task, int32_t worker)
{
    tm_job *state = context;
    (void)worker;
    state->statuses[task] = find_flow(state, (mvf_tm_direction)task);
    if (atomic_fetch_sub(&state->n_flows_left, 1) == 1)
        state->status = finish(state);
}

static void free_job(tm_job *state)
{
    mvf_tm_pair_close(&state->pair);
    free(state);
}

static mvf_status tm_submit(mvf_engine *engine, mvf_engine_job *job)
{
    const mvf_search_config *config = &engine->config;
    tm_job *state = mvf_alloc_array(1, sizeof *state);
    if (!state)
        return MVF_ERROR_MEMORY;
    state->engine = engine;
    state->job = job;
    atomic_init(&state->n_flows_left, 2);
    if (mvf_tm_pair_open(&state->pair, job->current->image, job->reference->image, config->effort,
                         config->step_x, engine->level) != MVF_OK) {
        free_job(state);
        return MVF_ERROR_MEMORY;
    }
    state->pool_job = (mvf_pool_job){.run = run_flow, .context = state, .n_tasks = 2};
    job->state = state;
    mvf_pool_submit(engine->pool, &state->pool_job);
    return MVF_OK;
}

static mvf_status tm_collect(mvf_engine *engine, mvf_engine_job *job, int wait)
{
    tm_job *state = job->state;
    if (!mvf_pool_finished(engine->pool, &state->pool_job, wait))
        return MVF_AGAIN;
    mvf_status status = state->status;
    free_job(state);
    job->state = NULL;
    return status;
}

const mvf_engine_ops mvf_engine_truemotion = {.name = "cpu",
                                              .open = tm_open,
                                              .close = tm_close,
                                              .plane_create = tm_plane_create,
                                              .plane_load = tm_plane_load,
                                              .plane_view = tm_plane_view,
                                              .plane_destroy = tm_plane_destroy,
                                              .submit = tm_submit,
                                              .collect = tm_collect};
