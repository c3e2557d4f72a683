/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"
#include "search/loads_avx512.h"

#define ALWAYS static inline __attribute__((always_inline))

/* 32 neighbouring sums of cell x 1 samples. */
ALWAYS __m512i sums_of_4(const uint8_t *p)
{
    const __m512i order = _mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4);
    __m512i fours = _mm512_permutexvar_epi64(order, _mm512_maskz_loadu_epi64(0x1f, p));
    return _mm512_dbsad_epu8(_mm512_setzero_si512(), fours, 0x94);
}

ALWAYS __m512i sums_of_2(const uint8_t *p)
{
    return _mm512_add_epi16(widen(p), widen(p + 1));
}

/* Sorted into the lanes of a tile: the first half of each with cells of 4, else of every other. */
ALWAYS __m256i sort_means(__m512i means, int32_t cell)
{
    const __m256i fours = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i twos = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    __m256i bytes = _mm512_cvtepi16_epi8(means);
    if (cell == 4)
        return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(bytes, fours),
                                           _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bytes, twos), 0xd8);
}

/* Rows are read in columns, which no hardware prefetcher follows. In bytes. */
#define NEXT_TILES 128

static void half_tile_4(const uint8_t *p, ptrdiff_t stride, int32_t n_rows, __m256i *out)
{
    __m512i a = sums_of_4(p), b = sums_of_4(p + stride), c = sums_of_4(p + 2 * stride);
    __m512i ab = _mm512_add_epi16(a, b), bc = _mm512_add_epi16(b, c);
    p += 3 * stride;
    for (int32_t y = 0; y < n_rows; y++, p += stride) {
        __builtin_prefetch(p + NEXT_TILES);
        __m512i d = sums_of_4(p), cd = _mm512_add_epi16(c, d);
        out[y] = sort_means(_mm512_srli_epi16(_mm512_add_epi16(ab, cd), 4), 4);
        ab = bc;
        bc = cd;
        c = d;
    }
}

static void half_tile_2(const uint8_t *p, ptrdiff_t stride, int32_t n_rows, __m256i *out)
{
    __m512i a = sums_of_2(p);
    p += stride;
    for (int32_t y = 0; y < n_rows; y++, p += stride) {
        __builtin_prefetch(p + NEXT_TILES);
        __m512i b = sums_of_2(p);
        out[y] = sort_means(_mm512_srli_epi16(_mm512_add_epi16(a, b), 2), 2);
        a = b;
    }
}

/* A tile is joined from its own half and from its right neighbour's. */
static void means_tiles_avx512(const uint8_t *samples, ptrdiff_t stride, int32_t cell,
                               int32_t n_tiles, int32_t n_rows, uint8_t *tiles,
                               ptrdiff_t tile_bytes)
{
    const __m512i join = cell == 4 ? _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11)
                                   : _mm512_setr_epi64(0, 1, 1, 8, 2, 3, 3, 10);
    __m256i halves[2][MVF_TILE_ROWS];
    for (int32_t i = 0; i <= n_tiles; i++, samples += MVF_GROUP) {
        const __m256i *left = halves[~i & 1], *right = halves[i & 1];
        (cell == 4 ? half_tile_4 : half_tile_2)(samples, stride, n_rows, halves[i & 1]);
        if (i == 0)
            continue;
        for (int32_t y = 0; y < n_rows; y++)
            _mm512_storeu_si512(tiles + y * MVF_TILE_BYTES,
                                _mm512_permutex2var_epi64(_mm512_castsi256_si512(left[y]), join,
                                                          _mm512_castsi256_si512(right[y])));
        tiles += tile_bytes;
    }
}

/* The sums of a row of four cells. */
ALWAYS __m128i cell_row_4(const uint8_t *p, ptrdiff_t stride)
{
    const __m128i one = _mm_set1_epi8(1);
    __m128i a = _mm_add_epi16(_mm_maddubs_epi16(load_16(p), one),
                              _mm_maddubs_epi16(load_16(p + stride), one));
    __m128i b = _mm_add_epi16(_mm_maddubs_epi16(load_16(p + 2 * stride), one),
                              _mm_maddubs_epi16(load_16(p + 3 * stride), one));
    return _mm_madd_epi16(_mm_add_epi16(a, b), _mm_set1_epi16(1));
}

ALWAYS __m128i cell_row_2(const uint8_t *p, ptrdiff_t stride)
{
    const __m128i one = _mm_set1_epi8(1);
    __m128i a = _mm_maddubs_epi16(_mm_loadl_epi64((const __m128i *)p), one);
    __m128i b = _mm_maddubs_epi16(_mm_loadl_epi64((const __m128i *)(p + stride)), one);
    return _mm_cvtepu16_epi32(_mm_add_epi16(a, b));
}

static int32_t means_block_avx512(const uint8_t *current, ptrdiff_t stride, int32_t cell,
                                  int32_t n_rows, uint8_t *means)
{
    const __m128i most = _mm_set1_epi32(cell * cell - 1);
    const __m128i shift = _mm_cvtsi32_si128(cell == 4 ? 4 : 2);
    __m128i slack = _mm_setzero_si128();
    for (int32_t i = 0; i < n_rows; i++, current += cell * stride) {
        __m128i sums = cell == 4 ? cell_row_4(current, stride) : cell_row_2(current, stride);
        __m128i rest = _mm_and_si128(sums, most);
        slack = _mm_add_epi32(slack, _mm_max_epi32(rest, _mm_sub_epi32(most, rest)));
        _mm_storeu_si32(means + 4 * i, _mm_cvtepi32_epi8(_mm_srl_epi32(sums, shift)));
    }
    slack = _mm_add_epi32(slack, _mm_srli_si128(slack, 8));
    return _mm_cvtsi128_si32(_mm_add_epi32(slack, _mm_srli_si128(slack, 4)));
}

/* Where each candidate's bound is, from left to right. */
static inline __m512i bounds_order(int32_t cell)
{
    const __m512i eight = _mm512_set_epi16(7, 7, 7, 7, 6, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 3, 3, 3,
                                           3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    const __m512i fours = _mm512_add_epi16(eight, _mm512_set1_epi64(0x0018001000080000));
    const __m512i pairs = _mm512_set_epi16(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0, 7, 7, 6,
                                           6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m512i halves =
        _mm512_inserti64x4(_mm512_set1_epi32(0x00180008), _mm256_set1_epi32(0x00100000), 0);
    return cell == 4 ? fours : _mm512_add_epi16(pairs, halves);
}

ALWAYS uint16_t lowest_of(__m512i v)
{
    __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i quarter =
        _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint16_t)_mm_cvtsi128_si32(_mm_minpos_epu16(quarter));
}

/* The means of the block's rows of cells, and which of them it has. */
typedef struct mean_rows {
    __m512i row[4];
    __mmask32 valid[4];
} mean_rows;

ALWAYS mean_rows load_means(const uint8_t *means, int32_t n_rows)
{
    mean_rows m;
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; i++) {
        m.row[i] = broadcast_4(means + 4 * i);
        m.valid[i] = i < n_rows ? UINT32_MAX : 0;
    }
    return m;
}

ALWAYS __m512i differ(const mean_rows *m, int32_t i, __m512i tiles, int32_t is_right)
{
    return is_right ? _mm512_maskz_dbsad_epu8(m->valid[i], m->row[i], tiles, 0xe9)
                    : _mm512_maskz_dbsad_epu8(m->valid[i], m->row[i], tiles, 0x94);
}

ALWAYS __m512i bound_of_four(const mean_rows *m, __m512i a, __m512i b, __m512i c, __m512i d,
                             int32_t is_right)
{
    __m512i ab = _mm512_add_epi16(differ(m, 0, a, is_right), differ(m, 1, b, is_right));
    return _mm512_add_epi16(ab,
                            _mm512_add_epi16(differ(m, 2, c, is_right), differ(m, 3, d, is_right)));
}

/* Bounds are kept four rows at a time, and after each four the lowest of their columns. */
#define BOUND_LOWS (4 * MVF_GROUP)
#define BOUND_FOUR (5 * MVF_GROUP)

ALWAYS __m512i bounds_of_four(const uint8_t *rows, int32_t cell, int32_t is_right,
                              const mean_rows *m, int32_t n, uint16_t *bounds)
{
    ptrdiff_t next = (ptrdiff_t)cell * MVF_TILE_BYTES;
    __m512i lows = _mm512_set1_epi16(-1);
#pragma GCC unroll 4
    for (int32_t i = 0; i < n; i++, rows += MVF_TILE_BYTES) {
        __m512i sum = bound_of_four(m, _mm512_loadu_si512(rows), _mm512_loadu_si512(rows + next),
                                    _mm512_loadu_si512(rows + 2 * next),
                                    _mm512_loadu_si512(rows + 3 * next), is_right);
        _mm512_storeu_si512(bounds + i * MVF_GROUP, sum);
        lows = _mm512_min_epu16(lows, sum);
    }
    _mm512_storeu_si512(bounds + BOUND_LOWS, lows);
    return lows;
}

ALWAYS uint16_t bounds_of_rows(const uint8_t *rows, int32_t cell, int32_t is_right,
                               const mean_rows *m, int32_t ny, uint32_t columns, uint16_t *bounds)
{
    const __m512i all = _mm512_set1_epi16(-1);
    __m512i low = all;
    for (; ny >= 4; ny -= 4, rows += 4 * MVF_TILE_BYTES, bounds += BOUND_FOUR)
        low = _mm512_min_epu16(low, bounds_of_four(rows, cell, is_right, m, 4, bounds));
    if (ny > 0)
        low = _mm512_min_epu16(low, bounds_of_four(rows, cell, is_right, m, ny, bounds));
    low = _mm512_permutexvar_epi16(bounds_order(cell), low);
    return lowest_of(_mm512_mask_mov_epi16(all, columns, low));
}

/* Four rows' first lanes. */
ALWAYS __m512i load_firsts(const uint8_t *rows)
{
    __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(rows)),
                                        load_16(rows + MVF_TILE_BYTES), 1);
    __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(rows + 2 * MVF_TILE_BYTES)),
                                        load_16(rows + 3 * MVF_TILE_BYTES), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/* The first column alone, as the last one of a window that is 32k + 1 wide, as most are: four rows
 * at once, each bound in the first of eight places. */
ALWAYS uint16_t bounds_of_column(const uint8_t *rows, int32_t cell, int32_t is_right,
                                 const mean_rows *m, int32_t ny, uint16_t *bounds)
{
    const __m512i all = _mm512_set1_epi16(-1);
    ptrdiff_t next = (ptrdiff_t)cell * MVF_TILE_BYTES;
    __m512i a = load_firsts(rows), b = load_firsts(rows + next);
    __m512i c = load_firsts(rows + 2 * next), low = all;
    for (int32_t y = 0; y < ny; y += 4, rows += 4 * MVF_TILE_BYTES, bounds += MVF_GROUP) {
        __m512i d = load_firsts(rows + 3 * next), sum = bound_of_four(m, a, b, c, d, is_right);
        __mmask32 valid = 0x01010101u >> (ny - y < 4 ? 8 * (4 - (ny - y)) : 0);
        sum = _mm512_mask_mov_epi16(all, valid, sum);
        _mm512_storeu_si512(bounds, sum);
        low = _mm512_min_epu16(low, sum);
        a = cell == 4 ? b : c;
        b = cell == 4 ? c : d;
        c = cell == 4 ? d : load_firsts(rows + 4 * next);
    }
    return lowest_of(low);
}

ALWAYS uint16_t bounds_of_tile(const uint8_t *rows, int32_t cell, int32_t is_right,
                               const mean_rows *m, int32_t ny, uint32_t columns, uint16_t *bounds)
{
    if (columns != 1)
        return bounds_of_rows(rows, cell, is_right, m, ny, columns, bounds);
    return cell == 4 ? bounds_of_column(rows, 4, is_right, m, ny, bounds)
                     : bounds_of_column(rows, 2, is_right, m, ny, bounds);
}

static uint16_t means_bounds_avx512(const uint8_t *rows, int32_t cell, int32_t is_right,
                                    const uint8_t *means, int32_t n_rows, int32_t ny,
                                    uint32_t columns, uint16_t *bounds)
{
    mean_rows m = load_means(means, n_rows);
    return is_right ? bounds_of_tile(rows, cell, 1, &m, ny, columns, bounds)
                    : bounds_of_tile(rows, cell, 0, &m, ny, columns, bounds);
}

/* Of the candidate x places from a group's first. */
static int32_t bound_place(int32_t cell, int32_t x)
{
    return cell == 4 ? x % 4 * 8 + x / 4 : (x % 2 * 2 + x / 16) * 8 + x % 16 / 2;
}

/* Of a candidate of the first column, when that is alone. */
static uint16_t bound_in_column(const uint16_t *bounds, uint32_t y)
{
    return bounds[y / 4 * MVF_GROUP + y % 4 * 8];
}

static uint32_t find_in_column(const uint16_t *bounds, int32_t ny, uint16_t bound, uint32_t known)
{
    if (known != MVF_NOWHERE && bound_in_column(bounds, known >> 16) == bound)
        return known;
    for (uint32_t y = 0; y < (uint32_t)ny; y++)
        if (bound_in_column(bounds, y) == bound)
            return y << 16;
    return MVF_NOWHERE;
}

static int is_at(const uint16_t *bounds, int32_t cell, uint32_t at, uint16_t bound)
{
    uint32_t y = at >> 16;
    bounds += y / 4 * BOUND_FOUR + y % 4 * MVF_GROUP;
    return bounds[bound_place(cell, (int32_t)(at & 0xffff))] == bound;
}

static uint32_t means_find_avx512(const uint16_t *bounds, int32_t cell, int32_t ny,
                                  uint32_t columns, uint16_t bound, uint32_t known)
{
    const __m512i order = bounds_order(cell), wanted = _mm512_set1_epi16((short)bound);
    if (columns == 1)
        return find_in_column(bounds, ny, bound, known);
    if (known != MVF_NOWHERE && is_at(bounds, cell, known, bound))
        return known;
    for (int32_t y = 0; y < ny; y += 4, bounds += BOUND_FOUR) {
        __m512i lows = _mm512_permutexvar_epi16(order, _mm512_loadu_si512(bounds + BOUND_LOWS));
        uint32_t found = _mm512_cmpeq_epu16_mask(lows, wanted) & columns;
        if (!found)
            continue;
        int32_t x = __builtin_ctz(found);
        while (bounds[bound_place(cell, x)] != bound) {
            y++;
            bounds += MVF_GROUP;
        }
        return (uint32_t)y << 16 | (uint32_t)x;
    }
    return MVF_NOWHERE;
}

static int32_t column_groups(const uint16_t *bounds, int32_t ny, __m512i most, int32_t x,
                             const mvf_groups *groups, int32_t n)
{
    for (int32_t y = 0; y < ny; y += 4, bounds += MVF_GROUP) {
        uint32_t left = _mm512_cmple_epu16_mask(_mm512_loadu_si512(bounds), most) & 0x01010101;
        for (; left; left &= left - 1) {
            groups->at[n] = (uint32_t)(y + __builtin_ctz(left) / 8) << 16 | (uint32_t)x;
            groups->mask[n++] = 1;
        }
    }
    return n;
}

/* Which fours of rows have bounds up to `most`: without branches, since none can be predicted. */
static uint64_t fours_with_hits(const uint16_t *bounds, int32_t ny, __m512i most)
{
    uint64_t hits = 0;
    bounds += BOUND_LOWS;
    for (int32_t i = 0; i < (ny + 3) / 4; i++, bounds += BOUND_FOUR)
        hits |= (uint64_t)(_mm512_cmple_epu16_mask(_mm512_loadu_si512(bounds), most) != 0) << i;
    return hits;
}

static int32_t means_groups_avx512(const uint16_t *bounds, int32_t cell, int32_t ny, uint16_t limit,
                                   uint32_t columns, int32_t x, const mvf_groups *groups, int32_t n)
{
    const __m512i order = bounds_order(cell), most = _mm512_set1_epi16((short)limit);
    if (columns == 1)
        return column_groups(bounds, ny, most, x, groups, n);
    for (int32_t first = 0; first < ny; first += 256, bounds += 64 * BOUND_FOUR) {
        int32_t n_rows = ny - first < 256 ? ny - first : 256;
        for (uint64_t fours = fours_with_hits(bounds, n_rows, most); fours; fours &= fours - 1) {
            int32_t y = 4 * __builtin_ctzll(fours);
            const uint16_t *four = bounds + y / 4 * BOUND_FOUR;
            for (int32_t i = 0; i < (n_rows - y < 4 ? n_rows - y : 4); i++) {
                __m512i row =
                    _mm512_permutexvar_epi16(order, _mm512_loadu_si512(four + i * MVF_GROUP));
                uint32_t mask = _mm512_cmple_epu16_mask(row, most) & columns;
                groups->at[n] = (uint32_t)(first + y + i) << 16 | (uint32_t)x;
                groups->mask[n] = mask;
                n += mask != 0;
            }
        }
    }
    return n;
}

void mvf_means_kernels_init_avx512(mvf_search_kernels *kernels)
{
    kernels->has_means = 1;
    kernels->means_tiles = means_tiles_avx512;
    kernels->means_block = means_block_avx512;
    kernels->means_bounds = means_bounds_avx512;
    kernels->means_find = means_find_avx512;
    kernels->means_groups = means_groups_avx512;
}
