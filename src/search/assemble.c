/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/assemble.h"

#include <stdlib.h>

#include "search/rule.h"

/* The blocks as they are written, for one reference. */
typedef struct writer {
    const mvf_assembly *assembly;
    size_t ref;
    mvf_block *next;
} writer;

static size_t index_of(mvf_place p)
{
    return p.level->first_match + (size_t)p.row * (size_t)p.level->cols + (size_t)p.col;
}

const mvf_match *mvf_assembly_match(const mvf_assembly *assembly, size_t ref, mvf_place p)
{
    return assembly->matches + ref * assembly->config->n_matches + index_of(p);
}

static mvf_vector predictor_of(const mvf_assembly *assembly, size_t ref, mvf_place p)
{
    const mvf_search_config *config = assembly->config;
    size_t cols = (size_t)config->cols, row = (size_t)p.row, col = (size_t)p.col;
    if (!assembly->predictors)
        return (mvf_vector){0, 0};
    if (config->partitions != MVF_PARTITIONS_FIXED) {
        row = (size_t)(p.row * p.level->h / config->block_h);
        col = (size_t)(p.col * p.level->w / config->block_w);
    }
    return assembly->predictors[ref * cols * (size_t)config->rows + row * cols + col];
}

uint32_t mvf_assembly_rate(const mvf_assembly *assembly, size_t ref, mvf_place p)
{
    const mvf_search_config *config = assembly->config;
    const mvf_match *match = mvf_assembly_match(assembly, ref, p);
    mvf_vector predictor = predictor_of(assembly, ref, p);
    int32_t factor = 4 / config->match_scale;
    return mvf_rule_rate(&config->rate, match->x * factor - predictor.x,
                         match->y * factor - predictor.y);
}

uint32_t mvf_assembly_j(const mvf_assembly *assembly, size_t ref, mvf_place p)
{
    return mvf_assembly_match(assembly, ref, p)->cost + mvf_assembly_rate(assembly, ref, p);
}

/* Fills in where the block lies and how much of it the frame holds. */
static inline void locate(mvf_block *block, mvf_grid grid, int32_t col, int32_t row, int32_t width,
                          int32_t height)
{
    block->x = col * grid.step_x;
    block->y = row * grid.step_y;
    block->w = (uint16_t)mvf_rule_visible(block->x, grid.block_w, width);
    block->h = (uint16_t)mvf_rule_visible(block->y, grid.block_h, height);
}

void mvf_assembly_locate(const mvf_assembly *assembly, mvf_place p, mvf_block *block)
{
    const mvf_search_config *config = assembly->config;
    mvf_grid grid = mvf_search_grid(config, (int32_t)(p.level - config->levels));
    locate(block, grid, p.col, p.row, config->width, config->height);
}

/* What a match becomes; passed by value, for the loop over a whole level. */
typedef struct vector_rule {
    /* From the match's unit to the field's. */
    int32_t factor;
    /* A vector that long, in the match's unit, lies on the border of the search range. */
    int32_t edge_x, edge_y;
    int8_t dir;
    int16_t ref;
} vector_rule;

static vector_rule rule_for(const mvf_assembly *assembly, size_t ref)
{
    const mvf_search_config *config = assembly->config;
    int32_t edge_x = config->range_x * config->match_scale,
            edge_y = config->range_y * config->match_scale;
    return (vector_rule){.factor = assembly->field->mv_scale / config->match_scale,
                         .edge_x = edge_x ? edge_x : INT32_MAX,
                         .edge_y = edge_y ? edge_y : INT32_MAX,
                         .dir = assembly->dirs[ref],
                         .ref = (int16_t)ref};
}

static inline void take_match(mvf_block *block, vector_rule rule, mvf_match match)
{
    int on_edge = abs(match.x) >= rule.edge_x || abs(match.y) >= rule.edge_y;
    block->mv_x = (int16_t)(match.x * rule.factor);
    block->mv_y = (int16_t)(match.y * rule.factor);
    block->cost = match.cost;
    block->dir = rule.dir;
    block->flags = on_edge ? MVF_BLOCK_RANGE_EDGE : 0;
    block->ref = rule.ref;
}

/* The block as it is predicted from one reference. */
static mvf_block *write_vector(writer *w, mvf_place p, size_t ref)
{
    mvf_block *block = w->next++;
    take_match(block, rule_for(w->assembly, ref), *mvf_assembly_match(w->assembly, ref, p));
    mvf_assembly_locate(w->assembly, p, block);
    return block;
}

static void write_block(writer *w, mvf_place p)
{
    if (!w->assembly->choices) {
        write_vector(w, p, w->ref);
        return;
    }
    mvf_choice choice = w->assembly->choices[index_of(p)];
    mvf_block *block = write_vector(w, p, (size_t)choice.first);
    if (!choice.is_average)
        return;
    write_vector(w, p, (size_t)choice.second);
    for (int i = 0; i < 2; i++) {
        block[i].cost = choice.cost;
        block[i].flags |= MVF_BLOCK_AVERAGE;
    }
}

static void write_chosen_level(writer *w, const mvf_level *level)
{
    for (int32_t row = 0; row < level->rows; row++)
        for (int32_t col = 0; col < level->cols; col++)
            write_block(w, (mvf_place){level, col, row});
}

/* Of the reference in turn. */
static void write_level(writer *w, const mvf_level *level)
{
    const mvf_assembly *a = w->assembly;
    const mvf_search_config *config = a->config;
    const mvf_match *match = mvf_assembly_match(a, w->ref, (mvf_place){level, 0, 0});
    mvf_grid grid = mvf_search_grid(config, (int32_t)(level - config->levels));
    vector_rule rule = rule_for(a, w->ref);
    int32_t width = config->width, height = config->height;
    for (int32_t row = 0; row < grid.rows; row++) {
        mvf_block *block = w->next;
        for (int32_t col = 0; col < grid.cols; col++, block++) {
            take_match(block, rule, *match++);
            locate(block, grid, col, row, width, height);
        }
        w->next = block;
    }
}

/* The tree. */

/* Whether the block begins in the frame. */
static int exists(mvf_place p)
{
    return p.col < p.level->cols && p.row < p.level->rows;
}

/* What a block costs as a leaf of the tree; nothing outside the frame. */
static uint64_t leaf_cost(const writer *w, mvf_place p)
{
    const mvf_assembly *a = w->assembly;
    if (!exists(p))
        return 0;
    uint64_t j = a->choices ? a->choices[index_of(p)].j : mvf_assembly_j(a, w->ref, p);
    return j + a->config->leaf_cost;
}

/* The ways to cut a square, in the order that settles ties. */
typedef enum cut { CUT_NONE, CUT_ROWS, CUT_COLUMNS, CUT_FOUR } cut;

static int32_t levels_to_next_square(const mvf_search_config *config)
{
    return config->partitions == MVF_PARTITIONS_RECT ? 3 : 1;
}

static mvf_place half_of(mvf_place square, cut way, int32_t which)
{
    return way == CUT_ROWS ? (mvf_place){square.level + 1, square.col, 2 * square.row + which}
                           : (mvf_place){square.level + 2, 2 * square.col + which, square.row};
}

static mvf_place quarter_of(const writer *w, mvf_place square, int32_t which)
{
    return (mvf_place){square.level + levels_to_next_square(w->assembly->config),
                       2 * square.col + which % 2, 2 * square.row + which / 2};
}

static uint64_t tree_cost(const writer *w, mvf_place square, cut *way);

static uint64_t cost_of_cut(const writer *w, mvf_place square, cut way)
{
    uint64_t sum = 0;
    cut ignored;
    if (way == CUT_NONE)
        return leaf_cost(w, square);
    for (int32_t i = 0; way == CUT_FOUR && i < 4; i++)
        sum += tree_cost(w, quarter_of(w, square, i), &ignored);
    for (int32_t i = 0; way != CUT_FOUR && i < 2; i++)
        sum += leaf_cost(w, half_of(square, way, i));
    return sum;
}

/* The cheapest way to cut the square and what it costs. */
static uint64_t tree_cost(const writer *w, mvf_place square, cut *way)
{
    const mvf_search_config *config = w->assembly->config;
    uint64_t best = leaf_cost(w, square);
    *way = CUT_NONE;
    if (!exists(square) || square.level == &config->levels[config->n_levels - 1])
        return best;
    cut first = config->partitions == MVF_PARTITIONS_RECT ? CUT_ROWS : CUT_FOUR;
    for (cut next = first; next <= CUT_FOUR; next++) {
        uint64_t cost = cost_of_cut(w, square, next);
        if (cost < best) {
            best = cost;
            *way = next;
        }
    }
    return best;
}

static void write_leaf(writer *w, mvf_place p)
{
    if (exists(p))
        write_block(w, p);
}

static void write_tree(writer *w, mvf_place square)
{
    cut way;
    if (!exists(square))
        return;
    tree_cost(w, square, &way);
    if (way == CUT_NONE)
        write_block(w, square);
    for (int32_t i = 0; way == CUT_FOUR && i < 4; i++)
        write_tree(w, quarter_of(w, square, i));
    for (int32_t i = 0; (way == CUT_ROWS || way == CUT_COLUMNS) && i < 2; i++)
        write_leaf(w, half_of(square, way, i));
}

static void write_trees(writer *w)
{
    const mvf_level *level = w->assembly->config->levels;
    for (int32_t row = 0; row < level->rows; row++)
        for (int32_t col = 0; col < level->cols; col++)
            write_tree(w, (mvf_place){level, col, row});
}

/* The planes are identical when each block matches at (0, 0) without cost, since the blocks cover
 * the frame. */
static int is_duplicate(const mvf_field *field, int is_merged)
{
    const mvf_block *blocks = field->blocks;
    for (size_t i = 0; i < field->n_blocks; i++)
        if (blocks[i].cost || blocks[i].mv_x || blocks[i].mv_y ||
            (is_merged && blocks[i].ref != blocks[0].ref))
            return 0;
    return field->n_blocks > 0;
}

/* As mvf_field_smooth(). */
static void take_medians(const mvf_assembly *assembly)
{
    mvf_field *field = assembly->field;
    int32_t factor = field->mv_scale / assembly->config->match_scale;
    for (size_t i = 0; i < field->n_blocks; i++) {
        mvf_block *block = &field->blocks[i];
        int32_t x = assembly->medians[i].x * factor, y = assembly->medians[i].y * factor;
        if (block->mv_x != x || block->mv_y != y)
            block->flags |= MVF_BLOCK_SMOOTHED;
        block->mv_x = (int16_t)x;
        block->mv_y = (int16_t)y;
    }
}

void mvf_assemble_field(const mvf_assembly *assembly)
{
    const mvf_search_config *config = assembly->config;
    mvf_field *field = assembly->field;
    writer w = {.assembly = assembly, .next = field->blocks};
    int is_tree = config->partitions != MVF_PARTITIONS_FIXED &&
                  config->partition_output == MVF_PARTITION_TREE;
    size_t n_layers = assembly->choices ? 1 : field->n_references;
    for (w.ref = 0; w.ref < n_layers; w.ref++) {
        if (is_tree)
            write_trees(&w);
        for (int32_t i = 0; i < config->n_levels && !is_tree; i++)
            if (assembly->choices)
                write_chosen_level(&w, &config->levels[i]);
            else
                write_level(&w, &config->levels[i]);
    }
    field->n_blocks = (size_t)(w.next - field->blocks);
    if (is_duplicate(field, assembly->choices != NULL))
        field->flags |= MVF_FIELD_DUPLICATE;
    if (assembly->medians)
        take_medians(assembly);
}
