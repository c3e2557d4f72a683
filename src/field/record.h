/*
 * field/record.h - a field as bytes: the same on every machine, for files and digests.
 *
 * Little-endian, without padding:
 *   field header, 72 bytes
 *      0  int64   frame (INT64_MIN: none)
 *      8  int64   pts (INT64_MIN: none)
 *     16  int32   time base numerator, int32 denominator
 *     24  int32   width, int32 height
 *     32  uint8   bit depth, uint8 picture type, uint8 vector source
 *     35  uint8   what follows the blocks: 1 their confidence
 *     36  int32   mv_scale
 *     40  uint32  flags
 *     44  uint16  block_w, block_h, step_x, step_y (zero without a grid)
 *     52  int32   cols, int32 rows
 *     60  uint32  references, uint64 blocks
 *   references, 16 bytes each: int64 frame, int64 pts
 *   blocks, 24 bytes each
 *      0  int32   x, int32 y
 *      8  uint16  w, uint16 h
 *     12  int16   mv_x, int16 mv_y
 *     16  uint32  cost
 *     20  int8    dir, uint8 flags, int16 ref
 *   confidence, if the header says so: a uint8 for each block
 * What other bits of byte 35 stand for comes after that, and is for later readers.
 *
 * The packed form has the same size and is made to be compressed. Header and references are the
 * same; then, for each of the members of a block in the order above, confidence last, all blocks'
 * values: each minus its prediction, modulo the member's width, as zigzag (0, -1, 1, -2 ... are 0,
 * 1, 2, 3 ...), the lowest bytes of all blocks first, then their second bytes, and so on. On a grid
 * x, y, w and h are predicted from the block's place in it (clipped to the frame); everything else
 * from the block before, and the first block from zeros.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_FIELD_RECORD_H
#define MVF_FIELD_RECORD_H

#include <mvfield/field.h>

#define MVF_RECORD_HEADER_BYTES 72
#define MVF_RECORD_REFERENCE_BYTES 16
#define MVF_RECORD_BLOCK_BYTES 24

void mvf_record_write_header(uint8_t bytes[MVF_RECORD_HEADER_BYTES], const mvf_field *field);
void mvf_record_write_reference(uint8_t bytes[MVF_RECORD_REFERENCE_BYTES],
                                const mvf_reference *reference);
void mvf_record_write_block(uint8_t bytes[MVF_RECORD_BLOCK_BYTES], const mvf_block *block);

/* The size of either form. */
size_t mvf_record_bytes(const mvf_field *field);

/* Writes mvf_record_bytes() bytes. */
void mvf_record_write(uint8_t *bytes, const mvf_field *field);
void mvf_record_pack(uint8_t *bytes, const mvf_field *field);

/*
 * The field that `n_bytes` bytes hold. MVF_ERROR_MEMORY, or MVF_ERROR_DATA with what is wrong in
 * `fault`: the bytes need not come from a friend.
 */
mvf_status mvf_record_read(mvf_field **field, const uint8_t *bytes, size_t n_bytes, int packed,
                           char *fault, size_t fault_size);

#endif
