// Exact full search over square partitions, 8 x 8 or 4 x 4 to 64 x 64, with halves or without, from
// one pass: one thread block for each unit of 64 x 64.
//
// The reference under the unit lies in shared memory once, as the word from each sample on, so that
// no load needs a shift. A lane takes a strip of candidates below one another, and a warp takes its
// 32 strips over all 8 x 8 of a quarter of the unit, larger squares closed one by one: a row of
// reference words, loaded once, serves all candidates of the strip, and the sums of 16 and 32 add
// up in the lane's registers, those of 64 in shared memory. What is left of the strips after full
// warps is cut into shorter ones, each lane one of them, and every warp takes these over some 16
// x 16. So warps meet but when a window is there and when it has been searched. With halves strips
// are shorter still, and a warp takes its own over all of the unit, three quarters' sums of each
// size at hand.
//
// SPDX-License-Identifier: BSD-2-Clause
#include "guides.h"
#include "instructions.h"
#include "params.h"
#include "rank.h"
#include "sad.h"
#include "search/metric_rule.h"

// Above every J.
#define NO_J 0xffffffffu
#define UNIT 64
// Squares of 4 in a unit. Nodes: squares of 64 to 8; upper and lower halves of squares of 64 to 16,
// left and right ones; squares of 4; upper and lower halves of squares of 8, left and right ones.
#define N_SMALLEST 256
#define FIRST_WIDE (1 + 4 + 16 + 64)
#define FIRST_TALL (FIRST_WIDE + 2 * (1 + 4 + 16))
#define FIRST_FOUR (FIRST_TALL + 2 * (1 + 4 + 16))
#define FIRST_WIDE_EIGHT (FIRST_FOUR + 256)
#define FIRST_TALL_EIGHT (FIRST_WIDE_EIGHT + 2 * 64)
#define END_OF_NODES (FIRST_TALL_EIGHT + 2 * 64)
#define SHORT_STRIP MVF_PARTITION_SHORT_STRIP

// What differs with the samples, with how far apart rows of the window are, in words, and with what
// is asked for.
template <typename Sample, int32_t Strip, int32_t Pitch, bool Halves, int32_t Smallest>
struct layout {
    typedef Sample sample;
    static const int32_t per_word = 4 / (int32_t)sizeof(Sample);
    // Between rows of the unit, in words.
    static const int32_t current_pitch = UNIT / per_word;
    static const int32_t pitch = Pitch, strip = Strip;
    static const int32_t short_strips = (Strip + SHORT_STRIP - 1) / SHORT_STRIP;
    static const bool has_halves = Halves, has_fours = Smallest == 4;
    static const int32_t n_nodes = has_fours && Halves ? END_OF_NODES
                                   : has_fours         ? FIRST_WIDE_EIGHT
                                   : Halves            ? FIRST_FOUR
                                                       : FIRST_WIDE;
    // Whether the device has no difference of its samples, but the larger of two.
#if __CUDA_ARCH__ >= 900
    static const bool by_larger = sizeof(Sample) == 2;
#else
    static const bool by_larger = false;
#endif
};

// What a thread block works on.
struct partition_unit {
    int32_t x, y;
    // The first candidate at hand.
    int32_t first_x, first_y;
    // Whether all of it is visible; whether some candidates at hand may not count.
    int32_t is_whole, may_leave;
    // Shared memory. Of each node J above, rank below, the squares of each size in the order of Z;
    // where an 8 x 8 lies in the unit, and what it is compared with, in words.
    unsigned long long *best;
    int2 *place;
    // SADs of the short strips in each square of 32.
    uint32_t (*short_sums)[SHORT_STRIP][32];
    // Of each predictor's block the bits of a column, and then of a row.
    uint32_t *current, *window, *bits;
    // SADs of the square of 64, of each lane's strip.
    uint32_t *sums;
};

// A lane's strip: its first candidate, and the reference under the unit's corner there.
struct partition_strip {
    int32_t dx, dy;
    const uint32_t *reference;
};

// Shapes of a node of a square: itself, its upper or lower half, its left or right one.
enum { SQUARE, WIDE, TALL };

// A node's first sample.
struct partition_corner {
    int32_t x, y;
};

// The bits 0, 2, 4 and 6 of a number, together.
static __device__ int32_t even_bits(int32_t z)
{
    return (z & 1) | (z >> 1 & 2) | (z >> 2 & 4) | (z >> 3 & 8);
}

// Of the node of a square of 64 >> level that 4 x 4 number z lies in.
template <int32_t Level, int32_t Shape>
static __device__ partition_corner corner_of(const partition_unit &u, int32_t z)
{
    const int32_t size = UNIT >> Level, child = 2 * (Shape == SQUARE ? 4 - Level : 3 - Level);
    partition_corner corner = {u.x + 4 * even_bits(z & -1 << child),
                               u.y + 4 * even_bits(z >> 1 & -1 << child)};
    if (Shape == WIDE)
        corner.x &= -size;
    if (Shape == TALL)
        corner.y &= -size;
    return corner;
}

// Its number, in the order of Z among those of its size and shape.
template <int32_t Level, int32_t Shape> static __device__ int32_t node_of(int32_t z)
{
    // Squares larger than this.
    const int32_t above = (1 << 2 * Level) / 3, square = 2 * (4 - Level);
    if constexpr (Shape == SQUARE)
        return Level == 4 ? FIRST_FOUR + z : above + (z >> square);
    else if constexpr (Shape == WIDE)
        return (Level == 3 ? FIRST_WIDE_EIGHT : FIRST_WIDE + 2 * above) + (z >> (square - 1));
    else
        return (Level == 3 ? FIRST_TALL_EIGHT : FIRST_TALL + 2 * above) +
               (z >> square << 1 | (z >> (square - 2) & 1));
}

static __device__ bool has_visible(const mvf_partition_params &p, const partition_corner &corner)
{
    return corner.x < p.width && corner.y < p.height;
}

// The word from each sample on. What would lie beyond the border does not matter. A warp takes 32
// columns of some rows at a time, of which window_rows is a multiple.
template <typename Layout>
static __device__ void load_window(const mvf_partition_params &p, const partition_unit &u,
                                   uint64_t plane)
{
    const int32_t n_rows = MVF_PARTITION_WINDOW_ROWS;
    int32_t n_cols = p.panel_cols + UNIT - 1, across = (n_cols + 31) / 32;
    for (int32_t i = threadIdx.x / 32; i < p.window_rows / n_rows * across; i += blockDim.x / 32) {
        int32_t first = i / across * n_rows, col = i % across * 32 + threadIdx.x % 32;
        int32_t x = min(u.x + u.first_x + col, p.width + p.range_x), last = p.height + p.range_y;
        int32_t y = min(u.y + u.first_y + first, last);
        int32_t at = x * (int32_t)sizeof(typename Layout::sample);
        const uint8_t *from = (const uint8_t *)plane + y * p.stride_bytes + (at & ~3);
        uint32_t low[n_rows], high[n_rows];
#pragma unroll
        for (int32_t r = 0; r < n_rows; r++) {
            const uint32_t *words = (const uint32_t *)(from + (uint64_t)(uint32_t)min(r, last - y) *
                                                                  (uint32_t)p.stride_bytes);
            low[r] = words[0];
            high[r] = words[1];
        }
        uint32_t *to = u.window + first * Layout::pitch + col;
#pragma unroll
        for (int32_t r = 0; r < n_rows; r++)
            if (col < n_cols)
                to[r * Layout::pitch] = __funnelshift_r(low[r], high[r], 8 * (at & 3));
    }
}

// Four words a thread at a time; what is not visible is zero.
template <typename Layout>
static __device__ void load_current(const mvf_partition_params &p, const partition_unit &u,
                                    uint64_t plane)
{
    const int32_t row_quads = Layout::current_pitch / 4;
    int32_t visible_bytes = (p.width - u.x) * (int32_t)sizeof(typename Layout::sample);
    for (int32_t i = threadIdx.x; i < UNIT * row_quads; i += blockDim.x) {
        int32_t row = i / row_quads, quad = i % row_quads;
        uint4 words = {};
        if (u.y + row < p.height)
            words = *(const uint4 *)((const uint8_t *)plane + (u.y + row) * p.stride_bytes +
                                     u.x * (int32_t)sizeof(typename Layout::sample) + 16 * quad);
        words.x &= visible_mask(4 * quad, visible_bytes);
        words.y &= visible_mask(4 * quad + 1, visible_bytes);
        words.z &= visible_mask(4 * quad + 2, visible_bytes);
        words.w &= visible_mask(4 * quad + 3, visible_bytes);
        ((uint4 *)u.current)[i] = words;
    }
}

template <int32_t Words>
static __device__ __forceinline__ uint32_t add_samples(const uint32_t (&words)[Words], uint32_t sum)
{
#pragma unroll
    for (int32_t i = 0; i < Words; i++)
        sum = __dp2a_lo(words[i], 0x0101u, sum);
    return sum;
}

// The SADs of a square of Size for each candidate of a strip; by the larger of two samples, twice
// which less both is their difference. Sums under a candidate are differences of running ones.
template <typename Layout, int32_t Size, int32_t Strip>
static __device__ __forceinline__ void take_sads(uint32_t (&sums)[Strip], const uint32_t *current,
                                                 const uint32_t *reference)
{
    const int32_t words = Size / Layout::per_word;
    uint32_t now[Size][words], now_sum = 0, then_sum = 0;
#pragma unroll
    for (int32_t r = 0; r < Size; r++) {
        load_words(now[r], current + r * Layout::current_pitch);
        if (Layout::by_larger)
            now_sum = add_samples(now[r], now_sum);
    }
#pragma unroll
    for (int32_t r = 0; r < Strip + Size - 1; r++) {
        uint32_t then[words];
#pragma unroll
        for (int32_t i = 0; i < words; i++)
            then[i] = reference[r * Layout::pitch + i * Layout::per_word];
        if (Layout::by_larger && r < Strip)
            sums[r] = then_sum - now_sum;
        if (Layout::by_larger)
            then_sum = add_samples(then, then_sum);
#pragma unroll
        for (int32_t i = 0; i < words; i++)
#pragma unroll
            for (int32_t c = 0; c < Strip; c++)
                if (r - c >= 0 && r - c < Size)
                    sums[c] =
                        Layout::by_larger
                            ? __dp2a_lo(__vmaxu2(now[r - c][i], then[i]), 0x0202u, sums[c])
                            : sad_word<typename Layout::sample>(now[r - c][i], then[i], sums[c]);
        if (Layout::by_larger && r >= Size - 1)
            sums[r - Size + 1] -= then_sum;
    }
}

// The same on the visible samples only. Loops stay loops: such squares are few.
template <typename Layout, int32_t Strip>
static __device__ __forceinline__ void
take_visible_sads(uint32_t (&sums)[Strip], const uint32_t *current, const uint32_t *reference,
                  int32_t visible_bytes, int32_t visible_rows)
{
    const int32_t pitch = Layout::pitch;
#pragma unroll 1
    for (int32_t r = 0; r < visible_rows; r++)
#pragma unroll 1
        for (int32_t i = 0; 4 * i < visible_bytes; i++) {
            uint32_t mask = visible_mask(i, visible_bytes),
                     now = current[r * Layout::current_pitch + i];
            const uint32_t *then = reference + r * pitch + i * Layout::per_word;
#pragma unroll
            for (int32_t c = 0; c < Strip; c++)
                sums[c] = sad_word<typename Layout::sample>(now, then[c * pitch] & mask, sums[c]);
        }
}

// Each J of a strip, of its SADs in the square that 4 x 4 number z lies in.
template <int32_t Strip>
static __device__ __forceinline__ void
rate_strip(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
           int32_t z, uint32_t (&sums)[Strip])
{
    int32_t dx = known_here(strip.dx), dy = known_here(strip.dy);
    const uint32_t *bits = u.bits + (z >> p.guide_shift) * p.guide_words + p.range_x;
    uint32_t bits_x = bits[dx];
    bits += p.range_x + 1 + p.range_y + dy;
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        sums[c] += (uint32_t)((uint64_t)p.rate.lambda_q4 * (bits_x + bits[c]) >> 4);
}

// NO_J for the candidates of a strip that do not count for a node.
template <int32_t Level, int32_t Shape, int32_t Strip>
static __device__ __forceinline__ void
leave_out(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
          int32_t z, uint32_t (&sums)[Strip])
{
    const int32_t size = UNIT >> Level, size_x = Shape == TALL ? size / 2 : size,
                  size_y = Shape == WIDE ? size / 2 : size;
    partition_corner corner = corner_of<Level, Shape>(u, z);
    mvf_window w = mvf_rule_window(corner.x, corner.y, mvf_rule_visible(corner.x, size_x, p.width),
                                   mvf_rule_visible(corner.y, size_y, p.height), p.width, p.height,
                                   p.range_x, p.range_y, p.inside);
    int32_t dx = known_here(strip.dx), dy = known_here(strip.dy);
    bool column = dx >= w.x_min && dx <= w.x_max;
    int32_t first = w.y_min - dy, last = column ? w.y_max - dy : -1;
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        if (c < first || c > last)
            sums[c] = NO_J;
}

// The first by rank of some candidates of a column, bits of `places` from row dy on.
static __device__ __forceinline__ uint32_t first_key(uint32_t places, int32_t dx, int32_t dy)
{
    uint32_t above = places & ((1u << min(max(1 - dy, 0), 31)) - 1), below = places ^ above;
    uint32_t up = rank_key(dx, dy + 31 - __clz((int32_t)above)),
             down = rank_key(dx, dy + __ffs((int32_t)below) - 1);
    return min(above ? up : NO_KEY, below ? down : NO_KEY);
}

template <int32_t Strip>
static __device__ __forceinline__ void copy(uint32_t (&to)[Strip], const uint32_t (&from)[Strip])
{
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        to[c] = from[c];
}

// The least of a lane's SADs.
template <int32_t Strip>
static __device__ __forceinline__ uint32_t least_of(const uint32_t (&sums)[Strip])
{
    uint32_t least = NO_J;
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        least = min(least, sums[c]);
    return least;
}

// The warp's best candidate of the node of a square of 64 >> level that 4 x 4 number z lies in to
// the node's best, if it may be as good.
template <int32_t Level, int32_t Shape, int32_t Strip>
static __device__ __forceinline__ void
keep_best(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
          int32_t z, const uint32_t (&sads)[Strip])
{
    uint32_t sums[Strip];
    copy(sums, sads);
    if (p.rate.lambda_q4)
        rate_strip(p, u, strip, z, sums);
    if (u.may_leave)
        leave_out<Level, Shape>(p, u, strip, z, sums);
    uint32_t least = least_of(sums);
    unsigned long long *best = &u.best[node_of<Level, Shape>(z)];
    if (!__any_sync(ALL_LANES, least <= ((const volatile uint32_t *)best)[1]))
        return;
    least = warp_min(least);
    uint32_t places = 0;
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        places += (1u << c) - __viaddmin_u32(sums[c], 0 - least, 1) * (1u << c);
    uint32_t key = warp_min(first_key(places, known_here(strip.dx), known_here(strip.dy)));
    if (threadIdx.x % 32 == 0)
        atomicMin(best, (unsigned long long)least << 32 | key);
}

template <int32_t Strip> static __device__ __forceinline__ void clear(uint32_t (&sums)[Strip])
{
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        sums[c] = 0;
}

// A square's SADs to those of the next larger one.
template <int32_t Strip>
static __device__ __forceinline__ void add(uint32_t (&sums_above)[Strip],
                                           const uint32_t (&sums)[Strip])
{
#pragma unroll
    for (int32_t c = 0; c < Strip; c++)
        sums_above[c] = (uint32_t)known_here((int32_t)(sums_above[c] + sums[c]));
}

// Visible samples of the square of 64 >> level that 4 x 4 number z lies in.
template <int32_t Level>
static __device__ int2 visible_of(const mvf_partition_params &p, const partition_unit &u, int32_t z)
{
    const int32_t size = UNIT >> Level;
    partition_corner corner = corner_of<Level, SQUARE>(u, z);
    return make_int2(max(min(p.width - corner.x, size), 0), max(min(p.height - corner.y, size), 0));
}

// Keeps the best of a node, if it is asked for.
template <int32_t Level, int32_t Shape, int32_t Strip>
static __device__ __forceinline__ void
end_node(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
         int32_t z, const uint32_t (&sums)[Strip])
{
    if (p.first_match[Shape][Level] >= 0 &&
        (u.is_whole || has_visible(p, corner_of<Level, Shape>(u, z))))
        keep_best<Level, Shape>(p, u, strip, z, sums);
}

// The SADs of a square of 8 or 4 of the unit, as far as it is visible, of which the best is kept.
template <typename Layout, int32_t Level, int32_t Strip>
static __device__ __forceinline__ void
take_square(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
            int32_t z, const uint32_t *current, const uint32_t *reference, uint32_t (&sums)[Strip])
{
    const int32_t size = UNIT >> Level, bytes = (int32_t)sizeof(typename Layout::sample);
    int2 visible = make_int2(size, size);
    if (!u.is_whole)
        visible = visible_of<Level>(p, u, z);
    if (visible.x * visible.y == size * size)
        take_sads<Layout, size>(sums, current, reference);
    else if (visible.x * visible.y)
        take_visible_sads<Layout>(sums, current, reference, visible.x * bytes, visible.y);
    else
        return;
    if (p.first_match[SQUARE][Level] >= 0)
        keep_best<Level, SQUARE>(p, u, strip, z, sums);
}

// SADs of the first, second and third quarter of a square, and then of what halves they make.
template <int32_t Strip> struct partition_quarters {
    uint32_t first[Strip], second[Strip], third[Strip];
};

// Quarter number i of a square of 64 >> level, which 4 x 4 number z lies in. With the fourth, true,
// and the square's SADs for the quarter's.
template <int32_t Level, int32_t Strip>
static __device__ __forceinline__ bool
add_quarter(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
            int32_t i, int32_t z, partition_quarters<Strip> &q, uint32_t (&sums)[Strip])
{
    if (i == 0)
        copy(q.first, sums);
    if (i == 1) {
        copy(q.second, sums);
        add(sums, q.first);
        end_node<Level, WIDE>(p, u, strip, z, sums);
    }
    if (i == 2) {
        copy(q.third, sums);
        add(q.first, sums);
        end_node<Level, TALL>(p, u, strip, z, q.first);
    }
    if (i < 3)
        return false;
    add(q.second, sums);
    end_node<Level, TALL>(p, u, strip, z, q.second);
    add(q.third, sums);
    end_node<Level, WIDE>(p, u, strip, z, q.third);
    copy(sums, q.first);
    add(sums, q.second);
    end_node<Level, SQUARE>(p, u, strip, z, sums);
    return true;
}

// The four squares of 4 in an 8 x 8, and what they make.
template <typename Layout, int32_t Strip>
static __device__ __forceinline__ void
search_4s(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
          int32_t z, const uint32_t *current, const uint32_t *reference, uint32_t (&sums)[Strip])
{
    partition_quarters<Strip> q;
#pragma unroll 1
    for (int32_t i = 0; i < 4; i++) {
        int32_t row = 4 * (i >> 1), col = 4 * (i & 1);
        uint32_t sums_4[Strip] = {};
        take_square<Layout, 4>(p, u, strip, z + i,
                               current + row * Layout::current_pitch + col / Layout::per_word,
                               reference + row * Layout::pitch + col, sums_4);
        if constexpr (!Layout::has_halves)
            add(sums, sums_4);
        else if (add_quarter<3>(p, u, strip, i, z + i, q, sums_4))
            copy(sums, sums_4);
    }
    if constexpr (!Layout::has_halves)
        end_node<3, SQUARE>(p, u, strip, z, sums);
}

// The SADs of the 8 x 8 that begins with 4 x 4 number z, of which the best is kept.
template <typename Layout, int32_t Strip>
static __device__ __forceinline__ void
search_8(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
         int32_t z, uint32_t (&sums)[Strip])
{
    int2 place = u.place[z >> 2];
    const uint32_t *current = u.current + place.x, *reference = strip.reference + place.y;
    if constexpr (Layout::has_fours) {
        search_4s<Layout>(p, u, strip, z, current, reference, sums);
    } else {
        take_square<Layout, 3>(p, u, strip, z, current, reference, sums);
    }
}

// n 8 x 8 of the unit, 4 or 16 of one square, and what squares they fill: number turn / 4 and those
// whose numbers differ in lower bits. The SADs of those of 16, together, are left.
template <typename Layout, int32_t Strip>
static __device__ __forceinline__ void
search_part(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip,
            int32_t turn, int32_t n, uint32_t (&sums_32)[Strip])
{
    uint32_t sums_16[Strip] = {};
#pragma unroll 1
    for (int32_t i = 0; i < n; i++) {
        int32_t z = 4 * i ^ turn;
        uint32_t sums[Strip] = {};
        search_8<Layout>(p, u, strip, z, sums);
        add(sums_16, sums);
        if ((i & 3) != 3)
            continue;
        add(sums_32, sums_16);
        end_node<2, SQUARE>(p, u, strip, z, sums_16);
        clear(sums_16);
    }
}

// search_part() of all the unit, with halves. The second quarter lies beside the first, above or
// below the fourth.
template <typename Layout, int32_t Strip>
static __device__ __forceinline__ void
search_halves(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip)
{
    partition_quarters<Strip> q_16, q_32, q_64;
    int32_t warp = threadIdx.x / 32, turn = (warp & 3) << 6 | (warp & 4) << 2;
#pragma unroll 1
    for (int32_t i = 0; i < N_SMALLEST / 4; i++) {
        int32_t z = 4 * i ^ turn;
        uint32_t sums[Strip] = {};
        search_8<Layout>(p, u, strip, z, sums);
        if (add_quarter<2>(p, u, strip, i & 3, z, q_16, sums) &&
            add_quarter<1>(p, u, strip, i >> 2 & 3, z, q_32, sums))
            add_quarter<0>(p, u, strip, i >> 4, z, q_64, sums);
    }
}

// Strips lie side by side in rows of them; the last row's reach up into the one before.
template <typename Layout>
static __device__ partition_strip strip_at(const mvf_partition_params &p, const partition_unit &u,
                                           int32_t index, int32_t down)
{
    int32_t col = index % p.panel_cols, first = index / p.panel_cols * Layout::strip;
    int32_t row = max(min(first, p.panel_rows - Layout::strip), 0) + down;
    return {u.first_x + col, u.first_y + row, u.window + row * Layout::pitch + col};
}

// Strips that fill no warp, as short ones: each warp takes some 16 x 16 of the unit.
template <typename Layout>
static __device__ __forceinline__ void
search_short(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip)
{
    for (int32_t i = threadIdx.x / 32; i < N_SMALLEST / 16; i += blockDim.x / 32) {
        uint32_t sums_32[SHORT_STRIP] = {};
        search_part<Layout>(p, u, strip, 16 * i, 4, sums_32);
#pragma unroll
        for (int32_t c = 0; c < SHORT_STRIP; c++)
            atomicAdd(&u.short_sums[i / 4][c][threadIdx.x % 32], sums_32[c]);
    }
}

// The squares of 32 and 64 of what search_short() took, all warps of which are done.
static __device__ __forceinline__ void
end_short(const mvf_partition_params &p, const partition_unit &u, const partition_strip &strip)
{
    int32_t lane = threadIdx.x % 32;
    for (int32_t i = threadIdx.x / 32; i < 5; i += blockDim.x / 32) {
        uint32_t sums[SHORT_STRIP];
#pragma unroll
        for (int32_t c = 0; c < SHORT_STRIP; c++)
            sums[c] = i < 4 ? u.short_sums[i][c][lane]
                            : u.short_sums[0][c][lane] + u.short_sums[1][c][lane] +
                                  u.short_sums[2][c][lane] + u.short_sums[3][c][lane];
        if (i < 4)
            end_node<1, SQUARE>(p, u, strip, 64 * i, sums);
        else
            end_node<0, SQUARE>(p, u, strip, 0, sums);
    }
}

// The strip of this lane among a whole warp's. Lanes that have none take another one's again.
template <typename Layout>
static __device__ partition_strip full_strip(const mvf_partition_params &p, const partition_unit &u,
                                             int32_t n_strips, int32_t group)
{
    return strip_at<Layout>(p, u, min(32 * group + (int32_t)threadIdx.x % 32, n_strips - 1), 0);
}

// A warp's strips over the squares of 32, of which the warps that take the same strips begin with
// others.
template <typename Layout>
static __device__ __forceinline__ void search_full(const mvf_partition_params &p,
                                                   const partition_unit &u, int32_t n_strips,
                                                   int32_t n_groups)
{
    for (int32_t i = threadIdx.x / 32; i < 4 * n_groups; i += blockDim.x / 32) {
        int32_t group = i % n_groups, z = 64 * ((i / n_groups + group) & 3) + 4 * (group & 4);
        partition_strip strip = full_strip<Layout>(p, u, n_strips, group);
        uint32_t sums[Layout::strip] = {};
        search_part<Layout>(p, u, strip, z, 16, sums);
#pragma unroll
        for (int32_t c = 0; c < Layout::strip; c++)
            atomicAdd(&u.sums[(group * Layout::strip + c) * 32 + threadIdx.x % 32], sums[c]);
        end_node<1, SQUARE>(p, u, strip, z, sums);
    }
}

// The square of 64 of what search_full() took, all warps of which are done.
template <typename Layout>
static __device__ __forceinline__ void
end_full(const mvf_partition_params &p, const partition_unit &u, int32_t n_strips, int32_t n_groups)
{
    for (int32_t i = threadIdx.x / 32; i < n_groups; i += blockDim.x / 32) {
        uint32_t sums[Layout::strip];
#pragma unroll
        for (int32_t c = 0; c < Layout::strip; c++)
            sums[c] = u.sums[(i * Layout::strip + c) * 32 + threadIdx.x % 32];
        end_node<0, SQUARE>(p, u, full_strip<Layout>(p, u, n_strips, i), 0, sums);
    }
}

// The strip of this lane among those left over. Lanes that have none take another one's again.
template <typename Layout>
static __device__ partition_strip short_strip(const mvf_partition_params &p,
                                              const partition_unit &u, int32_t n_strips,
                                              int32_t left)
{
    const int32_t n = Layout::short_strips;
    int32_t lane = threadIdx.x % 32, down = lane % n * SHORT_STRIP;
    return strip_at<Layout>(p, u, n_strips - left + min(lane / n, left - 1),
                            min(down, Layout::strip - SHORT_STRIP));
}

template <typename Layout>
static __device__ void search_panel(const mvf_partition_params &p, const partition_unit &u)
{
    int32_t n_strips = (p.panel_rows + Layout::strip - 1) / Layout::strip * p.panel_cols;
    int32_t left = n_strips % 32;
    bool is_short = left && left * Layout::short_strips <= 32;
    int32_t n_groups = is_short ? n_strips / 32 : (n_strips + 31) / 32;
    if (is_short)
        search_short<Layout>(p, u, short_strip<Layout>(p, u, n_strips, left));
    search_full<Layout>(p, u, n_strips, n_groups);
    __syncthreads();
    end_full<Layout>(p, u, n_strips, n_groups);
    if (is_short)
        end_short(p, u, short_strip<Layout>(p, u, n_strips, left));
}

template <typename Layout>
static __device__ void search_panel_halves(const mvf_partition_params &p, const partition_unit &u)
{
    int32_t n_strips = (p.panel_rows + Layout::strip - 1) / Layout::strip * p.panel_cols;
    for (int32_t i = threadIdx.x / 32; 32 * i < n_strips; i += blockDim.x / 32)
        search_halves<Layout, Layout::strip>(p, u, full_strip<Layout>(p, u, n_strips, i));
}

// Tables of the rate, of each block with a predictor of its own: by column, and by row with as much
// behind it as strips reach beyond the range.
static __device__ void fill_bits(const mvf_partition_params &p, const partition_unit &u,
                                 const mvf_search_pair &pair)
{
    int32_t cols = 2 * p.range_x + 1, n = N_SMALLEST >> p.guide_shift;
    int32_t size = 4 << p.guide_shift / 2, guide_cols = (p.width + size - 1) / size;
    for (int32_t i = threadIdx.x; i < n * p.guide_words; i += blockDim.x) {
        int32_t guide = i / p.guide_words, at = i - guide * p.guide_words;
        partition_corner corner = corner_of<4, SQUARE>(u, guide << p.guide_shift);
        if (!has_visible(p, corner))
            continue;
        mvf_guide_vector from = predictor_of(pair, corner.y / size * guide_cols + corner.x / size);
        int32_t mv =
            at < cols ? 4 * (at - p.range_x) - from.x : 4 * (at - cols - p.range_y) - from.y;
        u.bits[i] = mvf_rule_bits(&p.rate, mv);
    }
}

// Of a match's vector, times lambda.
static __device__ uint32_t rate_of(const mvf_partition_params &p, const partition_unit &u,
                                   int32_t z, int32_t dx, int32_t dy)
{
    const uint32_t *bits = u.bits + (z >> p.guide_shift) * p.guide_words + p.range_x;
    if (!p.rate.lambda_q4)
        return 0;
    return (uint32_t)((uint64_t)p.rate.lambda_q4 *
                          (bits[dx] + bits[p.range_x + 1 + p.range_y + dy]) >>
                      4);
}

// Writes the matches of the nodes of one size and shape.
template <int32_t Level, int32_t Shape>
static __device__ void store_level(const mvf_partition_params &p, const partition_unit &u,
                                   const mvf_search_pair &pair)
{
    const int32_t size = UNIT >> Level, square = 2 * (4 - Level),
                  child = Shape == SQUARE ? square : square - 2;
    if (p.first_match[Shape][Level] < 0)
        return;
    for (int32_t i = threadIdx.x; i < N_SMALLEST >> child; i += blockDim.x) {
        int32_t z = i << child;
        partition_corner corner = corner_of<Level, Shape>(u, z);
        if ((Shape == WIDE && i % 2) || (Shape == TALL && i & 2) || !has_visible(p, corner))
            continue;
        unsigned long long best = u.best[node_of<Level, Shape>(z)];
        uint32_t key = (uint32_t)best;
        int32_t dx = rank_x(key), dy = rank_y(key);
        uint32_t cost = (uint32_t)(best >> 32) - rate_of(p, u, z, dx, dy);
        int32_t col = corner.x / (Shape == TALL ? size / 2 : size),
                row = corner.y / (Shape == WIDE ? size / 2 : size);
        int32_t index = p.first_match[Shape][Level] + row * p.level_cols[Shape][Level] + col;
        uint32_t vector = (uint32_t)(uint16_t)dx | (uint32_t)dy << 16;
        ((uint2 *)pair.matches)[index] = make_uint2(vector, cost);
    }
}

template <int32_t Level>
static __device__ void store_halves(const mvf_partition_params &p, const partition_unit &u,
                                    const mvf_search_pair &pair)
{
    store_level<Level, WIDE>(p, u, pair);
    store_level<Level, TALL>(p, u, pair);
}

// Whether some vector takes some square of the unit out of the frame.
static __device__ bool may_leave(const mvf_partition_params &p, const partition_unit &u)
{
    return u.x < p.range_x || u.y < p.range_y || u.x + UNIT + p.range_x > p.width ||
           u.y + UNIT + p.range_y > p.height;
}

template <typename Layout> static __device__ void search(const mvf_partition_params &p)
{
    DYNAMIC_SHARED(uint4, partition_memory);
    __shared__ unsigned long long best[Layout::n_nodes];
    __shared__ int2 place[N_SMALLEST / 4];
    __shared__ uint32_t short_sums[4][SHORT_STRIP][32];
    const int32_t strip = Layout::strip;
    const mvf_search_pair &pair = p.pairs[blockIdx.y];
    partition_unit u;
    u.x = blockIdx.x % p.cols * UNIT;
    u.y = blockIdx.x / p.cols * UNIT;
    u.is_whole = u.x + UNIT <= p.width && u.y + UNIT <= p.height;
    u.may_leave = (p.inside && may_leave(p, u)) || p.panel_rows < strip;
    u.best = best;
    u.place = place;
    u.short_sums = short_sums;
    u.current = (uint32_t *)partition_memory;
    u.window = u.current + UNIT * Layout::current_pitch;
    u.sums = u.window + p.window_rows * Layout::pitch;
    u.bits = u.sums + p.sums_words;
    if (p.rate.lambda_q4)
        fill_bits(p, u, pair);
    for (int32_t i = threadIdx.x; i < Layout::n_nodes; i += blockDim.x)
        best[i] = ~0ull;
    for (int32_t i = threadIdx.x; i < N_SMALLEST / 4; i += blockDim.x) {
        int32_t col = 8 * even_bits(i), row = 8 * even_bits(i >> 1);
        place[i] = make_int2(row * Layout::current_pitch + col / Layout::per_word,
                             row * Layout::pitch + col);
    }
    load_current<Layout>(p, u, pair.current);
    // The last panels reach into those before them, so that all are of one size.
    for (int32_t y = 0; y <= 2 * p.range_y; y += p.panel_rows)
        for (int32_t x = 0; x <= 2 * p.range_x; x += p.panel_cols) {
            u.first_x = min(x, 2 * p.range_x + 1 - p.panel_cols) - p.range_x;
            u.first_y = min(y, 2 * p.range_y + 1 - p.panel_rows) - p.range_y;
            __syncthreads();
            load_window<Layout>(p, u, pair.reference);
            for (int32_t i = threadIdx.x; i < 4 * SHORT_STRIP * 32; i += blockDim.x)
                (&short_sums[0][0][0])[i] = 0;
            for (int32_t i = threadIdx.x; i < p.sums_words; i += blockDim.x)
                u.sums[i] = 0;
            __syncthreads();
            if constexpr (Layout::has_halves)
                search_panel_halves<Layout>(p, u);
            else
                search_panel<Layout>(p, u);
        }
    __syncthreads();
    store_level<0, SQUARE>(p, u, pair);
    store_level<1, SQUARE>(p, u, pair);
    store_level<2, SQUARE>(p, u, pair);
    store_level<3, SQUARE>(p, u, pair);
    if constexpr (Layout::has_fours)
        store_level<4, SQUARE>(p, u, pair);
    if constexpr (Layout::has_halves) {
        store_halves<0>(p, u, pair);
        store_halves<1>(p, u, pair);
        store_halves<2>(p, u, pair);
        if constexpr (Layout::has_fours)
            store_halves<3>(p, u, pair);
    }
}

extern "C" __global__ void __launch_bounds__(MVF_PARTITION_FAR_THREADS, MVF_PARTITION_FAR_BLOCKS)
    partition_8(const __grid_constant__ mvf_partition_params params)
{
    search<layout<uint8_t, MVF_PARTITION_FAR_STRIP, MVF_PARTITION_FAR_PITCH, false, 8>>(params);
}

extern "C" __global__ void __launch_bounds__(MVF_PARTITION_NEAR_THREADS, MVF_PARTITION_NEAR_BLOCKS)
    partition_8_near(const __grid_constant__ mvf_partition_params params)
{
    search<layout<uint8_t, MVF_PARTITION_NEAR_STRIP, MVF_PARTITION_NEAR_PITCH, false, 8>>(params);
}

extern "C" __global__ void __launch_bounds__(MVF_PARTITION_16_THREADS, MVF_PARTITION_16_BLOCKS)
    partition_16(const __grid_constant__ mvf_partition_params params)
{
    search<layout<uint16_t, MVF_PARTITION_16_STRIP, MVF_PARTITION_16_PITCH, false, 8>>(params);
}

#define FOURS(name, sample)                                                                     \
    extern "C" __global__ void __launch_bounds__(MVF_PARTITION_FOURS_THREADS,                   \
                                                 MVF_PARTITION_FOURS_BLOCKS)                    \
        name(const __grid_constant__ mvf_partition_params params)                               \
    {                                                                                           \
        search<layout<sample, MVF_PARTITION_FOURS_STRIP, MVF_PARTITION_FOURS_PITCH, false, 4>>( \
            params);                                                                            \
    }

FOURS(partition_8_fours, uint8_t)
FOURS(partition_16_fours, uint16_t)

#define HALVES(name, sample, smallest)                                                      \
    extern "C" __global__ void __launch_bounds__(MVF_PARTITION_HALVES_THREADS,              \
                                                 MVF_PARTITION_HALVES_BLOCKS)               \
        name(const __grid_constant__ mvf_partition_params params)                           \
    {                                                                                       \
        search<layout<sample, MVF_PARTITION_HALVES_STRIP, MVF_PARTITION_HALVES_PITCH, true, \
                      smallest>>(params);                                                   \
    }

HALVES(partition_8_halves, uint8_t, 8)
HALVES(partition_16_halves, uint16_t, 8)
HALVES(partition_8_halves_fours, uint8_t, 4)
HALVES(partition_16_halves_fours, uint16_t, 4)
