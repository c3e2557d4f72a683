/*
 * search/engine.h - what the CPU and the CUDA engine have in common.
 *
 * The searcher validates once and keeps the books; an engine prepares planes and answers jobs. Jobs
 * run in the order of submission or side by side; an engine is used from one thread at a time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_ENGINE_H
#define MVF_SEARCH_ENGINE_H

#include <mvfield/search.h>

#include "base/pool.h"
#include "search/metric_rule.h"
#include "search/patch.h"

/* Squares of 64, 32, 16, 8 and 4, and the halves of all but the last. */
#define MVF_MAX_LEVELS 13

/* One grid of equal blocks. */
typedef struct mvf_level {
    int32_t w, h, cols, rows;
    /* The place of its first block among the matches of a job, and among the blocks of a largest
     * square. */
    size_t first_match;
    int32_t first_node;
} mvf_level;

/* What a search does, validated and with nothing left to default. */
typedef struct mvf_search_config {
    int32_t width, height, bit_depth;
    /* 1 up to 8 bits, else 2. */
    int32_t sample_bytes;
    int32_t block_w, block_h, step_x, step_y, cols, rows;
    int32_t range_x, range_y;
    mvf_method method;
    mvf_effort effort;
    mvf_edges edges;
    /* Units of the matches' vectors in one sample: 1, 4 where they are refined, 16 for true motion.
     */
    int32_t match_scale;
    mvf_subpel subpel;
    mvf_interpolation interpolation;
    mvf_metric refine_metric;
    /* The size of SATD's tiles. */
    int32_t satd_tile;
    mvf_metric metric;
    mvf_rate rate;
    int32_t refine_range;
    mvf_partitions partitions;
    mvf_partition_output partition_output;
    uint32_t leaf_cost;
    mvf_merge merge;
    mvf_smooth smooth;
    /* The grids that get matches: one without partitions. */
    int32_t n_levels;
    mvf_level levels[MVF_MAX_LEVELS];
    /* Matches of one job: the blocks of all levels. */
    size_t n_matches;
    /* The first row of CUDA's table of launch shapes that may serve: tests and benchmarks leave out
     * the ones above it. */
    int32_t first_shape;
    /* Images that CUDA keeps on the device for method truemotion at most, 2 or more; 0: as many as
     * its share of memory holds. */
    int32_t most_images;
} mvf_search_config;

/* The grid of a level, below n_levels. */
mvf_grid mvf_search_grid(const mvf_search_config *config, int32_t level);

/* Whether medians are of the matches of one reference, so that the CUDA engine can take them: those
 * of references that are merged first are of what the field holds. */
static inline int mvf_medians_are_of_matches(const mvf_search_config *config)
{
    return config->smooth == MVF_SMOOTH_MEDIAN && config->merge == MVF_MERGE_NONE;
}

/* One block's answer: a vector in 1/match_scale samples and its cost. */
typedef struct mvf_match {
    int16_t x, y;
    uint32_t cost;
} mvf_match;

typedef struct mvf_engine mvf_engine;
/* A plane in the engine's own form. */
typedef struct mvf_engine_plane mvf_engine_plane;

typedef struct mvf_engine_job {
    const mvf_engine_plane *current, *reference;
    /* n_matches answers, level by level in raster order; written by the time `collect`, or `take`
     * where the engine has it, returns. */
    mvf_match *matches;
    /* Method truemotion writes the field's blocks and their confidence instead, and needs to know
     * the reference of all of them. */
    mvf_block *blocks;
    uint8_t *confidence;
    int8_t dir;
    int16_t ref;
    /* With method truemotion: whether both pictures hold the same samples. */
    int32_t is_identical;
    /* With smooth median room for the median at each match, in the matches' unit, or NULL. */
    mvf_vector *medians;
    /* Whether the engine has smoothed: paths by replacing the matches, medians by writing them. */
    int32_t is_smooth;
    /* Of each block of the grid, or NULL; n_hints hints a block. */
    const mvf_vector *predictors, *hints;
    int32_t n_hints;
    /* The engine's own, from submit to collect, or to take. */
    void *state;
} mvf_engine_job;

typedef struct mvf_engine_ops {
    const char *name;
    /* Logs the cause of a failure through options->logger. */
    mvf_status (*open)(mvf_engine **engine, const mvf_search_config *config,
                       const mvf_options *options);
    /* No job is pending and no plane exists any more. */
    void (*close)(mvf_engine *engine);
    mvf_status (*plane_create)(mvf_engine *engine, mvf_engine_plane **plane);
    /* Takes the samples before it returns, or, of a picture with a stream, before that goes on. No
     * pending job uses the plane. An engine without threads of its own may share out the work among
     * `threads`, or NULL. */
    mvf_status (*plane_load)(mvf_engine *engine, mvf_engine_plane *plane,
                             const mvf_picture *picture, mvf_pool *threads);
    /* The samples in host memory (data and stride), so that another engine can take over. */
    mvf_status (*plane_view)(mvf_engine_plane *plane, mvf_picture *picture);
    /* CUDA's alone: copies the picture from device memory into rows without gaps, as it is (shift
     * and all). Logs the cause of a failure. */
    mvf_status (*fetch)(const mvf_options *options, const mvf_picture *picture, void *samples,
                        size_t row_bytes, int32_t n_rows);
    void (*plane_destroy)(mvf_engine *engine, mvf_engine_plane *plane);
    mvf_status (*submit)(mvf_engine *engine, mvf_engine_job *job);
    /* MVF_AGAIN while the job is not finished and `wait` is 0. Any other answer ends the job, but
     * for `take`. */
    mvf_status (*collect)(mvf_engine *engine, mvf_engine_job *job, int wait);
    /* After collect has returned MVF_OK, once and before the engine closes: writes the answers. On
     * any thread, beside calls of the other functions. NULL: collect has written them. */
    void (*take)(mvf_engine *engine, mvf_engine_job *job);
    /* Runs the tasks on the engine's threads and waits for them. NULL: it has none. */
    void (*run_tasks)(mvf_engine *engine, void (*run)(void *context, int32_t task, int32_t worker),
                      void *context, int32_t n_tasks);
    /* mvf_sad_limit_measure(). NULL: another engine of the same backend has it. */
    mvf_status (*measure_sad)(const mvf_options *options, mvf_sad_limit *limit);
} mvf_engine_ops;

extern const mvf_engine_ops mvf_engine_cpu;
extern const mvf_engine_ops mvf_engine_cuda;
/* On the CPU, for method truemotion. */
extern const mvf_engine_ops mvf_engine_truemotion;

/* Checks options and frame geometry and fills in the config; logs what is wrong. */
mvf_status mvf_search_configure(mvf_search_config *config, const mvf_options *options,
                                int32_t width, int32_t height, int32_t bit_depth);

#endif
