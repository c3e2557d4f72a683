// Exact full search by elimination, 16x16 blocks, 8 bit.
//
// A thread block takes a tile of 4x4 blocks and its reference window, and works in stages:
//
// - sums: 4x4 and 8x8 sums at every sample of the window, quantised to 8 bits by the range of the
//   tile's own.
// - level 1: a lower bound of every candidate from four 8x8 sums; the least of four adjacent
//   candidates is kept.
// - first bound: four promising words of four candidates a block get their SADs: the zero vector's,
//   that of what the pair before found there, and two or three with low bounds of their own.
// - scan: words whose level 1 bound is too high for the best SAD drop out.
// - level 2: so do words whose bound from sixteen 4x4 sums is too high.
// - SADs of the rest.
//
// From level 1 on the unit of work is a word: four horizontally adjacent candidates. Blocks of a
// tile with many blocks that keep too many words go to the list that the exhaustive kernel reads.
//
// Four barriers a tile: the next tile's samples arrive while this one is scanned, and its sums are
// made in registers in the same interval as the last SADs, so that no warp waits for the slowest
// list.
//
// Bounds are exact: with q = clamp((s - low) >> shift), |a - b| >= (|qa - qb| << shift) - max(d,
// step - 1 - d), where d is what the shift drops from a. The block's own sums are a, so what it
// loses is known before the search.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "search_full.h"

enum {
    THREADS = MVF_ELIMINATE_THREADS,
    BLOCKS = 16,
    WINDOW = MVF_FULL_TILE + 2 * MVF_FULL_HALO,
    WORDS = 17, // words of four candidates in a row of 65
    WINDOW_PITCH = MVF_ELIMINATE_WINDOW_PITCH,
    CURRENT_PITCH = 80,
    CURRENT_OFFSET = WINDOW * WINDOW_PITCH,
    CELL_PITCH = MVF_ELIMINATE_CELL_PITCH,
    CELL_ROWS = 128,
    PAIR_PITCH = 232,
    PAIR_ROWS = 121,
    REGION = 28160, // holds window, current samples and list, or pairs of sums
    NEAR_OFFSET = CURRENT_OFFSET + MVF_FULL_TILE * CURRENT_PITCH,
    NEAR = (REGION - NEAR_OFFSET) / 2, // words that the list holds
    MINIMA = 592,                      // row pairs x words of a block, padded to 16 banks off
    MINIMA_USED = 33 * WORDS,
    SCAN = 18,    // minima a lane scans
    NEVER = 1023, // a level 1 bound no threshold reaches
    NO_HINT = 0x7fff7fff,
    ALL_ALLOWED = 0x40004000, // the whole 65 x 65 window, as tile_shared.allowed
    KEPT = 40 // survivors of level 2 a warp holds: a batch of 8 less one, and a warp's worth
};

struct tile_job {
    const uint8_t *reference, *current; // first sample of the window, of the tile
    int index, pair, tx, ty;            // tile; pair < 0: no more work
    int ox, oy;                         // the window's first vector
    int first, last;                    // window of the tile
    int ragged;                         // some block is cut by the frame's edge
    int plain;                          // every block may take every vector of the window
};

// The tile's own sums.
struct sum_range {
    uint32_t low4, high4, low8, high8;
};

// How the tile's sums are quantised.
struct sum_scale {
    uint32_t low4, low8;
    int shift4, shift8;
};

struct tile_shared {
    uint8_t region[2][REGION];
    // [row pair][word]: even row low, odd row high. Later a block's part holds the list of its
    // surviving words.
    uint32_t minima[BLOCKS][MINIMA];
    uint8_t cells[CELL_ROWS * CELL_PITCH];
    full_key best[BLOCKS];
    uint32_t current4[BLOCKS][4]; // quantised sums, a byte a cell
    uint32_t current8[BLOCKS];
    uint32_t mask8[BLOCKS]; // cells of current8 that lie inside the frame
    uint32_t
        loss[BLOCKS]; // what quantisation may add to sixteen 4x4 differences low, to four 8x8 high
    uint32_t allowed[BLOCKS]; // bytes: first and last column, first and last row of the window
    uint32_t visible[BLOCKS]; // width low byte, height above; 0 outside the frame
    uint16_t kept[THREADS / 32][KEPT];
    uint32_t own[16 * BLOCKS]; // sums of the tile's cells, a thread's each: 4x4 low, 8x8 high
    uint32_t hint[2][BLOCKS];  // a vector, x low, or NO_HINT; by parity of the turn
    uint32_t listed[BLOCKS];   // words
    uint32_t far[BLOCKS];      // of them in the block's minima
    tile_job job[4];           // by number of the turn
    sum_range range;
    sum_scale scale[2]; // by parity of the turn
    uint32_t hard[2];   // blocks with too many words left, by parity of the turn
    uint32_t next;      // 32 words of the lists: the next to hand out
    uint32_t ranged;    // warps that have seen to the next tile's range
    uint32_t scaled;    // whether its scale is there
    // Words that were to be listed near, and where the first that were not would have begun.
    uint32_t n_near, near_end;
};

static __device__ __noinline__ void set_job(const mvf_full_params &p, tile_job *job, int index)
{
    int windows = p.n_windows_x * p.n_windows_y, window = index % windows, tile = index / windows;
    int tiles_x = (p.cols + 3) / 4, tiles = tiles_x * ((p.rows + 3) / 4), pair = tile / tiles;
    job->index = index;
    job->pair = pair < p.n_pairs ? pair : -1;
    if (pair >= p.n_pairs)
        return;
    tile -= pair * tiles;
    int from_bottom = tile / tiles_x, tx = tile - from_bottom * tiles_x,
        ty = (p.rows + 3) / 4 - 1 - from_bottom;
    int ox = p.origin_x + 64 * (window % p.n_windows_x),
        oy = p.origin_y + 64 * (window / p.n_windows_x);
    job->tx = tx;
    job->ty = ty;
    job->ox = ox;
    job->oy = oy;
    job->first = window == 0;
    job->last = window == windows - 1;
    job->ragged = (tx + 1) * MVF_FULL_TILE > p.width || (ty + 1) * MVF_FULL_TILE > p.height;
    job->plain = !job->ragged && !p.inside && ox >= -p.range_x && ox + 64 <= p.range_x &&
                 oy >= -p.range_y && oy + 64 <= p.range_y;
    job->reference = (const uint8_t *)p.pairs[pair].reference +
                     (ty * MVF_FULL_TILE + oy) * p.stride_bytes + (tx * MVF_FULL_TILE + ox);
    job->current = (const uint8_t *)p.pairs[pair].current + ty * MVF_FULL_TILE * p.stride_bytes +
                   tx * MVF_FULL_TILE;
}

// The tile's next window, or the next tile.
static __device__ __forceinline__ void set_job_after(const mvf_full_params &p, tile_job *job,
                                                     const tile_job &before)
{
    int windows = p.n_windows_x * p.n_windows_y;
    if (before.pair < 0)
        job->pair = -1;
    else if (!before.last)
        set_job(p, job, before.index + 1);
    else
        set_job(p, job,
                (int)(gridDim.x + atomicAdd(&((mvf_full_counters *)p.counters)->next_tile, 1)) *
                    windows);
}

static __device__ __forceinline__ int visible_width(const tile_shared &s, int b)
{
    return s.visible[b] & 255;
}

static __device__ __forceinline__ int visible_height(const tile_shared &s, int b)
{
    return s.visible[b] >> 8;
}

// Bytes of the cells of size `cell` that lie wholly inside `visible` samples.
static __device__ __forceinline__ uint32_t cell_mask(int visible, int cell)
{
    int cells = max(visible, 0) / cell;
    return cells >= 4 ? 0xffffffffu : (1u << 8 * cells) - 1;
}

static __device__ __forceinline__ uint32_t mask8(int vw, int vh)
{
    uint32_t row = cell_mask(vw, 8) & 0xffff;
    return (vh >= 8 ? row : 0) | (vh >= 16 ? row << 16 : 0);
}

// The vectors that the pair before found here, or so far, or anything: whatever is tried first, the
// answer is the same.
static __device__ __forceinline__ void load_hint(const mvf_full_params &p, const tile_job &job,
                                                 uint32_t *hint, int b)
{
    int col = job.tx * 4 + (b & 3), row = job.ty * 4 + (b >> 2);
    uint64_t matches = p.hints[job.pair];
    if (matches && col < p.cols && row < p.rows)
        copy4_unordered(hint + b, (const mvf_full_match *)matches + row * p.cols + col);
    else
        hint[b] = NO_HINT;
}

static __device__ __forceinline__ void load_window(const mvf_full_params &p, const tile_job &job,
                                                   uint8_t *region, uint32_t *hint)
{
    int c = thread_index(), row = c >> 3;
    const uint8_t *reference = job.reference + row * p.stride_bytes + (c & 7) * 16;
    uint8_t *out = region + row * WINDOW_PITCH + (c & 7) * 16;
    copy16(out, reference);
    copy16(out + THREADS / 8 * WINDOW_PITCH, reference + THREADS / 8 * p.stride_bytes);
    if (c < MVF_FULL_TILE * MVF_FULL_TILE / 16)
        copy16(region + CURRENT_OFFSET + (c >> 2) * CURRENT_PITCH + (c & 3) * 16,
               job.current + (c >> 2) * p.stride_bytes + (c & 3) * 16);
    else if (c >= THREADS - BLOCKS)
        load_hint(p, job, hint, c - (THREADS - BLOCKS));
    copy_commit();
}

// A 4x4 cell of the tile: a thread has one.
struct tile_cell {
    int b, x, y, vw, vh; // block, place in it, visible part of the block
    bool in4, in8;       // it and the 8x8 cell around it lie wholly inside the frame
};

static __device__ __forceinline__ tile_cell cell_at(const mvf_full_params &p, const tile_job &job)
{
    tile_cell cell;
    int thread = thread_index();
    cell.b = thread >> 4;
    cell.x = thread & 3;
    cell.y = thread >> 2 & 3;
    cell.vw = cell.vh = 16;
    cell.in4 = cell.in8 = true;
    if (!job.ragged)
        return cell;
    cell.vw = max(min(16, p.width - job.tx * MVF_FULL_TILE - 16 * (cell.b & 3)), 0);
    cell.vh = max(min(16, p.height - job.ty * MVF_FULL_TILE - 16 * (cell.b >> 2)), 0);
    cell.in4 = 4 * cell.x + 4 <= cell.vw && 4 * cell.y + 4 <= cell.vh;
    cell.in8 = cell.x / 2 * 8 + 8 <= cell.vw && cell.y / 2 * 8 + 8 <= cell.vh;
    return cell;
}

static __device__ __forceinline__ int shift_for(uint32_t low, uint32_t high)
{
    return high > low ? max(0, 24 - __clz(high - low)) : 0;
}

static __device__ __forceinline__ sum_scale tile_scale(const volatile sum_range &r)
{
    sum_scale scale = {r.low4, r.low8, shift_for(r.low4, r.high4), shift_for(r.low8, r.high8)};
    return scale;
}

// Atomics are what racecheck takes for ordered where threads wait for each other without a barrier.
static __device__ __forceinline__ void write_scale(sum_scale &to, const sum_scale &scale)
{
    atomicExch(&to.low4, scale.low4);
    atomicExch(&to.low8, scale.low8);
    atomicExch(&to.shift4, scale.shift4);
    atomicExch(&to.shift8, scale.shift8);
}

// A thread a 4x4 cell: its sum low, the sum of its 8x8 cell high, and the tile's range of both, of
// which the last warp makes the scale.
static __device__ __forceinline__ void current_sums(const mvf_full_params &p, const tile_job &job,
                                                    tile_shared &s, int parity,
                                                    const uint8_t *region)
{
    tile_cell cell = cell_at(p, job);
    sum_range *range = &s.range;
    const uint32_t *row = (const uint32_t *)(region + CURRENT_OFFSET +
                                             ((cell.b >> 2) * 16 + cell.y * 4) * CURRENT_PITCH) +
                          (cell.b & 3) * 4 + cell.x;
    uint32_t sum4 = 0;
#pragma unroll
    for (int y = 0; y < 4; y++)
        sum4 = __dp4a(row[y * (CURRENT_PITCH / 4)], 0x01010101u, sum4);
    uint32_t sum8 = sum4 + __shfl_xor_sync(ALL_LANES, sum4, 1);
    sum8 += __shfl_xor_sync(ALL_LANES, sum8, 4);
    uint32_t low4 = warp_min(cell.in4 ? sum4 : 0xffff), high4 = warp_max(cell.in4 ? sum4 : 0);
    uint32_t low8 = warp_min(cell.in8 ? sum8 : 0xffff), high8 = warp_max(cell.in8 ? sum8 : 0);
    if ((thread_index() & 31) == 0) {
        atomicMin(&range->low4, low4);
        atomicMax(&range->high4, high4);
        atomicMin(&range->low8, low8);
        atomicMax(&range->high8, high8);
        __threadfence_block();
        if (atomicAdd(&s.ranged, 1) == BLOCKS / 2 - 1) {
            write_scale(s.scale[parity], tile_scale(s.range));
            __threadfence_block();
            atomicExch(&s.scaled, 1u);
        }
    }
    s.own[thread_index()] = sum4 | sum8 << 16;
}

static __device__ __forceinline__ void describe_block(const mvf_full_params &p, const tile_job &job,
                                                      tile_shared &s, const tile_cell &cell)
{
    int b = cell.b;
    s.listed[b] = s.far[b] = 0;
    if (job.first)
        s.best[b] = NO_KEY;
    if (job.plain) {
        s.allowed[b] = ALL_ALLOWED;
        s.visible[b] = 16 | 16 << 8;
        return;
    }
    window_rect rect =
        allowed_vectors(p, job.tx * MVF_FULL_TILE + 16 * (b & 3),
                        job.ty * MVF_FULL_TILE + 16 * (b >> 2), cell.vw, cell.vh, job.ox, job.oy);
    bool none = rect.x1 < rect.x0 || rect.y1 < rect.y0;
    s.allowed[b] = none ? 0x00ff00ffu : rect.x0 | rect.x1 << 8 | rect.y0 << 16 | rect.y1 << 24;
    s.visible[b] = cell.vw && cell.vh ? cell.vw | cell.vh << 8 : 0;
    s.mask8[b] = mask8(cell.vw, cell.vh);
}

static __device__ __forceinline__ void quantise_current(const mvf_full_params &p,
                                                        const tile_job &job, tile_shared &s,
                                                        const sum_scale &scale)
{
    tile_cell cell = cell_at(p, job);
    uint32_t sums = s.own[thread_index()], sum4 = sums & 0xffff, sum8 = sums >> 16;
    uint32_t left4 = (1u << scale.shift4) - 1, left8 = (1u << scale.shift8) - 1;
    uint32_t d4 = (sum4 - scale.low4) & left4, d8 = (sum8 - scale.low8) & left8;
    bool in8 = cell.in8 && !((cell.x | cell.y) & 1);
    uint32_t loss = (cell.in4 ? max(d4, left4 - d4) : 0) | (in8 ? max(d8, left8 - d8) : 0) << 16;
    uint32_t q4 = cell.in4 ? (sum4 - scale.low4) >> scale.shift4 << 8 * cell.x : 0;
    uint32_t q8 =
        in8 ? (sum8 - scale.low8) >> scale.shift8 << 8 * (cell.y / 2 * 2 + cell.x / 2) : 0;
#pragma unroll
    for (int lanes = 1; lanes < 16; lanes *= 2) {
        loss += __shfl_xor_sync(ALL_LANES, loss, lanes);
        q8 |= __shfl_xor_sync(ALL_LANES, q8, lanes);
        if (lanes < 4)
            q4 |= __shfl_xor_sync(ALL_LANES, q4, lanes);
    }
    if (cell.x == 0)
        s.current4[cell.b][cell.y] = q4;
    if ((thread_index() & 15) == 0) {
        s.current8[cell.b] = q8;
        s.loss[cell.b] = loss;
        describe_block(p, job, s, cell);
    }
}

static_assert(sizeof(tile_shared) == MVF_ELIMINATE_SHARED_BYTES,
              "the launcher takes the size from params.h");

// Two packed 16-bit sums to bytes 0 and 2; the other bytes are noise.
static __device__ __forceinline__ uint32_t quantise2(uint32_t sums, uint32_t minus_low,
                                                     uint32_t cap, int shift)
{
    return __viaddmin_s16x2_relu(sums, minus_low, cap) >> shift;
}

// What a thread makes of eight rows at its word of samples: quantised 4x4 and 8x8 sums at four
// positions.
struct sum_rows {
    uint32_t cells[8], eights[8];
};

// A warp takes eight rows, a lane the four positions of a word of samples. Column sums run down the
// rows in 16-bit halves. The last rows and columns of the window come out wrong: nothing reads
// them.
static __device__ __forceinline__ void window_sums(const sum_scale &scale, const uint8_t *region,
                                                   sum_rows &sums)
{
    int thread = thread_index(), lane = thread & 31, y0 = (thread >> 5) * 8;
    const uint32_t *samples = (const uint32_t *)(region + y0 * WINDOW_PITCH) + lane;
    uint32_t low4 = (-scale.low4 & 0xffff) * 0x10001u, low8 = (-scale.low8 & 0xffff) * 0x10001u;
    uint32_t cap4 = ((256u << scale.shift4) - 1) * 0x10001u,
             cap8 = ((256u << scale.shift8) - 1) * 0x10001u;
    uint32_t even[4], odd[4], wide02[4], wide13[4], column02 = 0, column13 = 0;
#pragma unroll
    for (int r = 0; r < 15; r++) {
        uint32_t w = samples[r * (WINDOW_PITCH / 4)];
        uint32_t e = w & 0xff00ff, o = __byte_perm(w, 0, 0x4341);
        column02 += e - (r < 4 ? 0 : even[r & 3]);
        column13 += o - (r < 4 ? 0 : odd[r & 3]);
        even[r & 3] = e;
        odd[r & 3] = o;
        if (r < 3)
            continue;
        uint32_t two = column02 + column13, two_right = __shfl_down_sync(ALL_LANES, two, 1);
        uint32_t right02 = __shfl_down_sync(ALL_LANES, column02, 1);
        uint32_t s02 = two + __byte_perm(two, two_right, 0x5432), s13 = s02 + right02 - column02;
        if (r - 3 < 8)
            sums.cells[r - 3] = __byte_perm(quantise2(s02, low4, cap4, scale.shift4),
                                            quantise2(s13, low4, cap4, scale.shift4), 0x6240);
        uint32_t h02 = s02 + __shfl_down_sync(ALL_LANES, s02, 1),
                 h13 = s13 + __shfl_down_sync(ALL_LANES, s13, 1);
        if (r >= 7)
            sums.eights[r - 7] =
                __byte_perm(quantise2(h02 + wide02[r & 3], low8, cap8, scale.shift8),
                            quantise2(h13 + wide13[r & 3], low8, cap8, scale.shift8), 0x6240);
        wide02[r & 3] = h02;
        wide13[r & 3] = h13;
    }
}

static __device__ __forceinline__ void store_sums(tile_shared &s, uint8_t *pairs,
                                                  const sum_rows &sums)
{
    int thread = thread_index(), lane = thread & 31, y0 = (thread >> 5) * 8;
    uint32_t *cells = (uint32_t *)(s.cells + y0 * CELL_PITCH) + lane;
    uint2 *pair = (uint2 *)(pairs + y0 * PAIR_PITCH) + lane;
#pragma unroll
    for (int r = 0; r < 8; r++)
        cells[r * (CELL_PITCH / 4)] = sums.cells[r];
    bool in_row = lane < PAIR_PITCH / 8;
#pragma unroll
    for (int r = 0; r < 8; r++) {
        uint32_t q = sums.eights[r], right = __shfl_down_sync(ALL_LANES, q, 2);
        if (in_row && (r == 0 || y0 + 8 <= PAIR_ROWS))
            pair[r * (PAIR_PITCH / 8)] =
                make_uint2(__byte_perm(q, right, 0x5140), __byte_perm(q, right, 0x7362));
    }
}

// The positions' words of four 8x8 sums.
struct sum_words {
    uint32_t w[4];
};

static __device__ __forceinline__ sum_words join_pairs(const uint8_t *upper)
{
    uint2 a = *(const uint2 *)upper, b = *(const uint2 *)(upper + 8 * PAIR_PITCH);
    sum_words words = {{__byte_perm(a.x, b.x, 0x5410), __byte_perm(a.x, b.x, 0x7632),
                        __byte_perm(a.y, b.y, 0x5410), __byte_perm(a.y, b.y, 0x7632)}};
    return words;
}

template <bool RAGGED>
static __device__ __forceinline__ int word_minimum(const sum_words &words, uint32_t current,
                                                   uint32_t mask)
{
    int m[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        m[k] = sad4(RAGGED ? words.w[k] & mask : words.w[k], current, 0);
    return min(__vimin3_s32(m[0], m[1], m[2]), m[3]);
}

// 64 x 64 vectors of all blocks: a thread takes a word column of one column of blocks and 8 of 16
// rows in every band of rows that is BAND mod 4, so that one load serves every block that sees the
// row. A quarter of the rows of each block falls to each thread.
template <int BAND>
static __device__ __forceinline__ void level1_band(tile_shared &s, const uint8_t *pairs)
{
    int thread = thread_index(), word = thread & 15, i = thread >> 4 & 3, half = thread >> 6 & 1;
    const uint8_t *row = pairs + (16 * i + 4 * word) * 2 + (16 * BAND + 8 * half) * PAIR_PITCH;
    uint32_t *out = s.minima[i] + word + (8 * BAND + 4 * half) * WORDS;
    uint32_t current[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        current[j] = s.current8[j * 4 + i];
// Four bands run at a time: unrolled they are too much code. H200, wall: 1.7 % longer.
#pragma unroll 1
    for (int r = 0; r < 8; r += 2) {
#pragma unroll
        for (int pass = 0; pass < (BAND == 3 ? 1 : 2); pass++) {
            sum_words even = join_pairs(row + (64 * pass + r) * PAIR_PITCH);
            sum_words odd = join_pairs(row + (64 * pass + r + 1) * PAIR_PITCH);
#pragma unroll
            for (int j = pass ? BAND + 1 : 0; j < (pass ? 4 : BAND + 1); j++)
                out[j * (4 * MINIMA - 8 * WORDS) + (32 * pass + r / 2) * WORDS] =
                    word_minimum<false>(odd, current[j], 0) * 65536 +
                    word_minimum<false>(even, current[j], 0);
        }
    }
}

// The same for blocks with invisible cells, a block at a time.
static __device__ __forceinline__ void level1_ragged(tile_shared &s, const uint8_t *pairs)
{
    int thread = thread_index(), word = thread & 15, i = thread >> 4 & 3, y0 = (thread >> 6) * 8;
#pragma unroll 1
    for (int j = 0; j < 4; j++) {
        int b = j * 4 + i;
        const uint8_t *row = pairs + (16 * i + 4 * word) * 2 + (16 * j + y0) * PAIR_PITCH;
#pragma unroll 1
        for (int r = 0; r < 8; r += 2)
            s.minima[b][(y0 + r) / 2 * WORDS + word] =
                word_minimum<true>(join_pairs(row + (r + 1) * PAIR_PITCH), s.current8[b],
                                   s.mask8[b]) *
                    65536 +
                word_minimum<true>(join_pairs(row + r * PAIR_PITCH), s.current8[b], s.mask8[b]);
    }
}

// The vectors the bands leave: the last column, the last row.
template <bool RAGGED>
static __device__ __forceinline__ void level1_edges(tile_shared &s, const uint8_t *pairs)
{
    int thread = thread_index(), b = thread >> 5, row_pair = thread & 31;
    const uint8_t *p =
        pairs + ((b >> 2) * 16 + 2 * row_pair) * PAIR_PITCH + ((b & 3) * 16 + 64) * 2;
    uint32_t w0 = *(const uint16_t *)p | (uint32_t) * (const uint16_t *)(p + 8 * PAIR_PITCH) << 16;
    uint32_t w1 = *(const uint16_t *)(p + PAIR_PITCH) |
                  (uint32_t) * (const uint16_t *)(p + 9 * PAIR_PITCH) << 16;
    uint32_t current = s.current8[b];
    if (RAGGED) {
        w0 &= s.mask8[b];
        w1 &= s.mask8[b];
    }
    s.minima[b][row_pair * WORDS + 16] = sad4(w1, current, 0) * 65536 + sad4(w0, current, 0);
    if (thread < BLOCKS * WORDS) {
        b = thread / (unsigned)WORDS;
        int word = thread - b * WORDS;
        p = pairs + ((b >> 2) * 16 + 64) * PAIR_PITCH + ((b & 3) * 16 + 4 * word) * 2;
        int m = word_minimum<RAGGED>(join_pairs(p), s.current8[b], RAGGED ? s.mask8[b] : 0);
        s.minima[b][32 * WORDS + word] = NEVER * 65536 + m;
    }
}

template <bool RAGGED>
static __device__ __forceinline__ void level1(tile_shared &s, const uint8_t *pairs)
{
    if (RAGGED)
        level1_ragged(s, pairs);
    else
        switch (thread_index() >> 7) {
        case 0:
            level1_band<0>(s, pairs);
            break;
        case 1:
            level1_band<1>(s, pairs);
            break;
        case 2:
            level1_band<2>(s, pairs);
            break;
        default:
            level1_band<3>(s, pairs);
        }
    level1_edges<RAGGED>(s, pairs);
}

// Least bound, from sixteen 4x4 sums, of the four candidates of a word.
template <bool RAGGED>
static __device__ __forceinline__ int word_bound(const tile_shared &s, int b, int row, int word)
{
    const uint32_t *cells =
        (const uint32_t *)(s.cells + ((b >> 2) * 16 + row) * CELL_PITCH) + (b & 3) * 4 + word;
    uint4 packed = *(const uint4 *)s.current4[b];
    uint32_t current[4] = {packed.x, packed.y, packed.z, packed.w};
    int sum[4] = {0};
    uint32_t in[4][4];
#pragma unroll
    for (int cy = 0; cy < 4; cy++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            in[cy][k] = load_word(cells + cy * 4 * (CELL_PITCH / 4) + k);
#pragma unroll
    for (int cy = 0; cy < 4; cy++) {
        uint32_t ab = __byte_perm(in[cy][0], in[cy][1], 0x5140),
                 ab2 = __byte_perm(in[cy][0], in[cy][1], 0x7362);
        uint32_t cd = __byte_perm(in[cy][2], in[cy][3], 0x5140),
                 cd2 = __byte_perm(in[cy][2], in[cy][3], 0x7362);
        uint32_t w[4] = {__byte_perm(ab, cd, 0x5410), __byte_perm(ab, cd, 0x7632),
                         __byte_perm(ab2, cd2, 0x5410), __byte_perm(ab2, cd2, 0x7632)};
        uint32_t mask =
            RAGGED ? (4 * cy + 4 <= visible_height(s, b) ? cell_mask(visible_width(s, b), 4) : 0)
                   : 0xffffffffu;
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum[k] = sad4(RAGGED ? w[k] & mask : w[k], current[cy], sum[k]);
    }
    return min(__vimin3_s32(sum[0], sum[1], sum[2]), sum[3]);
}

struct word_best {
    int sad, dx, dy;
};

// The best of a word's four SADs. Left of zero the nearer candidate is the later one; the first
// operand wins ties.
static __device__ __forceinline__ word_best best_of_word(const tile_job &job, uint32_t allowed,
                                                         int row, int word, int (&sum)[4])
{
    int x = 4 * word;
    if (allowed != ALL_ALLOWED || word == WORDS - 1) {
        int x0 = allowed & 255, x1 = allowed >> 8 & 255;
        bool in_y = row >= (int)(allowed >> 16 & 255) && row <= (int)(allowed >> 24);
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum[k] = in_y && x + k >= x0 && x + k <= x1 ? sum[k] : NO_SAD;
    }
    bool left = job.ox + x < 0, keep01, keep23, keep;
    int low = __vibmin_s32(left ? sum[3] : sum[0], left ? sum[2] : sum[1], &keep01);
    int high = __vibmin_s32(left ? sum[1] : sum[2], left ? sum[0] : sum[3], &keep23);
    word_best match;
    match.sad = __vibmin_s32(low, high, &keep);
    int nth = keep ? !keep01 : 3 - keep23;
    match.dx = job.ox + x + (left ? 3 - nth : nth);
    match.dy = job.oy + row;
    return match;
}

// `lanes` lanes, 4 or 8, compute the SADs of a word's four candidates, each every lanes-th row.
template <bool RAGGED>
static __device__ __forceinline__ void word_sads(const tile_shared &s, const uint8_t *region, int b,
                                                 int row, int word, int lanes, int (&sum)[4])
{
    int lane = thread_index() & (lanes - 1);
    const uint32_t *r = (const uint32_t *)(region + ((b >> 2) * 16 + row + lane) * WINDOW_PITCH) +
                        (b & 3) * 4 + word;
    const uint4 *c = (const uint4 *)(region + CURRENT_OFFSET +
                                     ((b >> 2) * 16 + lane) * CURRENT_PITCH + (b & 3) * 16);
    sum[0] = sum[1] = sum[2] = sum[3] = 0;
#pragma unroll 1
    for (int y = lane; y < 16; y += 2 * lanes) {
        uint32_t in[2][5];
        uint4 packed[2];
#pragma unroll
        for (int turn = 0; turn < 2; turn++) {
#pragma unroll
            for (int k = 0; k < 5; k++)
                in[turn][k] = load_word(r + k);
            packed[turn] = load_words4(c);
            r += lanes * (WINDOW_PITCH / 4);
            c += lanes * (CURRENT_PITCH / 16);
        }
#pragma unroll
        for (int turn = 0; turn < 2; turn++) {
            uint32_t current[4] = {packed[turn].x, packed[turn].y, packed[turn].z, packed[turn].w};
#pragma unroll
            for (int k = 0; k < 4; k++) {
                uint32_t mask = !RAGGED ? 0xffffffffu
                                : y + turn * lanes < visible_height(s, b)
                                    ? cell_mask(visible_width(s, b) - 4 * k, 1)
                                    : 0;
#pragma unroll
                for (int n = 0; n < 4; n++) {
                    uint32_t shifted =
                        n ? shift_bytes(in[turn][k], in[turn][k + 1], n) : in[turn][k];
                    sum[n] = sad4(RAGGED ? shifted & mask : shifted,
                                  RAGGED ? current[k] & mask : current[k], sum[n]);
                }
            }
        }
    }
    uint32_t sum01 = sum[1] * 65536 + sum[0], sum23 = sum[3] * 65536 + sum[2];
    for (int away = 1; away < lanes; away *= 2) {
        sum01 += __shfl_xor_sync(ALL_LANES, sum01, away);
        sum23 += __shfl_xor_sync(ALL_LANES, sum23, away);
    }
    sum[0] = sum01 & 0xffff;
    sum[1] = sum01 >> 16;
    sum[2] = sum23 & 0xffff;
    sum[3] = sum23 >> 16;
}

// The best SAD to stay under, or to tie with: nothing ties with the zero vector.
static __device__ __forceinline__ int sad_limit(full_key best)
{
    return key_sad(best) - ((uint32_t)best == vector_rank(0, 0));
}

// The greatest value of word_bound() that the best SAD allows.
static __device__ __forceinline__ int limit4(const tile_shared &s, int b, int shift4)
{
    return (sad_limit(*(const volatile full_key *)&s.best[b]) + (int)(s.loss[b] & 0xffff)) >>
           shift4;
}

static __device__ __forceinline__ bool done(full_key best)
{
    return best == make_key(0, vector_rank(0, 0));
}

static __device__ __forceinline__ void hide_outside(uint32_t (&v)[SCAN], uint32_t allowed)
{
    int lane = thread_index() & 31, x0 = allowed & 255, x1 = allowed >> 8 & 255,
        y0 = allowed >> 16 & 255, y1 = allowed >> 24;
#pragma unroll
    for (int n = 0; n < SCAN; n++) {
        int index = lane + 32 * n, row_pair = index / (unsigned)WORDS,
            word = index - row_pair * WORDS;
        bool in_x = 4 * word + 3 >= x0 && 4 * word <= x1;
        if (!in_x || 2 * row_pair < y0 || 2 * row_pair > y1)
            v[n] |= NEVER;
        if (!in_x || 2 * row_pair + 1 < y0 || 2 * row_pair + 1 > y1)
            v[n] |= NEVER << 16;
    }
}

static __device__ __forceinline__ void load_minima(const tile_shared &s, int b, uint32_t (&v)[SCAN])
{
    int lane = thread_index() & 31;
#pragma unroll
    for (int n = 0; n < SCAN; n++)
        v[n] = lane + 32 * n < MINIMA_USED ? *(const volatile uint32_t *)&s.minima[b][lane + 32 * n]
                                           : NEVER * 0x10001u;
    if (s.allowed[b] != ALL_ALLOWED)
        hide_outside(v, s.allowed[b]);
}

// A word among those a lane scans: index in v, and which half.
struct word_pick {
    int n, half;
};

static __device__ __forceinline__ word_pick least_word(const uint32_t (&v)[SCAN])
{
    uint32_t least = 0xffffffffu;
#pragma unroll
    for (int n = 0; n < SCAN; n++)
        least = __vminu2(least, v[n] * 32 + n * 0x10001u);
    uint32_t low = least & 0xffff, high = least >> 16;
    word_pick pick = {(int)(min(low, high) & 31), low > high};
    return pick;
}

// Halves of minima are numbered 2 * index + half. Their row and word, as row << 5 | word.
static __device__ __forceinline__ int entry_of(int number)
{
    int row_pair = (number >> 1) / (unsigned)WORDS, word = (number >> 1) - row_pair * WORDS;
    return (2 * row_pair + (number & 1)) << 5 | word;
}

// The word of a vector, as entry_of(), or -1 outside the window.
static __device__ __forceinline__ int entry_of_vector(const tile_job &job, int dx, int dy)
{
    uint32_t x = dx - job.ox, y = dy - job.oy;
    return x <= 64 && y <= 64 ? (int)(y << 5 | x >> 2) : -1;
}

// The words that give a block its first bound: the zero vector's, the hint's, and those with the
// least bounds of what eight or sixteen lanes scan.
struct word_picks {
    int zero, hint; // as entry_of(); -1: none
    int taken;      // the lane whose word this lane tries, where it is neither
    bool mine;      // whether this lane's word is tried
};

template <bool RAGGED>
static __device__ __forceinline__ word_picks pick_words(const tile_job &job, const tile_shared &s,
                                                        uint32_t hint, int b, int entry)
{
    int lane = thread_index() & 31;
    word_picks picks = {entry_of_vector(job, 0, 0),
                        entry_of_vector(job, (int16_t)hint, (int)hint >> 16)};
    if (picks.hint == picks.zero)
        picks.hint = -1;
    uint32_t order = word_bound<RAGGED>(s, b, entry >> 5, entry & 31) * 32 + lane;
#pragma unroll
    for (int lanes = 1; lanes < 8; lanes *= 2)
        order = min(order, __shfl_xor_sync(ALL_LANES, order, lanes));
    if (picks.hint >= 0) {
        order = min(order, __shfl_xor_sync(ALL_LANES, order, 8));
        int first = __shfl_sync(ALL_LANES, order, 0) & 31,
            second = __shfl_sync(ALL_LANES, order, 16) & 31;
        picks.taken = lane < 24 ? first : second;
        picks.mine = lane == first || lane == second;
    } else {
        picks.taken = order & 31;
        picks.mine = picks.taken == lane && (lane >= 8 || picks.zero < 0);
    }
    return picks;
}

template <bool RAGGED>
static __device__ __forceinline__ void try_picks(const tile_job &job, tile_shared &s,
                                                 const uint8_t *region, int b, int entry,
                                                 const word_picks &picks)
{
    int lane = thread_index() & 31, sum[4];
    entry = __shfl_sync(ALL_LANES, entry, picks.taken);
    if (lane < 8 && picks.zero >= 0)
        entry = picks.zero;
    if (lane >> 3 == 1 && picks.hint >= 0)
        entry = picks.hint;
    word_sads<RAGGED>(s, region, b, entry >> 5, entry & 31, 8, sum);
    word_best match = best_of_word(job, s.allowed[b], entry >> 5, entry & 31, sum);
    uint32_t sad = warp_min((uint32_t)match.sad);
    uint32_t rank =
        warp_min((uint32_t)match.sad == sad ? vector_rank(match.dx, match.dy) : 0xffffffffu);
    full_key key = make_key((int)sad, rank);
    if (lane == 0 && key < s.best[b] && sad != NO_SAD)
        s.best[b] = key;
    __syncwarp();
}

// Words whose level 1 bound is not above the limit, as bits: 15 - n and 31 - n for n < 16, then
// the rest.
struct word_bits {
    uint32_t first, second;
};

static __device__ __forceinline__ word_bits surviving_words(const uint32_t (&v)[SCAN], int limit)
{
    uint32_t add = (uint32_t)(0x7fff - limit) * 0x10001u;
    word_bits bits = {0, 0};
#pragma unroll
    for (int n = 0; n < SCAN; n++) {
        uint32_t sum = v[n] + add;
        if (n < 16)
            bits.first |= ~(sum >> n) & 0x80008000u >> n;
        else
            bits.second |= ~(sum >> (n - 16)) & 0x80008000u >> (n - 16);
    }
    return bits;
}

static __device__ __forceinline__ void leave_out(word_bits &bits, int n, int half)
{
    uint32_t bit = (half ? 0x80000000u : 0x8000u) >> (n & 15);
    if (n < 16)
        bits.first &= ~bit;
    else
        bits.second &= ~bit;
}

static __device__ __forceinline__ void leave_out_entry(word_bits &bits, int entry)
{
    int index = (entry >> 6) * WORDS + (entry & 31);
    if (entry >= 0 && (index & 31) == (thread_index() & 31))
        leave_out(bits, index >> 5, entry >> 5 & 1);
}

// Bits as of surviving_words(); `number` is that of the even half of the lane's minimum n = 15 of
// them.
static __device__ __forceinline__ uint16_t *push_words(uint32_t bits, int number, uint16_t *at)
{
    while (bits) {
        int bit = 31 - __clz(bits);
        bits ^= 1u << bit;
        *at++ = (uint16_t)(number - 64 * (bit & 15) + (bit >> 4));
    }
    return at;
}

// Lists a block's words, unless they are more than hard_words: near ones, as block and number, or
// where the block's minima were. Tells whether it did.
static __device__ __forceinline__ bool list_words(tile_shared &s, int b, int hard_words,
                                                  const word_bits &bits, uint16_t *near)
{
    int lane = thread_index() & 31, count = __popc(bits.first) + __popc(bits.second),
        all = (int)warp_sum(count), base = 0, block = 0;
    if (all > hard_words)
        return false;
    if (lane == 0)
        base = add_shared(&s.n_near, all);
    base = __shfl_sync(ALL_LANES, base, 0);
    uint16_t *at = near + base;
    if (base + all <= NEAR) {
        block = b << 11;
    } else {
        at = (uint16_t *)s.minima[b];
        if (lane == 0) {
            atomicMin(&s.near_end, base);
            s.far[b] = all;
        }
        __syncwarp();
    }
    if (count) {
        at += atomicAdd(&s.listed[b], count);
        push_words(bits.second, block + 2 * lane + 64 * 31,
                   push_words(bits.first, block + 2 * lane + 64 * 15, at));
    }
    return true;
}

// What the best SAD so far leaves of a block's words.
static __device__ __forceinline__ word_bits leave_words(const tile_shared &s, int b, int shift8,
                                                        const uint32_t (&v)[SCAN],
                                                        const word_pick &pick,
                                                        const word_picks &picks)
{
    int limit = max(-1, min(NEVER - 1, (sad_limit(s.best[b]) + (int)(s.loss[b] >> 16)) >> shift8));
    word_bits bits = surviving_words(v, limit);
    leave_out_entry(bits, picks.zero);
    leave_out_entry(bits, picks.hint);
    if (picks.mine)
        leave_out(bits, pick.n, pick.half);
    return bits;
}

template <bool RAGGED>
static __device__ __forceinline__ void
scan_block(const mvf_full_params &p, const tile_job &job, tile_shared &s, int shift8, uint32_t hint,
           const uint8_t *region, uint16_t *near, uint32_t *hard, int b)
{
    uint32_t v[SCAN];
    int lane = thread_index() & 31;
    load_minima(s, b, v);
    word_pick pick = least_word(v);
    int entry = entry_of((lane + 32 * pick.n) * 2 + pick.half);
    word_picks picks = pick_words<RAGGED>(job, s, hint, b, entry);
    try_picks<RAGGED>(job, s, region, b, entry, picks);
    if (done(s.best[b]))
        return;
    word_bits bits = leave_words(s, b, shift8, v, pick, picks);
    if (!list_words(s, b, p.hard_words, bits, near) && lane == 0)
        atomicOr(hard, 1u << b);
}

// Up to eight words, four lanes each, or up to four words, eight lanes each.
template <bool RAGGED>
static __device__ __forceinline__ void match_words(const tile_job &job, tile_shared &s,
                                                   const uint8_t *region, const uint16_t *entries,
                                                   int count)
{
    int lane = thread_index() & 31, lanes = count > 4 ? 4 : 8;
    int entry = entries[min(lane / lanes, count - 1)], b = entry >> 12;
    int sum[4], row = entry >> 5 & 127, word = entry & 31;
    word_sads<RAGGED>(s, region, b, row, word, lanes, sum);
    int best = key_sad(*(const volatile full_key *)&s.best[b]);
    // Mostly none of them is.
    if (!__any_sync(ALL_LANES, min(__vimin3_s32(sum[0], sum[1], sum[2]), sum[3]) <= best))
        return;
    word_best match = best_of_word(job, s.allowed[b], row, word, sum);
    if ((lane & (lanes - 1)) == 0 && match.sad != NO_SAD && match.sad <= best)
        atomicMin(&s.best[b], make_key(match.sad, vector_rank(match.dx, match.dy)));
}

// Words that are not near are numbered through. Lane b knows where block b's end; of hard blocks
// all words count.
static __device__ __forceinline__ int far_ends(const tile_shared &s, uint32_t hard)
{
    int lane = thread_index() & 31, b = lane & (BLOCKS - 1),
        end = hard >> b & 1 ? 65 * WORDS : (int)s.far[b];
#pragma unroll
    for (int lanes = 1; lanes < BLOCKS; lanes *= 2) {
        int other = __shfl_up_sync(ALL_LANES, end, lanes);
        end += lane >= lanes ? other : 0;
    }
    return end;
}

static __device__ __forceinline__ int far_entry(const tile_shared &s, uint32_t hard, int ends,
                                                int number, int *block)
{
    int b = 0, before;
#pragma unroll
    for (int step = BLOCKS / 2; step; step /= 2)
        b += __shfl_sync(ALL_LANES, ends, b + step - 1) <= number ? step : 0;
    before = __shfl_sync(ALL_LANES, ends, max(b - 1, 0));
    number -= b ? before : 0;
    *block = b;
    return entry_of(hard >> b & 1
                        ? number % WORDS * 2 + number / WORDS / 2 * 2 * WORDS + (number / WORDS & 1)
                        : ((const uint16_t *)s.minima[b])[number]);
}

// What to search, 32 words at a time: the near ones, then the others.
struct word_lists {
    const uint16_t *near;
    int n_near, ends, n_far; // words; ends: far_ends()
    uint32_t hard;
};

static __device__ __forceinline__ word_lists lists_of(const tile_shared &s, const uint16_t *near,
                                                      uint32_t hard)
{
    word_lists lists = {near, (int)min(s.n_near, s.near_end), 0, 0, hard};
    if (hard || s.n_near > NEAR) {
        lists.ends = far_ends(s, hard);
        lists.n_far = __shfl_sync(ALL_LANES, lists.ends, BLOCKS - 1);
    }
    return lists;
}

// Of the lane's word the block and, as entry_of(), the place; whether there is one.
static __device__ __forceinline__ bool next_word(const tile_shared &s, const word_lists &lists,
                                                 int at, int *block, int *entry)
{
    int lane = thread_index() & 31, n_near = (lists.n_near + 31) / 32;
    if (at < n_near) {
        int number = at * 32 + lane;
        uint32_t word = lists.near[min(number, lists.n_near - 1)];
        *block = word >> 11;
        *entry = entry_of(word & 2047);
        return number < lists.n_near;
    }
    int number = (at - n_near) * 32 + lane;
    *entry = far_entry(s, lists.hard, lists.ends, min(number, lists.n_far - 1), block);
    return number < lists.n_far;
}

// A warp tests listed words by level 2, a lane a word, keeps what survives and gets its SADs eight
// at a time.
template <bool RAGGED>
static __device__ __forceinline__ void search_lists(const tile_job &job, tile_shared &s, int shift4,
                                                    const word_lists &lists, const uint8_t *region)
{
    // The upper warps start first: the lower ones make the next tile's own sums.
    int thread = thread_index(), lane = thread & 31, warp = thread >> 5, at = warp ^ (THREADS / 64),
        held = 0;
    int end = (lists.n_near + 31) / 32 + (lists.n_far + 31) / 32;
    uint16_t *kept = s.kept[warp];
    for (bool more = at < end; more || held;) {
        if (more) {
            int b, entry;
            bool alive = next_word(s, lists, at, &b, &entry);
            if (alive)
                alive = word_bound<RAGGED>(s, b, entry >> 5, entry & 31) <= limit4(s, b, shift4);
            uint32_t ballot = __ballot_sync(ALL_LANES, alive);
            if (alive)
                kept[held + __popc(ballot & ((1u << lane) - 1))] = (uint16_t)(b << 12 | entry);
            held += __popc(ballot);
            if (lane == 0)
                at = add_shared(&s.next, 1);
            at = __shfl_sync(ALL_LANES, at, 0);
            more = at < end;
        }
        __syncwarp();
        while (held >= 8 || (held && !more)) {
            int batch = min(held, 8);
            held -= batch;
            match_words<RAGGED>(job, s, region, kept + held, batch);
        }
        __syncwarp();
    }
}

// After all groups of the thread block.
static __device__ __forceinline__ void leave_list(mvf_full_counters *counters)
{
    __threadfence();
    atomicAdd(&counters->n_gone, 1);
}

// Every thread of the block is resident, so what a warp waits for comes.
static __device__ __forceinline__ void wait_for(const uint32_t *flag)
{
    while (!*(const volatile uint32_t *)flag)
        let_others_run();
    forget_loads();
}

// A tile with few hard blocks searches them itself.
static __device__ __forceinline__ bool gives_up(const mvf_full_params &p, uint32_t hard)
{
    return __popc(hard) > p.hard_blocks;
}

static __device__ __forceinline__ void write_block(const mvf_full_params &p, const tile_job &job,
                                                   const tile_shared &s, uint32_t hard, int b)
{
    int col = job.tx * 4 + (b & 3), row = job.ty * 4 + (b >> 2);
    if (!gives_up(p, hard))
        hard = 0;
    if (col < p.cols && row < p.rows && !(hard >> b & 1))
        write_match(p.pairs[job.pair].matches, row * p.cols + col, s.best[b]);
    hard = hard >> (b & 8) & 255;
    if ((b & 7) == 0 && hard) {
        mvf_full_counters *counters = (mvf_full_counters *)p.counters;
        uint32_t at = atomicAdd(&counters->n_groups, 1);
        mvf_full_group group = {(uint32_t)job.pair | (uint32_t)row / 2 << MVF_FULL_ROW_SHIFT |
                                    (uint32_t)job.tx << MVF_FULL_COL_SHIFT |
                                    hard << MVF_FULL_MASK_SHIFT,
                                counters->n_launches + 1};
        write_group(p.groups, at, group);
    }
}

template <bool RAGGED>
static __device__ __forceinline__ void scan_tile(const mvf_full_params &p, const tile_job &job,
                                                 tile_shared &s, const uint8_t *region, int parity)
{
    int b = thread_index() >> 5;
    if (!(*(volatile uint32_t *)&s.hard[parity] >> b & 1) && (!RAGGED || s.visible[b]))
        scan_block<RAGGED>(p, job, s, s.scale[parity].shift8, s.hint[parity][b], region,
                           (uint16_t *)(s.region[parity ^ 1] + NEAR_OFFSET), &s.hard[parity], b);
}

template <bool RAGGED>
static __device__ __forceinline__ void finish_tile(const mvf_full_params &p, const tile_job &job,
                                                   tile_shared &s, const uint8_t *region,
                                                   int parity)
{
    uint32_t hard = s.hard[parity];
    const uint16_t *near = (const uint16_t *)(s.region[parity ^ 1] + NEAR_OFFSET);
    search_lists<RAGGED>(job, s, s.scale[parity].shift4,
                         lists_of(s, near, gives_up(p, hard) ? 0 : hard), region);
}

static __device__ __forceinline__ void reset_range(sum_range *range)
{
    range->low4 = range->low8 = 0xffff;
    range->high4 = range->high8 = 0;
}

static __device__ __forceinline__ void reset_turn(tile_shared &s, int turn, int first)
{
    s.ranged = s.scaled = 0;
    s.next = THREADS / 32;
    s.n_near = 0;
    s.near_end = NEAR;
    s.hard[turn & 1] = first ? 0 : s.hard[(turn & 1) ^ 1];
}

// Results of the turn before go out where this turn's description of a block comes in.
static __device__ __forceinline__ void begin_turn(const mvf_full_params &p, tile_shared &s,
                                                  int turn, const sum_rows &sums)
{
    const tile_job &job = s.job[turn & 3], &before = s.job[(turn - 1) & 3];
    int thread = thread_index(), parity = turn & 1;
    if (thread < 16 * BLOCKS) {
        if ((thread & 15) == 0 && before.pair >= 0 && before.last)
            write_block(p, before, s, s.hard[parity ^ 1], thread >> 4);
        quantise_current(p, job, s, s.scale[parity]);
    } else if (thread == THREADS - 1) {
        reset_turn(s, turn, job.first);
        reset_range(&s.range);
    }
    __syncwarp();
    store_sums(s, s.region[parity ^ 1], sums);
}

// Before the last interval of a turn: the next window's own sums, and the window after it.
static __device__ __forceinline__ void look_ahead(const mvf_full_params &p, tile_shared &s,
                                                  int turn)
{
    const tile_job &next = s.job[(turn + 1) & 3];
    int thread = thread_index();
    if (next.pair >= 0 && thread < 16 * BLOCKS)
        current_sums(p, next, s, (turn & 1) ^ 1, s.region[(turn & 1) ^ 1]);
    else if (thread == THREADS - 1)
        set_job_after(p, &s.job[(turn + 2) & 3], next);
    __syncwarp();
}

extern "C" __global__ void __launch_bounds__(MVF_ELIMINATE_THREADS, MVF_ELIMINATE_BLOCKS)
    search_eliminate(const __grid_constant__ mvf_full_params p)
{
    DYNAMIC_SHARED(__align__(128) uint8_t, memory);
    tile_shared &s = *(tile_shared *)memory;
    sum_rows sums = {};
    let_next_kernel_start();
    if (thread_index() == THREADS - 1) {
        reset_range(&s.range);
        s.ranged = s.scaled = 0;
        s.job[2].pair = s.job[3].pair = -1;
        set_job(p, &s.job[0], blockIdx.x * p.n_windows_x * p.n_windows_y);
    }
    __syncthreads();
    int turn = -1; // it only looks ahead
    for (;; turn++) {
        const tile_job &job = s.job[turn & 3], &next = s.job[(turn + 1) & 3];
        int parity = turn & 1;
        uint8_t *region = s.region[parity], *other = s.region[parity ^ 1];
        if (turn >= 0) {
            begin_turn(p, s, turn, sums);
            __syncthreads();
            if (job.ragged)
                level1<true>(s, other);
            else
                level1<false>(s, other);
            __syncthreads();
        }
        if (next.pair >= 0)
            load_window(p, next, other, s.hint[(turn & 1) ^ 1]);
        if (turn >= 0) {
            if (job.ragged)
                scan_tile<true>(p, job, s, region, parity);
            else
                scan_tile<false>(p, job, s, region, parity);
        }
        copy_wait();
        __syncthreads();
        look_ahead(p, s, turn);
        if (turn >= 0) {
            if (job.ragged)
                finish_tile<true>(p, job, s, region, parity);
            else
                finish_tile<false>(p, job, s, region, parity);
        }
        if (next.pair < 0)
            break;
        wait_for(&s.scaled);
        window_sums(s.scale[parity ^ 1], other, sums);
        __syncthreads();
    }
    __syncthreads();
    int thread = thread_index();
    const tile_job &last = s.job[turn & 3];
    if (turn >= 0 && thread < 16 * BLOCKS && (thread & 15) == 0)
        write_block(p, last, s, s.hard[turn & 1], thread >> 4);
    __syncthreads();
    if (thread == 0)
        leave_list((mvf_full_counters *)p.counters);
}
