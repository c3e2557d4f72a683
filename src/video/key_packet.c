/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "video/entries.h"

#define NO_HEADERS 0

/* H.264 and HEVC. */
enum { H264_SLICE = 1, H264_IDR = 5, H264_SEI = 6, H264_SPS = 7, H264_PPS = 8 };
enum {
    HEVC_FIRST_IRAP = 16,
    HEVC_LAST_IRAP = 23,
    HEVC_LAST_VCL = 31,
    HEVC_VPS = 32,
    HEVC_PPS = 34
};
#define SEI_RECOVERY_POINT 6
/* MPEG-1, 2 and 4. */
enum { MPEG_PICTURE = 0x00, MPEG_GROUP = 0xb8, MPEG4_GROUP = 0xb3, MPEG4_PICTURE = 0xb6 };
#define VP8_SHOWN 0x10

static uint64_t digest(uint64_t sum, const uint8_t *bytes, size_t n)
{
    /* FNV-1a */
    sum = sum == NO_HEADERS ? UINT64_C(0xcbf29ce484222325) : sum;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum == NO_HEADERS ? 1 : sum;
}

static int is_intra_only(enum AVCodecID codec)
{
    const AVCodecDescriptor *descriptor = avcodec_descriptor_get(codec);
    return descriptor && descriptor->props & AV_CODEC_PROP_INTRA_ONLY;
}

const char *mvf_packet_numbers_obstacle(const AVCodecParameters *codec)
{
    static const enum AVCodecID known[] = {
        AV_CODEC_ID_H264,       AV_CODEC_ID_HEVC,  AV_CODEC_ID_MPEG1VIDEO,
        AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_VP8,
        AV_CODEC_ID_VP9,        AV_CODEC_ID_AV1,   AV_CODEC_ID_FFV1};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == codec->codec_id)
            return NULL;
    return is_intra_only(codec->codec_id) ? NULL
                                          : "frames of its codec cannot be numbered by packets";
}

/* The NAL units of a packet, one after the other. */
typedef struct nal_walk {
    const uint8_t *next, *end;
    /* Bytes of a length before each unit; 0: start codes. */
    int length_bytes;
    const uint8_t *unit;
    size_t n_bytes;
} nal_walk;

/* The first start code (00 00 01) from `at` on, or `end`. */
static const uint8_t *find_start_code(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 3) {
        if (at[2] > 1)
            at += 3;
        else if (at[0] == 0 && at[1] == 0 && at[2] == 1)
            return at;
        else
            at++;
    }
    return end;
}

static nal_walk walk_nals(const AVCodecParameters *codec, const AVPacket *packet)
{
    nal_walk walk = {.next = packet->data, .end = packet->data + packet->size};
    const uint8_t *extra = codec->extradata;
    int size_at = codec->codec_id == AV_CODEC_ID_H264 ? 4 : 21;
    if (codec->extradata_size > size_at && extra[0] == 1)
        walk.length_bytes = (extra[size_at] & 3) + 1;
    else
        walk.next = find_start_code(walk.next, walk.end);
    return walk;
}

static int next_nal(nal_walk *walk)
{
    size_t left = (size_t)(walk->end - walk->next), n = 0;
    if (!walk->length_bytes) {
        if (left < 4)
            return 0;
        walk->unit = walk->next + 3;
        walk->next = find_start_code(walk->unit, walk->end);
        walk->n_bytes = (size_t)(walk->next - walk->unit);
        /* Zeros before the next start code are not the unit's. */
        while (walk->n_bytes && !walk->unit[walk->n_bytes - 1])
            walk->n_bytes--;
        return 1;
    }
    if (left <= (size_t)walk->length_bytes)
        return 0;
    for (int i = 0; i < walk->length_bytes; i++)
        n = n << 8 | walk->next[i];
    left -= (size_t)walk->length_bytes;
    walk->unit = walk->next + walk->length_bytes;
    walk->n_bytes = n < left ? n : left;
    walk->next = walk->unit + walk->n_bytes;
    return walk->n_bytes > 0;
}

/* The next byte of the unit's content, or -1: 03 after two zeros is no part of it. */
static int sei_byte(const nal_walk *walk, size_t *at)
{
    size_t i = *at;
    if (i >= 3 && i < walk->n_bytes && walk->unit[i] == 3 && !walk->unit[i - 1] &&
        !walk->unit[i - 2])
        i++;
    if (i >= walk->n_bytes)
        return -1;
    *at = i + 1;
    return walk->unit[i];
}

static int sei_number(const nal_walk *walk, size_t *at)
{
    int sum = 0, byte;
    do {
        byte = sei_byte(walk, at);
        sum += byte;
    } while (byte == 0xff && sum < 1 << 24);
    return byte < 0 ? -1 : sum;
}

/* Whether the SEI says that frames are exact from this one on, in the order of presentation: a
 * recovery point with recovery_frame_cnt 0 (one bit) and exact_match_flag. */
static int is_exact_recovery(const nal_walk *walk)
{
    size_t at = 1;
    for (;;) {
        int type = sei_number(walk, &at), size = type < 0 ? -1 : sei_number(walk, &at);
        if (size < 0)
            return 0;
        int first = size ? sei_byte(walk, &at) : 0;
        if (type == SEI_RECOVERY_POINT)
            return first >= 0 && (first & 0xc0) == 0xc0;
        for (int i = 1; i < size; i++)
            if (sei_byte(walk, &at) < 0)
                return 0;
    }
}

static mvf_packet_start parse_h264(const AVCodecParameters *codec, const AVPacket *packet)
{
    mvf_packet_start start = {.is_shown = 1};
    nal_walk walk = walk_nals(codec, packet);
    while (next_nal(&walk)) {
        int type = walk.unit[0] & 31;
        if (type == H264_SPS || type == H264_PPS)
            start.headers = digest(start.headers, walk.unit, walk.n_bytes);
        if (type == H264_SEI)
            start.is_exact |= is_exact_recovery(&walk);
        if (type == H264_IDR)
            start.is_exact = start.is_idr = 1;
        if (type >= H264_SLICE && type <= H264_IDR)
            break;
    }
    return start;
}

static mvf_packet_start parse_hevc(const AVCodecParameters *codec, const AVPacket *packet)
{
    mvf_packet_start start = {.is_shown = 1};
    nal_walk walk = walk_nals(codec, packet);
    while (next_nal(&walk)) {
        int type = walk.unit[0] >> 1 & 63;
        if (type >= HEVC_VPS && type <= HEVC_PPS)
            start.headers = digest(start.headers, walk.unit, walk.n_bytes);
        if (type <= HEVC_LAST_VCL) {
            start.is_exact = type >= HEVC_FIRST_IRAP && type <= HEVC_LAST_IRAP;
            break;
        }
    }
    return start;
}

/* The headers are what stands before the first group or picture. */
static mvf_packet_start parse_mpeg(const AVPacket *packet, int group, int picture)
{
    mvf_packet_start start = {.is_shown = 1, .is_exact = 1};
    const uint8_t *end = packet->data + packet->size, *first = packet->data, *at = first;
    for (;;) {
        at = find_start_code(at, end);
        if (end - at < 4 || at[3] == group || at[3] == picture)
            break;
        at += 3;
    }
    if (end - at >= 4 && at > first)
        start.headers = digest(NO_HEADERS, first, (size_t)(at - first));
    return start;
}

/* Whether the frame of a VP9 packet is shown: show_existing_frame, or show_frame. A packet of
 * several frames ends in one that is. */
static int is_vp9_shown(const AVPacket *packet)
{
    const uint8_t *data = packet->data;
    if (packet->size < 2 || (data[packet->size - 1] & 0xe0) == 0xc0)
        return 1;
    int profile = (data[0] >> 5 & 1) | (data[0] >> 3 & 2);
    /* Frame marker (2 bits), profile (2, and 1 that is reserved in profile 3), show_existing_frame,
     * frame_type, show_frame. */
    int bits = (data[0] << 8 | data[1]) << (profile == 3 ? 5 : 4);
    return bits & 0x8000 || bits & 0x2000;
}

mvf_packet_start mvf_packet_start_parse(const AVCodecParameters *codec, const AVPacket *packet)
{
    mvf_packet_start start = {.is_shown = 1, .is_exact = 1};
    switch (codec->codec_id) {
    case AV_CODEC_ID_H264:
        start = parse_h264(codec, packet);
        break;
    case AV_CODEC_ID_HEVC:
        start = parse_hevc(codec, packet);
        break;
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
        start = parse_mpeg(packet, MPEG_GROUP, MPEG_PICTURE);
        break;
    case AV_CODEC_ID_MPEG4:
        start = parse_mpeg(packet, MPEG4_GROUP, MPEG4_PICTURE);
        break;
    case AV_CODEC_ID_VP8:
        start.is_shown = packet->size > 0 && packet->data[0] & VP8_SHOWN;
        break;
    case AV_CODEC_ID_VP9:
        start.is_shown = is_vp9_shown(packet);
        break;
    default:
        break;
    }
    if (av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL))
        start.headers = digest(start.headers, (const uint8_t *)"extradata", 9);
    start.is_exact &= (packet->flags & AV_PKT_FLAG_KEY) != 0;
    return start;
}
