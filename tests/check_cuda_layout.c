/*
 * What the CUDA engine decides without a device: which row of the launch table serves, and planes
 * large enough for every address that its kernels touch. Each kernel's reads are followed here from
 * its parameters; no device is needed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernels.h"
#include "search/launch_cuda.h"

/* Capability, and the dynamic shared memory that one thread block may have. */
static const mvf_cuda devices[] = {
    {.compute_capability = 75, .shared_bytes = 65536, .multiprocessors = 40},
    {.compute_capability = 80, .shared_bytes = 166912, .multiprocessors = 108},
    {.compute_capability = 86, .shared_bytes = 101376, .multiprocessors = 84},
    {.compute_capability = 89, .shared_bytes = 101376, .multiprocessors = 128},
    {.compute_capability = 90, .shared_bytes = 232448, .multiprocessors = 132},
    {.compute_capability = 100, .shared_bytes = 232448, .multiprocessors = 148},
    {.compute_capability = 120, .shared_bytes = 101376, .multiprocessors = 170},
};
#define N_DEVICES (sizeof devices / sizeof devices[0])

typedef struct layout_case {
    int32_t width, height, bit_depth, block_w, block_h, step, range_x, range_y;
} layout_case;

static mvf_search_config configure(const layout_case *c)
{
    mvf_search_config config = {.width = 0};
    mvf_options options;
    mvf_options_init(&options);
    options.block_w = c->block_w;
    options.block_h = c->block_h;
    options.step_x = options.step_y = c->step;
    options.range_x = c->range_x;
    options.range_y = c->range_y;
    if (mvf_search_configure(&config, &options, c->width, c->height, c->bit_depth) != MVF_OK) {
        fprintf(stderr, "check_kernels: a case that cannot be searched\n");
        exit(1);
    }
    return config;
}

/* Whether n_cols x n_rows samples at (x, y) are the plane's own, none in the row after. */
static int holds(const mvf_cuda_layout *layout, const mvf_search_config *config, int64_t x,
                 int64_t y, int64_t n_cols, int64_t n_rows)
{
    return x >= -layout->left && y >= -layout->top &&
           (layout->left + x + n_cols) * config->sample_bytes <= layout->stride_bytes &&
           layout->top + y + n_rows <= layout->n_rows;
}

/* As holds(), for copies of 16 bytes. */
static int holds_words(const mvf_cuda_layout *layout, const mvf_search_config *config, int64_t x,
                       int64_t y, int64_t n_cols, int64_t n_rows)
{
    return (layout->origin_bytes + y * layout->stride_bytes + x) % MVF_FULL_COPY_BYTES == 0 &&
           layout->stride_bytes % MVF_FULL_COPY_BYTES == 0 && n_cols % MVF_FULL_COPY_BYTES == 0 &&
           holds(layout, config, x, y, n_cols, n_rows);
}

/* One axis: every vector lies in a window. */
static int covers(int32_t range, int32_t origin, int32_t n_windows)
{
    int covered = 1;
    for (int32_t v = -range; v <= range; v++) {
        int found = 0;
        for (int32_t i = 0; i < n_windows; i++)
            found |= v >= origin + 64 * i && v <= origin + 64 * i + 64;
        covered &= found;
    }
    return covered;
}

/* What one of the two kernels for 16x16 blocks copies: units of unit_rows rows of blocks. */
static int full_reads_inside(const mvf_cuda_layout *layout, const mvf_search_config *config,
                             const mvf_full_params *p, int32_t unit_rows)
{
    int ok = 1;
    for (int32_t row = 0; row * unit_rows < p->rows; row++)
        for (int32_t col = 0; col * 4 < p->cols; col++) {
            int32_t x = 64 * col, y = 16 * unit_rows * row;
            ok &= holds_words(layout, config, x, y, 64, 16 * unit_rows);
            for (int32_t i = 0; i < p->n_windows_x * p->n_windows_y; i++)
                ok &= holds_words(layout, config, x + p->origin_x + 64 * (i % p->n_windows_x),
                                  y + p->origin_y + 64 * (i / p->n_windows_x), 128,
                                  16 * unit_rows + 64);
        }
    return ok;
}

static void check_full(check_run *run, const layout_case *c)
{
    char what[128];
    mvf_search_config config = configure(c);
    mvf_cuda_layout layout = mvf_cuda_plane_layout(&config);
    for (int32_t row = MVF_SHAPE_ELIMINATE; row <= MVF_SHAPE_EXHAUST; row++) {
        mvf_launch_plan plan;
        config.first_shape = row;
        mvf_launch_plan_choose(&plan, &devices[4], &config, layout.stride_bytes);
        const mvf_full_params *p = &plan.full_params;
        snprintf(what, sizeof what, "cuda layout: %dx%d, range %dx%d, row %d", c->width, c->height,
                 c->range_x, c->range_y, row);
        int ok = p->stride_bytes == layout.stride_bytes && p->cols == (c->width + 15) / 16 &&
                 p->rows == (c->height + 15) / 16 && p->every_group == (row == MVF_SHAPE_EXHAUST);
        ok = ok && covers(c->range_x, p->origin_x, p->n_windows_x) &&
             covers(c->range_y, p->origin_y, p->n_windows_y) &&
             full_reads_inside(&layout, &config, p, 4) && full_reads_inside(&layout, &config, p, 2);
        size_t n_groups = (size_t)((p->rows + 3) / 4 * 2) * (size_t)((p->cols + 3) / 4);
        if (p->rows % 4 == 1 || p->rows % 4 == 2)
            n_groups -= (size_t)((p->cols + 3) / 4);
        ok = ok && mvf_launch_scratch_bytes(&plan, &config, 31) >= 16 + 31 * 8 * n_groups;
        check_result(run, ok, what);
    }
}

/* The general kernels: words of a block and the one after, words of every panel's windows. */
static void check_general(check_run *run, const layout_case *c)
{
    char what[128];
    mvf_search_config config = configure(c);
    mvf_cuda_layout layout = mvf_cuda_plane_layout(&config);
    int ok = 1;
    for (int32_t row = 0; row < config.rows; row++)
        for (int32_t col = 0; col < config.cols; col++) {
            int32_t x = col * config.step_x, y = row * config.step_y;
            int32_t w = mvf_rule_visible(x, config.block_w, config.width);
            int32_t h = mvf_rule_visible(y, config.block_h, config.height);
            int32_t first_x = (x - config.range_x) & ~3;
            int32_t n_groups = (x + config.range_x - first_x) / 4 + 1;
            ok &= holds(&layout, &config, x & ~3, y, config.block_w + 4, h);
            ok &= holds(&layout, &config, first_x, y - config.range_y,
                        4 * n_groups + config.block_w, 2 * config.range_y + h);
            ok &= w > 0 && (layout.origin_bytes + first_x * config.sample_bytes) % 4 == 0;
        }
    snprintf(what, sizeof what, "cuda layout: %dx%d %d bit, blocks %dx%d, range %dx%d", c->width,
             c->height, c->bit_depth, c->block_w, c->block_h, c->range_x, c->range_y);
    check_result(run, ok, what);
}

static const char *kernel_for(const mvf_cuda *device, const layout_case *c)
{
    mvf_launch_plan plan;
    mvf_search_config config = configure(c);
    mvf_launch_plan_choose(&plan, device, &config, 4096);
    return plan.shape->kernels[0].name;
}

static void check_choice(check_run *run)
{
    static const layout_case wide = {320, 240, 8, 16, 16, 16, 32, 32};
    static const layout_case narrow = {320, 240, 8, 16, 16, 16, 16, 16};
    static const layout_case others[] = {
        {320, 240, 10, 16, 16, 16, 32, 32}, {320, 240, 8, 16, 8, 0, 32, 32},
        {320, 240, 8, 16, 16, 8, 32, 32},   {320, 240, 8, 32, 32, 32, 32, 32},
        {320, 240, 8, 16, 16, 16, 128, 32}, {320, 240, 8, 16, 16, 16, 32, 128},
    };
    for (size_t i = 0; i < N_DEVICES; i++) {
        const mvf_cuda *d = &devices[i];
        const char *large = d->shared_bytes > 113424     ? "search_eliminate"
                            : d->compute_capability > 75 ? "search_exhaust"
                                                         : "search_8_w4_warp";
        const char *small = d->shared_bytes > 113424 ? "search_eliminate" : "search_8_w4_warp";
        check_result(run, !strcmp(kernel_for(d, &wide), large), "cuda layout: kernel at +-32");
        check_result(run, !strcmp(kernel_for(d, &narrow), small), "cuda layout: kernel at +-16");
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            const char *name = kernel_for(d, &others[k]);
            check_result(run, !strncmp(name, "search_8_", 9) || !strncmp(name, "search_16_", 10),
                         "cuda layout: kernel of other shapes");
        }
    }
}

void check_cuda_layout(check_run *run)
{
    static const int32_t sizes[] = {1, 5, 15, 16, 17, 63, 64, 65, 203, 321, 1080, 1920, 8192};
    static const int32_t blocks[] = {4, 8, 16, 32, 64};
    check_choice(run);
    for (int32_t range = 0; range <= 127; range++)
        for (int i = 0; i < 4; i++) {
            int32_t w = sizes[check_random(run) % 13], h = sizes[check_random(run) % 13];
            layout_case c = {w,  h,  8,     16,
                             16, 16, range, i ? (int32_t)(check_random(run) % 128) : range};
            if (i == 1)
                c.width = 1 + (int32_t)(check_random(run) % 700);
            check_full(run, &c);
        }
    for (int i = 0; i < 500; i++) {
        layout_case c = {1 + (int32_t)(check_random(run) % 400),
                         1 + (int32_t)(check_random(run) % 400),
                         i % 3 ? 8 : 12,
                         blocks[check_random(run) % 5],
                         blocks[check_random(run) % 5],
                         1 + (int32_t)(check_random(run) % 4),
                         (int32_t)(check_random(run) % 257),
                         (int32_t)(check_random(run) % 257)};
        check_general(run, &c);
    }
}
