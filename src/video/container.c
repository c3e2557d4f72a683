/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <string.h>
#include <strings.h>

#define H264_OR_MPEG4                     \
    {                                     \
        "libx264", "libopenh264", "mpeg4" \
    }

static const mvf_container containers[] = {
    {"mp4", "mp4", H264_OR_MPEG4, 0, 1},
    {"m4v", "mp4", H264_OR_MPEG4, 0, 1},
    {"mov", "mov", H264_OR_MPEG4, 0, 1},
    {"mkv", "matroska", H264_OR_MPEG4, 0, 0},
    {"webm", "webm", {"libvpx-vp9", "libsvtav1", "libaom-av1"}, 0, 0},
    {"avi", "avi", H264_OR_MPEG4, 1, 0},
    {"gif", "gif", {"gif"}, 0, 0},
    {"apng", "apng", {"apng"}, 0, 0},
    {"webp", "webp", {"libwebp_anim"}, 0, 0},
    {"y4m", "yuv4mpegpipe", {"wrapped_avframe"}, 1, 0},
    {"png", NULL, {"png"}, 0, 0},
    {"jpg", NULL, {"mjpeg"}, 0, 0},
    {"jpeg", NULL, {"mjpeg"}, 0, 0},
};

#define N_CONTAINERS (sizeof containers / sizeof containers[0])

const mvf_container *mvf_container_find(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    const char *extension = !strcmp(path, "-") ? "y4m" : dot ? dot + 1 : "";
    for (size_t i = 0; i < N_CONTAINERS; i++)
        if (!strcasecmp(extension, containers[i].extension))
            return &containers[i];
    return NULL;
}

const char *mvf_container_extensions(void)
{
    return ".mp4, .m4v, .mov, .mkv, .webm, .avi, .gif, .apng, .webp, .y4m, .png, .jpg and .jpeg";
}
