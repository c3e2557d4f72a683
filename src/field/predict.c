/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/analysis.h>

#include <math.h>

typedef struct sampler {
    const uint8_t *data;
    ptrdiff_t stride_bytes;
    int32_t width, height, is_wide, shift_bits;
} sampler;

static int32_t clamp(int32_t value, int32_t limit)
{
    return value < 0 ? 0 : value < limit ? value : limit - 1;
}

/* The sample at (x, y), or the nearest one of the frame. */
static int32_t sample(const sampler *from, int32_t x, int32_t y)
{
    const uint8_t *row = from->data + clamp(y, from->height) * from->stride_bytes;
    int32_t at = clamp(x, from->width);
    return from->is_wide ? ((const uint16_t *)(const void *)row)[at] >> from->shift_bits : row[at];
}

/* The prediction at (x, y) + mv / scale. */
static double interpolate(const sampler *from, int32_t x, int32_t y, const mvf_block *block,
                          int32_t scale)
{
    int32_t dx = block->mv_x & (scale - 1), dy = block->mv_y & (scale - 1);
    x += (block->mv_x - dx) / scale;
    y += (block->mv_y - dy) / scale;
    double right = (double)dx / scale, below = (double)dy / scale;
    double top = sample(from, x, y), bottom = top;
    if (dx)
        top += right * (sample(from, x + 1, y) - top);
    if (!dy)
        return top;
    bottom = sample(from, x, y + 1);
    if (dx)
        bottom += right * (sample(from, x + 1, y + 1) - bottom);
    return top + below * (bottom - top);
}

static void add_block(const mvf_field *field, const mvf_block *block, const sampler *current,
                      const sampler *reference, mvf_prediction *prediction)
{
    int64_t right = (int64_t)block->x + block->w, bottom = (int64_t)block->y + block->h;
    for (int32_t y = block->y > 0 ? block->y : 0; y < bottom && y < field->height; y++)
        for (int32_t x = block->x > 0 ? block->x : 0; x < right && x < field->width; x++) {
            double error =
                sample(current, x, y) - interpolate(reference, x, y, block, field->mv_scale);
            prediction->squared_error += error * error;
            prediction->n_samples++;
        }
}

static sampler make_sampler(const mvf_field *field, const mvf_picture *picture)
{
    return (sampler){picture->data, picture->stride_bytes, field->width,
                     field->height, field->bit_depth > 8,  picture->shift_bits};
}

mvf_status mvf_field_measure_prediction(const mvf_field *field, int32_t dir,
                                        const mvf_picture *current, const mvf_picture *reference,
                                        mvf_prediction *prediction)
{
    if (!current->data || !reference->data || current->memory != MVF_MEMORY_HOST ||
        reference->memory != MVF_MEMORY_HOST)
        return MVF_ERROR_ARGUMENT;
    sampler from_current = make_sampler(field, current);
    sampler from_reference = make_sampler(field, reference);
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir == dir)
            add_block(field, &field->blocks[i], &from_current, &from_reference, prediction);
    return MVF_OK;
}
