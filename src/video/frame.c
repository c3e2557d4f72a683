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

mvf_status mvf_frame_get_picture(mvf_frame *frame, mvf_picture *picture, int32_t *width,
                                 int32_t *height, int32_t *bit_depth)
{
    const AVFrame *luma = frame->av;
    if (!mvf_luma_depth_in_place(frame->av->format)) {
        if (!frame->gray)
            MVF_TRY(mvf_luma_convert(frame->converter, frame->av, &frame->gray));
        luma = frame->gray;
    }
    mvf_picture_init(picture);
    picture->data = luma->data[0];
    picture->stride_bytes = luma->linesize[0];
    picture->type = mvf_picture_type_from_av(frame->av->pict_type);
    picture->frame = frame->index;
    picture->pts = frame->pts;
    picture->time_base = (mvf_rational){frame->time_base.num, frame->time_base.den};
    *width = luma->width;
    *height = luma->height;
    *bit_depth = mvf_luma_depth_in_place(luma->format);
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
