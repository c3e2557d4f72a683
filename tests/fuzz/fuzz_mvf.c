/*
 * fuzz_mvf.c - mvf files and what is done with the fields in them. The first byte says whether the
 * checksums are put right first, so that what is behind them is reached, or whether the rest is one
 * record, plain or packed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>
#include <zlib.h>

#include <mvfield/mvfield.h>

#include "base/bytes.h"
#include "field/check.h"
#include "field/record.h"
#include "fuzz_file.h"
#include "sink/mvf_file.h"

/* A larger frame takes more time and memory than a fuzzer has. */
#define MAX_AREA (1 << 16)

enum { AS_IT_IS, CHECKSUMS_RIGHT, PLAIN_RECORD, PACKED_RECORD, N_FORMS };

static void put_right(uint8_t *bytes, size_t n)
{
    if (n >= MVF_FILE_FIXED_BYTES)
        mvf_put_le(bytes + MVF_FILE_FIXED_BYTES - 4, crc32(0, bytes, MVF_FILE_FIXED_BYTES - 4), 4);
    size_t at = n >= 16 ? mvf_get_le32(bytes + 12) : n;
    while (at < n && n - at >= MVF_CHUNK_HEADER_BYTES) {
        uint8_t *chunk = bytes + at;
        uint64_t n_bytes = mvf_get_le64(chunk + 8);
        if (n_bytes > n - at - MVF_CHUNK_HEADER_BYTES)
            n_bytes = n - at - MVF_CHUNK_HEADER_BYTES;
        mvf_put_le(chunk + 24, crc32_z(0, chunk + MVF_CHUNK_HEADER_BYTES, (size_t)n_bytes), 4);
        mvf_put_le(chunk + 28, crc32(0, chunk, MVF_CHUNK_HEADER_BYTES - 4), 4);
        at += (MVF_CHUNK_HEADER_BYTES + (size_t)n_bytes + MVF_CHUNK_ALIGNMENT - 1) /
              MVF_CHUNK_ALIGNMENT * MVF_CHUNK_ALIGNMENT;
    }
    if (n >= MVF_TRAILER_BYTES)
        mvf_put_le(bytes + n - 8, crc32(0, bytes + n - MVF_TRAILER_BYTES, 16), 4);
}

/* A field comes back as it was written. */
static void write_again(const mvf_field *field, int packed)
{
    char fault[256];
    size_t n = mvf_record_bytes(field);
    uint8_t *first = malloc(n), *second = malloc(n);
    mvf_field *copy;
    FUZZ_EXPECT(first && second);
    packed ? mvf_record_pack(first, field) : mvf_record_write(first, field);
    FUZZ_EXPECT(mvf_record_read(&copy, first, n, packed, fault, sizeof fault) == MVF_OK);
    FUZZ_EXPECT(mvf_record_bytes(copy) == n);
    packed ? mvf_record_pack(second, copy) : mvf_record_write(second, copy);
    FUZZ_EXPECT(!memcmp(first, second, n));
    mvf_field_free(&copy);
    free(first);
    free(second);
}

static void export(const mvf_field *field)
{
    static const char *const formats[] = {"csv", "jsonl", "npy", "npz", "yuview", "mvf", "md5"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        mvf_sink *sink;
        mvf_sink_options options;
        mvf_sink_options_init(&options);
        options.format = formats[i];
        options.overwrite = 1;
        FUZZ_EXPECT(mvf_sink_open(&sink, "/dev/null", &options) == MVF_OK);
        mvf_status status = mvf_sink_write(sink, field);
        FUZZ_EXPECT(status == MVF_OK || status == MVF_ERROR_UNSUPPORTED);
        status = mvf_sink_close(&sink);
        FUZZ_EXPECT(status == MVF_OK || status == MVF_ERROR_UNSUPPORTED);
    }
}

static int is_small(const mvf_field *field)
{
    return field->width > 0 && field->height > 0 && field->width <= MVF_FLOW_MAX_SIDE &&
           field->height <= MVF_FLOW_MAX_SIDE && (int64_t)field->width * field->height <= MAX_AREA;
}

static void analyse(mvf_field *field)
{
    mvf_field_statistics statistics;
    mvf_global_motion motion;
    mvf_comparison *comparison;
    mvf_agreement agreement;
    mvf_field_measure(field, &statistics);
    mvf_field_estimate_global(field, 0, &motion);
    if (is_small(field)) {
        mvf_flow *flow;
        FUZZ_EXPECT(mvf_flow_alloc(&flow, field->width, field->height) == MVF_OK);
        mvf_field_fill_flow(field, flow->vectors);
        mvf_flow_free(&flow);
        FUZZ_EXPECT(mvf_comparison_open(&comparison) == MVF_OK);
        mvf_comparison_add_fields(comparison, field, field);
        mvf_comparison_get(comparison, &agreement);
        FUZZ_EXPECT(agreement.n_equal == agreement.n_pixels);
        mvf_comparison_close(&comparison);
    }
    mvf_field_smooth(field);
}

static void use(mvf_field *field)
{
    char fault[256];
    const mvf_grid *grid = &field->grid;
    FUZZ_EXPECT(!mvf_field_find_fault(field, fault, sizeof fault));
    FUZZ_EXPECT(!grid->cols || ((int64_t)(grid->cols - 1) * grid->step_x < field->width &&
                                (int64_t)(grid->rows - 1) * grid->step_y < field->height));
    write_again(field, 0);
    write_again(field, 1);
    if (is_small(field) || !mvf_grid_cells(&field->grid))
        export(field);
    analyse(field);
    FUZZ_EXPECT(!mvf_field_find_fault(field, fault, sizeof fault));
}

static void read_file(const uint8_t *bytes, size_t n_bytes)
{
    fuzz_file file;
    mvf_reader *reader;
    mvf_reader_info info = {.struct_size = sizeof info};
    fuzz_file_open(&file, bytes, n_bytes);
    if (mvf_reader_open(&reader, file.path, NULL) == MVF_OK) {
        mvf_field *field;
        mvf_status status;
        mvf_reader_get_info(reader, &info);
        FUZZ_EXPECT(info.n_fields == mvf_reader_count(reader));
        for (int i = 0; i < 64 && (status = mvf_reader_next(reader, &field)) != MVF_EOF; i++) {
            FUZZ_EXPECT((status == MVF_OK) == (field != NULL));
            if (field)
                use(field);
            mvf_field_free(&field);
        }
        mvf_reader_seek(reader, info.last_frame);
        mvf_reader_close(&reader);
    }
    FUZZ_EXPECT(!reader);
    fuzz_file_close(&file);
}

static void read_record(const uint8_t *bytes, size_t n_bytes, int packed)
{
    char fault[256];
    mvf_field *field;
    mvf_status status = mvf_record_read(&field, bytes, n_bytes, packed, fault, sizeof fault);
    FUZZ_EXPECT((status == MVF_OK) == (field != NULL));
    if (field)
        use(field);
    mvf_field_free(&field);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    int form = data[0] % N_FORMS;
    uint8_t *bytes = malloc(size);
    FUZZ_EXPECT(bytes);
    memcpy(bytes, data + 1, size - 1);
    if (form == CHECKSUMS_RIGHT)
        put_right(bytes, size - 1);
    if (form <= CHECKSUMS_RIGHT) {
        read_file(bytes, size - 1);
    } else {
        /* In a block of its own size. */
        uint8_t *exact = malloc(size);
        FUZZ_EXPECT(exact);
        memcpy(exact + 1, bytes, size - 1);
        read_record(exact + 1, size - 1, form == PACKED_RECORD);
        free(exact);
    }
    free(bytes);
    return 0;
}
