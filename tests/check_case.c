/*
 * The cases of whole searches: pictures and options.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "check_kernels.h"

const check_case check_hier_cases[CHECK_HIER_CASES] = {
    {160, 96, 8, 16, 16, 0, 0, 64, 64, MVF_EDGES_CLAMP, FILL_TEXTURE},
    {163, 91, 8, 16, 16, 0, 0, 64, 64, MVF_EDGES_INSIDE, FILL_TEXTURE},
    {90, 70, 8, 16, 16, 0, 0, 256, 256, MVF_EDGES_CLAMP, FILL_NOISE},
    {1, 1, 8, 64, 64, 0, 0, 256, 256, MVF_EDGES_CLAMP, FILL_NOISE},
    {1, 1, 16, 4, 4, 0, 0, 0, 0, MVF_EDGES_INSIDE, FILL_NOISE},
    {130, 67, 10, 32, 8, 0, 0, 100, 40, MVF_EDGES_CLAMP, FILL_EXTREMES},
};

check_case check_case_random(check_run *run, int32_t max_width, int32_t max_height)
{
    static const int32_t sizes[] = {4, 8, 16, 32, 64};
    check_case c = {.width = 1 + (int32_t)(check_random(run) % (uint32_t)max_width),
                    .height = 1 + (int32_t)(check_random(run) % (uint32_t)max_height),
                    .bit_depth = 8,
                    .block_w = sizes[check_random(run) % 5],
                    .block_h = sizes[check_random(run) % 5],
                    .edges = check_random(run) & 1 ? MVF_EDGES_INSIDE : MVF_EDGES_CLAMP,
                    .fill = (check_fill)(check_random(run) % N_FILLS)};
    if (check_random(run) % 3 == 0)
        c.bit_depth = 9 + (int32_t)(check_random(run) % 8);
    if (check_random(run) % 4 == 0) {
        c.step_x = c.block_w - (int32_t)(check_random(run) % 3);
        c.step_y = c.block_h / 2;
    }
    return c;
}

mvf_options check_case_options(const check_run *run, const check_case *c)
{
    mvf_options options;
    mvf_options_init(&options);
    options.logger = run->logger;
    options.block_w = c->block_w;
    options.block_h = c->block_h;
    options.step_x = c->step_x;
    options.step_y = c->step_y;
    options.range_x = c->range_x;
    options.range_y = c->range_y;
    options.edges = c->edges;
    return options;
}

void check_case_describe(char *text, size_t size, const check_case *c, const char *engine)
{
    snprintf(text, size, "%s: %dx%d %d bit, blocks %dx%d step %dx%d, range %dx%d, edges %s, %s",
             engine, c->width, c->height, c->bit_depth, c->block_w, c->block_h, c->step_x,
             c->step_y, c->range_x, c->range_y, c->edges == MVF_EDGES_INSIDE ? "inside" : "clamp",
             check_fill_name(c->fill));
}

void check_case_alloc_planes(check_run *run, const check_case *c, check_plane *planes, int n,
                             int32_t phase)
{
    for (int i = 0; i < n; i++) {
        check_plane_alloc(run, &planes[i], c->width, c->height, c->bit_depth);
        check_plane_fill(run, &planes[i], c->fill, phase * i);
    }
}

void check_case_free_planes(check_plane *planes, int n)
{
    for (int i = 0; i < n; i++)
        check_plane_free(&planes[i]);
}
