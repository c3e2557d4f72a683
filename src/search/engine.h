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

#include "search/metric_rule.h"
#include "search/patch.h"

/* What a search does, validated and with nothing left to default. */
typedef struct mvf_search_config {
    int32_t width, height, bit_depth;
    /* 1 up to 8 bits, else 2. */
    int32_t sample_bytes;
    int32_t block_w, block_h, step_x, step_y, cols, rows;
    int32_t range_x, range_y;
    mvf_method method;
    mvf_edges edges;
    /* Units of the matches' vectors in one sample: 1, or 4 where they are refined. */
    int32_t match_scale;
    mvf_subpel subpel;
    mvf_interpolation interpolation;
    mvf_metric refine_metric;
    /* The size of SATD's tiles. */
    int32_t satd_tile;
} mvf_search_config;

/* The option that CUDA has no kernel for yet, or NULL. */
const char *mvf_search_beyond_cuda(const mvf_search_config *config);

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
    /* cols * rows answers, in raster order; written by the time `collect` returns MVF_OK. */
    mvf_match *matches;
    /* The engine's own, from submit to collect. */
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
    /* Takes the samples before it returns. No pending job uses the plane. */
    mvf_status (*plane_load)(mvf_engine *engine, mvf_engine_plane *plane,
                             const mvf_picture *picture);
    /* The samples in host memory (data and stride), so that another engine can take over. */
    void (*plane_view)(const mvf_engine_plane *plane, mvf_picture *picture);
    void (*plane_destroy)(mvf_engine *engine, mvf_engine_plane *plane);
    mvf_status (*submit)(mvf_engine *engine, mvf_engine_job *job);
    /* MVF_AGAIN while the job is not finished and `wait` is 0. Any other answer ends the job. */
    mvf_status (*collect)(mvf_engine *engine, mvf_engine_job *job, int wait);
} mvf_engine_ops;

extern const mvf_engine_ops mvf_engine_cpu;
extern const mvf_engine_ops mvf_engine_cuda;

/* Checks options and frame geometry and fills in the config; logs what is wrong. */
mvf_status mvf_search_configure(mvf_search_config *config, const mvf_options *options,
                                int32_t width, int32_t height, int32_t bit_depth);

#endif
