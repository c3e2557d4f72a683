// Exact full search, every candidate, 16x16 blocks, 8 bit: for blocks where bounds do not bite.
//
// A thread block takes a group of 4x2 blocks. Its reference window is expanded to one word per byte
// offset, so that a lane a column reads its samples without shifts. A warp takes 32 columns of one
// block, keeps the block in registers and runs down a strip of 13 rows of vectors, so that a
// reference word serves up to 13 candidates: a turn. Turns of the group's blocks are dealt evenly
// to the warps.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "search_full.h"

enum {
    THREADS = MVF_EXHAUST_THREADS,
    GROUP = 8, // blocks
    GROUP_COLS = 4,
    WINDOW = MVF_FULL_TILE + 2 * MVF_FULL_HALO,
    WINDOW_ROWS = 2 * MVF_FULL_BLOCK + 2 * MVF_FULL_HALO,
    EXPANDED_PITCH = 132, // words
    STRIP = MVF_EXHAUST_STRIP,
    STRIPS = 5,
    TURNS = 2 * STRIPS, // of a block, the last column aside
    ROWS = STRIP * STRIPS,
    NO_DY = 0x3f000000
};

struct group_job {
    const uint8_t *reference, *current; // first sample of the window, of the group
    int index, pair, row, col;          // pair < 0: no more work
    int mask, blocks;                   // wanted blocks, their number
    int ahead;                          // whether the next job may be drawn before it is done
    int ox, oy;                         // the window's first vector
    int first, last;                    // window of the group
};

struct group_shared {
    uint32_t expanded[WINDOW_ROWS * EXPANDED_PITCH];
    uint8_t staged[WINDOW_ROWS * WINDOW];
    uint8_t staged_current[2 * MVF_FULL_BLOCK * MVF_FULL_TILE];
    uint8_t current[2 * MVF_FULL_BLOCK * MVF_FULL_TILE];
    full_key best[GROUP];
    int dy_order[2][ROWS]; // rank of a row of vectors among those of its column, NO_DY where it may
                           // not be used
    uint8_t block[GROUP];  // the wanted ones
    group_job job[2];
};

static_assert(sizeof(group_shared) == MVF_EXHAUST_SHARED_BYTES,
              "the launcher takes the size from params.h");

// Whether no group is listed any more. The elimination has as many thread blocks.
static __device__ __forceinline__ bool list_is_whole(const mvf_full_counters *counters)
{
    bool whole = *(const volatile uint32_t *)&counters->n_gone == gridDim.x;
    __threadfence();
    return whole;
}

// Waits until a group is listed, or it is certain that it will not be; tells whether it is.
static __device__ __forceinline__ bool wait_for_group(const mvf_full_params &p, uint32_t index,
                                                      mvf_full_group *group, bool *whole)
{
    const mvf_full_counters *counters = (const mvf_full_counters *)p.counters;
    for (;;) {
        *whole = list_is_whole(counters);
        if (index < *(const volatile uint32_t *)&counters->n_groups) {
            *group = read_group(p.groups, index);
            if (group->launch == counters->n_launches + 1)
                return true;
        } else if (*whole) {
            return false;
        }
        pause_thread();
    }
}

// Tells whether the list has that group. One that is whole from the start takes neither fence nor
// wait.
static __device__ __forceinline__ bool find_group(const mvf_full_params &p, uint32_t index,
                                                  mvf_full_group *group, bool *whole)
{
    if (p.early)
        return wait_for_group(p, index, group, whole);
    *whole = true;
    if (index >= ((const mvf_full_counters *)p.counters)->n_groups)
        return false;
    *group = read_group(p.groups, index);
    return true;
}

// A short list is split, for less latency, and one whose length is not known.
static __device__ __forceinline__ int parts_of_group(const mvf_full_params &p)
{
    if (p.early)
        return 4;
    uint32_t groups = ((const mvf_full_counters *)p.counters)->n_groups;
    return groups > MVF_EXHAUST_SHORT_LIST * gridDim.x ? 1 : groups * GROUP > gridDim.x ? 4 : GROUP;
}

// Of a list's groups, or parts of them; tells whether it is there.
static __device__ __forceinline__ bool take_listed(const mvf_full_params &p, int at, group_job &job)
{
    int parts = parts_of_group(p);
    mvf_full_group group;
    bool whole;
    if (!find_group(p, at / parts, &group, &whole))
        return false;
    job.pair = group.place & ((1 << MVF_FULL_ROW_SHIFT) - 1);
    job.row =
        group.place >> MVF_FULL_ROW_SHIFT & ((1 << (MVF_FULL_COL_SHIFT - MVF_FULL_ROW_SHIFT)) - 1);
    job.col =
        group.place >> MVF_FULL_COL_SHIFT & ((1 << (MVF_FULL_MASK_SHIFT - MVF_FULL_COL_SHIFT)) - 1);
    job.mask = group.place >> MVF_FULL_MASK_SHIFT & ((1 << GROUP / parts) - 1)
                                                        << GROUP / parts * (at % parts);
    job.ahead = whole;
    return true;
}

// Of all groups; tells whether it is there.
static __device__ __forceinline__ bool take_any(const mvf_full_params &p, int at, group_job &job)
{
    int cols = (p.cols + 3) / 4, rows = (p.rows + 1) / 2;
    job.pair = at / (cols * rows);
    at -= job.pair * cols * rows;
    job.row = at / cols;
    job.col = at - job.row * cols;
    job.mask = 255;
    job.ahead = true;
    return job.pair < p.n_pairs;
}

static __device__ __noinline__ void set_job(const mvf_full_params &p, group_job *to, int index)
{
    group_job job;
    int windows = p.n_windows_x * p.n_windows_y, window = index % windows, at = index / windows;
    job.index = index;
    if (!(p.every_group ? take_any(p, at, job) : take_listed(p, at, job))) {
        to->pair = -1;
        return;
    }
    if (p.cols - 4 * job.col < 4)
        job.mask &= ((1 << (p.cols - 4 * job.col)) - 1) * 0x11;
    if (p.rows - 2 * job.row < 2)
        job.mask &= 15;
    job.blocks = __popc(job.mask);
    job.ox = p.origin_x + 64 * (window % p.n_windows_x);
    job.oy = p.origin_y + 64 * (window / p.n_windows_x);
    job.first = window == 0;
    job.last = window == windows - 1;
    job.ahead |= !job.last;
    job.reference = (const uint8_t *)p.pairs[job.pair].reference +
                    (job.row * 2 * MVF_FULL_BLOCK + job.oy) * p.stride_bytes +
                    (job.col * MVF_FULL_TILE + job.ox);
    job.current = (const uint8_t *)p.pairs[job.pair].current +
                  job.row * 2 * MVF_FULL_BLOCK * p.stride_bytes + job.col * MVF_FULL_TILE;
    *to = job;
}

// The group's next window, or the next group.
static __device__ __forceinline__ void set_job_after(const mvf_full_params &p, group_job *next,
                                                     const group_job &job)
{
    mvf_full_counters *counters = (mvf_full_counters *)p.counters;
    int windows = p.n_windows_x * p.n_windows_y;
    set_job(p, next,
            job.last ? (int)(gridDim.x + atomicAdd(&counters->next_group, 1)) * windows
                     : job.index + 1);
}

static __device__ __forceinline__ void stage_window(const mvf_full_params &p, const group_job &job,
                                                    group_shared &s)
{
    int c = threadIdx.x, row = c >> 3;
    const uint8_t *reference = job.reference + row * p.stride_bytes + (c & 7) * 16;
#pragma unroll
    for (int n = 0; n < WINDOW_ROWS * WINDOW / 16 / THREADS; n++)
        copy16(s.staged + 16 * (c + n * THREADS), reference + n * (THREADS / 8) * p.stride_bytes);
    if (c < 2 * MVF_FULL_BLOCK * MVF_FULL_TILE / 16)
        copy16(s.staged_current + 16 * c, job.current + (c >> 2) * p.stride_bytes + (c & 3) * 16);
    copy_commit();
}

static __device__ __forceinline__ void expand_window(group_shared &s)
{
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t *in = (const uint32_t *)s.staged + warp * 32 + lane;
    uint4 *out = (uint4 *)(s.expanded + warp * EXPANDED_PITCH) + lane;
#pragma unroll
    for (int n = 0; n < WINDOW_ROWS / (THREADS / 32); n++) {
        uint32_t w = in[n * THREADS], next = __shfl_down_sync(ALL_LANES, w, 1);
        out[n * (THREADS / 32) * (EXPANDED_PITCH / 4)] = make_uint4(
            w, shift_bytes(w, next, 1), shift_bytes(w, next, 2), shift_bytes(w, next, 3));
    }
    ((uint2 *)s.current)[threadIdx.x] = ((const uint2 *)s.staged_current)[threadIdx.x];
}

static __device__ __forceinline__ const uint8_t *block_samples(const group_shared &s, int b)
{
    return s.current + (b >> 2) * MVF_FULL_BLOCK * MVF_FULL_TILE + (b & 3) * MVF_FULL_BLOCK;
}

static __device__ __forceinline__ void load_current(const group_shared &s, int b,
                                                    uint32_t (&current)[64])
{
    const uint8_t *samples = block_samples(s, b);
#pragma unroll
    for (int y = 0; y < 16; y++) {
        uint4 row = *(const uint4 *)(samples + y * MVF_FULL_TILE);
        current[4 * y] = row.x;
        current[4 * y + 1] = row.y;
        current[4 * y + 2] = row.z;
        current[4 * y + 3] = row.w;
    }
}

static __device__ __forceinline__ void strip_sads(const uint32_t *e, const uint32_t (&current)[64],
                                                  int (&sum)[STRIP])
{
    uint32_t w[2][4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        w[0][k] = e[4 * k];
#pragma unroll
    for (int r = 0; r < STRIP + 15; r++) {
        if (r < STRIP + 14) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                w[(r + 1) & 1][k] = e[(r + 1) * EXPANDED_PITCH + 4 * k];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int c = 0; c < STRIP; c++)
                if (r - c >= 0 && r - c < 16)
                    sum[c] = sad4(w[r & 1][k], current[(r - c) * 4 + k], sum[c]);
        }
    }
}

// The same on the visible samples only. Loops stay loops: such blocks are few.
static __device__ __forceinline__ void strip_sads_ragged(const uint32_t *e, const uint8_t *current,
                                                         int vw, int vh, int (&sum)[STRIP])
{
#pragma unroll 1
    for (int y = 0; y < vh; y++)
#pragma unroll 1
        for (int k = 0; 4 * k < vw; k++) {
            uint32_t mask = vw - 4 * k >= 4 ? ALL_LANES : (1u << 8 * (vw - 4 * k)) - 1;
            uint32_t samples = ((const uint32_t *)(current + y * MVF_FULL_TILE))[k] & mask;
            const uint32_t *words = e + y * EXPANDED_PITCH + 4 * k;
#pragma unroll
            for (int c = 0; c < STRIP; c++)
                sum[c] = sad4(words[c * EXPANDED_PITCH] & mask, samples, sum[c]);
        }
}

// Rows in the order of the contract for equal SAD and dx: |dy|, then dy.
static __device__ __forceinline__ void order_rows(const mvf_full_params &p, const group_job &job,
                                                  group_shared &s)
{
    int half = threadIdx.x >> 7, row = threadIdx.x & 127,
        by = (2 * job.row + half) * MVF_FULL_BLOCK;
    int dy = job.oy + row;
    if (row < ROWS) {
        window_rect rect = allowed_vectors(p, 0, by, 0, min(16, p.height - by), job.ox, job.oy);
        s.dy_order[half][row] = row < rect.y0 || row > rect.y1 ? NO_DY : 2 * abs(dy) + (dy > 0);
    }
}

static __device__ __forceinline__ void prepare(const mvf_full_params &p, const group_job &job,
                                               group_shared &s)
{
    int b = threadIdx.x;
    expand_window(s);
    order_rows(p, job, s);
    if (b < GROUP && job.mask >> b & 1)
        s.block[__popc(job.mask & ((1 << b) - 1))] = (uint8_t)b;
    if (b < GROUP && job.first)
        s.best[b] = NO_KEY;
}

// What a lane has in hand: a column of one block's vectors.
struct group_column {
    int b, x, best;
    bool valid;
};

// A lane's best of its column to the block's best.
static __device__ __forceinline__ void merge_column(const mvf_full_params &p, const group_job &job,
                                                    group_shared &s, const group_column &column,
                                                    bool same_block)
{
    int bx = job.col * MVF_FULL_TILE + 16 * (column.b & 3), vw = min(16, p.width - bx);
    window_rect rect = allowed_vectors(p, bx, 0, vw, 0, job.ox, job.oy);
    bool none = !column.valid || column.x < rect.x0 || column.x > rect.x1 || column.best >= NO_DY;
    int sad = none ? NO_SAD : column.best >> 8;
    int order = column.best & 255, dy = order & 1 ? order >> 1 : -(order >> 1);
    uint32_t rank = vector_rank(job.ox + column.x, dy);
    if (same_block) {
        int least = (int)warp_min((uint32_t)sad);
        uint32_t nearest = warp_min(sad == least ? rank : 0xffffffffu);
        if (sad != least || rank != nearest)
            sad = NO_SAD;
    }
    if (sad != NO_SAD && sad <= key_sad(*(const volatile full_key *)&s.best[column.b]))
        atomicMin(&s.best[column.b], make_key(sad, rank));
}

static __device__ __forceinline__ void search_strip(const mvf_full_params &p, const group_job &job,
                                                    const group_shared &s,
                                                    const uint32_t (&current)[64], int strip,
                                                    group_column &column)
{
    int b = column.b, vw = min(16, p.width - job.col * MVF_FULL_TILE - 16 * (b & 3));
    int vh = min(16, p.height - (job.row * 2 + (b >> 2)) * MVF_FULL_BLOCK), sum[STRIP];
    const uint32_t *e = s.expanded + ((b >> 2) * MVF_FULL_BLOCK + strip * STRIP) * EXPANDED_PITCH +
                        16 * (b & 3) + column.x;
#pragma unroll
    for (int c = 0; c < STRIP; c++)
        sum[c] = 0;
    if (vw == 16 && vh == 16)
        strip_sads(e, current, sum);
    else
        strip_sads_ragged(e, block_samples(s, b), vw, vh, sum);
    const int *order = s.dy_order[b >> 2] + strip * STRIP;
#pragma unroll
    for (int c = 0; c < STRIP; c++) {
        bool kept;
        column.best = __vibmin_s32(column.best, sum[c] * 256 + order[c], &kept);
    }
}

// Turns 0..9 of a block are five strips of either 32 columns. Its last column is left: those of all
// blocks share the turns after that, a lane a strip.
static __device__ __forceinline__ void search_group(const mvf_full_params &p, const group_job &job,
                                                    group_shared &s, int rotation)
{
    int lane = threadIdx.x & 31, warp = ((threadIdx.x >> 5) + rotation) % (THREADS / 32);
    int body = job.blocks * TURNS, turns = body + (job.blocks * STRIPS + 31) / 32;
    int turn = warp * turns / (THREADS / 32), end = (warp + 1) * turns / (THREADS / 32),
        previous = -1;
    group_column column;
    uint32_t current[64];
#pragma unroll 1
    for (; turn < end; turn++) {
        bool last = turn >= body;
        int half = last ? turn + body : turn / STRIPS, slot = half >> 1, strip = turn % STRIPS;
        if (last) {
            slot = ((turn - body) * 32 + lane) / STRIPS;
            strip = ((turn - body) * 32 + lane) % STRIPS;
        }
        if (half != previous) {
            if (previous >= 0)
                merge_column(p, job, s, column, previous < body / STRIPS);
            column.valid = slot < job.blocks;
            column.b = s.block[min(slot, job.blocks - 1)];
            column.x = last ? 64 : (half & 1) * 32 + lane;
            column.best = NO_SAD;
            load_current(s, column.b, current);
            previous = half;
        }
        search_strip(p, job, s, current, strip, column);
    }
    if (previous >= 0)
        merge_column(p, job, s, column, previous < body / STRIPS);
}

static __device__ __forceinline__ void write_blocks(const mvf_full_params &p, const group_job &job,
                                                    const group_shared &s)
{
    int b = threadIdx.x;
    if (b < GROUP && job.mask >> b & 1)
        write_match(p.pairs[job.pair].matches,
                    (job.row * 2 + (b >> 2)) * p.cols + job.col * 4 + (b & 3), s.best[b]);
}

// What a thread block did to the counters comes before it counts itself.
static __device__ __forceinline__ void leave_counters_zero(mvf_full_counters *counters)
{
    __threadfence();
    if (atomicAdd(&counters->n_done, 1) == gridDim.x - 1) {
        mvf_full_counters zero = {};
        zero.n_launches = counters->n_launches + 1;
        *counters = zero;
    }
}

extern "C" __global__ void __launch_bounds__(MVF_EXHAUST_THREADS, MVF_EXHAUST_BLOCKS)
    search_exhaust(const __grid_constant__ mvf_full_params p)
{
    DYNAMIC_SHARED(__align__(128) uint8_t, memory);
    group_shared &s = *(group_shared *)memory;
    mvf_full_counters *counters = (mvf_full_counters *)p.counters;
    int windows = p.n_windows_x * p.n_windows_y, parity = 0;
    bool fetches = threadIdx.x == THREADS - 1;
    if (fetches)
        set_job(p, &s.job[0], blockIdx.x * windows);
    __syncthreads();
    if (s.job[0].pair >= 0)
        stage_window(p, s.job[0], s);
    for (int count = 0; s.job[parity].pair >= 0; count++, parity ^= 1) {
        const group_job &job = s.job[parity];
        copy_wait();
        __syncthreads();
        prepare(p, job, s);
        if (fetches && job.ahead)
            set_job_after(p, &s.job[parity ^ 1], job);
        __syncthreads();
        if (job.ahead && s.job[parity ^ 1].pair >= 0)
            stage_window(p, s.job[parity ^ 1], s);
        search_group(p, job, s, count);
        __syncthreads();
        if (job.last)
            write_blocks(p, job, s);
        if (job.ahead)
            continue;
        if (fetches)
            set_job_after(p, &s.job[parity ^ 1], job);
        __syncthreads();
        if (s.job[parity ^ 1].pair >= 0)
            stage_window(p, s.job[parity ^ 1], s);
    }
    wait_for_kernel_before();
    if (fetches)
        leave_counters_zero(counters);
}
