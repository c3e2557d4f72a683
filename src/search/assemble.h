/*
 * search/assemble.h - from the matches of a search to the blocks of a field.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_ASSEMBLE_H
#define MVF_SEARCH_ASSEMBLE_H

#include "search/engine.h"

typedef struct mvf_assembly {
    const mvf_search_config *config;
    /* Of each of the field's references, one after the other: n_matches matches, and a predictor
     * for each block of the grid (or NULL). */
    const mvf_match *matches;
    const mvf_vector *predictors;
    const int8_t *dirs;
    /* Has its references, and room for as many blocks as there are matches. */
    mvf_field *field;
} mvf_assembly;

/* Fills in the blocks, how many they are, and the field's flags. */
void mvf_assemble_field(const mvf_assembly *assembly);

#endif
