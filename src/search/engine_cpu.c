/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "search/block_search.h"
#include "search/engine.h"
#include "search/full.h"
#include "search/refine.h"

struct mvf_engine {
    mvf_search_config config;
    mvf_refiner refiner;
    /* For searches that are its business, else NULL. */
    mvf_block_search *search;
    /* For the others: the full search, and what each worker writes. */
    mvf_full_config full;
    mvf_search_kernels kernels;
    mvf_full_scratch **scratch;
    int32_t n_workers;
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
    for (int32_t i = 0; engine->scratch && i < engine->n_workers; i++)
        mvf_full_scratch_close(&engine->scratch[i]);
    free(engine->scratch);
    free(engine);
}

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Rows of blocks in one task: enough tasks for all workers to end together, but each as long as it
 * can be, since its first row lacks neighbours to start from and sums of the rows above. */
static int32_t rows_in_task(const mvf_search_config *config, int32_t n_workers)
{
    if (n_workers == 1)
        return clamp(config->rows, 1, 32);
    return clamp(config->rows / (4 * n_workers), 4, 32);
}

static mvf_full_config full_config(const mvf_search_config *config, int32_t n_workers)
{
    return (mvf_full_config){.width = config->width,
                             .height = config->height,
                             .bit_depth = config->bit_depth,
                             .sample_bytes = config->sample_bytes,
                             .block_w = config->block_w,
                             .block_h = config->block_h,
                             .step_x = config->step_x,
                             .step_y = config->step_y,
                             .cols = config->cols,
                             .rows = config->rows,
                             .range_x = config->range_x,
                             .range_y = config->range_y,
                             .inside = config->edges == MVF_EDGES_INSIDE,
                             .rows_at_once = rows_in_task(config, n_workers)};
}

static int open_full_search(mvf_engine *engine, mvf_cpu_level level)
{
    engine->full = full_config(&engine->config, engine->n_workers);
    mvf_search_kernels_init(&engine->kernels, engine->config.sample_bytes, level);
    engine->scratch = mvf_alloc_array((size_t)engine->n_workers, sizeof *engine->scratch);
    int ok = engine->scratch != NULL;
    for (int32_t i = 0; ok && i < engine->n_workers; i++) {
        engine->scratch[i] = mvf_full_scratch_open(&engine->full);
        ok = engine->scratch[i] != NULL;
    }
    return ok;
}

static int open_searches(mvf_engine *engine, mvf_cpu_level level)
{
    mvf_refiner_init(&engine->refiner, &engine->config, level);
    if (!mvf_block_search_needed(&engine->config))
        return open_full_search(engine, level);
    engine->search = mvf_block_search_open(&engine->config, level, engine->n_workers);
    return engine->search != NULL;
}

static mvf_status cpu_open(mvf_engine **out, const mvf_search_config *config,
                           const mvf_options *options)
{
    mvf_engine *engine = mvf_alloc_array(1, sizeof *engine);
    if (!engine)
        return MVF_ERROR_MEMORY;
    engine->config = *config;
    engine->n_workers = options->threads ? options->threads : mvf_processor_count();
    if (!open_searches(engine, options->cpu_level) ||
        mvf_pool_open(&engine->pool, engine->n_workers) != MVF_OK) {
        int32_t n_workers = engine->n_workers;
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

/* Task i of the full search: a run of rows, then their refinement. */
static void search_rows(const cpu_job *state, int32_t task, int32_t worker)
{
    const mvf_engine *engine = state->engine;
    const mvf_search_config *config = &engine->config;
    const mvf_plane *current = &state->job->current->plane;
    const mvf_plane *reference = &state->job->reference->plane;
    int32_t row = task * engine->full.rows_at_once;
    int32_t row_end = clamp(row + engine->full.rows_at_once, row, config->rows);
    mvf_full_search_rows(&engine->full, &engine->kernels, current, reference, row, row_end,
                         engine->scratch[worker], state->job->matches);
    for (; row < row_end && config->subpel != MVF_SUBPEL_NONE; row++)
        mvf_refine_row(&engine->refiner, current, reference,
                       state->job->matches + (size_t)row * (size_t)config->cols, row);
}

static void run_task(void *context, int32_t task, int32_t worker)
{
    const cpu_job *state = context;
    if (state->engine->search)
        mvf_block_search_row(state->engine->search, &state->job->current->plane,
                             &state->job->reference->plane, state->job, task, worker);
    else
        search_rows(state, task, worker);
}

static int32_t count_tasks(const mvf_engine *engine)
{
    int32_t rows = engine->config.rows, at_once = engine->full.rows_at_once;
    return engine->search ? rows : (rows + at_once - 1) / at_once;
}

static mvf_status cpu_submit(mvf_engine *engine, mvf_engine_job *job)
{
    cpu_job *state = mvf_alloc_array(1, sizeof *state);
    if (!state)
        return MVF_ERROR_MEMORY;
    state->engine = engine;
    state->job = job;
    state->pool_job =
        (mvf_pool_job){.run = run_task, .context = state, .n_tasks = count_tasks(engine)};
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

static void cpu_run_tasks(mvf_engine *engine,
                          void (*run)(void *context, int32_t task, int32_t worker), void *context,
                          int32_t n_tasks)
{
    mvf_pool_job job = {.run = run, .context = context, .n_tasks = n_tasks};
    mvf_pool_submit(engine->pool, &job);
    mvf_pool_finished(engine->pool, &job, 1);
}

const mvf_engine_ops mvf_engine_cpu = {.name = "cpu",
                                       .open = cpu_open,
                                       .close = cpu_close,
                                       .plane_create = cpu_plane_create,
                                       .plane_load = cpu_plane_load,
                                       .plane_view = cpu_plane_view,
                                       .plane_destroy = cpu_plane_destroy,
                                       .submit = cpu_submit,
                                       .collect = cpu_collect,
                                       .run_tasks = cpu_run_tasks};
