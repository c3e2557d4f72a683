/* SPDX-License-Identifier: BSD-2-Clause */
#include "oracle.h"

#include <stdlib.h>

static int32_t at(const check_plane *plane, int32_t x, int32_t y)
{
    x = x < 0 ? 0 : x >= plane->width ? plane->width - 1 : x;
    y = y < 0 ? 0 : y >= plane->height ? plane->height - 1 : y;
    return (int32_t)check_plane_sample(plane, x, y);
}

static int32_t clip(const check_plane *plane, int64_t value)
{
    int64_t top = (1 << plane->bit_depth) - 1;
    return (int32_t)(value < 0 ? 0 : value > top ? top : value);
}

/* Rounds down, as the standards' >> does. */
static int64_t divide_down(int64_t value, int64_t by)
{
    return value >= 0 ? value / by : -((-value + by - 1) / by);
}

/* H.264 8.4.2.2.1: E - 5 F + 20 G + 20 H - 5 I + J, along x and along y, from sample G on. */
static int64_t b1(const check_plane *p, int32_t x, int32_t y)
{
    return at(p, x - 2, y) - 5 * at(p, x - 1, y) + 20 * at(p, x, y) + 20 * at(p, x + 1, y) -
           5 * at(p, x + 2, y) + at(p, x + 3, y);
}

static int64_t h1(const check_plane *p, int32_t x, int32_t y)
{
    return at(p, x, y - 2) - 5 * at(p, x, y - 1) + 20 * at(p, x, y) + 20 * at(p, x, y + 1) -
           5 * at(p, x, y + 2) + at(p, x, y + 3);
}

static int32_t h264(const check_plane *p, int32_t x, int32_t y, int32_t phase_x, int32_t phase_y)
{
    int64_t j1 = b1(p, x, y - 2) - 5 * b1(p, x, y - 1) + 20 * b1(p, x, y) + 20 * b1(p, x, y + 1) -
                 5 * b1(p, x, y + 2) + b1(p, x, y + 3);
    int32_t G = at(p, x, y), H = at(p, x + 1, y), M = at(p, x, y + 1);
    int32_t b = clip(p, divide_down(b1(p, x, y) + 16, 32));
    int32_t h = clip(p, divide_down(h1(p, x, y) + 16, 32));
    int32_t s = clip(p, divide_down(b1(p, x, y + 1) + 16, 32));
    int32_t m = clip(p, divide_down(h1(p, x + 1, y) + 16, 32));
    int32_t j = clip(p, divide_down(j1 + 512, 1024));
    /* Figure 8-4 and the formulas for a to s, in raster order. */
    const int32_t samples[4][4] = {
        {G, (G + b + 1) / 2, b, (H + b + 1) / 2},
        {(G + h + 1) / 2, (b + h + 1) / 2, (b + j + 1) / 2, (b + m + 1) / 2},
        {h, (h + j + 1) / 2, j, (j + m + 1) / 2},
        {(M + h + 1) / 2, (h + s + 1) / 2, (j + s + 1) / 2, (s + m + 1) / 2},
    };
    return samples[phase_y][phase_x];
}

/* H.265 table 8-11; phase 0 is the sample itself. */
static const int32_t hevc_taps[4][8] = {{0, 0, 0, 1, 0, 0, 0, 0},
                                        {-1, 4, -10, 58, 17, -5, 1, 0},
                                        {-1, 4, -11, 40, 40, -11, 4, -1},
                                        {0, 1, -5, 17, 58, -10, 4, -1}};

static int64_t hevc_row(const check_plane *p, int32_t x, int32_t y, int32_t phase)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < 8; i++)
        sum += hevc_taps[phase][i] * at(p, x + i - 3, y);
    return sum;
}

static int32_t hevc(const check_plane *p, int32_t x, int32_t y, int32_t phase_x, int32_t phase_y)
{
    int32_t depth = p->bit_depth;
    int64_t shift1 = depth - 8 < 4 ? depth - 8 : 4, shift3 = 14 - depth > 2 ? 14 - depth : 2;
    int64_t value = 0;
    if (!phase_y)
        value = phase_x ? divide_down(hevc_row(p, x, y, phase_x), 1 << shift1)
                        : (int64_t)at(p, x, y) << shift3;
    else
        for (int32_t i = 0; i < 8; i++) {
            int64_t row = hevc_row(p, x, y + i - 3, phase_x);
            value += hevc_taps[phase_y][i] * (phase_x ? divide_down(row, 1 << shift1) : row);
        }
    if (phase_y)
        value = divide_down(value, phase_x ? 64 : 1 << shift1);
    return clip(p, divide_down(value + (1 << (shift3 - 1)), 1 << shift3));
}

static int32_t bilinear(const check_plane *p, int32_t x, int32_t y, int32_t fx, int32_t fy)
{
    return ((4 - fx) * (4 - fy) * at(p, x, y) + fx * (4 - fy) * at(p, x + 1, y) +
            (4 - fx) * fy * at(p, x, y + 1) + fx * fy * at(p, x + 1, y + 1) + 8) /
           16;
}

int32_t oracle_sample(const check_plane *plane, mvf_interpolation filter, int32_t x, int32_t y)
{
    int32_t whole_x = (int32_t)divide_down(x, 4), whole_y = (int32_t)divide_down(y, 4);
    int32_t phase_x = x - 4 * whole_x, phase_y = y - 4 * whole_y;
    if (filter == MVF_INTERPOLATION_H264)
        return h264(plane, whole_x, whole_y, phase_x, phase_y);
    if (filter == MVF_INTERPOLATION_HEVC)
        return hevc(plane, whole_x, whole_y, phase_x, phase_y);
    return bilinear(plane, whole_x, whole_y, phase_x, phase_y);
}

/* The coefficient (i, j) of the Hadamard transform of the tile's differences. */
static int64_t coefficient(const int32_t d[8][8], int32_t tile, int32_t i, int32_t j)
{
    int64_t sum = 0;
    for (int32_t y = 0; y < tile; y++)
        for (int32_t x = 0; x < tile; x++) {
            int sign = __builtin_parity((unsigned)(i & y)) ^ __builtin_parity((unsigned)(j & x));
            sum += sign ? -d[y][x] : d[y][x];
        }
    return sum;
}

static uint32_t tile_cost(const int32_t d[8][8], int32_t tile)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < tile; i++)
        for (int32_t j = 0; j < tile; j++)
            sum += llabs(coefficient(d, tile, i, j));
    return (uint32_t)(tile == 8 ? (sum + 2) / 4 : (sum + 1) / 2);
}

static uint32_t satd(const int32_t d[64][64], int32_t w, int32_t h, int32_t tile)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h; y += tile)
        for (int32_t x = 0; x < w; x += tile) {
            int32_t part[8][8] = {{0}};
            for (int32_t i = 0; i < tile && y + i < h; i++)
                for (int32_t j = 0; j < tile && x + j < w; j++)
                    part[i][j] = d[y + i][x + j];
            sum += tile_cost(part, tile);
        }
    return sum;
}

static uint32_t sum_differences(const int32_t d[64][64], int32_t w, int32_t h, int squared)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++)
            sum += (uint32_t)(squared ? d[y][x] * d[y][x] : abs(d[y][x]));
    return sum;
}

static uint32_t cost_of(mvf_metric metric, const int32_t d[64][64], const oracle_block *b)
{
    if (metric == MVF_METRIC_SAD || metric == MVF_METRIC_SSD)
        return sum_differences(d, b->w, b->h, metric == MVF_METRIC_SSD);
    return satd(d, b->w, b->h, metric == MVF_METRIC_SATD4 ? 4 : b->tile);
}

uint32_t oracle_average(const mvf_options *o, const check_plane *current, const check_plane *first,
                        mvf_vector v, const check_plane *second, mvf_vector w,
                        const oracle_block *b)
{
    int32_t d[64][64];
    for (int32_t i = 0; i < b->h; i++)
        for (int32_t j = 0; j < b->w; j++) {
            int32_t x = 4 * (b->x + j), y = 4 * (b->y + i);
            int32_t sum = oracle_sample(first, o->interpolation, x + v.x, y + v.y) +
                          oracle_sample(second, o->interpolation, x + w.x, y + w.y);
            d[i][j] = at(current, b->x + j, b->y + i) - (sum + 1) / 2;
        }
    return cost_of(o->subpel == MVF_SUBPEL_NONE ? o->metric : o->refine_metric, d, b);
}

/* The metric at the vector (x, y) in quarter samples. */
static uint32_t cost_at(const mvf_options *o, mvf_metric metric, const check_plane *current,
                        const check_plane *reference, const oracle_block *b, int32_t x, int32_t y)
{
    int32_t d[64][64];
    for (int32_t i = 0; i < b->h; i++)
        for (int32_t j = 0; j < b->w; j++) {
            int32_t px = 4 * (b->x + j) + x, py = 4 * (b->y + i) + y;
            int32_t prediction = x % 4 || y % 4 ? oracle_sample(reference, o->interpolation, px, py)
                                                : at(reference, px / 4, py / 4);
            d[i][j] = at(current, b->x + j, b->y + i) - prediction;
        }
    return cost_of(metric, d, b);
}

/* Whether the block moved by the vector, rounded down and up, lies in the frame. */
static int is_candidate(const mvf_options *o, const check_plane *plane, const oracle_block *b,
                        int32_t x, int32_t y)
{
    int64_t left = b->x + divide_down(x, 4), right = b->x + b->w - divide_down(-x, 4);
    int64_t top = b->y + divide_down(y, 4), bottom = b->y + b->h - divide_down(-y, 4);
    if (o->edges != MVF_EDGES_INSIDE)
        return 1;
    return left >= 0 && top >= 0 && right <= plane->width && bottom <= plane->height;
}

typedef struct scored {
    oracle_answer answer;
    uint64_t j;
} scored;

static int comes_before(const scored *a, const scored *b)
{
    int32_t ax = a->answer.x, ay = a->answer.y, bx = b->answer.x, by = b->answer.y;
    if (a->j != b->j)
        return a->j < b->j;
    if (ax * ax + ay * ay != bx * bx + by * by)
        return ax * ax + ay * ay < bx * bx + by * by;
    return ay != by ? ay < by : ax < bx;
}

static uint64_t bits_of(const mvf_options *o, int32_t d)
{
    uint64_t bits = 1;
    d = abs(d);
    if (o->mv_bits)
        return o->mv_bits[d < o->n_mv_bits ? d : o->n_mv_bits - 1];
    /* The signed code of d has number 2 |d| (or one less), and n + 1 needs 2 floor(log2) + 1. */
    for (int32_t n = 2 * d + 1; n > 1; n /= 2)
        bits += 2;
    return bits;
}

uint64_t oracle_rate(const mvf_options *o, int32_t dx, int32_t dy)
{
    return o->lambda_q4 * (bits_of(o, dx) + bits_of(o, dy)) / 16;
}

/* Whether a start vector's window holds the vector, in whole samples. */
static int is_near(const mvf_options *o, mvf_vector start, int32_t dx, int32_t dy)
{
    int64_t x = divide_down(start.x + 2, 4), y = divide_down(start.y + 2, 4);
    return llabs(dx - x) <= o->refine_range && llabs(dy - y) <= o->refine_range;
}

static int method_has(const mvf_options *o, const oracle_block *b, int32_t dx, int32_t dy)
{
    if (o->method == MVF_METHOD_FULL || (!dx && !dy) || is_near(o, b->predictor, dx, dy))
        return 1;
    for (int32_t i = 0; i < b->n_hints; i++)
        if (is_near(o, b->hints[i], dx, dy))
            return 1;
    return 0;
}

static scored score(const mvf_options *o, mvf_metric metric, const check_plane *current,
                    const check_plane *reference, const oracle_block *b, int32_t x, int32_t y)
{
    scored s = {{x, y, cost_at(o, metric, current, reference, b, x, y)}, 0};
    s.j = s.answer.cost + oracle_rate(o, x - b->predictor.x, y - b->predictor.y);
    return s;
}

static scored search_whole(const mvf_options *o, const check_plane *current,
                           const check_plane *reference, const oracle_block *b)
{
    scored best = {.j = UINT64_MAX};
    for (int32_t dy = -o->range_y; dy <= o->range_y; dy++)
        for (int32_t dx = -o->range_x; dx <= o->range_x; dx++) {
            if (!is_candidate(o, reference, b, 4 * dx, 4 * dy) || !method_has(o, b, dx, dy))
                continue;
            scored s = score(o, o->metric, current, reference, b, 4 * dx, 4 * dy);
            if (comes_before(&s, &best))
                best = s;
        }
    return best;
}

static scored search_neighbours(const mvf_options *o, const check_plane *current,
                                const check_plane *reference, const oracle_block *b, scored best,
                                int32_t distance)
{
    oracle_answer centre = best.answer;
    for (int32_t dy = -distance; dy <= distance; dy += distance)
        for (int32_t dx = -distance; dx <= distance; dx += distance) {
            if ((!dx && !dy) || !is_candidate(o, reference, b, centre.x + dx, centre.y + dy))
                continue;
            scored s =
                score(o, o->refine_metric, current, reference, b, centre.x + dx, centre.y + dy);
            if (s.j < best.j)
                best = s;
        }
    return best;
}

oracle_answer oracle_search(const mvf_options *o, const check_plane *current,
                            const check_plane *reference, const oracle_block *b)
{
    scored best = search_whole(o, current, reference, b);
    if (o->subpel == MVF_SUBPEL_NONE)
        return best.answer;
    best = score(o, o->refine_metric, current, reference, b, best.answer.x, best.answer.y);
    best = search_neighbours(o, current, reference, b, best, 2);
    if (o->subpel == MVF_SUBPEL_QUARTER)
        best = search_neighbours(o, current, reference, b, best, 1);
    return best.answer;
}

int oracle_is_candidate(const mvf_options *o, const check_plane *plane, const oracle_block *b,
                        int32_t x, int32_t y)
{
    return is_candidate(o, plane, b, x, y);
}

oracle_answer oracle_rate_vector(const mvf_options *o, const check_plane *current,
                                 const check_plane *reference, const oracle_block *b, int32_t x,
                                 int32_t y, uint64_t *j)
{
    mvf_metric metric = o->subpel == MVF_SUBPEL_NONE ? o->metric : o->refine_metric;
    scored s = score(o, metric, current, reference, b, x, y);
    *j = s.j;
    return s.answer;
}
