/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <libavutil/motion_vector.h>

#include "video/internal.h"

/* A frame of 40 x 24 px that carries the vectors. */
static mvf_frame *make_frame(const AVMotionVector *vectors, size_t n, enum AVCodecID codec)
{
    const mvf_logger logger = {.callback = NULL};
    AVBufferRef *converter = mvf_luma_converter_alloc(&logger);
    AVFrame *av = av_frame_alloc();
    assert_true(converter && av);
    av->width = 40;
    av->height = 24;
    av->format = AV_PIX_FMT_YUV420P;
    av->pict_type = AV_PICTURE_TYPE_B;
    if (n) {
        AVFrameSideData *data =
            av_frame_new_side_data(av, AV_FRAME_DATA_MOTION_VECTORS, n * sizeof *vectors);
        assert_non_null(data);
        memcpy(data->data, vectors, n * sizeof *vectors);
    }
    mvf_frame *frame = mvf_frame_alloc(av, converter);
    assert_non_null(frame);
    frame->index = 5;
    frame->pts = 700;
    frame->time_base = (AVRational){1, 1000};
    frame->codec = codec;
    av_frame_free(&av);
    av_buffer_unref(&converter);
    return frame;
}

static mvf_field *convert(const AVMotionVector *vectors, size_t n, enum AVCodecID codec)
{
    mvf_frame *frame = make_frame(vectors, n, codec);
    mvf_field *field;
    assert_int_equal(mvf_frame_get_codec_field(frame, &field, NULL), MVF_OK);
    mvf_frame_free(&frame);
    return field;
}

static void assert_block(const mvf_block *block, int x, int y, int w, int h, int mv_x, int mv_y,
                         int dir)
{
    assert_int_equal(block->x, x);
    assert_int_equal(block->y, y);
    assert_int_equal(block->w, w);
    assert_int_equal(block->h, h);
    assert_int_equal(block->mv_x, mv_x);
    assert_int_equal(block->mv_y, mv_y);
    assert_int_equal(block->dir, dir);
    assert_int_equal(block->ref, -1);
    assert_int_equal(block->cost, 0);
}

static void test_conversion(void **state)
{
    const AVMotionVector vectors[] = {{.source = -1,
                                       .w = 16,
                                       .h = 16,
                                       .dst_x = 8,
                                       .dst_y = 8,
                                       .motion_x = 3,
                                       .motion_y = -1,
                                       .motion_scale = 4},
                                      {.source = 1,
                                       .w = 8,
                                       .h = 16,
                                       .dst_x = 36,
                                       .dst_y = 24,
                                       .motion_x = -32768,
                                       .motion_y = 32767,
                                       .motion_scale = 4},
                                      {.source = -1,
                                       .w = 16,
                                       .h = 8,
                                       .dst_x = 40,
                                       .dst_y = 28,
                                       .motion_x = 32768,
                                       .motion_scale = 4}};
    mvf_field *field = convert(vectors, 3, AV_CODEC_ID_H264);
    (void)state;
    assert_int_equal(field->frame, 5);
    assert_int_equal(field->pts, 700);
    assert_int_equal(field->type, MVF_PICTURE_B);
    assert_int_equal(field->source, MVF_VECTORS_CODEC);
    assert_int_equal(field->mv_scale, 4);
    assert_int_equal(field->n_blocks, 3);
    assert_int_equal(field->grid.cols, 0);
    assert_block(&field->blocks[0], 0, 0, 16, 16, 3, -1, -1);
    assert_block(&field->blocks[1], 32, 16, 8, 8, -32768, 32767, 1);
    /* Too long for 16 bits, and in rows below the picture. */
    assert_block(&field->blocks[2], 32, 24, 8, 0, 0, 0, 0);
    mvf_field_free(&field);
}

static void test_scales(void **state)
{
    AVMotionVector vectors[] = {{.source = -1, .w = 16, .h = 16, .motion_x = 3, .motion_scale = 2},
                                {.source = -1, .w = 16, .h = 16, .motion_x = 3, .motion_scale = 8}};
    (void)state;
    mvf_field *field = convert(vectors, 2, AV_CODEC_ID_MPEG4);
    assert_int_equal(field->mv_scale, 8);
    assert_int_equal(field->blocks[0].mv_x, 12);
    assert_int_equal(field->blocks[1].mv_x, 3);
    mvf_field_free(&field);
    for (int scale = 0; scale < 4; scale += 3) {
        unit_messages messages;
        mvf_logger logger = unit_logger(&messages);
        vectors[1].motion_scale = (uint16_t)scale;
        mvf_frame *frame = make_frame(vectors, 2, AV_CODEC_ID_MPEG4);
        assert_int_equal(mvf_frame_get_codec_field(frame, &field, &logger), MVF_ERROR_DATA);
        assert_null(field);
        unit_assert_message(&messages, "frame 5");
        mvf_frame_free(&frame);
    }
}

/* Snow gives half a block before the corner. */
static void test_snow(void **state)
{
    const AVMotionVector vector = {
        .source = -1, .w = 16, .h = 16, .dst_x = -8, .dst_y = 8, .motion_x = 5, .motion_scale = 8};
    mvf_field *field = convert(&vector, 1, AV_CODEC_ID_SNOW);
    (void)state;
    assert_block(&field->blocks[0], 0, 16, 16, 8, 5, 0, -1);
    mvf_field_free(&field);
}

static void test_no_vectors(void **state)
{
    mvf_field *field = convert(NULL, 0, AV_CODEC_ID_H264);
    (void)state;
    assert_int_equal(field->n_blocks, 0);
    mvf_field_free(&field);
}

/* Exporting costs speed: it is on only when asked for. */
static void test_only_when_asked(void **state)
{
    char path[4096];
    const char *root = getenv("top_srcdir");
    (void)state;
    if (!root)
        skip();
    snprintf(path, sizeof path, "%s/samples/media/street-540p.mp4", root);
    for (int asked = 0; asked < 2; asked++) {
        mvf_source *source;
        mvf_source_options options;
        mvf_source_options_init(&options);
        options.codec_vectors = asked;
        assert_int_equal(mvf_source_open(&source, path, &options), MVF_OK);
        size_t n_blocks = 0;
        for (int i = 0; i < 4; i++) {
            mvf_frame *frame;
            mvf_field *field;
            assert_int_equal(mvf_source_read(source, &frame), MVF_OK);
            assert_int_equal(mvf_frame_is_key(frame), i == 0);
            assert_int_equal(mvf_frame_get_codec_field(frame, &field, NULL), MVF_OK);
            n_blocks += field->n_blocks;
            mvf_field_free(&field);
            mvf_frame_free(&frame);
        }
        assert_int_equal(n_blocks > 0, asked);
        mvf_source_close(&source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conversion),
                                       cmocka_unit_test(test_scales), cmocka_unit_test(test_snow),
                                       cmocka_unit_test(test_no_vectors),
                                       cmocka_unit_test(test_only_when_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
