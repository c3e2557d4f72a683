/*
 * base/md5.h - the MD5 digest of RFC 1321, for comparing results; not for security.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_MD5_H
#define MVF_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

typedef struct mvf_md5 {
    uint32_t state[4];
    uint64_t n_bytes;
    uint8_t pending[64];
} mvf_md5;

void mvf_md5_init(mvf_md5 *md5);
void mvf_md5_update(mvf_md5 *md5, const void *data, size_t n_bytes);
/* Ends the digest and writes 32 lower-case hex digits and a NUL. */
void mvf_md5_finish(mvf_md5 *md5, char hex[33]);

#endif
