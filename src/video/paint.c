/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>

enum AVColorSpace mvf_usual_matrix(int height)
{
    return height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
}

static mvf_colour_space colour_space(const mvf_painter *painter)
{
    mvf_colour_space space = {.kr = 0.299, .kb = 0.114};
    enum AVColorSpace matrix = painter->matrix;
    if (matrix == AVCOL_SPC_UNSPECIFIED)
        matrix = mvf_usual_matrix(painter->height);
    if (matrix == AVCOL_SPC_BT709)
        space = (mvf_colour_space){.kr = 0.2126, .kb = 0.0722};
    else if (matrix == AVCOL_SPC_BT2020_NCL || matrix == AVCOL_SPC_BT2020_CL)
        space = (mvf_colour_space){.kr = 0.2627, .kb = 0.0593};
    else if (matrix == AVCOL_SPC_SMPTE240M)
        space = (mvf_colour_space){.kr = 0.212, .kb = 0.087};
    space.full_range = painter->range == AVCOL_RANGE_JPEG;
    return space;
}

/* A frame of this size that nobody else holds; encoders may keep the last one by reference. */
static int prepare_frame(AVFrame **frame, enum AVPixelFormat format, int width, int height)
{
    if (!*frame && !(*frame = av_frame_alloc()))
        return AVERROR(ENOMEM);
    if ((*frame)->buf[0] && (*frame)->width == width && (*frame)->height == height &&
        (*frame)->format == format && av_frame_is_writable(*frame))
        return 0;
    av_frame_unref(*frame);
    (*frame)->format = format;
    (*frame)->width = width;
    (*frame)->height = height;
    return av_frame_get_buffer(*frame, 0);
}

static int convert(mvf_scaler *scaler, const mvf_painter *painter, const AVFrame *from, AVFrame *to)
{
    enum AVColorSpace matrix = painter->matrix == AVCOL_SPC_UNSPECIFIED
                                   ? mvf_usual_matrix(painter->height)
                                   : painter->matrix;
    return mvf_scaler_convert(scaler, from, to, matrix, painter->range == AVCOL_RANGE_JPEG);
}

static int fill_canvas(mvf_painter *painter, const AVFrame *frame)
{
    AVFrame *canvas = painter->canvas;
    if (mvf_plain_format(frame->format) != painter->format)
        return convert(&painter->to_canvas, painter, frame, canvas);
    av_image_copy(canvas->data, canvas->linesize, (const uint8_t **)(void *)frame->data,
                  frame->linesize, painter->format, frame->width, frame->height);
    return 0;
}

static int draw(mvf_painter *painter, const mvf_field *field)
{
    const AVFrame *frame = painter->canvas;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(painter->format);
    mvf_canvas canvas = {
        .width = frame->width,
        .height = frame->height,
        .chroma_shift_x = layout->log2_chroma_w,
        .chroma_shift_y = layout->log2_chroma_h,
        .bit_depth = layout->comp[0].depth,
        .space = colour_space(painter),
    };
    for (int i = 0; i < layout->nb_components && i < 3; i++) {
        canvas.planes[i] = frame->data[i];
        canvas.strides_bytes[i] = frame->linesize[i];
    }
    return mvf_arrows_draw(painter->arrows, &canvas, field) == MVF_OK ? 0 : AVERROR(ENOMEM);
}

int mvf_painter_paint(mvf_painter *painter, const AVFrame *frame, const mvf_field *field,
                      AVFrame **painted)
{
    int error = prepare_frame(&painter->canvas, painter->format, frame->width, frame->height);
    if (!error)
        error = fill_canvas(painter, frame);
    if (!error && field)
        error = draw(painter, field);
    *painted = painter->canvas;
    if (error || (frame->width == painter->width && frame->height == painter->height))
        return error;
    error = prepare_frame(&painter->resized, painter->format, painter->width, painter->height);
    *painted = painter->resized;
    return error ? error : convert(&painter->to_size, painter, painter->canvas, painter->resized);
}

void mvf_painter_close(mvf_painter *painter)
{
    av_frame_free(&painter->canvas);
    av_frame_free(&painter->resized);
    mvf_scaler_close(&painter->to_canvas);
    mvf_scaler_close(&painter->to_size);
    mvf_arrows_close(&painter->arrows);
}
