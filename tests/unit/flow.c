/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <math.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "unit-flow-XXXXXX");
    return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return chdir("..") || rmdir(folder) ? -1 : 0;
}

/* 5 x 3 px in two blocks, of which the second has no vector. */
static mvf_field *make_field(void)
{
    mvf_field *field;
    assert_int_equal(mvf_field_alloc(&field, 1, 2), MVF_OK);
    field->frame = 4;
    field->width = 5;
    field->height = 3;
    field->mv_scale = 4;
    field->grid = (mvf_grid){4, 4, 4, 4, 2, 1};
    field->blocks[0] = (mvf_block){.w = 4, .h = 3, .mv_x = 5, .mv_y = -7, .dir = -1};
    field->blocks[1] = (mvf_block){.x = 4, .w = 1, .h = 3, .mv_x = 9, .dir = 0};
    return field;
}

static void write_field(const char *path, const char *format, const mvf_field *field)
{
    mvf_sink *sink;
    mvf_sink_options options;
    mvf_sink_options_init(&options);
    options.format = format;
    assert_int_equal(mvf_sink_open(&sink, path, &options), MVF_OK);
    assert_int_equal(mvf_sink_write(sink, field), MVF_OK);
    assert_int_equal(mvf_sink_close(&sink), MVF_OK);
}

static size_t load(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void store(const char *path, const uint8_t *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    fclose(file);
}

static void test_flo_bytes(void **state)
{
    static const uint8_t header[12] = {'P', 'I', 'E', 'H', 5, 0, 0, 0, 3, 0, 0, 0};
    static const uint8_t pixel[8] = {0, 0, 0xa0, 0x3f, 0, 0, 0xe0, 0xbf};
    static const uint8_t unknown[8] = {0xf9, 0x02, 0x15, 0x50, 0xf9, 0x02, 0x15, 0x50};
    uint8_t bytes[256];
    mvf_field *field = make_field();
    (void)state;
    write_field("a.flo", NULL, field);
    assert_int_equal(load("a-000004.flo", bytes, sizeof bytes), 12 + 8 * 15);
    assert_memory_equal(bytes, header, 12);
    for (int i = 0; i < 15; i++)
        assert_memory_equal(bytes + 12 + 8 * i, i % 5 < 4 ? pixel : unknown, 8);
    unlink("a-000004.flo");
    mvf_field_free(&field);
}

static void test_readers(void **state)
{
    static const char *const paths[] = {"a%03d.flo", "a%03d.png"},
                             *names[] = {"a004.flo", "a004.png"};
    mvf_field *field = make_field();
    (void)state;
    for (int k = 0; k < 2; k++) {
        mvf_flow *flow;
        uint8_t bytes[1024];
        write_field(paths[k], NULL, field);
        assert_int_equal(mvf_flow_read(&flow, names[k], NULL), MVF_OK);
        assert_int_equal(flow->width, 5);
        assert_int_equal(flow->height, 3);
        for (int i = 0; i < 15; i++) {
            float x = i % 5 < 4 ? 1.25f : MVF_FLOW_UNKNOWN,
                  y = i % 5 < 4 ? -1.75f : MVF_FLOW_UNKNOWN;
            assert_true(flow->vectors[2 * i] == x && flow->vectors[2 * i + 1] == y);
        }
        mvf_flow_free(&flow);
        /* Cut anywhere and with any byte changed: an error with an offset, or a flow. */
        size_t n = load(names[k], bytes, sizeof bytes);
        for (size_t i = 0; i < 2 * n; i++) {
            unit_messages messages;
            mvf_logger logger = unit_logger(&messages);
            if (i >= n)
                bytes[i - n] ^= 0x41;
            store("bad", bytes, i < n ? i : n);
            if (i >= n)
                bytes[i - n] ^= 0x41;
            mvf_status status = mvf_flow_read(&flow, "bad", &logger);
            assert_true(i >= n || status == MVF_ERROR_DATA);
            assert_true(status == MVF_OK || strstr(messages.text, "at byte"));
            mvf_flow_free(&flow);
        }
        unlink(names[k]);
    }
    unlink("bad");
    mvf_field_free(&field);
}

/* The number goes where the name says, and the name is never a printf format. */
static void test_names(void **state)
{
    static const char *const cases[][2] = {
        {"a.flo", "a-000004.flo"},       {"a", "a-000004"},
        {"a%d.flo", "a4.flo"},           {"%02d%d.x", "04%d.x"},
        {"50%%-%d.flo", "50%-4.flo"},    {"%s%n.flo", "%s%n-000004.flo"},
        {"a%5d.flo", "a%5d-000004.flo"}, {"100%.flo", "100%-000004.flo"}};
    mvf_field *field = make_field();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_field(cases[i][0], "flo", field);
        if (unlink(cases[i][1]))
            fail_msg("%s did not make %s", cases[i][0], cases[i][1]);
    }
    mvf_field_free(&field);
}

/* On an overlapped grid each pixel has the block whose centre is nearest. */
static void test_overlap(void **state)
{
    mvf_field *field;
    float vectors[2 * 12];
    (void)state;
    assert_int_equal(mvf_field_alloc(&field, 1, 6), MVF_OK);
    field->width = 12;
    field->height = 1;
    field->mv_scale = 1;
    field->grid = (mvf_grid){4, 4, 2, 2, 6, 1};
    for (int i = 0; i < 6; i++)
        field->blocks[i] = (mvf_block){
            .x = 2 * i, .w = (uint16_t)(i == 5 ? 2 : 4), .h = 1, .mv_x = (int16_t)i, .dir = -1};
    mvf_field_fill_flow(field, vectors);
    static const float wanted[12] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5};
    for (int i = 0; i < 12; i++)
        assert_true(fabsf(vectors[2 * i] - wanted[i]) < 1e-6f);
    mvf_field_free(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flo_bytes),
                                       cmocka_unit_test(test_readers), cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_overlap)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
