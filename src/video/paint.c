/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>

enum AVColorSpace mvf_usual_matrix(int height)
{
    return height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
}

static enum AVColorSpace known_matrix(enum AVColorSpace matrix, int height)
{
    return matrix == AVCOL_SPC_UNSPECIFIED ? mvf_usual_matrix(height) : matrix;
}

static mvf_colour_space colour_space(const mvf_painter *painter, int height)
{
    mvf_colour_space space = {.kr = 0.299, .kb = 0.114};
    enum AVColorSpace matrix = known_matrix(painter->matrix, height);
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

static int is_sideways(const mvf_painter *painter)
{
    return painter->drawing.style.rotation == 90 || painter->drawing.style.rotation == 270;
}

/* Where the second of two pictures starts: at a chroma sample of its own. */
static int32_t second_place(const mvf_painter *painter, int32_t first_size)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(painter->format);
    int shift = is_sideways(painter) ? layout->log2_chroma_h : layout->log2_chroma_w;
    return (first_size + (1 << shift) - 1) >> shift << shift;
}

void mvf_painter_size(const mvf_painter *painter, int32_t width, int32_t height, int32_t size[2])
{
    int axis = is_sideways(painter);
    size[0] = width;
    size[1] = height;
    if (painter->layout == MVF_LAYOUT_SIDE)
        size[axis] += second_place(painter, size[axis]);
}

static mvf_canvas whole_canvas(const mvf_painter *painter, int frame_height)
{
    const AVFrame *frame = painter->canvas;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(painter->format);
    mvf_canvas canvas = {
        .width = frame->width,
        .height = frame->height,
        .chroma_shift_x = layout->log2_chroma_w,
        .chroma_shift_y = layout->log2_chroma_h,
        .bit_depth = layout->comp[0].depth,
        .space = colour_space(painter, frame_height),
    };
    for (int i = 0; i < layout->nb_components && i < 3; i++) {
        canvas.planes[i] = frame->data[i];
        canvas.strides_bytes[i] = frame->linesize[i];
    }
    return canvas;
}

/* The parts of the canvas for the source alone (when there is one) and for the drawing. A turn by
 * 180 degrees changes their sides, so that the source is on the left as watched. */
static int split_canvas(const mvf_painter *painter, const AVFrame *frame, mvf_canvas parts[2])
{
    mvf_canvas whole = whole_canvas(painter, frame->height);
    int turned = painter->drawing.style.rotation == 180 || painter->drawing.style.rotation == 90;
    int32_t x = 0, y = 0;
    if (painter->layout != MVF_LAYOUT_SIDE) {
        parts[0] = whole;
        return 1;
    }
    if (is_sideways(painter))
        y = second_place(painter, frame->height);
    else
        x = second_place(painter, frame->width);
    parts[!turned] = mvf_canvas_part(&whole, 0, 0, frame->width, frame->height);
    parts[turned] = mvf_canvas_part(&whole, x, y, frame->width, frame->height);
    return 2;
}

static int copy_source(mvf_painter *painter, const AVFrame *frame, const mvf_canvas *part)
{
    if (!painter->part && !(painter->part = av_frame_alloc()))
        return AVERROR(ENOMEM);
    AVFrame *to = painter->part;
    to->format = painter->format;
    to->width = part->width;
    to->height = part->height;
    for (int i = 0; i < 3; i++) {
        to->data[i] = part->planes[i];
        to->linesize[i] = (int)part->strides_bytes[i];
    }
    if (mvf_plain_format(frame->format) != painter->format)
        return mvf_scaler_convert(&painter->to_canvas, frame, to,
                                  known_matrix(painter->matrix, frame->height),
                                  painter->range == AVCOL_RANGE_JPEG);
    av_image_copy(to->data, to->linesize, (const uint8_t **)(void *)frame->data, frame->linesize,
                  painter->format, frame->width, frame->height);
    return 0;
}

static int fill_ground(mvf_painter *painter, const AVFrame *frame, const mvf_canvas *part)
{
    static const double levels[] = {0, 0, 0.25};
    double level = levels[painter->ground], rgb[3] = {level, level, level};
    if (painter->ground == MVF_GROUND_VIDEO)
        return copy_source(painter, frame, part);
    /* A paint leaves 1/256 of what is below: the second coat nothing. */
    mvf_paint paint = mvf_paint_make(&part->space, rgb, 1);
    for (int coat = 0; coat < 2; coat++)
        mvf_canvas_fill(part, 0, 0, part->width, part->height, &paint);
    return 0;
}

static int fill_canvas(mvf_painter *painter, const AVFrame *frame, const mvf_canvas *parts, int n)
{
    int error = fill_ground(painter, frame, &parts[0]);
    return error || n < 2 ? error : copy_source(painter, frame, &parts[1]);
}

static int convert(mvf_painter *painter, const AVFrame *frame, AVFrame **painted)
{
    const mvf_scale_colours colours = {.from_matrix = known_matrix(painter->matrix, frame->height),
                                       .to_matrix =
                                           known_matrix(painter->out_matrix, painter->out_height),
                                       .from_full_range = painter->range == AVCOL_RANGE_JPEG,
                                       .to_full_range = painter->out_range == AVCOL_RANGE_JPEG};
    AVFrame *canvas = painter->canvas;
    int sideways = painter->turn == 90 || painter->turn == 270;
    int width = sideways ? painter->out_height : painter->out_width;
    int height = sideways ? painter->out_width : painter->out_height;
    *painted = canvas;
    if (canvas->width == width && canvas->height == height &&
        painter->format == painter->out_format && colours.from_matrix == colours.to_matrix &&
        colours.from_full_range == colours.to_full_range)
        return 0;
    int error = prepare_frame(&painter->converted, painter->out_format, width, height);
    *painted = painter->converted;
    return error ? error
                 : mvf_scaler_recolour(&painter->to_output, canvas, painter->converted, &colours);
}

static int turn(mvf_painter *painter, AVFrame **painted)
{
    if (!painter->turn)
        return 0;
    int error = prepare_frame(&painter->turned, painter->out_format, painter->out_width,
                              painter->out_height);
    if (!error)
        mvf_frame_turn(*painted, painter->turned, painter->turn);
    *painted = painter->turned;
    return error;
}

int mvf_painter_paint(mvf_painter *painter, const AVFrame *frame, const mvf_field *field,
                      const mvf_field *against, const mvf_caption *caption, AVFrame **painted)
{
    int32_t size[2];
    mvf_canvas parts[2];
    mvf_painter_size(painter, frame->width, frame->height, size);
    int error = prepare_frame(&painter->canvas, painter->format, size[0], size[1]);
    if (error)
        return error;
    int n_parts = split_canvas(painter, frame, parts);
    error = fill_canvas(painter, frame, parts, n_parts);
    if (error)
        return error;
    if (mvf_drawing_draw(&painter->drawing, &parts[0], field, against) != MVF_OK ||
        mvf_drawing_annotate(&painter->drawing, &parts[0], caption) != MVF_OK)
        return AVERROR(ENOMEM);
    error = convert(painter, frame, painted);
    return error ? error : turn(painter, painted);
}

void mvf_painter_close(mvf_painter *painter)
{
    av_frame_free(&painter->canvas);
    av_frame_free(&painter->part);
    av_frame_free(&painter->converted);
    av_frame_free(&painter->turned);
    mvf_scaler_close(&painter->to_canvas);
    mvf_scaler_close(&painter->to_output);
    mvf_drawing_close(&painter->drawing);
}
