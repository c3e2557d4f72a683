/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/hier.h"

#include <string.h>

/* Zero, and the vectors of the parent and its neighbours. */
#define MAX_STARTS 10
#define REACH (MVF_SQUARE / 2)
#define MAX_CANDIDATES (MAX_STARTS * MVF_SQUARE * MVF_SQUARE)

void mvf_hier_init(mvf_hier *hier, const mvf_full_config *frame)
{
    hier->top = mvf_rule_top_level(frame->range_x, frame->range_y);
    for (int32_t level = 0; level <= hier->top; level++) {
        mvf_full_config *c = &hier->levels[level];
        *c = *frame;
        c->width = mvf_rule_level_size(frame->width, level);
        c->height = mvf_rule_level_size(frame->height, level);
        c->cols = mvf_rule_level_cells(frame->cols, level);
        c->rows = mvf_rule_level_cells(frame->rows, level);
        c->range_x = mvf_rule_level_range(frame->range_x, level);
        c->range_y = mvf_rule_level_range(frame->range_y, level);
        c->is_coarse = level > 0;
    }
}

/* y << 16 | x, each modulo 2^16. */
typedef uint32_t packed_vector;

typedef struct hier_block {
    int32_t x, y, w, h;
    mvf_window window;
    int32_t n_starts;
    packed_vector starts[MAX_STARTS];
    /* The first candidates of squares, and those of squares that the window cuts. */
    int32_t n_squares, n_candidates;
    uint32_t squares[MAX_STARTS], at[MAX_CANDIDATES];
    mvf_match best;
} hier_block;

/* The starts that a parent and its neighbours give, column by column, the first at `left`. Blocks
 * outside the frame give zero, which is a start anyway. */
typedef struct parent_starts {
    const mvf_full_config *level, *above;
    const mvf_match *matches;
    int32_t row, left;
    packed_vector columns[3][3];
} parent_starts;

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static packed_vector start_from(const parent_starts *p, int32_t col, int32_t row)
{
    if (col < 0 || row < 0 || col >= p->above->cols || row >= p->above->rows)
        return 0;
    const mvf_match *m = &p->matches[(ptrdiff_t)row * p->above->cols + col];
    int32_t x = clamp(2 * m->x, -p->level->range_x, p->level->range_x);
    int32_t y = clamp(2 * m->y, -p->level->range_y, p->level->range_y);
    return (uint32_t)y << 16 | (uint16_t)x;
}

/* So far left that columns -1 to 1 are all filled on the way to the first parent. */
#define BEFORE_FIRST (-4)

/* To the parent in column `col`, at or right of the last one. */
static void move_parents(parent_starts *p, int32_t col)
{
    while (p->left < col - 1) {
        memmove(p->columns[0], p->columns[1], 2 * sizeof p->columns[0]);
        p->left++;
        for (int32_t i = 0; i < 3; i++)
            p->columns[2][i] = start_from(p, p->left + 2, p->row - 1 + i);
    }
}

/* Without branches, since which starts are alike cannot be predicted. */
static void list_starts(hier_block *b, const parent_starts *p)
{
    packed_vector all[MAX_STARTS] = {0};
    memcpy(all + 1, p->columns, sizeof p->columns);
    b->n_starts = 0;
#pragma GCC unroll 10
    for (int32_t i = 0; i < MAX_STARTS; i++) {
        int is_new = 1;
#pragma GCC unroll 10
        for (int32_t k = 0; k < i; k++)
            is_new &= all[i] != all[k];
        b->starts[b->n_starts] = all[i];
        b->n_starts += is_new;
    }
}

static int is_inner(const mvf_window *w, mvf_vector v)
{
    return v.x - REACH >= w->x_min && v.x + REACH <= w->x_max && v.y - REACH >= w->y_min &&
           v.y + REACH <= w->y_max;
}

static void list_edge_window(hier_block *b, mvf_vector start)
{
    const mvf_window *w = &b->window;
    for (int32_t y = start.y - REACH; y <= start.y + REACH; y++)
        for (int32_t x = start.x - REACH; x <= start.x + REACH; x++)
            if (x >= w->x_min && x <= w->x_max && y >= w->y_min && y <= w->y_max)
                b->at[b->n_candidates++] =
                    (uint32_t)(y - w->y_min) << 16 | (uint32_t)(x - w->x_min);
}

/* The windows round the starts; where two overlap, candidates come twice. */
static void list_candidates(hier_block *b)
{
    const mvf_window *w = &b->window;
    b->n_squares = b->n_candidates = 0;
    for (int32_t i = 0; i < b->n_starts; i++) {
        mvf_vector v = {(int16_t)(b->starts[i] & 0xffff), (int16_t)(b->starts[i] >> 16)};
        if (is_inner(w, v))
            b->squares[b->n_squares++] =
                (uint32_t)(v.y - REACH - w->y_min) << 16 | (uint32_t)(v.x - REACH - w->x_min);
        else
            list_edge_window(b, v);
    }
}

static void consider(hier_block *b, uint32_t at, uint32_t cost)
{
    int32_t x = b->window.x_min + (int32_t)(at & 0xffff);
    int32_t y = b->window.y_min + (int32_t)(at >> 16);
    if (cost < b->best.cost || mvf_rule_rank_less(x, y, b->best.x, b->best.y))
        b->best = (mvf_match){(int16_t)x, (int16_t)y, cost};
}

static void consider_square(hier_block *b, uint32_t at, uint32_t lowest, uint32_t where)
{
    for (; where; where &= where - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(where);
        consider(b, at + (i / 4 << 16) + i % 4, lowest);
    }
}

static void place_block(hier_block *b, const mvf_full_config *c, int32_t col, int32_t row)
{
    if (c->is_coarse) {
        int32_t w = mvf_rule_coarse_block(c->block_w), h = mvf_rule_coarse_block(c->block_h);
        b->x = mvf_rule_coarse_origin(col, c->step_x, c->block_w, c->width);
        b->y = mvf_rule_coarse_origin(row, c->step_y, c->block_h, c->height);
        b->w = w < c->width ? w : c->width;
        b->h = h < c->height ? h : c->height;
    } else {
        b->x = col * c->step_x;
        b->y = row * c->step_y;
        b->w = mvf_rule_visible(b->x, c->block_w, c->width);
        b->h = mvf_rule_visible(b->y, c->block_h, c->height);
    }
    b->window = mvf_rule_window(b->x, b->y, b->w, b->h, c->width, c->height, c->range_x, c->range_y,
                                c->inside);
}

/* Whether the block stands still: at no cost, no candidate ranks before zero. */
static int is_still(const hier_block *b, const mvf_search_kernels *kernels,
                    const mvf_plane *current, const mvf_plane *reference)
{
    uint32_t at = 0, cost;
    kernels->sad_list[mvf_width_of(b->w)](mvf_plane_at(current, b->x, b->y), current->stride_bytes,
                                          mvf_plane_at(reference, b->x, b->y),
                                          reference->stride_bytes, b->w, b->h, &at, 1, &cost);
    return cost == 0;
}

static void search_block(hier_block *b, const parent_starts *parents,
                         const mvf_search_kernels *kernels, const mvf_plane *current,
                         const mvf_plane *reference)
{
    uint32_t costs[MAX_CANDIDATES], lowest[MAX_STARTS], where[MAX_STARTS];
    mvf_sad_list_function list = kernels->sad_list[mvf_width_of(b->w)];
    const uint8_t *from = mvf_plane_at(current, b->x, b->y);
    const uint8_t *to = mvf_plane_at(reference, b->x + b->window.x_min, b->y + b->window.y_min);
    list_starts(b, parents);
    list_candidates(b);
    kernels->sad_squares(list, from, current->stride_bytes, to, reference->stride_bytes, b->w, b->h,
                         b->squares, b->n_squares, lowest, where);
    b->best = (mvf_match){0, 0, UINT32_MAX};
    for (int32_t i = 0; i < b->n_squares; i++)
        if (lowest[i] <= b->best.cost)
            consider_square(b, b->squares[i], lowest[i], where[i]);
    if (b->n_candidates == 0)
        return;
    list(from, current->stride_bytes, to, reference->stride_bytes, b->w, b->h, b->at,
         b->n_candidates, costs);
    for (int32_t i = 0; i < b->n_candidates; i++)
        if (costs[i] <= b->best.cost)
            consider(b, b->at[i], costs[i]);
}

void mvf_hier_search_rows(const mvf_hier *hier, int32_t level, const mvf_search_kernels *kernels,
                          const mvf_plane *current, const mvf_plane *reference, int32_t row,
                          int32_t row_end, const mvf_match *above, mvf_match *matches)
{
    const mvf_full_config *c = &hier->levels[level];
    parent_starts parents = {.level = c, .above = c + 1, .matches = above};
    hier_block b;
    for (; row < row_end; row++) {
        mvf_match *line = matches + (ptrdiff_t)row * c->cols;
        parents.row = row >> c->is_coarse;
        parents.left = BEFORE_FIRST;
        for (int32_t col = 0; col < c->cols; col++) {
            place_block(&b, c, col, row);
            move_parents(&parents, col >> c->is_coarse);
            /* Blocks that stand still come together. */
            if (col > 0 && line[col - 1].cost == 0 && is_still(&b, kernels, current, reference))
                b.best = (mvf_match){0, 0, 0};
            else
                search_block(&b, &parents, kernels, current, reference);
            line[col] = b.best;
        }
    }
}
