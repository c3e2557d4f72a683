/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <stdlib.h>

#include <libavutil/pixdesc.h>

#include "base/memory.h"

mvf_frame *mvf_frame_alloc(AVFrame *av, AVBufferRef *converter)
{
    mvf_frame *frame = mvf_alloc_array(1, sizeof *frame);
    if (!frame)
        return NULL;
    frame->av = av_frame_alloc();
    frame->converter = av_buffer_ref(converter);
    if (!frame->av || !frame->converter) {
        mvf_frame_free(&frame);
        return NULL;
    }
    av_frame_move_ref(frame->av, av);
    frame->host_format = frame->av->format;
    return frame;
}

mvf_picture_type mvf_picture_type_from_av(enum AVPictureType type)
{
    switch (type) {
    case AV_PICTURE_TYPE_I:
    case AV_PICTURE_TYPE_SI:
    case AV_PICTURE_TYPE_BI:
        return MVF_PICTURE_I;
    case AV_PICTURE_TYPE_P:
    case AV_PICTURE_TYPE_S:
    case AV_PICTURE_TYPE_SP:
        return MVF_PICTURE_P;
    case AV_PICTURE_TYPE_B:
        return MVF_PICTURE_B;
    default:
        return MVF_PICTURE_UNKNOWN;
    }
}

int mvf_is_damaged(const AVFrame *av)
{
    return av->decode_error_flags || (av->flags & AV_FRAME_FLAG_CORRUPT);
}

static int is_on_device(const mvf_frame *frame)
{
    return frame->av->format == AV_PIX_FMT_CUDA;
}

mvf_status mvf_frame_get_picture(mvf_frame *frame, mvf_picture *picture, int32_t *width,
                                 int32_t *height, int32_t *bit_depth)
{
    const AVFrame *luma = frame->av;
    enum AVPixelFormat format = is_on_device(frame) ? frame->host_format : frame->av->format;
    if (!luma->buf[0])
        return MVF_ERROR_ARGUMENT;
    if (!mvf_luma_depth_in_place(format)) {
        if (!frame->gray)
            MVF_TRY(mvf_luma_convert(frame->converter, frame->av, &frame->gray));
        luma = frame->gray;
        format = luma->format;
    }
    mvf_picture_init(picture);
    if (is_on_device(frame))
        mvf_nvdec_describe(frame->av, format, picture);
    picture->data = luma->data[0];
    picture->stride_bytes = luma->linesize[0];
    picture->type = mvf_picture_type_from_av(frame->av->pict_type);
    picture->frame = frame->index;
    picture->pts = frame->pts;
    picture->time_base = (mvf_rational){frame->time_base.num, frame->time_base.den};
    *width = luma->width;
    *height = luma->height;
    *bit_depth = mvf_luma_depth_in_place(format);
    return MVF_OK;
}

mvf_status mvf_frame_download(mvf_frame *frame)
{
    AVFrame *host = NULL;
    if (!is_on_device(frame))
        return MVF_OK;
    int error = mvf_nvdec_download(frame->av, frame->host_format, &host);
    if (error < 0)
        return error == AVERROR(ENOMEM) ? MVF_ERROR_MEMORY : MVF_ERROR_DEVICE;
    av_frame_free(&frame->av);
    frame->av = host;
    return MVF_OK;
}

mvf_status mvf_frame_drop_samples(mvf_frame *frame)
{
    AVFrame *bare = av_frame_alloc();
    int error = bare ? av_frame_copy_props(bare, frame->av) : AVERROR(ENOMEM);
    if (error < 0) {
        av_frame_free(&bare);
        return MVF_ERROR_MEMORY;
    }
    /* What counts the frame's hold on the decoder is among the properties. */
    av_buffer_unref(&bare->opaque_ref);
    bare->format = frame->host_format;
    bare->width = frame->av->width;
    bare->height = frame->av->height;
    av_frame_free(&frame->av);
    av_frame_free(&frame->gray);
    frame->av = bare;
    return MVF_OK;
}

int32_t mvf_frame_is_damaged(const mvf_frame *frame)
{
    return frame->damaged;
}

int32_t mvf_frame_is_key(const mvf_frame *frame)
{
#ifdef AV_FRAME_FLAG_KEY
    return (frame->av->flags & AV_FRAME_FLAG_KEY) != 0;
#else
    return frame->av->key_frame != 0;
#endif
}

struct AVFrame *mvf_frame_get_avframe(mvf_frame *frame)
{
    return frame->av;
}

mvf_frame *mvf_frame_ref(const mvf_frame *frame)
{
    mvf_frame *copy = mvf_alloc_array(1, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *frame;
    copy->av = av_frame_clone(frame->av);
    copy->gray = frame->gray ? av_frame_clone(frame->gray) : NULL;
    copy->converter = av_buffer_ref(frame->converter);
    if (!copy->av || !copy->gray != !frame->gray || !copy->converter)
        mvf_frame_free(&copy);
    return copy;
}

void mvf_frame_free(mvf_frame **frame)
{
    if (!frame || !*frame)
        return;
    av_frame_free(&(*frame)->av);
    av_frame_free(&(*frame)->gray);
    av_buffer_unref(&(*frame)->converter);
    free(*frame);
    *frame = NULL;
}
