/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/md5.h"

#include <stdio.h>
#include <string.h>

/* floor(2^32 * |sin(i + 1)|), RFC 1321 section 3.4. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const uint8_t turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round) {
    case 0:
        return (b & c) | (~b & d);
    case 1:
        return (b & d) | (c & ~d);
    case 2:
        return b ^ c ^ d;
    default:
        return c ^ (b | ~d);
    }
}

static void add_chunk(uint32_t state[4], const uint8_t chunk[64])
{
    static const uint8_t factor[4] = {1, 5, 3, 7}, offset[4] = {0, 1, 5, 0};
    uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)chunk[4 * i] | (uint32_t)chunk[4 * i + 1] << 8 |
                   (uint32_t)chunk[4 * i + 2] << 16 | (uint32_t)chunk[4 * i + 3] << 24;
    for (int i = 0; i < 64; i++) {
        int round = i / 16, turn = turns[round][i % 4];
        uint32_t sum =
            a + mix(round, b, c, d) + sines[i] + words[(factor[round] * i + offset[round]) % 16];
        a = d;
        d = c;
        c = b;
        b += sum << turn | sum >> (32 - turn);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void mvf_md5_init(mvf_md5 *md5)
{
    *md5 = (mvf_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void mvf_md5_update(mvf_md5 *md5, const void *data, size_t n_bytes)
{
    const uint8_t *bytes = data;
    size_t filled = md5->n_bytes % 64;
    md5->n_bytes += n_bytes;
    if (filled && filled + n_bytes >= 64) {
        memcpy(md5->pending + filled, bytes, 64 - filled);
        add_chunk(md5->state, md5->pending);
        bytes += 64 - filled;
        n_bytes -= 64 - filled;
        filled = 0;
    }
    for (; n_bytes >= 64; bytes += 64, n_bytes -= 64)
        add_chunk(md5->state, bytes);
    if (n_bytes)
        memcpy(md5->pending + filled, bytes, n_bytes);
}

void mvf_md5_finish(mvf_md5 *md5, char hex[33])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t n_bits = md5->n_bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> 8 * i);
    size_t filled = md5->n_bytes % 64;
    mvf_md5_update(md5, padding, filled < 56 ? 56 - filled : 120 - filled);
    mvf_md5_update(md5, length, sizeof length);
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned)(md5->state[i / 4] >> 8 * (i % 4) & 0xff));
}
