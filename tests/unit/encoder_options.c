/*
 * The options for encoders: what is refused, and what callers built against older headers get.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unit.h"

static mvf_status open_with(const mvf_options *options, int32_t bit_depth)
{
    mvf_searcher *searcher;
    mvf_status status = mvf_searcher_open(&searcher, options, 64, 48, bit_depth);
    assert_true((status == MVF_OK) == (searcher != NULL));
    mvf_searcher_close(&searcher);
    return status;
}

static mvf_options defaults(void)
{
    mvf_options options;
    mvf_options_init(&options);
    options.backend = MVF_BACKEND_CPU;
    options.threads = 1;
    return options;
}

static void test_unknown_choices(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        mvf_options o = defaults();
        if (i == 0)
            o.subpel = (mvf_subpel)3;
        else if (i == 1)
            o.interpolation = (mvf_interpolation)3;
        else if (i == 2)
            o.refine_metric = (mvf_metric)4;
        else if (i == 3)
            o.metric = (mvf_metric)4;
        else if (i == 4)
            o.partitions = (mvf_partitions)3;
        else if (i == 5)
            o.partition_output = (mvf_partition_output)2;
        else
            o.merge = (mvf_merge)3;
        assert_int_equal(mvf_options_check(&o), MVF_ERROR_ARGUMENT);
        assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    }
}

static void test_ranges(void **state)
{
    static const uint16_t bits[1] = {1};
    (void)state;
    mvf_options o = defaults();
    o.lambda_q4 = 65535;
    assert_int_equal(open_with(&o, 16), MVF_OK);
    o.lambda_q4 = 65536;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o = defaults();
    o.mv_bits = bits;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o.n_mv_bits = 1;
    assert_int_equal(open_with(&o, 8), MVF_OK);
    o = defaults();
    o.method = MVF_METHOD_REFINE;
    o.refine_range = 17;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o.refine_range = 16;
    assert_int_equal(open_with(&o, 8), MVF_OK);
}

static void test_partitions(void **state)
{
    (void)state;
    mvf_options o = defaults();
    o.partitions = MVF_PARTITIONS_RECT;
    assert_int_equal(open_with(&o, 8), MVF_OK);
    o.block_h = 8;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o.block_h = 16;
    o.step_x = 8;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o.step_x = 16;
    o.partition_min = 12;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o.partition_min = 32;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
    o.partition_min = 16;
    assert_int_equal(open_with(&o, 8), MVF_OK);
    o.leaf_cost = UINT32_MAX;
    assert_int_equal(open_with(&o, 8), MVF_ERROR_ARGUMENT);
}

/* SSD fits a cost of 64 x 64 at 8 bits, of 128 px at 12 bits, and of nothing at 14. */
static void test_ssd(void **state)
{
    (void)state;
    mvf_options o = defaults();
    o.metric = MVF_METRIC_SSD;
    o.block_w = o.block_h = 64;
    assert_int_equal(open_with(&o, 8), MVF_OK);
    assert_int_equal(open_with(&o, 10), MVF_ERROR_UNSUPPORTED);
    o.block_h = 32;
    assert_int_equal(open_with(&o, 10), MVF_OK);
    o.block_w = 16;
    o.block_h = 8;
    assert_int_equal(open_with(&o, 12), MVF_OK);
    o.block_h = 16;
    assert_int_equal(open_with(&o, 12), MVF_ERROR_UNSUPPORTED);
    o.block_w = o.block_h = 4;
    assert_int_equal(open_with(&o, 14), MVF_ERROR_UNSUPPORTED);
    o.metric = MVF_METRIC_SAD;
    o.refine_metric = MVF_METRIC_SSD;
    o.subpel = MVF_SUBPEL_HALF;
    assert_int_equal(open_with(&o, 14), MVF_ERROR_UNSUPPORTED);
}

static void test_grids(void **state)
{
    mvf_searcher *searcher;
    mvf_grid grid;
    mvf_options o = defaults();
    (void)state;
    o.block_w = o.block_h = 32;
    o.partitions = MVF_PARTITIONS_RECT;
    assert_int_equal(mvf_searcher_open(&searcher, &o, 70, 40, 8), MVF_OK);
    static const int32_t expected[][4] = {{32, 32, 3, 2}, {32, 16, 3, 3}, {16, 32, 5, 2},
                                          {16, 16, 5, 3}, {16, 8, 5, 5},  {8, 16, 9, 3},
                                          {8, 8, 9, 5}};
    for (int32_t i = 0; i < 7; i++) {
        assert_int_equal(mvf_searcher_get_grid(searcher, i, &grid), MVF_OK);
        assert_int_equal(grid.block_w, expected[i][0]);
        assert_int_equal(grid.block_h, expected[i][1]);
        assert_int_equal(grid.step_x, expected[i][0]);
        assert_int_equal(grid.step_y, expected[i][1]);
        assert_int_equal(grid.cols, expected[i][2]);
        assert_int_equal(grid.rows, expected[i][3]);
    }
    assert_int_equal(mvf_searcher_get_grid(searcher, 7, &grid), MVF_ERROR_ARGUMENT);
    assert_int_equal(mvf_searcher_get_grid(searcher, -1, &grid), MVF_ERROR_ARGUMENT);
    mvf_searcher_close(&searcher);
}

static void test_guides_refused(void **state)
{
    uint8_t plane[64 * 48] = {0};
    mvf_vector hints[12] = {{0, 0}};
    mvf_searcher *searcher;
    mvf_field *field;
    mvf_picture pictures[2];
    mvf_guides guides;
    mvf_options o = defaults();
    (void)state;
    o.method = MVF_METHOD_REFINE;
    assert_int_equal(mvf_searcher_open(&searcher, &o, 64, 48, 8), MVF_OK);
    for (int i = 0; i < 2; i++) {
        mvf_picture_init(&pictures[i]);
        pictures[i].data = plane;
        pictures[i].stride_bytes = 64;
    }
    mvf_guides_init(&guides);
    guides.hints = hints;
    for (guides.hints_per_block = 0; guides.hints_per_block <= 17; guides.hints_per_block += 17)
        assert_int_equal(
            mvf_searcher_submit_guided(searcher, &pictures[0], &pictures[1], 1, &guides, NULL),
            MVF_ERROR_ARGUMENT);
    guides.hints_per_block = 1;
    assert_int_equal(
        mvf_searcher_submit_guided(searcher, &pictures[0], &pictures[1], 1, &guides, NULL), MVF_OK);
    mvf_searcher_flush(searcher);
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_OK);
    assert_int_equal(field->n_blocks, 12);
    assert_true(field->flags & MVF_FIELD_DUPLICATE);
    mvf_field_free(&field);
    mvf_searcher_close(&searcher);
}

/* Headers that ended with the logger. */
static void test_older_caller(void **state)
{
    uint8_t plane[64 * 48] = {0};
    mvf_picture picture;
    mvf_field *field;
    mvf_options o = defaults();
    (void)state;
    mvf_picture_init(&picture);
    picture.data = plane;
    picture.stride_bytes = 64;
    o.struct_size = offsetof(mvf_options, logger) + sizeof o.logger;
    memset((uint8_t *)&o + o.struct_size, 0xcd, sizeof o - o.struct_size);
    assert_int_equal(mvf_search(&o, 64, 48, 8, &picture, &picture, &field), MVF_OK);
    assert_int_equal(field->n_blocks, 12);
    mvf_field_free(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_choices), cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_partitions),      cmocka_unit_test(test_ssd),
        cmocka_unit_test(test_grids),           cmocka_unit_test(test_guides_refused),
        cmocka_unit_test(test_older_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
