/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "search/block_search.h"
#include "search/engine.h"
#include "search/full.h"
#include "search/hier.h"
#include "search/pyramid.h"
#include "search/rate_cpu.h"
#include "search/refine.h"

struct mvf_engine {
    mvf_search_config config;
    mvf_refiner refiner;
    /* For searches that are its business, else NULL. */
    mvf_block_search *search;
    /* For the others: the full search, of the frame or of the top level of method hier, and what
     * each worker writes. */
    mvf_full_config full;
    mvf_hier hier;
    /* 0 without method hier. */
    int32_t top_level;
    mvf_search_kernels kernels;
    mvf_full_scratch **scratch;
    int32_t n_workers;
    mvf_pool *pool;
};

struct mvf_engine_plane {
    /* Level 0, and with method hier those above. */
    mvf_plane levels[MVF_HIER_MAX_LEVELS];
};

/* What is to be done at one level, once that above is done. */
typedef struct cpu_stage {
    mvf_pool_job pool_job;
    struct cpu_job *owner;
    int32_t level;
    mvf_match *matches;
    atomic_int n_left;
} cpu_stage;

typedef struct cpu_job {
    mvf_engine *engine;
    mvf_engine_job *job;
    cpu_stage stages[MVF_HIER_MAX_LEVELS];
    /* Of the levels above 0. */
    mvf_match *matches;
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

static int open_full_search(mvf_engine *engine, mvf_cpu_level level)
{
    engine->full =
        mvf_full_configure(&engine->config, rows_in_task(&engine->config, engine->n_workers));
    if (engine->config.method == MVF_METHOD_HIER) {
        mvf_hier_init(&engine->hier, &engine->full);
        engine->top_level = engine->hier.top;
        engine->full = engine->hier.levels[engine->top_level];
    }
    mvf_search_kernels_init(&engine->kernels, engine->config.sample_bytes, level);
    engine->scratch = mvf_alloc_array((size_t)engine->n_workers, sizeof *engine->scratch);
    int ok = engine->scratch != NULL;
    for (int32_t i = 0; ok && i < engine->n_workers; i++) {
        engine->scratch[i] = mvf_full_scratch_open(&engine->full, &engine->kernels);
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

static void free_levels(mvf_engine_plane *plane)
{
    for (int32_t level = 0; level < MVF_HIER_MAX_LEVELS; level++)
        mvf_plane_free(&plane->levels[level]);
    free(plane);
}

/* Method hier's filter reads a little outside the frame. */
static int32_t border_for(const mvf_engine *engine, int32_t range)
{
    return engine->top_level && range < 2 ? 2 : range;
}

static mvf_status cpu_plane_create(mvf_engine *engine, mvf_engine_plane **out)
{
    const mvf_search_config *config = &engine->config;
    mvf_engine_plane *plane = mvf_alloc_array(1, sizeof *plane);
    if (!plane)
        return MVF_ERROR_MEMORY;
    mvf_status status =
        mvf_plane_alloc(&plane->levels[0], config->width, config->height, config->bit_depth,
                        border_for(engine, config->range_x), border_for(engine, config->range_y));
    for (int32_t level = 1; status == MVF_OK && level <= engine->top_level; level++)
        status = mvf_pyramid_alloc(&plane->levels[level], config->width, config->height,
                                   config->bit_depth, config->range_x, config->range_y, level);
    if (status == MVF_OK)
        *out = plane;
    else
        free_levels(plane);
    return status;
}

static mvf_status cpu_plane_load(mvf_engine *engine, mvf_engine_plane *plane,
                                 const mvf_picture *picture, mvf_pool *threads)
{
    mvf_plane *frame = &plane->levels[0];
    (void)threads;
    if (picture->memory != MVF_MEMORY_HOST)
        return MVF_ERROR_UNSUPPORTED;
    mvf_plane_load(frame, picture);
    mvf_plane_extend_sides(frame, 0, frame->height);
    mvf_plane_extend_ends(frame);
    for (int32_t level = 1; level <= engine->top_level; level++)
        mvf_pyramid_halve(&engine->kernels, &plane->levels[level - 1], &plane->levels[level]);
    return MVF_OK;
}

static mvf_status cpu_plane_view(mvf_engine_plane *plane, mvf_picture *picture)
{
    picture->memory = MVF_MEMORY_HOST;
    picture->data = plane->levels[0].origin;
    picture->stride_bytes = plane->levels[0].stride_bytes;
    return MVF_OK;
}

static void cpu_plane_destroy(mvf_engine *engine, mvf_engine_plane *plane)
{
    (void)engine;
    free_levels(plane);
}

/* A run of rows of one level, and the frame's refinement. */
static void search_rows(const cpu_stage *stage, int32_t task, int32_t worker)
{
    const mvf_engine *engine = stage->owner->engine;
    const mvf_search_config *config = &engine->config;
    const mvf_engine_job *job = stage->owner->job;
    const mvf_plane *current = &job->current->levels[stage->level];
    const mvf_plane *reference = &job->reference->levels[stage->level];
    int32_t level = stage->level, at_once = engine->full.rows_at_once;
    int32_t rows = level ? engine->hier.levels[level].rows : config->rows;
    int32_t row = task * at_once, row_end = clamp(row + at_once, row, rows);
    if (level == engine->top_level)
        mvf_full_search_rows(&engine->full, &engine->kernels, current, reference, row, row_end,
                             engine->scratch[worker], stage->matches);
    else
        mvf_hier_search_rows(&engine->hier, level, &engine->kernels, current, reference, row,
                             row_end, stage[1].matches, stage->matches);
    for (; level == 0 && row < row_end && config->subpel != MVF_SUBPEL_NONE; row++)
        mvf_refine_row(&engine->refiner, current, reference,
                       stage->matches + (size_t)row * (size_t)config->cols, row);
}

static void run_task(void *context, int32_t task, int32_t worker)
{
    cpu_stage *stage = context;
    mvf_engine *engine = stage->owner->engine;
    const mvf_engine_job *job = stage->owner->job;
    if (engine->search)
        mvf_block_search_row(engine->search, &job->current->levels[0], &job->reference->levels[0],
                             job, task, worker);
    else
        search_rows(stage, task, worker);
    if (atomic_fetch_sub(&stage->n_left, 1) == 1 && stage->level > 0)
        mvf_pool_submit(engine->pool, &stage[-1].pool_job);
}

static int32_t count_tasks(const mvf_engine *engine, int32_t level)
{
    int32_t rows = level ? engine->hier.levels[level].rows : engine->config.rows;
    int32_t at_once = engine->search ? 1 : engine->full.rows_at_once;
    return (rows + at_once - 1) / at_once;
}

static size_t count_matches(const mvf_engine *engine, int32_t level)
{
    const mvf_full_config *c = &engine->hier.levels[level];
    return (size_t)c->cols * (size_t)c->rows;
}

static void free_job(cpu_job *state)
{
    free(state->matches);
    free(state);
}

static cpu_job *create_job(mvf_engine *engine, mvf_engine_job *job)
{
    cpu_job *state = mvf_alloc_array(1, sizeof *state);
    size_t n_matches = 0;
    if (!state)
        return NULL;
    for (int32_t level = 1; level <= engine->top_level; level++)
        n_matches += count_matches(engine, level);
    state->matches = mvf_alloc_array(n_matches, sizeof *state->matches);
    if (!state->matches) {
        free(state);
        return NULL;
    }
    state->engine = engine;
    state->job = job;
    mvf_match *next = state->matches;
    for (int32_t level = 0; level <= engine->top_level; level++) {
        cpu_stage *stage = &state->stages[level];
        int32_t n_tasks = count_tasks(engine, level);
        *stage = (cpu_stage){.pool_job = {.run = run_task, .context = stage, .n_tasks = n_tasks},
                             .owner = state,
                             .level = level,
                             .matches = level ? next : job->matches};
        atomic_init(&stage->n_left, n_tasks);
        next += level ? count_matches(engine, level) : 0;
    }
    return state;
}

static mvf_status cpu_submit(mvf_engine *engine, mvf_engine_job *job)
{
    cpu_job *state = create_job(engine, job);
    if (!state)
        return MVF_ERROR_MEMORY;
    job->state = state;
    mvf_pool_submit(engine->pool, &state->stages[engine->top_level].pool_job);
    return MVF_OK;
}

static mvf_status cpu_collect(mvf_engine *engine, mvf_engine_job *job, int wait)
{
    cpu_job *state = job->state;
    /* Each level on its own: the last worker of one starts the next before it is done itself. */
    for (int32_t level = engine->top_level; level >= 0; level--)
        if (!mvf_pool_finished(engine->pool, &state->stages[level].pool_job, wait))
            return MVF_AGAIN;
    free_job(state);
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
                                       .run_tasks = cpu_run_tasks,
                                       .measure_sad = mvf_cpu_sad_rate};
