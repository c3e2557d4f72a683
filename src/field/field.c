/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/field.h>

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

mvf_status mvf_field_alloc(mvf_field **out, size_t n_references, size_t n_blocks)
{
    *out = NULL;
    mvf_field *field = mvf_alloc_array(1, sizeof *field);
    if (!field)
        return MVF_ERROR_MEMORY;
    field->frame = MVF_NO_FRAME;
    field->pts = MVF_NO_PTS;
    field->time_base = (mvf_rational){0, 1};
    field->mv_scale = 1;
    field->references = mvf_alloc_array(n_references, sizeof *field->references);
    field->blocks = mvf_alloc_array(n_blocks, sizeof *field->blocks);
    if (!field->references || !field->blocks) {
        mvf_field_free(&field);
        return MVF_ERROR_MEMORY;
    }
    field->n_references = n_references;
    field->n_blocks = n_blocks;
    *out = field;
    return MVF_OK;
}

void mvf_field_free(mvf_field **slot)
{
    mvf_field *field = *slot;
    if (!field)
        return;
    free(field->references);
    free(field->blocks);
    free(field->confidence);
    free(field);
    *slot = NULL;
}

void mvf_field_measure(const mvf_field *field, mvf_field_statistics *statistics)
{
    *statistics = (mvf_field_statistics){.n_vectors = 0};
    double length_sum = 0;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        if (!block->dir)
            continue;
        double length = hypot(block->mv_x, block->mv_y) / field->mv_scale;
        length_sum += length;
        statistics->n_vectors++;
        statistics->n_still += !block->mv_x && !block->mv_y;
        statistics->cost += block->cost;
        statistics->area_px += (uint64_t)block->w * block->h;
        if (length > statistics->max_length_px)
            statistics->max_length_px = length;
    }
    if (statistics->n_vectors)
        statistics->mean_length_px = length_sum / (double)statistics->n_vectors;
}
