/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <dirent.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/md5.h"
#include "field/record.h"

#define HEADER "frame,pts,time,type,source,dir,ref,x,y,w,h,mv_x,mv_y,cost\n"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "unit-sink-XXXXXX");
    return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

/* Fails where anything but what the tests remove themselves is left. */
static int remove_folder(void **state)
{
    (void)state;
    return chdir("..") || rmdir(folder) ? -1 : 0;
}

static char *read_file(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n_bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n_bytes] = '\0';
    return text;
}

static int count_files(void)
{
    int count = 0;
    DIR *here = opendir(".");
    assert_non_null(here);
    for (struct dirent *entry = readdir(here); entry; entry = readdir(here))
        count += entry->d_name[0] != '.';
    closedir(here);
    return count;
}

/* Writes the fields with the format and gives the file's text. */
static const char *write_fields(const char *format, const mvf_field *fields, size_t n_fields)
{
    mvf_sink *sink;
    mvf_sink_options options;
    mvf_sink_options_init(&options);
    options.format = format;
    assert_int_equal(mvf_sink_open(&sink, "out", &options), MVF_OK);
    for (size_t i = 0; i < n_fields; i++)
        assert_int_equal(mvf_sink_write(sink, &fields[i]), MVF_OK);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(mvf_sink_close(&sink), MVF_OK);
    assert_null(sink);
    const char *text = read_file("out");
    assert_int_equal(unlink("out"), 0);
    return text;
}

static const char *write_csv(const mvf_field *field)
{
    const char *text = write_fields("csv", field, 1);
    assert_memory_equal(text, HEADER, sizeof HEADER - 1);
    return text + sizeof HEADER - 1;
}

static void test_csv_rows(void **state)
{
    mvf_reference references[] = {{6, 3000}, {8, 5000}};
    mvf_block blocks[] = {{.w = 16, .h = 16, .mv_x = 12, .mv_y = -5, .cost = 4294967295, .dir = -1},
                          {.x = 16, .w = 4, .h = 2, .mv_x = 1, .dir = 1, .ref = 1, .cost = 9},
                          {.x = 32, .y = 7, .w = 8, .h = 8, .ref = -1, .dir = -1}};
    const mvf_field field = {.frame = 7,
                             .pts = 3600,
                             .time_base = {1, 90000},
                             .type = MVF_PICTURE_B,
                             .source = MVF_VECTORS_SEARCH,
                             .mv_scale = 4,
                             .n_references = 2,
                             .references = references,
                             .n_blocks = 3,
                             .blocks = blocks};
    (void)state;
    assert_string_equal(write_csv(&field),
                        "7,3600,0.040000,B,search,-1,6,0,0,16,16,3,-1.25,4294967295\n"
                        "7,3600,0.040000,B,search,1,8,16,0,4,2,0.25,0,9\n"
                        "7,3600,0.040000,B,search,-1,,32,7,8,8,0,0,0\n");
}

static void test_csv_without_field(void **state)
{
    const mvf_field fields[] = {
        {.frame = 0, .time_base = {1, 25}, .type = MVF_PICTURE_I, .mv_scale = 4},
        {.frame = 1, .pts = MVF_NO_PTS, .time_base = {1, 25}, .source = MVF_VECTORS_CODEC}};
    (void)state;
    assert_string_equal(write_fields("csv", fields, 2), HEADER "0,0,0.000000,I,search,,,,,,,,,\n"
                                                               "1,,,?,codec,,,,,,,,,\n");
    assert_string_equal(write_fields("csv", fields, 0), HEADER);
}

/* Columns for confidence and flags are there if the first field has them, and then for all. */
static void test_csv_confidence(void **state)
{
    mvf_reference reference = {6, 3000};
    mvf_block block = {.w = 4, .h = 4, .mv_x = 17, .dir = -1, .flags = MVF_BLOCK_FLAT};
    uint8_t confidence = 255;
    mvf_field fields[] = {{.frame = 0, .pts = MVF_NO_PTS, .confidence = &confidence},
                          {.frame = 1,
                           .pts = MVF_NO_PTS,
                           .mv_scale = 16,
                           .n_references = 1,
                           .references = &reference,
                           .n_blocks = 1,
                           .blocks = &block,
                           .confidence = &confidence}};
    mvf_sink *sink;
    mvf_sink_options options;
    unit_messages messages;
    (void)state;
    assert_string_equal(write_fields("csv", fields, 2),
                        "frame,pts,time,type,source,dir,ref,x,y,w,h,mv_x,mv_y,cost,confidence,"
                        "flags\n0,,,?,search,,,,,,,,,,,\n"
                        "1,,,?,search,-1,6,0,0,4,4,1.0625,0,0,255,8\n");
    fields[0].confidence = NULL;
    mvf_sink_options_init(&options);
    options.format = "csv";
    options.logger = unit_logger(&messages);
    assert_int_equal(mvf_sink_open(&sink, "out", &options), MVF_OK);
    assert_int_equal(mvf_sink_write(sink, &fields[0]), MVF_OK);
    assert_int_equal(mvf_sink_write(sink, &fields[1]), MVF_ERROR_UNSUPPORTED);
    unit_assert_message(&messages, "jsonl, npz and mvf hold both");
    mvf_sink_discard(&sink);
    fields[1].confidence = NULL;
    fields[0].confidence = &confidence;
    assert_non_null(strstr(write_fields("csv", fields, 2), "4,4,1.0625,0,0,,8\n"));
}

static void test_csv_time(void **state)
{
    static const struct {
        int64_t pts;
        mvf_rational time_base;
        const char *row;
    } cases[] = {
        {-3808592, {1, 90000}, "0,-3808592,-42.317689,?,search,,,,,,,,,\n"},
        {-1, {1, 1000}, "0,-1,-0.001000,?,search,,,,,,,,,\n"},
        {1, {1, 3}, "0,1,0.333333,?,search,,,,,,,,,\n"},
        {2, {1, 3}, "0,2,0.666667,?,search,,,,,,,,,\n"},
        {-2, {1, 3}, "0,-2,-0.666667,?,search,,,,,,,,,\n"},
        {-3, {1, 3}, "0,-3,-1.000000,?,search,,,,,,,,,\n"},
        {1001, {1001, 30000}, "0,1001,33.400033,?,search,,,,,,,,,\n"},
        {7, {2, 1}, "0,7,14.000000,?,search,,,,,,,,,\n"},
        {INT64_C(1) << 40, {1, 90000}, "0,1099511627776,12216795.864178,?,search,,,,,,,,,\n"},
        {29999999, {1, 30000000}, "0,29999999,1.000000,?,search,,,,,,,,,\n"},
        {5, {0, 1}, "0,5,,?,search,,,,,,,,,\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const mvf_field field = {.pts = cases[i].pts, .time_base = cases[i].time_base};
        assert_string_equal(write_csv(&field), cases[i].row);
    }
}

static void test_csv_scales(void **state)
{
    static const struct {
        int32_t scale;
        int16_t mv_x, mv_y;
        const char *columns;
    } cases[] = {
        {1, 5, -5, ",5,-5,"},
        {2, 1, -1, ",0.5,-0.5,"},
        {2, 6, -3, ",3,-1.5,"},
        {4, 1, -1, ",0.25,-0.25,"},
        {4, 40, -402, ",10,-100.5,"},
        {8, 1, -7, ",0.125,-0.875,"},
        {16, 1, -15, ",0.0625,-0.9375,"},
        {16, 32767, -32768, ",2047.9375,-2048,"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_block block = {.dir = -1, .ref = -1, .mv_x = cases[i].mv_x, .mv_y = cases[i].mv_y};
        const mvf_field field = {.mv_scale = cases[i].scale, .n_blocks = 1, .blocks = &block};
        const char *row = write_csv(&field);
        if (!strstr(row, cases[i].columns))
            fail_msg("scale %d: %s", cases[i].scale, row);
    }
}

/* The locale is made where the system has its source and not the locale. */
static int set_comma_locale(void)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8"))
        return 1;
    if (system("mkdir locales && localedef -i de_DE -f UTF-8 ./locales/de_DE.UTF-8 2> /dev/null"))
        return 0;
    char path[4096];
    if (!getcwd(path, sizeof path - 16))
        return 0;
    strcat(path, "/locales");
    return !setenv("LOCPATH", path, 1) && setlocale(LC_ALL, "de_DE.UTF-8");
}

static void test_csv_locale(void **state)
{
    int has_locale = set_comma_locale(), uses_comma = 0;
    (void)state;
    if (has_locale) {
        char number[16];
        snprintf(number, sizeof number, "%.1f", 0.5);
        uses_comma = !strcmp(number, "0,5");
        mvf_block block = {.w = 4, .h = 4, .mv_x = 5, .mv_y = -3, .dir = -1, .ref = -1};
        const mvf_field field = {
            .pts = 1500, .time_base = {1, 1000}, .mv_scale = 4, .n_blocks = 1, .blocks = &block};
        assert_string_equal(write_csv(&field),
                            "0,1500,1.500000,?,search,-1,,0,0,4,4,1.25,-0.75,0\n");
        setlocale(LC_ALL, "C");
    }
    assert_int_equal(system("rm -rf locales"), 0);
    if (!uses_comma)
        skip();
}

/* The digest is that of the fields' records, one after the other. */
static void test_md5(void **state)
{
    mvf_reference reference = {3, 4};
    mvf_block blocks[] = {{.x = 1, .cost = 2}, {.x = 3, .mv_y = -4}};
    mvf_field fields[] = {
        {.frame = 1, .mv_scale = 4, .n_references = 1, .references = &reference, .n_blocks = 2},
        {.frame = 2}};
    char wanted[34];
    uint8_t bytes[MVF_RECORD_HEADER_BYTES];
    mvf_md5 md5;
    (void)state;
    fields[0].blocks = blocks;
    mvf_md5_init(&md5);
    mvf_record_write_header(bytes, &fields[0]);
    mvf_md5_update(&md5, bytes, MVF_RECORD_HEADER_BYTES);
    mvf_record_write_reference(bytes, &reference);
    mvf_md5_update(&md5, bytes, MVF_RECORD_REFERENCE_BYTES);
    for (int i = 0; i < 2; i++) {
        mvf_record_write_block(bytes, &blocks[i]);
        mvf_md5_update(&md5, bytes, MVF_RECORD_BLOCK_BYTES);
    }
    mvf_record_write_header(bytes, &fields[1]);
    mvf_md5_update(&md5, bytes, MVF_RECORD_HEADER_BYTES);
    mvf_md5_finish(&md5, wanted);
    strcat(wanted, "\n");
    assert_string_equal(write_fields("md5", fields, 2), wanted);
    assert_string_equal(write_fields("md5", fields, 0), "d41d8cd98f00b204e9800998ecf8427e\n");
}

static void test_formats(void **state)
{
    static const char *const wanted[] = {"csv",   "jsonl",  "npy", "npz", "flo",
                                         "kitti", "yuview", "mvf", "md5", "null"};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t index = 0;
        while (mvf_sink_format(index) && strcmp(mvf_sink_format(index), wanted[i]))
            index++;
        assert_non_null(mvf_sink_format(index));
    }
    assert_null(mvf_sink_format(1000));
}

static void test_null(void **state)
{
    mvf_sink *sink;
    mvf_sink_options options;
    const mvf_field field = {.frame = 1};
    (void)state;
    mvf_sink_options_init(&options);
    options.format = "null";
    assert_int_equal(mvf_sink_open(&sink, "no/such/folder", &options), MVF_OK);
    assert_int_equal(mvf_sink_write(sink, &field), MVF_OK);
    assert_int_equal(mvf_sink_close(&sink), MVF_OK);
    assert_int_equal(count_files(), 0);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_files(void **state)
{
    mvf_sink *sink = NULL;
    mvf_sink_options options;
    unit_messages messages;
    const mvf_field field = {.frame = 1};
    (void)state;
    mvf_sink_options_init(&options);

    /* By extension; a discarded file leaves nothing. */
    assert_int_equal(mvf_sink_open(&sink, "a.csv", &options), MVF_OK);
    assert_int_equal(mvf_sink_write(sink, &field), MVF_OK);
    assert_int_equal(count_files(), 1);
    mvf_sink_discard(&sink);
    assert_null(sink);
    mvf_sink_discard(&sink);
    assert_int_equal(mvf_sink_close(&sink), MVF_OK);
    assert_int_equal(count_files(), 0);

    /* What exists stays until the new file is complete. */
    write_text("a.csv", "old");
    options.logger = unit_logger(&messages);
    assert_int_equal(mvf_sink_open(&sink, "a.csv", &options), MVF_ERROR_EXISTS);
    unit_assert_message(&messages, "a.csv");
    assert_null(sink);
    options.overwrite = 1;
    assert_int_equal(mvf_sink_open(&sink, "a.csv", &options), MVF_OK);
    mvf_sink_discard(&sink);
    assert_string_equal(read_file("a.csv"), "old");
    assert_int_equal(mvf_sink_open(&sink, "a.csv", &options), MVF_OK);
    assert_string_equal(read_file("a.csv"), "old");
    assert_int_equal(mvf_sink_close(&sink), MVF_OK);
    assert_string_equal(read_file("a.csv"), HEADER);
    assert_int_equal(unlink("a.csv"), 0);
    assert_int_equal(count_files(), 0);
}

static void test_errors(void **state)
{
    static const struct {
        const char *path, *format, *message;
        mvf_status status;
    } cases[] = {
        {"a.txt", NULL, "csv, jsonl, npy", MVF_ERROR_ARGUMENT},
        {"csv", NULL, "csv, jsonl, npy", MVF_ERROR_ARGUMENT},
        {".csv", NULL, "csv, jsonl, npy", MVF_ERROR_ARGUMENT},
        {"a.csv", "CSV", "csv, jsonl, npy", MVF_ERROR_ARGUMENT},
        {"", "csv", "no name", MVF_ERROR_ARGUMENT},
        {".", "csv", "directory", MVF_ERROR_IO},
        {"no/a.csv", NULL, "No such file", MVF_ERROR_IO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_sink *sink = (mvf_sink *)&sink;
        mvf_sink_options options;
        unit_messages messages;
        mvf_sink_options_init(&options);
        options.format = cases[i].format;
        options.logger = unit_logger(&messages);
        assert_int_equal(mvf_sink_open(&sink, cases[i].path, &options), cases[i].status);
        assert_null(sink);
        unit_assert_message(&messages, cases[i].message);
    }
    assert_int_equal(count_files(), 0);
}

static void test_full_device(void **state)
{
    mvf_sink *sink;
    mvf_sink_options options;
    unit_messages messages;
    mvf_field field = {.frame = 1};
    (void)state;
    if (access("/dev/full", W_OK))
        skip();
    mvf_sink_options_init(&options);
    options.format = "csv";
    options.logger = unit_logger(&messages);
    assert_int_equal(mvf_sink_open(&sink, "/dev/full", &options), MVF_OK);
    mvf_status status = MVF_OK;
    for (int i = 0; i < 10000 && status == MVF_OK; i++)
        status = mvf_sink_write(sink, &field);
    assert_int_equal(status, MVF_ERROR_IO);
    unit_assert_message(&messages, "/dev/full");
    mvf_sink_discard(&sink);
    options.logger = unit_logger(&messages);
    assert_int_equal(mvf_sink_open(&sink, "/dev/full", &options), MVF_OK);
    assert_int_equal(mvf_sink_close(&sink), MVF_ERROR_IO);
    unit_assert_message(&messages, "/dev/full");
    assert_null(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_rows),    cmocka_unit_test(test_csv_without_field),
        cmocka_unit_test(test_csv_time),    cmocka_unit_test(test_csv_scales),
        cmocka_unit_test(test_csv_locale),  cmocka_unit_test(test_md5),
        cmocka_unit_test(test_formats),     cmocka_unit_test(test_null),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_full_device), cmocka_unit_test(test_csv_confidence),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
