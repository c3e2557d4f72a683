// Exact full search over square partitions, 8 x 8 to 64 x 64, from one pass: one thread block for
// each largest square.
//
// The square is taken in blocks of 16 x 16. Their windows lie in shared memory once for each sample
// offset in a word, so that no load needs a shift. A thread takes strips of four candidates below
// one another: a row of reference words, loaded once, serves all four, and the last four rows of
// the block stay in registers. It keeps the best of the four 8 x 8 and of the 16 x 16; sums of 16 x
// 16 add up in shared memory, candidate by candidate, to those of 32 x 32 and 64 x 64.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "guides.h"
#include "instructions.h"
#include "params.h"
#include "rank.h"
#include "sad.h"
#include "search/metric_rule.h"

#define BLOCK 16
#define STRIP 4
// Above every J, and what sums of no candidate start from.
#define NO_J 0x7fffffffu
#define NOT_HERE 0x80000000u
// Nodes of 64 x 64: 1 + 4 + 16 + 64.
#define N_NODES 85

struct partition_shared {
    // J above, rank below.
    unsigned long long best[N_NODES];
};

struct partition_best {
    uint32_t j, key;
};

// What a thread block works on.
struct partition_unit {
    int32_t x, y;
    // The candidates at hand.
    int32_t first_x, first_y, n_cols, n_rows;
    // Shared memory, in words.
    uint32_t *current, *window, *sums_32, *sums_64, *bits_x, *bits_y;
};

template <typename Sample> struct layout {
    static const int32_t per_word = 4 / (int32_t)sizeof(Sample);
    static const int32_t row_words = BLOCK / per_word;
};

// The reference under the candidates at hand, the word at each sample offset made from three
// aligned ones. What would lie beyond the border does not matter.
template <typename Sample>
static __device__ void load_window(const mvf_partition_params &p, const partition_unit &u,
                                   uint64_t plane, int32_t x, int32_t y)
{
    const int32_t per_word = layout<Sample>::per_word;
    int32_t pitch = p.window_pitch, end_x = p.width + p.range_x + BLOCK;
    int32_t row = threadIdx.x / pitch, word = threadIdx.x % pitch;
    int32_t step_rows = blockDim.x / pitch, step_words = blockDim.x % pitch;
    while (row < p.window_rows) {
        int32_t from_y = min(y + u.first_y + row, p.height + p.range_y);
        int32_t from_x = min(x + u.first_x + word * per_word, end_x);
        const uint8_t *from = (const uint8_t *)plane + from_y * p.stride_bytes +
                              (int64_t)from_x * (int64_t)sizeof(Sample);
        const uint32_t *aligned = (const uint32_t *)((uintptr_t)from & ~(uintptr_t)3);
        uint32_t shift = (uint32_t)((uintptr_t)from & 3) * 8, middle = aligned[1];
        uint32_t first = __funnelshift_r(aligned[0], middle, shift);
        uint32_t second = __funnelshift_r(middle, aligned[2], shift);
#pragma unroll
        for (int32_t copy = 0; copy < per_word; copy++)
            u.window[copy * p.copy_words + row * pitch + word] =
                __funnelshift_r(first, second, copy * 8 * (uint32_t)sizeof(Sample));
        row += step_rows;
        word += step_words;
        if (word >= pitch) {
            word -= pitch;
            row++;
        }
    }
}

// The SADs of the four 8 x 8 of the block, for each candidate of a strip.
template <typename Sample, bool Masked>
static __device__ void add_strip(uint32_t (&sums)[STRIP][4], const uint32_t *current,
                                 const uint32_t *reference, int32_t pitch, int32_t visible_bytes,
                                 int32_t visible_rows)
{
    const int32_t row_words = layout<Sample>::row_words;
    uint32_t rows[STRIP][row_words];
#pragma unroll
    for (int32_t r = 0; r < BLOCK + STRIP - 1; r++) {
        uint32_t then[row_words];
#pragma unroll
        for (int32_t i = 0; i < row_words; i++) {
            then[i] = reference[r * pitch + i];
            if (Masked)
                then[i] &= visible_mask(i, visible_bytes);
        }
        if (r < BLOCK) {
#pragma unroll
            for (int32_t i = 0; i < row_words; i += 4) {
                uint4 now = *(const uint4 *)&current[r * row_words + i];
                rows[r % STRIP][i] = now.x, rows[r % STRIP][i + 1] = now.y;
                rows[r % STRIP][i + 2] = now.z, rows[r % STRIP][i + 3] = now.w;
            }
        }
#pragma unroll
        for (int32_t s = 0; s < STRIP; s++) {
            const int32_t row = r - s;
            if (row < 0 || row >= BLOCK || (Masked && row >= visible_rows))
                continue;
#pragma unroll
            for (int32_t i = 0; i < row_words; i++)
                sums[s][row / 8 * 2 + i * 2 / row_words] =
                    sad_word<Sample>(rows[(row + BLOCK) % STRIP][i], then[i],
                                     sums[s][row / 8 * 2 + i * 2 / row_words]);
        }
    }
}

// Whether the block of size x size at (x, y) may move by the vector.
static __device__ bool may_move(const mvf_partition_params &p, int32_t x, int32_t y, int32_t size,
                                int32_t dx, int32_t dy)
{
    if (!p.inside)
        return true;
    mvf_window w = mvf_rule_window(x, y, mvf_rule_visible(x, size, p.width),
                                   mvf_rule_visible(y, size, p.height), p.width, p.height,
                                   p.range_x, p.range_y, 1);
    return dx >= w.x_min && dx <= w.x_max && dy >= w.y_min && dy <= w.y_max;
}

// Compares the J of a strip's candidates, the first of which is (dx, dy), with the best so far.
static __device__ void keep_best(const mvf_partition_params &p, partition_best &best,
                                 const uint32_t (&j)[STRIP], int32_t x, int32_t y, int32_t size,
                                 int32_t dx, int32_t dy)
{
    if (min(min(j[0], j[1]), min(j[2], j[3])) > best.j)
        return;
#pragma unroll
    for (int32_t s = 0; s < STRIP; s++) {
        if (j[s] > best.j || !may_move(p, x, y, size, dx, dy + s))
            continue;
        uint32_t key = rank_key(dx, dy + s);
        if (j[s] < best.j || key < best.key)
            best = {j[s], key};
    }
}

// The best of the warp into shared memory; starts anew.
static __device__ void hand_in(partition_shared &shared, int32_t node, partition_best &best)
{
    unsigned long long mine = warp_smallest(best.j, best.key);
    if (threadIdx.x % 32 == 0)
        atomicMin(&shared.best[node], mine);
    best = {NO_J, ALL_LANES};
}

// A thread's best blocks of each size.
struct partition_bests {
    partition_best of_8[4], of_16, of_32, of_64;
};

// What the larger squares make of a candidate's 16 x 16: their sums so far, in shared memory.
static __device__ uint32_t add_to(uint32_t *sum, uint32_t value, bool is_first)
{
    value += is_first ? 0 : *sum;
    *sum = value;
    return value;
}

static __device__ uint32_t rate_of(const mvf_partition_params &p, uint32_t bits)
{
    return (uint32_t)((uint64_t)p.rate.lambda_q4 * bits >> 4);
}

// One strip of candidates of the 16 x 16 number `part` of the 32 x 32 number `quarter`.
template <typename Sample, bool Masked>
static __device__ void search_strip(const mvf_partition_params &p, const partition_unit &u,
                                    partition_bests &best, int32_t x, int32_t y, int32_t part,
                                    int32_t quarter, int32_t col, int32_t row)
{
    const int32_t per_word = layout<Sample>::per_word;
    uint32_t sums[STRIP][4] = {}, rate[STRIP], j[STRIP];
    const uint32_t *reference =
        u.window + col % per_word * p.copy_words + row * p.window_pitch + col / per_word;
    add_strip<Sample, Masked>(sums, u.current, reference, p.window_pitch,
                              (p.width - x) * (int32_t)sizeof(Sample), p.height - y);
    int32_t dx = u.first_x + col, dy = u.first_y + row;
#pragma unroll
    for (int32_t s = 0; s < STRIP; s++) {
        bool is_candidate = row + s < u.n_rows;
        rate[s] = is_candidate ? rate_of(p, u.bits_x[dx + p.range_x] + u.bits_y[dy + s + p.range_y])
                               : NOT_HERE;
    }
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
#pragma unroll
        for (int32_t s = 0; s < STRIP; s++)
            j[s] = sums[s][i] + rate[s];
        keep_best(p, best.of_8[i], j, x + i % 2 * 8, y + i / 2 * 8, 8, dx, dy);
    }
#pragma unroll
    for (int32_t s = 0; s < STRIP; s++) {
        sums[s][0] += sums[s][1] + sums[s][2] + sums[s][3];
        j[s] = sums[s][0] + rate[s];
    }
    keep_best(p, best.of_16, j, x, y, 16, dx, dy);
    if (p.block < 32)
        return;
    int32_t place = row * u.n_cols + col;
#pragma unroll
    for (int32_t s = 0; s < STRIP; s++) {
        sums[s][0] = add_to(&u.sums_32[place + s * u.n_cols], sums[s][0], part == 0);
        j[s] = sums[s][0] + rate[s];
    }
    if (part < 3)
        return;
    keep_best(p, best.of_32, j, u.x + quarter % 2 * 32, u.y + quarter / 2 * 32, 32, dx, dy);
    if (p.block < 64)
        return;
#pragma unroll
    for (int32_t s = 0; s < STRIP; s++)
        j[s] = add_to(&u.sums_64[place + s * u.n_cols], sums[s][0], quarter == 0) + rate[s];
    if (quarter == 3)
        keep_best(p, best.of_64, j, u.x, u.y, 64, dx, dy);
}

// Places of blocks among the nodes: 64, then the squares of 32, 16 and 8 in raster order.
static __device__ int32_t node_16(int32_t col, int32_t row)
{
    return 5 + row * 4 + col;
}

static __device__ int32_t node_8(int32_t col, int32_t row)
{
    return 21 + row * 8 + col;
}

template <typename Sample>
static __device__ void search_block(const mvf_partition_params &p, const partition_unit &u,
                                    partition_shared &shared, partition_bests &best, int32_t part,
                                    int32_t quarter, const mvf_search_pair &pair)
{
    int32_t col = quarter % 2 * 2 + part % 2, row = quarter / 2 * 2 + part / 2;
    int32_t x = u.x + BLOCK * col, y = u.y + BLOCK * row;
    bool is_whole = x + BLOCK <= p.width && y + BLOCK <= p.height;
    load_visible<Sample>(u.current, pair.current, p.stride_bytes, x, y, p.width, p.height, BLOCK,
                         layout<Sample>::row_words, threadIdx.x, blockDim.x);
    load_window<Sample>(p, u, pair.reference, x, y);
    __syncthreads();
    int32_t n_strips = (u.n_rows + STRIP - 1) / STRIP;
    int32_t strip_col = threadIdx.x % u.n_cols, strip = threadIdx.x / u.n_cols;
    int32_t step_strips = blockDim.x / u.n_cols, step_cols = blockDim.x % u.n_cols;
    while (strip < n_strips) {
        if (is_whole)
            search_strip<Sample, false>(p, u, best, x, y, part, quarter, strip_col, strip * STRIP);
        else
            search_strip<Sample, true>(p, u, best, x, y, part, quarter, strip_col, strip * STRIP);
        strip += step_strips;
        strip_col += step_cols;
        if (strip_col >= u.n_cols) {
            strip_col -= u.n_cols;
            strip++;
        }
    }
    __syncwarp();
#pragma unroll
    for (int32_t i = 0; i < 4; i++)
        hand_in(shared, node_8(2 * col + i % 2, 2 * row + i / 2), best.of_8[i]);
    hand_in(shared, node_16(col, row), best.of_16);
    __syncthreads();
}

template <typename Sample>
static __device__ void search_panel(const mvf_partition_params &p, const partition_unit &u,
                                    partition_shared &shared, const mvf_search_pair &pair)
{
    const partition_best none = {NO_J, ALL_LANES};
    partition_bests best = {{none, none, none, none}, none, none, none};
    for (int32_t quarter = 0; quarter < (p.block < 64 ? 1 : 4); quarter++) {
        for (int32_t part = 0; part < (p.block < 32 ? 1 : 4); part++)
            search_block<Sample>(p, u, shared, best, part, quarter, pair);
        hand_in(shared, 1 + quarter, best.of_32);
    }
    hand_in(shared, 0, best.of_64);
}

static __device__ void fill_bits(const mvf_rate &rate, uint32_t *bits, int32_t range,
                                 int32_t predictor)
{
    for (int32_t i = threadIdx.x; i <= 2 * range; i += blockDim.x)
        bits[i] = mvf_rule_bits(&rate, 4 * (i - range) - predictor);
}

// Writes the matches of the squares of one size; `first` is the first of its nodes.
static __device__ void store_level(const mvf_partition_params &p, const partition_unit &u,
                                   const partition_shared &shared, const mvf_search_pair &pair,
                                   int32_t level, int32_t first)
{
    // Sizes 64, 32, 16, 8; nodes lie as if the unit were 64 wide.
    int32_t size = 64 >> level, across = 1 << level, n = p.block / size;
    if (p.first_match[level] < 0 || n == 0)
        return;
    for (int32_t i = threadIdx.x; i < n * n; i += blockDim.x) {
        int32_t x = u.x + i % n * size, y = u.y + i / n * size;
        if (x >= p.width || y >= p.height)
            continue;
        unsigned long long best = shared.best[first + i / n * across + i % n];
        uint32_t key = (uint32_t)best;
        int32_t dx = rank_x(key), dy = rank_y(key);
        uint32_t bits = u.bits_x[dx + p.range_x] + u.bits_y[dy + p.range_y];
        uint32_t cost = (uint32_t)(best >> 32) - rate_of(p, bits);
        int32_t index = p.first_match[level] + y / size * p.level_cols[level] + x / size;
        uint32_t vector = (uint32_t)(uint16_t)dx | (uint32_t)dy << 16;
        ((uint2 *)pair.matches)[index] = make_uint2(vector, cost);
    }
}

template <typename Sample> static __device__ void search(const mvf_partition_params &p)
{
    DYNAMIC_SHARED(uint4, partition_memory);
    __shared__ partition_shared shared;
    const mvf_search_pair &pair = p.pairs[blockIdx.y];
    partition_unit u;
    u.x = blockIdx.x % p.cols * p.block;
    u.y = blockIdx.x / p.cols * p.block;
    u.current = (uint32_t *)partition_memory;
    u.window = u.current + BLOCK * layout<Sample>::row_words;
    u.bits_x = u.window + layout<Sample>::per_word * p.copy_words;
    u.bits_y = u.bits_x + 2 * p.range_x + 1;
    u.sums_32 = u.bits_y + 2 * p.range_y + 1;
    u.sums_64 = u.sums_32 + p.panel_cols * p.panel_rows;
    mvf_guide_vector predictor = predictor_of(pair, blockIdx.x);
    fill_bits(p.rate, u.bits_x, p.range_x, predictor.x);
    fill_bits(p.rate, u.bits_y, p.range_y, predictor.y);
    for (int32_t i = threadIdx.x; i < N_NODES; i += blockDim.x)
        shared.best[i] = ~0ull;
    __syncthreads();
    for (u.first_y = -p.range_y; u.first_y <= p.range_y; u.first_y += p.panel_rows)
        for (u.first_x = -p.range_x; u.first_x <= p.range_x; u.first_x += p.panel_cols) {
            u.n_cols = min(p.panel_cols, p.range_x - u.first_x + 1);
            u.n_rows = min(p.panel_rows, p.range_y - u.first_y + 1);
            search_panel<Sample>(p, u, shared, pair);
        }
    __syncthreads();
    store_level(p, u, shared, pair, 0, 0);
    store_level(p, u, shared, pair, 1, 1);
    store_level(p, u, shared, pair, 2, 5);
    store_level(p, u, shared, pair, 3, 21);
}

extern "C" __global__ void __launch_bounds__(MVF_PARTITION_THREADS, 2)
    partition_8(const __grid_constant__ mvf_partition_params params)
{
    search<uint8_t>(params);
}

// Half of the registers are too few for 16-bit samples up to sm_90.
extern "C" __global__ void __launch_bounds__(MVF_PARTITION_THREADS, 1)
    partition_16(const __grid_constant__ mvf_partition_params params)
{
    search<uint16_t>(params);
}
