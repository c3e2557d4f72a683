/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "search/block_search.h"
#include "search/engine.h"
#include "search/reference.h"
#include "search/refine.h"

struct mvf_engine {
    mvf_search_config config;
    mvf_vector *candidates;
    mvf_refiner refiner;
    /* For searches that are its business, else NULL. */
    mvf_block_search *search;
    mvf_pool *pool;
};

struct mvf_engine_plane {
    mvf_plane plane;
};

typedef struct cpu_job {
    mvf_pool_job pool_job;
    const mvf_engine *engine;
    mvf_engine_job *job;
} cpu_job;

static void cpu_close(mvf_engine *engine)
{
    mvf_pool_close(&engine->pool);
    mvf_block_search_close(&engine->search);
    free(engine->candidates);
    free(engine);
}

static mvf_status cpu_open(mvf_engine **out, const mvf_search_config *config,
                           const mvf_options *options)
{
    mvf_engine *engine = mvf_alloc_array(1, sizeof *engine);
    if (!engine)
        return MVF_ERROR_MEMORY;
    engine->config = *config;
    mvf_refiner_init(&engine->refiner, &engine->config, options->cpu_level);
    engine->candidates = mvf_rank_candidates(config->range_x, config->range_y);
    int32_t n_workers = options->threads ? options->threads : mvf_processor_count();
    if (mvf_block_search_needed(config))
        engine->search = mvf_block_search_open(&engine->config, options->cpu_level, n_workers);
    int ok = engine->candidates && (engine->search || !mvf_block_search_needed(config));
    if (!ok || mvf_pool_open(&engine->pool, n_workers) != MVF_OK) {
        cpu_close(engine);
        return mvf_fail(&options->logger, MVF_ERROR_MEMORY,
                        "the CPU engine cannot start %d threads: out of memory", n_workers);
    }
    *out = engine;
    return MVF_OK;
}

static mvf_status cpu_plane_create(mvf_engine *engine, mvf_engine_plane **out)
{
    const mvf_search_config *config = &engine->config;
    mvf_engine_plane *plane = mvf_alloc_array(1, sizeof *plane);
    if (!plane)
        return MVF_ERROR_MEMORY;
    if (mvf_plane_alloc(&plane->plane, config->width, config->height, config->bit_depth,
                        config->range_x, config->range_y) != MVF_OK) {
        free(plane);
        return MVF_ERROR_MEMORY;
    }
    *out = plane;
    return MVF_OK;
}

static mvf_status cpu_plane_load(mvf_engine *engine, mvf_engine_plane *plane,
                                 const mvf_picture *picture)
{
    (void)engine;
    if (picture->memory != MVF_MEMORY_HOST)
        return MVF_ERROR_UNSUPPORTED;
    mvf_plane_load(&plane->plane, picture);
    mvf_plane_extend_sides(&plane->plane, 0, plane->plane.height);
    mvf_plane_extend_ends(&plane->plane);
    return MVF_OK;
}

static void cpu_plane_view(const mvf_engine_plane *plane, mvf_picture *picture)
{
    picture->memory = MVF_MEMORY_HOST;
    picture->data = plane->plane.origin;
    picture->stride_bytes = plane->plane.stride_bytes;
}

static void cpu_plane_destroy(mvf_engine *engine, mvf_engine_plane *plane)
{
    (void)engine;
    mvf_plane_free(&plane->plane);
    free(plane);
}

static void search_block_row(void *context, int32_t row, int32_t worker)
{
    const cpu_job *state = context;
    const mvf_engine *engine = state->engine;
    const mvf_search_config *config = &engine->config;
    mvf_match *matches = state->job->matches + (size_t)row * (size_t)config->cols;
    if (engine->search) {
        mvf_block_search_row(engine->search, &state->job->current->plane,
                             &state->job->reference->plane, state->job, row, worker);
        return;
    }
    for (int32_t col = 0; col < config->cols; col++)
        matches[col] =
            mvf_reference_search_block(config, &state->job->current->plane,
                                       &state->job->reference->plane, engine->candidates, col, row);
    if (config->subpel != MVF_SUBPEL_NONE)
        mvf_refine_row(&engine->refiner, &state->job->current->plane, &state->job->reference->plane,
                       matches, row);
}

static mvf_status cpu_submit(mvf_engine *engine, mvf_engine_job *job)
{
    cpu_job *state = mvf_alloc_array(1, sizeof *state);
    if (!state)
        return MVF_ERROR_MEMORY;
    state->engine = engine;
    state->job = job;
    state->pool_job =
        (mvf_pool_job){.run = search_block_row, .context = state, .n_tasks = engine->config.rows};
    job->state = state;
    mvf_pool_submit(engine->pool, &state->pool_job);
    return MVF_OK;
}

static mvf_status cpu_collect(mvf_engine *engine, mvf_engine_job *job, int wait)
{
    cpu_job *state = job->state;
    if (!mvf_pool_finished(engine->pool, &state->pool_job, wait))
        return MVF_AGAIN;
    free(state);
    job->state = NULL;
    return MVF_OK;
}

const mvf_engine_ops mvf_engine_cpu = {.name = "cpu",
                                       .open = cpu_open,
                                       .close = cpu_close,
                                       .plane_create = cpu_plane_create,
                                       .plane_load = cpu_plane_load,
                                       .plane_view = cpu_plane_view,
                                       .plane_destroy = cpu_plane_destroy,
                                       .submit = cpu_submit,
                                       .collect = cpu_collect};
