/*
 * What decoding on a GPU needs of frames, without a GPU: the layouts of its memory become the
 * planes that decoding in software gives, and samples can be given up before their frame.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unit.h"

#include <libavutil/pixdesc.h>

#include "video/internal.h"

#define W 37
#define H 23

static AVFrame *make_frame(enum AVPixelFormat format, int width, int height)
{
    AVFrame *frame = av_frame_alloc();
    assert_non_null(frame);
    frame->format = format;
    frame->width = width;
    frame->height = height;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    return frame;
}

static unsigned value_at(int component, int x, int y, int depth)
{
    return ((unsigned)(component * 7919 + x * 31 + y * 104729) * 2654435761u) >> (32 - depth);
}

/* Each value in the `depth` highest bits of its place, with noise below. */
static void fill_packed(AVFrame *frame, int depth)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    for (int c = 0; c < layout->nb_components; c++) {
        const AVComponentDescriptor *at = &layout->comp[c];
        int width = c ? AV_CEIL_RSHIFT(frame->width, layout->log2_chroma_w) : frame->width;
        int height = c ? AV_CEIL_RSHIFT(frame->height, layout->log2_chroma_h) : frame->height;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                uint8_t *to = frame->data[at->plane] + (ptrdiff_t)y * frame->linesize[at->plane] +
                              at->offset + x * at->step;
                unsigned value = value_at(c, x, y, depth);
                if (depth > 8)
                    *(uint16_t *)(void *)to = (uint16_t)(value << (16 - depth) |
                                                         (unsigned)(x & ((1 << (16 - depth)) - 1)));
                else
                    *to = (uint8_t)value;
            }
    }
}

static void check_planes(const AVFrame *frame, int depth)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    for (int c = 0; c < layout->nb_components; c++) {
        int width = c ? AV_CEIL_RSHIFT(frame->width, layout->log2_chroma_w) : frame->width;
        int height = c ? AV_CEIL_RSHIFT(frame->height, layout->log2_chroma_h) : frame->height;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const uint8_t *row = frame->data[c] + (ptrdiff_t)y * frame->linesize[c];
                unsigned value = depth > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
                assert_int_equal(value, value_at(c, x, y, depth));
            }
    }
}

static void check_layout(enum AVPixelFormat packed, enum AVPixelFormat planar, int depth)
{
    /* The decoder's memory has lines below the picture and columns beside it. */
    AVFrame *from = make_frame(packed, W + 11, H + 9), *to = make_frame(planar, W, H);
    fill_packed(from, depth);
    assert_int_equal(mvf_planar_copy(from, to), 0);
    check_planes(to, depth);
    av_frame_free(&from);
    av_frame_free(&to);
}

static void test_layouts(void **state)
{
    (void)state;
    check_layout(AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P, 8);
    check_layout(AV_PIX_FMT_NV12, AV_PIX_FMT_YUVJ420P, 8);
    check_layout(AV_PIX_FMT_P010, AV_PIX_FMT_YUV420P10, 10);
    check_layout(AV_PIX_FMT_P016, AV_PIX_FMT_YUV420P12, 12);
    check_layout(AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P, 8);
    check_layout(AV_PIX_FMT_YUV444P16, AV_PIX_FMT_YUV444P10, 10);
}

static void test_other_layouts(void **state)
{
    static const enum AVPixelFormat pairs[][2] = {
        {AV_PIX_FMT_NV12, AV_PIX_FMT_YUV422P},     {AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P10},
        {AV_PIX_FMT_P010BE, AV_PIX_FMT_YUV420P10}, {AV_PIX_FMT_NV12, AV_PIX_FMT_GRAY8},
        {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        AVFrame *from = make_frame(pairs[i][0], W, H), *to = make_frame(pairs[i][1], W, H);
        assert_int_equal(mvf_planar_copy(from, to), AVERROR(ENOSYS));
        av_frame_free(&from);
        av_frame_free(&to);
    }
    AVFrame *small = make_frame(AV_PIX_FMT_NV12, W, H - 1);
    AVFrame *large = make_frame(AV_PIX_FMT_YUV420P, W, H);
    assert_int_equal(mvf_planar_copy(small, large), AVERROR(ENOSYS));
    av_frame_free(&small);
    av_frame_free(&large);
}

static void test_dropped_samples(void **state)
{
    mvf_logger none = {.callback = NULL};
    AVBufferRef *converter = mvf_luma_converter_alloc(&none);
    AVFrame *av = make_frame(AV_PIX_FMT_YUV420P, W, H);
    mvf_picture picture;
    int32_t width, height, bit_depth;
    (void)state;
    fill_packed(av, 8);
    av->pict_type = AV_PICTURE_TYPE_P;
    av->pts = 1234;
    mvf_frame *frame = mvf_frame_alloc(av, converter);
    assert_non_null(frame);
    frame->index = 7;
    mvf_frame *other = mvf_frame_ref(frame);
    assert_int_equal(mvf_frame_download(frame), MVF_OK);
    assert_int_equal(mvf_frame_drop_samples(frame), MVF_OK);
    assert_int_equal(mvf_frame_get_picture(frame, &picture, &width, &height, &bit_depth),
                     MVF_ERROR_ARGUMENT);
    assert_int_equal(mvf_frame_get_avframe(frame)->pts, 1234);
    assert_int_equal(mvf_frame_get_avframe(frame)->pict_type, AV_PICTURE_TYPE_P);
    assert_int_equal(mvf_frame_get_avframe(frame)->width, W);
    assert_int_equal(mvf_frame_drop_samples(frame), MVF_OK);
    /* Another owner's are still there. */
    mvf_frame_free(&frame);
    assert_int_equal(mvf_frame_get_picture(other, &picture, &width, &height, &bit_depth), MVF_OK);
    assert_int_equal(picture.frame, 7);
    assert_int_equal(picture.memory, MVF_MEMORY_HOST);
    assert_int_equal(((const uint8_t *)picture.data)[5], value_at(0, 5, 0, 8));
    mvf_frame_free(&other);
    av_frame_free(&av);
    av_buffer_unref(&converter);
}

static void test_bad_hwaccel(void **state)
{
    unit_messages messages;
    mvf_source_options options;
    mvf_source *source;
    (void)state;
    mvf_source_options_init(&options);
    assert_int_equal(options.hwaccel, MVF_HWACCEL_NONE);
    options.logger = unit_logger(&messages);
    options.hwaccel = (mvf_hwaccel)9;
    char path[4096];
    snprintf(path, sizeof path, "%s/samples/media/street-540p.mp4", getenv("top_srcdir"));
    messages.count = 0;
    assert_int_equal(mvf_source_open(&source, path, &options), MVF_ERROR_ARGUMENT);
    unit_assert_message(&messages, "hwaccel");
    assert_null(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_other_layouts),
        cmocka_unit_test(test_dropped_samples),
        cmocka_unit_test(test_bad_hwaccel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
