/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/flow.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/error.h"
#include "sink/png.h"

#define FLO_HEADER_BYTES 12

/* The whole file in malloc'ed memory. */
static mvf_status load(const char *path, uint8_t **bytes, size_t *n_bytes, const mvf_logger *logger)
{
    struct stat info;
    if (!stat(path, &info) && !S_ISREG(info.st_mode))
        return mvf_fail(logger, MVF_ERROR_IO, "%s: is not a regular file", path);
    FILE *file = fopen(path, "rbe");
    if (!file || fstat(fileno(file), &info)) {
        int error = errno;
        if (file)
            fclose(file);
        return mvf_fail(logger, MVF_ERROR_IO, "%s: cannot be read: %s", path, strerror(error));
    }
    *n_bytes = (size_t)info.st_size;
    *bytes = malloc(*n_bytes ? *n_bytes : 1);
    size_t n_read = *bytes ? fread(*bytes, 1, *n_bytes, file) : 0;
    fclose(file);
    if (!*bytes)
        return MVF_ERROR_MEMORY;
    if (n_read != *n_bytes)
        return mvf_fail(logger, MVF_ERROR_IO, "%s: reading failed at byte %zu", path, n_read);
    return MVF_OK;
}

static float get_float(const uint8_t *bytes)
{
    uint32_t bits = mvf_get_le32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return fabsf(value) <= MVF_FLOW_LIMIT ? value : MVF_FLOW_UNKNOWN;
}

static mvf_status parse_flo(mvf_flow **flow, const char *path, const uint8_t *bytes, size_t n_bytes,
                            const mvf_logger *logger)
{
    if (n_bytes < FLO_HEADER_BYTES)
        return mvf_fail(logger, MVF_ERROR_DATA, "%s: ends at byte %zu, inside the .flo header",
                        path, n_bytes);
    uint32_t width = mvf_get_le32(bytes + 4), height = mvf_get_le32(bytes + 8);
    if (!width || !height || width > MVF_FLOW_MAX_SIDE || height > MVF_FLOW_MAX_SIDE)
        return mvf_fail(logger, MVF_ERROR_DATA,
                        "%s: at byte 4: a size of %u x %u px; a flow has 1 to %d px a side", path,
                        width, height, MVF_FLOW_MAX_SIDE);
    size_t wanted = FLO_HEADER_BYTES + 8 * (size_t)width * height;
    if (n_bytes != wanted)
        return mvf_fail(logger, MVF_ERROR_DATA,
                        "%s: ends at byte %zu, but %u x %u px need %zu bytes", path, n_bytes, width,
                        height, wanted);
    MVF_TRY(mvf_flow_alloc(flow, (int32_t)width, (int32_t)height));
    for (size_t i = 0; i < 2 * (size_t)width * height; i++)
        (*flow)->vectors[i] = get_float(bytes + FLO_HEADER_BYTES + 4 * i);
    return MVF_OK;
}

static mvf_status parse_kitti(mvf_flow **flow, const char *path, const uint8_t *bytes,
                              size_t n_bytes, const mvf_logger *logger)
{
    uint16_t *samples;
    int32_t width, height;
    const char *fault;
    size_t offset;
    mvf_status status = mvf_png_read(bytes, n_bytes, &width, &height, &samples, &fault, &offset);
    if (status != MVF_OK)
        return fault ? mvf_fail(logger, status, "%s: at byte %zu: %s", path, offset, fault)
                     : status;
    status = mvf_flow_alloc(flow, width, height);
    for (size_t i = 0; status == MVF_OK && i < (size_t)width * (size_t)height; i++)
        if (samples[3 * i + 2]) {
            (*flow)->vectors[2 * i] = (float)(samples[3 * i] - 32768) / 64.0f;
            (*flow)->vectors[2 * i + 1] = (float)(samples[3 * i + 1] - 32768) / 64.0f;
        }
    free(samples);
    return status;
}

mvf_status mvf_flow_read(mvf_flow **flow, const char *path, const mvf_logger *logger)
{
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    *flow = NULL;
    mvf_status status = load(path, &bytes, &n_bytes, logger);
    if (status == MVF_OK) {
        if (n_bytes >= 4 && !memcmp(bytes, "PIEH", 4))
            status = parse_flo(flow, path, bytes, n_bytes, logger);
        else if (n_bytes >= 4 && !memcmp(bytes, "\x89PNG", 4))
            status = parse_kitti(flow, path, bytes, n_bytes, logger);
        else
            status = mvf_fail(logger, MVF_ERROR_DATA,
                              "%s: at byte 0: neither a .flo file nor a PNG", path);
    }
    free(bytes);
    return status;
}
