/*
 * fuzz_flow.c - Middlebury flow files and KITTI's PNG. The first byte says whether the checksums of
 * PNG are put right first, or whether the rest is the rows of an image that is compressed here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>
#include <zlib.h>

#include <mvfield/flow.h>

#include "base/bytes.h"
#include "fuzz_file.h"

#define MAX_BYTES (1 << 16)

enum { AS_IT_IS, CHECKSUMS_RIGHT, ROWS, N_FORMS };

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static void put_right(uint8_t *bytes, size_t n)
{
    for (size_t at = 8; n >= 20 && at <= n - 12;) {
        size_t n_bytes = mvf_get_be32(bytes + at);
        if (n_bytes > n - at - 12)
            return;
        mvf_put_be32(bytes + at + 8 + n_bytes, (uint32_t)crc32_z(0, bytes + at + 4, n_bytes + 4));
        at += n_bytes + 12;
    }
}

static uint8_t *put_chunk(uint8_t *to, const char *type, const uint8_t *bytes, size_t n)
{
    uint8_t *start = to;
    to = mvf_put_be32(to, (uint32_t)n);
    memcpy(to, type, 4);
    if (n)
        memcpy(to + 4, bytes, n);
    return mvf_put_be32(to + 4 + n, (uint32_t)crc32_z(0, start + 4, n + 4));
}

/* Width and height of one byte each, then the rows with their filters, however many there are. */
static size_t make_png(const uint8_t *data, size_t n, uint8_t *to)
{
    static uint8_t packed[2 * MAX_BYTES];
    uLongf n_packed = sizeof packed;
    uint8_t *start = to, head[13] = {0, 0, 0, n > 0 ? data[0] : 0, 0, 0, 0, n > 1 ? data[1] : 0};
    head[8] = 16;
    head[9] = 2;
    FUZZ_EXPECT(
        compress2(packed, &n_packed, n > 2 ? data + 2 : data, n > 2 ? (uLong)n - 2 : 0, 1) == Z_OK);
    memcpy(to, signature, sizeof signature);
    to = put_chunk(to + sizeof signature, "IHDR", head, sizeof head);
    to = put_chunk(to, "IDAT", packed, n_packed);
    return (size_t)(put_chunk(to, "IEND", NULL, 0) - start);
}

static void read_flow(const uint8_t *bytes, size_t n_bytes)
{
    fuzz_file file;
    mvf_flow *flow;
    fuzz_file_open(&file, bytes, n_bytes);
    mvf_status status = mvf_flow_read(&flow, file.path, NULL);
    FUZZ_EXPECT((status == MVF_OK) == (flow != NULL));
    if (flow) {
        FUZZ_EXPECT(flow->width > 0 && flow->height > 0);
        size_t n = 2 * (size_t)flow->width * (size_t)flow->height;
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += flow->vectors[i];
        FUZZ_EXPECT(sum == sum);
    }
    mvf_flow_free(&flow);
    fuzz_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[3 * MAX_BYTES];
    if (!size || size > MAX_BYTES)
        return 0;
    int form = data[0] % N_FORMS;
    size_t n = size - 1;
    if (form == ROWS)
        n = make_png(data + 1, size - 1, bytes);
    else
        memcpy(bytes, data + 1, n);
    if (form == CHECKSUMS_RIGHT)
        put_right(bytes, n);
    read_flow(bytes, n);
    return 0;
}
