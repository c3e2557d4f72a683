// The top level of method hier: an exact full search, in which most candidates are ruled out by a
// lower bound. One thread block for each tile of blocks, one warp for each block, or part of one.
//
// The bound: a block has four cells, and the absolute differences of the cells' sums add up to no
// more than the SAD. A word holds the sums of the four cells that begin at a sample, scaled down to
// a byte each by the range that the sums of the tile's own blocks have; sums outside it saturate.
// So one VABSDIFF4 is the bound of a candidate. A lane keeps the least bound of each group of four
// candidates of two rows in registers: the group with the least of all is its guess, and when the
// guesses are compared the others' bounds tell which groups may still win. These gather in a list
// and are compared by full warps: reference words, loaded once, serve all four.
//
// SPDX-License-Identifier: BSD-2-Clause
#include <cuda_pipeline.h>

#include "instructions.h"
#include "params.h"
#include "rank.h"
#include "sad.h"
#include "search/rule.h"
#include "walk.h"

#define N_WARPS (MVF_HIER_TOP_THREADS / 32)
// Candidates of one group.
#define GROUP MVF_HIER_GROUP
// Most groups side by side, and most rows: each lane has one of every 32.
#define COLUMNS ((2 * MVF_HIER_TOP_RANGE + GROUP - 1) / GROUP + 1)
#define ROWS (2 * MVF_HIER_TOP_RANGE + 1)
// The columns but the last have a bit each in half a word.
#define HALF 16
static_assert(COLUMNS == HALF + 1 && ROWS == 2 * 32 + 1, "a lane's groups in bits");
// Bounds lie side by side in halves of a word, with their columns in the low bits.
#define COLUMN_BITS 5
#define COLUMN_MASK ((1 << COLUMN_BITS) - 1)
#define MOST_BOUND (4 * 255)
static_assert((MOST_BOUND + 1) << COLUMN_BITS < 0x8000, "a bound and its column in 15 bits");
#define BOTH_HALVES 0x10001u
#define NO_BOUND (0x7fff * BOTH_HALVES)
#define ZERO_KEY rank_key(0, 0)

// A block of the tile: where it is in the level, its scaled sums, and how much less than the
// difference of the exact ones a bound may be.
struct top_own {
    int32_t x, y;
    uint32_t cells;
    int32_t loss;
};

struct top_shared {
    // Cost above, rank below.
    unsigned long long best[MVF_HIER_TILE_BLOCKS];
    top_own own[MVF_HIER_TILE_BLOCKS];
    // The range of the blocks' own sums, by warps.
    uint32_t lowest[N_WARPS], highest[N_WARPS];
    int32_t next_item;
    // Groups of a warp that are to be compared: row and column among the block's.
    uint16_t found[N_WARPS][32 + 32 * MVF_HIER_LISTED];
};

// A cell of a block: each thread has one at most.
struct top_cell {
    int32_t block, x, y;
    uint32_t sum;
    bool is_there;
};
static_assert(4 * MVF_HIER_TILE_BLOCKS <= MVF_HIER_TOP_THREADS, "a cell for each thread");

struct top_tile {
    // Its blocks.
    int32_t first_col, first_row, n_cols, n_rows;
    // Where its window begins in the level, and how many positions it has.
    int32_t x, y, w, h;
    // Sizes of whole blocks and of their cells.
    int32_t block_w, block_h, cell_w, cell_h;
    uint32_t base;
    int32_t shift;
    // Shared memory.
    uint32_t *samples, *table, *sums, *current;
};

// A block, or the part of its candidates that a warp takes.
struct top_block {
    top_own own;
    int32_t w, h;
    mvf_window window;
    // The vector of the first candidate of the first group.
    int32_t first_dx, first_dy;
    int32_t n_groups, n_rows;
    // Rows of which each lane has one of every 32; then one more may follow.
    int32_t n_shared_rows;
    const uint32_t *current, *samples, *table;
};

// The group that a lane compares, if it is active.
struct top_pick {
    int32_t row, group;
    bool active;
};

// The least bound of each group in the lane's two rows, 32 apart, and that of the lane's group in a
// row after the last 32.
struct top_bounds {
    uint32_t keys[COLUMNS], last;
};

// The lane's groups that may win: of all columns but the last a bit each, one row's in the low
// half; then bit 0 and 1 for the last column, and bit 2 for the group in the row after.
struct top_left {
    uint32_t most, rest;
    // Entries of the list.
    int32_t n_found;
};

// What a whole warp knows about a block.
struct top_state {
    search_best best;
    // Costs above it cannot win any more.
    int32_t limit;
};

static __device__ int32_t origin_x(const mvf_hier_level &level, int32_t col)
{
    return mvf_rule_coarse_origin(col, level.step_x, level.block_w, level.width);
}

static __device__ int32_t origin_y(const mvf_hier_level &level, int32_t row)
{
    return mvf_rule_coarse_origin(row, level.step_y, level.block_h, level.height);
}

template <typename Sample>
static __device__ top_tile locate_tile(const mvf_hier_top_params &p, uint32_t *memory)
{
    const mvf_hier_level &level = p.level;
    top_tile t;
    t.first_col = blockIdx.x % p.n_tiles_across * p.tile_cols;
    t.first_row = blockIdx.x / p.n_tiles_across * p.tile_rows;
    t.n_cols = min(p.tile_cols, level.cols - t.first_col);
    t.n_rows = min(p.tile_rows, level.rows - t.first_row);
    t.x = (origin_x(level, t.first_col) - level.range_x) &
          ~(MVF_HIER_COPY_BYTES / (int32_t)sizeof(Sample) - 1);
    t.y = origin_y(level, t.first_row) - level.range_y;
    t.w = origin_x(level, t.first_col + t.n_cols - 1) + level.range_x + 1 - t.x;
    t.h = origin_y(level, t.first_row + t.n_rows - 1) + level.range_y + 1 - t.y;
    t.block_w = mvf_rule_coarse_block(level.block_w);
    t.block_h = mvf_rule_coarse_block(level.block_h);
    t.cell_w = t.block_w / 2;
    t.cell_h = t.block_h / 2;
    t.samples = memory;
    t.table = t.samples + p.sample_pitch * p.sample_rows;
    t.current = t.table + p.table_words;
    t.sums = t.current + N_WARPS * t.block_h * t.block_w * (int32_t)sizeof(Sample) / 4;
    return t;
}

// Words of a row of a block. Block is its width where that is known, else 0.
template <typename Sample, int32_t Block> static __device__ int32_t block_words(const top_tile &t)
{
    return (Block ? Block : t.block_w) * (int32_t)sizeof(Sample) / 4;
}

// Where the warp's block lies in shared memory.
template <typename Sample> static __device__ uint32_t *warp_current(const top_tile &t)
{
    return t.current + threadIdx.x / 32 * t.block_h * t.block_w * (int32_t)sizeof(Sample) / 4;
}

// Starts the copy of all samples that candidates of the tile lie on.
template <typename Sample>
static __device__ void copy_samples(const mvf_hier_top_params &p, const top_tile &t,
                                    uint64_t reference)
{
    const uint8_t *from = (const uint8_t *)(reference + p.level.offset_bytes) +
                          t.y * p.level.stride_bytes + t.x * (int64_t)sizeof(Sample);
    // Past the last group lie the rest of a block and the word that a shift needs.
    int32_t n_bytes = ((t.w - 1) / GROUP * GROUP + t.block_w + GROUP) * (int32_t)sizeof(Sample);
    int32_t n_across = (n_bytes + MVF_HIER_COPY_BYTES - 1) / MVF_HIER_COPY_BYTES;
    int32_t n_rows = t.h - 1 + t.block_h;
    for (thread_walk w = start_walk(threadIdx.x, MVF_HIER_TOP_THREADS, n_across); w.row < n_rows;
         take_step(w))
        __pipeline_memcpy_async(t.samples + w.row * p.sample_pitch + 4 * w.column,
                                from + w.row * p.level.stride_bytes +
                                    MVF_HIER_COPY_BYTES * w.column,
                                MVF_HIER_COPY_BYTES);
    __pipeline_commit();
}

// Copies that hold a row of sums.
static __device__ int32_t sum_copies(const mvf_hier_top_params &p)
{
    return (p.sum_pitch + 1) / 2;
}

static __device__ const uint8_t *sums_at(const mvf_hier_top_params &p, uint64_t plane, int32_t x,
                                         int32_t y)
{
    return (const uint8_t *)(plane + p.sums_offset_bytes) + y * p.sums_stride_bytes +
           x * (int64_t)sizeof(uint16_t);
}

// Starts the copy of all sums of cells that candidates of the tile have, to where their table will
// be.
static __device__ void copy_sums(const mvf_hier_top_params &p, const top_tile &t,
                                 uint64_t reference)
{
    const uint8_t *from = sums_at(p, reference, t.x, t.y);
    int32_t n_across = sum_copies(p), n_rows = t.h + t.cell_h;
    for (thread_walk w = start_walk(threadIdx.x, MVF_HIER_TOP_THREADS, n_across); w.row < n_rows;
         take_step(w))
        __pipeline_memcpy_async(t.table + 4 * (w.row * n_across + w.column),
                                from + w.row * p.sums_stride_bytes + MVF_HIER_COPY_BYTES * w.column,
                                MVF_HIER_COPY_BYTES);
    __pipeline_commit();
}

static __device__ top_cell load_cell(const mvf_hier_top_params &p, const top_tile &t,
                                     uint64_t current)
{
    uint32_t cell = threadIdx.x % 4, block = threadIdx.x / 4;
    uint32_t row = block / (uint32_t)t.n_cols, col = block - row * (uint32_t)t.n_cols;
    top_cell c = {(int32_t)block, origin_x(p.level, t.first_col + (int32_t)col),
                  origin_y(p.level, t.first_row + (int32_t)row), 0, row < (uint32_t)t.n_rows};
    if (c.is_there)
        c.sum = *(const uint16_t *)sums_at(p, current, c.x + (int32_t)(cell % 2) * t.cell_w,
                                           c.y + (int32_t)(cell / 2) * t.cell_h);
    return c;
}

static __device__ void find_range(top_shared &shared, const top_cell &c)
{
    uint32_t lowest = warp_min(c.is_there ? c.sum : UINT32_MAX);
    uint32_t highest = warp_max(c.is_there ? c.sum : 0);
    if (threadIdx.x % 32 == 0) {
        shared.lowest[threadIdx.x / 32] = lowest;
        shared.highest[threadIdx.x / 32] = highest;
    }
}

static __device__ void set_scale(top_tile &t, const top_shared &shared)
{
    int32_t warp = threadIdx.x % N_WARPS;
    t.base = warp_min(shared.lowest[warp]);
    t.shift = max(24 - __clz((int32_t)(warp_max(shared.highest[warp]) - t.base)), 0);
}

// Two sums, scaled: each in the low byte of its half.
static __device__ uint32_t scale_sums(uint32_t sums, const top_tile &t)
{
    uint32_t base = t.base * 0x10001u, mask = (0xffffu >> t.shift) * 0x10001u;
    return __vminu2((__vmaxu2(sums, base) - base) >> t.shift & mask, 0x00ff00ffu);
}

// A byte for each sum.
static __device__ void scale_all(const mvf_hier_top_params &p, const top_tile &t)
{
    int32_t pitch = 4 * sum_copies(p), n_rows = t.h + t.cell_h;
    for (thread_walk w = start_walk(threadIdx.x, MVF_HIER_TOP_THREADS, p.sum_pitch); w.row < n_rows;
         take_step(w)) {
        uint2 sums = *(const uint2 *)(t.table + w.row * pitch + 2 * w.column);
        t.sums[w.row * p.sum_pitch + w.column] =
            __byte_perm(scale_sums(sums.x, t), scale_sums(sums.y, t), 0x6420);
    }
}

// From the sums of single cells the words of four, for four samples at a time.
static __device__ void fill_table(const mvf_hier_top_params &p, const top_tile &t)
{
    int32_t n_across = (t.w + GROUP - 1) / GROUP;
    int32_t right = t.cell_w / GROUP, below = t.cell_h * p.sum_pitch;
    for (thread_walk w = start_walk(threadIdx.x, MVF_HIER_TOP_THREADS, n_across); w.row < t.h;
         take_step(w)) {
        const uint32_t *from = t.sums + w.row * p.sum_pitch + w.column;
        uint32_t a = from[0], b = from[right], c = from[below], d = from[below + right];
        uint32_t above_low = __byte_perm(a, b, 0x5140), above_high = __byte_perm(a, b, 0x7362);
        uint32_t under_low = __byte_perm(c, d, 0x5140), under_high = __byte_perm(c, d, 0x7362);
        store_words4(t.table + w.row * p.table_pitch + GROUP * w.column,
                     make_uint4(__byte_perm(above_low, under_low, 0x5410),
                                __byte_perm(above_low, under_low, 0x7632),
                                __byte_perm(above_high, under_high, 0x5410),
                                __byte_perm(above_high, under_high, 0x7632)));
    }
    // Read, to no end, past the last group of the last row.
    if (threadIdx.x < MVF_HIER_TABLE_MORE)
        t.table[t.h * p.table_pitch + threadIdx.x] = 0;
}

// The visible samples of the block, the rest of its words zero.
template <typename Sample, int32_t Block>
static __device__ void load_current(const mvf_hier_top_params &p, const top_tile &t,
                                    const top_block &b, uint64_t current)
{
    const uint8_t *from = (const uint8_t *)(current + p.level.offset_bytes) +
                          b.own.y * p.level.stride_bytes + b.own.x * (int64_t)sizeof(Sample);
    int32_t row_words = block_words<Sample, Block>(t);
    uint32_t *to = warp_current<Sample>(t);
    __syncwarp();
    for (thread_walk w = start_walk(threadIdx.x % 32, 32, row_words); w.row < b.h; take_step(w))
        to[w.row * row_words + w.column] =
            visible_mask(w.column, b.w * (int32_t)sizeof(Sample)) &
            load_unaligned(from + w.row * p.level.stride_bytes + 4 * w.column);
    __syncwarp();
}

// A cell's sum lies `rest` above a multiple of the step, so that scaling takes no more than that
// from the difference to a sum above it, and the step's other end from that to a sum below.
static __device__ void scale_cell(const mvf_hier_top_params &p, const top_tile &t,
                                  top_shared &shared, const top_cell &c)
{
    int32_t finer = p.bit_depth - 8, step = 1 << t.shift, sum = (int32_t)(c.sum - t.base);
    int32_t rest = sum & (step - 1);
    int32_t loss = max(((rest + 1) << finer) - 1, ((step - rest) << finer) - 1);
    uint32_t cells = (uint32_t)(sum >> t.shift) << 8 * (threadIdx.x % 4);
#pragma unroll
    for (int32_t distance = 1; distance < 4; distance *= 2) {
        loss += __shfl_xor_sync(ALL_LANES, loss, distance);
        cells |= __shfl_xor_sync(ALL_LANES, cells, distance);
    }
    if (c.is_there && threadIdx.x % 4 == 0)
        shared.own[c.block] = {c.x, c.y, cells, loss};
}

template <typename Sample>
static __device__ top_block locate_block(const mvf_hier_top_params &p, const top_tile &t,
                                         const top_own &own, int32_t part)
{
    const mvf_hier_level &level = p.level;
    top_block b;
    b.own = own;
    b.w = min(t.block_w, level.width);
    b.h = min(t.block_h, level.height);
    b.window = mvf_rule_window(own.x, own.y, b.w, b.h, level.width, level.height, level.range_x,
                               level.range_y, level.inside);
    b.n_rows = b.window.y_max - b.window.y_min + 1;
    b.first_dy = b.window.y_min;
    if (p.n_parts > 1) {
        int32_t first_row = b.n_rows * part / p.n_parts;
        b.n_rows = b.n_rows * (part + 1) / p.n_parts - first_row;
        b.first_dy += first_row;
    }
    int32_t column = (own.x + b.window.x_min - t.x) & ~(GROUP - 1), row = own.y + b.first_dy - t.y;
    b.first_dx = t.x + column - own.x;
    b.n_groups = (b.window.x_max - b.first_dx) / GROUP + 1;
    b.n_shared_rows = b.n_rows > 32 && b.n_rows % 32 == 1 ? b.n_rows - 1 : b.n_rows;
    b.current = warp_current<Sample>(t);
    b.samples = t.samples + row * p.sample_pitch + column * (int32_t)sizeof(Sample) / 4;
    b.table = t.table + row * p.table_pitch + column;
    return b;
}

static __device__ int32_t lowest(const uint32_t (&sums)[GROUP])
{
    return min(min((int32_t)sums[0], (int32_t)sums[1]), min((int32_t)sums[2], (int32_t)sums[3]));
}

// Takes over what a warp has found. Nothing that equals the zero vector's cost wins over it.
static __device__ void set_best(top_state &state, const search_best &best)
{
    state.best = best;
    state.limit = best.cost - (best.key == ZERO_KEY);
}

// Of the candidates of the lane's group, the best of those with the least cost of a warp.
static __device__ void take_group(const top_block &b, top_state &state, const top_pick &pick,
                                  const uint32_t (&sums)[GROUP])
{
    int32_t dx = b.first_dx + GROUP * pick.group, dy = b.first_dy + pick.row;
    uint32_t column = pick.active ? (uint32_t)(dx - b.window.x_min) : (uint32_t)-GROUP;
    uint32_t n_columns = (uint32_t)(b.window.x_max - b.window.x_min);
    uint32_t costs[GROUP];
#pragma unroll
    for (int32_t j = 0; j < GROUP; j++)
        costs[j] = column + (uint32_t)j <= n_columns ? sums[j] : (uint32_t)NO_COST;
    int32_t least = (int32_t)warp_min((uint32_t)lowest(costs));
    if (least > state.limit)
        return;
    uint32_t key = NO_KEY;
#pragma unroll
    for (int32_t j = 0; j < GROUP; j++)
        key = min(key, costs[j] == (uint32_t)least ? rank_key(dx + j, dy) : NO_KEY);
    search_best best = {least, warp_min(key)};
    if (is_better(best.cost, best.key, state.best))
        set_best(state, best);
}

// Compares the lane's group with the block, by a whole warp.
template <typename Sample, int32_t Block>
static __device__ void compare_group(const mvf_hier_top_params &p, const top_tile &t,
                                     const top_block &b, top_state &state, const top_pick &pick)
{
    constexpr bool is_cut = Block == 0;
    constexpr int32_t words = Block * sizeof(Sample) > 8 ? 4 : 2;
    int32_t row_words = block_words<Sample, Block>(t);
    int32_t offset = pick.row * p.sample_pitch + pick.group * (int32_t)sizeof(Sample);
    uint32_t sums[GROUP] = {0, 0, 0, 0};
    sad_rows rows = {b.current, b.samples + (pick.active ? offset : 0), row_words, p.sample_pitch,
                     b.w * (int32_t)sizeof(Sample)};
    for (int32_t done = 0; done < b.h; done += ROWS_AT_ONCE) {
        if (!__any_sync(ALL_LANES, pick.active && lowest(sums) <= state.limit))
            return;
        add_rows<Sample, words, is_cut>(sums, rows,
                                        is_cut ? min(ROWS_AT_ONCE, b.h - done) : ROWS_AT_ONCE);
        rows.current += ROWS_AT_ONCE * row_words;
        rows.reference += ROWS_AT_ONCE * p.sample_pitch;
    }
    if (!__any_sync(ALL_LANES, pick.active && lowest(sums) <= state.limit))
        return;
    take_group(b, state, pick, sums);
}

// The least bound of a group.
static __device__ uint32_t bound_at(const top_block &b, int32_t offset)
{
    uint4 four = *(const uint4 *)(b.table + offset);
    return min(min(sad4(four.x, b.own.cells, 0), sad4(four.y, b.own.cells, 0)),
               min(sad4(four.z, b.own.cells, 0), sad4(four.w, b.own.cells, 0)));
}

// Rows past the last one have its bounds.
static __device__ void find_bounds(const mvf_hier_top_params &p, const top_block &b,
                                   top_bounds &bounds)
{
    int32_t lane = threadIdx.x % 32, last = b.n_shared_rows - 1;
    int32_t upper = min(lane, last) * p.table_pitch, lower = min(lane + 32, last) * p.table_pitch;
#pragma unroll
    for (int32_t first = 0; first < COLUMNS; first += MVF_HIER_COLUMNS) {
#pragma unroll
        for (int32_t c = first; c < min(first + MVF_HIER_COLUMNS, COLUMNS); c++)
            bounds.keys[c] = NO_BOUND;
        if (first >= b.n_groups)
            continue;
#pragma unroll
        for (int32_t c = first; c < min(first + MVF_HIER_COLUMNS, COLUMNS); c++)
            bounds.keys[c] = (bound_at(b, upper + GROUP * c) << COLUMN_BITS) + (uint32_t)c;
        if (b.n_shared_rows <= 32) {
#pragma unroll
            for (int32_t c = first; c < min(first + MVF_HIER_COLUMNS, COLUMNS); c++)
                bounds.keys[c] |= NO_BOUND & ~0xffffu;
            continue;
        }
#pragma unroll
        for (int32_t c = first; c < min(first + MVF_HIER_COLUMNS, COLUMNS); c++)
            bounds.keys[c] += ((bound_at(b, lower + GROUP * c) << COLUMN_BITS) + (uint32_t)c) << 16;
    }
    bounds.last = MOST_BOUND + 1;
    if (b.n_shared_rows < b.n_rows)
        bounds.last =
            bound_at(b, b.n_shared_rows * p.table_pitch + GROUP * min(lane, b.n_groups - 1));
}

// The lane's group with the least bound: a good candidate at little cost.
static __device__ top_pick pick_least(const top_block &b, const top_bounds &bounds)
{
    uint32_t least = bounds.keys[0];
#pragma unroll
    for (int32_t c = 1; c < COLUMNS; c++)
        least = __vminu2(least, bounds.keys[c]);
    uint32_t upper = least & 0xffff, lower = least >> 16, lane = threadIdx.x % 32;
    return {(int32_t)(upper <= lower ? lane : lane + 32),
            (int32_t)(min(upper, lower) & COLUMN_MASK), true};
}

// Groups of the last row, or column, for those past it.
static __device__ top_pick in_block(const top_block &b, const top_pick &pick)
{
    return {min(pick.row, b.n_shared_rows - 1), min(pick.group, b.n_groups - 1), pick.active};
}

// Which groups may win, but for the one that the lane has compared.
template <int32_t Block>
static __device__ top_left find_left(const mvf_hier_top_params &p, const top_tile &t,
                                     const top_block &b, const top_state &state,
                                     const top_bounds &bounds, const top_pick &compared)
{
    // A block that is cut has no cells.
    int32_t limit =
        Block == 0 ? MOST_BOUND
                   : min((state.limit + b.own.loss) >> (t.shift + p.bit_depth - 8), MOST_BOUND);
    uint32_t more = 0x8000u * BOTH_HALVES - ((uint32_t)(limit + 1) << COLUMN_BITS) * BOTH_HALVES;
    uint32_t ruled_out = 0;
#pragma unroll
    for (int32_t c = 0; c < HALF; c++)
        ruled_out = ruled_out >> 1 | ((bounds.keys[c] + more) & 0x8000u * BOTH_HALVES);
    uint32_t last = bounds.keys[HALF] + more;
    int32_t lane = threadIdx.x % 32;
    bool has_upper = lane < b.n_shared_rows, has_lower = lane + 32 < b.n_shared_rows;
    uint32_t rows = (has_upper ? 0xffffu : 0) | (has_lower ? 0xffff0000u : 0);
    uint32_t columns = (uint32_t)((1 << min(b.n_groups, HALF)) - 1) * BOTH_HALVES;
    bool has_last = b.n_groups == COLUMNS;
    top_left left = {~ruled_out & rows & columns,
                     (uint32_t)(has_last && has_upper && !(last & 0x8000u)) |
                         (uint32_t)(has_last && has_lower && !(last >> 31)) << 1 |
                         (uint32_t)((int32_t)bounds.last <= limit && lane < b.n_groups) << 2,
                     0};
    uint32_t lower = compared.row >= 32;
    if (compared.group < HALF)
        left.most &= ~(1u << (compared.group + HALF * (int32_t)lower));
    else
        left.rest &= ~(1u << lower);
    return left;
}

static __device__ uint16_t entry_of(int32_t row, int32_t group)
{
    return (uint16_t)(row << 8 | group);
}

// Lists groups that may win, a few of each lane: so that none waits long for another.
static __device__ void list_groups(const top_block &b, top_left &left, uint16_t *found)
{
    int32_t lane = threadIdx.x % 32;
    int32_t n = min(__popc(left.most) + __popc(left.rest), MVF_HIER_LISTED), end = n;
#pragma unroll
    for (int32_t distance = 1; distance < 32; distance *= 2) {
        int32_t before = __shfl_up_sync(ALL_LANES, end, distance);
        end += lane >= distance ? before : 0;
    }
    uint16_t *to = found + left.n_found + end - n;
    left.n_found += __shfl_sync(ALL_LANES, end, 31);
    for (; n > 0 && left.most; n--) {
        int32_t bit = 31 - __clz((int32_t)left.most);
        left.most ^= 1u << bit;
        *to++ = entry_of(lane + 2 * (bit & HALF), bit & (HALF - 1));
    }
    for (; n > 0; n--) {
        int32_t bit = 31 - __clz((int32_t)left.rest);
        left.rest ^= 1u << bit;
        *to++ = bit == 2 ? entry_of(b.n_shared_rows, lane) : entry_of(lane + 32 * bit, HALF);
    }
}

// The next groups that bounds do not rule out, as many as there are lanes if so many are left.
static __device__ top_pick pick_found(const top_block &b, top_left &left, uint16_t *found)
{
    int32_t lane = threadIdx.x % 32;
    while (left.n_found < 32 && __any_sync(ALL_LANES, (left.most | left.rest) != 0))
        list_groups(b, left, found);
    int32_t n = min(left.n_found, 32);
    left.n_found -= n;
    __syncwarp();
    uint32_t entry = lane < n ? found[left.n_found + lane] : 0;
    __syncwarp();
    return {(int32_t)(entry >> 8), (int32_t)(entry & 255), lane < n};
}

// Searches one part of one block, by a warp: first a guess, so that bounds rule out as much as they
// can, and then whatever is left.
template <typename Sample, int32_t Block>
static __device__ void search_item(const mvf_hier_top_params &p, const top_tile &t,
                                   top_shared &shared, const mvf_search_pair &pair, int32_t item)
{
    int32_t index = p.n_parts > 1 ? item / p.n_parts : item;
    top_block b = locate_block<Sample>(p, t, shared.own[index], item - index * p.n_parts);
    if (b.n_rows == 0)
        return;
    load_current<Sample, Block>(p, t, b, pair.current);
    // What other parts have found by now; one read, so that all lanes know the same.
    unsigned long long known = *(volatile unsigned long long *)&shared.best[index];
    known = __shfl_sync(ALL_LANES, known, 0);
    top_state state;
    set_best(state, {(int32_t)(known >> 32), (uint32_t)known});
    uint16_t *found = shared.found[threadIdx.x / 32];
    top_bounds bounds;
    find_bounds(p, b, bounds);
    top_pick pick = pick_least(b, bounds);
    compare_group<Sample, Block>(p, t, b, state, in_block(b, pick));
    if (state.limit >= 0) {
        top_left left = find_left<Block>(p, t, b, state, bounds, pick);
        for (;;) {
            pick = pick_found(b, left, found);
            if (!__any_sync(ALL_LANES, pick.active))
                break;
            compare_group<Sample, Block>(p, t, b, state, pick);
        }
    }
    if (threadIdx.x % 32 == 0)
        atomicMin(&shared.best[index],
                  (unsigned long long)(uint32_t)state.best.cost << 32 | state.best.key);
}

static __device__ void store_matches(const mvf_hier_top_params &p, const top_tile &t,
                                     const top_shared &shared)
{
    uint64_t matches = p.level.matches + blockIdx.y * p.level.pair_bytes;
    for (int32_t i = threadIdx.x; i < t.n_cols * t.n_rows; i += MVF_HIER_TOP_THREADS) {
        int32_t col = t.first_col + i % t.n_cols, row = t.first_row + i / t.n_cols;
        unsigned long long best = shared.best[i];
        store_match(matches, row * p.level.cols + col, {(int32_t)(best >> 32), (uint32_t)best});
    }
}

template <typename Sample, int32_t Block>
static __device__ void search(const mvf_hier_top_params &p)
{
    DYNAMIC_SHARED(uint4, top_memory);
    __shared__ top_shared shared;
    const mvf_search_pair &pair = p.pairs[blockIdx.y];
    top_tile t = locate_tile<Sample>(p, (uint32_t *)top_memory);
    int32_t n_items = t.n_cols * t.n_rows * p.n_parts;
    copy_sums(p, t, pair.reference);
    copy_samples<Sample>(p, t, pair.reference);
    top_cell cell = load_cell(p, t, pair.current);
    for (int32_t i = threadIdx.x; i < MVF_HIER_TILE_BLOCKS; i += MVF_HIER_TOP_THREADS)
        shared.best[i] = (unsigned long long)NO_COST << 32 | NO_KEY;
    if (threadIdx.x == 0)
        shared.next_item = 0;
    find_range(shared, cell);
    // The sums are there, the samples may not be.
    __pipeline_wait_prior(1);
    __syncthreads();
    set_scale(t, shared);
    scale_cell(p, t, shared, cell);
    scale_all(p, t);
    __syncthreads();
    fill_table(p, t);
    __pipeline_wait_prior(0);
    __syncthreads();
    for (;;) {
        int32_t item = 0;
        if (threadIdx.x % 32 == 0)
            item = atomicAdd(&shared.next_item, 1);
        item = __shfl_sync(ALL_LANES, item, 0);
        if (item >= n_items)
            break;
        search_item<Sample, Block>(p, t, shared, pair, item);
    }
    __syncthreads();
    store_matches(p, t, shared);
}

// hier_top_SAMPLEBITS_WIDTH: for blocks of that width; _cut: for levels that are smaller.
#define TOP_KERNEL(name, sample, block)                                                     \
    extern "C" __global__ void __launch_bounds__(MVF_HIER_TOP_THREADS, MVF_HIER_TOP_BLOCKS) \
        name(const __grid_constant__ mvf_hier_top_params p)                                 \
    {                                                                                       \
        search<sample, block>(p);                                                           \
    }

TOP_KERNEL(hier_top_8_8, uint8_t, 8)
TOP_KERNEL(hier_top_8_16, uint8_t, 16)
TOP_KERNEL(hier_top_8_32, uint8_t, 32)
TOP_KERNEL(hier_top_8_cut, uint8_t, 0)
TOP_KERNEL(hier_top_16_8, uint16_t, 8)
TOP_KERNEL(hier_top_16_16, uint16_t, 16)
TOP_KERNEL(hier_top_16_32, uint16_t, 32)
TOP_KERNEL(hier_top_16_cut, uint16_t, 0)
