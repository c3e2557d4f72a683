// The levels of method hier below the top: one warp for each block, which compares the surroundings
// of a few starts.
//
// The windows of different starts lie in shared memory side by side, shifted so that a window
// begins with a word. A lane takes the three candidates side by side of one row of vectors of one
// start, from one load of reference words; where there are fewer starts than lanes for them,
// several lanes share the rows of the block.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "instructions.h"
#include "params.h"
#include "rank.h"
#include "sad.h"
#include "search/rule.h"
#include "walk.h"

#define N_WARPS (MVF_HIER_BELOW_THREADS / 32)
// The parent, its eight neighbours, and zero.
#define MAX_STARTS 10
// How far candidates lie from a start, and how many are side by side.
#define REACH 1
#define SIDE (2 * REACH + 1)

struct below_shared {
    // As packed by pack().
    uint32_t starts[N_WARPS][MAX_STARTS];
};

struct below_block {
    int32_t x, y, w, h;
    mvf_window window;
    // Sizes of a whole block.
    int32_t block_w, block_h;
    // Words of a row of the block and of a window.
    int32_t row_words, pitch_words;
};

static __device__ uint32_t pack(int32_t x, int32_t y)
{
    return (uint32_t)(uint16_t)x | (uint32_t)y << 16;
}

static __device__ int32_t unpack_x(uint32_t vector)
{
    return (int16_t)(vector & 0xffff);
}

static __device__ int32_t unpack_y(uint32_t vector)
{
    return (int32_t)vector >> 16;
}

template <typename Sample>
static __device__ below_block locate_block(const mvf_hier_level &level, int32_t col, int32_t row)
{
    below_block b;
    if (level.is_coarse) {
        b.block_w = mvf_rule_coarse_block(level.block_w);
        b.block_h = mvf_rule_coarse_block(level.block_h);
        b.x = mvf_rule_coarse_origin(col, level.step_x, level.block_w, level.width);
        b.y = mvf_rule_coarse_origin(row, level.step_y, level.block_h, level.height);
    } else {
        b.block_w = level.block_w;
        b.block_h = level.block_h;
        b.x = col * level.step_x;
        b.y = row * level.step_y;
    }
    b.w = mvf_rule_visible(b.x, b.block_w, level.width);
    b.h = mvf_rule_visible(b.y, b.block_h, level.height);
    b.window = mvf_rule_window(b.x, b.y, b.w, b.h, level.width, level.height, level.range_x,
                               level.range_y, level.inside);
    b.row_words = b.block_w * (int32_t)sizeof(Sample) / 4;
    b.pitch_words = b.row_words + 1;
    return b;
}

static __device__ int32_t cut(int32_t value, int32_t range)
{
    return min(max(value, -range), range);
}

// Lists the starts, each once; returns how many.
static __device__ int32_t list_starts(const mvf_hier_below_params &p, uint32_t *starts, int32_t col,
                                      int32_t row)
{
    int32_t lane = threadIdx.x % 32, shift = p.level.is_coarse;
    int32_t x = (col >> shift) + lane % 3 - 1, y = (row >> shift) + lane / 3 - 1;
    uint32_t start = 0;
    if (lane < MAX_STARTS - 1 && x >= 0 && y >= 0 && x < p.above_cols && y < p.above_rows) {
        const uint2 *above = (const uint2 *)(p.above + blockIdx.y * p.level.pair_bytes);
        uint32_t parent = above[y * p.above_cols + x].x;
        start = pack(cut(2 * unpack_x(parent), p.level.range_x),
                     cut(2 * unpack_y(parent), p.level.range_y));
    }
    // Lanes without a parent have the zero vector, as the last start has.
    uint32_t same = __match_any_sync(ALL_LANES, start);
    bool is_first = (same & ((1u << lane) - 1)) == 0;
    uint32_t firsts = __ballot_sync(ALL_LANES, is_first);
    if (is_first)
        starts[__popc(firsts & ((1u << lane) - 1))] = start;
    __syncwarp();
    return __popc(firsts);
}

// The visible samples of the block, the rest of its words zero.
template <typename Sample>
static __device__ void load_current(const mvf_hier_level &level, const below_block &b, uint32_t *to,
                                    uint64_t plane)
{
    const uint8_t *from =
        (const uint8_t *)plane + b.y * level.stride_bytes + b.x * (int64_t)sizeof(Sample);
    for (thread_walk w = start_walk(threadIdx.x % 32, 32, b.row_words); w.row < b.h; take_step(w))
        to[w.row * b.row_words + w.column] =
            visible_mask(w.column, b.w * (int32_t)sizeof(Sample)) &
            load_unaligned(from + w.row * level.stride_bytes + 4 * w.column);
}

// The reference under all candidates of a start. Rows beyond the range belong to none of them and
// may not be there.
template <typename Sample>
static __device__ void load_window(const mvf_hier_level &level, const below_block &b, uint32_t *to,
                                   uint64_t plane, uint32_t start)
{
    const uint8_t *from = (const uint8_t *)plane + b.y * level.stride_bytes +
                          (b.x + unpack_x(start) - REACH) * (int64_t)sizeof(Sample);
    int32_t first = unpack_y(start) - REACH, n_rows = b.h + 2 * REACH;
    for (thread_walk w = start_walk(threadIdx.x % 32, 32, b.pitch_words); w.row < n_rows;
         take_step(w)) {
        int32_t y = min(max(first + w.row, -level.range_y), level.range_y + b.h - 1);
        to[w.row * b.pitch_words + w.column] =
            load_unaligned(from + y * level.stride_bytes + 4 * w.column);
    }
}

// Adds up what the lanes that share a row of candidates have. They lie n_units apart.
static __device__ void sum_parts(uint32_t (&sums)[SIDE], int32_t n_units, int32_t n_parts)
{
    int32_t lane = threadIdx.x % 32;
    uint32_t own[SIDE] = {sums[0], sums[1], sums[2]};
    for (int32_t part = 1; part < n_parts; part++)
#pragma unroll
        for (int32_t j = 0; j < SIDE; j++)
            sums[j] += __shfl_sync(ALL_LANES, own[j], lane + part * n_units);
}

// The best of `best` and of the candidates of n starts, in each lane its own.
template <typename Sample, int32_t Words>
static __device__ search_best compare_starts(const below_block &b, const uint32_t *current,
                                             const uint32_t *windows, const uint32_t *starts,
                                             int32_t n, search_best best)
{
    int32_t n_units = SIDE * n, n_parts = 32 / n_units, lane = threadIdx.x % 32;
    int32_t unit = lane % n_units, part = lane / n_units, below = unit % SIDE;
    int32_t first = b.h * part / n_parts, end = part < n_parts ? b.h * (part + 1) / n_parts : first;
    uint32_t sums[SIDE] = {0, 0, 0};
    const uint32_t *window = windows + unit / SIDE * (b.block_h + 2 * REACH) * b.pitch_words;
    sad_rows rows = {current + first * b.row_words, window + (first + below) * b.pitch_words,
                     b.row_words, b.pitch_words, b.w * (int32_t)sizeof(Sample)};
    for (; first < end; first += ROWS_AT_ONCE) {
        int32_t n_rows = min(ROWS_AT_ONCE, end - first);
        if (b.w < b.block_w)
            add_rows<Sample, Words, true>(sums, rows, n_rows);
        else
            add_rows<Sample, Words, false>(sums, rows, n_rows);
        rows.current += ROWS_AT_ONCE * b.row_words;
        rows.reference += ROWS_AT_ONCE * b.pitch_words;
    }
    __syncwarp();
    sum_parts(sums, n_units, n_parts);
    uint32_t start = starts[unit / SIDE];
    int32_t dx = unpack_x(start) - REACH, dy = unpack_y(start) - REACH + below;
    if (part > 0 || dy < b.window.y_min || dy > b.window.y_max)
        return best;
#pragma unroll
    for (int32_t j = 0; j < SIDE; j++) {
        uint32_t key = rank_key(dx + j, dy);
        if (dx + j >= b.window.x_min && dx + j <= b.window.x_max &&
            is_better((int32_t)sums[j], key, best))
            best = {(int32_t)sums[j], key};
    }
    return best;
}

template <typename Sample, int32_t Words>
static __device__ void search(const mvf_hier_below_params &p)
{
    DYNAMIC_SHARED(uint4, below_memory);
    __shared__ below_shared shared;
    const mvf_hier_level &level = p.level;
    const mvf_search_pair &pair = p.pairs[blockIdx.y];
    int32_t warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
    int32_t index = blockIdx.x * n_warps + warp;
    if (index >= level.cols * level.rows)
        return;
    int32_t col = index % level.cols, row = index / level.cols;
    below_block b = locate_block<Sample>(level, col, row);
    uint32_t *current = (uint32_t *)below_memory + warp * p.warp_words;
    uint32_t *windows = current + b.block_h * b.row_words;
    uint32_t *starts = shared.starts[warp];
    int32_t window_words = (b.block_h + 2 * REACH) * b.pitch_words;
    load_current<Sample>(level, b, current, pair.current + level.offset_bytes);
    int32_t n_starts = list_starts(p, starts, col, row);
    search_best best = {NO_COST, NO_KEY};
    for (int32_t first = 0; first < n_starts; first += p.n_at_once) {
        int32_t n = min(p.n_at_once, n_starts - first);
        for (int32_t i = 0; i < n; i++)
            load_window<Sample>(level, b, windows + i * window_words,
                                pair.reference + level.offset_bytes, starts[first + i]);
        __syncwarp();
        best = compare_starts<Sample, Words>(b, current, windows, starts + first, n, best);
    }
    best = warp_best(best);
    if (threadIdx.x % 32 == 0)
        store_match(level.matches ? level.matches + blockIdx.y * level.pair_bytes : pair.matches,
                    index, best);
}

// hier_below_SAMPLEBITS_wWORDS: rows are compared WORDS words of four bytes at a time.
#define BELOW_KERNEL(name, sample, words)                                \
    extern "C" __global__ void __launch_bounds__(MVF_HIER_BELOW_THREADS) \
        name(const __grid_constant__ mvf_hier_below_params p)            \
    {                                                                    \
        search<sample, words>(p);                                        \
    }

BELOW_KERNEL(hier_below_8_w1, uint8_t, 1)
BELOW_KERNEL(hier_below_8_w2, uint8_t, 2)
BELOW_KERNEL(hier_below_8_w4, uint8_t, 4)
BELOW_KERNEL(hier_below_16_w2, uint16_t, 2)
BELOW_KERNEL(hier_below_16_w4, uint16_t, 4)
