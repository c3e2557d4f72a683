/*
 * True motion: its parts against the text of search/truemotion.h, one sample at a time, at every
 * instruction level; and whole searches over threads, levels and sizes, and on motion that is
 * known.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check_kernels.h"
#include "search/truemotion_parts.h"

#define N_RANDOM_COSTS 400
#define MEDIAN_STRIDE 48

static const mvf_cpu_level levels[] = {MVF_CPU_C, MVF_CPU_SSE2, MVF_CPU_SSSE3, MVF_CPU_AVX2,
                                       MVF_CPU_BEST};
#define N_LEVELS ((int)(sizeof levels / sizeof levels[0]))

static int32_t pick(check_run *run, int32_t low, int32_t high)
{
    return low + (int32_t)(check_random(run) % (uint32_t)(high - low + 1));
}

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Step 1 of the contract: a level as a plane of numbers. */
typedef struct numbers {
    int32_t width, height;
    int32_t *values;
} numbers;

static int32_t at(const numbers *n, int32_t x, int32_t y)
{
    return n->values[clamp(y, 0, n->height - 1) * n->width + clamp(x, 0, n->width - 1)];
}

static numbers alloc_numbers(int32_t width, int32_t height)
{
    numbers n = {width, height, calloc((size_t)width * (size_t)height, sizeof(int32_t))};
    if (!n.values)
        exit(1);
    return n;
}

static numbers first_level(const check_plane *plane)
{
    static const int32_t weights[3] = {11, 42, 11};
    numbers source = alloc_numbers(plane->width, plane->height);
    numbers n = alloc_numbers(plane->width, plane->height);
    for (int32_t i = 0; i < n.width * n.height; i++)
        source.values[i] = (int32_t)check_plane_sample(plane, i % n.width, i / n.width);
    for (int32_t i = 0; i < n.width * n.height; i++) {
        int64_t sum = 0;
        for (int32_t k = 0; k < 9; k++)
            sum += (int64_t)weights[k % 3] * weights[k / 3] *
                   at(&source, i % n.width + k % 3 - 1, i / n.width + k / 3 - 1);
        n.values[i] = (int32_t)((sum + (1 << (plane->bit_depth - 1))) >> plane->bit_depth);
    }
    free(source.values);
    return n;
}

static numbers next_level(const numbers *from)
{
    static const int32_t weights[4] = {1, 3, 3, 1};
    numbers n = alloc_numbers((from->width + 1) / 2, (from->height + 1) / 2);
    for (int32_t i = 0; i < n.width * n.height; i++) {
        int32_t sum = 32;
        for (int32_t k = 0; k < 16; k++)
            sum += weights[k % 4] * weights[k / 4] *
                   at(from, 2 * (i % n.width) + k % 4 - 1, 2 * (i / n.width) + k / 4 - 1);
        n.values[i] = sum >> 6;
    }
    return n;
}

/* Step 2: a sample of a phase, at any coordinates. */
static int32_t phase_sample(const numbers *n, int32_t phase, int32_t x, int32_t y)
{
    static const int32_t filters[2][4] = {{0, 16, 0, 0}, {-1, 9, 9, -1}};
    int32_t sum = 128;
    for (int32_t k = 0; k < 16; k++)
        sum += filters[phase & 1][k % 4] * filters[phase >> 1][k / 4] *
               at(n, x + k % 4 - 1, y + k / 4 - 1);
    return clamp(sum >> 8, 0, 4095);
}

/* Step 3. */
static uint32_t features(const numbers *n, int32_t phase, int32_t x, int32_t y)
{
    int32_t gx = phase_sample(n, phase, x + 1, y) - phase_sample(n, phase, x - 1, y);
    int32_t gy = phase_sample(n, phase, x, y + 1) - phase_sample(n, phase, x, y - 1);
    return (uint32_t)((phase_sample(n, phase, x, y) + 32) >> 6) |
           (uint32_t)clamp(128 + ((gx + 4) >> 3), 0, 255) << 8 |
           (uint32_t)clamp(128 + ((gy + 4) >> 3), 0, 255) << 16;
}

static int same_level(const numbers *n, const mvf_tm_level *level)
{
    if (n->width != level->width || n->height != level->height)
        return 0;
    for (int32_t i = 0; i < n->width * n->height; i++)
        if (level->luma[i] != clamp((n->values[i] + 8) >> 4, 0, 255))
            return 0;
    for (int32_t phase = 0; phase < 4; phase++)
        for (int32_t y = -MVF_TM_BORDER; y < n->height + MVF_TM_BORDER; y++)
            for (int32_t x = -MVF_TM_BORDER; x < n->width + MVF_TM_BORDER; x++)
                if (level->phase[phase][y * (level->stride_bytes / 4) + x] !=
                    features(n, phase, x, y))
                    return 0;
    return 1;
}

static mvf_tm_image *load_image(const check_plane *plane)
{
    mvf_tm_image *image;
    if (mvf_tm_image_create(&image, plane->width, plane->height) != MVF_OK ||
        mvf_tm_image_load(image, plane->origin, plane->stride_bytes, plane->bit_depth) != MVF_OK)
        exit(1);
    return image;
}

static void check_image(check_run *run, int32_t width, int32_t height, int32_t bit_depth,
                        check_fill fill)
{
    check_plane plane;
    char what[128];
    check_plane_alloc(run, &plane, width, height, bit_depth);
    check_plane_fill(run, &plane, fill, 0);
    mvf_tm_image *image = load_image(&plane);
    numbers n = first_level(&plane);
    int ok = same_level(&n, &image->levels[0]), n_levels = 1;
    while (clamp(n.width, 0, n.height) >= 24) {
        numbers half = next_level(&n);
        free(n.values);
        n = half;
        ok = ok && same_level(&n, &image->levels[n_levels++]);
    }
    snprintf(what, sizeof what, "truemotion image %dx%d, %d bit, %s", width, height, bit_depth,
             check_fill_name(fill));
    check_result(run, ok && n_levels == image->n_levels, what);
    free(n.values);
    mvf_tm_image_destroy(&image);
    check_plane_free(&plane);
}

/* Step 4, from features; the window may start where the contract's clamping ends. */
static uint32_t stored(const mvf_tm_level *level, int32_t half_x, int32_t half_y)
{
    int32_t x = half_x >> 1, y = half_y >> 1;
    return level->phase[2 * (half_y & 1) + (half_x & 1)][y * (level->stride_bytes / 4) + x];
}

static int32_t naive_pixel(uint32_t own, const mvf_tm_level *level, int32_t x, int32_t y)
{
    int32_t fx = x & 7, fy = y & 7, sum = 0;
    for (int32_t shift = 0; shift < 24; shift += 8) {
        int32_t a = (int32_t)(stored(level, x >> 3, y >> 3) >> shift & 255);
        int32_t b = (int32_t)(stored(level, (x >> 3) + 1, y >> 3) >> shift & 255);
        int32_t c = (int32_t)(stored(level, x >> 3, (y >> 3) + 1) >> shift & 255);
        int32_t d = (int32_t)(stored(level, (x >> 3) + 1, (y >> 3) + 1) >> shift & 255);
        int32_t value =
            (a * (8 - fx) * (8 - fy) + b * fx * (8 - fy) + c * (8 - fx) * fy + d * fx * fy + 32) >>
            6;
        sum += abs((int32_t)(own >> shift & 255) - value);
    }
    return sum < 60 ? sum : 60;
}

static int32_t naive_cost(const mvf_tm_level *current, const mvf_tm_level *reference, int32_t x,
                          int32_t y, int32_t vx, int32_t vy, mvf_tm_pattern pattern)
{
    static const int32_t four[4] = {1, 3, 0, 2};
    int32_t from_x = clamp(x + (vx >> 4), -8, reference->width + 4) * 16 + (vx & 15);
    int32_t from_y = clamp(y + (vy >> 4), -8, reference->height + 4) * 16 + (vy & 15);
    int32_t sum = 0;
    for (int32_t i = 0; i < 16; i++) {
        int32_t dx = i % 4, dy = i / 4;
        if (pattern == MVF_TM_PATTERN_8 ? (dx + dy) % 2 : four[dy] != dx)
            continue;
        sum += naive_pixel(stored(current, 2 * (x + dx), 2 * (y + dy)), reference, from_x + 16 * dx,
                           from_y + 16 * dy);
    }
    return pattern == MVF_TM_PATTERN_8 ? 2 * sum : 4 * sum;
}

static void check_costs(check_run *run, const mvf_tm_kernels *kernels, const char *level,
                        int32_t width, int32_t height)
{
    check_plane planes[2];
    mvf_tm_image *images[2];
    int ok = 1;
    for (int i = 0; i < 2; i++) {
        check_plane_alloc(run, &planes[i], width, height, 8);
        check_plane_fill(run, &planes[i], i ? FILL_EXTREMES : FILL_NOISE, i);
        images[i] = load_image(&planes[i]);
    }
    for (int n = 0; n < N_RANDOM_COSTS && ok; n++) {
        mvf_tm_candidates list = {.count = pick(run, 1, MVF_TM_MAX_CANDIDATES)};
        mvf_tm_pattern pattern = (mvf_tm_pattern)pick(run, 0, 1);
        int32_t x = pick(run, -1, width - 1), y = pick(run, -1, height - 1);
        int32_t reach = n % 8 ? 200 : MVF_TM_MAX_VECTOR;
        for (int32_t i = 0; i < list.count; i++) {
            list.x[i] = (int16_t)pick(run, -reach, reach);
            list.y[i] = (int16_t)pick(run, -reach, reach);
        }
        kernels->cost(&list, &images[0]->levels[0], &images[1]->levels[0], x, y, pattern);
        for (int32_t i = 0; i < list.count; i++)
            ok &= list.cost[i] == naive_cost(&images[0]->levels[0], &images[1]->levels[0], x, y,
                                             list.x[i], list.y[i], pattern);
    }
    check_result(run, ok, level);
    for (int i = 0; i < 2; i++) {
        mvf_tm_image_destroy(&images[i]);
        check_plane_free(&planes[i]);
    }
}

/* Step 7, with all places of a cell. */
static void naive_path(const mvf_tm_labels *cells, int32_t *sums, ptrdiff_t step, int32_t n,
                       int32_t penalty_max)
{
    int32_t before[MVF_TM_PLACES], path[MVF_TM_PLACES];
    for (int32_t i = 0; i < n; i++, cells += step, sums += step * MVF_TM_PLACES) {
        for (int32_t k = 0; k < MVF_TM_PLACES; k++) {
            int32_t best = i ? INT32_MAX : 0, floor = i ? INT32_MAX : 0;
            for (int32_t j = 0; i && j < MVF_TM_PLACES; j++) {
                int32_t apart = 4 * (abs(cells->x[k] - cells[-step].x[j]) +
                                     abs(cells->y[k] - cells[-step].y[j]));
                int32_t sum = before[j] + (apart < penalty_max ? apart : penalty_max);
                best = sum < best ? sum : best;
                floor = before[j] < floor ? before[j] : floor;
            }
            path[k] = cells->cost[k] + best - floor;
            sums[k] += path[k];
        }
        memcpy(before, path, sizeof before);
    }
}

static void fill_labels(check_run *run, mvf_tm_labels *labels, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t count = pick(run, 1, MVF_TM_LABELS), reach = pick(run, 0, 3) ? 40 : 16383;
        for (int32_t k = 0; k < MVF_TM_PLACES; k++) {
            labels[i].x[k] = (int16_t)pick(run, -reach, reach);
            labels[i].y[k] = (int16_t)pick(run, -reach, reach);
            labels[i].cost[k] = (int16_t)pick(run, 0, 960);
            if (k >= count) {
                labels[i].x[k] = labels[i].x[0];
                labels[i].y[k] = labels[i].y[0];
                labels[i].cost[k] = MVF_TM_NO_LABEL;
            }
        }
    }
}

static void check_paths(check_run *run, const mvf_tm_kernels *kernels, const char *level)
{
    enum { N = 60 };
    mvf_tm_labels labels[N];
    int ok = 1;
    for (int repeat = 0; repeat < 40; repeat++) {
        int16_t sums[N * MVF_TM_PLACES] = {0};
        int32_t expected[N * MVF_TM_PLACES] = {0};
        int32_t step = pick(run, 1, 3), n = pick(run, 1, N / step), backward = pick(run, 0, 1);
        int32_t first = backward ? (n - 1) * step : 0, penalty_max = repeat & 1 ? 80 : 160;
        fill_labels(run, labels, N);
        step = backward ? -step : step;
        kernels->path(labels + first, sums + first * MVF_TM_PLACES, step, n, penalty_max);
        naive_path(labels + first, expected + first * MVF_TM_PLACES, step, n, penalty_max);
        for (int32_t i = 0; i < N * MVF_TM_PLACES; i++)
            ok &= sums[i] == expected[i];
    }
    check_result(run, ok, level);
}

/* Step 8: whether a value is the smallest whose own and smaller values have half of the weight. */
static int is_median(int16_t median, const int16_t *corner, int32_t side, const int16_t *weights)
{
    int32_t total = 0, below = 0, up_to = 0;
    for (int32_t i = 0; i < side * side; i++) {
        int32_t value = corner[i / side * MEDIAN_STRIDE + i % side];
        int32_t weight = weights[i * MVF_TM_LANES];
        total += weight;
        below += value < median ? weight : 0;
        up_to += value <= median ? weight : 0;
    }
    return !total || (2 * up_to >= total && 2 * below < total);
}

static void check_medians(check_run *run, const mvf_tm_kernels *kernels, const char *level)
{
    int16_t values[9 * MEDIAN_STRIDE], weights[81 * MVF_TM_LANES], medians[MVF_TM_LANES];
    int ok = 1;
    for (int repeat = 0; repeat < 60; repeat++) {
        int32_t radius = pick(run, 1, MVF_TM_MAX_RADIUS), side = 2 * radius + 1;
        int32_t reach = repeat % 3 ? 20 : MVF_TM_MAX_VECTOR, sparse = pick(run, 0, 8);
        for (int32_t i = 0; i < 9 * MEDIAN_STRIDE; i++)
            values[i] = (int16_t)pick(run, -reach, reach);
        for (int32_t i = 0; i < 81 * MVF_TM_LANES; i++)
            weights[i] = (int16_t)(pick(run, 0, 8) < sparse ? 0 : pick(run, 0, 255));
        kernels->median(medians, values + radius * MEDIAN_STRIDE + radius, MEDIAN_STRIDE, radius,
                        weights);
        for (int32_t i = 0; i < MVF_TM_LANES; i++)
            ok &= is_median(medians[i], values + i, side, weights + i);
    }
    check_result(run, ok, level);
}

/* Whole searches. */

typedef struct pair {
    check_plane current, reference;
    mvf_options options;
} pair;

static mvf_field *search(const pair *p)
{
    mvf_picture pictures[2] = {check_plane_picture(&p->current, 1),
                               check_plane_picture(&p->reference, 0)};
    mvf_field *field;
    if (mvf_search(&p->options, p->current.width, p->current.height, p->current.bit_depth,
                   &pictures[0], &pictures[1], &field) != MVF_OK)
        return NULL;
    return field;
}

static int same_fields(const mvf_field *a, const mvf_field *b)
{
    return a && b && a->n_blocks == b->n_blocks && a->flags == b->flags &&
           !memcmp(a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks) &&
           !memcmp(a->confidence, b->confidence, a->n_blocks);
}

static void open_pair(check_run *run, pair *p, int32_t width, int32_t height, int32_t bit_depth,
                      check_fill fill)
{
    check_plane_alloc(run, &p->current, width, height, bit_depth);
    check_plane_alloc(run, &p->reference, width, height, bit_depth);
    check_plane_fill(run, &p->current, fill, 3);
    check_plane_fill(run, &p->reference, fill, 0);
    mvf_options_init(&p->options);
    p->options.logger = run->logger;
    p->options.backend = MVF_BACKEND_CPU;
    p->options.method = MVF_METHOD_TRUEMOTION;
}

static void close_pair(pair *p)
{
    check_plane_free(&p->current);
    check_plane_free(&p->reference);
}

static void check_sameness(check_run *run, int32_t width, int32_t height, int32_t bit_depth,
                           check_fill fill)
{
    pair p;
    char what[128];
    open_pair(run, &p, width, height, bit_depth, fill);
    p.options.step_x = p.options.step_y = pick(run, 0, 1) ? 1 : 4;
    p.options.effort = (mvf_effort)pick(run, 0, 1);
    p.options.threads = 1;
    p.options.cpu_level = MVF_CPU_C;
    mvf_field *expected = search(&p);
    for (int i = 0; i < N_LEVELS; i++) {
        p.options.cpu_level = levels[i];
        p.options.threads = 1 + 2 * (i & 1);
        mvf_field *field = search(&p);
        snprintf(what, sizeof what, "truemotion %dx%d, %d bit, step %d, effort %d, %s, level %s",
                 width, height, bit_depth, p.options.step_x, p.options.effort,
                 check_fill_name(fill), mvf_cpu_level_name(levels[i]));
        check_result(run, same_fields(expected, field), what);
        mvf_field_free(&field);
    }
    mvf_field_free(&expected);
    close_pair(&p);
}

/* A pan by whole px: nearly all inner blocks must have just that vector. */
static void check_pan(check_run *run, int32_t step, mvf_effort effort, int32_t brighter)
{
    pair p;
    int32_t n = 0, good = 0, n_flagged = 0;
    open_pair(run, &p, 160, 120, 8, FILL_FLAT);
    check_plane_fill(run, &p.reference, FILL_TEXTURE, 0);
    for (int32_t i = 0; i < 160 * 120; i++) {
        int32_t x = i % 160, y = i / 160;
        uint32_t value =
            check_plane_sample(&p.reference, clamp(x + 7, 0, 159), clamp(y - 3, 0, 119));
        check_plane_set(&p.current, x, y, (uint32_t)clamp((int32_t)value + brighter, 0, 255));
    }
    p.options.step_x = p.options.step_y = step;
    p.options.effort = effort;
    mvf_field *field = search(&p);
    for (size_t i = 0; field && i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        if (b->x < 8 || b->y < 8 || b->x >= 144 || b->y >= 112)
            continue;
        n++;
        good += abs(b->mv_x - 7 * 16) <= 1 && abs(b->mv_y + 3 * 16) <= 1;
        n_flagged += (b->flags & MVF_BLOCK_OCCLUDED) != 0;
    }
    check_result(run,
                 field && field->mv_scale == 16 && n && good >= n - n / 50 && n_flagged <= n / 50,
                 "truemotion of a pan by (7, -3) px");
    mvf_field_free(&field);
    close_pair(&p);
}

/* Flat pictures: no motion, no confidence, every block flagged; identical ones are said to be. */
static void check_flat(check_run *run)
{
    pair p;
    int ok = 1;
    open_pair(run, &p, 64, 48, 10, FILL_FLAT);
    mvf_field *field = search(&p);
    for (size_t i = 0; field && i < field->n_blocks; i++)
        ok &= !field->blocks[i].mv_x && !field->blocks[i].mv_y && !field->confidence[i] &&
              field->blocks[i].flags == MVF_BLOCK_FLAT;
    check_result(run, field && ok && field->flags == MVF_FIELD_DUPLICATE, "truemotion of nothing");
    mvf_field_free(&field);
    close_pair(&p);
}

/* Two pictures that have nothing in common: hardly a block may be sure of what it found. */
static void check_cut(check_run *run)
{
    pair p;
    int32_t n_occluded = 0, n_sure = 0;
    open_pair(run, &p, 160, 120, 8, FILL_NOISE);
    mvf_field *field = search(&p);
    for (size_t i = 0; field && i < field->n_blocks; i++) {
        n_occluded += (field->blocks[i].flags & MVF_BLOCK_OCCLUDED) != 0;
        n_sure += field->confidence[i] > 64;
    }
    check_result(run, field && n_occluded > 960 && n_sure < 60, "truemotion across a cut");
    mvf_field_free(&field);
    close_pair(&p);
}

void check_truemotion(check_run *run)
{
    for (int32_t fill = 0; fill < N_FILLS; fill++) {
        check_image(run, 61, 47, 8, (check_fill)fill);
        check_image(run, 30, 70, 8 + 8 * fill / (N_FILLS - 1), (check_fill)fill);
        check_image(run, 1 + fill, N_FILLS - fill, 8, (check_fill)fill);
    }
    for (int i = 0; i < N_LEVELS; i++) {
        mvf_tm_kernels kernels;
        mvf_tm_kernels_init(&kernels, levels[i]);
        check_costs(run, &kernels, "truemotion costs", 37, 29);
        check_costs(run, &kernels, "truemotion costs of a small frame", 3, 1);
        check_paths(run, &kernels, "truemotion paths");
        check_medians(run, &kernels, "truemotion medians");
    }
    for (int32_t i = 0; i < 10; i++)
        check_sameness(run, pick(run, 1, 130), pick(run, 1, 90), 8 + 2 * (i % 3) * (i % 2),
                       (check_fill)(i % N_FILLS));
    check_sameness(run, 1, 1, 16, FILL_NOISE);
    for (int i = 0; i < 4; i++)
        check_pan(run, i & 1 ? 1 : 4, i & 2 ? MVF_EFFORT_LOW : MVF_EFFORT_HIGH, 0);
    check_pan(run, 4, MVF_EFFORT_HIGH, 12);
    check_flat(run);
    check_cut(run);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Frames per second of processor time, each frame prepared once. */
static void bench_setting(check_run *run, int32_t step, mvf_effort effort)
{
    enum { N_FRAMES = 4 };
    pair p;
    mvf_searcher *searcher;
    mvf_field *field;
    open_pair(run, &p, 1920, 1080, 8, FILL_TEXTURE);
    p.options.step_x = p.options.step_y = step;
    p.options.effort = effort;
    p.options.threads = 1;
    if (mvf_searcher_open(&searcher, &p.options, 1920, 1080, 8) != MVF_OK)
        exit(1);
    double start = cpu_seconds();
    for (int i = 0; i < N_FRAMES; i++) {
        mvf_picture current = check_plane_picture(i & 1 ? &p.current : &p.reference, i + 1);
        mvf_picture reference = check_plane_picture(i & 1 ? &p.reference : &p.current, i);
        mvf_searcher_submit(searcher, &current, &reference, 1, NULL);
    }
    mvf_searcher_flush(searcher);
    while (mvf_searcher_receive(searcher, &field) == MVF_OK)
        mvf_field_free(&field);
    printf("truemotion 1080p, effort %s, step %d: %.2f frames/s a core\n",
           effort == MVF_EFFORT_LOW ? "low" : "high", step, N_FRAMES / (cpu_seconds() - start));
    mvf_searcher_close(&searcher);
    close_pair(&p);
}

void bench_truemotion(check_run *run)
{
    for (int i = 0; i < 4; i++)
        bench_setting(run, i & 1 ? 1 : 4, i & 2 ? MVF_EFFORT_LOW : MVF_EFFORT_HIGH);
}
