// The levels of method hier below the top: one warp for each block, which compares the surroundings
// of a few starts.
//
// The windows of different starts lie in shared memory side by side, shifted so that a window
// begins with a word. A lane takes the three candidates side by side of one row of vectors of one
// start, from one load of reference words; where starts are few, two, four or eight lanes share the
// rows of the block.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "instructions.h"
#include "params.h"
#include "rank.h"
#include "sad.h"
#include "search/rule.h"

#define N_WARPS (MVF_HIER_BELOW_THREADS / 32)
// How far candidates lie from a start, and how many are side by side.
#define REACH 1
#define SIDE (2 * REACH + 1)

struct below_shared {
    // As packed by pack().
    uint32_t starts[N_WARPS][MVF_HIER_STARTS];
};

// Columns of whole blocks are known where kernels are compiled: RowWords words.
template <typename Sample, int32_t RowWords> struct below_sizes {
    static const int32_t width = RowWords * 4 / (int32_t)sizeof(Sample);
    // Words of a window's row.
    static const int32_t pitch = RowWords + 1;
    // Words that are compared at once.
    static const int32_t words = RowWords < 4 ? RowWords : 4;
};

struct below_block {
    int32_t x, y, w, h;
    mvf_window window;
    // Rows of a whole block.
    int32_t block_h;
};

// The best candidate, and, in a lane that has compared it, its vector as packed by pack().
struct below_best {
    search_best best;
    uint32_t vector;
    bool is_mine;
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

template <int32_t Width>
static __device__ below_block locate_block(const mvf_hier_level &level, int32_t col, int32_t row)
{
    below_block b;
    if (level.is_coarse) {
        b.block_h = mvf_rule_coarse_block(level.block_h);
        b.x = mvf_rule_coarse_origin(col, level.step_x, level.block_w, level.width);
        b.y = mvf_rule_coarse_origin(row, level.step_y, level.block_h, level.height);
    } else {
        b.block_h = level.block_h;
        b.x = col * level.step_x;
        b.y = row * level.step_y;
    }
    b.w = mvf_rule_visible(b.x, Width, level.width);
    b.h = mvf_rule_visible(b.y, b.block_h, level.height);
    b.window = mvf_rule_window(b.x, b.y, b.w, b.h, level.width, level.height, level.range_x,
                               level.range_y, level.inside);
    return b;
}

static __device__ int32_t cut(int32_t value, int32_t range)
{
    return min(max(value, -range), range);
}

// The match above that a lane's start comes from.
static __device__ uint32_t load_parent(const mvf_hier_below_params &p, int32_t col, int32_t row)
{
    int32_t lane = threadIdx.x % 32, shift = p.level.is_coarse;
    int32_t x = (col >> shift) + lane % 3 - 1, y = (row >> shift) + lane / 3 - 1;
    if (lane >= MVF_HIER_STARTS - 1 || x < 0 || y < 0 || x >= p.above_cols || y >= p.above_rows)
        return 0;
    const uint2 *above = (const uint2 *)(p.above + blockIdx.z * p.level.pair_bytes);
    return above[y * p.above_cols + x].x;
}

// Lists the starts, each once; returns how many. Lanes without a parent have the zero vector, as
// the last start has.
static __device__ int32_t list_starts(const mvf_hier_level &level, uint32_t *starts,
                                      uint32_t parent)
{
    int32_t lane = threadIdx.x % 32;
    uint32_t start =
        pack(cut(2 * unpack_x(parent), level.range_x), cut(2 * unpack_y(parent), level.range_y));
    uint32_t same = __match_any_sync(ALL_LANES, start);
    bool is_first = (same & ((1u << lane) - 1)) == 0;
    uint32_t firsts = __ballot_sync(ALL_LANES, is_first);
    if (is_first)
        starts[__popc(firsts & ((1u << lane) - 1))] = start;
    __syncwarp();
    return __popc(firsts);
}

// The visible samples of the block, the rest of its words zero.
template <typename Sample, int32_t RowWords>
static __device__ void load_current(const mvf_hier_level &level, const below_block &b, uint32_t *to,
                                    uint64_t plane)
{
    int32_t lane = threadIdx.x % 32, column = lane % RowWords;
    const uint8_t *from = (const uint8_t *)plane + b.y * level.stride_bytes +
                          b.x * (int64_t)sizeof(Sample) + 4 * column;
    uint32_t mask = visible_mask(column, b.w * (int32_t)sizeof(Sample));
    for (int32_t row = lane / RowWords; row < b.h; row += 32 / RowWords)
        to[row * RowWords + column] = mask & load_unaligned(from + row * level.stride_bytes);
}

// The reference under all candidates of a start. Rows beyond the range belong to none of them and
// may not be there.
template <typename Sample, int32_t RowWords>
static __device__ void load_window(const mvf_hier_level &level, const below_block &b, uint32_t *to,
                                   uint64_t plane, uint32_t start)
{
    constexpr int32_t pitch = below_sizes<Sample, RowWords>::pitch;
    constexpr int32_t n_across = pitch < 32 ? pitch : 32, n_down = 32 / n_across;
    int32_t first_row = threadIdx.x % 32 / n_across, first_column = threadIdx.x % 32 % n_across;
    uint64_t from = plane + b.y * level.stride_bytes +
                    (b.x + unpack_x(start) - REACH) * (int64_t)sizeof(Sample);
    // The same for every row: strides are multiples of four.
    const uint32_t *words = (const uint32_t *)(from & ~(uint64_t)3);
    uint32_t shift = (uint32_t)(from & 3) * 8;
    int32_t stride_words = (int32_t)(level.stride_bytes / 4), last = level.range_y + b.h - 1;
    int32_t y_of_first = unpack_y(start) - REACH, n_rows = first_row < n_down ? b.h + 2 * REACH : 0;
    for (int32_t column = first_column; column < pitch; column += n_across)
        for (int32_t row = first_row; row < n_rows; row += MVF_HIER_LOADS * n_down) {
            uint2 pairs[MVF_HIER_LOADS];
#pragma unroll
            for (int32_t i = 0; i < MVF_HIER_LOADS; i++) {
                int32_t y = min(max(y_of_first + row + i * n_down, -level.range_y), last);
                const uint32_t *at = words + (y * stride_words + column);
                pairs[i] = make_uint2(__ldg(at), __ldg(at + 1));
            }
#pragma unroll
            for (int32_t i = 0; i < MVF_HIER_LOADS; i++)
                if (i == 0 || row + i * n_down < n_rows)
                    to[(row + i * n_down) * pitch + column] =
                        __funnelshift_r(pairs[i].x, pairs[i].y, shift);
        }
}

// Two to the power of it lanes share the rows of a block with each of the candidates of n starts.
static __device__ int32_t share_shift(int32_t n)
{
    return n == 1 ? 3 : n == 2 ? 2 : n * SIDE * 2 <= 32 ? 1 : 0;
}

// The costs of the lane's three candidates, and its row of vectors among those of n starts.
template <typename Sample, int32_t RowWords>
static __device__ int32_t compare_starts(uint32_t (&sums)[SIDE], const below_block &b,
                                         const uint32_t *current, const uint32_t *windows,
                                         int32_t n)
{
    typedef below_sizes<Sample, RowWords> sizes;
    int32_t shift = share_shift(n), lane = threadIdx.x % 32;
    int32_t unit = lane >> shift, part = lane & ((1 << shift) - 1);
    int32_t share = (b.h + (1 << shift) - 1) >> shift;
    int32_t first = part * share, end = unit < SIDE * n ? min(first + share, b.h) : 0;
    const uint32_t *window = windows + unit / SIDE * (b.block_h + 2 * REACH) * sizes::pitch;
    sad_rows rows = {current + first * RowWords, window + (first + unit % SIDE) * sizes::pitch,
                     RowWords, sizes::pitch, b.w * (int32_t)sizeof(Sample)};
    for (; first < end; first += ROWS_AT_ONCE) {
        int32_t n_rows = min(ROWS_AT_ONCE, end - first);
        if (b.w < sizes::width)
            add_rows<Sample, sizes::words, true>(sums, rows, n_rows);
        else
            add_rows<Sample, sizes::words, false>(sums, rows, n_rows);
        rows.current += ROWS_AT_ONCE * RowWords;
        rows.reference += ROWS_AT_ONCE * sizes::pitch;
    }
    __syncwarp();
    for (int32_t distance = 1; distance < 1 << shift; distance *= 2)
#pragma unroll
        for (int32_t j = 0; j < SIDE; j++)
            sums[j] += __shfl_xor_sync(ALL_LANES, sums[j], distance);
    return unit;
}

// The better of `best` and of the candidates of n starts.
template <typename Sample, int32_t RowWords>
static __device__ void take_starts(below_best &best, const below_block &b, const uint32_t *current,
                                   const uint32_t *windows, const uint32_t *starts, int32_t n)
{
    uint32_t sums[SIDE] = {0, 0, 0};
    int32_t unit = compare_starts<Sample, RowWords>(sums, b, current, windows, n);
    uint32_t start = starts[min(unit / SIDE, n - 1)];
    int32_t dx = unpack_x(start) - REACH, dy = unpack_y(start) - REACH + unit % SIDE;
    bool is_row = (unit < SIDE * n) & (dy >= b.window.y_min) & (dy <= b.window.y_max);
#pragma unroll
    for (int32_t j = 0; j < SIDE; j++)
        if (!(is_row & (dx + j >= b.window.x_min) & (dx + j <= b.window.x_max)))
            sums[j] = (uint32_t)NO_COST;
    int32_t least = (int32_t)warp_min(min(min(sums[0], sums[1]), sums[2]));
    if (least > best.best.cost)
        return;
    uint32_t key = NO_KEY, vector = 0;
#pragma unroll
    for (int32_t j = 0; j < SIDE; j++) {
        uint32_t own = rank_key(dx + j, dy);
        if ((int32_t)sums[j] == least && own < key) {
            key = own;
            vector = pack(dx + j, dy);
        }
    }
    uint32_t least_key = warp_min(key);
    if (is_better(least, least_key, best.best))
        best = {{least, least_key}, vector, key == least_key};
}

// Writes the best as mvf_match.
static __device__ void store_best(uint64_t matches, int32_t index, const below_best &best)
{
    uint32_t lanes = __ballot_sync(ALL_LANES, best.is_mine);
    if ((int32_t)(threadIdx.x % 32) == __ffs((int32_t)lanes) - 1)
        ((uint2 *)matches)[index] = make_uint2(best.vector, (uint32_t)best.best.cost);
}

// A warp for each block: thread blocks go along the rows of blocks.
template <typename Sample, int32_t RowWords>
static __device__ void search(const mvf_hier_below_params &p)
{
    DYNAMIC_SHARED(uint4, below_memory);
    __shared__ below_shared shared;
    const mvf_hier_level &level = p.level;
    const mvf_search_pair &pair = p.pairs[blockIdx.z];
    int32_t warp = threadIdx.x / 32, row = blockIdx.y;
    int32_t col = blockIdx.x * (blockDim.x / 32) + warp;
    if (col >= level.cols)
        return;
    below_block b = locate_block<below_sizes<Sample, RowWords>::width>(level, col, row);
    uint32_t *current = (uint32_t *)below_memory + warp * p.warp_words;
    uint32_t *windows = current + b.block_h * RowWords, *starts = shared.starts[warp];
    int32_t window_words = (b.block_h + 2 * REACH) * below_sizes<Sample, RowWords>::pitch;
    uint32_t parent = load_parent(p, col, row);
    load_current<Sample, RowWords>(level, b, current, pair.current + level.offset_bytes);
    int32_t n_starts = list_starts(level, starts, parent);
    below_best best = {{NO_COST, NO_KEY}, 0, false};
    for (int32_t first = 0; first < n_starts; first += p.n_at_once) {
        int32_t n = min(p.n_at_once, n_starts - first);
        for (int32_t i = 0; i < n; i++)
            load_window<Sample, RowWords>(level, b, windows + i * window_words,
                                          pair.reference + level.offset_bytes, starts[first + i]);
        __syncwarp();
        take_starts<Sample, RowWords>(best, b, current, windows, starts + first, n);
    }
    store_best(level.matches ? level.matches + blockIdx.z * level.pair_bytes : pair.matches,
               row * level.cols + col, best);
}

// hier_below_SAMPLEBITS_wWORDS: for blocks whose rows have WORDS words of four bytes.
#define BELOW_KERNEL(name, sample, words)                                \
    extern "C" __global__ void __launch_bounds__(MVF_HIER_BELOW_THREADS) \
        name(const __grid_constant__ mvf_hier_below_params p)            \
    {                                                                    \
        search<sample, words>(p);                                        \
    }

BELOW_KERNEL(hier_below_8_w1, uint8_t, 1)
BELOW_KERNEL(hier_below_8_w2, uint8_t, 2)
BELOW_KERNEL(hier_below_8_w4, uint8_t, 4)
BELOW_KERNEL(hier_below_8_w8, uint8_t, 8)
BELOW_KERNEL(hier_below_8_w16, uint8_t, 16)
BELOW_KERNEL(hier_below_16_w2, uint16_t, 2)
BELOW_KERNEL(hier_below_16_w4, uint16_t, 4)
BELOW_KERNEL(hier_below_16_w8, uint16_t, 8)
BELOW_KERNEL(hier_below_16_w16, uint16_t, 16)
BELOW_KERNEL(hier_below_16_w32, uint16_t, 32)
