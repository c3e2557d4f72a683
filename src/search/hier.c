/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/hier.h"

/* Zero, and the vectors of the parent and its neighbours. */
#define MAX_STARTS 10
#define REACH 1
#define SIDE (2 * REACH + 1)
#define MAX_CANDIDATES (MAX_STARTS * SIDE * SIDE)

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

typedef struct hier_block {
    int32_t x, y, w, h;
    mvf_window window;
    int32_t n_starts;
    mvf_vector starts[MAX_STARTS];
    int32_t n_candidates;
    uint32_t at[MAX_CANDIDATES];
} hier_block;

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void add_start(hier_block *b, int32_t x, int32_t y)
{
    /* Neighbours mostly agree, so the last one first. */
    for (int32_t i = b->n_starts - 1; i >= 0; i--)
        if (b->starts[i].x == x && b->starts[i].y == y)
            return;
    b->starts[b->n_starts++] = (mvf_vector){(int16_t)x, (int16_t)y};
}

static void list_starts(hier_block *b, const mvf_full_config *level, const mvf_full_config *parents,
                        const mvf_match *above, int32_t col, int32_t row)
{
    int32_t shift = level->is_coarse, parent_col = col >> shift, parent_row = row >> shift;
    b->n_starts = 0;
    add_start(b, 0, 0);
    for (int32_t y = parent_row - 1; y <= parent_row + 1; y++)
        for (int32_t x = parent_col - 1; x <= parent_col + 1; x++) {
            if (x < 0 || y < 0 || x >= parents->cols || y >= parents->rows)
                continue;
            const mvf_match *m = &above[(ptrdiff_t)y * parents->cols + x];
            add_start(b, clamp(2 * m->x, -level->range_x, level->range_x),
                      clamp(2 * m->y, -level->range_y, level->range_y));
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

/* The windows round the starts, cut to the block's; where two overlap, candidates come twice. */
static void list_candidates(hier_block *b)
{
    const mvf_window *w = &b->window;
    b->n_candidates = 0;
    for (int32_t i = 0; i < b->n_starts; i++) {
        mvf_vector v = b->starts[i];
        if (!is_inner(w, v)) {
            list_edge_window(b, v);
            continue;
        }
        uint32_t *at = b->at + b->n_candidates;
        uint32_t first =
            (uint32_t)(v.y - REACH - w->y_min) << 16 | (uint32_t)(v.x - REACH - w->x_min);
        for (uint32_t k = 0; k < SIDE * SIDE; k++)
            at[k] = first + (k / SIDE << 16) + k % SIDE;
        b->n_candidates += SIDE * SIDE;
    }
}

static mvf_match best_of(const hier_block *b, const uint32_t *costs)
{
    mvf_match best = {0, 0, UINT32_MAX};
    for (int32_t i = 0; i < b->n_candidates; i++) {
        if (costs[i] > best.cost)
            continue;
        int32_t x = b->window.x_min + (int32_t)(b->at[i] & 0xffff);
        int32_t y = b->window.y_min + (int32_t)(b->at[i] >> 16);
        if (costs[i] < best.cost || mvf_rule_rank_less(x, y, best.x, best.y))
            best = (mvf_match){(int16_t)x, (int16_t)y, costs[i]};
    }
    return best;
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

void mvf_hier_search_rows(const mvf_hier *hier, int32_t level, const mvf_search_kernels *kernels,
                          const mvf_plane *current, const mvf_plane *reference, int32_t row,
                          int32_t row_end, const mvf_match *above, mvf_match *matches)
{
    const mvf_full_config *c = &hier->levels[level];
    hier_block b;
    uint32_t costs[MAX_CANDIDATES];
    for (; row < row_end; row++)
        for (int32_t col = 0; col < c->cols; col++) {
            place_block(&b, c, col, row);
            list_starts(&b, c, &hier->levels[level + 1], above, col, row);
            list_candidates(&b);
            kernels->sad_list[mvf_width_of(b.w)](
                mvf_plane_at(current, b.x, b.y), current->stride_bytes,
                mvf_plane_at(reference, b.x + b.window.x_min, b.y + b.window.y_min),
                reference->stride_bytes, b.w, b.h, b.at, b.n_candidates, costs);
            matches[(ptrdiff_t)row * c->cols + col] = best_of(&b, costs);
        }
}
