/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvdec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libavcodec/avcodec.h>

#include "cuvid.h"

#define MAX_SURFACES 64
#define PITCH_BYTES 256
#define GARBAGE 0xd7

typedef enum call { CALL_CREATE, CALL_DESTROY, CALL_DECODE, CALL_MAP, CALL_UNMAP, N_CALLS } call;
static const char *const call_names[N_CALLS] = {"cuvidCreateDecoder", "cuvidDestroyDecoder",
                                                "cuvidDecodePicture", "cuvidMapVideoFrame64",
                                                "cuvidUnmapVideoFrame64"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counts[N_CALLS];
/* Sessions that are being made, and when they were most. */
static int n_making, most_making;
/* So long that threads that make some at once do meet. */
#define MAKING_US 5000

typedef struct session {
    cuvid_create_info info;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *received;
    /* The picture that each surface for decoding has, by its number, and once it is decoded. */
    int64_t numbers[MAX_SURFACES];
    AVFrame *pictures[MAX_SURFACES];
    int64_t n_pictures;
    /* Whether pictures were asked for before those after them: only a new start helps. */
    int is_drained;
    /* Surfaces for output. */
    pthread_mutex_t mutex;
    CUdeviceptr outputs[MAX_SURFACES];
    int is_mapped[MAX_SURFACES];
    CUstream streams[MAX_SURFACES];
    size_t pitch;
} session;

static void count(call which)
{
    pthread_mutex_lock(&lock);
    counts[which]++;
    pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void write_calls(void)
{
    const char *name = getenv("CUDA_EMULATOR_CALLS");
    FILE *file = name && *name ? fopen(name, "a") : NULL;
    if (!file)
        return;
    for (int i = 0; i < N_CALLS; i++)
        if (counts[i])
            fprintf(file, "%s %lu\n", call_names[i], counts[i]);
    if (most_making)
        fprintf(file, "most making %d\n", most_making);
    if (counts[CALL_CREATE] != counts[CALL_DESTROY])
        fprintf(file, "left sessions %lu\n", counts[CALL_CREATE] - counts[CALL_DESTROY]);
    fclose(file);
}

/* The parameter sets; 0 where there are none. */
static int read_headers(AVCodecContext *codec)
{
    const char *name = getenv("NVDEC_EMULATOR_HEADERS");
    FILE *file = name && *name ? fopen(name, "rb") : NULL;
    uint8_t bytes[4096];
    if (!file)
        return 0;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    codec->extradata = av_mallocz(n + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!codec->extradata)
        return 0;
    memcpy(codec->extradata, bytes, n);
    codec->extradata_size = (int)n;
    return n > 0;
}

static enum AVCodecID codec_id(int codec)
{
    return codec == CUVID_CODEC_H264   ? AV_CODEC_ID_H264
           : codec == CUVID_CODEC_HEVC ? AV_CODEC_ID_HEVC
                                       : AV_CODEC_ID_NONE;
}

CUresult cuvidGetDecoderCaps(cuvid_capabilities *capabilities)
{
    capabilities->is_supported =
        codec_id(capabilities->codec) != AV_CODEC_ID_NONE && !capabilities->bit_depth_minus_8 &&
        capabilities->chroma_format == CUVID_CHROMA_420 && getenv("NVDEC_EMULATOR_HEADERS") != NULL;
    capabilities->max_width = capabilities->max_height = 4096;
    capabilities->max_macroblocks = 4096 * 4096 / 256;
    capabilities->min_width = 48;
    capabilities->min_height = 16;
    return CUDA_SUCCESS;
}

static void close_session(session *s)
{
    for (int i = 0; i < MAX_SURFACES; i++) {
        av_frame_free(&s->pictures[i]);
        if (s->outputs[i])
            cuMemFree_v2(s->outputs[i]);
    }
    avcodec_free_context(&s->codec);
    av_packet_free(&s->packet);
    av_frame_free(&s->received);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

static CUresult open_session(session *s)
{
    const AVCodec *decoder = avcodec_find_decoder(codec_id(s->info.codec));
    s->codec = avcodec_alloc_context3(decoder);
    s->packet = av_packet_alloc();
    s->received = av_frame_alloc();
    if (!decoder || !s->codec || !s->packet || !s->received)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->codec->thread_count = 1;
    s->pitch = (s->info.target_width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    if (s->info.n_decode_surfaces > MAX_SURFACES || s->info.n_output_surfaces > MAX_SURFACES ||
        s->info.output_format != CUVID_SURFACE_NV12 || !read_headers(s->codec) ||
        avcodec_open2(s->codec, decoder, NULL) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned long i = 0; i < s->info.n_output_surfaces; i++) {
        CUresult result = cuMemAlloc_v2(&s->outputs[i], s->pitch * s->info.target_height * 3 / 2);
        if (result)
            return result;
    }
    return CUDA_SUCCESS;
}

static void note_making(int change)
{
    pthread_mutex_lock(&lock);
    n_making += change;
    most_making = n_making > most_making ? n_making : most_making;
    pthread_mutex_unlock(&lock);
}

CUresult cuvidCreateDecoder(void **decoder, cuvid_create_info *info)
{
    session *s = calloc(1, sizeof *s);
    note_making(1);
    usleep(MAKING_US);
    note_making(-1);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->info = *info;
    pthread_mutex_init(&s->mutex, NULL);
    for (int i = 0; i < MAX_SURFACES; i++)
        s->numbers[i] = -1;
    CUresult result = open_session(s);
    if (result) {
        close_session(s);
        return result;
    }
    count(CALL_CREATE);
    *decoder = s;
    return CUDA_SUCCESS;
}

CUresult cuvidDestroyDecoder(void *decoder)
{
    count(CALL_DESTROY);
    close_session(decoder);
    return CUDA_SUCCESS;
}

/* Takes what has been decoded to the surfaces that wait for it. */
static void receive_pictures(session *s)
{
    while (avcodec_receive_frame(s->codec, s->received) >= 0) {
        for (int i = 0; i < MAX_SURFACES; i++)
            if (s->numbers[i] == s->received->pts && !s->pictures[i])
                s->pictures[i] = av_frame_clone(s->received);
        av_frame_unref(s->received);
    }
}

CUresult cuvidDecodePicture(void *decoder, cuvid_picture *picture)
{
    session *s = decoder;
    count(CALL_DECODE);
    if (picture->index < 0 || (unsigned long)picture->index >= s->info.n_decode_surfaces)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->is_drained)
        avcodec_flush_buffers(s->codec);
    s->is_drained = 0;
    if (!picture->is_second_field) {
        av_frame_free(&s->pictures[picture->index]);
        s->numbers[picture->index] = s->n_pictures++;
    }
    if (av_new_packet(s->packet, (int)picture->n_bytes) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(s->packet->data, picture->bytes, picture->n_bytes);
    s->packet->pts = s->numbers[picture->index];
    int error = avcodec_send_packet(s->codec, s->packet);
    av_packet_unref(s->packet);
    receive_pictures(s);
    return error < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* The samples as NV12, in a surface for output. */
static CUresult fill(const session *s, const AVFrame *picture, CUdeviceptr to, CUstream stream)
{
    size_t chroma = s->pitch * s->info.target_height;
    uint8_t *samples = calloc(chroma * 3 / 2, 1);
    if (!samples)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (int y = 0; y < picture->height; y++)
        memcpy(samples + (size_t)y * s->pitch,
               picture->data[0] + (ptrdiff_t)y * picture->linesize[0], (size_t)picture->width);
    for (int y = 0; y < (picture->height + 1) / 2; y++)
        for (int x = 0; x < (picture->width + 1) / 2; x++)
            for (int i = 0; i < 2; i++)
                samples[chroma + (size_t)y * s->pitch + 2 * (size_t)x + (size_t)i] =
                    picture->data[1 + i][(ptrdiff_t)y * picture->linesize[1 + i] + x];
    CUresult result = cuMemcpyHtoDAsync_v2(to, samples, chroma * 3 / 2, stream);
    free(samples);
    return result;
}

static CUresult map(session *s, int index, unsigned long long *address, CUstream stream)
{
    unsigned long output = 0;
    if (index < 0 || index >= MAX_SURFACES || s->numbers[index] < 0)
        return CUDA_ERROR_INVALID_VALUE;
    while (output < s->info.n_output_surfaces && s->is_mapped[output])
        output++;
    if (output == s->info.n_output_surfaces)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!s->pictures[index] && !s->is_drained) {
        avcodec_send_packet(s->codec, NULL);
        receive_pictures(s);
        s->is_drained = 1;
    }
    if (!s->pictures[index])
        return CUDA_ERROR_UNKNOWN;
    s->is_mapped[output] = 1;
    s->streams[output] = stream;
    *address = s->outputs[output];
    return fill(s, s->pictures[index], s->outputs[output], stream);
}

static CUresult unmap(session *s, unsigned long long address)
{
    for (unsigned long i = 0; i < s->info.n_output_surfaces; i++)
        if (s->is_mapped[i] && s->outputs[i] == address) {
            s->is_mapped[i] = 0;
            return cuMemsetD8Async(address, GARBAGE, s->pitch * s->info.target_height * 3 / 2,
                                   s->streams[i]);
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Frames are given back by other threads than that which decodes. */

CUresult cuvidMapVideoFrame64(void *decoder, int index, unsigned long long *address,
                              unsigned *pitch, cuvid_mapping *how)
{
    session *s = decoder;
    count(CALL_MAP);
    pthread_mutex_lock(&s->mutex);
    CUresult result = map(s, index, address, how->stream);
    pthread_mutex_unlock(&s->mutex);
    *pitch = (unsigned)s->pitch;
    return result;
}

CUresult cuvidUnmapVideoFrame64(void *decoder, unsigned long long address)
{
    session *s = decoder;
    count(CALL_UNMAP);
    pthread_mutex_lock(&s->mutex);
    CUresult result = unmap(s, address);
    pthread_mutex_unlock(&s->mutex);
    return result;
}
