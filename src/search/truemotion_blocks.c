/*
 * What true motion finds, as the blocks of a field.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "search/truemotion_parts.h"

/* Flags are moved, not looked up. */
#define FLAG_SHIFT 2
_Static_assert(MVF_TM_OCCLUDED << FLAG_SHIFT == MVF_BLOCK_OCCLUDED &&
                   MVF_TM_FLAT << FLAG_SHIFT == MVF_BLOCK_FLAT,
               "the flags of matches lie as those of blocks do");

void mvf_tm_write_blocks(const mvf_search_config *config, const mvf_tm_match *matches,
                         const mvf_engine_job *job)
{
    int32_t step = config->step_x, cols = config->cols;
    mvf_block block = {.w = (uint16_t)step, .dir = job->dir, .ref = job->ref};
    for (int32_t row = 0; row < config->rows; row++) {
        size_t first = (size_t)row * (size_t)cols;
        const mvf_tm_match *match = matches + first;
        mvf_block *to = job->blocks + first;
        uint8_t *confidence = job->confidence + first;
        int32_t below = config->height - row * step, past = config->width - (cols - 1) * step;
        block.x = 0;
        block.y = row * step;
        block.h = (uint16_t)(below < step ? below : step);
        for (int32_t col = 0; col < cols; col++, block.x += step) {
            block.mv_x = match[col].x;
            block.mv_y = match[col].y;
            block.cost = match[col].cost;
            block.flags = (uint8_t)(match[col].flags << FLAG_SHIFT);
            confidence[col] = match[col].confidence;
            to[col] = block;
        }
        to[cols - 1].w = (uint16_t)past;
    }
}
