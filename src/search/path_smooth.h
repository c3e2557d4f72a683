/*
 * search/path_smooth.h - puts the vectors of a searched grid on smooth paths, by path_rule.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_PATH_SMOOTH_H
#define MVF_SEARCH_PATH_SMOOTH_H

#include "plane/plane.h"
#include "search/engine.h"

/* The searched pictures; they need no borders. */
typedef struct mvf_path_input {
    const mvf_search_config *config;
    mvf_cpu_level level;
    const mvf_plane *current, *reference;
    /* Of each block, or NULL. */
    const mvf_vector *predictors;
    /* Runs tasks that may go side by side. */
    void (*run_tasks)(mvf_engine *engine, void (*run)(void *context, int32_t task, int32_t worker),
                      void *context, int32_t n_tasks);
    mvf_engine *engine;
} mvf_path_input;

/* Replaces the matches of a search for one reference. MVF_ERROR_MEMORY leaves them as they were. */
mvf_status mvf_path_smooth(const mvf_path_input *input, mvf_match *matches);

#endif
