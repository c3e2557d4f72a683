/*
 * base/bytes.h - little-endian numbers in byte order of their own, whatever the machine's is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_BYTES_H
#define MVF_BASE_BYTES_H

#include <stdint.h>

/* Writes the low `n_bytes` bytes of `value`, lowest first, and returns what follows them. */
static inline uint8_t *mvf_put_le(uint8_t *to, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

static inline uint16_t mvf_get_le16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t mvf_get_le32(const uint8_t *from)
{
    return mvf_get_le16(from) | (uint32_t)mvf_get_le16(from + 2) << 16;
}

static inline uint64_t mvf_get_le64(const uint8_t *from)
{
    return mvf_get_le32(from) | (uint64_t)mvf_get_le32(from + 4) << 32;
}

static inline uint8_t *mvf_put_be32(uint8_t *to, uint32_t value)
{
    for (int i = 3; i >= 0; i--)
        *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

static inline uint32_t mvf_get_be32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

#endif
