/*
 * search/bounds_template.h - the bounds of groups for one instruction level of x86-64.
 *
 * Whoever includes this sets FN(name), ALWAYS, and for `lanes`, MVF_GROUP numbers of 16 bits:
 *     lanes_set(v)                  v in each
 *     lanes_distance(p, s)          |numbers at p - s|
 *     lanes_from(p, s)              numbers at p - s, modulo 2^16
 *     lanes_add(a, b)               sums, at most 65535
 *     lanes_within(a, limit)        a mask of those that are, unsigned, at most the limit
 * and for lists of groups:
 *     drop_empty(groups, n)         drops groups with nothing left; returns how many stay
 *     append_column(masks, ny, x, groups, n)
 *                                   adds those of a column whose mask is not 0 to n groups
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Windows walk down rows that are pages apart, where no hardware prefetcher follows. In bytes. */
#define AHEAD 256

/* Up to this many, the count of cells is a constant and their sums stay in registers. */
#define MAX_CONSTANT_CELLS 16

/* The block's cells: their sums, and their planes of sums at the window's first candidate. Copies,
 * since the compiler cannot know that masks are not stored over the originals. */
typedef struct cells {
    lanes *sums;
    const uint8_t **at;
    int32_t count;
} cells;

ALWAYS lanes bound_of(const cells *c, int32_t n_cells, ptrdiff_t place)
{
    lanes bound = lanes_distance(c->at[0] + place, c->sums[0]);
    if (n_cells <= MAX_CONSTANT_CELLS) {
#pragma GCC unroll 16
        for (int32_t i = 1; i < n_cells; i++)
            bound = lanes_add(bound, lanes_distance(c->at[i] + place, c->sums[i]));
        return bound;
    }
    for (int32_t i = 1; i < c->count; i++)
        bound = lanes_add(bound, lanes_distance(c->at[i] + place, c->sums[i]));
    return bound;
}

ALWAYS void load_cells(const mvf_bound *b, int32_t n_cells, cells *c)
{
    c->count = b->count;
    if (n_cells <= MAX_CONSTANT_CELLS) {
#pragma GCC unroll 16
        for (int32_t i = 0; i < n_cells; i++) {
            c->sums[i] = lanes_set(b->sum[i]);
            c->at[i] = b->sums + b->offset[i];
        }
        return;
    }
    for (int32_t i = 0; i < b->count; i++) {
        c->sums[i] = lanes_set(b->sum[i]);
        c->at[i] = b->sums + b->offset[i];
    }
}

ALWAYS lanes limit_of(const mvf_bound *b)
{
    return lanes_set((uint16_t)(b->limit < UINT16_MAX ? b->limit : UINT16_MAX));
}

static inline uint32_t columns_left(int32_t nx)
{
    return nx < MVF_GROUP ? (1u << nx) - 1 : UINT32_MAX;
}

/* Places in the window are y << 16 | x. */
static inline ptrdiff_t sums_at(uint32_t at, ptrdiff_t stride_bytes)
{
    return (ptrdiff_t)(at >> 16) * stride_bytes + 2 * (ptrdiff_t)(at & 0xffff);
}

/* The last column of a window that is 32k + 1 wide, as most are. */
static void column_alone(const mvf_bound *b, ptrdiff_t stride_bytes, int32_t x, int32_t ny,
                         uint32_t limit, uint32_t *masks)
{
    const uint8_t *sums = b->sums + b->offset[0] + 2 * (ptrdiff_t)x;
    uint16_t low = (uint16_t)(b->sum[0] - limit);
    for (int32_t y = 0; y < ny; y++, sums += stride_bytes)
        masks[y] = (uint16_t)(*(const uint16_t *)sums - low) <= 2 * limit;
}

/* One cell: its sum must lie in a range. */
static int32_t FN(window_1)(const mvf_bound *b, ptrdiff_t stride_bytes, int32_t nx, int32_t ny,
                            const mvf_groups *groups, uint32_t *room)
{
    uint32_t limit = b->limit < INT16_MAX ? b->limit : INT16_MAX;
    lanes low = lanes_set((uint16_t)(b->sum[0] - limit)), width = lanes_set((uint16_t)(2 * limit));
    int32_t n = 0;
    for (int32_t x = 0; x < nx; x += MVF_GROUP) {
        const uint8_t *sums = b->sums + b->offset[0] + 2 * (ptrdiff_t)x;
        uint32_t columns = columns_left(nx - x);
        if (columns == 1)
            column_alone(b, stride_bytes, x, ny, limit, room);
        for (int32_t y = 0; y < ny && columns > 1; y++, sums += stride_bytes) {
            __builtin_prefetch(sums + AHEAD);
            room[y] = lanes_within(lanes_from(sums, low), width) & columns;
        }
        n = append_column(room, ny, x, groups, n);
    }
    return n;
}

ALWAYS int32_t window_of(const mvf_bound *b, cells *c, int32_t n_cells, ptrdiff_t stride_bytes,
                         int32_t nx, int32_t ny, const mvf_groups *groups, uint32_t *room)
{
    lanes limit = limit_of(b);
    int32_t n = 0;
    load_cells(b, n_cells, c);
    for (int32_t x = 0; x < nx; x += MVF_GROUP) {
        uint32_t columns = columns_left(nx - x);
        ptrdiff_t place = 2 * (ptrdiff_t)x;
        for (int32_t y = 0; y < ny; y++, place += stride_bytes) {
            __builtin_prefetch(c->at[0] + place + AHEAD);
            room[y] = lanes_within(bound_of(c, n_cells, place), limit) & columns;
        }
        n = append_column(room, ny, x, groups, n);
    }
    return n;
}

ALWAYS void groups_of(const mvf_bound *b, cells *c, int32_t n_cells, ptrdiff_t stride_bytes,
                      const mvf_groups *groups, int32_t n)
{
    const uint32_t *at = groups->at;
    uint32_t *mask = groups->mask;
    int32_t least = b->least, most = b->most, tests_all = least <= 1 && most >= MVF_GROUP;
    lanes limit = limit_of(b);
    load_cells(b, n_cells, c);
    for (int32_t i = 0; i < n; i++) {
        if (!tests_all) {
            int32_t size = __builtin_popcount(mask[i]);
            if (size < least || size > most)
                continue;
        }
        ptrdiff_t place = sums_at(at[i], stride_bytes);
        __builtin_prefetch(c->at[0] + place + AHEAD);
        __builtin_prefetch(c->at[n_cells <= MAX_CONSTANT_CELLS ? n_cells - 1 : 0] + place + AHEAD);
        mask[i] &= lanes_within(bound_of(c, n_cells, place), limit);
    }
}

/* Of their own, lest the compiler joins the counts to one loop again. */
#define COUNT(n_cells)                                                                   \
    static __attribute__((noinline)) int32_t FN(window_##n_cells)(                       \
        const mvf_bound *b, ptrdiff_t stride_bytes, int32_t nx, int32_t ny,              \
        const mvf_groups *groups, uint32_t *room)                                        \
    {                                                                                    \
        lanes sums[n_cells];                                                             \
        const uint8_t *at[n_cells];                                                      \
        cells c = {sums, at, 0};                                                         \
        return window_of(b, &c, n_cells, stride_bytes, nx, ny, groups, room);            \
    }                                                                                    \
                                                                                         \
    static __attribute__((noinline)) void FN(groups_##n_cells)(                          \
        const mvf_bound *b, ptrdiff_t stride_bytes, const mvf_groups *groups, int32_t n) \
    {                                                                                    \
        lanes sums[n_cells];                                                             \
        const uint8_t *at[n_cells];                                                      \
        cells c = {sums, at, 0};                                                         \
        groups_of(b, &c, n_cells, stride_bytes, groups, n);                              \
    }

COUNT(2)
COUNT(4)
COUNT(8)
COUNT(16)
COUNT(256)
#undef COUNT

static int32_t FN(bound_window)(const mvf_bound *b, ptrdiff_t stride_bytes, int32_t nx, int32_t ny,
                                const mvf_groups *groups, uint32_t *room)
{
    switch (b->count) {
    case 1:
        return FN(window_1)(b, stride_bytes, nx, ny, groups, room);
    case 2:
        return FN(window_2)(b, stride_bytes, nx, ny, groups, room);
    case 4:
        return FN(window_4)(b, stride_bytes, nx, ny, groups, room);
    case 8:
        return FN(window_8)(b, stride_bytes, nx, ny, groups, room);
    case 16:
        return FN(window_16)(b, stride_bytes, nx, ny, groups, room);
    default:
        return FN(window_256)(b, stride_bytes, nx, ny, groups, room);
    }
}

static int32_t FN(bound_groups)(const mvf_bound *b, ptrdiff_t stride_bytes,
                                const mvf_groups *groups, int32_t n)
{
    switch (b->count) {
    case 2:
        FN(groups_2)(b, stride_bytes, groups, n);
        break;
    case 4:
        FN(groups_4)(b, stride_bytes, groups, n);
        break;
    case 8:
        FN(groups_8)(b, stride_bytes, groups, n);
        break;
    case 16:
        FN(groups_16)(b, stride_bytes, groups, n);
        break;
    default:
        FN(groups_256)(b, stride_bytes, groups, n);
        break;
    }
    return drop_empty(groups, n);
}

static int32_t FN(count_candidates)(const uint32_t *masks, int32_t n)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += __builtin_popcount(masks[i]);
    return count;
}
