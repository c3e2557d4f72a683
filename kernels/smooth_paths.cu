// Smooth paths by search/path_rule.h, after a search, refinement included, has written its matches.
// A pass is three kernels: labels of every block, paths through them, and the best label of each
// block, which replaces its match.
//
// Labels. A warp takes a block of the frame. Its first lanes hold the candidates, and those that
// are new are tried one after another or, of small blocks, side by side: a team of lanes shares out
// the samples of one. Blocks are read from the planes themselves: vectors that neighbours agree on
// are in the cache.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "guides.h"
#include "params.h"
#include "paths.h"
#include "sad.h"
#include "search/path_rule.h"
#include "search/subpel_rule.h"
#include "vectors.h"

#define NO_J 0xffffffffu
#define CANDIDATES MVF_PATH_CANDIDATES
#define LABELS MVF_TM_LABELS
#define PLACES MVF_TM_PLACES
// Units of labels in a quarter sample.
#define LABEL_UNITS (MVF_TM_UNIT / 4)

struct smooth_match {
    uint32_t vector, cost;
};

// The block of a warp.
struct smooth_block {
    int32_t index, col, row, x, y, w, h;
    mvf_guide_vector predictor;
    const mvf_search_pair *pair;
};

// What the lanes of a warp hand one another: new candidates and what they cost, and the labels.
struct smooth_warp {
    uint32_t vectors[CANDIDATES], costs[CANDIDATES];
    uint32_t labels[PLACES], label_costs[PLACES];
    int16_t label_path_costs[PLACES];
};

// Costs of a vector in quarter samples: each function gives a lane's share.

static __device__ __forceinline__ const uint8_t *row_of(const mvf_smooth_params &p, uint64_t plane,
                                                        int32_t y)
{
    return (const uint8_t *)plane + y * p.stride_bytes;
}

// Whole samples and SAD: a word at a time.
template <typename Sample> struct smooth_words {
    static __device__ __forceinline__ uint32_t share(const mvf_smooth_params &p,
                                                     const smooth_block &b, uint32_t v,
                                                     int32_t lane)
    {
        const int32_t bytes = (int32_t)sizeof(Sample);
        int32_t dx = x_of(v) >> 2, dy = y_of(v) >> 2;
        uint32_t sum = 0;
        for (int32_t i = lane; i < p.n_items; i += p.team) {
            int32_t word = i & ((1 << p.log2_row_items) - 1), row = i >> p.log2_row_items;
            uint32_t mask = row < b.h ? visible_mask(word, b.w * bytes) : 0;
            const uint8_t *now = row_of(p, b.pair->current, b.y + row) + b.x * bytes + 4 * word;
            const uint8_t *then =
                row_of(p, b.pair->reference, b.y + row + dy) + (b.x + dx) * bytes + 4 * word;
            sum = sad_word<Sample>(load_unaligned(now) & mask, load_unaligned(then) & mask, sum);
        }
        return sum;
    }
};

// One row after the other from (x, y) on: rows outside the frame repeat the nearest one, and
// columns have borders. That each place follows from the one before keeps the compiler from holding
// many at once.
template <typename Sample> struct smooth_rows {
    const uint8_t *row;
    int64_t stride_bytes;
    int32_t y, last;

    __device__ __forceinline__ smooth_rows(const mvf_smooth_params &p, uint64_t plane, int32_t x,
                                           int32_t y)
        : stride_bytes(p.stride_bytes), y(y), last(p.height - 1)
    {
        row = row_of(p, plane, min(max(y, 0), last)) + x * (int32_t)sizeof(Sample);
    }

    __device__ __forceinline__ const Sample *next()
    {
        const uint8_t *here = row;
        row += y >= 0 && y < last ? stride_bytes : 0;
        y++;
        return (const Sample *)here;
    }
};

// Where a prediction begins: a sample of the reference.
struct smooth_place {
    const mvf_smooth_params &p;
    uint64_t plane;
    int32_t x, y;
};

// One of the two predictions that make a quarter sample of h264, at even phases up to 4.
template <typename Sample, int32_t Tile>
static __device__ __forceinline__ void predict_half(int32_t (&d)[Tile], const smooth_place &from,
                                                    int32_t phase_x, int32_t phase_y, int32_t top)
{
    const int32_t taps[6] = {1, -5, 20, 20, -5, 1};
    bool across = phase_x & 2, down = phase_y & 2;
    smooth_rows<Sample> rows(from.p, from.plane, from.x + (phase_x >> 2),
                             from.y + (phase_y >> 2) - (down ? 2 : 0));
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
        d[i] = 0;
#pragma unroll
    for (int32_t row = 0; row < Tile + 5; row++) {
        if (!down && (row < 2 || row >= Tile + 2))
            continue;
        const Sample *s = rows.next();
        int32_t sum = across ? mvf_rule_taps_h264(s[-2], s[-1], s[0], s[1], s[2], s[3]) : s[0];
#pragma unroll
        for (int32_t i = 0; i < Tile; i++)
            if (row - i >= 0 && row - i < 6)
                d[i] += (down ? taps[row - i] : row - i == 2) * sum;
    }
    int32_t shift = across && down ? 10 : across || down ? 5 : 0, half = 1 << shift >> 1;
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
        d[i] = mvf_rule_clip((d[i] + half) >> shift, top);
}

template <typename Sample, int32_t Tile>
static __device__ __forceinline__ void predict_h264(int32_t (&d)[Tile], const smooth_place &from,
                                                    int32_t fx, int32_t fy, int32_t bit_depth)
{
    int32_t ax, ay, bx, by, top = (1 << bit_depth) - 1;
    int32_t is_pair = mvf_rule_h264_pair(fx, fy, &ax, &ay, &bx, &by);
    predict_half<Sample, Tile>(d, from, ax, ay, top);
    if (!is_pair)
        return;
    int32_t other[Tile];
    predict_half<Sample, Tile>(other, from, bx, by, top);
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
        d[i] = (d[i] + other[i] + 1) >> 1;
}

// Chosen among constants: a table that is indexed would lie in local memory.
static __device__ __forceinline__ int32_t tap_hevc(int32_t phase, int32_t i)
{
    int32_t tap = phase == 0 ? mvf_rule_tap_hevc(0, i) : mvf_rule_tap_hevc(1, i);
    tap = phase == 2 ? mvf_rule_tap_hevc(2, i) : tap;
    return phase == 3 ? mvf_rule_tap_hevc(3, i) : tap;
}

// Row by row, each of which adds to the sums of up to eight samples.
template <typename Sample, int32_t Tile>
static __device__ __forceinline__ void predict_hevc(int32_t (&d)[Tile], const smooth_place &from,
                                                    int32_t fx, int32_t fy, int32_t bit_depth)
{
    int32_t across[8], down[8];
    int32_t first = mvf_rule_hevc_first_shift(bit_depth),
            last = mvf_rule_hevc_last_shift(bit_depth);
#pragma unroll
    for (int32_t i = 0; i < 8; i++) {
        across[i] = tap_hevc(fx, i);
        down[i] = tap_hevc(fy, i);
    }
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
        d[i] = 0;
    smooth_rows<Sample> rows(from.p, from.plane, from.x - 3, from.y - 3);
#pragma unroll
    for (int32_t row = 0; row < Tile + 7; row++) {
        const Sample *s = rows.next();
        int32_t sum = 0;
#pragma unroll
        for (int32_t k = 0; k < 8; k++)
            sum += across[k] * s[k];
        sum >>= first;
#pragma unroll
        for (int32_t i = 0; i < Tile; i++)
            if (row - i >= 0 && row - i < 8)
                d[i] += down[row - i] * sum;
    }
#pragma unroll
    for (int32_t i = 0; i < Tile; i++)
        d[i] = mvf_rule_clip(((d[i] >> 6) + (1 << (last - 1))) >> last, (1 << bit_depth) - 1);
}

template <typename Sample, int32_t Tile>
static __device__ __forceinline__ void
predict_bilinear(int32_t (&d)[Tile], const smooth_place &from, int32_t fx, int32_t fy)
{
    smooth_rows<Sample> rows(from.p, from.plane, from.x, from.y);
    const Sample *s = rows.next();
    int32_t above = (4 - fx) * s[0] + fx * s[1];
#pragma unroll
    for (int32_t i = 0; i < Tile; i++) {
        s = rows.next();
        int32_t under = (4 - fx) * s[0] + fx * s[1];
        d[i] = ((4 - fy) * above + fy * under + 8) >> 4;
        above = under;
    }
}

// The transform of a tile, a column each lane; then what it costs, in the first of its lanes.
template <int32_t Tile>
static __device__ __forceinline__ uint32_t satd_of_columns(int32_t (&d)[Tile], int32_t lane)
{
#pragma unroll
    for (int32_t half = 1; half < Tile; half *= 2)
#pragma unroll
        for (int32_t i = 0; i < Tile; i++)
            if (!(i & half)) {
                int32_t a = d[i], b = d[i + half];
                d[i] = a + b;
                d[i + half] = a - b;
            }
    uint32_t sum = 0;
#pragma unroll
    for (int32_t i = 0; i < Tile; i++) {
#pragma unroll
        for (int32_t half = 1; half < Tile; half *= 2) {
            int32_t other = __shfl_xor_sync(ALL_LANES, d[i], half);
            d[i] = lane & half ? other - d[i] : d[i] + other;
        }
        sum += (uint32_t)abs(d[i]);
    }
#pragma unroll
    for (int32_t half = 1; half < Tile; half *= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, half);
    uint32_t cost = Tile == 4 ? (sum + 1) >> 1 : (sum + 2) >> 2;
    return lane % Tile ? 0 : cost;
}

// Anything else: a lane takes a column of Tile samples at a time, and lanes side by side the
// columns of a tile.
template <typename Sample, int32_t Filter, int32_t Tile> struct smooth_columns {
    static __device__ __forceinline__ uint32_t share(const mvf_smooth_params &p,
                                                     const smooth_block &b, uint32_t v,
                                                     int32_t lane)
    {
        uint32_t sum = 0;
        for (int32_t i = lane; i < p.n_items; i += p.team) {
            int32_t x = i & ((1 << p.log2_row_items) - 1), y = (i >> p.log2_row_items) * Tile;
            smooth_place from = {p, b.pair->reference, b.x + x + (x_of(v) >> 2),
                                 b.y + y + (y_of(v) >> 2)};
            int32_t d[Tile];
            if (Filter == MVF_FILTER_H264)
                predict_h264<Sample, Tile>(d, from, x_of(v) & 3, y_of(v) & 3, p.bit_depth);
            else if (Filter == MVF_FILTER_HEVC)
                predict_hevc<Sample, Tile>(d, from, x_of(v) & 3, y_of(v) & 3, p.bit_depth);
            else
                predict_bilinear<Sample, Tile>(d, from, x_of(v) & 3, y_of(v) & 3);
            smooth_rows<Sample> current(p, b.pair->current, b.x + x, b.y + y);
#pragma unroll
            for (int32_t k = 0; k < Tile; k++) {
                int32_t sample = *current.next();
                d[k] = x < b.w && y + k < b.h ? sample - d[k] : 0;
            }
            if (p.metric == MVF_CUDA_METRIC_SATD) {
                sum += satd_of_columns<Tile>(d, lane);
                continue;
            }
#pragma unroll
            for (int32_t k = 0; k < Tile; k++)
                sum += (uint32_t)abs(d[k]);
        }
        return sum;
    }
};

// Labels.

// Block `index` of the grid.
static __device__ __forceinline__ smooth_block block_of_warp(const mvf_smooth_params &p,
                                                             int32_t index)
{
    smooth_block b;
    b.index = index;
    b.col = index % p.cols;
    b.row = index / p.cols;
    b.x = b.col * p.step_x;
    b.y = b.row * p.step_y;
    b.w = mvf_rule_visible(b.x, p.block_w, p.width);
    b.h = mvf_rule_visible(b.y, p.block_h, p.height);
    b.pair = &p.pairs[blockIdx.y];
    b.predictor = predictor_of(*b.pair, index);
    return b;
}

// A lane's candidate, in the order of the rule.
struct smooth_candidate {
    uint32_t vector, cost, j;
    // Lanes that have one that is new, and how many of them before this lane, the own vector left
    // out of both.
    uint32_t others;
    int32_t rank;
    bool is_one;
};

static __device__ __forceinline__ uint32_t vector_at(const mvf_smooth_params &p,
                                                     const smooth_block &b, int32_t col,
                                                     int32_t row)
{
    uint32_t v = ((const smooth_match *)b.pair->matches)[(int64_t)row * p.cols + col].vector;
    return vector_of(x_of(v) * p.match_units, y_of(v) * p.match_units);
}

static __device__ __forceinline__ smooth_candidate gather(const mvf_smooth_params &p,
                                                          const smooth_block &b, int32_t lane)
{
    smooth_candidate c;
    int32_t neighbour = min(max(lane - 2, 0), 7);
    int32_t col = b.col + p.reach * mvf_rule_neighbour_x(neighbour);
    int32_t row = b.row + p.reach * mvf_rule_neighbour_y(neighbour);
    bool is_there =
        lane >= 2 && lane < CANDIDATES && col >= 0 && row >= 0 && col < p.cols && row < p.rows;
    // Whatever there is not is the own vector once more.
    c.vector = vector_at(p, b, is_there ? col : b.col, is_there ? row : b.row);
    if (lane == 1)
        c.vector = 0;
    bool is_new = __ffs((int32_t)__match_any_sync(ALL_LANES, c.vector)) - 1 == lane;
    bool may_be = !p.inside || mvf_rule_subpel_inside(x_of(c.vector), y_of(c.vector), b.x, b.y, b.w,
                                                      b.h, p.width, p.height);
    c.is_one = is_new && (lane == 0 || may_be);
    c.others = __ballot_sync(ALL_LANES, c.is_one && lane > 0);
    c.rank = __popc(c.others & ((1u << lane) - 1));
    return c;
}

// Adds the costs of all new candidates; the own vector's is known.
template <class Metric>
static __device__ __forceinline__ void add_costs(const mvf_smooth_params &p, const smooth_block &b,
                                                 smooth_candidate &c, smooth_warp &w, int32_t lane)
{
    int32_t n = __popc(c.others), n_teams = 32 / p.team;
    int32_t team = lane / p.team, lane_of_team = lane % p.team;
    if (c.is_one && lane > 0)
        w.vectors[c.rank] = c.vector;
    __syncwarp();
    for (int32_t first = 0; first < n; first += n_teams) {
        int32_t which = first + team;
        uint32_t cost = Metric::share(p, b, w.vectors[min(which, n - 1)], lane_of_team);
        for (int32_t lanes = p.team / 2; lanes; lanes /= 2)
            cost += __shfl_xor_sync(ALL_LANES, cost, lanes);
        if (lane_of_team == 0 && which < n)
            w.costs[which] = cost;
    }
    __syncwarp();
    c.cost = 0;
    if (lane == 0)
        c.cost = ((const smooth_match *)b.pair->matches)[b.index].cost;
    else if (c.is_one)
        c.cost = w.costs[c.rank];
    c.j = NO_J;
    if (c.is_one)
        c.j = c.cost + mvf_rule_rate(&p.rate, x_of(c.vector) - b.predictor.x,
                                     y_of(c.vector) - b.predictor.y);
}

// Where among the labels the candidate comes, from the own vector on, and the smallest J.
static __device__ __forceinline__ int32_t place_of(const smooth_candidate &c, int32_t lane,
                                                   uint32_t *least)
{
    int32_t place = lane > 0;
    *least = NO_J;
#pragma unroll
    for (int32_t i = 0; i < CANDIDATES; i++) {
        uint32_t j = __shfl_sync(ALL_LANES, c.j, i);
        *least = min(*least, j);
        if (i > 0)
            place += j < c.j || (j == c.j && i < lane);
    }
    return lane ? place : 0;
}

static __device__ __forceinline__ void store_labels(const mvf_smooth_params &p,
                                                    const smooth_block &b,
                                                    const smooth_candidate &c, smooth_warp &w,
                                                    int32_t lane)
{
    uint32_t own = __shfl_sync(ALL_LANES, c.vector, 0), least;
    int32_t place = place_of(c, lane, &least);
    uint64_t work = p.work + blockIdx.y * p.pair_bytes;
    int64_t at = (int64_t)b.index * PLACES + lane;
    if (lane < PLACES) {
        w.labels[lane] = own;
        w.label_path_costs[lane] = MVF_TM_NO_LABEL;
        w.label_costs[lane] = 0;
    }
    __syncwarp();
    if (c.is_one && place < LABELS) {
        w.labels[place] = c.vector;
        w.label_path_costs[place] = (int16_t)mvf_rule_path_cost(c.j - least, b.w, b.h, p.bit_depth);
        w.label_costs[place] = c.cost;
    }
    __syncwarp();
    if (lane >= PLACES)
        return;
    uint32_t v = w.labels[lane];
    ((uint32_t *)(work + p.labels))[at] = vector_of(x_of(v) * LABEL_UNITS, y_of(v) * LABEL_UNITS);
    ((uint32_t *)(work + p.label_costs))[at] = w.label_costs[lane];
    ((int16_t *)(work + p.path_costs))[at] = w.label_path_costs[lane];
}

template <class Metric> static __device__ __forceinline__ void label(const mvf_smooth_params &p)
{
    __shared__ smooth_warp warps[MVF_SMOOTH_LABEL_THREADS / 32];
    int32_t lane = threadIdx.x % 32;
    int32_t index = blockIdx.x * (MVF_SMOOTH_LABEL_THREADS / 32) + threadIdx.x / 32;
    smooth_warp &w = warps[threadIdx.x / 32];
    if (index >= p.cols * p.rows)
        return;
    smooth_block b = block_of_warp(p, index);
    smooth_candidate c = gather(p, b, lane);
    add_costs<Metric>(p, b, c, w, lane);
    store_labels(p, b, c, w, lane);
}

#define SMOOTH_SADS(name, sample)                                          \
    extern "C" __global__ void __launch_bounds__(MVF_SMOOTH_LABEL_THREADS) \
        name(const __grid_constant__ mvf_smooth_params params)             \
    {                                                                      \
        label<smooth_words<sample>>(params);                               \
    }

#define SMOOTH_TAPS(name, sample, filter, tile)                            \
    extern "C" __global__ void __launch_bounds__(MVF_SMOOTH_LABEL_THREADS) \
        name(const __grid_constant__ mvf_smooth_params params)             \
    {                                                                      \
        label<smooth_columns<sample, filter, tile>>(params);               \
    }

// Left to itself, the compiler spills for sm_120.
#define SMOOTH_BILINEAR(name, sample, tile)                                  \
    extern "C" __global__ void __launch_bounds__(MVF_SMOOTH_LABEL_THREADS,   \
                                                 MVF_SMOOTH_BILINEAR_BLOCKS) \
        name(const __grid_constant__ mvf_smooth_params params)               \
    {                                                                        \
        label<smooth_columns<sample, MVF_FILTER_BILINEAR, tile>>(params);    \
    }

SMOOTH_SADS(smooth_label_sad_8, uint8_t)
SMOOTH_SADS(smooth_label_sad_16, uint16_t)
SMOOTH_TAPS(smooth_label_h264_8_t4, uint8_t, MVF_FILTER_H264, 4)
SMOOTH_TAPS(smooth_label_h264_8_t8, uint8_t, MVF_FILTER_H264, 8)
SMOOTH_TAPS(smooth_label_h264_16_t4, uint16_t, MVF_FILTER_H264, 4)
SMOOTH_TAPS(smooth_label_h264_16_t8, uint16_t, MVF_FILTER_H264, 8)
SMOOTH_TAPS(smooth_label_hevc_8_t4, uint8_t, MVF_FILTER_HEVC, 4)
SMOOTH_TAPS(smooth_label_hevc_8_t8, uint8_t, MVF_FILTER_HEVC, 8)
SMOOTH_TAPS(smooth_label_hevc_16_t4, uint16_t, MVF_FILTER_HEVC, 4)
SMOOTH_TAPS(smooth_label_hevc_16_t8, uint16_t, MVF_FILTER_HEVC, 8)
SMOOTH_BILINEAR(smooth_label_bilinear_8_t4, uint8_t, 4)
SMOOTH_BILINEAR(smooth_label_bilinear_8_t8, uint8_t, 8)
SMOOTH_BILINEAR(smooth_label_bilinear_16_t4, uint16_t, 4)
SMOOTH_BILINEAR(smooth_label_bilinear_16_t8, uint16_t, 8)

// Paths.

static __device__ __forceinline__ label_grid labels_of(const mvf_smooth_params &p)
{
    uint64_t work = p.work + blockIdx.y * p.pair_bytes;
    label_grid g = {(const uint32_t *)(work + p.labels),
                    (const int16_t *)(work + p.path_costs),
                    (int16_t *)(work + p.paths),
                    p.path_bytes,
                    p.cols,
                    p.rows,
                    1,
                    1,
                    MVF_PATH_PENALTY_MAX};
    return g;
}

extern "C" __global__ void __launch_bounds__(MVF_TM_PATH_THREADS)
    smooth_path(const __grid_constant__ mvf_smooth_params params)
{
    walk_line(labels_of(params),
              blockIdx.x * (MVF_TM_PATH_THREADS / MVF_TM_TEAM) + threadIdx.x / MVF_TM_TEAM);
}

// The block's best label becomes its match.
extern "C" __global__ void __launch_bounds__(MVF_SMOOTH_THREADS)
    smooth_choose(const __grid_constant__ mvf_smooth_params params)
{
    int32_t index = blockIdx.x * MVF_SMOOTH_THREADS + threadIdx.x;
    if (index >= params.cols * params.rows)
        return;
    label_grid g = labels_of(params);
    int64_t at = (int64_t)index * PLACES + best_label(g, index);
    uint32_t v = g.labels[at];
    int32_t units = LABEL_UNITS * params.match_units;
    uint64_t costs = params.work + blockIdx.y * params.pair_bytes + params.label_costs;
    ((smooth_match *)params.pairs[blockIdx.y].matches)[index] = {
        vector_of(x_of(v) / units, y_of(v) / units), ((const uint32_t *)costs)[at]};
}
