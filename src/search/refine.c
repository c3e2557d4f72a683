/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/refine.h"

#include "search/metric_rule.h"
#include "search/subpel_rule.h"

#define PATCH_SIDE (MVF_MAX_BLOCK + 2 * MVF_SUBPEL_MARGIN)

/* A vector in quarter samples and what it costs. */
typedef struct candidate {
    int32_t x, y;
    uint32_t cost, j;
} candidate;

typedef struct refinement {
    const mvf_refiner *refiner;
    const mvf_refine_block *block;
    /* The integer best in whole samples, where block->reference begins. */
    int32_t x, y;
} refinement;

static candidate evaluate(const refinement *r, int32_t x, int32_t y)
{
    const mvf_refiner *refiner = r->refiner;
    const mvf_refine_block *block = r->block;
    uint16_t samples[MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    const mvf_patch prediction = {samples, MVF_MAX_BLOCK * sizeof *samples};
    mvf_patch from = mvf_patch_move(block->reference, (x >> 2) - r->x, (y >> 2) - r->y);
    refiner->predict(prediction, from, block->w, block->h, x & 3, y & 3,
                     refiner->config->bit_depth);
    candidate c = {.x = x, .y = y};
    c.cost = refiner->metric(block->current, prediction, block->w, block->h, UINT32_MAX);
    c.j = c.cost +
          mvf_rule_rate(&refiner->config->rate, x - block->predictor.x, y - block->predictor.y);
    return c;
}

static candidate step(const refinement *r, candidate centre, int32_t distance)
{
    const mvf_search_config *config = r->refiner->config;
    const mvf_refine_block *block = r->block;
    candidate best = centre;
    for (int32_t i = 0; i < 8 && best.j > 0; i++) {
        int32_t x = centre.x + distance * mvf_rule_neighbour_x(i);
        int32_t y = centre.y + distance * mvf_rule_neighbour_y(i);
        if (config->edges == MVF_EDGES_INSIDE &&
            !mvf_rule_subpel_inside(x, y, block->x, block->y, block->w, block->h, config->width,
                                    config->height))
            continue;
        candidate next = evaluate(r, x, y);
        if (next.j < best.j)
            best = next;
    }
    return best;
}

mvf_match mvf_refine(const mvf_refiner *refiner, const mvf_refine_block *block, mvf_match match)
{
    refinement r = {refiner, block, match.x, match.y};
    candidate best = evaluate(&r, 4 * match.x, 4 * match.y);
    best = step(&r, best, 2);
    if (refiner->config->subpel == MVF_SUBPEL_QUARTER)
        best = step(&r, best, 1);
    return (mvf_match){(int16_t)best.x, (int16_t)best.y, best.cost};
}

void mvf_refine_row(const mvf_refiner *refiner, const mvf_plane *current,
                    const mvf_plane *reference, mvf_match *matches, int32_t row)
{
    const mvf_search_config *config = refiner->config;
    uint16_t samples[MVF_MAX_BLOCK * MVF_MAX_BLOCK], around[PATCH_SIDE * PATCH_SIDE];
    const mvf_patch window = {around, PATCH_SIDE * sizeof *around};
    for (int32_t col = 0; col < config->cols; col++) {
        mvf_refine_block block = {.x = col * config->step_x, .y = row * config->step_y};
        block.w = mvf_rule_visible(block.x, config->block_w, config->width);
        block.h = mvf_rule_visible(block.y, config->block_h, config->height);
        block.current = (mvf_patch){samples, MVF_MAX_BLOCK * sizeof *samples};
        block.reference = mvf_patch_move(window, MVF_SUBPEL_MARGIN, MVF_SUBPEL_MARGIN);
        mvf_patch_gather(block.current, current, block.x, block.y, block.w, block.h);
        mvf_patch_gather(window, reference, block.x + matches[col].x - MVF_SUBPEL_MARGIN,
                         block.y + matches[col].y - MVF_SUBPEL_MARGIN,
                         block.w + 2 * MVF_SUBPEL_MARGIN, block.h + 2 * MVF_SUBPEL_MARGIN);
        matches[col] = mvf_refine(refiner, &block, matches[col]);
    }
}

void mvf_refiner_init(mvf_refiner *refiner, const mvf_search_config *config, mvf_cpu_level level)
{
    mvf_metric metric = config->subpel == MVF_SUBPEL_NONE ? config->metric : config->refine_metric;
    *refiner = (mvf_refiner){config,
                             mvf_metric_select(metric, config->satd_tile, config->bit_depth, level),
                             mvf_predict_select(config->interpolation, level)};
}
