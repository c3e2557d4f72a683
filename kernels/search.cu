// Exact full search of any block, step, range, edge rule and sample size: one team of threads, a
// warp or a whole thread block, for each block of the frame.
//
// The window lies in shared memory, aligned to groups of four samples of the reference frame. Each
// thread owns one group of four adjacent columns of candidates, so that one load of reference words
// serves four candidates, and walks down them in rank order: within a column the first of equals
// wins, which is what the predicate of __vibmin_s32 tells. Columns are merged by (cost, rank) at
// the end. A warp leaves its candidates as soon as no partial sum in it can still win.
//
// SPDX-License-Identifier: BSD-2-Clause
#include <cuda_pipeline.h>

#include "instructions.h"
#include "params.h"
#include "rank.h"
#include "sad.h"
#include "search/rule.h"

// Candidates of one group.
#define GROUP MVF_SEARCH_GROUP

// What a team of threads shares beside its block and window.
template <int32_t Team> struct search_shared {
    // Sums above it cannot win any more.
    int32_t limit;
    int32_t cost[Team / 32];
    uint32_t key[Team / 32];
};

// A thread's place in its team.
template <int32_t Team> static __device__ int32_t team_thread()
{
    return threadIdx.x % Team;
}

template <int32_t Team> static __device__ void sync_team()
{
    if constexpr (Team == 32)
        __syncwarp();
    else
        __syncthreads();
}

// The block of the frame, its candidates, and the first of them that is aligned to a group.
struct search_block {
    int32_t x, y, w, h;
    mvf_window window;
    int32_t first_x;
};

// The candidates now in shared memory: groups of columns from first_x on, rows y_min to y_max.
struct search_panel {
    int32_t first_x, n_groups, y_min, y_max;
    int32_t pitch_words, row_words;
    const uint32_t *current, *window;
};

static __device__ int32_t lowest(const uint32_t (&sums)[GROUP])
{
    return min(min((int32_t)sums[0], (int32_t)sums[1]), min((int32_t)sums[2], (int32_t)sums[3]));
}

// The costs of a group, by a whole warp; false as soon as no sum in the warp is within its limit,
// and the sums are then partial.
template <typename Sample, int32_t Words, bool Masked>
static __device__ bool sad_group(uint32_t (&sums)[GROUP], const search_block &block,
                                 const search_panel &panel, const uint32_t *reference,
                                 int32_t limit)
{
    sad_rows rows = {panel.current, reference, panel.row_words, panel.pitch_words,
                     block.w * (int32_t)sizeof(Sample)};
    for (int32_t row = 0; row < block.h; row += ROWS_AT_ONCE) {
        if (!__any_sync(ALL_LANES, lowest(sums) <= limit))
            return false;
        add_rows<Sample, Words, Masked>(sums, rows, min(ROWS_AT_ONCE, block.h - row));
        rows.current += ROWS_AT_ONCE * panel.row_words;
        rows.reference += ROWS_AT_ONCE * panel.pitch_words;
    }
    return true;
}

// What a finished group says about every other sum: nothing above its costs wins, and nothing that
// equals the zero vector's, which comes first in rank.
static __device__ void lower_limit(int32_t &shared_limit, const int32_t (&costs)[GROUP], int32_t dx,
                                   int32_t dy)
{
    int32_t limit = NO_COST;
#pragma unroll
    for (int32_t j = 0; j < GROUP; j++)
        limit = min(limit, costs[j] - (dy == 0 && dx + j == 0));
    if (limit < *(volatile int32_t *)&shared_limit)
        atomicMin(&shared_limit, limit);
}

// Searches the panel; each thread returns the best of its columns or of `best`.
template <typename Sample, int32_t Words, int32_t Team, bool Masked>
static __device__ search_best scan_panel(int32_t &shared_limit, const search_block &block,
                                         const search_panel &panel, search_best best)
{
    int32_t thread = team_thread<Team>();
    int32_t group = thread % panel.n_groups, first = thread / panel.n_groups;
    int32_t stride = Team / panel.n_groups;
    int32_t n_rows = panel.y_max - panel.y_min + 1;
    int32_t dx = panel.first_x + GROUP * group;
    int32_t cost[GROUP] = {NO_COST, NO_COST, NO_COST, NO_COST}, entry[GROUP] = {0, 0, 0, 0};
    const uint32_t *column = panel.window + group * (int32_t)sizeof(Sample);
    for (int32_t i = first; __any_sync(ALL_LANES, i < n_rows); i += stride) {
        bool active = first < stride && i < n_rows;
        int32_t dy = active ? rank_walk(i, panel.y_min, panel.y_max) : panel.y_min;
        int32_t limit = active ? *(volatile int32_t *)&shared_limit : -1;
        uint32_t sums[GROUP] = {0, 0, 0, 0};
        if (!sad_group<Sample, Words, Masked>(
                sums, block, panel, column + (dy - panel.y_min) * panel.pitch_words, limit))
            continue;
        int32_t costs[GROUP];
#pragma unroll
        for (int32_t j = 0; j < GROUP; j++) {
            bool kept, inside = dx + j >= block.window.x_min && dx + j <= block.window.x_max;
            costs[j] = active && inside ? (int32_t)sums[j] : NO_COST;
            cost[j] = __vibmin_s32(cost[j], costs[j], &kept);
            entry[j] = kept ? entry[j] : i;
        }
        lower_limit(shared_limit, costs, dx, dy);
    }
#pragma unroll
    for (int32_t j = 0; j < GROUP; j++) {
        uint32_t key = rank_key(dx + j, rank_walk(entry[j], panel.y_min, panel.y_max));
        if (cost[j] != NO_COST && is_better(cost[j], key, best))
            best = {cost[j], key};
    }
    return best;
}

// Copies without waiting for each word where the architecture can; wait_window() waits for all.
template <typename Sample, int32_t Team>
static __device__ void load_window(uint32_t *to, const search_block &block,
                                   const search_panel &panel, const uint8_t *plane,
                                   int64_t stride_bytes)
{
    const uint8_t *from = plane + (block.y + panel.y_min) * stride_bytes +
                          (block.x + panel.first_x) * (int64_t)sizeof(Sample);
    int32_t n_words = panel.n_groups * (int32_t)sizeof(Sample) + panel.row_words;
    int32_t n_rows = panel.y_max - panel.y_min + block.h;
    int32_t step_rows = Team / n_words, step_words = Team % n_words;
    int32_t row = team_thread<Team>() / n_words, word = team_thread<Team>() % n_words;
    while (row < n_rows) {
        __pipeline_memcpy_async(to + row * panel.pitch_words + word,
                                from + row * stride_bytes + 4 * word, 4);
        row += step_rows;
        word += step_words;
        if (word >= n_words) {
            word -= n_words;
            row++;
        }
    }
}

static __device__ void wait_window()
{
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

// The best of the team, in its first thread.
template <int32_t Team>
static __device__ search_best team_best(search_shared<Team> &shared, search_best best)
{
    best = warp_best(best);
    if constexpr (Team > 32) {
        if (threadIdx.x % 32 == 0) {
            shared.cost[threadIdx.x / 32] = best.cost;
            shared.key[threadIdx.x / 32] = best.key;
        }
        __syncthreads();
        for (int32_t i = 1; i < Team / 32; i++)
            if (is_better(shared.cost[i], shared.key[i], best))
                best = {shared.cost[i], shared.key[i]};
    }
    return best;
}

template <typename Sample>
static __device__ search_block block_of(const mvf_search_params &p, int32_t index)
{
    search_block block;
    block.x = index % p.cols * p.step_x;
    block.y = index / p.cols * p.step_y;
    block.w = mvf_rule_visible(block.x, p.block_w, p.width);
    block.h = mvf_rule_visible(block.y, p.block_h, p.height);
    block.window = mvf_rule_window(block.x, block.y, block.w, block.h, p.width, p.height, p.range_x,
                                   p.range_y, p.inside);
    block.first_x = ((block.x + block.window.x_min) & ~(GROUP - 1)) - block.x;
    return block;
}

// The window's panels, the one with the zero vector first and then outwards, since a low limit
// found early saves work later.
template <typename Sample, int32_t Words, int32_t Team>
static __device__ void search(const mvf_search_params &p)
{
    DYNAMIC_SHARED(uint4, dynamic);
    __shared__ search_shared<Team> all_shared[MVF_SEARCH_THREADS / Team];
    int32_t team = threadIdx.x / Team, index = blockIdx.x * (MVF_SEARCH_THREADS / Team) + team;
    if (index >= p.n_blocks)
        return;
    search_shared<Team> &shared = all_shared[team];
    const mvf_search_pair &pair = p.pairs[blockIdx.y];
    search_block block = block_of<Sample>(p, index);
    search_panel panel;
    panel.row_words = p.block_w * (int32_t)sizeof(Sample) / 4;
    panel.pitch_words = p.panel_groups * (int32_t)sizeof(Sample) + panel.row_words;
    uint32_t *current = (uint32_t *)dynamic + team * p.team_words;
    uint32_t *window = current + p.block_h * panel.row_words;
    panel.current = current;
    panel.window = window;
    if (team_thread<Team>() == 0)
        shared.limit = NO_COST;
    load_visible<Sample>(current, pair.current, p.stride_bytes, block.x, block.y, p.width, p.height,
                         block.h, panel.row_words, team_thread<Team>(), Team);

    search_best best = {NO_COST, NO_KEY};
    int32_t n_groups = (block.window.x_max - block.first_x) / GROUP + 1;
    int32_t n_across = (n_groups + p.panel_groups - 1) / p.panel_groups;
    int32_t n_down = (block.window.y_max - block.window.y_min) / p.panel_rows + 1;
    int32_t zero_across = -block.first_x / GROUP / p.panel_groups;
    int32_t zero_down = -block.window.y_min / p.panel_rows;
    for (int32_t i = 0; i < n_down * n_across; i++) {
        int32_t down = zero_down + rank_walk(i / n_across, -zero_down, n_down - 1 - zero_down);
        int32_t across =
            zero_across + rank_walk(i % n_across, -zero_across, n_across - 1 - zero_across);
        panel.first_x = block.first_x + across * p.panel_groups * GROUP;
        panel.n_groups = min(p.panel_groups, n_groups - across * p.panel_groups);
        panel.y_min = block.window.y_min + down * p.panel_rows;
        panel.y_max = min(panel.y_min + p.panel_rows - 1, block.window.y_max);
        sync_team<Team>();
        load_window<Sample, Team>(window, block, panel, (const uint8_t *)pair.reference,
                                  p.stride_bytes);
        wait_window();
        sync_team<Team>();
        best = block.w == p.block_w
                   ? scan_panel<Sample, Words, Team, false>(shared.limit, block, panel, best)
                   : scan_panel<Sample, Words, Team, true>(shared.limit, block, panel, best);
    }
    best = team_best(shared, best);
    if (team_thread<Team>() == 0)
        store_match(pair.matches, index, best);
}

// search_SAMPLEBITS_wWORDS: rows are compared WORDS words of four bytes at a time; _warp: by a team
// of one warp.
#define SEARCH_KERNEL(name, sample, words, team)                                        \
    extern "C" __global__ void __launch_bounds__(MVF_SEARCH_THREADS, MVF_SEARCH_BLOCKS) \
        name(const __grid_constant__ mvf_search_params p)                               \
    {                                                                                   \
        search<sample, words, team>(p);                                                 \
    }

SEARCH_KERNEL(search_8_w1, uint8_t, 1, MVF_SEARCH_THREADS)
SEARCH_KERNEL(search_8_w2, uint8_t, 2, MVF_SEARCH_THREADS)
SEARCH_KERNEL(search_8_w4, uint8_t, 4, MVF_SEARCH_THREADS)
SEARCH_KERNEL(search_16_w2, uint16_t, 2, MVF_SEARCH_THREADS)
SEARCH_KERNEL(search_16_w4, uint16_t, 4, MVF_SEARCH_THREADS)
SEARCH_KERNEL(search_8_w1_warp, uint8_t, 1, 32)
SEARCH_KERNEL(search_8_w2_warp, uint8_t, 2, 32)
SEARCH_KERNEL(search_8_w4_warp, uint8_t, 4, 32)
SEARCH_KERNEL(search_16_w2_warp, uint16_t, 2, 32)
SEARCH_KERNEL(search_16_w4_warp, uint16_t, 4, 32)
