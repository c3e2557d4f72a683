/*
 * Every kernel of search/kernels.h, level by level, against the plain C one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "check_kernels.h"
#include "search/kernels.h"

/* Bytes and rows of a field of samples, with room all round for what kernels may read. */
#define STRIDE 704
#define ROWS 160
#define MARGIN 64
#define N_SUMS 200
#define N_TILES 5
#define MEAN_ROWS 100

typedef struct twins {
    check_run *run;
    mvf_search_kernels c, level;
    int32_t sample_bytes;
    const char *name;
    uint8_t *current, *reference;
} twins;

static void report(const twins *t, int ok, const char *kernel, const char *detail)
{
    char what[160];
    snprintf(what, sizeof what, "%s, %s, %d bytes a sample: %s", kernel, t->name, t->sample_bytes,
             detail);
    check_result(t->run, ok, what);
}

static int32_t random_below(const twins *t, int32_t n)
{
    return (int32_t)(check_random(t->run) % (uint32_t)n);
}

static uint8_t *at(uint8_t *field, const twins *t, int32_t x, int32_t y)
{
    return field + (y + 2) * STRIDE + MARGIN + x * t->sample_bytes;
}

/* Noise, extremes, or close to each other. */
static void fill_fields(const twins *t, int32_t kind)
{
    for (int32_t i = 0; i < STRIDE * (ROWS + 4); i++) {
        uint32_t r = check_random(t->run);
        t->current[i] = (uint8_t)(kind == 1 ? (r & 1 ? 255 : 0) : r);
        t->reference[i] = (uint8_t)(kind == 1 ? (r & 2 ? 255 : 0)
                                    : kind    ? t->current[i] ^ (r >> 8 & 1)
                                              : r >> 8);
    }
}

/* Of the groups that have hits. */
static int same_costs(const uint32_t *a, const uint32_t *b, const uint32_t *hits, int32_t n)
{
    int same = 1;
    for (int32_t i = 0; i < n; i++, a += MVF_GROUP, b += MVF_GROUP)
        same &= !hits[i] || !memcmp(a, b, MVF_GROUP * sizeof *a);
    return same;
}

static void check_sads(const twins *t)
{
    static const int32_t widths[] = {4, 8, 16, 32, 64, 1, 3, 13, 24, 40, 63};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int32_t h = 1; h <= 64; h += h < 18 ? 1 : 15) {
            uint32_t places[40], expected[4 * MVF_GROUP], got[4 * MVF_GROUP], hits[2][4];
            int32_t w = widths[i], n = 1 + random_below(t, 40), n_groups = 1 + random_below(t, 4);
            const uint8_t *c = at(t->current, t, 3, 1), *r = at(t->reference, t, 1, 2);
            mvf_sad_list_function list = t->c.sad_list[mvf_width_of(w)];
            char detail[64];
            for (int32_t k = 0; k < n; k++)
                places[k] = (uint32_t)random_below(t, 60) << 16 | (uint32_t)random_below(t, 60);
            list(c, STRIDE, r, STRIDE, w, h, places, n, expected);
            t->level.sad_list[mvf_width_of(w)](c, STRIDE, r, STRIDE, w, h, places, n, got);
            snprintf(detail, sizeof detail, "%dx%d", w, h);
            report(t, !memcmp(expected, got, (size_t)n * sizeof *got), "sad_list", detail);
            for (int32_t k = 1; k < n_groups && h % 2; k++)
                places[k] = places[0] + ((uint32_t)k << 16);
            uint32_t limit = expected[0];
            t->c.sad_groups(list, c, STRIDE, r, STRIDE, w, h, places, n_groups, limit, expected,
                            hits[0]);
            t->level.sad_groups(t->level.sad_list[mvf_width_of(w)], c, STRIDE, r, STRIDE, w, h,
                                places, n_groups, limit, got, hits[1]);
            report(t,
                   !memcmp(hits[0], hits[1], (size_t)n_groups * sizeof **hits) &&
                       same_costs(expected, got, hits[0], n_groups),
                   "sad_groups", detail);
        }
}

static void compare_squares(const twins *t, int32_t w, int32_t h)
{
    enum { N_PLACES = 10 };
    uint32_t places[N_PLACES], lowest[2][N_PLACES], where[2][N_PLACES];
    int32_t n = random_below(t, N_PLACES + 1), width = mvf_width_of(w);
    const uint8_t *c = at(t->current, t, 3, 1), *r = at(t->reference, t, 1, 2);
    char detail[64];
    for (int32_t k = 0; k < n; k++)
        places[k] = (uint32_t)random_below(t, 60) << 16 | (uint32_t)random_below(t, 60);
    t->c.sad_squares(t->c.sad_list[width], c, STRIDE, r, STRIDE, w, h, places, n, lowest[0],
                     where[0]);
    t->level.sad_squares(t->level.sad_list[width], c, STRIDE, r, STRIDE, w, h, places, n, lowest[1],
                         where[1]);
    snprintf(detail, sizeof detail, "%dx%d", w, h);
    report(t,
           !memcmp(lowest[0], lowest[1], (size_t)n * sizeof **lowest) &&
               !memcmp(where[0], where[1], (size_t)n * sizeof **where),
           "sad_squares", detail);
}

/* The fields are spoilt. */
static void check_squares(const twins *t)
{
    for (int32_t i = 0; i < 60; i++)
        compare_squares(t, i < 50 ? 16 : 4 << i % 5, i < 50 ? 16 : 1 + random_below(t, 40));
    /* The highest SAD that there is, everywhere. */
    memset(t->current, 255, (size_t)STRIDE * (ROWS + 4));
    memset(t->reference, 0, (size_t)STRIDE * (ROWS + 4));
    compare_squares(t, 16, 16);
}

static int same_groups(const mvf_groups *a, const mvf_groups *b, int32_t n, int32_t m)
{
    return n == m && !memcmp(a->at, b->at, (size_t)n * sizeof *a->at) &&
           !memcmp(a->mask, b->mask, (size_t)n * sizeof *a->mask);
}

/* Groups come column by column or row by row, as suits the level: sorts them by place. */
static void sort_groups(const mvf_groups *g, int32_t n)
{
    for (int32_t i = 1; i < n; i++)
        for (int32_t k = i; k > 0 && g->at[k - 1] > g->at[k]; k--) {
            uint32_t at_k = g->at[k], mask = g->mask[k];
            g->at[k] = g->at[k - 1];
            g->mask[k] = g->mask[k - 1];
            g->at[k - 1] = at_k;
            g->mask[k - 1] = mask;
        }
}

static int same_lists(const twins *t, const mvf_groups *groups, int32_t n)
{
    uint32_t lists[2][MVF_LIST_ROOM];
    for (int32_t next[2] = {0, 0}; next[0] < n;) {
        int32_t a = t->c.list_groups(groups, &next[0], n, lists[0]);
        int32_t b = t->level.list_groups(groups, &next[1], n, lists[1]);
        if (a != b || next[0] != next[1] || memcmp(lists[0], lists[1], (size_t)a * sizeof **lists))
            return 0;
    }
    return 1;
}

static void check_bounds(const twins *t)
{
    enum { NX_MAX = 70, NY_MAX = 40, N_GROUPS = 3 * NY_MAX + 16 };
    static const int32_t counts[] = {1, 2, 4, 8, 16, 3, 64, 256};
    static uint16_t plane[(NY_MAX + 70) * 256];
    for (int32_t i = 0; i < 80; i++) {
        uint32_t words[4][N_GROUPS], room[NY_MAX + 16];
        mvf_groups groups[2] = {{words[0], words[1]}, {words[2], words[3]}};
        uint16_t sums[MVF_MAX_CELLS];
        int32_t offsets[MVF_MAX_CELLS], top = i % 3 ? 400 : 32768, count = counts[i % 8];
        int32_t nx = 1 + random_below(t, NX_MAX), ny = 1 + random_below(t, NY_MAX);
        for (size_t k = 0; k < sizeof plane / sizeof plane[0]; k++)
            plane[k] = (uint16_t)random_below(t, top);
        for (int32_t k = 0; k < count; k++) {
            sums[k] = (uint16_t)random_below(t, top);
            offsets[k] = random_below(t, 64) * 512 + 2 * random_below(t, 64);
        }
        mvf_bound b = {.sums = (const uint8_t *)plane,
                       .limit = (uint32_t)(count * (int64_t)top / 4),
                       .least = 1,
                       .most = MVF_GROUP,
                       .count = count,
                       .sum = sums,
                       .offset = offsets};
        int32_t n = t->c.bound_window(&b, 512, nx, ny, &groups[0], room);
        int32_t m = t->level.bound_window(&b, 512, nx, ny, &groups[1], room);
        sort_groups(&groups[0], n);
        sort_groups(&groups[1], m);
        report(t, same_groups(&groups[0], &groups[1], n, m), "bound_window", "");
        b.limit /= 2;
        b.least = random_below(t, 4);
        b.most = 20 + random_below(t, 20);
        n = t->c.bound_groups(&b, 512, &groups[0], n);
        m = t->level.bound_groups(&b, 512, &groups[1], m);
        report(t, same_groups(&groups[0], &groups[1], n, m), "bound_groups", "");
        report(t, same_lists(t, &groups[0], n), "list_groups", "");
        report(t,
               t->c.count_candidates(groups[0].mask, n) ==
                   t->level.count_candidates(groups[0].mask, n),
               "count_candidates", "");
    }
}

/* Those of the group's candidates that the bound lies at. */
static int is_bound_at(const uint16_t *bounds, uint32_t at, uint32_t columns, uint16_t bound)
{
    return columns >> (at & 0xffff) & 1 && bounds[(at >> 16) * MVF_GROUP + (at & 0xffff)] == bound;
}

static void check_means_of_tile(const twins *t, const uint8_t *tile, int32_t cell)
{
    static uint16_t bounds[2][MVF_BOUNDS_ROOM(MEAN_ROWS)];
    uint32_t words[4][MEAN_ROWS + 16];
    mvf_groups groups[2] = {{words[0], words[1]}, {words[2], words[3]}};
    int32_t n_rows = 1 + random_below(t, 4), ny = 1 + random_below(t, MEAN_ROWS - 16);
    int32_t is_right = random_below(t, 2);
    uint32_t columns = UINT32_MAX << random_below(t, 32);
    uint8_t means[2][16];
    char detail[64];
    if (random_below(t, 3) == 0)
        columns = 1;
    const uint8_t *current = at(t->current, t, random_below(t, 300), random_below(t, 60));
    int32_t slack = t->c.means_block(current, STRIDE, cell, n_rows, means[0]);
    snprintf(detail, sizeof detail, "cells of %d, %d rows, %d candidates, columns %08x", cell,
             n_rows, ny, (unsigned)columns);
    report(t,
           slack == t->level.means_block(current, STRIDE, cell, n_rows, means[1]) &&
               !memcmp(means[0], means[1], (size_t)n_rows * 4),
           "means_block", detail);
    uint16_t low =
        t->c.means_bounds(tile, cell, is_right, means[0], n_rows, ny, columns, bounds[0]);
    report(t,
           low == t->level.means_bounds(tile, cell, is_right, means[0], n_rows, ny, columns,
                                        bounds[1]),
           "means_bounds", detail);
    uint32_t first = t->c.means_find(bounds[0], cell, ny, columns, low, MVF_NOWHERE);
    uint32_t other = t->level.means_find(bounds[1], cell, ny, columns, low, MVF_NOWHERE);
    report(t,
           is_bound_at(bounds[0], first, columns, low) &&
               is_bound_at(bounds[0], other, columns, low),
           "means_find", detail);
    report(t, t->level.means_find(bounds[1], cell, ny, columns, low, first) == first,
           "means_find, known", detail);
    uint16_t limit = (uint16_t)(low + random_below(t, 600));
    int32_t n = t->c.means_groups(bounds[0], cell, ny, limit, columns, 64, &groups[0], 0);
    int32_t m = t->level.means_groups(bounds[1], cell, ny, limit, columns, 64, &groups[1], 0);
    report(t, same_groups(&groups[0], &groups[1], n, m), "means_groups", detail);
}

/* No bound exceeds the SAD. */
static void check_mean_bounds(const twins *t, const uint8_t *tile, int32_t cell, int32_t x,
                              int32_t y)
{
    static uint16_t bounds[MVF_BOUNDS_ROOM(8)];
    uint8_t means[16];
    const uint8_t *current = at(t->current, t, x, y);
    int32_t slack = t->c.means_block(current, STRIDE, cell, 4, means), ok = 1;
    t->c.means_bounds(tile, cell, 0, means, 4, 8, UINT32_MAX, bounds);
    for (int32_t i = 0; i < 8 * MVF_GROUP; i++) {
        uint32_t place = (uint32_t)(i / MVF_GROUP) << 16 | (uint32_t)(i % MVF_GROUP), cost;
        t->c.sad_list[MVF_WIDTH_ANY](current, STRIDE, at(t->reference, t, 0, 0), STRIDE, 4 * cell,
                                     4 * cell, &place, 1, &cost);
        ok &= bounds[i] * cell * cell - slack <= (int32_t)cost;
    }
    report(t, ok, "means_bounds", "a bound above the SAD");
}

static void check_means(const twins *t)
{
    static uint8_t tiles[2][N_TILES * MEAN_ROWS * MVF_TILE_BYTES];
    for (int32_t i = 0; i < 40; i++) {
        int32_t cell = i % 2 ? 4 : 2, n = 1 + random_below(t, N_TILES);
        int32_t ny = 1 + random_below(t, MVF_TILE_ROWS);
        ptrdiff_t tile_bytes = (ptrdiff_t)MEAN_ROWS * MVF_TILE_BYTES;
        memset(tiles, 0x5a, sizeof tiles);
        for (int32_t k = 0; k < 2; k++)
            (k ? &t->level : &t->c)
                ->means_tiles(at(t->reference, t, 0, 0), STRIDE, cell, n, ny, tiles[k], tile_bytes);
        report(t, !memcmp(tiles[0], tiles[1], sizeof tiles[0]), "means_tiles", "");
        t->c.means_tiles(at(t->reference, t, 0, 0), STRIDE, cell, N_TILES, MVF_TILE_ROWS, tiles[0],
                         tile_bytes);
        t->c.means_tiles(at(t->reference, t, 0, MVF_TILE_ROWS), STRIDE, cell, N_TILES,
                         MEAN_ROWS - MVF_TILE_ROWS, tiles[0] + MVF_TILE_ROWS * MVF_TILE_BYTES,
                         tile_bytes);
        check_means_of_tile(t, tiles[0] + random_below(t, N_TILES) * tile_bytes, cell);
        check_mean_bounds(t, tiles[0], cell, random_below(t, 300), random_below(t, 60));
    }
}

static void check_sums(const twins *t)
{
    static uint32_t columns[2][N_SUMS + 128];
    static uint16_t sums[2][N_SUMS + 128], rows[2][N_SUMS + 128];
    uint32_t cells[2][MVF_MAX_CELLS + 4];
    for (int32_t n = 1; n <= N_SUMS; n += 1 + random_below(t, 9)) {
        size_t column_bytes = t->sample_bytes == 1 ? 2 : 4;
        int32_t w = 1 + n % 64, h = 1 + random_below(t, 64);
        memset(columns, 0, sizeof columns);
        for (int32_t k = 0; k < 2; k++) {
            const mvf_search_kernels *kernels = k ? &t->level : &t->c;
            for (int32_t y = 0; y < 4; y++)
                kernels->columns_add(columns[k], at(t->current, t, 1, y), n + 15);
            kernels->columns_slide(columns[k], at(t->current, t, 1, 4), at(t->current, t, 1, 0),
                                   n + 15);
            kernels->cell_sums(at(t->current, t, 1, 1), STRIDE, w, h, cells[k]);
        }
        report(t, !memcmp(columns[0], columns[1], (size_t)(n + 15) * column_bytes),
               "columns_add, columns_slide", "");
        report(t, !memcmp(cells[0], cells[1], (size_t)(w / 4) * (size_t)(h / 4) * 4), "cell_sums",
               "");
        for (int32_t cell = 4; cell <= (t->sample_bytes == 1 ? 4 : 16); cell *= 2) {
            int32_t shift = t->sample_bytes == 1 ? 0 : 7;
            t->c.columns_sum(columns[0], cell, shift, n, sums[0]);
            t->level.columns_sum(columns[0], cell, shift, n, sums[1]);
            report(t, !memcmp(sums[0], sums[1], (size_t)n * 2), "columns_sum", "");
        }
        for (int32_t k = 0; k < 2 * (N_SUMS + 128); k++)
            rows[k & 1][k / 2] = (uint16_t)random_below(t, 16320);
        for (int32_t cell = 4; cell <= 8; cell *= 2) {
            t->c.sums_merge(rows[0], rows[1], cell, cell / 8, n, sums[0]);
            t->level.sums_merge(rows[0], rows[1], cell, cell / 8, n, sums[1]);
            report(t, !memcmp(sums[0], sums[1], (size_t)n * 2), "sums_merge", "");
        }
    }
}

static void check_halving(const twins *t)
{
    static uint8_t out[2][2 * N_SUMS + 128];
    for (int32_t n = 1; n <= 140; n += 1 + random_below(t, 5)) {
        t->c.halve_row(at(t->current, t, 0, 0), STRIDE, n, out[0]);
        t->level.halve_row(at(t->current, t, 0, 0), STRIDE, n, out[1]);
        report(t, !memcmp(out[0], out[1], (size_t)(n * t->sample_bytes)), "halve_row", "");
    }
}

void check_twins(check_run *run)
{
    size_t size = STRIDE * (ROWS + 4);
    twins t = {.run = run, .current = malloc(size), .reference = malloc(size)};
    if (!t.current || !t.reference)
        exit(1);
    for (t.sample_bytes = 1; t.sample_bytes <= 2; t.sample_bytes++)
        for (int level = MVF_CPU_SSE2; level <= MVF_CPU_AVX512; level++) {
            if (mvf_cpu_clamp_level((mvf_cpu_level)level) != (mvf_cpu_level)level)
                continue;
            t.name = mvf_cpu_level_name((mvf_cpu_level)level);
            mvf_search_kernels_init(&t.c, t.sample_bytes, MVF_CPU_C);
            mvf_search_kernels_init(&t.level, t.sample_bytes, (mvf_cpu_level)level);
            for (int32_t kind = 0; kind < 3; kind++) {
                fill_fields(&t, kind);
                check_sads(&t);
                check_sums(&t);
                check_halving(&t);
                if (t.sample_bytes == 1)
                    check_means(&t);
                check_squares(&t);
            }
            check_bounds(&t);
        }
    free(t.current);
    free(t.reference);
}
