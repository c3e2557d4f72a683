/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/json.h"
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

static void print_device_json(int32_t device, const mvf_device_info *info)
{
    printf("%s\n  {\"name\": ", device ? "," : "");
    json_print_string(info->name);
    printf(", \"compute_capability\": %d, \"multiprocessors\": %d, \"memory_bytes\": %" PRIu64
           ", \"usable\": %s}",
           info->compute_capability, info->multiprocessors, info->memory_bytes,
           info->usable ? "true" : "false");
}

static int describe_machine_json(void)
{
    mvf_device_info info;
    printf("{\"mvfield\": ");
    json_print_string(mvf_version());
    printf(", \"ffmpeg\": ");
    json_print_string(mvf_ffmpeg_versions());
    printf(", \"cuda_build\": ");
    json_print_string(mvf_cuda_build());
    printf(",\n \"processors\": %ld, \"cpu_level\": ", sysconf(_SC_NPROCESSORS_ONLN));
    json_print_string(mvf_cpu_level_name(mvf_cpu_best_level()));
    printf(",\n \"gpus\": [");
    for (int32_t device = 0; mvf_device_describe(device, &info, NULL) == MVF_OK; device++)
        print_device_json(device, &info);
    printf("],\n \"formats\": [");
    for (size_t i = 0; mvf_sink_format(i); i++) {
        printf("%s", i ? ", " : "");
        json_print_string(mvf_sink_format(i));
    }
    printf("]}\n");
    return EXIT_ALL_FRAMES;
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

/* What the first field with blocks says, or the first one. */
static mvf_status find_sample(mvf_reader *reader, mvf_field **sample)
{
    mvf_status status;
    *sample = NULL;
    do {
        mvf_field *field;
        status = mvf_reader_next(reader, &field);
        if (field && (!*sample || field->n_blocks)) {
            mvf_field_free(sample);
            *sample = field;
        } else {
            mvf_field_free(&field);
        }
    } while ((status == MVF_OK || status == MVF_ERROR_DATA) && !(*sample && (*sample)->n_blocks));
    return status == MVF_OK || status == MVF_ERROR_DATA || status == MVF_EOF ? MVF_OK : status;
}

static void print_fields_text(const mvf_reader_info *info, const mvf_field *field)
{
    printf("container      mvf %d.%d, %s\n", info->version_major, info->version_minor,
           info->is_complete ? "complete" : "cut off or damaged at its end");
    if (!info->is_complete)
        printf("damage         at byte %" PRId64 " of %" PRId64 "\n", info->damage_offset,
               info->file_bytes);
    printf("fields         %" PRId64, info->n_fields);
    if (info->n_fields)
        printf(", frames %" PRId64 " to %" PRId64, info->first_frame, info->last_frame);
    printf("\n");
    if (info->frame_rate.num > 0 && info->frame_rate.den > 0)
        printf("frame rate     %d/%d (%.3f frames/s)\n", info->frame_rate.num, info->frame_rate.den,
               (double)info->frame_rate.num / info->frame_rate.den);
    if (info->rotation)
        printf("rotation       %d degrees clockwise (fields are in coded orientation)\n",
               info->rotation);
    if (!field)
        return;
    printf("vectors        %s, in 1/%d px, for %dx%d px of %d bits\n",
           field->source == MVF_VECTORS_CODEC ? "the codec's" : "searched", field->mv_scale,
           field->width, field->height, field->bit_depth);
    printf("time base      %d/%d s\n", field->time_base.num, field->time_base.den);
    if (field->grid.cols)
        printf("grid           %d x %d blocks of %dx%d px, %dx%d px apart\n", field->grid.cols,
               field->grid.rows, field->grid.block_w, field->grid.block_h, field->grid.step_x,
               field->grid.step_y);
    else
        printf("grid           none: blocks of several sizes or places\n");
}

static void print_fields_json(const mvf_reader_info *info, const mvf_field *field)
{
    printf("{\"container\": \"mvf\", \"version\": [%d, %d], \"complete\": %s, \"bytes\": %" PRId64,
           info->version_major, info->version_minor, info->is_complete ? "true" : "false",
           info->file_bytes);
    if (!info->is_complete)
        printf(", \"damage_offset\": %" PRId64, info->damage_offset);
    printf(",\n \"fields\": %" PRId64, info->n_fields);
    if (info->n_fields)
        printf(", \"first_frame\": %" PRId64 ", \"last_frame\": %" PRId64, info->first_frame,
               info->last_frame);
    printf(", \"frame_rate\": [%d, %d], \"rotation\": %d", info->frame_rate.num,
           info->frame_rate.den, info->rotation);
    if (field) {
        printf(",\n \"source\": \"%s\", \"mv_scale\": %d, \"width\": %d, \"height\": %d, "
               "\"bit_depth\": %d, \"time_base\": [%d, %d],\n \"grid\": ",
               field->source == MVF_VECTORS_CODEC ? "codec" : "search", field->mv_scale,
               field->width, field->height, field->bit_depth, field->time_base.num,
               field->time_base.den);
        if (field->grid.cols)
            printf("{\"cols\": %d, \"rows\": %d, \"block\": [%d, %d], \"step\": [%d, %d]}",
                   field->grid.cols, field->grid.rows, field->grid.block_w, field->grid.block_h,
                   field->grid.step_x, field->grid.step_y);
        else
            printf("null");
    }
    printf("}\n");
}

static int describe_fields(const cli_options *options)
{
    mvf_reader *reader;
    mvf_field *sample;
    mvf_reader_info info = {.struct_size = sizeof info};
    mvf_logger logger = message_logger();
    mvf_status status = mvf_reader_open(&reader, options->input, &logger);
    if (status != MVF_OK)
        return message_exit_status(status);
    mvf_reader_get_info(reader, &info);
    status = find_sample(reader, &sample);
    if (status == MVF_OK)
        (options->json ? print_fields_json : print_fields_text)(&info, sample);
    mvf_field_free(&sample);
    mvf_reader_close(&reader);
    if (status != MVF_OK)
        return message_exit_status(status);
    return info.is_complete ? EXIT_ALL_FRAMES : EXIT_DAMAGED;
}

static void print_source_json(const mvf_source_info *info)
{
    printf("{\"container\": ");
    json_print_string(info->container);
    printf(", \"stream\": %d, \"codec\": ", info->stream);
    json_print_string(info->codec);
    printf(", \"width\": %d, \"height\": %d,\n \"frame_rate\": [%d, %d], \"time_base\": [%d, %d], "
           "\"sample_aspect\": [%d, %d], \"rotation\": %d, \"frames_by_header\": %" PRId64 "}\n",
           info->width, info->height, info->frame_rate.num, info->frame_rate.den,
           info->time_base.num, info->time_base.den, info->sample_aspect.num,
           info->sample_aspect.den, info->rotation, info->frame_count_hint);
}

static int describe_file(const cli_options *options)
{
    if (mvf_reader_probe(options->input))
        return describe_fields(options);
    mvf_source *source;
    mvf_status status = run_open_source(&source, options, 0);
    if (status != MVF_OK)
        return message_exit_status(status);
    const mvf_source_info *info = mvf_source_get_info(source);
    if (options->json) {
        print_source_json(info);
        mvf_source_close(&source);
        return EXIT_ALL_FRAMES;
    }
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
    if (options->input)
        return describe_file(options);
    return options->json ? describe_machine_json() : describe_machine();
}
