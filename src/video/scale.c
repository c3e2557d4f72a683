/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

static int is_rgb(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(format);
    return layout && (layout->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL));
}

static int is_prepared(const mvf_scaler *scaler, const AVFrame *from, const AVFrame *to)
{
    return scaler->context && scaler->from_format == from->format &&
           scaler->from_width == from->width && scaler->from_height == from->height &&
           scaler->to_format == to->format && scaler->to_width == to->width &&
           scaler->to_height == to->height;
}

static int set_options(struct SwsContext *context, const AVFrame *from, const AVFrame *to,
                       const mvf_scale_colours *colours)
{
    const struct {
        const char *name;
        int64_t value;
    } options[] = {
        {"srcw", from->width},
        {"srch", from->height},
        {"src_format", mvf_plain_format(from->format)},
        {"dstw", to->width},
        {"dsth", to->height},
        {"dst_format", to->format},
        {"sws_flags", SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_FULL_CHR_H_INT},
        /* They must be set before the context is initialized: above 8 bits it ignores a later
         * change. */
        {"src_range", is_rgb(from->format) ? 0 : colours->from_full_range},
        {"dst_range", is_rgb(to->format) ? 0 : colours->to_full_range},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        int error = av_opt_set_int(context, options[i].name, options[i].value, 0);
        if (error < 0)
            return error;
    }
    return 0;
}

static void set_matrices(const mvf_scaler *scaler, const AVFrame *from, const AVFrame *to,
                         const mvf_scale_colours *colours)
{
    if (!is_rgb(from->format) && !is_rgb(to->format) &&
        colours->from_matrix == colours->to_matrix &&
        colours->from_full_range == colours->to_full_range)
        return;
    sws_setColorspaceDetails(scaler->context, sws_getCoefficients((int)colours->from_matrix),
                             is_rgb(from->format) ? 0 : colours->from_full_range,
                             sws_getCoefficients((int)colours->to_matrix),
                             is_rgb(to->format) ? 0 : colours->to_full_range, 0, 1 << 16, 1 << 16);
}

static int prepare(mvf_scaler *scaler, const AVFrame *from, const AVFrame *to,
                   const mvf_scale_colours *colours)
{
    mvf_scaler_close(scaler);
    scaler->context = sws_alloc_context();
    if (!scaler->context)
        return AVERROR(ENOMEM);
    int error = set_options(scaler->context, from, to, colours);
    if (error >= 0)
        error = sws_init_context(scaler->context, NULL, NULL);
    if (error < 0) {
        mvf_scaler_close(scaler);
        return error;
    }
    set_matrices(scaler, from, to, colours);
    scaler->from_format = from->format;
    scaler->from_width = from->width;
    scaler->from_height = from->height;
    scaler->to_format = to->format;
    scaler->to_width = to->width;
    scaler->to_height = to->height;
    return 0;
}

int mvf_scaler_recolour(mvf_scaler *scaler, const AVFrame *from, AVFrame *to,
                        const mvf_scale_colours *colours)
{
    int error = 0;
    if (!is_prepared(scaler, from, to))
        error = prepare(scaler, from, to, colours);
    if (error < 0)
        return error;
    int rows = sws_scale(scaler->context, (const uint8_t *const *)from->data, from->linesize, 0,
                         from->height, to->data, to->linesize);
    return rows < 0 ? rows : 0;
}

int mvf_scaler_convert(mvf_scaler *scaler, const AVFrame *from, AVFrame *to,
                       enum AVColorSpace matrix, int full_range)
{
    /* Equal ranges, whatever they are, keep the samples of YUV and gray as they are. */
    mvf_scale_colours colours = {.from_matrix = matrix,
                                 .to_matrix = matrix,
                                 .from_full_range = 1,
                                 .to_full_range = is_rgb(from->format) ? full_range : 1};
    return mvf_scaler_recolour(scaler, from, to, &colours);
}

void mvf_scaler_close(mvf_scaler *scaler)
{
    sws_freeContext(scaler->context);
    *scaler = (mvf_scaler){.context = NULL};
}
