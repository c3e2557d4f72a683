// Three ways to keep the least cost and where it was found, in one kernel: a brute-force search in
// the shape of search.cu's, whose lanes take four vectors side by side and go through rows of them
// by rank. For the benchmark alone; every way gives the same bits.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "instructions.h"
#include "minimum.h"
#include "rank.h"
#include "sad.h"

#define N_WARPS (MINIMUM_THREADS / 32)
#define GROUP 4
#define N_GROUPS (MINIMUM_SPAN / GROUP)
// Rows of vectors that a warp takes at once.
#define WARP_ROWS (32 / N_GROUPS)
#define FIRST (-MINIMUM_SPAN / 2)
#define WINDOW_ROWS (MINIMUM_TILE + MINIMUM_SPAN - 1)
// With the word that the last shift needs.
#define WINDOW_WORDS ((MINIMUM_TILE + MINIMUM_SPAN) / 4)
// Two rows begin in other banks.
#define PITCH (WINDOW_WORDS + 1)
#define TILE_WORDS (MINIMUM_TILE * MINIMUM_TILE / 4)
#define MOST_BLOCKS (MINIMUM_TILE * MINIMUM_TILE / 16)

struct minimum_shared {
    // Block by block.
    __align__(16) uint32_t current[TILE_WORDS];
    uint32_t window[WINDOW_ROWS * PITCH];
    // Cost above, rank below.
    unsigned long long best[MOST_BLOCKS];
};

// The predicate of __vibmin_s32 moves the entry.
struct keep_vibmin {
    int32_t costs[GROUP], entries[GROUP];

    __device__ void start(int32_t j)
    {
        costs[j] = NO_COST;
        entries[j] = 0;
    }
    __device__ void take(int32_t j, uint32_t cost, int32_t entry)
    {
        bool kept;
        costs[j] = __vibmin_s32(costs[j], (int32_t)cost, &kept);
        entries[j] = kept ? entries[j] : entry;
    }
    __device__ int32_t cost(int32_t j) const
    {
        return costs[j];
    }
    __device__ int32_t entry(int32_t j) const
    {
        return entries[j];
    }
};

// Compare and select both.
struct keep_select {
    int32_t costs[GROUP], entries[GROUP];

    __device__ void start(int32_t j)
    {
        costs[j] = NO_COST;
        entries[j] = 0;
    }
    __device__ void take(int32_t j, uint32_t cost, int32_t entry)
    {
        if ((int32_t)cost < costs[j]) {
            costs[j] = (int32_t)cost;
            entries[j] = entry;
        }
    }
    __device__ int32_t cost(int32_t j) const
    {
        return costs[j];
    }
    __device__ int32_t entry(int32_t j) const
    {
        return entries[j];
    }
};

// The minimum of cost and entry in one number of Key.
template <typename Key, int32_t EntryBits> struct keep_packed {
    Key keys[GROUP];

    __device__ void start(int32_t j)
    {
        keys[j] = (Key)NO_COST << EntryBits;
    }
    __device__ void take(int32_t j, uint32_t cost, int32_t entry)
    {
        // A sum, which is one instruction with the shift.
        keys[j] = min(keys[j], ((Key)cost << EntryBits) + (uint32_t)entry);
    }
    __device__ int32_t cost(int32_t j) const
    {
        return (int32_t)(keys[j] >> EntryBits);
    }
    __device__ int32_t entry(int32_t j) const
    {
        return (int32_t)(keys[j] & (((Key)1 << EntryBits) - 1));
    }
};

// Costs of a block have 16 bits, entries 6.
typedef keep_packed<uint32_t, 16> keep_packed32;
typedef keep_packed<unsigned long long, 32> keep_packed64;

template <int32_t Block>
static __device__ void load_tile(const minimum_params &p, minimum_shared &s, int64_t offset)
{
    constexpr int32_t words = Block / 4, across = MINIMUM_TILE / Block;
    for (int32_t i = threadIdx.x; i < TILE_WORDS; i += MINIMUM_THREADS) {
        int32_t x = i % 4 * 4, y = i / 4, block = y / Block * across + x / Block;
        s.current[(block * Block + y % Block) * words + x % Block / 4] =
            load_unaligned((const uint8_t *)p.current + offset + y * p.stride_bytes + x);
    }
    for (int32_t i = threadIdx.x; i < WINDOW_ROWS * WINDOW_WORDS; i += MINIMUM_THREADS) {
        int32_t x = i % WINDOW_WORDS * 4, y = i / WINDOW_WORDS;
        s.window[y * PITCH + x / 4] = load_unaligned((const uint8_t *)p.reference + offset +
                                                     (y + FIRST) * p.stride_bytes + x + FIRST);
    }
    if (threadIdx.x < MOST_BLOCKS)
        s.best[threadIdx.x] = (unsigned long long)NO_COST << 32 | NO_KEY;
}

// Rows `first`, first + stride, ... in the order of rank, by a warp.
template <int32_t Block, typename Keep>
static __device__ void search_block(minimum_shared &s, int32_t block, int32_t first, int32_t stride)
{
    constexpr int32_t words = Block / 4, across = MINIMUM_TILE / Block;
    int32_t group = threadIdx.x % N_GROUPS;
    int32_t x = block % across * Block, y = block / across * Block;
    const uint32_t *column = s.window + (y - FIRST) * PITCH + x / 4 + group;
    Keep keep;
#pragma unroll
    for (int32_t j = 0; j < GROUP; j++)
        keep.start(j);
        // The compiler would unroll some of the ways.
#pragma unroll 1
    for (int32_t i = first; i < MINIMUM_SPAN; i += stride) {
        uint32_t sums[GROUP] = {0, 0, 0, 0};
        int32_t dy = rank_walk(i, FIRST, -FIRST - 1);
        sad_rows rows = {s.current + block * Block * words, column + dy * PITCH, words, PITCH,
                         Block};
#pragma unroll
        for (int32_t row = 0; row < Block; row += ROWS_AT_ONCE) {
            add_rows<uint8_t, words, false>(sums, rows, ROWS_AT_ONCE);
            rows.current += ROWS_AT_ONCE * words;
            rows.reference += ROWS_AT_ONCE * PITCH;
        }
#pragma unroll
        for (int32_t j = 0; j < GROUP; j++)
            keep.take(j, sums[j], i);
    }
    search_best best = {NO_COST, NO_KEY};
#pragma unroll
    for (int32_t j = 0; j < GROUP; j++) {
        uint32_t key =
            rank_key(FIRST + GROUP * group + j, rank_walk(keep.entry(j), FIRST, -FIRST - 1));
        if (is_better(keep.cost(j), key, best))
            best = {keep.cost(j), key};
    }
    best = warp_best(best);
    if (threadIdx.x % 32 == 0)
        atomicMin(&s.best[block], (unsigned long long)(uint32_t)best.cost << 32 | best.key);
}

// As many warps as there are blocks take one each, or several after each other; more share one.
template <int32_t Block, typename Keep> static __device__ void search_tile(const minimum_params &p)
{
    constexpr int32_t across = MINIMUM_TILE / Block, n_blocks = across * across;
    constexpr int32_t n_teams = n_blocks < N_WARPS ? n_blocks : N_WARPS;
    constexpr int32_t team_warps = N_WARPS / n_teams;
    __shared__ minimum_shared s;
    int32_t tile = blockIdx.y * p.tiles_across + blockIdx.x, warp = threadIdx.x / 32;
    load_tile<Block>(p, s, MINIMUM_TILE * (blockIdx.y * p.stride_bytes + (int64_t)blockIdx.x));
    __syncthreads();
    int32_t first = warp % team_warps * WARP_ROWS + threadIdx.x % 32 / N_GROUPS;
    for (int32_t block = warp / team_warps; block < n_blocks; block += n_teams)
        search_block<Block, Keep>(s, block, first, team_warps * WARP_ROWS);
    __syncthreads();
    if (threadIdx.x < n_blocks) {
        unsigned long long best = s.best[threadIdx.x];
        store_match(p.matches, tile * n_blocks + threadIdx.x,
                    {(int32_t)(best >> 32), (uint32_t)best});
    }
}

// minimum_WAY_BLOCK.
#define MINIMUM_KERNEL(way, block)                                        \
    extern "C" __global__ void __launch_bounds__(MINIMUM_THREADS)         \
        minimum_##way##_##block(const __grid_constant__ minimum_params p) \
    {                                                                     \
        search_tile<block, keep_##way>(p);                                \
    }

MINIMUM_KERNEL(vibmin, 4)
MINIMUM_KERNEL(vibmin, 8)
MINIMUM_KERNEL(vibmin, 16)
MINIMUM_KERNEL(select, 4)
MINIMUM_KERNEL(select, 8)
MINIMUM_KERNEL(select, 16)
MINIMUM_KERNEL(packed32, 4)
MINIMUM_KERNEL(packed32, 8)
MINIMUM_KERNEL(packed32, 16)
MINIMUM_KERNEL(packed64, 4)
MINIMUM_KERNEL(packed64, 8)
MINIMUM_KERNEL(packed64, 16)
