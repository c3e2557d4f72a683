// True motion between prepared pictures: steps 4 to 14 of search/truemotion.h, each a kernel that
// treats a grid of several flows at once.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"
#include "paths.h"
#include "search/truemotion_rule.h"
#include "vectors.h"

#define TEAM MVF_TM_TEAM
#define NO_KEY 0x7fffffff
#define TILE_W MVF_TM_TILE_W
#define TILE_H MVF_TM_TILE_H

static_assert(MVF_TM_PLACES == TEAM, "the lanes of a team are the places of a cell");

__constant__ uint8_t far_weights[MVF_TM_N_WEIGHTS] = {MVF_TM_WEIGHTS};
__constant__ uint8_t near_weights[MVF_TM_N_NEAR_WEIGHTS] = {MVF_TM_NEAR_WEIGHTS};

static __device__ __forceinline__ int32_t clamp_between(int32_t value, int32_t low, int32_t high)
{
    return min(max(value, low), high);
}

static __device__ __forceinline__ uint32_t clamped_vector(int32_t x, int32_t y)
{
    return vector_of(clamp_between(x, -MVF_TM_MAX_VECTOR, MVF_TM_MAX_VECTOR),
                     clamp_between(y, -MVF_TM_MAX_VECTOR, MVF_TM_MAX_VECTOR));
}

// The quotient rounded down; the divisor is positive.
static __device__ __forceinline__ int32_t divide_down(int32_t dividend, int32_t divisor)
{
    int32_t quotient = dividend / divisor;
    return dividend % divisor < 0 ? quotient - 1 : quotient;
}

// Neighbour i of eight in raster order.
static __device__ __forceinline__ int32_t neighbour_x(int32_t i)
{
    return (i < 4 ? i : i + 1) % 3 - 1;
}

static __device__ __forceinline__ int32_t neighbour_y(int32_t i)
{
    return (i < 4 ? i : i + 1) / 3 - 1;
}

static __device__ __forceinline__ mvf_tm_flow flow_of(const mvf_tm_params &p)
{
    return p.flows[blockIdx.y * p.flow_step];
}

// Costs.

// One window of a flow: where it begins in the current image.
struct tm_window {
    const uint32_t *current, *reference;
    int32_t x, y;
};

static __device__ __forceinline__ tm_window window_at(const mvf_tm_params &p,
                                                      const mvf_tm_flow &flow, int32_t col,
                                                      int32_t row)
{
    int32_t offset = (MVF_TM_WINDOW - p.cell_px) / 2;
    tm_window w = {(const uint32_t *)(flow.from + p.features),
                   (const uint32_t *)(flow.to + p.features), col * p.cell_px - offset,
                   row * p.cell_px - offset};
    return w;
}

// The place of px i of those that count.
static __device__ __forceinline__ void place_of(int32_t i, int32_t few, int32_t *dx, int32_t *dy)
{
    *dy = few ? i : i >> 1;
    *dx = few ? 0x2031 >> 4 * i & 3 : 2 * (i & 1) + (*dy & 1);
}

// What four samples weigh, a byte each, in parts of 64.
static __device__ __forceinline__ uint32_t weights_of(int32_t fx, int32_t fy)
{
    return (8 - fx) * (8 - fy) | fx * (8 - fy) << 8 | (8 - fx) * fy << 16 | fx * fy << 24;
}

// Four samples weighted, three features side by side: a feature's four bytes lie together for one
// sum of products.
static __device__ __forceinline__ uint32_t blend(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                                 uint32_t weights)
{
    uint32_t ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
    uint32_t i = __dp4a(__byte_perm(ab, cd, 0x5410), weights, 32u);
    uint32_t gx = __dp4a(__byte_perm(ab, cd, 0x7632), weights, 32u);
    uint32_t gy = __dp4a(__byte_perm(__byte_perm(a, b, 0x0062), __byte_perm(c, d, 0x0062), 0x5410),
                         weights, 32u);
    return (i + (gy << 16)) >> 6 & 0x00ff00ff | gx << 2 & 0x0000ff00;
}

// How a vector reads the reference: the half samples round it, and its place between them.
struct tm_taps {
    const uint32_t *a, *b, *c, *d;
    int32_t fx, fy;
};

static __device__ __forceinline__ tm_taps taps_at(const mvf_tm_params &p, const tm_window &w,
                                                  uint32_t v)
{
    int32_t vx = x_of(v), vy = y_of(v), half_x = vx >> 3 & 1, half_y = vy >> 3 & 1;
    int32_t x = clamp_between(w.x + (vx >> 4), MVF_TM_WINDOW_MIN, p.width + MVF_TM_WINDOW_PAST_END);
    int32_t y =
        clamp_between(w.y + (vy >> 4), MVF_TM_WINDOW_MIN, p.height + MVF_TM_WINDOW_PAST_END);
    int64_t phase = p.phase_bytes / 4, at = (int64_t)y * p.stride_px + x,
            below = half_y * p.stride_px;
    const uint32_t *upper = w.reference + 2 * half_y * phase + at;
    const uint32_t *lower = w.reference + 2 * (half_y ^ 1) * phase + at + below;
    tm_taps t = {upper + half_x * phase,
                 upper + (half_x ^ 1) * phase + half_x,
                 lower + half_x * phase,
                 lower + (half_x ^ 1) * phase + half_x,
                 vx & 7,
                 vy & 7};
    return t;
}

static __device__ __forceinline__ int32_t difference(uint32_t own, uint32_t other)
{
    return min((int32_t)__vsadu4(own, other), MVF_TM_PIXEL_COST_MAX);
}

// The current window's px that count.
template <bool FEW> struct tm_own {
    uint32_t px[FEW ? 4 : 8];
};

template <bool FEW>
static __device__ __forceinline__ tm_own<FEW> own_px(const mvf_tm_params &p, const tm_window &w)
{
    tm_own<FEW> own;
    const uint32_t *from = w.current + (int64_t)w.y * p.stride_px + w.x;
#pragma unroll
    for (int32_t i = 0; i < (FEW ? 4 : 8); i++) {
        int32_t dx, dy;
        place_of(i, FEW, &dx, &dy);
        own.px[i] = from[dy * p.stride_px + dx];
    }
    return own;
}

// The cost at one vector each lane. All lanes of the warp call it: vectors of half samples, which
// are most, read one sample a px where they are among themselves.
template <bool FEW>
static __device__ __forceinline__ int32_t window_cost(const mvf_tm_params &p, const tm_window &w,
                                                      const tm_own<FEW> &own, uint32_t v)
{
    tm_taps t = taps_at(p, w, v);
    int32_t sum = 0;
    if (__any_sync(ALL_LANES, t.fx | t.fy)) {
        uint32_t weights = weights_of(t.fx, t.fy);
#pragma unroll
        for (int32_t i = 0; i < (FEW ? 4 : 8); i++) {
            int32_t dx, dy;
            place_of(i, FEW, &dx, &dy);
            int32_t at = dy * p.stride_px + dx;
            sum += difference(own.px[i], blend(t.a[at], t.b[at], t.c[at], t.d[at], weights));
        }
    } else {
#pragma unroll
        for (int32_t i = 0; i < (FEW ? 4 : 8); i++) {
            int32_t dx, dy;
            place_of(i, FEW, &dx, &dy);
            sum += difference(own.px[i], t.a[dy * p.stride_px + dx]);
        }
    }
    return (FEW ? 4 : 2) * sum;
}

static __device__ __forceinline__ int32_t team_sum(int32_t value)
{
#pragma unroll
    for (int32_t lanes = TEAM / 2; lanes; lanes /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, lanes, TEAM);
    return value;
}

static __device__ __forceinline__ int32_t team_min(int32_t value)
{
#pragma unroll
    for (int32_t lanes = TEAM / 2; lanes; lanes /= 2)
        value = min(value, __shfl_xor_sync(ALL_LANES, value, lanes, TEAM));
    return value;
}

// The cost at one vector, a px each lane.
template <bool FEW>
static __device__ __forceinline__ int32_t team_cost(const mvf_tm_params &p, const tm_window &w,
                                                    uint32_t v, int32_t lane)
{
    tm_taps t = taps_at(p, w, v);
    int32_t dx, dy;
    place_of(FEW ? lane & 3 : lane, FEW, &dx, &dy);
    int32_t at = dy * p.stride_px + dx;
    uint32_t other = blend(t.a[at], t.b[at], t.c[at], t.d[at], weights_of(t.fx, t.fy));
    int32_t cost = difference(w.current[(int64_t)w.y * p.stride_px + w.x + at], other);
    return team_sum(!FEW || lane < 4 ? cost : 0) * (FEW ? 4 : 2);
}

// The cell of this team, the last one for those behind it.
struct tm_cell {
    int32_t index, col, row, lane, exists;
};

static __device__ __forceinline__ tm_cell cell_of_team(const mvf_tm_params &p)
{
    int32_t n = p.cols * p.rows;
    int32_t index = blockIdx.x * (MVF_TM_THREADS / TEAM) + threadIdx.x / TEAM;
    tm_cell c = {min(index, n - 1), 0, 0, (int32_t)threadIdx.x % TEAM, index < n};
    c.col = c.index % p.cols;
    c.row = c.index / p.cols;
    return c;
}

// Labels.

// A lane's share of the candidates beside the own vector: what they cost in the upper bits, their
// place in the order in the lower ones; NO_KEY: none.
struct tm_candidates {
    uint32_t vectors[1 + MVF_TM_MAX_REACHES];
    int32_t keys[1 + MVF_TM_MAX_REACHES];
};

static __device__ __forceinline__ int32_t key_of(int32_t cost, int32_t order)
{
    return cost << 6 | order;
}

// A vector's distance from the own one, in steps of the pass.
static __device__ __forceinline__ uint32_t steps_from(const mvf_tm_params &p, uint32_t own,
                                                      uint32_t v)
{
    int32_t half = 1 << p.log2_step >> 1;
    return vector_of((x_of(v) - x_of(own) + half) >> p.log2_step,
                     (y_of(v) - y_of(own) + half) >> p.log2_step);
}

static __device__ __forceinline__ int32_t is_within_a_step(uint32_t steps)
{
    return (uint32_t)(x_of(steps) + 1) <= 2 && (uint32_t)(y_of(steps) + 1) <= 2;
}

// The vectors of neighbours that are not much like a cell's own one, in their order.
struct tm_list {
    uint32_t vectors[TEAM * MVF_TM_MAX_REACHES], steps[TEAM * MVF_TM_MAX_REACHES];
    uint8_t orders[TEAM * MVF_TM_MAX_REACHES];
};

// Their number.
static __device__ __forceinline__ int32_t list_neighbours(const mvf_tm_params &p,
                                                          const tm_cell &cell,
                                                          const uint32_t *vectors, uint32_t own,
                                                          tm_list *list)
{
    int32_t dx = neighbour_x(cell.lane), dy = neighbour_y(cell.lane), n = 0;
    int32_t first_lane = threadIdx.x % 32 - cell.lane;
#pragma unroll
    for (int32_t r = 0; r < MVF_TM_MAX_REACHES; r++) {
        int32_t col = clamp_between(cell.col + p.reaches[r] * dx, 0, p.cols - 1);
        int32_t row = clamp_between(cell.row + p.reaches[r] * dy, 0, p.rows - 1);
        uint32_t v = vectors[row * p.cols + col], steps = steps_from(p, own, v);
        int32_t is_other = r < p.n_reaches && !is_within_a_step(steps);
        uint32_t others = __ballot_sync(ALL_LANES, is_other) >> first_lane & ((1 << TEAM) - 1);
        if (is_other) {
            int32_t at = n + __popc(others & ((1u << cell.lane) - 1));
            list->vectors[at] = v;
            list->steps[at] = steps;
            list->orders[at] = (uint8_t)(TEAM * (1 + r) + cell.lane);
        }
        n += __popc(others);
    }
    __syncwarp();
    return n;
}

static __device__ __forceinline__ int32_t is_like_one_before(const tm_list &list, int32_t index)
{
    int32_t found = 0;
    uint32_t steps = list.steps[index];
    for (int32_t i = 0; i < index; i++)
        found |= list.steps[i] == steps;
    return found;
}

template <bool FEW>
static __device__ __forceinline__ void
find_in_pass(const mvf_tm_params &p, const tm_window &w, const tm_cell &cell, const tm_own<FEW> &px,
             const uint32_t *vectors, uint32_t own, tm_list *list, tm_candidates &c)
{
    int32_t n = list_neighbours(p, cell, vectors, own, list);
    c.vectors[0] = clamped_vector(x_of(own) + neighbour_x(cell.lane) * (1 << p.log2_step),
                                  y_of(own) + neighbour_y(cell.lane) * (1 << p.log2_step));
    c.keys[0] = key_of(window_cost<FEW>(p, w, px, c.vectors[0]), cell.lane);
#pragma unroll
    for (int32_t r = 0; r < MVF_TM_MAX_REACHES; r++) {
        int32_t index = TEAM * r + cell.lane;
        int32_t is_new = index < n && !is_like_one_before(*list, index);
        c.vectors[1 + r] = is_new ? list->vectors[index] : own;
        c.keys[1 + r] = NO_KEY;
        if (__any_sync(ALL_LANES, is_new)) {
            int32_t cost = window_cost<FEW>(p, w, px, c.vectors[1 + r]);
            if (is_new)
                c.keys[1 + r] = key_of(cost, list->orders[index]);
        }
    }
}

template <bool FEW>
static __device__ __forceinline__ void find_at_top(const mvf_tm_params &p, const tm_window &w,
                                                   const tm_cell &cell, const tm_own<FEW> &px,
                                                   tm_candidates &c)
{
    constexpr int32_t side = 2 * MVF_TM_TOP_RANGE_PX + 1;
    c.vectors[0] = 0;
    c.keys[0] = NO_KEY;
#pragma unroll
    for (int32_t r = 0; r < MVF_TM_MAX_REACHES; r++) {
        int32_t order = TEAM * r + cell.lane, place = order < side * side / 2 ? order : order + 1;
        c.vectors[1 + r] = vector_of(MVF_TM_UNIT * (place % side - MVF_TM_TOP_RANGE_PX),
                                     MVF_TM_UNIT * (place / side - MVF_TM_TOP_RANGE_PX));
        c.keys[1 + r] = key_of(window_cost<FEW>(p, w, px, c.vectors[1 + r]), order);
    }
}

static_assert(TEAM * MVF_TM_MAX_REACHES == 24,
              "all places round the centre have a lane at the top");

// Writes the own vector and the five cheapest others.
static __device__ void write_labels(const mvf_tm_params &p, const mvf_tm_flow &flow,
                                    const tm_cell &cell, uint32_t own, int32_t own_cost,
                                    tm_candidates &c)
{
    uint32_t *labels = (uint32_t *)(flow.work + p.labels) + (int64_t)cell.index * MVF_TM_PLACES;
    int16_t *costs = (int16_t *)(flow.work + p.costs) + (int64_t)cell.index * MVF_TM_PLACES;
    uint32_t mine = own;
    int32_t cost = cell.lane ? MVF_TM_NO_LABEL : own_cost;
    for (int32_t k = 1; k < MVF_TM_LABELS; k++) {
        int32_t least = NO_KEY, best;
        uint32_t vector = 0;
#pragma unroll
        for (int32_t i = 0; i < 1 + MVF_TM_MAX_REACHES; i++)
            least = min(least, c.keys[i]);
        best = team_min(least);
#pragma unroll
        for (int32_t i = 0; i < 1 + MVF_TM_MAX_REACHES; i++)
            if (best != NO_KEY && c.keys[i] == best) {
                c.keys[i] = NO_KEY;
                vector = c.vectors[i];
            }
        // One lane has it: the others add nothing.
        vector = (uint32_t)team_sum((int32_t)vector);
        if (cell.lane == k && best != NO_KEY) {
            mine = vector;
            cost = best >> 6;
        }
    }
    if (cell.exists) {
        labels[cell.lane] = mine;
        costs[cell.lane] = (int16_t)cost;
    }
}

template <bool FEW> static __device__ __forceinline__ void label_top(const mvf_tm_params &p)
{
    mvf_tm_flow flow = flow_of(p);
    tm_cell cell = cell_of_team(p);
    tm_window w = window_at(p, flow, cell.col, cell.row);
    tm_candidates c;
    find_at_top<FEW>(p, w, cell, own_px<FEW>(p, w), c);
    write_labels(p, flow, cell, 0, team_cost<FEW>(p, w, 0, cell.lane), c);
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_label_top(mvf_tm_params p)
{
    if (p.few)
        label_top<true>(p);
    else
        label_top<false>(p);
}

template <bool FEW>
static __device__ __forceinline__ void label(const mvf_tm_params &p, tm_list *list)
{
    mvf_tm_flow flow = flow_of(p);
    tm_cell cell = cell_of_team(p);
    tm_window w = window_at(p, flow, cell.col, cell.row);
    const uint32_t *vectors = (const uint32_t *)(flow.work + p.vectors);
    uint32_t own = vectors[cell.index];
    tm_candidates c;
    find_in_pass<FEW>(p, w, cell, own_px<FEW>(p, w), vectors, own, list, c);
    write_labels(p, flow, cell, own, team_cost<FEW>(p, w, own, cell.lane), c);
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS, MVF_TM_LABEL_BLOCKS)
    truemotion_label(mvf_tm_params p)
{
    __shared__ tm_list lists[MVF_TM_THREADS / TEAM];
    tm_list *list = &lists[threadIdx.x / TEAM];
    if (p.few)
        label<true>(p, list);
    else
        label<false>(p, list);
}

// Paths.

static __device__ __forceinline__ label_grid labels_of(const mvf_tm_params &p,
                                                       const mvf_tm_flow &flow)
{
    label_grid g = {(const uint32_t *)(flow.work + p.labels),
                    (const int16_t *)(flow.work + p.costs),
                    (int16_t *)(flow.work + p.paths),
                    p.path_bytes,
                    p.cols,
                    p.rows,
                    p.by_rows,
                    p.by_cols,
                    p.penalty_max};
    return g;
}

extern "C" __global__ void __launch_bounds__(MVF_TM_PATH_THREADS) truemotion_path(mvf_tm_params p)
{
    walk_line(labels_of(p, flow_of(p)),
              blockIdx.x * (MVF_TM_PATH_THREADS / TEAM) + threadIdx.x / TEAM);
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_choose(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    int32_t cell = blockIdx.x * MVF_TM_THREADS + threadIdx.x;
    if (cell >= p.cols * p.rows)
        return;
    label_grid g = labels_of(p, flow);
    ((uint32_t *)(flow.work + p.vectors))[cell] =
        g.labels[(int64_t)cell * MVF_TM_PLACES + best_label(g, cell)];
}

// Medians.

// A tile of cells with what surrounds it, and the weights of each thread's window.
template <int32_t R> struct tm_median_tile {
    uint32_t vectors[TILE_H + 2 * R][TILE_W + 2 * R];
    // 256 outside of the grid, and where a cell is occluded.
    uint16_t guides[TILE_H + 2 * R][TILE_W + 2 * R];
    uint8_t weights[(2 * R + 1) * (2 * R + 1)][MVF_TM_TILE_THREADS];
    uint8_t table[MVF_TM_N_WEIGHTS];
};

template <int32_t R>
static __device__ void fill_tile(const mvf_tm_params &p, const mvf_tm_flow &flow,
                                 tm_median_tile<R> &t, int32_t first_col, int32_t first_row)
{
    constexpr int32_t wide = TILE_W + 2 * R;
    const uint32_t *vectors = (const uint32_t *)(flow.work + p.vectors);
    const uint8_t *visible = (const uint8_t *)(flow.work + p.visible);
    const uint8_t *guides = (const uint8_t *)(flow.from + p.guide);
    for (int32_t i = threadIdx.x; i < MVF_TM_N_WEIGHTS; i += MVF_TM_TILE_THREADS)
        t.table[i] = far_weights[i];
    for (int32_t i = threadIdx.x; i < wide * (TILE_H + 2 * R); i += MVF_TM_TILE_THREADS) {
        int32_t col = first_col + i % wide - R, row = first_row + i / wide - R;
        int32_t cell = row * p.cols + col,
                in = col >= 0 && row >= 0 && col < p.cols && row < p.rows;
        t.vectors[i / wide][i % wide] = in ? vectors[cell] : 0;
        t.guides[i / wide][i % wide] = in && (!p.is_checked || visible[cell]) ? guides[cell] : 256;
    }
}

// The smallest values that, with the smaller ones, have `half` of the weight, by bisection.
template <int32_t R>
static __device__ uint32_t bisect(const tm_median_tile<R> &t, int32_t in_x, int32_t in_y,
                                  int32_t half, int32_t low_x, int32_t high_x, int32_t low_y,
                                  int32_t high_y)
{
    constexpr int32_t side = 2 * R + 1;
    while (low_x < high_x || low_y < high_y) {
        int32_t middle_x = (low_x + high_x) >> 1, middle_y = (low_y + high_y) >> 1;
        int32_t weight_x = 0, weight_y = 0;
        for (int32_t j = 0; j < side; j++)
#pragma unroll
            for (int32_t i = 0; i < side; i++) {
                uint32_t v = t.vectors[in_y + j][in_x + i];
                int32_t w = t.weights[j * side + i][threadIdx.x];
                weight_x += x_of(v) <= middle_x ? w : 0;
                weight_y += y_of(v) <= middle_y ? w : 0;
            }
        if (low_x < high_x) {
            low_x = weight_x >= half ? low_x : middle_x + 1;
            high_x = weight_x >= half ? middle_x : high_x;
        }
        if (low_y < high_y) {
            low_y = weight_y >= half ? low_y : middle_y + 1;
            high_y = weight_y >= half ? middle_y : high_y;
        }
    }
    return vector_of(low_x, low_y);
}

template <int32_t R> static __device__ void median(const mvf_tm_params &p)
{
    __shared__ tm_median_tile<R> t;
    constexpr int32_t side = 2 * R + 1;
    mvf_tm_flow flow = flow_of(p);
    int32_t across = (p.cols + TILE_W - 1) / TILE_W;
    int32_t first_col = (int32_t)blockIdx.x % across * TILE_W,
            first_row = (int32_t)blockIdx.x / across * TILE_H;
    int32_t in_x = threadIdx.x % TILE_W, in_y = threadIdx.x / TILE_W;
    int32_t col = first_col + in_x, row = first_row + in_y;
    fill_tile<R>(p, flow, t, first_col, first_row);
    __syncthreads();
    if (col >= p.cols || row >= p.rows)
        return;
    int32_t guide = ((const uint8_t *)(flow.from + p.guide))[row * p.cols + col];
    uint32_t own = t.vectors[in_y + R][in_x + R];
    int32_t total = 0, low_x = x_of(own), high_x = low_x, low_y = y_of(own), high_y = low_y;
    for (int32_t j = 0; j < side; j++)
        for (int32_t i = 0; i < side; i++) {
            int32_t other = t.guides[in_y + j][in_x + i];
            int32_t w = other < 256 ? t.table[abs(other - guide)] : 0;
            uint32_t v = t.vectors[in_y + j][in_x + i];
            t.weights[j * side + i][threadIdx.x] = (uint8_t)w;
            total += w;
            low_x = min(low_x, x_of(v));
            high_x = max(high_x, x_of(v));
            low_y = min(low_y, y_of(v));
            high_y = max(high_y, y_of(v));
        }
    ((uint32_t *)(flow.work + p.made))[row * p.cols + col] =
        total ? bisect<R>(t, in_x, in_y, (total + 1) / 2, low_x, high_x, low_y, high_y) : own;
}

extern "C" __global__ void __launch_bounds__(MVF_TM_TILE_THREADS)
    truemotion_median_2(mvf_tm_params p)
{
    median<2>(p);
}

extern "C" __global__ void __launch_bounds__(MVF_TM_TILE_THREADS)
    truemotion_median_4(mvf_tm_params p)
{
    median<4>(p);
}

// Between grids.

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_descend(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    int32_t cell = blockIdx.x * MVF_TM_THREADS + threadIdx.x;
    if (cell >= p.cols * p.rows)
        return;
    int32_t above = (cell / p.cols >> p.shift) * p.coarse_cols + (cell % p.cols >> p.shift);
    uint32_t v = ((const uint32_t *)(flow.work + p.vectors))[above];
    ((uint32_t *)(flow.work + p.made))[cell] = clamped_vector(p.scale * x_of(v), p.scale * y_of(v));
    if (p.is_checked)
        ((uint8_t *)(flow.work + p.made_visible))[cell] =
            ((const uint8_t *)(flow.work + p.visible))[above];
}

static __device__ int32_t sees(const mvf_tm_params &p, const uint32_t *backward, int32_t col,
                               int32_t row, uint32_t v)
{
    int32_t g = p.cell_px;
    int32_t x = 16 * g * col + 8 * (g - 1) + x_of(v), y = 16 * g * row + 8 * (g - 1) + y_of(v);
    if (x < 0 || y < 0 || x > 16 * (p.width - 1) || y > 16 * (p.height - 1))
        return 0;
    uint32_t back = backward[((y + 8) >> 4) / g * p.cols + ((x + 8) >> 4) / g];
    return abs(x_of(v) + x_of(back)) + abs(y_of(v) + y_of(back)) <= MVF_TM_DISAGREEMENT;
}

// The flow after the checked one is its backward flow.
extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_check(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    int32_t cell = blockIdx.x * MVF_TM_THREADS + threadIdx.x;
    if (cell >= p.cols * p.rows)
        return;
    uint32_t v = ((const uint32_t *)(flow.work + p.vectors))[cell];
    const uint32_t *backward =
        (const uint32_t *)(p.flows[blockIdx.y * p.flow_step + 1].work + p.vectors);
    ((uint8_t *)(flow.work + p.visible))[cell] =
        sees(p, backward, cell % p.cols, cell / p.cols, v) ? 255 : 0;
}

// What is known of cells and px: mvf_tm_match of search/truemotion.h.
struct tm_match {
    int16_t x, y;
    uint16_t cost;
    uint8_t confidence, flags;
};

static __device__ __forceinline__ int32_t rival_cost(const mvf_tm_params &p, const tm_window &w,
                                                     const tm_own<false> &px, uint32_t own,
                                                     uint32_t rival)
{
    int32_t cost = window_cost<false>(p, w, px, rival);
    return distance(own, rival) < MVF_TM_RIVAL_DISTANCE ? NO_KEY : cost;
}

static __device__ int32_t texture(const mvf_tm_params &p, const tm_window &w, int32_t lane)
{
    int32_t dx, dy;
    place_of(lane, 0, &dx, &dy);
    uint32_t own = w.current[(int64_t)(w.y + dy) * p.stride_px + w.x + dx];
    return team_sum(abs((int32_t)(own >> 8 & 255) - 128) + abs((int32_t)(own >> 16 & 255) - 128));
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_rate(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    tm_cell cell = cell_of_team(p);
    tm_window w = window_at(p, flow, cell.col, cell.row);
    const uint32_t *vectors = (const uint32_t *)(flow.work + p.vectors);
    uint32_t own = vectors[cell.index];
    int32_t dx = neighbour_x(cell.lane), dy = neighbour_y(cell.lane);
    int32_t col = clamp_between(cell.col + dx * MVF_TM_RIVAL_REACH, 0, p.cols - 1);
    int32_t row = clamp_between(cell.row + dy * MVF_TM_RIVAL_REACH, 0, p.rows - 1);
    // Wider than a stored vector may be, like the CPU's.
    uint32_t near = vector_of(x_of(own) + dx * MVF_TM_UNIT, y_of(own) + dy * MVF_TM_UNIT);
    int32_t cost = team_cost<false>(p, w, own, cell.lane);
    tm_own<false> px = own_px<false>(p, w);
    int32_t rival = team_min(min(rival_cost(p, w, px, own, near),
                                 rival_cost(p, w, px, own, vectors[row * p.cols + col])));
    int32_t is_flat = texture(p, w, cell.lane) < MVF_TM_FLAT_TEXTURE;
    int32_t occluded = !((const uint8_t *)(flow.work + p.visible))[cell.index];
    if (cell.lane || !cell.exists)
        return;
    tm_match *match = (tm_match *)(flow.work + p.ratings) + cell.index;
    match->cost = (uint16_t)cost;
    match->confidence = occluded || rival <= cost
                            ? 0
                            : (uint8_t)(255 * (rival - cost) / (rival + MVF_TM_CONFIDENCE_COST));
    match->flags =
        (uint8_t)((occluded ? MVF_TM_FLAG_OCCLUDED : 0) | (is_flat ? MVF_TM_FLAG_FLAT : 0));
}

extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_mean(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    int32_t cell = blockIdx.x * MVF_TM_THREADS + threadIdx.x;
    if (cell >= p.cols * p.rows)
        return;
    const uint32_t *vectors = (const uint32_t *)(flow.work + p.vectors);
    const uint8_t *visible = (const uint8_t *)(flow.work + p.visible);
    const uint8_t *guides = (const uint8_t *)(flow.from + p.guide);
    uint32_t own = vectors[cell];
    int32_t col = cell % p.cols, row = cell / p.cols, weight = 0, sum_x = 0, sum_y = 0;
    for (int32_t y = max(row - MVF_TM_MEAN_RADIUS, 0);
         y <= min(row + MVF_TM_MEAN_RADIUS, p.rows - 1); y++)
        for (int32_t x = max(col - MVF_TM_MEAN_RADIUS, 0);
             x <= min(col + MVF_TM_MEAN_RADIUS, p.cols - 1); x++) {
            int32_t other = y * p.cols + x;
            if (distance(vectors[other], own) > MVF_TM_MEAN_REACH ||
                !(visible[other] || other == cell))
                continue;
            int32_t w = far_weights[abs(guides[cell] - guides[other])];
            weight += w;
            sum_x += w * (x_of(vectors[other]) - x_of(own));
            sum_y += w * (y_of(vectors[other]) - y_of(own));
        }
    ((uint32_t *)(flow.work + p.made))[cell] =
        vector_of(x_of(own) + divide_down(2 * sum_x + weight, 2 * weight),
                  y_of(own) + divide_down(2 * sum_y + weight, 2 * weight));
}

// Matches of cells: what they are rated, with the vectors that the mean has made.
extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_cells(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    int32_t cell = blockIdx.x * MVF_TM_THREADS + threadIdx.x;
    if (cell >= p.cols * p.rows)
        return;
    tm_match match = ((const tm_match *)(flow.work + p.ratings))[cell];
    uint32_t v = ((const uint32_t *)(flow.work + p.vectors))[cell];
    match.x = (int16_t)x_of(v);
    match.y = (int16_t)y_of(v);
    ((tm_match *)(p.matches + blockIdx.y * p.match_bytes))[cell] = match;
}

static __device__ uint32_t interpolate(const mvf_tm_params &p, const mvf_tm_flow &flow, int32_t x,
                                       int32_t y, int32_t luma)
{
    const uint32_t *vectors = (const uint32_t *)(flow.work + p.vectors);
    const uint8_t *guides = (const uint8_t *)(flow.from + p.guide);
    int32_t g = p.cell_px, weight = 0, sum_x = 0, sum_y = 0;
    int32_t first_col = divide_down(2 * x + 1 - g, 2 * g),
            first_row = divide_down(2 * y + 1 - g, 2 * g);
    for (int32_t row = max(first_row, 0); row <= min(first_row + 1, p.rows - 1); row++)
        for (int32_t col = max(first_col, 0); col <= min(first_col + 1, p.cols - 1); col++) {
            uint32_t v = vectors[row * p.cols + col];
            int32_t shade = abs(luma - guides[row * p.cols + col]);
            int32_t w = (2 * g - abs(2 * x + 1 - (2 * col + 1) * g)) *
                        (2 * g - abs(2 * y + 1 - (2 * row + 1) * g)) *
                        near_weights[min(shade, MVF_TM_N_NEAR_WEIGHTS - 1)];
            weight += w;
            sum_x += w * x_of(v);
            sum_y += w * y_of(v);
        }
    return vector_of(divide_down(2 * sum_x + weight, 2 * weight),
                     divide_down(2 * sum_y + weight, 2 * weight));
}

// Matches of px: the vectors between those of cells, and what the cell of 4x4 px is rated.
extern "C" __global__ void __launch_bounds__(MVF_TM_THREADS) truemotion_pixels(mvf_tm_params p)
{
    mvf_tm_flow flow = flow_of(p);
    int64_t at = (int64_t)blockIdx.x * MVF_TM_THREADS + threadIdx.x;
    if (at >= (int64_t)p.width * p.height)
        return;
    int32_t x = (int32_t)(at % p.width), y = (int32_t)(at / p.width);
    int32_t cell = y / MVF_TM_CELL_PX * p.coarse_cols + x / MVF_TM_CELL_PX;
    tm_match match = ((const tm_match *)(flow.work + p.ratings))[cell];
    uint32_t v = interpolate(p, flow, x, y, ((const uint8_t *)(flow.from + p.luma))[at]);
    match.x = (int16_t)x_of(v);
    match.y = (int16_t)y_of(v);
    ((tm_match *)(p.matches + blockIdx.y * p.match_bytes))[at] = match;
}
