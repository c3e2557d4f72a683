/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include <libavutil/pixdesc.h>

#include "video/write.h"

/* One plane of pixels of so many bytes: pixel (x, y) of the result is the one at
 * first + x * step_x + y * step_y. */
typedef struct turned_plane {
    const uint8_t *first;
    ptrdiff_t step_x, step_y;
    int pixel_bytes, width, height;
} turned_plane;

static void copy_pixels(const turned_plane *plane, uint8_t *to, ptrdiff_t stride_bytes)
{
    for (int y = 0; y < plane->height; y++) {
        const uint8_t *from = plane->first + y * plane->step_y;
        uint8_t *at = to + y * stride_bytes;
        for (int x = 0; x < plane->width; x++, at += plane->pixel_bytes, from += plane->step_x)
            memcpy(at, from, (size_t)plane->pixel_bytes);
    }
}

static int pixel_bytes(const AVPixFmtDescriptor *layout, int plane)
{
    for (int i = 0; i < layout->nb_components; i++)
        if (layout->comp[i].plane == plane)
            return layout->comp[i].step;
    return 0;
}

static turned_plane lay_out(const AVFrame *from, int plane, int32_t turn)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(from->format);
    int is_chroma = plane == 1 || plane == 2;
    int width = is_chroma ? AV_CEIL_RSHIFT(from->width, layout->log2_chroma_w) : from->width;
    int height = is_chroma ? AV_CEIL_RSHIFT(from->height, layout->log2_chroma_h) : from->height;
    ptrdiff_t pixel = pixel_bytes(layout, plane), line = from->linesize[plane];
    const uint8_t *data = from->data[plane];
    turned_plane turned = {.pixel_bytes = (int)pixel, .width = height, .height = width};
    if (turn == 90) {
        turned.first = data + (height - 1) * line;
        turned.step_x = -line;
        turned.step_y = pixel;
    } else if (turn == 270) {
        turned.first = data + (width - 1) * pixel;
        turned.step_x = line;
        turned.step_y = -pixel;
    } else {
        turned = (turned_plane){data + (height - 1) * line + (width - 1) * pixel,
                                -pixel,
                                -line,
                                (int)pixel,
                                width,
                                height};
    }
    return turned;
}

void mvf_frame_turn(const AVFrame *from, AVFrame *to, int32_t turn)
{
    for (int plane = 0; plane < 4 && from->data[plane]; plane++) {
        turned_plane turned = lay_out(from, plane, turn);
        if (turned.pixel_bytes)
            copy_pixels(&turned, to->data[plane], to->linesize[plane]);
    }
}
