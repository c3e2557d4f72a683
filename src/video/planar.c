/*
 * Frames as GPUs lay them out (NV12, P010, P016 and their like) in the planes that decoding in
 * software gives. Own code, since swscale of FFmpeg 5.1 leaves values in the high bits.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "video/internal.h"

#include <libavutil/pixdesc.h>

/* How far up the value lies in its word, where the format may be for more bits than it has. */
static int shift_of(const AVComponentDescriptor *from, const AVComponentDescriptor *to)
{
    return from->shift + from->depth - to->depth - to->shift;
}

static int is_supported(const AVPixFmtDescriptor *from, const AVPixFmtDescriptor *to)
{
    if (!from || !to || from->nb_components != to->nb_components ||
        from->log2_chroma_w != to->log2_chroma_w || from->log2_chroma_h != to->log2_chroma_h ||
        (from->flags | to->flags) & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BE))
        return 0;
    for (int c = 0; c < to->nb_components; c++) {
        const AVComponentDescriptor *a = &from->comp[c], *b = &to->comp[c];
        if ((a->depth > 8) != (b->depth > 8) || b->step != (b->depth > 8 ? 2 : 1) || b->offset ||
            shift_of(a, b) < 0 || shift_of(a, b) > 15)
            return 0;
    }
    return 1;
}

static void copy_bytes(uint8_t *to, const uint8_t *from, int n, int step)
{
    for (int x = 0; x < n; x++)
        to[x] = from[x * step];
}

static void copy_words(uint16_t *to, const uint16_t *from, int n, int step, int shift)
{
    for (int x = 0; x < n; x++)
        to[x] = (uint16_t)(from[x * step] >> shift);
}

static void copy_component(const AVFrame *from, AVFrame *to, int c, int width, int height)
{
    const AVComponentDescriptor *a = &av_pix_fmt_desc_get(from->format)->comp[c];
    const AVComponentDescriptor *b = &av_pix_fmt_desc_get(to->format)->comp[c];
    for (int y = 0; y < height; y++) {
        const uint8_t *source =
            from->data[a->plane] + (ptrdiff_t)y * from->linesize[a->plane] + a->offset;
        uint8_t *target = to->data[b->plane] + (ptrdiff_t)y * to->linesize[b->plane];
        if (b->depth > 8)
            copy_words((uint16_t *)(void *)target, (const uint16_t *)(const void *)source, width,
                       a->step / 2, shift_of(a, b));
        else
            copy_bytes(target, source, width, a->step);
    }
}

int mvf_planar_copy(const AVFrame *from, AVFrame *to)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(to->format);
    if (!is_supported(av_pix_fmt_desc_get(from->format), layout) || from->width < to->width ||
        from->height < to->height)
        return AVERROR(ENOSYS);
    for (int c = 0; c < layout->nb_components; c++) {
        int is_chroma = c == 1 || c == 2;
        copy_component(from, to, c,
                       AV_CEIL_RSHIFT(to->width, is_chroma ? layout->log2_chroma_w : 0),
                       AV_CEIL_RSHIFT(to->height, is_chroma ? layout->log2_chroma_h : 0));
    }
    return 0;
}
