/*
 * fuzz_codec_vectors.c - vectors as a decoder may export them, whatever a damaged stream makes it
 * export: the size of the frame, then the bytes of the vectors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include <libavutil/motion_vector.h>

#include <mvfield/mvfield.h>

#include "fuzz.h"
#include "video/internal.h"

#define MAX_SIDE 160

static void use(const mvf_field *field)
{
    mvf_field_statistics statistics;
    mvf_global_motion motion;
    mvf_sink *sink;
    mvf_sink_options options;
    mvf_flow *flow;
    mvf_sink_options_init(&options);
    options.format = "mvf";
    options.overwrite = 1;
    FUZZ_EXPECT(mvf_sink_open(&sink, "/dev/null", &options) == MVF_OK);
    FUZZ_EXPECT(mvf_sink_write(sink, field) == MVF_OK);
    FUZZ_EXPECT(mvf_sink_close(&sink) == MVF_OK);
    mvf_field_measure(field, &statistics);
    FUZZ_EXPECT(mvf_field_estimate_global(field, 0, &motion) == MVF_OK);
    FUZZ_EXPECT(mvf_flow_alloc(&flow, field->width, field->height) == MVF_OK);
    mvf_field_fill_flow(field, flow->vectors);
    mvf_flow_free(&flow);
}

static void convert(mvf_frame *frame)
{
    mvf_field *field;
    mvf_grid grid = {16, 16, 16, 16, 0, 0};
    mvf_status status = mvf_frame_get_codec_field(frame, &field, NULL);
    FUZZ_EXPECT((status == MVF_OK) == (field != NULL));
    if (!field)
        return;
    use(field);
    grid.cols = (field->width + 15) / 16;
    grid.rows = (field->height + 15) / 16;
    mvf_vector *vectors = calloc((size_t)grid.cols * (size_t)grid.rows, sizeof *vectors);
    FUZZ_EXPECT(vectors);
    mvf_guides_from_field(field, -1, &grid, vectors, 1);
    free(vectors);
    mvf_field_free(&field);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const mvf_logger silent;
    static const enum AVCodecID codecs[] = {AV_CODEC_ID_H264, AV_CODEC_ID_SNOW};
    fuzz_bytes bytes = {data, size};
    AVFrame *av = av_frame_alloc();
    AVBufferRef *converter = mvf_luma_converter_alloc(&silent);
    FUZZ_EXPECT(av && converter);
    av->width = fuzz_number(&bytes, 1, MAX_SIDE);
    av->height = fuzz_number(&bytes, 1, MAX_SIDE);
    av->format = AV_PIX_FMT_YUV420P;
    av->pict_type = (enum AVPictureType)fuzz_number(&bytes, 0, 7);
    enum AVCodecID codec = codecs[fuzz_take(&bytes) % 2];
    size_t n_bytes = bytes.n_left;
    if (n_bytes) {
        AVFrameSideData *side = av_frame_new_side_data(av, AV_FRAME_DATA_MOTION_VECTORS, n_bytes);
        FUZZ_EXPECT(side);
        memcpy(side->data, bytes.next, n_bytes);
    }
    mvf_frame *frame = mvf_frame_alloc(av, converter);
    FUZZ_EXPECT(frame);
    frame->time_base = (AVRational){1, 25};
    frame->codec = codec;
    convert(frame);
    mvf_frame_free(&frame);
    av_frame_free(&av);
    av_buffer_unref(&converter);
    return 0;
}
