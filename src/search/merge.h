/*
 * search/merge.h - one answer for each block from the answers of several references.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_MERGE_H
#define MVF_SEARCH_MERGE_H

#include "plane/plane.h"
#include "search/assemble.h"
#include "search/refine.h"

/* For each match the two references with the smallest (J, index); `second` is -1 with one. */
void mvf_merge_references(const mvf_assembly *assembly, mvf_choice *choices);

/* The averages of two predictions, in tasks that may run side by side. */
typedef struct mvf_averaging {
    const mvf_assembly *assembly;
    const mvf_refiner *refiner;
    /* Of the current picture and of the references. */
    const mvf_plane *current, *references;
    mvf_choice *choices;
} mvf_averaging;

/* Tasks in all: the rows of all levels. */
int32_t mvf_averaging_tasks(const mvf_search_config *config);

/* Tries the average for each block of one row of one level, and marks the choices that it wins. */
void mvf_average_row(const mvf_averaging *averaging, int32_t task);

#endif
