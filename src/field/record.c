/* SPDX-License-Identifier: BSD-2-Clause */
#include "field/record.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "field/check.h"

/* Of byte 35. */
#define HAS_CONFIDENCE 1

void mvf_record_write_header(uint8_t bytes[MVF_RECORD_HEADER_BYTES], const mvf_field *field)
{
    uint8_t *to = mvf_put_le(bytes, (uint64_t)field->frame, 8);
    to = mvf_put_le(to, (uint64_t)field->pts, 8);
    to = mvf_put_le(to, (uint32_t)field->time_base.num, 4);
    to = mvf_put_le(to, (uint32_t)field->time_base.den, 4);
    to = mvf_put_le(to, (uint32_t)field->width, 4);
    to = mvf_put_le(to, (uint32_t)field->height, 4);
    to = mvf_put_le(to, (uint32_t)field->bit_depth, 1);
    to = mvf_put_le(to, field->type, 1);
    to = mvf_put_le(to, field->source, 1);
    to = mvf_put_le(to, field->confidence ? HAS_CONFIDENCE : 0, 1);
    to = mvf_put_le(to, (uint32_t)field->mv_scale, 4);
    to = mvf_put_le(to, field->flags, 4);
    to = mvf_put_le(to, (uint32_t)field->grid.block_w, 2);
    to = mvf_put_le(to, (uint32_t)field->grid.block_h, 2);
    to = mvf_put_le(to, (uint32_t)field->grid.step_x, 2);
    to = mvf_put_le(to, (uint32_t)field->grid.step_y, 2);
    to = mvf_put_le(to, (uint32_t)field->grid.cols, 4);
    to = mvf_put_le(to, (uint32_t)field->grid.rows, 4);
    to = mvf_put_le(to, field->n_references, 4);
    mvf_put_le(to, field->n_blocks, 8);
}

void mvf_record_write_reference(uint8_t bytes[MVF_RECORD_REFERENCE_BYTES],
                                const mvf_reference *reference)
{
    mvf_put_le(mvf_put_le(bytes, (uint64_t)reference->frame, 8), (uint64_t)reference->pts, 8);
}

void mvf_record_write_block(uint8_t bytes[MVF_RECORD_BLOCK_BYTES], const mvf_block *block)
{
    uint8_t *to = mvf_put_le(bytes, (uint32_t)block->x, 4);
    to = mvf_put_le(to, (uint32_t)block->y, 4);
    to = mvf_put_le(to, block->w, 2);
    to = mvf_put_le(to, block->h, 2);
    to = mvf_put_le(to, (uint16_t)block->mv_x, 2);
    to = mvf_put_le(to, (uint16_t)block->mv_y, 2);
    to = mvf_put_le(to, block->cost, 4);
    to = mvf_put_le(to, (uint8_t)block->dir, 1);
    to = mvf_put_le(to, block->flags, 1);
    mvf_put_le(to, (uint16_t)block->ref, 2);
}

size_t mvf_record_bytes(const mvf_field *field)
{
    return MVF_RECORD_HEADER_BYTES + MVF_RECORD_REFERENCE_BYTES * field->n_references +
           (MVF_RECORD_BLOCK_BYTES + (field->confidence != NULL)) * field->n_blocks;
}

static uint8_t *write_head(uint8_t *bytes, const mvf_field *field)
{
    mvf_record_write_header(bytes, field);
    bytes += MVF_RECORD_HEADER_BYTES;
    for (size_t i = 0; i < field->n_references; i++, bytes += MVF_RECORD_REFERENCE_BYTES)
        mvf_record_write_reference(bytes, &field->references[i]);
    return bytes;
}

void mvf_record_write(uint8_t *bytes, const mvf_field *field)
{
    bytes = write_head(bytes, field);
    for (size_t i = 0; i < field->n_blocks; i++, bytes += MVF_RECORD_BLOCK_BYTES)
        mvf_record_write_block(bytes, &field->blocks[i]);
    if (field->confidence && field->n_blocks)
        memcpy(bytes, field->confidence, field->n_blocks);
}

/* The members of a block, in the order of the record; a field without confidence ends before it. */
enum { X, Y, W, H, MV_X, MV_Y, COST, DIR, FLAGS, REF, CONFIDENCE, N_MEMBERS };
static const int member_bytes[N_MEMBERS] = {4, 4, 2, 2, 2, 2, 4, 1, 1, 2, 1};

static int count_members(const mvf_field *field)
{
    return field->confidence ? N_MEMBERS : CONFIDENCE;
}

static uint32_t get_member(const mvf_field *field, size_t i, int member)
{
    const mvf_block *block = &field->blocks[i];
    switch (member) {
    case X:
        return (uint32_t)block->x;
    case Y:
        return (uint32_t)block->y;
    case W:
        return block->w;
    case H:
        return block->h;
    case MV_X:
        return (uint32_t)block->mv_x;
    case MV_Y:
        return (uint32_t)block->mv_y;
    case COST:
        return block->cost;
    case DIR:
        return (uint32_t)block->dir;
    case FLAGS:
        return block->flags;
    case CONFIDENCE:
        return field->confidence[i];
    default:
        return (uint32_t)block->ref;
    }
}

static void set_member(mvf_field *field, size_t i, int member, uint32_t value)
{
    mvf_block *block = &field->blocks[i];
    switch (member) {
    case X:
        block->x = (int32_t)value;
        break;
    case Y:
        block->y = (int32_t)value;
        break;
    case W:
        block->w = (uint16_t)value;
        break;
    case H:
        block->h = (uint16_t)value;
        break;
    case MV_X:
        block->mv_x = (int16_t)value;
        break;
    case MV_Y:
        block->mv_y = (int16_t)value;
        break;
    case COST:
        block->cost = value;
        break;
    case DIR:
        block->dir = (int8_t)value;
        break;
    case FLAGS:
        block->flags = (uint8_t)value;
        break;
    case CONFIDENCE:
        field->confidence[i] = (uint8_t)value;
        break;
    default:
        block->ref = (int16_t)value;
    }
}

/* Where block `i` of the grid starts, or how much of it is inside the frame. */
static uint32_t predict_from_grid(const mvf_field *field, size_t i, int member)
{
    const mvf_grid *grid = &field->grid;
    size_t cols = (size_t)grid->cols, rows = (size_t)grid->rows;
    int is_x = member == X || member == W;
    uint32_t origin = is_x ? (uint32_t)(i % cols) * (uint32_t)grid->step_x
                           : (uint32_t)(i / cols % rows) * (uint32_t)grid->step_y;
    if (member == X || member == Y)
        return origin;
    uint32_t left = (uint32_t)(is_x ? field->width : field->height) - origin;
    uint32_t full = (uint32_t)(is_x ? grid->block_w : grid->block_h);
    return left < full ? left : full;
}

static uint32_t predict(const mvf_field *field, size_t i, int member)
{
    if (member <= H && mvf_grid_cells(&field->grid))
        return predict_from_grid(field, i, member);
    return i ? get_member(field, i - 1, member) : 0;
}

void mvf_record_pack(uint8_t *bytes, const mvf_field *field)
{
    size_t n = field->n_blocks;
    bytes = write_head(bytes, field);
    for (int member = 0; member < count_members(field); member++) {
        int shift = 32 - 8 * member_bytes[member];
        for (size_t i = 0; i < n; i++) {
            uint32_t delta = get_member(field, i, member) - predict(field, i, member);
            int32_t value = (int32_t)(delta << shift) >> shift;
            uint32_t zigzag = (uint32_t)value << 1 ^ (uint32_t)(value >> 31);
            for (int byte = 0; byte < member_bytes[member]; byte++)
                bytes[(size_t)byte * n + i] = (uint8_t)(zigzag >> 8 * byte);
        }
        bytes += (size_t)member_bytes[member] * n;
    }
}

static void unpack_blocks(mvf_field *field, const uint8_t *bytes)
{
    size_t n = field->n_blocks;
    for (int member = 0; member < count_members(field); member++) {
        for (size_t i = 0; i < n; i++) {
            uint32_t zigzag = 0;
            for (int byte = 0; byte < member_bytes[member]; byte++)
                zigzag |= (uint32_t)bytes[(size_t)byte * n + i] << 8 * byte;
            uint32_t delta = zigzag >> 1 ^ (0 - (zigzag & 1));
            set_member(field, i, member, predict(field, i, member) + delta);
        }
        bytes += (size_t)member_bytes[member] * n;
    }
}

static void read_block(mvf_block *block, const uint8_t *bytes)
{
    *block = (mvf_block){
        .x = (int32_t)mvf_get_le32(bytes),
        .y = (int32_t)mvf_get_le32(bytes + 4),
        .w = mvf_get_le16(bytes + 8),
        .h = mvf_get_le16(bytes + 10),
        .mv_x = (int16_t)mvf_get_le16(bytes + 12),
        .mv_y = (int16_t)mvf_get_le16(bytes + 14),
        .cost = mvf_get_le32(bytes + 16),
        .dir = (int8_t)bytes[20],
        .flags = bytes[21],
        .ref = (int16_t)mvf_get_le16(bytes + 22),
    };
}

static void read_header(mvf_field *field, const uint8_t *bytes)
{
    field->frame = (int64_t)mvf_get_le64(bytes);
    field->pts = (int64_t)mvf_get_le64(bytes + 8);
    field->time_base.num = (int32_t)mvf_get_le32(bytes + 16);
    field->time_base.den = (int32_t)mvf_get_le32(bytes + 20);
    field->width = (int32_t)mvf_get_le32(bytes + 24);
    field->height = (int32_t)mvf_get_le32(bytes + 28);
    field->bit_depth = bytes[32];
    field->type = bytes[33] <= MVF_PICTURE_B ? (mvf_picture_type)bytes[33] : MVF_PICTURE_UNKNOWN;
    field->source = bytes[34] == MVF_VECTORS_CODEC ? MVF_VECTORS_CODEC : MVF_VECTORS_SEARCH;
    field->mv_scale = (int32_t)mvf_get_le32(bytes + 36);
    field->flags = mvf_get_le32(bytes + 40);
    field->grid = (mvf_grid){
        mvf_get_le16(bytes + 44),          mvf_get_le16(bytes + 46),
        mvf_get_le16(bytes + 48),          mvf_get_le16(bytes + 50),
        (int32_t)mvf_get_le32(bytes + 52), (int32_t)mvf_get_le32(bytes + 56),
    };
}

static void read_body(mvf_field *field, const uint8_t *bytes, int packed)
{
    for (size_t i = 0; i < field->n_references; i++, bytes += MVF_RECORD_REFERENCE_BYTES)
        field->references[i] =
            (mvf_reference){(int64_t)mvf_get_le64(bytes), (int64_t)mvf_get_le64(bytes + 8)};
    if (packed) {
        unpack_blocks(field, bytes);
        return;
    }
    for (size_t i = 0; i < field->n_blocks; i++, bytes += MVF_RECORD_BLOCK_BYTES)
        read_block(&field->blocks[i], bytes);
    if (field->confidence && field->n_blocks)
        memcpy(field->confidence, bytes, field->n_blocks);
}

/* Whether the counts in the header make up the record's size. */
static int counts_fit(const uint8_t *bytes, size_t n_bytes, size_t *n_references, size_t *n_blocks)
{
    if (n_bytes < MVF_RECORD_HEADER_BYTES)
        return 0;
    uint64_t left = n_bytes - MVF_RECORD_HEADER_BYTES;
    uint64_t references = mvf_get_le32(bytes + 60), blocks = mvf_get_le64(bytes + 64);
    if (references > left / MVF_RECORD_REFERENCE_BYTES)
        return 0;
    left -= references * MVF_RECORD_REFERENCE_BYTES;
    *n_references = (size_t)references;
    *n_blocks = (size_t)blocks;
    uint64_t each = MVF_RECORD_BLOCK_BYTES + (bytes[35] & HAS_CONFIDENCE ? 1 : 0);
    if (blocks > left / each)
        return 0;
    /* What a later version adds is after what this one knows. */
    return left == blocks * each || bytes[35] & ~HAS_CONFIDENCE;
}

mvf_status mvf_record_read(mvf_field **out, const uint8_t *bytes, size_t n_bytes, int packed,
                           char *fault, size_t fault_size)
{
    size_t n_references = 0, n_blocks = 0;
    *out = NULL;
    if (!counts_fit(bytes, n_bytes, &n_references, &n_blocks)) {
        snprintf(fault, fault_size, "%zu bytes do not hold the blocks that the record names",
                 n_bytes);
        return MVF_ERROR_DATA;
    }
    mvf_field *field;
    MVF_TRY(mvf_field_alloc(&field, n_references, n_blocks));
    if (bytes[35] & HAS_CONFIDENCE) {
        field->confidence = mvf_alloc_array(n_blocks, 1);
        if (!field->confidence) {
            mvf_field_free(&field);
            return MVF_ERROR_MEMORY;
        }
    }
    read_header(field, bytes);
    read_body(field, bytes + MVF_RECORD_HEADER_BYTES, packed);
    if (mvf_field_find_fault(field, fault, fault_size)) {
        mvf_field_free(&field);
        return MVF_ERROR_DATA;
    }
    *out = field;
    return MVF_OK;
}
