/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include <mvfield/search.h>

void mvf_guides_init(mvf_guides *guides)
{
    *guides = (mvf_guides){.struct_size = sizeof *guides};
}

uint32_t mvf_lambda_q4(int32_t qp)
{
    qp = qp < 0 ? 0 : qp > 81 ? 81 : qp;
    double lambda = floor(exp2((qp - 12) / 6.0) + 0.5);
    return 16 * (uint32_t)(lambda < 1 ? 1 : lambda);
}

/* Quarter samples, rounded to nearest, halves up. */
static int16_t to_quarters(int32_t mv, int32_t scale)
{
    int32_t twice = 8 * mv + scale, by = 2 * scale;
    int32_t rounded = twice >= 0 ? twice / by : -((by - 1 - twice) / by);
    return (int16_t)(rounded < INT16_MIN ? INT16_MIN : rounded > INT16_MAX ? INT16_MAX : rounded);
}

static int32_t divide_up(int32_t value, int32_t by)
{
    return value <= 0 ? 0 : (value + by - 1) / by;
}

/* The grid's first block whose centre is at or right of `x` (or below it). */
static int32_t first_centre(int32_t x, int32_t block, int32_t step, int32_t count)
{
    int32_t first = divide_up(x - block / 2, step);
    return first < count ? first : count;
}

static void mark(const mvf_field *field, const mvf_block *block, const mvf_grid *grid,
                 mvf_vector *vectors, size_t stride)
{
    mvf_vector v = {to_quarters(block->mv_x, field->mv_scale),
                    to_quarters(block->mv_y, field->mv_scale)};
    int32_t left = first_centre(block->x, grid->block_w, grid->step_x, grid->cols);
    int32_t right = first_centre(block->x + block->w, grid->block_w, grid->step_x, grid->cols);
    int32_t top = first_centre(block->y, grid->block_h, grid->step_y, grid->rows);
    int32_t bottom = first_centre(block->y + block->h, grid->block_h, grid->step_y, grid->rows);
    /* A block at the frame's edge stands for grid blocks whose centre is beyond it. */
    if (block->x + block->w >= field->width)
        right = grid->cols;
    if (block->y + block->h >= field->height)
        bottom = grid->rows;
    for (int32_t row = top; row < bottom; row++)
        for (int32_t col = left; col < right; col++)
            vectors[((size_t)row * (size_t)grid->cols + (size_t)col) * stride] = v;
}

void mvf_guides_from_field(const mvf_field *field, int8_t dir, const mvf_grid *grid,
                           mvf_vector *vectors, size_t stride)
{
    size_t n = (size_t)grid->cols * (size_t)grid->rows;
    for (size_t i = 0; i < n; i++)
        vectors[i * stride] = (mvf_vector){0, 0};
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir == dir)
            mark(field, &field->blocks[i], grid, vectors, stride);
}
