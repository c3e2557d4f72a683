/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"

static void keep_message(void *opaque, mvf_log_level level, const char *message)
{
    if (level == MVF_LOG_ERROR)
        snprintf(opaque, 512, "%s", message);
}

static void print_devices(void)
{
    for (int32_t device = 0;; device++) {
        char reason[512] = "";
        mvf_logger logger = {keep_message, reason};
        mvf_device_info info;
        if (mvf_device_describe(device, &info, &logger) != MVF_OK) {
            if (!device)
                printf("GPU            none: %s\n", reason);
            return;
        }
        printf("GPU %-10" PRId32 " %s, compute capability %d.%d, %d multiprocessors, %.1f GiB%s\n",
               device, info.name, info.compute_capability / 10, info.compute_capability % 10,
               info.multiprocessors, (double)info.memory_bytes / (1 << 30),
               info.usable ? "" : " (this build has no kernels for it)");
    }
}

static int describe_machine(void)
{
    printf("mvfield        %s\n", mvf_version());
    printf("FFmpeg         %s\n", mvf_ffmpeg_versions());
    printf("CUDA build     %s\n", mvf_cuda_build());
    printf("CPU            %ld processors, instruction level %s\n", sysconf(_SC_NPROCESSORS_ONLN),
           mvf_cpu_level_name(mvf_cpu_best_level()));
    print_devices();
    printf("formats       ");
    for (size_t i = 0; mvf_sink_format(i); i++)
        printf(" %s", mvf_sink_format(i));
    printf("\n");
    return EXIT_ALL_FRAMES;
}

static int describe_file(const cli_options *options)
{
    mvf_source *source;
    mvf_status status = run_open_source(&source, options, 0);
    if (status != MVF_OK)
        return message_exit_status(status);
    const mvf_source_info *info = mvf_source_get_info(source);
    printf("container      %s\n", info->container);
    printf("video stream   %d, %s, %dx%d\n", info->stream, info->codec, info->width, info->height);
    if (info->frame_rate.num)
        printf("frame rate     %d/%d (%.3f frames/s)\n", info->frame_rate.num, info->frame_rate.den,
               (double)info->frame_rate.num / info->frame_rate.den);
    printf("time base      %d/%d s\n", info->time_base.num, info->time_base.den);
    if (info->sample_aspect.num)
        printf("sample aspect  %d:%d\n", info->sample_aspect.num, info->sample_aspect.den);
    if (info->rotation)
        printf("rotation       %d degrees clockwise (fields are in coded orientation)\n",
               info->rotation);
    if (info->frame_count_hint)
        printf("frames         about %" PRId64 " by the header\n", info->frame_count_hint);
    mvf_source_close(&source);
    return EXIT_ALL_FRAMES;
}

int command_info(const cli_options *options)
{
    if (options->list_presets) {
        options_print_presets();
        return EXIT_ALL_FRAMES;
    }
    return options->input ? describe_file(options) : describe_machine();
}
