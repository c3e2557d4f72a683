/*
 * NVDEC through FFmpeg's CUDA device, which is made of the primary context that searches use too.
 * So what the decoder puts into device memory can be searched there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "video/nvdec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <libavutil/pixdesc.h>

#include "base/memory.h"
#include "cuda/device.h"
#include "video/internal.h"

/* Frames that one source has in device memory at a time, beside those that the decoder needs: each
 * takes a surface of NVDEC's 32. Further ones come in host memory. */
#define MAX_HELD_FRAMES 6

/* What FFmpeg's device context rests on. */
typedef struct nvdec_base {
    mvf_cuda cuda;
    CUstream stream;
} nvdec_base;

struct mvf_nvdec {
    AVBufferRef *device;
    /* An atomic_int, which lives as long as any frame. */
    AVBufferRef *n_held;
};

/* The device. */

static mvf_status make_stream(nvdec_base *base)
{
    MVF_TRY(mvf_cuda_enter(&base->cuda));
    mvf_status status = mvf_cuda_check(
        &base->cuda, base->cuda.driver.cuStreamCreate(&base->stream, CU_STREAM_NON_BLOCKING),
        "cuStreamCreate");
    mvf_cuda_leave(&base->cuda);
    return status;
}

static void free_base(nvdec_base *base)
{
    if (base->stream && mvf_cuda_enter(&base->cuda) == MVF_OK) {
        base->cuda.driver.cuStreamDestroy_v2(base->stream);
        mvf_cuda_leave(&base->cuda);
    }
    mvf_cuda_close(&base->cuda);
    free(base);
}

static void free_device(AVHWDeviceContext *device)
{
    free_base(device->user_opaque);
}

static mvf_status open_base(nvdec_base **out, int32_t ordinal, const mvf_logger *logger)
{
    nvdec_base *base = mvf_alloc_array(1, sizeof *base);
    if (!base)
        return MVF_ERROR_MEMORY;
    mvf_status status = mvf_cuda_open(&base->cuda, ordinal, logger);
    if (status == MVF_OK)
        status = make_stream(base);
    /* The caller's logger may be gone when the last frame is. */
    base->cuda.logger = (mvf_logger){.callback = NULL};
    if (status == MVF_OK)
        *out = base;
    else
        free_base(base);
    return status;
}

/* Takes over `base`. */
static mvf_status make_device(AVBufferRef **out, nvdec_base *base, const mvf_logger *logger)
{
    AVBufferRef *device = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA);
    if (!device) {
        free_base(base);
        return mvf_fail(logger, MVF_ERROR_UNSUPPORTED,
                        "decoding on the GPU: this FFmpeg is built without CUDA");
    }
    AVHWDeviceContext *context = (AVHWDeviceContext *)(void *)device->data;
    AVCUDADeviceContext *cuda = context->hwctx;
    context->user_opaque = base;
    context->free = free_device;
    cuda->cuda_ctx = base->cuda.context;
    cuda->stream = base->stream;
    int error = av_hwdevice_ctx_init(device);
    if (error < 0) {
        av_buffer_unref(&device);
        return mvf_fail(logger, MVF_ERROR_NO_DEVICE,
                        "decoding on the GPU: FFmpeg cannot use the CUDA device: %s",
                        av_err2str(error));
    }
    *out = device;
    return MVF_OK;
}

mvf_status mvf_nvdec_open(mvf_nvdec **out, int32_t device, const mvf_logger *logger)
{
    nvdec_base *base = NULL;
    MVF_TRY(open_base(&base, device, logger));
    mvf_nvdec *nvdec = mvf_alloc_array(1, sizeof *nvdec);
    if (!nvdec) {
        free_base(base);
        return MVF_ERROR_MEMORY;
    }
    mvf_status status = make_device(&nvdec->device, base, logger);
    if (status == MVF_OK)
        nvdec->n_held = av_buffer_allocz(sizeof(atomic_int));
    if (status == MVF_OK && !nvdec->n_held)
        status = MVF_ERROR_MEMORY;
    if (status == MVF_OK)
        *out = nvdec;
    else
        mvf_nvdec_close(&nvdec);
    return status;
}

void mvf_nvdec_close(mvf_nvdec **nvdec)
{
    if (!*nvdec)
        return;
    av_buffer_unref(&(*nvdec)->device);
    av_buffer_unref(&(*nvdec)->n_held);
    free(*nvdec);
    *nvdec = NULL;
}

static AVCUDADeviceContext *cuda_of(const AVBufferRef *device)
{
    return ((AVHWDeviceContext *)(void *)device->data)->hwctx;
}

/* Decoders. */

static int decodes_on_cuda(const AVCodec *decoder)
{
    const AVCodecHWConfig *config;
    for (int i = 0; (config = avcodec_get_hw_config(decoder, i)); i++)
        if (config->device_type == AV_HWDEVICE_TYPE_CUDA && config->pix_fmt == AV_PIX_FMT_CUDA &&
            config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX)
            return 1;
    return 0;
}

/* FFmpeg's wrappers of NVIDIA's own parser (h264_cuvid, ...) are decoders of other kinds. */
const AVCodec *mvf_nvdec_find_decoder(enum AVCodecID codec)
{
    const AVCodec *decoder;
    void *place = NULL;
    while ((decoder = av_codec_iterate(&place)))
        if (decoder->id == codec && av_codec_is_decoder(decoder) && decodes_on_cuda(decoder) &&
            !(decoder->capabilities & AV_CODEC_CAP_HARDWARE))
            return decoder;
    return NULL;
}

int mvf_nvdec_attach(mvf_nvdec *nvdec, AVCodecContext *codec)
{
    codec->hw_device_ctx = av_buffer_ref(nvdec->device);
    if (!codec->hw_device_ctx)
        return AVERROR(ENOMEM);
    /* Each thread's frames would take surfaces, and none of them would be faster. */
    codec->thread_count = 1;
    codec->extra_hw_frames = MAX_HELD_FRAMES;
#ifdef AV_HWACCEL_FLAG_UNSAFE_OUTPUT
    /* The decoder's own surfaces instead of copies. */
    codec->hwaccel_flags |= AV_HWACCEL_FLAG_UNSAFE_OUTPUT;
#endif
    return 0;
}

static pthread_mutex_t session_mutex = PTHREAD_MUTEX_INITIALIZER;

void mvf_nvdec_begin_session(void)
{
    pthread_mutex_lock(&session_mutex);
}

void mvf_nvdec_end_session(void)
{
    pthread_mutex_unlock(&session_mutex);
}

mvf_status mvf_nvdec_finish(mvf_nvdec *nvdec)
{
    const nvdec_base *base = ((AVHWDeviceContext *)(void *)nvdec->device->data)->user_opaque;
    mvf_cuda cuda = base->cuda;
    MVF_TRY(mvf_cuda_enter(&cuda));
    mvf_status status =
        mvf_cuda_check(&cuda, cuda.driver.cuStreamSynchronize(base->stream), "cuStreamSynchronize");
    mvf_cuda_leave(&cuda);
    return status;
}

/* Frames. */

static void let_go(void *opaque, uint8_t *data)
{
    AVBufferRef *n_held = opaque;
    (void)data;
    atomic_fetch_sub((atomic_int *)(void *)n_held->data, 1);
    av_buffer_unref(&n_held);
}

/* Counts the frame as long as it, or a reference to it, lives: opaque_ref goes with them. */
static int hold(const mvf_nvdec *nvdec, AVFrame *av)
{
    AVBufferRef *n_held = av_buffer_ref(nvdec->n_held);
    if (!n_held)
        return AVERROR(ENOMEM);
    av->opaque_ref = av_buffer_create(n_held->data, (size_t)n_held->size, let_go, n_held, 0);
    if (!av->opaque_ref) {
        av_buffer_unref(&n_held);
        return AVERROR(ENOMEM);
    }
    atomic_fetch_add((atomic_int *)(void *)nvdec->n_held->data, 1);
    return 0;
}

static enum AVPixelFormat device_format(const AVFrame *av)
{
    return ((AVHWFramesContext *)(void *)av->hw_frames_ctx->data)->sw_format;
}

/* On the GPU FFmpeg does not take away what is cropped on the left and at the top. */
static int crop(AVFrame *host, const AVFrame *av)
{
    host->crop_left = av->crop_left;
    host->crop_top = av->crop_top;
    host->crop_right = host->crop_bottom = 0;
    return av_frame_apply_cropping(host, 0);
}

int mvf_nvdec_take(const mvf_nvdec *nvdec, AVFrame *av, enum AVPixelFormat format)
{
    AVFrame *host = NULL;
    int n_held = atomic_load((atomic_int *)(void *)nvdec->n_held->data);
    if (n_held < MAX_HELD_FRAMES && !av->crop_left && !av->crop_top)
        return hold(nvdec, av);
    int error = mvf_nvdec_download(av, format, &host);
    if (!error)
        error = crop(host, av);
    if (error < 0) {
        av_frame_free(&host);
        return error;
    }
    av_frame_unref(av);
    av_frame_move_ref(av, host);
    av_frame_free(&host);
    return 0;
}

int mvf_nvdec_download(const AVFrame *av, enum AVPixelFormat format, AVFrame **host)
{
    AVFrame *as_it_is = av_frame_alloc(), *made = av_frame_alloc();
    int error = as_it_is && made ? av_hwframe_transfer_data(as_it_is, av, 0) : AVERROR(ENOMEM);
    if (!error) {
        made->format = format;
        made->width = av->width;
        made->height = av->height;
        error = av_frame_get_buffer(made, 0);
    }
    if (!error)
        error = mvf_planar_copy(as_it_is, made);
    if (!error)
        error = av_frame_copy_props(made, av);
    av_frame_free(&as_it_is);
    if (error < 0) {
        av_frame_free(&made);
        return error;
    }
    av_buffer_unref(&made->opaque_ref);
    *host = made;
    return 0;
}

void mvf_nvdec_describe(const AVFrame *av, enum AVPixelFormat format, mvf_picture *picture)
{
    const AVHWFramesContext *frames = (const AVHWFramesContext *)(void *)av->hw_frames_ctx->data;
    const AVComponentDescriptor *luma = &av_pix_fmt_desc_get(device_format(av))->comp[0];
    int depth = av_pix_fmt_desc_get(format)->comp[0].depth;
    picture->memory = MVF_MEMORY_CUDA;
    picture->shift_bits = luma->shift + luma->depth - depth;
    picture->stream = cuda_of(frames->device_ref)->stream;
}
