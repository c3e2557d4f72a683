/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <math.h>

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

/* A field of 40 x 30 blocks that a camera and, in `n_others` of ten blocks, something else moves.
 */
static mvf_field *camera_field(double x, double y, double degrees, double zoom, int n_others)
{
    mvf_field *field;
    double angle = degrees * acos(-1) / 180;
    uint32_t random = 5;
    assert_int_equal(mvf_field_alloc(&field, 1, 1200), MVF_OK);
    field->width = 640;
    field->height = 480;
    field->mv_scale = 16;
    for (size_t i = 0; i < 1200; i++) {
        int32_t bx = (int32_t)(i % 40) * 16, by = (int32_t)(i / 40) * 16;
        double px = bx + 8 - 320, py = by + 8 - 240;
        double vx = x + zoom * (cos(angle) * px - sin(angle) * py) - px;
        double vy = y + zoom * (sin(angle) * px + cos(angle) * py) - py;
        random = random * 1664525u + 1013904223u;
        if ((random >> 16) % 10 < (uint32_t)n_others) {
            vx = (int32_t)(random >> 8 & 63) - 32;
            vy = (int32_t)(random >> 14 & 63) - 32;
        }
        field->blocks[i] = (mvf_block){.x = bx,
                                       .y = by,
                                       .w = 16,
                                       .h = 16,
                                       .mv_x = (int16_t)lround(16 * vx),
                                       .mv_y = (int16_t)lround(16 * vy),
                                       .dir = 1};
    }
    return field;
}

static void test_global(void **state)
{
    static const double cases[][4] = {{0, 0, 0, 1},      {3.25, -7.5, 0, 1}, {0, 0, 4, 1},
                                      {12, 5, -2, 1.05}, {-20, 3, 7, 0.9},   {0.5, 0, 0, 1.2}};
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int n_others = 0; n_others < 6; n_others += 5) {
            const double *c = cases[i];
            mvf_field *field = camera_field(c[0], c[1], c[2], c[3], n_others);
            mvf_global_motion motion, none;
            assert_int_equal(mvf_field_estimate_global(field, 0, &motion), MVF_OK);
            assert_int_equal(motion.n_vectors, 1200);
            assert_int_equal(motion.dir, 1);
            assert_true(fabs(motion.x - c[0]) < 0.06 && fabs(motion.y - c[1]) < 0.06);
            assert_true(fabs(motion.rotation_degrees - c[2]) < 0.03);
            assert_true(fabs(motion.zoom - c[3]) < 0.0005);
            assert_true(motion.support > (10 - n_others) / 10.0 - 0.05);
            assert_int_equal(mvf_field_estimate_global(field, -1, &none), MVF_OK);
            assert_true(!none.n_vectors && none.zoom == 1 && none.support == 0);
            mvf_field_subtract_global(field, &motion);
            size_t n_left = 0;
            for (size_t k = 0; k < field->n_blocks; k++)
                n_left += abs(field->blocks[k].mv_x) > 3 || abs(field->blocks[k].mv_y) > 3;
            assert_true(n_left <= 130 * (size_t)n_others);
            assert_true(field->flags & MVF_FIELD_RESIDUAL);
            mvf_field_free(&field);
        }
}

/* One or two vectors, and blocks all in one place, are a shift. */
static void test_global_of_few(void **state)
{
    (void)state;
    for (size_t n = 1; n < 4; n++) {
        mvf_field *field = camera_field(4, 2, 0, 1, 0);
        mvf_global_motion motion;
        field->n_blocks = n;
        for (size_t i = 0; i < n; i++)
            field->blocks[i].x = 0;
        assert_int_equal(mvf_field_estimate_global(field, 1, &motion), MVF_OK);
        assert_true(fabs(motion.x - 4) < 1e-9 && fabs(motion.y - 2) < 1e-9);
        assert_true(motion.zoom == 1 && motion.rotation_degrees == 0 && motion.support == 1);
        mvf_field_free(&field);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),         cmocka_unit_test(test_measure),
        cmocka_unit_test(test_record_header), cmocka_unit_test(test_record_parts),
        cmocka_unit_test(test_picture),       cmocka_unit_test(test_smooth),
        cmocka_unit_test(test_global),        cmocka_unit_test(test_global_of_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
