/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <libavutil/log.h>
#include <libavutil/pixdesc.h>

#include "base/memory.h"

#define VERSION_FORMAT "libavformat %u.%u.%u, libavcodec %u.%u.%u, libavutil %u.%u.%u"
#define VERSION_PARTS(v) AV_VERSION_MAJOR(v), AV_VERSION_MINOR(v), AV_VERSION_MICRO(v)

static char versions[128];
static pthread_once_t versions_once = PTHREAD_ONCE_INIT;

static void write_versions(void)
{
    unsigned format = avformat_version(), codec = avcodec_version(), util = avutil_version();
    snprintf(versions, sizeof versions, VERSION_FORMAT, VERSION_PARTS(format), VERSION_PARTS(codec),
             VERSION_PARTS(util));
}

const char *mvf_ffmpeg_versions(void)
{
    pthread_once(&versions_once, write_versions);
    return versions;
}

void mvf_ffmpeg_quiet(void)
{
    av_log_set_level(AV_LOG_QUIET);
}

mvf_status mvf_status_from_av(int error)
{
    switch (error) {
    case AVERROR(ENOMEM):
        return MVF_ERROR_MEMORY;
    case AVERROR_EXIT:
        return MVF_ERROR_INTERRUPTED;
    case AVERROR_INVALIDDATA:
        return MVF_ERROR_DATA;
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_ENCODER_NOT_FOUND:
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR_MUXER_NOT_FOUND:
    case AVERROR_PROTOCOL_NOT_FOUND:
    case AVERROR_PATCHWELCOME:
    case AVERROR(ENOSYS):
        return MVF_ERROR_UNSUPPORTED;
    default:
        return MVF_ERROR_IO;
    }
}

char *mvf_printable(const char *name)
{
    char *copy = mvf_strdup(name);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return copy;
}

const uint8_t *mvf_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                    size_t *n_bytes)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 0)
    const AVPacketSideData *data = av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
    *n_bytes = data ? data->size : 0;
    return data ? data->data : NULL;
#else
    for (int i = 0; i < stream->nb_side_data; i++) {
        if (stream->side_data[i].type == type) {
            *n_bytes = (size_t)stream->side_data[i].size;
            return stream->side_data[i].data;
        }
    }
    *n_bytes = 0;
    return NULL;
#endif
}

enum AVPixelFormat mvf_plain_format(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUVJ420P:
        return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
        return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
        return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
        return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ411P:
        return AV_PIX_FMT_YUV411P;
    default:
        return format;
    }
}
