/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/nvdec.h"

#include "base/error.h"

/* Without the CUDA toolkit there is no NVDEC: no frame ever lies in device memory. */

mvf_status mvf_nvdec_open(mvf_nvdec **nvdec, int32_t device, const mvf_logger *logger)
{
    (void)nvdec;
    (void)device;
    return mvf_fail(logger, MVF_ERROR_UNSUPPORTED,
                    "decoding on the GPU: this build has no CUDA (it was configured without nvcc)");
}

void mvf_nvdec_close(mvf_nvdec **nvdec)
{
    (void)nvdec;
}

const AVCodec *mvf_nvdec_find_decoder(enum AVCodecID codec)
{
    (void)codec;
    return NULL;
}

int mvf_nvdec_attach(mvf_nvdec *nvdec, AVCodecContext *codec)
{
    (void)nvdec;
    (void)codec;
    return AVERROR(ENOSYS);
}

void mvf_nvdec_begin_session(void)
{
}

void mvf_nvdec_end_session(void)
{
}

mvf_status mvf_nvdec_finish(mvf_nvdec *nvdec)
{
    (void)nvdec;
    return MVF_OK;
}

int mvf_nvdec_take(const mvf_nvdec *nvdec, AVFrame *av, enum AVPixelFormat format)
{
    (void)nvdec;
    (void)av;
    (void)format;
    return AVERROR(ENOSYS);
}

int mvf_nvdec_download(const AVFrame *av, enum AVPixelFormat format, AVFrame **host)
{
    (void)av;
    (void)format;
    (void)host;
    return AVERROR(ENOSYS);
}

void mvf_nvdec_describe(const AVFrame *av, enum AVPixelFormat format, mvf_picture *picture)
{
    (void)av;
    (void)format;
    (void)picture;
}
