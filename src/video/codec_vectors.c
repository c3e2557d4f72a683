/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <libavutil/avstring.h>
#include <libavutil/motion_vector.h>

/* Frames of a codec that is not known to export vectors, until it is taken that it does not. */
#define PATIENCE_FRAMES 32

static const enum AVCodecID exporters[] = {
    AV_CODEC_ID_H264, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4,
    AV_CODEC_ID_H261, AV_CODEC_ID_H263,       AV_CODEC_ID_H263P,      AV_CODEC_ID_H263I,
    AV_CODEC_ID_FLV1, AV_CODEC_ID_MSMPEG4V1,  AV_CODEC_ID_MSMPEG4V2,  AV_CODEC_ID_MSMPEG4V3,
    AV_CODEC_ID_WMV1, AV_CODEC_ID_WMV2,       AV_CODEC_ID_WMV3,       AV_CODEC_ID_VC1,
    AV_CODEC_ID_RV10, AV_CODEC_ID_RV20,       AV_CODEC_ID_RV30,       AV_CODEC_ID_RV40,
    AV_CODEC_ID_SNOW,
};
#define N_EXPORTERS (sizeof exporters / sizeof exporters[0])

int mvf_codec_exports_vectors(enum AVCodecID codec)
{
    for (size_t i = 0; i < N_EXPORTERS; i++)
        if (exporters[i] == codec)
            return 1;
    return 0;
}

static mvf_status refuse_codec(const mvf_source *source)
{
    char names[512] = "";
    for (size_t i = 0; i < N_EXPORTERS; i++) {
        av_strlcat(names, i ? ", " : "", sizeof names);
        av_strlcat(names, avcodec_get_name(exporters[i]), sizeof names);
    }
    return mvf_fail(&source->options.logger, MVF_ERROR_UNSUPPORTED,
                    "%s: FFmpeg's %s decoder exports no motion vectors; these do: %s. A search "
                    "(--vectors search) finds motion in any video",
                    source->name, source->info.codec, names);
}

mvf_status mvf_codec_vectors_watch(mvf_source *source, const AVFrame *frame)
{
    if (!source->options.codec_vectors)
        return MVF_OK;
    source->has_vectors |=
        frame && av_frame_get_side_data(frame, AV_FRAME_DATA_MOTION_VECTORS) != NULL;
    int waited = !frame || source->report.frames >= PATIENCE_FRAMES;
    return source->has_vectors || !waited ||
                   mvf_codec_exports_vectors(source->stream->codecpar->codec_id)
               ? MVF_OK
               : refuse_codec(source);
}

/* The part of [from, from + size) that is inside [0, limit), in px. */
static uint16_t visible(int32_t from, int32_t size, int32_t limit)
{
    int32_t start = from > 0 ? from : 0, end = from + size < limit ? from + size : limit;
    return (uint16_t)(end > start ? end - start : 0);
}

/* Whether `motion` / `from_scale`, in units of 1/`to_scale`, is an int16. */
static int rescale(int32_t motion, int32_t from_scale, int32_t to_scale, int16_t *mv)
{
    int64_t value = (int64_t)motion * (to_scale / from_scale);
    *mv = (int16_t)value;
    return value == *mv;
}

static void convert(mvf_block *block, const AVMotionVector *vector, const mvf_field *field,
                    enum AVCodecID codec)
{
    /* FFmpeg gives the block's centre, but for Snow half a block before its corner. */
    int32_t half_w = vector->w / 2, half_h = vector->h / 2;
    int is_snow = codec == AV_CODEC_ID_SNOW;
    *block = (mvf_block){.x = vector->dst_x + (is_snow ? half_w : -half_w),
                         .y = vector->dst_y + (is_snow ? half_h : -half_h),
                         .dir = vector->source < 0 ? -1 : 1,
                         .ref = -1};
    block->w = visible(block->x, vector->w, field->width);
    block->h = visible(block->y, vector->h, field->height);
    /* A vector beyond 16 bits is damage: no coded one is that long. */
    if (!rescale(vector->motion_x, vector->motion_scale, field->mv_scale, &block->mv_x) ||
        !rescale(vector->motion_y, vector->motion_scale, field->mv_scale, &block->mv_y))
        block->dir = block->mv_x = block->mv_y = 0;
}

/* The finest unit among the vectors, a power of two, or 0 where one has no usable unit. */
static int32_t common_scale(const AVMotionVector *vectors, size_t n)
{
    int32_t scale = 1;
    for (size_t i = 0; i < n; i++) {
        int32_t one = vectors[i].motion_scale;
        if (one < 1 || one > 32768 || (one & (one - 1)))
            return 0;
        scale = one > scale ? one : scale;
    }
    return scale;
}

static void describe(mvf_field *field, const mvf_frame *frame)
{
    const AVFrame *av = frame->av;
    field->frame = frame->index;
    field->pts = frame->pts;
    field->time_base = (mvf_rational){frame->time_base.num, frame->time_base.den};
    field->type = mvf_picture_type_from_av(av->pict_type);
    field->source = MVF_VECTORS_CODEC;
    field->width = av->width;
    field->height = av->height;
    field->bit_depth = mvf_luma_depth_in_place(av->format);
    field->flags =
        (frame->damaged ? MVF_FIELD_DAMAGED : 0u) | (mvf_frame_is_key(frame) ? MVF_FIELD_KEY : 0u);
}

mvf_status mvf_frame_get_codec_field(const mvf_frame *frame, mvf_field **out,
                                     const mvf_logger *logger)
{
    const AVFrameSideData *data = av_frame_get_side_data(frame->av, AV_FRAME_DATA_MOTION_VECTORS);
    const AVMotionVector *vectors = data ? (const AVMotionVector *)(const void *)data->data : NULL;
    size_t n = data ? (size_t)data->size / sizeof *vectors : 0;
    int32_t scale = common_scale(vectors, n);
    *out = NULL;
    if (!scale)
        return mvf_fail(logger, MVF_ERROR_DATA,
                        "frame %lld: the decoder gave vectors whose unit is not a fraction of a "
                        "pixel",
                        (long long)frame->index);
    mvf_field *field;
    MVF_TRY(mvf_field_alloc(&field, 0, n));
    describe(field, frame);
    field->mv_scale = scale;
    for (size_t i = 0; i < n; i++)
        convert(&field->blocks[i], &vectors[i], field, frame->codec);
    *out = field;
    return MVF_OK;
}
