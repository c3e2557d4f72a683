/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/merge.h"

#include "search/rule.h"

static size_t index_of(mvf_place p)
{
    return p.level->first_match + (size_t)p.row * (size_t)p.level->cols + (size_t)p.col;
}

/* Puts a reference into its place among the two best; an earlier one wins a tie. */
static void rank(const mvf_assembly *a, mvf_place p, mvf_choice *choice, int16_t ref, uint32_t *j)
{
    uint32_t mine = mvf_assembly_j(a, (size_t)ref, p);
    if (choice->first < 0 || mine < j[0]) {
        choice->second = choice->first;
        j[1] = j[0];
        choice->first = ref;
        j[0] = mine;
    } else if (choice->second < 0 || mine < j[1]) {
        choice->second = ref;
        j[1] = mine;
    }
}

static void merge_block(const mvf_assembly *a, mvf_place p, mvf_choice *choice)
{
    uint32_t j[2] = {0, 0};
    *choice = (mvf_choice){.first = -1, .second = -1};
    for (size_t ref = 0; ref < a->field->n_references; ref++)
        rank(a, p, choice, (int16_t)ref, j);
    choice->j = j[0];
}

void mvf_merge_references(const mvf_assembly *assembly, mvf_choice *choices)
{
    const mvf_search_config *config = assembly->config;
    for (const mvf_level *level = config->levels; level < config->levels + config->n_levels;
         level++)
        for (int32_t row = 0; row < level->rows; row++)
            for (int32_t col = 0; col < level->cols; col++) {
                mvf_place p = {level, col, row};
                merge_block(assembly, p, &choices[index_of(p)]);
            }
}

int32_t mvf_averaging_tasks(const mvf_search_config *config)
{
    int32_t n = 0;
    for (int32_t i = 0; i < config->n_levels; i++)
        n += config->levels[i].rows;
    return n;
}

#define AROUND (MVF_MAX_BLOCK + 2 * MVF_SUBPEL_MARGIN)

/* The block's prediction from one reference by its vector there. */
static void predict(const mvf_averaging *a, mvf_place p, const mvf_block *block, int16_t ref,
                    mvf_patch to)
{
    const mvf_search_config *config = a->assembly->config;
    const mvf_match *match = mvf_assembly_match(a->assembly, (size_t)ref, p);
    uint16_t samples[AROUND * AROUND];
    const mvf_patch around = {samples, AROUND * sizeof *samples};
    int32_t x = match->x * (4 / config->match_scale), y = match->y * (4 / config->match_scale);
    mvf_patch_gather(around, &a->references[ref], block->x + (x >> 2) - MVF_SUBPEL_MARGIN,
                     block->y + (y >> 2) - MVF_SUBPEL_MARGIN, block->w + 2 * MVF_SUBPEL_MARGIN,
                     block->h + 2 * MVF_SUBPEL_MARGIN);
    a->refiner->predict(to, mvf_patch_move(around, MVF_SUBPEL_MARGIN, MVF_SUBPEL_MARGIN), block->w,
                        block->h, x & 3, y & 3, config->bit_depth);
}

static void average_block(const mvf_averaging *a, mvf_place p, mvf_choice *choice)
{
    uint16_t samples[3][MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    mvf_patch current = {samples[0], MVF_MAX_BLOCK * sizeof *samples[0]};
    mvf_patch first = {samples[1], current.stride_bytes},
              second = {samples[2], current.stride_bytes};
    mvf_block block;
    mvf_assembly_locate(a->assembly, p, &block);
    mvf_patch_gather(current, a->current, block.x, block.y, block.w, block.h);
    predict(a, p, &block, choice->first, first);
    predict(a, p, &block, choice->second, second);
    mvf_patch_average(first, second, block.w, block.h);
    uint32_t cost = a->refiner->metric(current, first, block.w, block.h, UINT32_MAX);
    uint64_t j = (uint64_t)cost + mvf_assembly_rate(a->assembly, (size_t)choice->first, p) +
                 mvf_assembly_rate(a->assembly, (size_t)choice->second, p);
    if (j >= choice->j)
        return;
    choice->is_average = 1;
    choice->j = (uint32_t)j;
    choice->cost = cost;
}

void mvf_average_row(const mvf_averaging *averaging, int32_t task)
{
    const mvf_level *level = averaging->assembly->config->levels;
    for (; task >= level->rows; level++)
        task -= level->rows;
    for (int32_t col = 0; col < level->cols; col++) {
        mvf_place p = {level, col, task};
        mvf_choice *choice = &averaging->choices[index_of(p)];
        if (choice->second >= 0 && choice->j > 0)
            average_block(averaging, p, choice);
    }
}
