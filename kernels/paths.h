/*
 * paths.h - paths through the labels of a grid of cells, along rows and columns in both
 * senses: step 7 of search/truemotion.h, and the paths of search/path_rule.h.
 *
 * A team of lanes takes a line in one sense, one lane a label.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_PATHS_H
#define MVF_KERNELS_PATHS_H

#include "params.h"
#include "search/truemotion_rule.h"
#include "vectors.h"
#include "warp.h"

/* Of each cell MVF_TM_PLACES labels and their costs, and as many L for each sense. */
struct label_grid {
    const uint32_t *labels;
    const int16_t *costs;
    int16_t *paths;
    /* From one sense to the next. */
    int64_t path_bytes;
    int32_t cols, rows;
    int32_t by_rows, by_cols;
    int32_t penalty_max;
};

static __device__ __forceinline__ int16_t *paths_of_sense(const label_grid &g, int32_t sense)
{
    return (int16_t *)((uint8_t *)g.paths + sense * g.path_bytes);
}

/* A line of cells in one sense. */
struct label_line {
    int32_t first, step, n, sense;
};

static __device__ __forceinline__ label_line line_of_team(const label_grid &g, int32_t index)
{
    int32_t n_row_lines = g.by_rows ? 2 * g.rows : 0, along = index < n_row_lines;
    int32_t which = (along ? index : index - n_row_lines) >> 1, back = index & 1;
    label_line line = {along ? which * g.cols : which, along ? 1 : g.cols, along ? g.cols : g.rows,
                       (along ? 0 : 2) + back};
    if (back) {
        line.first += (line.n - 1) * line.step;
        line.step = -line.step;
    }
    return line;
}

/* How many cells ahead of their use labels and costs are fetched. */
#define AHEAD MVF_TM_PATH_AHEAD

/* What comes in of a line, and the way along it. */
struct label_reader {
    const uint32_t *labels; /* of the line's first cell */
    const int16_t *costs;
    int32_t step, last; /* from cell to cell, in places; the last cell */
    uint32_t label[AHEAD];
    int32_t cost[AHEAD];
};

static __device__ __forceinline__ void fetch(label_reader &in, int32_t lane, int32_t cell, int k)
{
    int64_t at = (int64_t)min(cell, in.last) * in.step + lane;
    in.label[k] = in.labels[at];
    in.cost[k] = in.costs[at];
}

/* The cheapest way to a label from those of the cell before: one of them and the step between both,
 * less what the cheapest of them cost. */
static __device__ __forceinline__ int32_t way_to(const uint32_t *before, int32_t sum,
                                                 uint32_t label, int32_t penalty_max)
{
    int32_t best = INT32_MAX, least = INT32_MAX;
    uint4 four = *(const uint4 *)before;
    uint2 two = *(const uint2 *)(before + 4);
    uint32_t vectors[MVF_TM_LABELS] = {four.x, four.y, four.z, four.w, two.x, two.y};
#pragma unroll
    for (int32_t j = 0; j < MVF_TM_LABELS; j++) {
        int32_t from = __shfl_sync(ALL_LANES, sum, j, MVF_TM_TEAM);
        least = min(least, from);
        best = __viaddmin_s32(
            from, min(MVF_TM_PENALTY_SLOPE * distance(label, vectors[j]), penalty_max), best);
    }
    return best - least;
}

/* L of each cell of line `index`: the team's one, and no line where that is past the last. */
static __device__ __forceinline__ void walk_line(const label_grid &g, int32_t index)
{
    int32_t lane = threadIdx.x % MVF_TM_TEAM;
    int32_t n_lines = (g.by_rows ? 2 * g.rows : 0) + (g.by_cols ? 2 * g.cols : 0);
    int32_t exists = index < n_lines;
    label_line line = line_of_team(g, min(index, n_lines - 1));
    int64_t first = (int64_t)line.first * MVF_TM_PLACES;
    label_reader in = {g.labels + first, g.costs + first, line.step * MVF_TM_PLACES, line.n - 1};
    int16_t *paths = paths_of_sense(g, line.sense) + first + lane;
    /* Teams of a warp may have lines of different lengths, and shuffle together. */
    int32_t n = max(line.n, __shfl_xor_sync(ALL_LANES, line.n, MVF_TM_TEAM)), sum = 0;
    n = max(n, __shfl_xor_sync(ALL_LANES, n, 2 * MVF_TM_TEAM));
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        fetch(in, lane, k, k);
    for (int32_t first_cell = 0; first_cell < n; first_cell += AHEAD)
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int32_t cell = first_cell + k, before = max(min(cell, line.n) - 1, 0);
            int32_t way =
                way_to(in.labels + (int64_t)before * in.step, sum, in.label[k], g.penalty_max);
            sum = in.cost[k] + (cell ? way : 0);
            fetch(in, lane, cell + AHEAD, k);
            if (exists && cell < line.n)
                paths[(int64_t)cell * in.step] = (int16_t)sum;
        }
}

/* The label of a cell with the smallest sum of L, the first of equals. */
static __device__ __forceinline__ int32_t best_label(const label_grid &g, int32_t cell)
{
    int32_t best = 0, least = INT32_MAX;
    for (int32_t k = 0; k < MVF_TM_LABELS; k++) {
        int32_t sum = 0;
        for (int32_t sense = g.by_rows ? 0 : 2; sense < (g.by_cols ? 4 : 2); sense++)
            sum += paths_of_sense(g, sense)[(int64_t)cell * MVF_TM_PLACES + k];
        if (sum < least) {
            least = sum;
            best = k;
        }
    }
    return best;
}

#endif
