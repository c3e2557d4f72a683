/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <libavutil/pixdesc.h>

#include "base/memory.h"

typedef struct luma_converter {
    pthread_mutex_t mutex;
    struct SwsContext *context;
    mvf_logger logger;
} luma_converter;

int32_t mvf_luma_depth_in_place(enum AVPixelFormat format)
{
    const uint64_t other_layouts = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL |
                                   AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                                   AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(format);
    if (!layout || (layout->flags & other_layouts))
        return 0;
    const AVComponentDescriptor *luma = &layout->comp[0];
    int sample_bytes = luma->depth > 8 ? 2 : 1;
    int big_endian = (layout->flags & AV_PIX_FMT_FLAG_BE) != 0;
    if (luma->plane != 0 || luma->offset != 0 || luma->shift != 0 || luma->step != sample_bytes ||
        luma->depth < 8 || luma->depth > 16 ||
        (sample_bytes == 2 && big_endian != AV_HAVE_BIGENDIAN))
        return 0;
    return luma->depth;
}

/* The gray format of the source's own depth where FFmpeg has one, else 16 bits. */
static enum AVPixelFormat gray_format(const AVPixFmtDescriptor *layout)
{
    if (layout->flags & AV_PIX_FMT_FLAG_PAL)
        return AV_PIX_FMT_GRAY8;
    switch (layout->comp[0].depth) {
    case 9:
        return AV_PIX_FMT_GRAY9;
    case 10:
        return AV_PIX_FMT_GRAY10;
    case 12:
        return AV_PIX_FMT_GRAY12;
    case 14:
        return AV_PIX_FMT_GRAY14;
    default:
        return layout->comp[0].depth <= 8 ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_GRAY16;
    }
}

static void free_converter(void *opaque, uint8_t *data)
{
    luma_converter *converter = (luma_converter *)data;
    (void)opaque;
    sws_freeContext(converter->context);
    pthread_mutex_destroy(&converter->mutex);
    av_free(converter);
}

AVBufferRef *mvf_luma_converter_alloc(const mvf_logger *logger)
{
    luma_converter *converter = av_mallocz(sizeof *converter);
    if (!converter || pthread_mutex_init(&converter->mutex, NULL)) {
        av_free(converter);
        return NULL;
    }
    converter->logger = *logger;
    AVBufferRef *buffer =
        av_buffer_create((uint8_t *)converter, sizeof *converter, free_converter, NULL, 0);
    if (!buffer)
        free_converter(NULL, (uint8_t *)converter);
    return buffer;
}

/* Equal ranges on both sides, so that YUV luma keeps its values. */
static int convert(luma_converter *converter, const AVFrame *frame, AVFrame *gray)
{
    enum AVPixelFormat format = mvf_plain_format(frame->format);
    struct SwsContext *context = sws_getCachedContext(
        converter->context, frame->width, frame->height, format, gray->width, gray->height,
        gray->format, SWS_POINT | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, NULL, NULL, NULL);
    if (!context) {
        converter->context = NULL;
        return AVERROR(ENOSYS);
    }
    if (context != converter->context) {
        const int *table = sws_getCoefficients(SWS_CS_DEFAULT);
        sws_setColorspaceDetails(context, table, 1, table, 1, 0, 1 << 16, 1 << 16);
    }
    converter->context = context;
    int rows = sws_scale(context, (const uint8_t *const *)frame->data, frame->linesize, 0,
                         frame->height, gray->data, gray->linesize);
    return rows < 0 ? rows : 0;
}

static mvf_status fail_conversion(const luma_converter *converter, const AVFrame *frame, int error)
{
    const char *format = av_get_pix_fmt_name(frame->format);
    mvf_status status = error == AVERROR(ENOMEM) ? MVF_ERROR_MEMORY : MVF_ERROR_UNSUPPORTED;
    return mvf_fail(&converter->logger, status, "frames of pixel format %s have no luma: %s",
                    format ? format : "unknown", av_err2str(error));
}

mvf_status mvf_luma_convert(AVBufferRef *buffer, const AVFrame *frame, AVFrame **gray)
{
    luma_converter *converter = (luma_converter *)buffer->data;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(frame->format);
    if (!layout || !sws_isSupportedInput(frame->format))
        return fail_conversion(converter, frame, AVERROR(ENOSYS));
    AVFrame *made = av_frame_alloc();
    if (!made)
        return MVF_ERROR_MEMORY;
    made->width = frame->width;
    made->height = frame->height;
    made->format = gray_format(layout);
    int error = av_frame_get_buffer(made, 0);
    if (!error) {
        pthread_mutex_lock(&converter->mutex);
        error = convert(converter, frame, made);
        pthread_mutex_unlock(&converter->mutex);
    }
    if (error < 0) {
        av_frame_free(&made);
        return fail_conversion(converter, frame, error);
    }
    *gray = made;
    return MVF_OK;
}
