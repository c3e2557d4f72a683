/*
 * oracle.h - what a search must return, worked out from the text of the rules and of the standards
 * one sample at a time, without any of the library's code.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_ORACLE_H
#define MVF_TESTS_ORACLE_H

#include "check_kernels.h"

/* A vector in quarter samples. */
typedef struct oracle_answer {
    int32_t x, y;
    uint32_t cost;
} oracle_answer;

/* One block to search: its visible rectangle and the size of SATD's tiles. */
typedef struct oracle_block {
    int32_t x, y, w, h;
    int32_t tile;
    /* In quarter samples. */
    mvf_vector predictor;
    const mvf_vector *hints;
    int32_t n_hints;
} oracle_block;

/* The sample of `plane` at (x, y) in quarter samples. */
int32_t oracle_sample(const check_plane *plane, mvf_interpolation filter, int32_t x, int32_t y);

/* What the distance (dx, dy) to the predictor, in quarter samples, adds to J. */
uint64_t oracle_rate(const mvf_options *options, int32_t dx, int32_t dy);

/* The last metric of the search, for the average of two predictions. */
uint32_t oracle_average(const mvf_options *options, const check_plane *current,
                        const check_plane *first, mvf_vector a, const check_plane *second,
                        mvf_vector b, const oracle_block *block);

/* Whether the edge rule allows the vector. */
int oracle_is_candidate(const mvf_options *options, const check_plane *plane,
                        const oracle_block *block, int32_t x, int32_t y);

/* The vector (x, y) with its cost in the last metric of the search, and its J. */
oracle_answer oracle_rate_vector(const mvf_options *options, const check_plane *current,
                                 const check_plane *reference, const oracle_block *block, int32_t x,
                                 int32_t y, uint64_t *j);

oracle_answer oracle_search(const mvf_options *options, const check_plane *current,
                            const check_plane *reference, const oracle_block *block);

#endif
