// Search of whatever no other kernel serves: any metric, rates, windows round hints, squares and
// their halves down to 4 x 4. One thread block for each block of the grid or, with partitions, for
// each largest square.
//
// A thread takes one candidate at a time and reads the reference from the plane itself: neighbours
// take neighbouring vectors, so that the cache serves most of it. The smallest blocks come in the
// order of the tree, so that a few sums in registers add up to the costs of all larger ones. The
// best J of each lies in shared memory, and is looked at by the warp as one.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "differences.h"
#include "guides.h"
#include "params.h"
#include "rank.h"
#include "sad.h"

#define NO_J 0xffffffffu
// Splits of 64 x 64 into 4 x 4.
#define MAX_DEPTH 4

// What a thread block works on.
struct block_unit {
    // Its place in the grid and in the frame; its visible size.
    int32_t col, row, x, y, w, h;
    mvf_guide_vector predictor;
    // The visible samples, rows of `pitch` words; J above and rank below of the best of each node.
    const uint32_t *current;
    int32_t pitch;
    unsigned long long *best;
};

struct block_candidate {
    int32_t dx, dy;
    uint32_t rate, key;
    // Whether it is one, and whether each part of the unit may move by it.
    bool is_one, moves_all;
    // The reference under the unit.
    const uint8_t *reference;
};

// The cost of one tile of the unit, `bytes` and `rows` of which are visible.
template <typename Sample, bool PackedSad, int32_t Tile, bool Masked>
static __device__ uint32_t cost_of_tile(const mvf_block_params &p, const uint32_t *current,
                                        int32_t pitch, const uint8_t *reference, int32_t bytes,
                                        int32_t rows)
{
    const int32_t per_word = 4 / (int32_t)sizeof(Sample), bits = 8 * (int32_t)sizeof(Sample);
    const int32_t n_words = Tile / per_word;
    const uint32_t low = (1u << bits) - 1, shift = (uint32_t)((uintptr_t)reference & 3) * 8;
    int32_t d[PackedSad ? 1 : Tile * Tile];
    uint32_t sum = 0;
    reference = (const uint8_t *)((uintptr_t)reference & ~(uintptr_t)3);
#pragma unroll
    for (int32_t row = 0; row < Tile; row++) {
        const uint32_t *words = (const uint32_t *)(reference + row * p.stride_bytes);
        uint32_t first = words[0];
#pragma unroll
        for (int32_t i = 0; i < n_words; i++) {
            uint32_t second = words[i + 1], now = current[row * pitch + i];
            uint32_t then = __funnelshift_r(first, second, shift);
            first = second;
            if (Masked)
                then &= row < rows ? visible_mask(i, bytes) : 0;
            if (PackedSad)
                sum = sad_word<Sample>(now, then, sum);
#pragma unroll
            for (int32_t k = 0; k < per_word && !PackedSad; k++)
                d[row * Tile + i * per_word + k] =
                    (int32_t)(now >> k * bits & low) - (int32_t)(then >> k * bits & low);
        }
    }
    if constexpr (PackedSad)
        return sum;
    else
        return tile_cost<Tile>(d, p.metric);
}

// The cost of the smallest block at (x, y) of the unit.
template <typename Sample, bool PackedSad, int32_t Tile, bool Masked>
static __device__ uint32_t cost_of_leaf(const mvf_block_params &p, const block_unit &u,
                                        const block_candidate &c, int32_t x, int32_t y)
{
    const mvf_block_level &leaf = p.levels[p.n_levels - 1];
    const int32_t per_word = 4 / (int32_t)sizeof(Sample);
    int32_t end_x = min(x + leaf.w, u.w), end_y = min(y + leaf.h, u.h);
    uint32_t sum = 0;
    for (int32_t ty = y; ty < end_y; ty += Tile)
        for (int32_t tx = x; tx < end_x; tx += Tile)
            sum += cost_of_tile<Sample, PackedSad, Tile, Masked>(
                p, u.current + ty * u.pitch + tx / per_word, u.pitch,
                c.reference + ty * p.stride_bytes + tx * (int32_t)sizeof(Sample),
                (u.w - tx) * (int32_t)sizeof(Sample), u.h - ty);
    return sum;
}

// Whether block (col, row) of the level may move by the vector.
static __device__ bool may_move(const mvf_block_params &p, const block_unit &u,
                                const mvf_block_level &level, int32_t col, int32_t row, int32_t dx,
                                int32_t dy)
{
    int32_t x = u.x + col * level.w, y = u.y + row * level.h;
    mvf_window w = mvf_rule_window(x, y, mvf_rule_visible(x, level.w, p.width),
                                   mvf_rule_visible(y, level.h, p.height), p.width, p.height,
                                   p.range_x, p.range_y, p.inside);
    return dx >= w.x_min && dx <= w.x_max && dy >= w.y_min && dy <= w.y_max;
}

// Compares the candidates of a warp with the best of one block of the unit.
static __device__ void keep_best(const mvf_block_params &p, const block_unit &u,
                                 const block_candidate &c, int32_t level, int32_t col, int32_t row,
                                 uint32_t cost)
{
    const mvf_block_level &l = p.levels[level];
    unsigned long long *best = &u.best[l.first_node + row * l.across + col];
    bool allowed = c.is_one && (c.moves_all || may_move(p, u, l, col, row, c.dx, c.dy));
    uint32_t j = allowed ? cost + c.rate : NO_J;
    if (!__any_sync(ALL_LANES, allowed && j <= ((volatile uint32_t *)best)[1]))
        return;
    unsigned long long mine = warp_smallest(j, c.key);
    if (threadIdx.x % 32 == 0)
        atomicMin(best, mine);
}

// What the four parts of a square add up to.
struct block_halves {
    uint32_t top, bottom, left, right;
};

static __device__ void add_part(block_halves &sums, int32_t part, uint32_t cost)
{
    if (part == 0)
        sums = {0, 0, 0, 0};
    sums.top += part < 2 ? cost : 0;
    sums.bottom += part < 2 ? 0 : cost;
    sums.left += part % 2 ? 0 : cost;
    sums.right += part % 2 ? cost : 0;
}

// Square (col, row) of the level, and its halves, which are the next two levels.
static __device__ void keep_square(const mvf_block_params &p, const block_unit &u,
                                   const block_candidate &c, int32_t level, int32_t col,
                                   int32_t row, const block_halves &sums)
{
    keep_best(p, u, c, level, col, row, sums.top + sums.bottom);
    if (!p.has_halves)
        return;
    keep_best(p, u, c, level + 1, col, 2 * row, sums.top);
    keep_best(p, u, c, level + 1, col, 2 * row + 1, sums.bottom);
    keep_best(p, u, c, level + 2, 2 * col, row, sums.left);
    keep_best(p, u, c, level + 2, 2 * col + 1, row, sums.right);
}

// Every second bit of a place in the order of the tree.
static __device__ int32_t even_bits(int32_t place)
{
    return (place & 1) | (place >> 1 & 2) | (place >> 2 & 4) | (place >> 3 & 8);
}

// One candidate of each lane, for all blocks of the unit.
template <typename Sample, bool PackedSad, int32_t Tile, bool Masked>
static __device__ void try_candidate(const mvf_block_params &p, const block_unit &u,
                                     const block_candidate &c)
{
    const mvf_block_level &leaf = p.levels[p.n_levels - 1];
    block_halves sums[MAX_DEPTH];
    for (int32_t place = 0; place < 1 << 2 * p.depth; place++) {
        int32_t col = even_bits(place), row = even_bits(place >> 1), level = p.n_levels - 1;
        uint32_t cost =
            cost_of_leaf<Sample, PackedSad, Tile, Masked>(p, u, c, col * leaf.w, row * leaf.h);
        keep_best(p, u, c, level, col, row, cost);
#pragma unroll
        for (int32_t up = 0; up < MAX_DEPTH; up++) {
            if (up >= p.depth)
                break;
            int32_t part = place >> 2 * up & 3;
            add_part(sums[up], part, cost);
            if (part < 3)
                break;
            cost = sums[up].top + sums[up].bottom;
            level -= p.has_halves ? 3 : 1;
            keep_square(p, u, c, level, col >> (up + 1), row >> (up + 1), sums[up]);
        }
    }
}

static __device__ int32_t n_candidates(const mvf_block_params &p, const mvf_search_pair &pair)
{
    int32_t side = 2 * p.refine_range + 1;
    if (p.refine_range < 0)
        return (2 * p.range_x + 1) * (2 * p.range_y + 1);
    return 1 + (1 + pair.n_hints) * side * side;
}

// Where window `which` round the unit's predictor (0) or its hints begins.
static __device__ mvf_guide_vector hint_of(const mvf_block_params &p, const block_unit &u,
                                           const mvf_search_pair &pair, int32_t which)
{
    int32_t block = u.row * p.cols + u.col;
    if (which == 0)
        return u.predictor;
    return ((const mvf_guide_vector *)pair.hints)[block * (int64_t)pair.n_hints + which - 1];
}

// Candidate i; that there are some more than once does no harm.
static __device__ block_candidate candidate(const mvf_block_params &p, const block_unit &u,
                                            const mvf_search_pair &pair, int32_t i, int32_t n,
                                            int32_t sample_bytes)
{
    int32_t r = p.refine_range, cols = 2 * (r < 0 ? p.range_x : r) + 1;
    block_candidate c = {.dx = 0, .dy = 0};
    if (r < 0) {
        c.dx = i % cols - p.range_x;
        c.dy = i / cols - p.range_y;
    } else if (i > 0 && i < n) {
        mvf_guide_vector hint = hint_of(p, u, pair, (i - 1) / (cols * cols));
        c.dx = ((hint.x + 2) >> 2) - r + (i - 1) % cols;
        c.dy = ((hint.y + 2) >> 2) - r + (i - 1) / cols % cols;
    }
    c.is_one = i < n && abs(c.dx) <= p.range_x && abs(c.dy) <= p.range_y;
    if (!c.is_one)
        c.dx = c.dy = 0;
    c.moves_all = may_move(p, u, p.levels[0], 0, 0, c.dx, c.dy);
    c.rate = mvf_rule_rate(&p.rate, 4 * c.dx - u.predictor.x, 4 * c.dy - u.predictor.y);
    c.key = rank_key(c.dx, c.dy);
    c.reference = (const uint8_t *)pair.reference + (u.y + c.dy) * p.stride_bytes +
                  (int64_t)(u.x + c.dx) * sample_bytes;
    return c;
}

static __device__ void store(const mvf_block_params &p, const block_unit &u,
                             const mvf_search_pair &pair, const mvf_block_level &level)
{
    for (int32_t i = threadIdx.x; i < level.across * level.down; i += blockDim.x) {
        int32_t col = i % level.across, row = i / level.across;
        if (col * level.w >= u.w || row * level.h >= u.h)
            continue;
        unsigned long long best = u.best[level.first_node + i];
        int32_t dx = rank_x((uint32_t)best), dy = rank_y((uint32_t)best);
        uint32_t rate = mvf_rule_rate(&p.rate, 4 * dx - u.predictor.x, 4 * dy - u.predictor.y);
        int64_t index = level.first_match + (int64_t)(u.row * level.down + row) * level.cols +
                        u.col * level.across + col;
        uint32_t vector = (uint32_t)(uint16_t)dx | (uint32_t)dy << 16;
        ((uint2 *)pair.matches)[index] = make_uint2(vector, (uint32_t)(best >> 32) - rate);
    }
}

template <typename Sample, bool PackedSad, int32_t Tile>
static __device__ void search(const mvf_block_params &p)
{
    DYNAMIC_SHARED(unsigned long long, block_memory);
    const mvf_search_pair &pair = p.pairs[blockIdx.y];
    const mvf_block_level &largest = p.levels[0];
    block_unit u;
    u.col = blockIdx.x % p.cols;
    u.row = blockIdx.x / p.cols;
    u.x = u.col * p.step_x;
    u.y = u.row * p.step_y;
    u.w = mvf_rule_visible(u.x, largest.w, p.width);
    u.h = mvf_rule_visible(u.y, largest.h, p.height);
    u.predictor = predictor_of(pair, blockIdx.x);
    u.best = block_memory;
    uint32_t *current = (uint32_t *)(block_memory + p.n_nodes);
    u.current = current;
    u.pitch = largest.w * (int32_t)sizeof(Sample) / 4;
    load_visible<Sample>(current, pair.current, p.stride_bytes, u.x, u.y, p.width, p.height,
                         largest.h, u.pitch, threadIdx.x, blockDim.x);
    for (int32_t i = threadIdx.x; i < p.n_nodes; i += blockDim.x)
        u.best[i] = ~0ull;
    __syncthreads();
    int32_t n = n_candidates(p, pair);
    bool is_whole = u.w == largest.w && u.h == largest.h;
    for (int32_t i = threadIdx.x; i / 32 * 32 < n; i += blockDim.x) {
        block_candidate c = candidate(p, u, pair, i, n, (int32_t)sizeof(Sample));
        if (is_whole)
            try_candidate<Sample, PackedSad, Tile, false>(p, u, c);
        else
            try_candidate<Sample, PackedSad, Tile, true>(p, u, c);
    }
    __syncthreads();
    for (int32_t i = 0; i < p.n_levels; i++)
        store(p, u, pair, p.levels[i]);
}

#define BLOCK_SEARCH(bounds, name, sample, packed_sad, tile)                                \
    extern "C" __global__ void bounds name(const __grid_constant__ mvf_block_params params) \
    {                                                                                       \
        search<sample, packed_sad, tile>(params);                                           \
    }
#define MANY __launch_bounds__(MVF_BLOCK_SEARCH_THREADS, MVF_BLOCK_SEARCH_BLOCKS)
#define FEW __launch_bounds__(MVF_BLOCK_SEARCH_THREADS, MVF_BLOCK_SEARCH_FEW_BLOCKS)

BLOCK_SEARCH(MANY, block_sad_8_t4, uint8_t, true, 4)
BLOCK_SEARCH(MANY, block_sad_8_t8, uint8_t, true, 8)
BLOCK_SEARCH(MANY, block_sad_16_t4, uint16_t, true, 4)
BLOCK_SEARCH(MANY, block_sad_16_t8, uint16_t, true, 8)
BLOCK_SEARCH(MANY, block_metric_8_t4, uint8_t, false, 4)
BLOCK_SEARCH(FEW, block_metric_8_t8, uint8_t, false, 8)
BLOCK_SEARCH(MANY, block_metric_16_t4, uint16_t, false, 4)
BLOCK_SEARCH(FEW, block_metric_16_t8, uint16_t, false, 8)
