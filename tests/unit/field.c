/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "field/record.h"

static void test_alloc(void **state)
{
    mvf_field *field;
    (void)state;
    assert_int_equal(mvf_field_alloc(&field, 3, 100), MVF_OK);
    assert_int_equal(field->n_references, 3);
    assert_int_equal(field->n_blocks, 100);
    assert_true(field->frame == MVF_NO_FRAME && field->pts == MVF_NO_PTS);
    assert_true(field->time_base.den > 0 && field->mv_scale > 0);
    for (int i = 0; i < 100; i++) {
        mvf_block zero = {.x = 0};
        assert_memory_equal(&field->blocks[i], &zero, sizeof zero);
    }
    mvf_field_free(&field);
    assert_null(field);
    mvf_field_free(&field);
    assert_int_equal(mvf_field_alloc(&field, 0, 0), MVF_OK);
    mvf_field_free(&field);
    assert_int_equal(mvf_field_alloc(&field, 0, SIZE_MAX / 4), MVF_ERROR_MEMORY);
    assert_null(field);
    assert_int_equal(mvf_field_alloc(&field, SIZE_MAX, 1), MVF_ERROR_MEMORY);
    assert_null(field);
}

static void test_measure(void **state)
{
    mvf_field *field;
    mvf_field_statistics statistics;
    (void)state;
    assert_int_equal(mvf_field_alloc(&field, 1, 4), MVF_OK);
    field->mv_scale = 4;
    mvf_field_measure(field, &statistics);
    assert_int_equal(statistics.n_vectors, 0);
    assert_true(statistics.mean_length_px == 0 && statistics.max_length_px == 0);
    field->blocks[0] =
        (mvf_block){.w = 64, .h = 64, .mv_x = -12, .mv_y = 16, .cost = UINT32_MAX, .dir = -1};
    field->blocks[1] = (mvf_block){.w = 16, .h = 3, .cost = 5, .dir = 1};
    field->blocks[2] = (mvf_block){.w = 16, .h = 16, .mv_x = 100, .cost = 7};
    field->blocks[3] = (mvf_block){.w = 1, .h = 1, .mv_x = 4, .cost = UINT32_MAX, .dir = -1};
    mvf_field_measure(field, &statistics);
    assert_int_equal(statistics.n_vectors, 3);
    assert_int_equal(statistics.n_still, 1);
    assert_int_equal(statistics.cost, UINT64_C(2) * UINT32_MAX + 5);
    assert_int_equal(statistics.area_px, 64 * 64 + 48 + 1);
    assert_true(statistics.mean_length_px == 2 && statistics.max_length_px == 5);
    mvf_field_free(&field);
}

static void test_record_header(void **state)
{
    static const uint8_t wanted[MVF_RECORD_HEADER_BYTES] = {
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0x01, 0x00, 0x00, 0x00, 0x90, 0x5f, 0x01, 0x00, 0x80, 0x07, 0x00, 0x00, 0x38, 0x04,
        0x00, 0x00, 0x0a, 0x03, 0x01, 0x00, 0x08, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x40,
        0x00, 0x20, 0x00, 0x10, 0x00, 0x08, 0x00, 0x78, 0x00, 0x00, 0x00, 0x87, 0x00, 0x00, 0x00,
        0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
    const mvf_field field = {.frame = 0x0102030405060708,
                             .pts = -2,
                             .time_base = {1, 90000},
                             .type = MVF_PICTURE_B,
                             .source = MVF_VECTORS_CODEC,
                             .width = 1920,
                             .height = 1080,
                             .bit_depth = 10,
                             .mv_scale = 8,
                             .flags = MVF_FIELD_DUPLICATE | MVF_FIELD_DAMAGED,
                             .grid = {64, 32, 16, 8, 120, 135},
                             .n_references = 2,
                             .n_blocks = 1};
    uint8_t bytes[MVF_RECORD_HEADER_BYTES];
    (void)state;
    memset(bytes, 0xcd, sizeof bytes);
    mvf_record_write_header(bytes, &field);
    assert_memory_equal(bytes, wanted, sizeof wanted);
}

static void test_record_parts(void **state)
{
    static const uint8_t wanted_reference[MVF_RECORD_REFERENCE_BYTES] = {
        0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80};
    static const uint8_t wanted_block[MVF_RECORD_BLOCK_BYTES] = {
        0x00, 0x01, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x10, 0x00, 0x08, 0x00,
        0xff, 0xff, 0x00, 0x80, 0xef, 0xbe, 0xad, 0xde, 0xff, 0x01, 0xff, 0xff};
    const mvf_reference reference = {5, MVF_NO_PTS};
    const mvf_block block = {.x = 256,
                             .y = 2,
                             .w = 16,
                             .h = 8,
                             .mv_x = -1,
                             .mv_y = INT16_MIN,
                             .cost = 0xdeadbeef,
                             .dir = -1,
                             .flags = MVF_BLOCK_RANGE_EDGE,
                             .ref = -1};
    uint8_t bytes[MVF_RECORD_BLOCK_BYTES];
    (void)state;
    mvf_record_write_reference(bytes, &reference);
    assert_memory_equal(bytes, wanted_reference, sizeof wanted_reference);
    mvf_record_write_block(bytes, &block);
    assert_memory_equal(bytes, wanted_block, sizeof wanted_block);
}

/* A median in the order of the header, over all pairs of blocks. */
static mvf_vector naive_median(const mvf_field *field, const mvf_block *blocks, int at)
{
    int best_sum = INT32_MAX, cols = field->grid.cols;
    mvf_vector best = {0, 0};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 4 * 3; i++) {
            int sum = 0;
            if (abs(i % cols - at % cols) > 1 || abs(i / cols - at / cols) > 1 || !blocks[i].dir ||
                (i == at) == pass || blocks[i].ref != blocks[at].ref)
                continue;
            for (int j = 0; j < 4 * 3; j++)
                if (abs(j % cols - at % cols) <= 1 && abs(j / cols - at / cols) <= 1 &&
                    blocks[j].dir && blocks[j].ref == blocks[at].ref)
                    sum +=
                        abs(blocks[i].mv_x - blocks[j].mv_x) + abs(blocks[i].mv_y - blocks[j].mv_y);
            if (sum < best_sum) {
                best_sum = sum;
                best = (mvf_vector){blocks[i].mv_x, blocks[i].mv_y};
            }
        }
    return best;
}

static void test_smooth(void **state)
{
    mvf_field *field;
    mvf_block before[24];
    (void)state;
    srand(7);
    for (int repeat = 0; repeat < 50; repeat++) {
        assert_int_equal(mvf_field_alloc(&field, 2, 24), MVF_OK);
        field->grid = (mvf_grid){16, 16, 16, 16, 4, 3};
        for (int i = 0; i < 24; i++)
            field->blocks[i] = (mvf_block){.mv_x = (int16_t)(rand() % 9),
                                           .mv_y = (int16_t)(rand() % 9),
                                           .dir = (int8_t) - (rand() % 8 != 0),
                                           .ref = (int16_t)(rand() % 5 == 0)};
        memcpy(before, field->blocks, sizeof before);
        assert_int_equal(mvf_field_smooth(field), MVF_OK);
        for (int i = 0; i < 24; i++) {
            const mvf_block *b = &field->blocks[i];
            mvf_vector wanted = {before[i].mv_x, before[i].mv_y};
            if (before[i].dir)
                wanted = naive_median(field, before + i / 12 * 12, i % 12);
            assert_true(b->mv_x == wanted.x && b->mv_y == wanted.y);
            int changed = b->mv_x != before[i].mv_x || b->mv_y != before[i].mv_y;
            assert_int_equal(b->flags, changed ? MVF_BLOCK_SMOOTHED : 0);
        }
        field->grid.cols = 5;
        assert_int_equal(mvf_field_smooth(field), MVF_ERROR_UNSUPPORTED);
        mvf_field_free(&field);
    }
    assert_int_equal(mvf_field_alloc(&field, 0, 0), MVF_OK);
    assert_int_equal(mvf_field_smooth(field), MVF_OK);
    mvf_field_free(&field);
}

static void test_picture(void **state)
{
    mvf_picture picture;
    (void)state;
    memset(&picture, 0xcd, sizeof picture);
    mvf_picture_init(&picture);
    assert_null(picture.data);
    assert_true(picture.frame == MVF_NO_FRAME && picture.pts == MVF_NO_PTS);
    assert_true(picture.memory == MVF_MEMORY_HOST && picture.type == MVF_PICTURE_UNKNOWN);
    assert_true(picture.time_base.num == 0 && picture.time_base.den == 1);
    assert_int_equal(mvf_picture_type_letter(MVF_PICTURE_I), 'I');
    assert_int_equal(mvf_picture_type_letter(MVF_PICTURE_P), 'P');
    assert_int_equal(mvf_picture_type_letter(MVF_PICTURE_B), 'B');
    assert_int_equal(mvf_picture_type_letter(MVF_PICTURE_UNKNOWN), '?');
    assert_int_equal(mvf_picture_type_letter((mvf_picture_type)99), '?');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),         cmocka_unit_test(test_measure),
        cmocka_unit_test(test_record_header), cmocka_unit_test(test_record_parts),
        cmocka_unit_test(test_picture),       cmocka_unit_test(test_smooth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
