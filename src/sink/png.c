/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

enum { FILTER_NONE, FILTER_SUB, FILTER_UP, FILTER_AVERAGE, FILTER_PAETH };

#define PIXEL_BYTES 6
/* Flow is smooth: a low level already finds the long runs that the filters make of it. */
#define LEVEL 3

typedef struct png_writer {
    FILE *file;
    z_stream deflater;
    uint8_t *row, *above, *filtered;
    uint8_t buffer[1 << 15];
} png_writer;

static mvf_status put_chunk(FILE *file, const char *type, const uint8_t *data, size_t n_bytes)
{
    uint8_t head[8], tail[4];
    memcpy(mvf_put_be32(head, (uint32_t)n_bytes), type, 4);
    uLong crc = crc32(crc32(0, NULL, 0), head + 4, 4);
    if (n_bytes)
        crc = crc32(crc, data, (uInt)n_bytes);
    mvf_put_be32(tail, (uint32_t)crc);
    int ok = fwrite(head, 1, 8, file) == 8 && fwrite(data, 1, n_bytes, file) == n_bytes &&
             fwrite(tail, 1, 4, file) == 4;
    return ok ? MVF_OK : MVF_ERROR_IO;
}

static mvf_status deflate_bytes(png_writer *writer, const uint8_t *bytes, size_t n_bytes, int flush)
{
    int result;
    writer->deflater.next_in = (Bytef *)(uintptr_t)bytes;
    writer->deflater.avail_in = (uInt)n_bytes;
    do {
        result = deflate(&writer->deflater, flush);
        size_t n = sizeof writer->buffer - writer->deflater.avail_out;
        if (result == Z_STREAM_ERROR)
            return MVF_ERROR_INTERNAL;
        if (n && (!writer->deflater.avail_out || flush == Z_FINISH)) {
            MVF_TRY(put_chunk(writer->file, "IDAT", writer->buffer, n));
            writer->deflater.next_out = writer->buffer;
            writer->deflater.avail_out = sizeof writer->buffer;
        }
    } while (writer->deflater.avail_in || (flush == Z_FINISH && result != Z_STREAM_END));
    return MVF_OK;
}

/* Rows of a block repeat the row above; the first of them changes at block borders only. */
static void filter_row(png_writer *writer, size_t n_bytes)
{
    int repeats = !memcmp(writer->row, writer->above, n_bytes);
    writer->filtered[0] = repeats ? FILTER_UP : FILTER_SUB;
    if (repeats) {
        memset(writer->filtered + 1, 0, n_bytes);
        return;
    }
    memcpy(writer->filtered + 1, writer->row, PIXEL_BYTES);
    for (size_t i = PIXEL_BYTES; i < n_bytes; i++)
        writer->filtered[1 + i] = (uint8_t)(writer->row[i] - writer->row[i - PIXEL_BYTES]);
}

static mvf_status write_rows(png_writer *writer, int32_t width, int32_t height,
                             const uint16_t *samples)
{
    size_t n_bytes = (size_t)width * PIXEL_BYTES;
    for (int32_t y = 0; y < height; y++) {
        for (size_t i = 0; i < (size_t)width * 3; i++, samples++) {
            writer->row[2 * i] = (uint8_t)(*samples >> 8);
            writer->row[2 * i + 1] = (uint8_t)*samples;
        }
        filter_row(writer, n_bytes);
        MVF_TRY(deflate_bytes(writer, writer->filtered, n_bytes + 1, Z_NO_FLUSH));
        uint8_t *swapped = writer->above;
        writer->above = writer->row;
        writer->row = swapped;
    }
    return deflate_bytes(writer, NULL, 0, Z_FINISH);
}

static mvf_status write_image(png_writer *writer, int32_t width, int32_t height,
                              const uint16_t *samples)
{
    uint8_t head[13] = {0};
    head[8] = 16;
    head[9] = 2;
    mvf_put_be32(mvf_put_be32(head, (uint32_t)width), (uint32_t)height);
    if (fwrite(signature, 1, 8, writer->file) != 8)
        return MVF_ERROR_IO;
    MVF_TRY(put_chunk(writer->file, "IHDR", head, sizeof head));
    MVF_TRY(write_rows(writer, width, height, samples));
    return put_chunk(writer->file, "IEND", head, 0);
}

mvf_status mvf_png_write(FILE *file, int32_t width, int32_t height, const uint16_t *samples)
{
    png_writer *writer = mvf_alloc_array(1, sizeof *writer);
    if (!writer)
        return MVF_ERROR_MEMORY;
    size_t n_bytes = (size_t)width * PIXEL_BYTES;
    mvf_status status = MVF_ERROR_MEMORY;
    writer->file = file;
    writer->row = mvf_alloc_array(n_bytes, 1);
    writer->above = mvf_alloc_array(n_bytes, 1);
    writer->filtered = mvf_alloc_array(n_bytes + 1, 1);
    if (writer->row && writer->above && writer->filtered &&
        deflateInit(&writer->deflater, LEVEL) == Z_OK) {
        writer->deflater.next_out = writer->buffer;
        writer->deflater.avail_out = sizeof writer->buffer;
        status = write_image(writer, width, height, samples);
        deflateEnd(&writer->deflater);
    }
    free(writer->row);
    free(writer->above);
    free(writer->filtered);
    free(writer);
    return status;
}

typedef struct png_reader {
    const uint8_t *bytes;
    size_t n_bytes, at;
    int32_t width, height;
    uint8_t *pixels;
    const char *fault;
} png_reader;

static mvf_status fail(png_reader *reader, size_t offset, const char *fault, mvf_status status)
{
    reader->at = offset;
    reader->fault = fault;
    return status;
}

/* Checks the chunk at reader->at. */
static mvf_status check_chunk(png_reader *reader, uint32_t *n_bytes)
{
    size_t left = reader->n_bytes - reader->at;
    if (left < 12)
        return fail(reader, reader->n_bytes, "it ends inside a PNG chunk", MVF_ERROR_DATA);
    const uint8_t *chunk = reader->bytes + reader->at;
    *n_bytes = mvf_get_be32(chunk);
    if (*n_bytes > left - 12)
        return fail(reader, reader->n_bytes, "it ends inside a PNG chunk", MVF_ERROR_DATA);
    if (crc32(crc32(0, NULL, 0), chunk + 4, *n_bytes + 4) != mvf_get_be32(chunk + 8 + *n_bytes))
        return fail(reader, reader->at, "the checksum of this PNG chunk is wrong", MVF_ERROR_DATA);
    return MVF_OK;
}

static mvf_status read_head(png_reader *reader)
{
    uint32_t n_bytes;
    if (reader->n_bytes < 8 || memcmp(reader->bytes, signature, 8))
        return fail(reader, 0, "it is not a PNG file", MVF_ERROR_DATA);
    reader->at = 8;
    MVF_TRY(check_chunk(reader, &n_bytes));
    const uint8_t *chunk = reader->bytes + 8, *head = chunk + 8;
    if (memcmp(chunk + 4, "IHDR", 4) || n_bytes != 13)
        return fail(reader, 8, "the PNG header is missing", MVF_ERROR_DATA);
    uint32_t width = mvf_get_be32(head), height = mvf_get_be32(head + 4);
    if (!width || !height || width > MVF_PNG_MAX_SIDE || height > MVF_PNG_MAX_SIDE)
        return fail(reader, 16, "the image is empty or larger than 32768 px a side",
                    MVF_ERROR_UNSUPPORTED);
    if (head[8] != 16 || head[9] != 2 || head[10] || head[11] || head[12])
        return fail(reader, 24, "the image is not 16-bit RGB without interlacing, as flow is",
                    MVF_ERROR_UNSUPPORTED);
    reader->width = (int32_t)width;
    reader->height = (int32_t)height;
    reader->at = 8 + 12 + 13;
    return MVF_OK;
}

/* Inflates the IDAT chunks that follow into reader->pixels, filter bytes included. */
static mvf_status inflate_chunks(png_reader *reader, z_stream *inflater)
{
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        uint32_t n_bytes;
        MVF_TRY(check_chunk(reader, &n_bytes));
        const uint8_t *chunk = reader->bytes + reader->at;
        if (!memcmp(chunk + 4, "IEND", 4))
            return fail(reader, reader->at, "the image data end too early", MVF_ERROR_DATA);
        if (!memcmp(chunk + 4, "IDAT", 4)) {
            inflater->next_in = (Bytef *)(uintptr_t)(chunk + 8);
            inflater->avail_in = n_bytes;
            result = inflate(inflater, Z_NO_FLUSH);
            if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
                return fail(reader, reader->at, "the image data are damaged", MVF_ERROR_DATA);
            if (inflater->avail_in && result != Z_STREAM_END)
                return fail(reader, reader->at, "there are more image data than the size says",
                            MVF_ERROR_DATA);
        }
        reader->at += n_bytes + 12;
    }
    return inflater->avail_out
               ? fail(reader, reader->at, "the image data end too early", MVF_ERROR_DATA)
               : MVF_OK;
}

/* A file without its last chunk has been cut. */
static mvf_status find_end(png_reader *reader)
{
    for (;;) {
        uint32_t n_bytes;
        MVF_TRY(check_chunk(reader, &n_bytes));
        if (!memcmp(reader->bytes + reader->at + 4, "IEND", 4))
            return MVF_OK;
        reader->at += n_bytes + 12;
    }
}

static mvf_status read_pixels(png_reader *reader)
{
    size_t n_bytes = ((size_t)reader->width * PIXEL_BYTES + 1) * (size_t)reader->height;
    /* Deflate makes at most 1032 bytes of one: more than that is a lie about the size. */
    if (n_bytes / 1032 > reader->n_bytes)
        return fail(reader, 16, "the image is larger than its data can be", MVF_ERROR_DATA);
    if (n_bytes > UINT32_MAX)
        return fail(reader, 16, "the image is too large", MVF_ERROR_UNSUPPORTED);
    reader->pixels = malloc(n_bytes);
    z_stream inflater = {.next_in = NULL};
    if (!reader->pixels || inflateInit(&inflater) != Z_OK)
        return MVF_ERROR_MEMORY;
    inflater.next_out = reader->pixels;
    inflater.avail_out = (uInt)n_bytes;
    mvf_status status = inflate_chunks(reader, &inflater);
    inflateEnd(&inflater);
    return status == MVF_OK ? find_end(reader) : status;
}

static uint8_t paeth(int left, int up, int corner)
{
    int estimate = left + up - corner;
    int d_left = abs(estimate - left), d_up = abs(estimate - up), d_corner = abs(estimate - corner);
    if (d_left <= d_up && d_left <= d_corner)
        return (uint8_t)left;
    return (uint8_t)(d_up <= d_corner ? up : corner);
}

/* Undoes the filter of one row in place; `above` is NULL for the first. */
static int unfilter_row(uint8_t *row, const uint8_t *above, size_t n_bytes, int filter)
{
    if (filter > FILTER_PAETH)
        return 0;
    for (size_t i = 0; i < n_bytes; i++) {
        int left = i >= PIXEL_BYTES ? row[i - PIXEL_BYTES] : 0, up = above ? above[i] : 0;
        int corner = i >= PIXEL_BYTES && above ? above[i - PIXEL_BYTES] : 0;
        const int predictions[5] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
        row[i] = (uint8_t)(row[i] + predictions[filter]);
    }
    return 1;
}

static mvf_status take_samples(png_reader *reader, uint16_t **out)
{
    size_t row_bytes = (size_t)reader->width * PIXEL_BYTES, row_samples = (size_t)reader->width * 3;
    uint16_t *samples = mvf_alloc_array((size_t)reader->height, row_samples * sizeof *samples);
    if (!samples)
        return MVF_ERROR_MEMORY;
    uint8_t *row = reader->pixels + 1, *above = NULL;
    *out = samples;
    for (int32_t y = 0; y < reader->height; y++, above = row, row += row_bytes + 1) {
        if (!unfilter_row(row, above, row_bytes, row[-1]))
            return fail(reader, 41, "the image data have an unknown filter", MVF_ERROR_DATA);
        for (size_t i = 0; i < row_samples; i++)
            *samples++ = (uint16_t)(row[2 * i] << 8 | row[2 * i + 1]);
    }
    return MVF_OK;
}

mvf_status mvf_png_read(const uint8_t *bytes, size_t n_bytes, int32_t *width, int32_t *height,
                        uint16_t **samples, const char **fault, size_t *offset)
{
    png_reader reader = {.bytes = bytes, .n_bytes = n_bytes};
    *samples = NULL;
    mvf_status status = read_head(&reader);
    if (status == MVF_OK)
        status = read_pixels(&reader);
    if (status == MVF_OK)
        status = take_samples(&reader, samples);
    free(reader.pixels);
    if (status != MVF_OK) {
        free(*samples);
        *samples = NULL;
    }
    *width = reader.width;
    *height = reader.height;
    *fault = reader.fault;
    *offset = reader.at;
    return status;
}
