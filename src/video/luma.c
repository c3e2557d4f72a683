/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>

#include "base/memory.h"

typedef struct luma_converter {
    pthread_mutex_t mutex;
    mvf_scaler scaler;
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
    mvf_scaler_close(&converter->scaler);
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

/* Luma that is a plane of words, but in the other byte order or in the words' high bits. */
static int is_plane_of_words(const AVPixFmtDescriptor *layout)
{
    const uint64_t others = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL |
                            AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
    const AVComponentDescriptor *luma = &layout->comp[0];
    return !(layout->flags & others) && luma->plane == 0 && luma->offset == 0 && luma->step == 2 &&
           luma->depth > 8;
}

/* swscale of FFmpeg 5.1 leaves the values of P010 in the high bits of a 10-bit gray. */
static void unpack_words(const AVPixFmtDescriptor *layout, const AVFrame *frame, AVFrame *gray)
{
    int shift = layout->comp[0].shift;
    int widen = av_pix_fmt_desc_get(gray->format)->comp[0].depth - layout->comp[0].depth;
    for (int y = 0; y < frame->height; y++) {
        const uint8_t *from = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        uint16_t *to = (uint16_t *)(void *)(gray->data[0] + (ptrdiff_t)y * gray->linesize[0]);
        for (int x = 0; x < frame->width; x++) {
            unsigned word =
                layout->flags & AV_PIX_FMT_FLAG_BE ? AV_RB16(from + 2 * x) : AV_RL16(from + 2 * x);
            to[x] = (uint16_t)(word >> shift << widen);
        }
    }
}

static int convert(luma_converter *converter, const AVPixFmtDescriptor *layout,
                   const AVFrame *frame, AVFrame *gray)
{
    if (is_plane_of_words(layout)) {
        unpack_words(layout, frame, gray);
        return 0;
    }
    pthread_mutex_lock(&converter->mutex);
    int error = mvf_scaler_convert(&converter->scaler, frame, gray, AVCOL_SPC_SMPTE170M, 1);
    pthread_mutex_unlock(&converter->mutex);
    return error;
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
    if (!layout || !(is_plane_of_words(layout) || sws_isSupportedInput(frame->format)))
        return fail_conversion(converter, frame, AVERROR(ENOSYS));
    AVFrame *made = av_frame_alloc();
    if (!made)
        return MVF_ERROR_MEMORY;
    made->width = frame->width;
    made->height = frame->height;
    made->format = gray_format(layout);
    int error = av_frame_get_buffer(made, 0);
    if (!error)
        error = convert(converter, layout, frame, made);
    if (error < 0) {
        av_frame_free(&made);
        return fail_conversion(converter, frame, error);
    }
    *gray = made;
    return MVF_OK;
}
