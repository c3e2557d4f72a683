/*
 * Method hier on CUDA against the CPU: every level of a plane and the matches of every level, from
 * the launches alone; then whole engines, on larger frames than check_hier.c's oracle can take.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"
#include "cuda/device.h"
#include "search/full.h"
#include "search/hier.h"
#include "search/hier_cuda.h"
#include "search/pyramid.h"

#define N_RANGES 11
/* Pairs of one batch: that of two planes, and the reverse. */
#define N_PAIRS 2

/* Both planes and the matches of both pairs, level by level. */
typedef struct levels {
    mvf_plane planes[2][MVF_HIER_MAX_LEVELS];
    mvf_match *matches[N_PAIRS][MVF_HIER_MAX_LEVELS];
} levels;

/* The same on the device, and copies of it here. */
typedef struct device_levels {
    mvf_cuda *cuda;
    mvf_hier_plan plan;
    mvf_cuda_layout layout;
    CUdeviceptr planes[2], scratch, answers;
    uint8_t *copies[2], *scratch_copy, *answers_copy;
} device_levels;

static void give_up(const char *what)
{
    fprintf(stderr, "check_kernels: %s\n", what);
    exit(1);
}

static void *allocate(size_t n_bytes)
{
    void *memory = calloc(1, n_bytes + 1);
    if (!memory)
        give_up("out of memory");
    return memory;
}

static void require(mvf_status status, const char *what)
{
    if (status != MVF_OK)
        give_up(what);
}

/* The CPU's levels. */

static void fill_levels(levels *l, const mvf_search_config *config, int32_t top,
                        const mvf_search_kernels *kernels, const mvf_picture *pictures)
{
    for (int i = 0; i < 2; i++) {
        mvf_plane *planes = l->planes[i];
        for (int32_t level = 0; level <= top; level++)
            require(mvf_pyramid_alloc(&planes[level], config->width, config->height,
                                      config->bit_depth, config->range_x, config->range_y, level),
                    "no plane");
        mvf_plane_load(&planes[0], &pictures[i]);
        mvf_plane_extend_sides(&planes[0], 0, planes[0].height);
        mvf_plane_extend_ends(&planes[0]);
        for (int32_t level = 1; level <= top; level++)
            mvf_pyramid_halve(kernels, &planes[level - 1], &planes[level]);
    }
}

static void search_levels(levels *l, const mvf_search_config *config)
{
    mvf_search_kernels kernels;
    mvf_hier hier;
    mvf_full_config frame = mvf_full_configure(config, config->rows);
    mvf_search_kernels_init(&kernels, config->sample_bytes, MVF_CPU_C);
    mvf_hier_init(&hier, &frame);
    const mvf_full_config *top = &hier.levels[hier.top];
    mvf_full_scratch *scratch = mvf_full_scratch_open(top, &kernels);
    if (!scratch)
        give_up("out of memory");
    for (int pair = 0; pair < N_PAIRS; pair++)
        for (int32_t level = hier.top; level >= 0; level--) {
            const mvf_full_config *c = &hier.levels[level];
            const mvf_plane *current = &l->planes[!pair][level];
            const mvf_plane *reference = &l->planes[pair][level];
            mvf_match *matches = allocate((size_t)c->cols * (size_t)c->rows * sizeof *matches);
            l->matches[pair][level] = matches;
            if (level == hier.top)
                mvf_full_search_rows(c, &kernels, current, reference, 0, c->rows, scratch, matches);
            else
                mvf_hier_search_rows(&hier, level, &kernels, current, reference, 0, c->rows,
                                     l->matches[pair][level + 1], matches);
        }
    mvf_full_scratch_close(&scratch);
}

static void free_levels(levels *l)
{
    for (int i = 0; i < 2; i++)
        for (int32_t level = 0; level < MVF_HIER_MAX_LEVELS; level++) {
            mvf_plane_free(&l->planes[i][level]);
            free(l->matches[i][level]);
        }
}

/* The device's levels. */

static int32_t clamp(int32_t value, int32_t top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

/* The frame with borders, as the engine's own kernel would leave it. */
static void pad_frame(const device_levels *d, const mvf_search_config *config,
                      const mvf_plane *frame, uint8_t *to)
{
    const mvf_cuda_layout *layout = &d->layout;
    int32_t size = config->sample_bytes;
    for (int32_t y = -layout->top; y < config->height + layout->bottom; y++)
        for (int32_t x = -layout->left; x < config->width + layout->right; x++)
            memcpy(to + layout->origin_bytes + y * layout->stride_bytes + (ptrdiff_t)x * size,
                   mvf_plane_at(frame, clamp(x, config->width - 1), clamp(y, config->height - 1)),
                   (size_t)size);
}

static void run_launches(device_levels *d, size_t answer_bytes)
{
    mvf_cuda *cuda = d->cuda;
    mvf_search_pair pairs[N_PAIRS];
    CUdeviceptr frames[2];
    for (int i = 0; i < N_PAIRS; i++)
        pairs[i] = (mvf_search_pair){
            .current = d->planes[!i] + (CUdeviceptr)d->layout.origin_bytes,
            .reference = d->planes[i] + (CUdeviceptr)d->layout.origin_bytes,
            .matches = d->answers + (CUdeviceptr)((size_t)i * answer_bytes / N_PAIRS)};
    for (int i = 0; i < 2; i++) {
        frames[i] = d->planes[i] + (CUdeviceptr)d->layout.origin_bytes;
        require(mvf_cuda_check(cuda,
                               cuda->driver.cuMemcpyHtoDAsync_v2(d->planes[i], d->copies[i],
                                                                 d->plan.plane_bytes, NULL),
                               "upload"),
                "no upload");
    }
    require(mvf_hier_build(cuda, &d->plan, frames, 2, NULL), "no levels");
    require(mvf_hier_launch(cuda, &d->plan, pairs, N_PAIRS, d->scratch, NULL), "no launch");
}

static void download(const device_levels *d, void *to, CUdeviceptr from, size_t n_bytes)
{
    require(mvf_cuda_check(d->cuda, d->cuda->driver.cuMemcpyDtoH_v2(to, from, n_bytes), "download"),
            "no download");
}

static void open_device(device_levels *d, const mvf_search_config *config, const levels *l)
{
    mvf_cuda_driver *driver = &d->cuda->driver;
    d->layout = mvf_cuda_plane_layout(config);
    require(mvf_hier_plan_open(&d->plan, d->cuda, config, &d->layout), "no plan");
    size_t answer_bytes = N_PAIRS * config->n_matches * sizeof(mvf_match);
    size_t scratch_bytes = mvf_hier_scratch_bytes(&d->plan, N_PAIRS);
    for (int i = 0; i < 2; i++) {
        d->copies[i] = allocate(d->plan.plane_bytes);
        pad_frame(d, config, &l->planes[i][0], d->copies[i]);
        if (driver->cuMemAlloc_v2(&d->planes[i], d->plan.plane_bytes) != CUDA_SUCCESS)
            give_up("no device memory");
    }
    if (driver->cuMemAlloc_v2(&d->scratch, scratch_bytes) != CUDA_SUCCESS ||
        driver->cuMemAlloc_v2(&d->answers, answer_bytes) != CUDA_SUCCESS)
        give_up("no device memory");
    run_launches(d, answer_bytes);
    d->scratch_copy = allocate(scratch_bytes);
    d->answers_copy = allocate(answer_bytes);
    for (int i = 0; i < 2; i++)
        download(d, d->copies[i], d->planes[i], d->plan.plane_bytes);
    download(d, d->scratch_copy, d->scratch, scratch_bytes);
    download(d, d->answers_copy, d->answers, answer_bytes);
}

static void close_device(device_levels *d)
{
    for (int i = 0; i < 2; i++) {
        d->cuda->driver.cuMemFree_v2(d->planes[i]);
        free(d->copies[i]);
    }
    d->cuda->driver.cuMemFree_v2(d->scratch);
    d->cuda->driver.cuMemFree_v2(d->answers);
    free(d->scratch_copy);
    free(d->answers_copy);
    mvf_hier_plan_close(&d->plan, d->cuda);
}

/* Comparisons. */

/* A level with its border, all of which repeats the edge. */
static int same_level(const device_levels *d, int i, int32_t level, const mvf_plane *expected)
{
    const mvf_hier_plane *plane = &d->plan.planes[level];
    const uint8_t *begin = d->copies[i] + d->layout.origin_bytes + plane->begin_bytes;
    int32_t n_cols = (int32_t)(plane->stride_bytes / expected->sample_bytes);
    for (int32_t row = 0; row < plane->n_rows; row++)
        for (int32_t col = 0; col < n_cols; col++) {
            int32_t x = clamp(col - plane->left, plane->width - 1);
            int32_t y = clamp(row - plane->top, plane->height - 1);
            if (!memcmp(begin + row * plane->stride_bytes + (ptrdiff_t)col * expected->sample_bytes,
                        mvf_plane_at(expected, x, y), (size_t)expected->sample_bytes))
                continue;
            fprintf(stderr, "plane %d, level %d differs at (%d,%d)\n", i, level, col - plane->left,
                    row - plane->top);
            return 0;
        }
    return 1;
}

static uint32_t cell_sum(const mvf_plane *plane, int32_t x, int32_t y, int32_t w, int32_t h)
{
    uint32_t sum = 0;
    for (int32_t j = y; j < y + h; j++)
        for (int32_t i = x; i < x + w; i++) {
            const uint8_t *at =
                mvf_plane_at(plane, clamp(i, plane->width - 1), clamp(j, plane->height - 1));
            sum += plane->sample_bytes == 1 ? *at : *(const uint16_t *)(const void *)at;
        }
    return sum;
}

static int same_sums(const device_levels *d, int i, const mvf_plane *plane)
{
    const mvf_cell_params *cells = &d->plan.cells;
    const mvf_hier_plane *top = &d->plan.planes[d->plan.top_level];
    const uint8_t *begin = d->copies[i] + d->layout.origin_bytes + cells->to;
    for (int32_t row = 0; row < d->plan.n_cell_rows; row++)
        for (int32_t col = 0; col < cells->n_cols; col++) {
            uint16_t sum;
            memcpy(&sum, begin + row * cells->to_stride_bytes + (ptrdiff_t)col * 2, sizeof sum);
            if (sum ==
                cell_sum(plane, col - top->left, row - top->top, cells->cell_w, cells->cell_h) >>
                    cells->shift)
                continue;
            fprintf(stderr, "plane %d: the sum of cells at (%d,%d) differs\n", i, col - top->left,
                    row - top->top);
            return 0;
        }
    return 1;
}

static int same_matches(const device_levels *d, int pair, int32_t level, const mvf_match *expected,
                        size_t n_matches)
{
    const uint8_t *from = d->answers_copy + (size_t)pair * n_matches * sizeof *expected;
    if (level)
        from = d->scratch_copy + pair * d->plan.pair_bytes + d->plan.first_bytes[level];
    for (size_t i = 0; i < n_matches; i++) {
        mvf_match match;
        memcpy(&match, from + i * sizeof match, sizeof match);
        if (match.x == expected[i].x && match.y == expected[i].y && match.cost == expected[i].cost)
            continue;
        fprintf(stderr,
                "pair %d, level %d, block %zu: (%d,%d) cost %u instead of (%d,%d) cost %u\n", pair,
                level, i, match.x, match.y, match.cost, expected[i].x, expected[i].y,
                expected[i].cost);
        return 0;
    }
    return 1;
}

static void compare_levels(check_run *run, const device_levels *d, const levels *l,
                           const mvf_search_config *config, const char *what)
{
    char text[256];
    int same = 1;
    for (int i = 0; i < 2; i++) {
        for (int32_t level = 1; level <= d->plan.top_level; level++)
            same &= same_level(d, i, level, &l->planes[i][level]);
        same &= same_sums(d, i, &l->planes[i][d->plan.top_level]);
    }
    snprintf(text, sizeof text, "%s: the levels of planes", what);
    check_result(run, same, text);
    for (int32_t level = d->plan.top_level; level >= 0; level--) {
        size_t n = (size_t)mvf_rule_level_cells(config->cols, level) *
                   (size_t)mvf_rule_level_cells(config->rows, level);
        snprintf(text, sizeof text, "%s: level %d of %d", what, level, d->plan.top_level);
        check_result(run,
                     same_matches(d, 0, level, l->matches[0][level], n) &&
                         same_matches(d, 1, level, l->matches[1][level], n),
                     text);
    }
}

static mvf_options hier_options(const check_run *run, const check_case *c)
{
    mvf_options options = check_case_options(run, c);
    options.method = MVF_METHOD_HIER;
    options.cpu_level = MVF_CPU_C;
    return options;
}

static void check_levels(check_run *run, mvf_cuda *cuda, const check_case *c)
{
    char what[160];
    check_plane planes[2];
    mvf_search_config config;
    mvf_search_kernels kernels;
    levels l = {.planes = {{{.origin = NULL}}}};
    device_levels d = {.cuda = cuda};
    mvf_options options = hier_options(run, c);
    if (!check_takes(run))
        return;
    require(mvf_search_configure(&config, &options, c->width, c->height, c->bit_depth), "no case");
    check_case_alloc_planes(run, c, planes, 2, 5);
    mvf_picture pictures[2] = {check_plane_picture(&planes[0], 0),
                               check_plane_picture(&planes[1], 1)};
    mvf_search_kernels_init(&kernels, config.sample_bytes, MVF_CPU_C);
    fill_levels(&l, &config, mvf_rule_top_level(c->range_x, c->range_y), &kernels, pictures);
    search_levels(&l, &config);
    open_device(&d, &config, &l);
    check_case_describe(what, sizeof what, c, "cuda hier");
    compare_levels(run, &d, &l, &config, what);
    close_device(&d);
    free_levels(&l);
    check_case_free_planes(planes, 2);
}

void check_cuda_hier_levels(check_run *run)
{
    static const check_case cases[] = {
        {16, 16, 8, 16, 16, 0, 0, 8, 8, MVF_EDGES_CLAMP, FILL_NOISE},
        {130, 150, 16, 64, 64, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_EXTREMES},
        {150, 67, 16, 64, 64, 0, 0, 32, 64, MVF_EDGES_INSIDE, FILL_NOISE},
        {97, 65, 8, 8, 8, 3, 5, 40, 24, MVF_EDGES_CLAMP, FILL_FLAT},
        {300, 200, 8, 64, 64, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {259, 190, 8, 64, 32, 0, 0, 128, 128, MVF_EDGES_INSIDE, FILL_TEXTURE},
        {320, 176, 10, 32, 64, 0, 0, 60, 60, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {64, 64, 8, 16, 16, 1, 1, 64, 64, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {200, 160, 8, 16, 16, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_FAINT},
        {200, 160, 10, 32, 32, 0, 0, 64, 64, MVF_EDGES_INSIDE, FILL_FAINT},
        {5, 200, 8, 16, 16, 0, 0, 33, 100, MVF_EDGES_INSIDE, FILL_STRIPES},
    };
    static const int32_t ranges[N_RANGES] = {0, 1, 7, 16, 32, 33, 64, 70, 128, 150, 256};
    mvf_cuda cuda;
    require(mvf_cuda_open(&cuda, 0, &run->logger), "no device");
    require(mvf_cuda_enter(&cuda), "no context");
    for (size_t i = 0; i < CHECK_HIER_CASES; i++)
        check_levels(run, &cuda, &check_hier_cases[i]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_levels(run, &cuda, &cases[i]);
    for (int i = 0; i < (run->small ? 25 : 100); i++) {
        check_case c = check_case_random(run, 140, 100);
        c.range_x = ranges[check_random(run) % N_RANGES];
        c.range_y = ranges[check_random(run) % N_RANGES];
        if (i % 5 == 0) {
            c.step_x = 1 + (int32_t)(check_random(run) % (uint32_t)c.block_w);
            c.step_y = 1 + (int32_t)(check_random(run) % (uint32_t)c.block_h);
        }
        check_levels(run, &cuda, &c);
    }
    mvf_cuda_leave(&cuda);
    mvf_cuda_close(&cuda);
}

/* Whole engines. */

static mvf_field *search_pair(const check_run *run, const check_case *c, mvf_backend backend,
                              mvf_subpel subpel, const check_plane *planes)
{
    mvf_options options = hier_options(run, c);
    mvf_picture current = check_plane_picture(&planes[1], 1);
    mvf_picture reference = check_plane_picture(&planes[0], 0);
    mvf_field *field;
    options.backend = backend;
    options.subpel = subpel;
    options.refine_metric = MVF_METRIC_SATD;
    mvf_search(&options, c->width, c->height, c->bit_depth, &current, &reference, &field);
    return field;
}

static int same_blocks(const mvf_field *a, const mvf_field *b)
{
    for (size_t i = 0; a && b && i < a->n_blocks; i++)
        if (a->blocks[i].cost != b->blocks[i].cost || a->blocks[i].mv_x != b->blocks[i].mv_x ||
            a->blocks[i].mv_y != b->blocks[i].mv_y) {
            fprintf(stderr, "block %zu: (%d,%d) cost %u instead of (%d,%d) cost %u\n", i,
                    a->blocks[i].mv_x, a->blocks[i].mv_y, a->blocks[i].cost, b->blocks[i].mv_x,
                    b->blocks[i].mv_y, b->blocks[i].cost);
            return 0;
        }
    return a && b && a->n_blocks == b->n_blocks;
}

static void check_pair(check_run *run, const check_case *c, mvf_subpel subpel)
{
    char what[160];
    check_plane planes[2];
    check_case_alloc_planes(run, c, planes, 2, 5);
    mvf_field *expected = search_pair(run, c, MVF_BACKEND_CPU, subpel, planes);
    mvf_field *field = search_pair(run, c, MVF_BACKEND_CUDA, subpel, planes);
    check_case_describe(what, sizeof what, c,
                        subpel == MVF_SUBPEL_NONE ? "cuda hier" : "cuda hier, quarter samples");
    check_result(run, same_blocks(field, expected), what);
    mvf_field_free(&field);
    mvf_field_free(&expected);
    check_case_free_planes(planes, 2);
}

void check_cuda_hier(check_run *run)
{
    static const check_case cases[] = {
        {640, 360, 8, 16, 16, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {641, 359, 10, 16, 16, 0, 0, 64, 64, MVF_EDGES_INSIDE, FILL_TEXTURE},
        {400, 240, 8, 8, 8, 0, 0, 200, 100, MVF_EDGES_CLAMP, FILL_STRIPES},
        {400, 240, 12, 64, 64, 0, 0, 256, 256, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {320, 240, 8, 4, 4, 0, 0, 20, 20, MVF_EDGES_CLAMP, FILL_NOISE},
        {320, 240, 8, 32, 32, 8, 8, 64, 64, MVF_EDGES_INSIDE, FILL_FLAT},
    };
    static const check_case large_cases[] = {
        {1920, 1080, 8, 16, 16, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_NOISE},
        {1919, 1079, 10, 16, 16, 0, 0, 64, 64, MVF_EDGES_INSIDE, FILL_TEXTURE},
        {1920, 1080, 16, 64, 64, 0, 0, 256, 256, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {8192, 8192, 8, 64, 64, 0, 0, 8, 8, MVF_EDGES_CLAMP, FILL_EXTREMES},
        {8192, 17, 8, 8, 8, 0, 0, 256, 4, MVF_EDGES_CLAMP, FILL_TEXTURE},
        {17, 8192, 12, 4, 8, 1, 1, 7, 130, MVF_EDGES_CLAMP, FILL_TEXTURE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_pair(run, &cases[i], MVF_SUBPEL_NONE);
        check_pair(run, &cases[i], MVF_SUBPEL_QUARTER);
    }
    for (size_t i = 0; !run->small && i < sizeof large_cases / sizeof large_cases[0]; i++)
        check_pair(run, &large_cases[i], MVF_SUBPEL_NONE);
}
