/*
 * Blocks go through the stages of the search in batches, one stage after another, so that each
 * stage's plane of sums stays in the first-level cache from block to block:
 *
 *   guess    a first best vector from zero and the neighbours' vectors, and downhill from there
 *   bounds   candidates whose bound is above the best cost are dropped: by the sums of the coarsest
 *            cells, then of cells half as large, then, where many are left, half again
 *   compare  SADs of what is left, all candidates of a group at once where most are
 *
 * Where bounds by means pay (kernels.h) each block goes on its own instead: they give its guess,
 * the candidate with the lowest one, and then drop candidates in place of all other bounds.
 *
 * Nothing here changes an answer: a bound never exceeds the SAD, and candidates that tie with the
 * best are kept and settled by rank.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "search/full.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "search/means.h"
#include "search/rule.h"
#include "search/sums.h"

#define N_BOUNDS 3
#define BATCH 16
#define MAX_PENDING 8
/* Of means in a window. */
#define MAX_TILES (2 * MVF_MAX_RANGE / MVF_GROUP + 2)
/* AMD EPYC 9004, 16 x 16, +-16, +-32, three clips: 16 to 32 blocks a batch are best; the third
 * bound pays from 24 candidates left; above 150, groups with more than 10 skip it. */
#define THIRD_FROM 24
#define MANY 150
#define MANY_IN_GROUP 10
/* Below a block that bounds did not help, they are not tried but in each row of this many. */
#define PROBE_ROWS 8
/* Where means leave a row of 16 x 16 blocks more work than this on average, in SADs a block, the
 * three bounds by sums are the cheaper way for the rows up to the next that is so tried. */
#define MUCH_WORK 200

typedef struct full_block {
    /* The reference is at candidate (first_x, first_y), from which places are counted: the
     * window's first, or the first of its first tile of means. */
    const uint8_t *current, *reference;
    int32_t x, y, first_x, first_y;
    mvf_window window;
    mvf_match best;
    /* Coarse to fine. */
    mvf_bound bounds[N_BOUNDS];
    mvf_groups groups;
    int32_t n_groups;
    /* Of its means. */
    int32_t slack;
    /* Bounds do not help, or are not worth a try. */
    int is_hopeless;
    uint16_t sums[2 * MVF_MAX_CELLS];
} full_block;

struct mvf_full_scratch {
    mvf_sums sums;
    mvf_means means;
    mvf_groups groups;
    uint32_t *room, *list;
    /* By means, tile after tile. */
    uint16_t *bounds;
    void *memory;
    /* Of each column, whether the block above was hopeless. */
    uint8_t *hopeless;
    full_block blocks[BATCH];
};

typedef struct full_search {
    const mvf_full_config *config;
    const mvf_search_kernels *kernels;
    const mvf_plane *current, *reference;
    mvf_full_scratch *scratch;
    /* Visible size of the blocks of this batch, and what follows from it. */
    int32_t w, h, width;
    int by_means;
    int32_t level[N_BOUNDS], n_cells[N_BOUNDS], least[N_BOUNDS];
    int32_t offsets[N_BOUNDS][MVF_MAX_CELLS];
    uint32_t exact[MVF_CELL_LEVELS][MVF_MAX_CELLS + 4];
    int32_t n_pending;
    uint32_t pending[MAX_PENDING];
    /* Below the last row of the reference whose samples are summed. */
    int32_t sums_end;
    /* Of this row of blocks: those by means, and what these left to do, in SADs. */
    int64_t n_by_means, work;
    int prefers_sums;
} full_search;

static int32_t least_of(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t level_for(int32_t w, int32_t h)
{
    int32_t side = least_of(w, h);
    return side >= 16 ? 2 : side >= 8 ? 1 : 0;
}

/* Comparing candidates. */

static void consider(full_block *b, uint32_t at, uint32_t cost)
{
    int32_t x = b->first_x + (int32_t)(at & 0xffff), y = b->first_y + (int32_t)(at >> 16);
    if (cost < b->best.cost ||
        (cost == b->best.cost && mvf_rule_rank_less(x, y, b->best.x, b->best.y)))
        b->best = (mvf_match){(int16_t)x, (int16_t)y, cost};
}

static void try_list(const full_search *s, full_block *b, const uint32_t *at, int32_t n)
{
    uint32_t costs[MVF_LIST_ROOM];
    s->kernels->sad_list[s->width](b->current, s->current->stride_bytes, b->reference,
                                   s->reference->stride_bytes, s->w, s->h, at, n, costs);
    for (int32_t i = 0; i < n; i++)
        if (costs[i] <= b->best.cost)
            consider(b, at[i], costs[i]);
}

static void try_pending(full_search *s, full_block *b)
{
    try_list(s, b, s->pending, s->n_pending);
    s->n_pending = 0;
}

static void try_later(full_search *s, full_block *b, int32_t x, int32_t y)
{
    s->pending[s->n_pending++] = (uint32_t)(y - b->first_y) << 16 | (uint32_t)(x - b->first_x);
    if (s->n_pending == MAX_PENDING)
        try_pending(s, b);
}

static void try_groups(const full_search *s, full_block *b, const mvf_groups *groups, int32_t n)
{
    uint32_t costs[4 * MVF_GROUP], hits[4];
    s->kernels->sad_groups(s->kernels->sad_list[s->width], b->current, s->current->stride_bytes,
                           b->reference, s->reference->stride_bytes, s->w, s->h, groups->at, n,
                           b->best.cost, costs, hits);
    for (int32_t i = 0; i < n; i++)
        for (uint32_t left = hits[i] & groups->mask[i]; left; left &= left - 1) {
            int32_t x = __builtin_ctz(left);
            consider(b, groups->at[i] + (uint32_t)x, costs[i * MVF_GROUP + x]);
        }
}

/* A candidate with a higher bound cannot win. Nothing ranks before the zero vector. */
static int64_t highest_useful(const full_block *b)
{
    return (int64_t)b->best.cost - (b->best.x == 0 && b->best.y == 0);
}

/* The first guess. */

static int is_in(const full_block *b, int32_t x, int32_t y)
{
    return x >= b->window.x_min && x <= b->window.x_max && y >= b->window.y_min &&
           y <= b->window.y_max;
}

static void go_downhill(full_search *s, full_block *b)
{
    static const int8_t dx[4] = {0, -1, 1, 0}, dy[4] = {-1, 0, 0, 1};
    mvf_match from;
    int32_t steps = 0;
    do {
        from = b->best;
        for (int32_t i = 0; i < 4; i++)
            if (is_in(b, from.x + dx[i], from.y + dy[i]))
                try_later(s, b, from.x + dx[i], from.y + dy[i]);
        try_pending(s, b);
    } while ((b->best.x != from.x || b->best.y != from.y) && ++steps < 8);
}

/* Vectors to start from: `left` is not searched fully yet; `above` is NULL in a first row. */
static void guess(full_search *s, full_block *b, const mvf_match *left, const mvf_match *above,
                  int32_t n_above)
{
    mvf_match starts[4] = {{0, 0, 0}};
    int32_t n = 1;
    if (left)
        starts[n++] = *left;
    for (int32_t i = 0; i < n_above; i++)
        starts[n++] = above[i];
    b->best = (mvf_match){0, 0, UINT32_MAX};
    for (int32_t i = 0; i < n; i++) {
        int is_new = is_in(b, starts[i].x, starts[i].y);
        for (int32_t j = 0; j < i; j++)
            is_new &= starts[i].x != starts[j].x || starts[i].y != starts[j].y;
        if (is_new)
            try_later(s, b, starts[i].x, starts[i].y);
    }
    try_pending(s, b);
    if (highest_useful(b) >= 0 && !b->is_hopeless && !s->by_means)
        go_downhill(s, b);
}

/* Bounds. */

static void place_reference(const full_search *s, full_block *b, int32_t first_x)
{
    b->first_x = first_x;
    b->first_y = b->window.y_min;
    b->reference = mvf_plane_at(s->reference, b->x + first_x, b->y + b->first_y);
}

/* With a cost of 0 only a nearer vector can win. */
static void shrink_window(const full_search *s, full_block *b)
{
    int32_t square = b->best.x * b->best.x + b->best.y * b->best.y, r = 0;
    while ((r + 1) * (r + 1) <= square)
        r++;
    mvf_window *w = &b->window;
    w->x_min = w->x_min < -r ? -r : w->x_min;
    w->x_max = w->x_max > r ? r : w->x_max;
    w->y_min = w->y_min < -r ? -r : w->y_min;
    w->y_max = w->y_max > r ? r : w->y_max;
    place_reference(s, b, w->x_min);
}

static void add_cells(const uint32_t *fine, int32_t nx, int32_t ny, uint32_t *coarse)
{
    for (int32_t y = 0; y + 2 <= ny; y += 2)
        for (int32_t x = 0; x + 2 <= nx; x += 2) {
            const uint32_t *f = fine + y * nx + x;
            *coarse++ = f[0] + f[1] + f[nx] + f[nx + 1];
        }
}

/* In units of the stored sums: a shift loses less than one unit a cell on either side. */
static void set_limits(const full_search *s, full_block *b)
{
    int64_t limit = highest_useful(b);
    for (int32_t i = 0; i < N_BOUNDS; i++) {
        int32_t shift = s->scratch->sums.shift[s->level[i]];
        b->bounds[i].limit = (uint32_t)(shift ? (limit >> shift) + s->n_cells[i] : limit);
    }
}

static void set_bounds(full_search *s, full_block *b)
{
    const mvf_sums *sums = &s->scratch->sums;
    ptrdiff_t at =
        (b->y + b->window.y_min) * sums->stride_bytes + 2 * (ptrdiff_t)(b->x + b->window.x_min);
    uint16_t *next = b->sums;
    s->kernels->cell_sums(b->current, s->current->stride_bytes, s->w, s->h, s->exact[0]);
    add_cells(s->exact[0], s->w / 4, s->h / 4, s->exact[1]);
    add_cells(s->exact[1], s->w / 8, s->h / 8, s->exact[2]);
    for (int32_t i = 0; i < N_BOUNDS; i++) {
        b->bounds[i] = (mvf_bound){.sums = sums->origin[s->level[i]] + at,
                                   .least = s->least[i],
                                   .most = MVF_GROUP,
                                   .count = s->n_cells[i],
                                   .sum = next,
                                   .offset = s->offsets[i]};
        for (int32_t j = 0; j < s->n_cells[i]; j++)
            *next++ = (uint16_t)(s->exact[s->level[i]][j] >> sums->shift[s->level[i]]);
    }
    set_limits(s, b);
}

static int32_t window_width(const full_block *b)
{
    return b->window.x_max - b->window.x_min + 1;
}

static int32_t window_height(const full_block *b)
{
    return b->window.y_max - b->window.y_min + 1;
}

/* Whether the second bound drops less than half of some groups from the middle of the window. */
static int drops_little(const full_search *s, const full_block *b)
{
    enum { MAX_SAMPLE = 32 };
    uint32_t at[MAX_SAMPLE + 16], mask[MAX_SAMPLE + 16];
    mvf_groups sample = {at, mask};
    int32_t all = (window_width(b) + MVF_GROUP - 1) / MVF_GROUP * window_height(b);
    int32_t n = least_of(b->n_groups / 12, MAX_SAMPLE);
    if (b->n_groups < all * 3 / 4 || n < 2)
        return 0;
    memcpy(at, b->groups.at + b->n_groups / 3, (size_t)n * sizeof *at);
    memcpy(mask, b->groups.mask + b->n_groups / 3, (size_t)n * sizeof *mask);
    int32_t before = s->kernels->count_candidates(mask, n), full = n * MVF_GROUP;
    n = s->kernels->bound_groups(&b->bounds[1], s->scratch->sums.stride_bytes, &sample, n);
    return before > full / 2 && 2 * s->kernels->count_candidates(mask, n) > before;
}

/* What the bounds leave. */

/* Every candidate; the columns that do not fill a group go one by one. */
static void compare_all(full_search *s, full_block *b)
{
    uint32_t at[4], all[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    const mvf_groups groups = {at, all};
    int32_t nx = window_width(b), ny = window_height(b), grouped = nx / MVF_GROUP * MVF_GROUP;
    for (int32_t x = 0; x < grouped; x += MVF_GROUP)
        for (int32_t y = 0; y < ny; y += 4) {
            int32_t n = least_of(ny - y, 4);
            for (int32_t i = 0; i < n; i++)
                at[i] = (uint32_t)(y + i) << 16 | (uint32_t)x;
            try_groups(s, b, &groups, n);
        }
    for (int32_t y = 0; y < ny; y++)
        for (int32_t x = grouped; x < nx; x++)
            try_later(s, b, b->window.x_min + x, b->window.y_min + y);
    try_pending(s, b);
}

/* Compares the groups that have many candidates left, and keeps the others. */
static void compare_dense(full_search *s, full_block *b)
{
    uint32_t at[4], mask[4];
    const mvf_groups chosen = {at, mask};
    int32_t dense = s->kernels->dense[s->width], n = 0, n_kept = 0;
    for (int32_t i = 0; i < b->n_groups; i++) {
        if (s->kernels->count_candidates(&b->groups.mask[i], 1) < dense) {
            b->groups.at[n_kept] = b->groups.at[i];
            b->groups.mask[n_kept++] = b->groups.mask[i];
            continue;
        }
        at[n] = b->groups.at[i];
        mask[n++] = b->groups.mask[i];
        if (n == 4) {
            try_groups(s, b, &chosen, n);
            n = 0;
        }
    }
    if (n)
        try_groups(s, b, &chosen, n);
    b->n_groups = n_kept;
}

static void compare_listed(full_search *s, full_block *b)
{
    uint32_t *list = s->scratch->list;
    for (int32_t next = 0; next < b->n_groups && highest_useful(b) >= 0;) {
        int32_t n = s->kernels->list_groups(&b->groups, &next, b->n_groups, list);
        try_list(s, b, list, n);
    }
}

/* Blocks that the second bound leaves with most of their candidates are searched at once; of the
 * others, those with few go without the third bound. */
static void second_bound(full_search *s, full_block *b)
{
    ptrdiff_t stride_bytes = s->scratch->sums.stride_bytes;
    int32_t left = 0;
    b->is_hopeless = drops_little(s, b);
    if (!b->is_hopeless) {
        b->n_groups =
            s->kernels->bound_groups(&b->bounds[1], stride_bytes, &b->groups, b->n_groups);
        left = s->kernels->count_candidates(b->groups.mask, b->n_groups);
    }
    b->is_hopeless |= left > window_width(b) * window_height(b) / 2;
    if (b->is_hopeless) {
        compare_all(s, b);
        b->n_groups = 0;
    }
    int32_t most =
        s->kernels->dense[s->width] < MVF_GROUP && left >= MANY ? MANY_IN_GROUP : MVF_GROUP;
    b->bounds[2].most = left < THIRD_FROM ? 0 : most;
}

/* By means. */

/* A tile's part of the window. */
typedef struct tile_view {
    const uint8_t *means;
    uint16_t *bounds;
    int32_t is_right;
    /* Of the group's first candidate in the window. */
    int32_t x;
    uint32_t columns;
} tile_view;

static tile_view nth_tile(const full_search *s, const full_block *b, int32_t n)
{
    tile_view t = {.x = n * MVF_GROUP, .columns = UINT32_MAX};
    int32_t first = b->first_x + t.x;
    int32_t before = b->window.x_min - first, past = first + MVF_GROUP - 1 - b->window.x_max;
    t.is_right = ((b->x + first) & (MVF_GROUP - 1)) != 0;
    t.means = mvf_means_at(&s->scratch->means, b->x + first, b->y + b->first_y);
    t.bounds = s->scratch->bounds + (ptrdiff_t)n * MVF_BOUNDS_ROOM(window_height(b));
    if (before > 0)
        t.columns <<= before;
    if (past > 0)
        t.columns &= UINT32_MAX >> past;
    return t;
}

/* The candidate with a tile's lowest bound may be a better guess. */
static void try_lowest(full_search *s, full_block *b, const tile_view *t, uint16_t lowest)
{
    int32_t x = b->best.x - b->first_x - t->x, y = b->best.y - b->first_y;
    int is_here = x >= 0 && x < MVF_GROUP && (t->columns >> x & 1);
    uint32_t best = (uint32_t)y << 16 | (uint32_t)x;
    uint32_t at = s->kernels->means_find(t->bounds, s->scratch->means.cell, window_height(b),
                                         t->columns, lowest, is_here ? best : MVF_NOWHERE);
    if (is_here && at == best)
        return;
    at += (uint32_t)t->x;
    try_list(s, b, &at, 1);
}

/* The bounds of the whole window, tile by tile. */
static void bound_tiles(full_search *s, full_block *b, tile_view *tiles, int32_t n)
{
    int32_t cell = s->scratch->means.cell, n_rows = s->h / cell, low_tile = 0;
    uint16_t lowest = 0;
    uint8_t means[16];
    b->slack = s->kernels->means_block(b->current, s->current->stride_bytes, cell, n_rows, means);
    for (int32_t i = 0; i < n; i++) {
        tiles[i] = nth_tile(s, b, i);
        uint16_t low =
            s->kernels->means_bounds(tiles[i].means, cell, tiles[i].is_right, means, n_rows,
                                     window_height(b), tiles[i].columns, tiles[i].bounds);
        if (i == 0 || low < lowest) {
            lowest = low;
            low_tile = i;
        }
    }
    try_lowest(s, b, &tiles[low_tile], lowest);
}

static void search_by_means(full_search *s, full_block *b)
{
    tile_view tiles[MAX_TILES];
    int32_t x = b->x + b->window.x_min, cell = s->scratch->means.cell, tile = x & -MVF_GROUP;
    b->groups = s->scratch->groups;
    place_reference(s, b, tile + (x - tile >= 4 * cell ? 4 * cell : 0) - b->x);
    int32_t n = (b->window.x_max - b->first_x) / MVF_GROUP + 1;
    bound_tiles(s, b, tiles, n);
    int64_t limit = (highest_useful(b) + b->slack) / (cell * cell);
    b->n_groups = 0;
    for (int32_t i = 0; i < n; i++)
        b->n_groups =
            s->kernels->means_groups(tiles[i].bounds, cell, window_height(b),
                                     (uint16_t)(limit < UINT16_MAX ? limit : UINT16_MAX),
                                     tiles[i].columns, tiles[i].x, &b->groups, b->n_groups);
    int32_t dense = s->kernels->dense[s->width], n_found = b->n_groups;
    compare_dense(s, b);
    int32_t work =
        (n_found - b->n_groups) * dense + s->kernels->count_candidates(b->groups.mask, b->n_groups);
    s->n_by_means++;
    s->work += work;
    b->is_hopeless = work > window_width(b) / MVF_GROUP * window_height(b) * dense * 3 / 4;
    compare_listed(s, b);
}

/* A batch. */

static void first_bound(full_search *s, full_block **blocks, int32_t n)
{
    mvf_groups next = s->scratch->groups;
    for (int32_t i = 0; i < n; i++) {
        full_block *b = blocks[i];
        b->groups = next;
        b->n_groups =
            s->kernels->bound_window(&b->bounds[0], s->scratch->sums.stride_bytes, window_width(b),
                                     window_height(b), &next, s->scratch->room);
        next.at += b->n_groups + 16;
        next.mask += b->n_groups + 16;
    }
}

static void search_batch(full_search *s, int32_t n)
{
    full_block *open[BATCH];
    int32_t n_open = 0;
    for (int32_t i = 0; i < n; i++) {
        full_block *b = &s->scratch->blocks[i];
        if (highest_useful(b) < 0)
            continue;
        if (b->best.cost == 0)
            shrink_window(s, b);
        if (b->is_hopeless || s->n_cells[0] == 0) {
            compare_all(s, b);
            continue;
        }
        if (s->by_means) {
            search_by_means(s, b);
            continue;
        }
        set_bounds(s, b);
        open[n_open++] = b;
    }
    first_bound(s, open, n_open);
    for (int32_t i = 0; i < n_open; i++)
        second_bound(s, open[i]);
    for (int32_t i = 0; i < n_open; i++)
        if (open[i]->bounds[2].most) {
            set_limits(s, open[i]);
            open[i]->n_groups =
                s->kernels->bound_groups(&open[i]->bounds[2], s->scratch->sums.stride_bytes,
                                         &open[i]->groups, open[i]->n_groups);
        }
    for (int32_t i = 0; i < n_open; i++)
        compare_dense(s, open[i]);
    for (int32_t i = 0; i < n_open; i++)
        compare_listed(s, open[i]);
}

static void set_cells(full_search *s, int32_t i)
{
    int32_t cell = MVF_CELL(s->level[i]);
    s->n_cells[i] = 0;
    for (int32_t y = 0; y + cell <= s->h; y += cell)
        for (int32_t x = 0; x + cell <= s->w; x += cell)
            s->offsets[i][s->n_cells[i]++] =
                (int32_t)(y * s->scratch->sums.stride_bytes + 2 * (ptrdiff_t)x);
}

/* Whether the block's bounds are by means: those of 4 x n cells are. */
static int goes_by_means(const full_search *s, int32_t w, int32_t h)
{
    int32_t cell = s->scratch->means.cell;
    return cell && w == 4 * cell && h >= cell && h <= 4 * cell && !s->prefers_sums;
}

/* The first bound has the coarsest cells that fit the visible block. */
static void set_size(full_search *s, int32_t w, int32_t h)
{
    s->w = w;
    s->h = h;
    s->width = mvf_width_of(w);
    for (int32_t i = 0; i < N_BOUNDS; i++) {
        s->level[i] = level_for(w, h) - i > 0 ? level_for(w, h) - i : 0;
        s->least[i] = 1;
        set_cells(s, i);
    }
    s->by_means = goes_by_means(s, w, h);
    int third_helps = s->level[2] != s->level[1] && s->n_cells[2] <= 64;
    s->least[2] = third_helps ? 3 : MVF_GROUP + 1;
}

/* One dimension of a block: where it begins and how much of it is visible. */
typedef struct extent {
    int32_t origin, size;
} extent;

static extent extent_of(const mvf_full_config *c, int32_t cell, int32_t step, int32_t block,
                        int32_t frame)
{
    if (!c->is_coarse)
        return (extent){cell * step, mvf_rule_visible(cell * step, block, frame)};
    return (extent){mvf_rule_coarse_origin(cell, step, block, frame),
                    least_of(mvf_rule_coarse_block(block), frame)};
}

static void place_block(const full_search *s, full_block *b, int32_t x, int32_t y)
{
    const mvf_full_config *c = s->config;
    b->x = x;
    b->y = y;
    b->window =
        mvf_rule_window(x, y, s->w, s->h, c->width, c->height, c->range_x, c->range_y, c->inside);
    b->current = mvf_plane_at(s->current, x, y);
    place_reference(s, b, b->window.x_min);
}

/* Blocks of one size from `col` on, with their guesses; returns how many. */
static int32_t start_batch(full_search *s, const mvf_match *row, const mvf_match *above,
                           int32_t col, extent y)
{
    const mvf_full_config *c = s->config;
    int32_t n = 0;
    /* By means one at a time, so that its left neighbour's vector is there. */
    for (; n < (n && s->by_means ? 1 : BATCH) && col + n < c->cols; n++) {
        full_block *b = &s->scratch->blocks[n];
        extent x = extent_of(c, col + n, c->step_x, c->block_w, c->width);
        if (x.size != s->w || y.size != s->h) {
            if (n)
                break;
            set_size(s, x.size, y.size);
        }
        place_block(s, b, x.origin, y.origin);
        b->is_hopeless = s->scratch->hopeless[col + n];
        /* The left one's bounds by means are done: of noise, both are hopeless. */
        if (s->by_means && col > 0)
            b->is_hopeless &= s->scratch->hopeless[col - 1];
        const mvf_match *left = n ? &s->scratch->blocks[n - 1].best : col ? &row[col - 1] : NULL;
        int32_t n_above = above ? least_of(c->cols - col - n, 2) : 0;
        guess(s, b, left, above ? above + col + n : NULL, n_above);
    }
    return n;
}

static void make_means(full_search *s, extent y)
{
    mvf_means *means = &s->scratch->means;
    int32_t range = s->config->range_y;
    mvf_means_extend(means, s->kernels, s->reference, y.origin - range,
                     y.origin + y.size - means->cell + range + 1);
}

static void make_sums(full_search *s, extent y)
{
    int32_t first = y.origin - s->config->range_y;
    /* Rows that were skipped stay out. */
    if (first > s->sums_end)
        mvf_sums_begin(&s->scratch->sums, first);
    s->sums_end = y.origin + y.size + s->config->range_y;
    mvf_sums_extend(&s->scratch->sums, s->kernels, s->reference, s->sums_end);
}

/* What the bounds of a row of blocks need, if one of them needs any. The last block may be
 * narrower than the others. */
static void prepare_row(full_search *s, extent y)
{
    const mvf_full_config *c = s->config;
    extent first = extent_of(c, 0, c->step_x, c->block_w, c->width);
    extent last = extent_of(c, c->cols - 1, c->step_x, c->block_w, c->width);
    int by_means[2] = {goes_by_means(s, first.size, y.size), goes_by_means(s, last.size, y.size)};
    if (!memchr(s->scratch->hopeless, 0, (size_t)c->cols))
        return;
    if (by_means[0] || by_means[1])
        make_means(s, y);
    if (!by_means[0] || !by_means[1])
        make_sums(s, y);
}

/* With w = 0 the next block is sized anew, which settles how it goes. */
static void prefer_cheaper(full_search *s)
{
    s->prefers_sums = s->scratch->means.cell == 4 && s->work > MUCH_WORK * s->n_by_means;
    s->w = 0;
}

static void probe_again(full_search *s)
{
    memset(s->scratch->hopeless, 0, (size_t)s->config->cols);
    s->n_by_means = s->work = 0;
    s->prefers_sums = 0;
    s->w = 0;
}

void mvf_full_search_rows(const mvf_full_config *config, const mvf_search_kernels *kernels,
                          const mvf_plane *current, const mvf_plane *reference, int32_t row,
                          int32_t row_end, mvf_full_scratch *scratch, mvf_match *matches)
{
    full_search s = {.config = config,
                     .kernels = kernels,
                     .current = current,
                     .reference = reference,
                     .scratch = scratch};
    const mvf_match *above = NULL;
    extent y;
    s.sums_end = INT32_MIN;
    mvf_means_reset(&scratch->means);
    memset(scratch->hopeless, 0, (size_t)config->cols);
    for (int32_t i = 0; row < row_end; row++, i++) {
        mvf_match *line = matches + (ptrdiff_t)row * config->cols;
        y = extent_of(config, row, config->step_y, config->block_h, config->height);
        if (i % PROBE_ROWS == 0)
            probe_again(&s);
        prepare_row(&s, y);
        for (int32_t col = 0, n; col < config->cols; col += n) {
            n = start_batch(&s, line, above, col, y);
            search_batch(&s, n);
            for (int32_t k = 0; k < n; k++) {
                line[col + k] = scratch->blocks[k].best;
                scratch->hopeless[col + k] = (uint8_t)scratch->blocks[k].is_hopeless;
            }
        }
        if (i % PROBE_ROWS == 0)
            prefer_cheaper(&s);
        above = line;
    }
}

/* Memory. */

static int open_lists(mvf_full_scratch *scratch, const mvf_full_config *config)
{
    size_t nx = 2 * (size_t)config->range_x + 1, ny = 2 * (size_t)config->range_y + 1;
    size_t n_groups = ((nx + MVF_GROUP - 1) / MVF_GROUP * ny + 32) * BATCH;
    size_t n_bounds = scratch->means.cell ? (nx / MVF_GROUP + 2) * MVF_BOUNDS_ROOM(ny) : 0;
    /* So many that the bounds behind them are aligned. */
    size_t n_words = (2 * n_groups + MVF_LIST_ROOM + ny + 16 + 15) / 16 * 16;
    uint32_t *memory = mvf_alloc_aligned(n_words + n_bounds / 2, sizeof *memory);
    if (!memory)
        return 0;
    scratch->memory = memory;
    scratch->bounds = (uint16_t *)(memory + n_words);
    scratch->groups = (mvf_groups){memory, memory + n_groups};
    scratch->list = memory + 2 * n_groups;
    scratch->room = scratch->list + MVF_LIST_ROOM;
    return 1;
}

static mvf_status alloc_means(mvf_full_scratch *scratch, const mvf_full_config *config,
                              const mvf_search_kernels *kernels, int32_t block_w, int32_t block_h)
{
    if (!kernels->has_means || config->sample_bytes != 1 || block_w != block_h ||
        (block_w != 8 && block_w != 16) || config->width < block_w)
        return MVF_OK;
    return mvf_means_alloc(&scratch->means, block_w / 4, -config->range_x,
                           config->width - block_w + config->range_x + 1,
                           block_h + 2 * config->range_y, config->step_y);
}

mvf_full_config mvf_full_configure(const mvf_search_config *config, int32_t rows_at_once)
{
    return (mvf_full_config){.width = config->width,
                             .height = config->height,
                             .bit_depth = config->bit_depth,
                             .sample_bytes = config->sample_bytes,
                             .block_w = config->block_w,
                             .block_h = config->block_h,
                             .step_x = config->step_x,
                             .step_y = config->step_y,
                             .cols = config->cols,
                             .rows = config->rows,
                             .range_x = config->range_x,
                             .range_y = config->range_y,
                             .inside = config->edges == MVF_EDGES_INSIDE,
                             .rows_at_once = rows_at_once};
}

mvf_full_scratch *mvf_full_scratch_open(const mvf_full_config *config,
                                        const mvf_search_kernels *kernels)
{
    mvf_full_scratch *scratch = mvf_alloc_array(1, sizeof *scratch);
    int32_t block_w = config->is_coarse ? mvf_rule_coarse_block(config->block_w) : config->block_w;
    int32_t block_h = config->is_coarse ? mvf_rule_coarse_block(config->block_h) : config->block_h;
    int32_t n_rows = (config->rows_at_once - 1) * config->step_y + block_h + 2 * config->range_y;
    if (!scratch)
        return NULL;
    scratch->hopeless = mvf_alloc_array((size_t)config->cols, 1);
    if (!scratch->hopeless ||
        mvf_sums_alloc(&scratch->sums, config->width, config->range_x, n_rows, config->bit_depth,
                       level_for(block_w, block_h)) != MVF_OK ||
        alloc_means(scratch, config, kernels, block_w, block_h) != MVF_OK ||
        !open_lists(scratch, config))
        mvf_full_scratch_close(&scratch);
    return scratch;
}

void mvf_full_scratch_close(mvf_full_scratch **slot)
{
    mvf_full_scratch *scratch = *slot;
    if (!scratch)
        return;
    mvf_sums_free(&scratch->sums);
    mvf_means_free(&scratch->means);
    mvf_free_aligned(scratch->memory);
    free(scratch->hopeless);
    free(scratch);
    *slot = NULL;
}
