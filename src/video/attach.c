/* SPDX-License-Identifier: BSD-2-Clause */
#include <libavutil/frame.h>
#include <libavutil/motion_vector.h>

#include <mvfield/video.h>

static AVMotionVector describe(const mvf_field *field, const mvf_block *block)
{
    AVMotionVector v = {.source = block->dir,
                        .w = (uint8_t)block->w,
                        .h = (uint8_t)block->h,
                        .dst_x = (int16_t)(block->x + block->w / 2),
                        .dst_y = (int16_t)(block->y + block->h / 2),
                        .motion_x = block->mv_x,
                        .motion_y = block->mv_y,
                        .motion_scale = (uint16_t)field->mv_scale};
    v.src_x = (int16_t)(v.dst_x + v.motion_x / field->mv_scale);
    v.src_y = (int16_t)(v.dst_y + v.motion_y / field->mv_scale);
    return v;
}

mvf_status mvf_field_attach(const mvf_field *field, struct AVFrame *frame)
{
    size_t n = 0;
    for (size_t i = 0; i < field->n_blocks; i++)
        n += field->blocks[i].dir != 0;
    av_frame_remove_side_data(frame, AV_FRAME_DATA_MOTION_VECTORS);
    if (!n)
        return MVF_OK;
    AVFrameSideData *data =
        av_frame_new_side_data(frame, AV_FRAME_DATA_MOTION_VECTORS, n * sizeof(AVMotionVector));
    if (!data)
        return MVF_ERROR_MEMORY;
    AVMotionVector *to = (AVMotionVector *)data->data;
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir)
            *to++ = describe(field, &field->blocks[i]);
    return MVF_OK;
}
