/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/draw_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse_number(const char *text, double low, double high, double *number)
{
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end || !(parsed >= low && parsed <= high))
        return 0;
    *number = parsed;
    return 1;
}

const char *draw_set_modes(cli_options *options, const char *value)
{
    static const struct {
        const char *name;
        uint32_t mode;
    } modes[] = {
        {"arrows", MVF_DRAW_ARROWS},
        {"wheel", MVF_DRAW_WHEEL},
        {"cost", MVF_DRAW_COST},
        {"grid", MVF_DRAW_GRID},
        {"none", 0},
        {"partitions", MVF_DRAW_PARTITIONS},
        {"difference", MVF_DRAW_DIFFERENCE},
    };
    static const char right[] =
        "arrows, wheel, cost, grid, partitions, difference (several with commas) or none";
    uint32_t drawn = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < 7 && (strlen(modes[i].name) != length || strncmp(modes[i].name, at, length)))
            i++;
        if (i == 7 || (!modes[i].mode && (at != value || at[length])))
            return right;
        drawn |= modes[i].mode;
        at += length;
        if (!*at)
            break;
    }
    options->overlay.draw = drawn;
    return NULL;
}

const char *draw_set_against(cli_options *options, const char *value)
{
    options->against = value;
    return *value ? NULL : "an mvf file, codec or search";
}

const char *draw_set_scale(cli_options *options, const char *value)
{
    int ok = parse_number(value, 0.01, 100, &options->overlay.arrow_scale);
    return ok ? NULL : "from 0.01 to 100";
}

const char *draw_set_max_motion(cli_options *options, const char *value)
{
    options->measure_motion = !strcmp(value, "measure");
    if (options->measure_motion)
        return NULL;
    int ok = parse_number(value, 0.25, 8192, &options->overlay.max_motion_px);
    return ok ? NULL : "from 0.25 to 8192 px, or measure";
}

const char *draw_set_max_cost(cli_options *options, const char *value)
{
    return parse_number(value, 0.01, 65535, &options->overlay.max_cost) ? NULL
                                                                        : "from 0.01 to 65535";
}

const char *draw_set_opacity(cli_options *options, const char *value)
{
    return parse_number(value, 0, 1, &options->overlay.opacity) ? NULL : "from 0 to 1";
}

const char *draw_set_layout(cli_options *options, const char *value)
{
    int side = !strcmp(value, "side");
    options->overlay.layout = side ? MVF_LAYOUT_SIDE : MVF_LAYOUT_OVER;
    return side || !strcmp(value, "over") ? NULL : "over or side";
}

const char *draw_set_ground(cli_options *options, const char *value)
{
    static const char *const names[] = {"video", "black", "gray"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, names[i])) {
            options->overlay.ground = (mvf_ground)i;
            return NULL;
        }
    return "video, black or gray";
}

const char *draw_set_legend(cli_options *options, const char *value)
{
    (void)value;
    options->overlay.legend = 1;
    return NULL;
}

const char *draw_set_caption(cli_options *options, const char *value)
{
    (void)value;
    options->overlay.caption = 1;
    return NULL;
}

const char *draw_set_codec(cli_options *options, const char *value)
{
    options->overlay.codec = value;
    return NULL;
}

const char *draw_set_quality(cli_options *options, const char *value)
{
    double quality = 0;
    if (!parse_number(value, 1, 100, &quality) || quality != floor(quality))
        return "from 1 (smallest) to 100 (best)";
    options->overlay.quality = (int32_t)quality;
    return NULL;
}

const char *draw_set_frame(cli_options *options, const char *value)
{
    char *end;
    errno = 0;
    long long frame = strtoll(value, &end, 10);
    if (errno || end == value || *end || frame < 0)
        return "a frame number from 0 on";
    options->first_frame = frame;
    options->n_frames = 1;
    options->overlay.single_image = 1;
    return NULL;
}

const char *draw_set_play(cli_options *options, const char *value)
{
    (void)value;
    options->play = 1;
    options->output = "-";
    return NULL;
}

const char *draw_check(const cli_options *options,
                       int (*given)(const cli_options *options, const char *name))
{
    static const struct {
        const char *name;
        uint32_t modes;
        const char *wrong;
    } needs[] = {
        {"scale", MVF_DRAW_ARROWS, "--scale has no effect without --draw arrows"},
        {"max-motion", MVF_DRAW_WHEEL | MVF_DRAW_DIFFERENCE,
         "--max-motion has no effect without --draw wheel or difference"},
        {"max-cost", MVF_DRAW_COST, "--max-cost has no effect without --draw cost"},
        {"opacity", MVF_DRAW_WHEEL | MVF_DRAW_COST | MVF_DRAW_DIFFERENCE,
         "--opacity has no effect without --draw wheel, cost or difference"},
        {"against", MVF_DRAW_DIFFERENCE, "--against has no effect without --draw difference"},
    };
    uint32_t draw = options->overlay.draw;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (given(options, needs[i].name) && !(draw & needs[i].modes))
            return needs[i].wrong;
    if (draw & MVF_DRAW_DIFFERENCE && !options->against)
        return "--draw difference needs --against: an mvf file, codec or search";
    if (draw & MVF_DRAW_COST && options->vectors == VECTORS_CODEC)
        return "--draw cost has no effect with --vectors codec, which come without costs";
    if (options->against && !strcmp(options->against, "search") &&
        options->vectors != VECTORS_CODEC)
        return "--against search compares with --vectors codec";
    if (options->against && !strcmp(options->against, "codec") && options->vectors == VECTORS_CODEC)
        return "--against codec compares with --vectors search";
    if (given(options, "frame") && (given(options, "start") || given(options, "frames")))
        return "--frame names the one frame: --start and --frames do not go with it";
    if (options->play && given(options, "output"))
        return "--play shows the overlay instead of writing it: leave -o out";
    if (options->measure_motion && !strcmp(options->input, "-"))
        return "--max-motion measure reads the input twice, which standard input does not allow";
    return NULL;
}
