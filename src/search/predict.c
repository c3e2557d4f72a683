/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "search/patch.h"
#include "search/subpel_rule.h"

#define AROUND (MVF_MAX_BLOCK + 2 * MVF_SUBPEL_MARGIN)
#define BLOCK_BYTES (MVF_MAX_BLOCK * (ptrdiff_t)sizeof(uint16_t))

static mvf_status check_blocks(const mvf_field *field)
{
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        if (b->x < 0 || b->y < 0 || b->w > MVF_MAX_BLOCK || b->h > MVF_MAX_BLOCK ||
            b->x > field->width - b->w || b->y > field->height - b->h)
            return MVF_ERROR_ARGUMENT;
        if (b->dir && (b->ref < 0 || (size_t)b->ref >= field->n_references))
            return MVF_ERROR_ARGUMENT;
        if (b->flags & MVF_BLOCK_AVERAGE && i + 1 == field->n_blocks)
            return MVF_ERROR_ARGUMENT;
    }
    return MVF_OK;
}

static mvf_plane view(const mvf_field *field, const mvf_picture *picture)
{
    return (mvf_plane){.origin = (uint8_t *)(uintptr_t)picture->data,
                       .stride_bytes = picture->stride_bytes,
                       .width = field->width,
                       .height = field->height,
                       .bit_depth = field->bit_depth,
                       .sample_bytes = field->bit_depth > 8 ? 2 : 1};
}

static void shift_down(mvf_patch patch, int32_t width, int32_t height, int32_t shift_bits)
{
    for (int32_t y = 0; shift_bits && y < height; y++) {
        uint16_t *row = mvf_patch_at(patch, 0, y);
        for (int32_t x = 0; x < width; x++)
            row[x] = (uint16_t)(row[x] >> shift_bits);
    }
}

static void predict_block(const mvf_field *field, const mvf_block *block,
                          const mvf_picture *references, mvf_predict_function predict, mvf_patch to)
{
    uint16_t samples[AROUND * AROUND];
    const mvf_patch around = {samples, AROUND * sizeof *samples};
    mvf_plane plane = view(field, &references[block->ref]);
    int32_t w = block->w + 2 * MVF_SUBPEL_MARGIN, h = block->h + 2 * MVF_SUBPEL_MARGIN;
    int32_t x = block->mv_x * (4 / field->mv_scale), y = block->mv_y * (4 / field->mv_scale);
    mvf_patch_gather(around, &plane, block->x + (x >> 2) - MVF_SUBPEL_MARGIN,
                     block->y + (y >> 2) - MVF_SUBPEL_MARGIN, w, h);
    shift_down(around, w, h, references[block->ref].shift_bits);
    predict(to, mvf_patch_move(around, MVF_SUBPEL_MARGIN, MVF_SUBPEL_MARGIN), block->w, block->h,
            x & 3, y & 3, field->bit_depth);
}

static void store(const mvf_field *field, const mvf_block *block, mvf_patch from, uint8_t *plane,
                  ptrdiff_t stride_bytes)
{
    for (int32_t y = 0; y < block->h; y++) {
        uint8_t *row = plane + (block->y + y) * stride_bytes;
        const uint16_t *samples = mvf_patch_at(from, 0, y);
        for (int32_t x = 0; x < block->w; x++) {
            if (field->bit_depth > 8)
                ((uint16_t *)row)[block->x + x] = samples[x];
            else
                row[block->x + x] = (uint8_t)samples[x];
        }
    }
}

mvf_status mvf_field_predict(const mvf_field *field, const mvf_picture *references,
                             mvf_interpolation filter, void *plane, ptrdiff_t stride_bytes)
{
    uint16_t samples[2][MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    const mvf_patch first = {samples[0], BLOCK_BYTES}, second = {samples[1], BLOCK_BYTES};
    mvf_predict_function predict = mvf_predict_select(filter, MVF_CPU_BEST);
    if (field->mv_scale != 1 && field->mv_scale != 2 && field->mv_scale != 4)
        return MVF_ERROR_UNSUPPORTED;
    MVF_TRY(check_blocks(field));
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        if (!block->dir)
            continue;
        predict_block(field, block, references, predict, first);
        if (block->flags & MVF_BLOCK_AVERAGE) {
            predict_block(field, &field->blocks[++i], references, predict, second);
            mvf_patch_average(first, second, block->w, block->h);
        }
        store(field, block, first, plane, stride_bytes);
    }
    return MVF_OK;
}
