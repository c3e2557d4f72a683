/* SPDX-License-Identifier: BSD-2-Clause */
#include "field/record.h"

static uint8_t *put(uint8_t *to, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

void mvf_record_write_header(uint8_t bytes[MVF_RECORD_HEADER_BYTES], const mvf_field *field)
{
    uint8_t *to = put(bytes, (uint64_t)field->frame, 8);
    to = put(to, (uint64_t)field->pts, 8);
    to = put(to, (uint32_t)field->time_base.num, 4);
    to = put(to, (uint32_t)field->time_base.den, 4);
    to = put(to, (uint32_t)field->width, 4);
    to = put(to, (uint32_t)field->height, 4);
    to = put(to, (uint32_t)field->bit_depth, 1);
    to = put(to, field->type, 1);
    to = put(to, field->source, 2);
    to = put(to, (uint32_t)field->mv_scale, 4);
    to = put(to, field->flags, 4);
    to = put(to, (uint32_t)field->grid.block_w, 2);
    to = put(to, (uint32_t)field->grid.block_h, 2);
    to = put(to, (uint32_t)field->grid.step_x, 2);
    to = put(to, (uint32_t)field->grid.step_y, 2);
    to = put(to, (uint32_t)field->grid.cols, 4);
    to = put(to, (uint32_t)field->grid.rows, 4);
    to = put(to, field->n_references, 4);
    put(to, field->n_blocks, 8);
}

void mvf_record_write_reference(uint8_t bytes[MVF_RECORD_REFERENCE_BYTES],
                                const mvf_reference *reference)
{
    put(put(bytes, (uint64_t)reference->frame, 8), (uint64_t)reference->pts, 8);
}

void mvf_record_write_block(uint8_t bytes[MVF_RECORD_BLOCK_BYTES], const mvf_block *block)
{
    uint8_t *to = put(bytes, (uint32_t)block->x, 4);
    to = put(to, (uint32_t)block->y, 4);
    to = put(to, block->w, 2);
    to = put(to, block->h, 2);
    to = put(to, (uint16_t)block->mv_x, 2);
    to = put(to, (uint16_t)block->mv_y, 2);
    to = put(to, block->cost, 4);
    to = put(to, (uint8_t)block->dir, 1);
    to = put(to, block->flags, 1);
    put(to, (uint16_t)block->ref, 2);
}
