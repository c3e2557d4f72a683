/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/kernels.h"

#define PIXEL uint8_t
#define COLUMN uint16_t
#define FN(name) name##_8_c
#include "search/kernels_template.h"
#undef PIXEL
#undef COLUMN
#undef FN

#define PIXEL uint16_t
#define COLUMN uint32_t
#define FN(name) name##_16_c
#include "search/kernels_template.h"
#undef PIXEL
#undef COLUMN
#undef FN

static uint32_t bound_at(const mvf_bound *b, ptrdiff_t at)
{
    uint32_t bound = 0;
    for (int32_t i = 0; i < b->count; i++) {
        int32_t d = *(const uint16_t *)(b->sums + at + b->offset[i]) - b->sum[i];
        bound += (uint32_t)(d < 0 ? -d : d);
    }
    return bound < UINT16_MAX ? bound : UINT16_MAX;
}

static ptrdiff_t sums_at(uint32_t at, ptrdiff_t stride)
{
    return (ptrdiff_t)(at >> 16) * stride + 2 * (ptrdiff_t)(at & 0xffff);
}

static int32_t bit_count(uint32_t m)
{
    int32_t n = 0;
    for (; m; m &= m - 1)
        n++;
    return n;
}

static uint32_t bound_group(const mvf_bound *b, ptrdiff_t stride, uint32_t at, uint32_t mask)
{
    for (int32_t x = 0; x < MVF_GROUP; x++)
        if (mask >> x & 1)
            mask &= ~((uint32_t)(bound_at(b, sums_at(at, stride) + 2 * x) > b->limit) << x);
    return mask;
}

static int32_t bound_window_c(const mvf_bound *b, ptrdiff_t stride, int32_t nx, int32_t ny,
                              const mvf_groups *out, uint32_t *room)
{
    int32_t n = 0;
    (void)room;
    for (int32_t y = 0; y < ny; y++) {
        for (int32_t x = 0; x < nx; x += MVF_GROUP) {
            uint32_t at = (uint32_t)y << 16 | (uint32_t)x, mask = UINT32_MAX;
            mask = nx - x < MVF_GROUP ? (1u << (nx - x)) - 1 : mask;
            out->at[n] = at;
            out->mask[n] = bound_group(b, stride, at, mask);
            n += out->mask[n] != 0;
        }
    }
    return n;
}

static int32_t bound_groups_c(const mvf_bound *b, ptrdiff_t stride, const mvf_groups *groups,
                              int32_t n)
{
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
        uint32_t at = groups->at[i], mask = groups->mask[i];
        int32_t size = bit_count(mask);
        if (size >= b->least && size <= b->most)
            mask = bound_group(b, stride, at, mask);
        groups->at[left] = at;
        groups->mask[left] = mask;
        left += mask != 0;
    }
    return left;
}

static int32_t count_candidates_c(const uint32_t *masks, int32_t n)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += bit_count(masks[i]);
    return count;
}

static int32_t list_groups_c(const mvf_groups *groups, int32_t *next, int32_t n, uint32_t *at)
{
    int32_t count = 0, i = *next;
    for (; i < n && count < MVF_LIST_SOFT; i++)
        for (int32_t x = 0; x < MVF_GROUP; x++)
            if (groups->mask[i] >> x & 1)
                at[count++] = groups->at[i] + (uint32_t)x;
    *next = i;
    return count;
}

static void sad_groups_c(mvf_sad_list_function list, const uint8_t *current,
                         ptrdiff_t current_stride_bytes, const uint8_t *reference,
                         ptrdiff_t reference_stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                         int32_t n, uint32_t limit, uint32_t *costs, uint32_t *hits)
{
    uint32_t places[4 * MVF_GROUP];
    if (n < 1)
        return;
    for (int32_t i = 0; i < n * MVF_GROUP; i++)
        places[i] = at[i / MVF_GROUP] + (uint32_t)i % MVF_GROUP;
    list(current, current_stride_bytes, reference, reference_stride_bytes, w, h, places,
         n * MVF_GROUP, costs);
    for (int32_t i = 0; i < n; i++) {
        hits[i] = 0;
        for (int32_t x = 0; x < MVF_GROUP; x++)
            hits[i] |= (uint32_t)(costs[i * MVF_GROUP + x] <= limit) << x;
    }
}

void mvf_sad_squares_c(mvf_sad_list_function list, const uint8_t *current,
                       ptrdiff_t current_stride_bytes, const uint8_t *reference,
                       ptrdiff_t reference_stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                       int32_t n, uint32_t *lowest, uint32_t *where)
{
    enum { N_PLACES = MVF_SQUARE * MVF_SQUARE };
    uint32_t places[N_PLACES], costs[N_PLACES];
    for (int32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < N_PLACES; i++)
            places[i] = at[k] + (i / MVF_SQUARE << 16) + i % MVF_SQUARE;
        list(current, current_stride_bytes, reference, reference_stride_bytes, w, h, places,
             N_PLACES, costs);
        lowest[k] = UINT32_MAX;
        for (int32_t i = 0; i < N_PLACES; i++)
            lowest[k] = costs[i] < lowest[k] ? costs[i] : lowest[k];
        where[k] = 0;
        for (int32_t i = 0; i < N_PLACES; i++)
            where[k] |= (uint32_t)(costs[i] == lowest[k]) << (i / MVF_SQUARE * 4 + i % MVF_SQUARE);
    }
}

static void sums_merge_c(const uint16_t *top, const uint16_t *bottom, int32_t cell, int32_t shift,
                         int32_t n, uint16_t *out)
{
    for (int32_t x = 0; x < n; x++)
        out[x] = (uint16_t)((top[x] + top[x + cell] + bottom[x] + bottom[x + cell]) >> shift);
}

static int32_t cell_sum(const uint8_t *samples, ptrdiff_t stride, int32_t cell)
{
    int32_t sum = 0;
    for (int32_t y = 0; y < cell; y++)
        for (int32_t x = 0; x < cell; x++)
            sum += samples[y * stride + x];
    return sum;
}

static void means_tiles_c(const uint8_t *samples, ptrdiff_t stride, int32_t cell, int32_t n_tiles,
                          int32_t n_rows, uint8_t *tiles, ptrdiff_t tile_bytes)
{
    for (int32_t tile = 0; tile < n_tiles; tile++)
        for (int32_t y = 0; y < n_rows; y++)
            for (int32_t i = 0; i < MVF_TILE_BYTES; i++) {
                int32_t x = tile * MVF_GROUP + mvf_tile_first(cell, i / 16) + i % 16 * cell;
                tiles[tile * tile_bytes + y * MVF_TILE_BYTES + i] =
                    (uint8_t)(cell_sum(samples + y * stride + x, stride, cell) / (cell * cell));
            }
}

static int32_t means_block_c(const uint8_t *current, ptrdiff_t stride, int32_t cell, int32_t n_rows,
                             uint8_t *means)
{
    int32_t slack = 0, n = cell * cell;
    for (int32_t i = 0; i < 4 * n_rows; i++) {
        int32_t sum = cell_sum(current + (i / 4 * stride + i % 4) * cell, stride, cell);
        int32_t rest = sum % n;
        means[i] = (uint8_t)(sum / n);
        slack += rest > n - 1 - rest ? rest : n - 1 - rest;
    }
    return slack;
}

/* Of the candidate x samples from a tile's first, or with 16 more of its first right one. */
static const uint8_t *means_of(const uint8_t *tile, int32_t cell, int32_t x)
{
    int32_t lane = cell == 4 ? x % 4 : x % 2 * 2 + x / 16;
    return tile + 16 * lane + (x - mvf_tile_first(cell, lane)) / cell;
}

static uint16_t means_bounds_c(const uint8_t *tile, int32_t cell, int32_t is_right,
                               const uint8_t *means, int32_t n_rows, int32_t ny, uint32_t columns,
                               uint16_t *bounds)
{
    uint16_t lowest = UINT16_MAX;
    for (int32_t y = 0; y < ny; y++, tile += MVF_TILE_BYTES)
        for (int32_t x = 0; x < MVF_GROUP; x++, bounds++) {
            const uint8_t *of = means_of(tile, cell, x) + 4 * is_right;
            *bounds = 0;
            for (int32_t k = 0; k < 4 * n_rows; k++) {
                int32_t d = of[k / 4 * cell * MVF_TILE_BYTES + k % 4] - means[k];
                *bounds = (uint16_t)(*bounds + (d < 0 ? -d : d));
            }
            if (columns >> x & 1 && *bounds < lowest)
                lowest = *bounds;
        }
    return lowest;
}

static uint32_t means_find_c(const uint16_t *bounds, int32_t cell, int32_t ny, uint32_t columns,
                             uint16_t bound, uint32_t known)
{
    (void)cell;
    if (known != MVF_NOWHERE && bounds[(known >> 16) * MVF_GROUP + (known & 0xffff)] == bound)
        return known;
    for (int32_t i = 0; i < ny * MVF_GROUP; i++)
        if (columns >> i % MVF_GROUP & 1 && bounds[i] == bound)
            return (uint32_t)(i / MVF_GROUP) << 16 | (uint32_t)(i % MVF_GROUP);
    return MVF_NOWHERE;
}

static int32_t means_groups_c(const uint16_t *bounds, int32_t cell, int32_t ny, uint16_t limit,
                              uint32_t columns, int32_t x, const mvf_groups *groups, int32_t n)
{
    (void)cell;
    for (int32_t y = 0; y < ny; y++, bounds += MVF_GROUP) {
        uint32_t mask = 0;
        for (int32_t i = 0; i < MVF_GROUP; i++)
            mask |= (uint32_t)(bounds[i] <= limit) << i;
        groups->at[n] = (uint32_t)y << 16 | (uint32_t)x;
        groups->mask[n] = mask & columns;
        n += groups->mask[n] != 0;
    }
    return n;
}

void mvf_search_kernels_init_c(mvf_search_kernels *kernels, int32_t sample_bytes)
{
    int wide = sample_bytes == 2;
    for (int32_t i = 0; i < MVF_N_WIDTHS; i++) {
        kernels->sad_list[i] = wide ? sad_list_16_c : sad_list_8_c;
        kernels->dense[i] = MVF_GROUP;
    }
    kernels->sad_groups = sad_groups_c;
    kernels->sad_squares = mvf_sad_squares_c;
    kernels->bound_window = bound_window_c;
    kernels->bound_groups = bound_groups_c;
    kernels->has_means = 0;
    kernels->means_tiles = means_tiles_c;
    kernels->means_block = means_block_c;
    kernels->means_bounds = means_bounds_c;
    kernels->means_find = means_find_c;
    kernels->means_groups = means_groups_c;
    kernels->count_candidates = count_candidates_c;
    kernels->list_groups = list_groups_c;
    kernels->cell_sums = wide ? cell_sums_16_c : cell_sums_8_c;
    kernels->columns_add = wide ? columns_add_16_c : columns_add_8_c;
    kernels->columns_slide = wide ? columns_slide_16_c : columns_slide_8_c;
    kernels->columns_sum = wide ? columns_sum_16_c : columns_sum_8_c;
    kernels->sums_merge = sums_merge_c;
    kernels->halve_row = wide ? halve_row_16_c : halve_row_8_c;
}
