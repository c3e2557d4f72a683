/*
 * Vectors for predictors and hints, and lambda.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unit.h"

static mvf_field *make_field(int32_t width, int32_t height, int32_t mv_scale, size_t n_blocks)
{
    mvf_field *field;
    assert_int_equal(mvf_field_alloc(&field, 1, n_blocks), MVF_OK);
    field->width = width;
    field->height = height;
    field->bit_depth = 8;
    field->mv_scale = mv_scale;
    return field;
}

static void test_lambda(void **state)
{
    /* x264's table. */
    static const int32_t known[][2] = {{0, 1},  {12, 1},  {18, 2},  {24, 4},  {26, 5}, {28, 6},
                                       {30, 8}, {36, 16}, {42, 32}, {48, 64}, {51, 91}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(mvf_lambda_q4(known[i][0]), 16 * known[i][1]);
    assert_int_equal(mvf_lambda_q4(-5), 16);
    assert_int_equal(mvf_lambda_q4(1000), mvf_lambda_q4(81));
}

static void test_coarser_blocks(void **state)
{
    mvf_vector vectors[16];
    const mvf_grid grid = {8, 8, 8, 8, 4, 4};
    mvf_field *field = make_field(32, 32, 4, 2);
    (void)state;
    field->blocks[0] = (mvf_block){.x = 0, .y = 0, .w = 16, .h = 16, .mv_x = 5, .dir = -1};
    field->blocks[1] = (mvf_block){.x = 16, .y = 8, .w = 16, .h = 8, .mv_y = -7, .dir = -1};
    mvf_guides_from_field(field, -1, &grid, vectors, 1);
    assert_int_equal(vectors[0].x, 5);
    assert_int_equal(vectors[5].x, 5);
    assert_int_equal(vectors[2].y, 0);
    assert_int_equal(vectors[6].y, -7);
    assert_int_equal(vectors[7].y, -7);
    assert_int_equal(vectors[10].y, 0);
    mvf_field_free(&field);
}

static void test_direction_stride_and_scale(void **state)
{
    mvf_vector vectors[3] = {{9, 9}, {9, 9}, {9, 9}};
    const mvf_grid grid = {16, 16, 16, 16, 1, 1};
    mvf_field *field = make_field(10, 10, 8, 3);
    (void)state;
    field->blocks[0] = (mvf_block){.w = 10, .h = 10, .mv_x = 3, .mv_y = -3, .dir = 1};
    field->blocks[1] = (mvf_block){.w = 10, .h = 10, .mv_x = 100, .dir = -1};
    field->blocks[2] = (mvf_block){.w = 10, .h = 10, .mv_x = 50, .dir = 0};
    mvf_guides_from_field(field, 1, &grid, &vectors[1], 2);
    assert_int_equal(vectors[0].x, 9);
    assert_int_equal(vectors[1].x, 2);
    assert_int_equal(vectors[1].y, -1);
    assert_int_equal(vectors[2].x, 9);
    field->mv_scale = 2;
    mvf_guides_from_field(field, -1, &grid, vectors, 1);
    assert_int_equal(vectors[0].x, 200);
    mvf_field_free(&field);
}

static void test_centre_beyond_the_frame(void **state)
{
    mvf_vector vectors[2];
    const mvf_grid grid = {64, 64, 64, 64, 2, 1};
    mvf_field *field = make_field(70, 20, 4, 1);
    (void)state;
    field->blocks[0] = (mvf_block){.x = 64, .y = 16, .w = 6, .h = 4, .mv_x = 11, .dir = -1};
    mvf_guides_from_field(field, -1, &grid, vectors, 1);
    assert_int_equal(vectors[0].x, 0);
    assert_int_equal(vectors[1].x, 11);
    mvf_field_free(&field);
}

static void test_predict_refuses(void **state)
{
    uint8_t reference[64] = {0}, plane[64];
    mvf_picture picture;
    mvf_field *field = make_field(8, 8, 4, 1);
    (void)state;
    mvf_picture_init(&picture);
    picture.data = reference;
    picture.stride_bytes = 8;
    field->blocks[0] = (mvf_block){.x = 4, .y = 0, .w = 8, .h = 8, .dir = -1};
    assert_int_equal(mvf_field_predict(field, &picture, MVF_INTERPOLATION_H264, plane, 8),
                     MVF_ERROR_ARGUMENT);
    field->blocks[0] = (mvf_block){.w = 8, .h = 8, .dir = -1, .ref = 1};
    assert_int_equal(mvf_field_predict(field, &picture, MVF_INTERPOLATION_H264, plane, 8),
                     MVF_ERROR_ARGUMENT);
    field->blocks[0] = (mvf_block){.w = 8, .h = 8, .dir = -1, .flags = MVF_BLOCK_AVERAGE};
    assert_int_equal(mvf_field_predict(field, &picture, MVF_INTERPOLATION_H264, plane, 8),
                     MVF_ERROR_ARGUMENT);
    field->blocks[0].flags = 0;
    field->mv_scale = 8;
    assert_int_equal(mvf_field_predict(field, &picture, MVF_INTERPOLATION_H264, plane, 8),
                     MVF_ERROR_UNSUPPORTED);
    field->mv_scale = 4;
    field->blocks[0].mv_x = 30000;
    assert_int_equal(mvf_field_predict(field, &picture, MVF_INTERPOLATION_H264, plane, 8), MVF_OK);
    mvf_field_free(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lambda),
        cmocka_unit_test(test_coarser_blocks),
        cmocka_unit_test(test_direction_stride_and_scale),
        cmocka_unit_test(test_centre_beyond_the_frame),
        cmocka_unit_test(test_predict_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
