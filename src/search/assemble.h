/*
 * search/assemble.h - from the matches of a search to the blocks of a field.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_ASSEMBLE_H
#define MVF_SEARCH_ASSEMBLE_H

#include "search/engine.h"

/* Which references a block is predicted from, where they are merged. */
typedef struct mvf_choice {
    int16_t first, second;
    /* Predicted from the average of both, at `cost`. */
    int16_t is_average;
    uint32_t j, cost;
} mvf_choice;

typedef struct mvf_assembly {
    const mvf_search_config *config;
    /* Of each of the field's references, one after the other: n_matches matches, and a predictor
     * for each block of the grid (or NULL). */
    const mvf_match *matches;
    const mvf_vector *predictors;
    /* Of each match, in its unit: the vector that takes the place of its own, or NULL. */
    const mvf_vector *medians;
    const int8_t *dirs;
    /* One for each match of a reference, or NULL: each reference has its own blocks. */
    const mvf_choice *choices;
    /* Has its references, and room for all blocks. */
    mvf_field *field;
} mvf_assembly;

/* A block of a level. */
typedef struct mvf_place {
    const mvf_level *level;
    int32_t col, row;
} mvf_place;

const mvf_match *mvf_assembly_match(const mvf_assembly *assembly, size_t ref, mvf_place place);

/* The rate of the block's vector to that reference, and its J. */
uint32_t mvf_assembly_rate(const mvf_assembly *assembly, size_t ref, mvf_place place);
uint32_t mvf_assembly_j(const mvf_assembly *assembly, size_t ref, mvf_place place);

/* Fills in the position and visible size. */
void mvf_assembly_locate(const mvf_assembly *assembly, mvf_place place, mvf_block *block);

/* Fills in the blocks, how many they are, and the field's flags. */
void mvf_assemble_field(const mvf_assembly *assembly);

#endif
