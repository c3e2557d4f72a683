/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "field/record.h"

#define N_FIELDS 7
#define COLS 5
#define ROWS 3

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "unit-mvf-XXXXXX");
    return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return chdir("..") || rmdir(folder) ? -1 : 0;
}

static uint32_t random_state;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* Field 0 has no blocks, field 3 no grid and extreme values, the others a grid of 70 x 37 px.
 * Fields 3, 5 and 6 have a confidence. */
static mvf_field *make_field(int number)
{
    mvf_field *field;
    int is_free = number == 3;
    size_t n = !number ? 0 : is_free ? 11 : COLS * ROWS;
    assert_int_equal(mvf_field_alloc(&field, is_free ? 2 : 1, n), MVF_OK);
    field->frame = 10 + number;
    field->pts = number == 2 ? MVF_NO_PTS : -4000 + 1001 * number;
    field->time_base = (mvf_rational){1, 30000};
    field->type = number ? MVF_PICTURE_B : MVF_PICTURE_I;
    field->source = is_free ? MVF_VECTORS_CODEC : MVF_VECTORS_SEARCH;
    field->width = 70;
    field->height = 37;
    field->bit_depth = 8 + number;
    field->mv_scale = is_free ? 2 : 4;
    field->flags = number ? 0 : MVF_FIELD_KEY;
    field->references[0] = (mvf_reference){9 + number, MVF_NO_PTS};
    if (is_free || number > 4) {
        field->confidence = malloc(n);
        assert_non_null(field->confidence);
        for (size_t i = 0; i < n; i++)
            field->confidence[i] = (uint8_t)next_random();
    }
    if (!is_free)
        field->grid = (mvf_grid){16, 16, 16, 16, COLS, ROWS};
    for (size_t i = 0; i < n; i++) {
        mvf_block *block = &field->blocks[i];
        int32_t x = (int32_t)(i % COLS) * 16, y = (int32_t)(i / COLS) * 16;
        *block = (mvf_block){.x = x,
                             .y = y,
                             .w = (uint16_t)(70 - x < 16 ? 70 - x : 16),
                             .h = (uint16_t)(37 - y < 16 ? 37 - y : 16),
                             .mv_x = (int16_t)next_random(),
                             .mv_y = (int16_t)next_random(),
                             .cost = next_random() << 8 | 0xff,
                             .dir = (int8_t)(next_random() % 3 - 1),
                             .flags = (uint8_t)next_random(),
                             .ref = (int16_t)(next_random() % 2 - 1)};
        if (is_free)
            block->x = i % 2 ? INT32_MAX : INT32_MIN;
    }
    return field;
}

static void assert_same_field(const mvf_field *a, const mvf_field *b)
{
    size_t n = mvf_record_bytes(a);
    assert_int_equal(a->confidence != NULL, b->confidence != NULL);
    if (a->confidence)
        assert_memory_equal(a->confidence, b->confidence, a->n_blocks);
    assert_int_equal(n, mvf_record_bytes(b));
    uint8_t *of_a = malloc(n), *of_b = malloc(n);
    assert_true(of_a && of_b);
    mvf_record_write(of_a, a);
    mvf_record_write(of_b, b);
    assert_memory_equal(of_a, of_b, n);
    free(of_a);
    free(of_b);
}

static void write_file(const char *path, int compression)
{
    mvf_sink *sink;
    mvf_sink_options options;
    mvf_sink_options_init(&options);
    options.compression = compression;
    options.rotation = 270;
    options.frame_rate = (mvf_rational){30000, 1001};
    options.overwrite = 1;
    random_state = 1;
    assert_int_equal(mvf_sink_open(&sink, path, &options), MVF_OK);
    for (int i = 0; i < N_FIELDS; i++) {
        mvf_field *field = make_field(i);
        assert_int_equal(mvf_sink_write(sink, field), MVF_OK);
        mvf_field_free(&field);
    }
    assert_int_equal(mvf_sink_close(&sink), MVF_OK);
}

static uint8_t *load(const char *path, size_t *n_bytes)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    *n_bytes = (size_t)info.st_size;
    uint8_t *bytes = malloc(*n_bytes);
    FILE *file = fopen(path, "rb");
    assert_true(file && bytes);
    assert_int_equal(fread(bytes, 1, *n_bytes, file), *n_bytes);
    fclose(file);
    return bytes;
}

static void store(const char *path, const uint8_t *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    fclose(file);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int compression = 0; compression <= 9; compression += 3) {
        mvf_reader *reader;
        mvf_field *field;
        mvf_reader_info info = {.struct_size = sizeof info};
        write_file("a.mvf", compression);
        assert_int_equal(mvf_reader_probe("a.mvf"), 1);
        assert_int_equal(mvf_reader_open(&reader, "a.mvf", NULL), MVF_OK);
        mvf_reader_get_info(reader, &info);
        assert_int_equal(info.n_fields, N_FIELDS);
        assert_int_equal(info.first_frame, 10);
        assert_int_equal(info.last_frame, 10 + N_FIELDS - 1);
        assert_true(info.is_complete && info.damage_offset == -1 && info.version_major == 1);
        assert_int_equal(info.rotation, 270);
        assert_int_equal(info.frame_rate.num, 30000);
        random_state = 1;
        for (int i = 0; i < N_FIELDS; i++) {
            mvf_field *wanted = make_field(i);
            assert_int_equal(mvf_reader_next(reader, &field), MVF_OK);
            assert_same_field(field, wanted);
            mvf_field_free(&field);
            mvf_field_free(&wanted);
        }
        assert_int_equal(mvf_reader_next(reader, &field), MVF_EOF);
        assert_int_equal(mvf_reader_seek(reader, 14), MVF_OK);
        assert_int_equal(mvf_reader_seek(reader, 9), MVF_ERROR_ARGUMENT);
        assert_int_equal(mvf_reader_next(reader, &field), MVF_OK);
        assert_int_equal(field->frame, 14);
        mvf_field_free(&field);
        assert_int_equal(mvf_reader_seek_index(reader, N_FIELDS), MVF_OK);
        assert_int_equal(mvf_reader_seek_index(reader, N_FIELDS + 1), MVF_ERROR_ARGUMENT);
        assert_int_equal(mvf_reader_next(reader, &field), MVF_EOF);
        mvf_reader_close(&reader);
        assert_null(reader);
        unlink("a.mvf");
    }
}

/* Reads all that can be read; counts the fields and the damage reported. */
static void read_all(mvf_reader *reader, int *n_fields, int *n_damaged)
{
    mvf_field *field;
    mvf_status status;
    *n_fields = *n_damaged = 0;
    while ((status = mvf_reader_next(reader, &field)) != MVF_EOF) {
        assert_true(status == MVF_OK || status == MVF_ERROR_DATA);
        *n_fields += status == MVF_OK;
        *n_damaged += status == MVF_ERROR_DATA;
        mvf_field_free(&field);
    }
}

/* Cut anywhere, the fields that are whole are read, and the end is reported once. */
static void test_truncation(void **state)
{
    (void)state;
    for (int compression = 0; compression < 2; compression++) {
        size_t n_bytes;
        write_file("a.mvf", compression);
        uint8_t *bytes = load("a.mvf", &n_bytes);
        int most = 0;
        for (size_t n = 0; n < n_bytes; n++) {
            mvf_reader *reader;
            unit_messages messages;
            mvf_logger logger = unit_logger(&messages);
            store("cut.mvf", bytes, n);
            mvf_status status = mvf_reader_open(&reader, "cut.mvf", &logger);
            assert_true(strstr(messages.text, "cut.mvf") && strstr(messages.text, "at byte"));
            if (n < 64) {
                assert_int_equal(status, MVF_ERROR_DATA);
                continue;
            }
            assert_int_equal(status, MVF_OK);
            int n_fields, n_damaged;
            read_all(reader, &n_fields, &n_damaged);
            assert_int_equal(n_damaged, 1);
            assert_true(n_fields >= most);
            most = n_fields;
            mvf_reader_close(&reader);
        }
        assert_int_equal(most, N_FIELDS);
        free(bytes);
    }
    unlink("a.mvf");
    unlink("cut.mvf");
}

/* A changed byte never goes unnoticed and never harms; the other fields are still read. */
static void test_damage(void **state)
{
    (void)state;
    for (int compression = 0; compression < 2; compression++) {
        size_t n_bytes;
        write_file("a.mvf", compression);
        uint8_t *bytes = load("a.mvf", &n_bytes);
        for (size_t at = 0; at < n_bytes; at++) {
            mvf_reader *reader;
            unit_messages messages;
            mvf_logger logger = unit_logger(&messages);
            bytes[at] ^= (uint8_t)(1 << at % 8);
            store("bad.mvf", bytes, n_bytes);
            bytes[at] ^= (uint8_t)(1 << at % 8);
            mvf_status status = mvf_reader_open(&reader, "bad.mvf", &logger);
            if (at < 64) {
                assert_int_equal(status, MVF_ERROR_DATA);
                assert_int_equal(messages.count, 1);
                continue;
            }
            assert_int_equal(status, MVF_OK);
            int n_fields, n_damaged;
            read_all(reader, &n_fields, &n_damaged);
            assert_true(n_fields >= N_FIELDS - 1 && n_damaged <= 1);
            mvf_reader_close(&reader);
        }
        free(bytes);
    }
    unlink("a.mvf");
    unlink("bad.mvf");
}

/* What a checksum does not catch: records that were made to lie. */
static void test_hostile_records(void **state)
{
    random_state = 7;
    (void)state;
    for (int number = 0; number < N_FIELDS; number++) {
        mvf_field *field = make_field(number), *back;
        size_t n = mvf_record_bytes(field);
        uint8_t *bytes = malloc(n);
        char fault[256];
        assert_non_null(bytes);
        for (int packed = 0; packed < 2; packed++)
            for (int round = 0; round < 2000; round++) {
                packed ? mvf_record_pack(bytes, field) : mvf_record_write(bytes, field);
                for (int i = 0; i < 1 + round % 4; i++)
                    bytes[next_random() % (round % 2 ? n : 72)] = (uint8_t)next_random();
                mvf_status status = mvf_record_read(&back, bytes, n - (round % 50 == 49), packed,
                                                    fault, sizeof fault);
                assert_true(status == MVF_OK || (status == MVF_ERROR_DATA && *fault));
                if (status == MVF_OK && back->width < 4096 && back->height < 4096 &&
                    back->width > 0 && back->height > 0) {
                    mvf_flow *flow;
                    assert_int_equal(mvf_flow_alloc(&flow, back->width, back->height), MVF_OK);
                    mvf_field_fill_flow(back, flow->vectors);
                    mvf_flow_free(&flow);
                }
                mvf_field_free(&back);
            }
        free(bytes);
        mvf_field_free(&field);
    }
}

/* A later version's additions to a record come last, under bits that this one passes over. */
static void test_later_records(void **state)
{
    (void)state;
    for (int number = 4; number < 6; number++) {
        random_state = 9;
        mvf_field *field = make_field(number), *back;
        size_t n = mvf_record_bytes(field);
        uint8_t *bytes = calloc(n + 40, 1);
        char fault[256];
        assert_non_null(bytes);
        for (int packed = 0; packed < 2; packed++) {
            packed ? mvf_record_pack(bytes, field) : mvf_record_write(bytes, field);
            assert_int_equal(mvf_record_read(&back, bytes, n + 40, packed, fault, sizeof fault),
                             MVF_ERROR_DATA);
            bytes[35] |= 0x82;
            assert_int_equal(mvf_record_read(&back, bytes, n + 40, packed, fault, sizeof fault),
                             MVF_OK);
            assert_same_field(back, field);
            mvf_field_free(&back);
            assert_int_equal(mvf_record_read(&back, bytes, n - 1, packed, fault, sizeof fault),
                             MVF_ERROR_DATA);
        }
        free(bytes);
        mvf_field_free(&field);
    }
}

static void test_foreign_files(void **state)
{
    static const struct {
        const char *path, *message;
        mvf_status status;
    } cases[] = {{"none.mvf", "No such file", MVF_ERROR_IO},
                 {".", "not a regular file", MVF_ERROR_IO},
                 {"/dev/null", "not a regular file", MVF_ERROR_IO},
                 {"text.mvf", "not an mvf file (at byte 0)", MVF_ERROR_DATA}};
    (void)state;
    store("text.mvf", (const uint8_t *)"frame,pts\n", 10);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_reader *reader;
        unit_messages messages;
        mvf_logger logger = unit_logger(&messages);
        assert_int_equal(mvf_reader_open(&reader, cases[i].path, &logger), cases[i].status);
        assert_null(reader);
        unit_assert_message(&messages, cases[i].message);
        assert_int_equal(mvf_reader_probe(cases[i].path), 0);
    }
    unlink("text.mvf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_damage),        cmocka_unit_test(test_hostile_records),
        cmocka_unit_test(test_foreign_files), cmocka_unit_test(test_later_records),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
