/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#define MAX_MEMBERS 32
#define MAX_NAME 64
/* Version of the format that a reader needs for ZIP64. */
#define VERSION_ZIP64 45
#define LIMIT_32 UINT32_MAX

typedef struct zip_member {
    char name[MAX_NAME];
    int method;
    uint32_t crc;
    uint64_t offset, n_raw, n_stored;
} zip_member;

struct mvf_zip {
    mvf_output *output;
    uint64_t offset;
    zip_member members[MAX_MEMBERS];
    size_t n_members;
    z_stream deflater;
    int deflates;
    uint8_t buffer[1 << 16];
};

mvf_status mvf_zip_open(mvf_zip **zip, mvf_output *output)
{
    *zip = mvf_alloc_array(1, sizeof **zip);
    if (!*zip)
        return MVF_ERROR_MEMORY;
    (*zip)->output = output;
    return MVF_OK;
}

static mvf_status put(mvf_zip *zip, const void *bytes, size_t n_bytes)
{
    zip->offset += n_bytes;
    return mvf_output_put(zip->output, bytes, n_bytes);
}

/* What local header and directory have in common, from "version needed" to the name's length. The
 * date is the earliest that the format has, so that the same fields make the same bytes. */
static uint8_t *put_common(uint8_t *to, const zip_member *member, uint32_t n_stored, uint32_t n_raw)
{
    to = mvf_put_le(to, VERSION_ZIP64, 2);
    to = mvf_put_le(to, 0, 2);
    to = mvf_put_le(to, (uint64_t)member->method, 2);
    to = mvf_put_le(to, 0, 2);
    to = mvf_put_le(to, 1 << 5 | 1, 2);
    to = mvf_put_le(to, member->crc, 4);
    to = mvf_put_le(to, n_stored, 4);
    to = mvf_put_le(to, n_raw, 4);
    return mvf_put_le(to, strlen(member->name), 2);
}

/* Written before the member with empty sizes, which are known after it. */
static mvf_status put_local_header(mvf_zip *zip, const zip_member *member)
{
    uint8_t bytes[50 + MAX_NAME];
    uint8_t *to = mvf_put_le(bytes, 0x04034b50, 4);
    to = put_common(to, member, LIMIT_32, LIMIT_32);
    to = mvf_put_le(to, 20, 2);
    memcpy(to, member->name, strlen(member->name));
    to += strlen(member->name);
    to = mvf_put_le(to, 1, 2);
    to = mvf_put_le(to, 16, 2);
    to = mvf_put_le(to, member->n_raw, 8);
    to = mvf_put_le(to, member->n_stored, 8);
    return put(zip, bytes, (size_t)(to - bytes));
}

mvf_status mvf_zip_begin(mvf_zip *zip, const char *name, int level)
{
    if (zip->n_members == MAX_MEMBERS || strlen(name) >= MAX_NAME)
        return MVF_ERROR_INTERNAL;
    zip_member *member = &zip->members[zip->n_members++];
    *member = (zip_member){.method = level > 0 ? Z_DEFLATED : 0, .offset = zip->offset};
    memcpy(member->name, name, strlen(name) + 1);
    member->crc = (uint32_t)crc32(0, NULL, 0);
    if (level > 0) {
        zip->deflater = (z_stream){.next_in = NULL};
        if (deflateInit2(&zip->deflater, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY))
            return MVF_ERROR_MEMORY;
        zip->deflates = 1;
    }
    return put_local_header(zip, member);
}

static mvf_status put_stored(mvf_zip *zip, const void *bytes, size_t n_bytes)
{
    zip->members[zip->n_members - 1].n_stored += n_bytes;
    return put(zip, bytes, n_bytes);
}

static mvf_status run_deflater(mvf_zip *zip, int flush)
{
    int result;
    do {
        zip->deflater.next_out = zip->buffer;
        zip->deflater.avail_out = sizeof zip->buffer;
        result = deflate(&zip->deflater, flush);
        if (result == Z_STREAM_ERROR)
            return MVF_ERROR_INTERNAL;
        MVF_TRY(put_stored(zip, zip->buffer, sizeof zip->buffer - zip->deflater.avail_out));
    } while (zip->deflater.avail_out == 0 || (flush == Z_FINISH && result != Z_STREAM_END));
    return MVF_OK;
}

mvf_status mvf_zip_put(mvf_zip *zip, const void *bytes, size_t n_bytes)
{
    const uint8_t *from = bytes;
    while (n_bytes) {
        zip_member *member = &zip->members[zip->n_members - 1];
        uInt n = n_bytes > (1u << 30) ? 1u << 30 : (uInt)n_bytes;
        member->crc = (uint32_t)crc32(member->crc, from, n);
        member->n_raw += n;
        if (zip->deflates) {
            zip->deflater.next_in = (Bytef *)(uintptr_t)from;
            zip->deflater.avail_in = n;
            MVF_TRY(run_deflater(zip, Z_NO_FLUSH));
        } else {
            MVF_TRY(put_stored(zip, from, n));
        }
        from += n;
        n_bytes -= n;
    }
    return MVF_OK;
}

static void end_deflater(mvf_zip *zip)
{
    if (zip->deflates)
        deflateEnd(&zip->deflater);
    zip->deflates = 0;
}

mvf_status mvf_zip_end(mvf_zip *zip)
{
    zip_member *member = &zip->members[zip->n_members - 1];
    uint64_t end;
    if (zip->deflates)
        MVF_TRY(run_deflater(zip, Z_FINISH));
    end_deflater(zip);
    end = zip->offset;
    MVF_TRY(mvf_output_seek(zip->output, (int64_t)member->offset));
    MVF_TRY(put_local_header(zip, member));
    zip->offset = end;
    return mvf_output_seek(zip->output, (int64_t)end);
}

/* Values that 32 bits do not hold go into the ZIP64 part, in this order. */
static uint8_t *put_zip64(uint8_t *to, const zip_member *member)
{
    const uint64_t values[3] = {member->n_raw, member->n_stored, member->offset};
    for (int i = 0; i < 3; i++)
        if (values[i] >= LIMIT_32)
            to = mvf_put_le(to, values[i], 8);
    return to;
}

static uint32_t low_32(uint64_t value)
{
    return value >= LIMIT_32 ? LIMIT_32 : (uint32_t)value;
}

static mvf_status put_directory_entry(mvf_zip *zip, const zip_member *member)
{
    uint8_t bytes[46 + MAX_NAME + 28], extra[24];
    size_t n_extra = (size_t)(put_zip64(extra, member) - extra);
    uint8_t *to = mvf_put_le(bytes, 0x02014b50, 4);
    to = mvf_put_le(to, 3 << 8 | VERSION_ZIP64, 2);
    to = put_common(to, member, low_32(member->n_stored), low_32(member->n_raw));
    to = mvf_put_le(to, n_extra ? n_extra + 4 : 0, 2);
    to = mvf_put_le(to, 0, 6);
    /* A regular file, rw-r--r--. */
    to = mvf_put_le(to, (uint64_t)0100644 << 16, 4);
    to = mvf_put_le(to, low_32(member->offset), 4);
    memcpy(to, member->name, strlen(member->name));
    to += strlen(member->name);
    if (n_extra) {
        to = mvf_put_le(mvf_put_le(to, 1, 2), n_extra, 2);
        memcpy(to, extra, n_extra);
        to += n_extra;
    }
    return put(zip, bytes, (size_t)(to - bytes));
}

static mvf_status put_zip64_end(mvf_zip *zip, uint64_t start, uint64_t size)
{
    uint8_t bytes[76];
    uint64_t at = zip->offset;
    uint8_t *to = mvf_put_le(bytes, 0x06064b50, 4);
    to = mvf_put_le(to, 44, 8);
    to = mvf_put_le(to, VERSION_ZIP64, 2);
    to = mvf_put_le(to, VERSION_ZIP64, 2);
    to = mvf_put_le(to, 0, 8);
    to = mvf_put_le(to, zip->n_members, 8);
    to = mvf_put_le(to, zip->n_members, 8);
    to = mvf_put_le(to, size, 8);
    to = mvf_put_le(to, start, 8);
    to = mvf_put_le(to, 0x07064b50, 4);
    to = mvf_put_le(to, 0, 4);
    to = mvf_put_le(to, at, 8);
    to = mvf_put_le(to, 1, 4);
    return put(zip, bytes, (size_t)(to - bytes));
}

mvf_status mvf_zip_finish(mvf_zip *zip)
{
    uint8_t bytes[22];
    uint64_t start = zip->offset;
    for (size_t i = 0; i < zip->n_members; i++)
        MVF_TRY(put_directory_entry(zip, &zip->members[i]));
    uint64_t size = zip->offset - start;
    if (start >= LIMIT_32)
        MVF_TRY(put_zip64_end(zip, start, size));
    uint8_t *to = mvf_put_le(bytes, 0x06054b50, 4);
    to = mvf_put_le(to, 0, 4);
    to = mvf_put_le(to, zip->n_members, 2);
    to = mvf_put_le(to, zip->n_members, 2);
    to = mvf_put_le(to, size, 4);
    to = mvf_put_le(to, low_32(start), 4);
    to = mvf_put_le(to, 0, 2);
    return put(zip, bytes, (size_t)(to - bytes));
}

void mvf_zip_free(mvf_zip **zip)
{
    if (!*zip)
        return;
    end_deflater(*zip);
    free(*zip);
    *zip = NULL;
}
