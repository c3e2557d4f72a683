/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/draw_options.h"
#include "cli/help.h"
#include "cli/message.h"

#define DRAWS (COMMAND_OVERLAY | COMMAND_REPORT)
#define WRITES (COMMAND_EXTRACT | DRAWS)
#define SEARCHES (WRITES | COMMAND_COMPARE | COMMAND_STATS)
#define LOOKS_AT_INPUT (SEARCHES | COMMAND_INFO | COMMAND_BENCH)
/* Those that can do without the frames. */
#define BY_WORKERS (COMMAND_EXTRACT | COMMAND_STATS)
#define SPEAKS (LOOKS_AT_INPUT | COMMAND_MERGE)

/* Takes a value and returns NULL, or says what would be right. */
typedef const char *(*option_setter)(cli_options *options, const char *value);

typedef struct option_spec {
    const char *name;
    /* NULL: the option takes no value. */
    const char *value;
    unsigned commands;
    option_setter set;
    const char *help;
} option_spec;

static int parse_int64(const char *text, int64_t low, int64_t high, int64_t *value)
{
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (errno || end == text || *end || parsed < low || parsed > high)
        return 0;
    *value = parsed;
    return 1;
}

/* "16" or "32x16". */
static int parse_pair(const char *text, int32_t *x, int32_t *y)
{
    char first[16];
    int64_t a, b;
    const char *cross = strchr(text, 'x');
    size_t n = cross ? (size_t)(cross - text) : strlen(text);
    if (n >= sizeof first)
        return 0;
    memcpy(first, text, n);
    first[n] = '\0';
    if (!parse_int64(first, 0, 99999, &a))
        return 0;
    b = a;
    if (cross && !parse_int64(cross + 1, 0, 99999, &b))
        return 0;
    *x = (int32_t)a;
    *y = (int32_t)b;
    return 1;
}

/*
 * Sets *index to the place of `value` in `choices`, which are words as a sentence lists them: "a, b
 * or c". Where it is none of them, *index stays and the answer is `choices`: what would be right.
 */
static const char *choose(int *index, const char *value, const char *choices)
{
    const char *word = choices;
    for (int i = 0; *word; i++) {
        size_t length = strcspn(word, ", ");
        if (strlen(value) == length && !strncmp(word, value, length)) {
            *index = i;
            return NULL;
        }
        word += length;
        word += strspn(word, ", ");
        if (!strncmp(word, "or ", 3))
            word += 3;
    }
    return choices;
}

/* The setter of a member that takes the place of its value in a list, as of an enum. */
#define CHOICE_SETTER(function, member, choices)                         \
    static const char *function(cli_options *options, const char *value) \
    {                                                                    \
        int index = 0;                                                   \
        const char *right = choose(&index, value, choices);              \
        options->member = index;                                         \
        return right;                                                    \
    }

/* The setter of a member that takes a whole number from `low` to `high`; `right` says which. */
#define NUMBER_SETTER(function, type, member, low, high, right)          \
    static const char *function(cli_options *options, const char *value) \
    {                                                                    \
        int64_t number;                                                  \
        if (!parse_int64(value, low, high, &number))                     \
            return right;                                                \
        options->member = (type)number;                                  \
        return NULL;                                                     \
    }

/* The setter of an option without a value. */
#define FLAG_SETTER(function, member)                                    \
    static const char *function(cli_options *options, const char *value) \
    {                                                                    \
        (void)value;                                                     \
        options->member = 1;                                             \
        return NULL;                                                     \
    }

static const char *set_output(cli_options *options, const char *value)
{
    options->output = value;
    return *value ? NULL : "a file name, or - for standard output";
}

FLAG_SETTER(set_overwrite, overwrite)

static const char *set_shard(cli_options *options, const char *value)
{
    static const char right[] = "I/N, with N from 1 to 100000 and I from 0 to N - 1";
    char first[16];
    int64_t index, count;
    size_t n = strcspn(value, "/");
    if (n >= sizeof first || !value[n])
        return right;
    memcpy(first, value, n);
    first[n] = '\0';
    if (!parse_int64(value + n + 1, 1, 100000, &count) || !parse_int64(first, 0, count - 1, &index))
        return right;
    options->shard_index = (int32_t)index;
    options->shard_count = (int32_t)count;
    return NULL;
}

static const char *set_list(cli_options *options, const char *value)
{
    options->list = value;
    return *value ? NULL : "a file name, or - for standard input";
}

FLAG_SETTER(set_null, names_end_in_nul)
NUMBER_SETTER(set_jobs, int32_t, jobs, 1, 1024, "from 1 to 1024")
NUMBER_SETTER(set_compress, int32_t, compression, 0, 9, "from 0 (none) to 9 (smallest)")

static const char *set_video(cli_options *options, const char *value)
{
    options->video = value;
    return NULL;
}

FLAG_SETTER(set_json, json)
FLAG_SETTER(set_per_frame, per_frame)

static const char *set_fail_above(cli_options *options, const char *value)
{
    char *end;
    options->fail_above = strtod(value, &end);
    return end != value && !*end && options->fail_above >= 0 ? NULL : "a number of px from 0 on";
}

CHOICE_SETTER(set_vectors, vectors, "search or codec")
NUMBER_SETTER(set_every, int64_t, every, 1, INT32_MAX, "a number from 1 on")
CHOICE_SETTER(set_backend, search.backend, "auto, cpu or cuda")
CHOICE_SETTER(set_hwaccel, hwaccel, "auto, none or cuda")
NUMBER_SETTER(set_device, int32_t, search.device, 0, 1023,
              "a CUDA device number from 0 on (mvfield info lists them)")

static const char *set_devices(cli_options *options, const char *value)
{
    static const char right[] = "CUDA device numbers from 0 on, with commas between them, at most "
                                "64 (mvfield info lists them), or all";
    options->all_devices = !strcmp(value, "all");
    options->n_devices = 0;
    if (options->all_devices)
        return NULL;
    for (options->n_devices = 0; options->n_devices < MAX_DEVICES; value++) {
        char number[8];
        int64_t device;
        size_t n = strcspn(value, ",");
        if (n >= sizeof number)
            return right;
        memcpy(number, value, n);
        number[n] = '\0';
        if (!parse_int64(number, 0, 1023, &device))
            return right;
        options->devices[options->n_devices++] = (int32_t)device;
        options->search.device = options->devices[0];
        value += n;
        if (!*value)
            return NULL;
    }
    return right;
}

static const char *set_method(cli_options *options, const char *value)
{
    static const mvf_method methods[] = {MVF_METHOD_FULL, MVF_METHOD_HIER, MVF_METHOD_REFINE,
                                         MVF_METHOD_TRUEMOTION};
    int index = 0;
    const char *right = choose(&index, value, "full, hier, refine or truemotion");
    options->search.method = methods[index];
    return right;
}

static const char *set_bench_method(cli_options *options, const char *value)
{
    int index = 0;
    const char *right = choose(&index, value, "full or hier");
    options->search.method = index == 1 ? MVF_METHOD_HIER : MVF_METHOD_FULL;
    return right;
}

static const char *set_json_output(cli_options *options, const char *value)
{
    options->json_output = value;
    return *value ? NULL : "a file name, or - for standard output";
}

NUMBER_SETTER(set_refine_range, int32_t, search.refine_range, 0, 16, "from 0 to 16 px")
CHOICE_SETTER(set_effort, search.effort, "high or low")

static const char *set_block(cli_options *options, const char *value)
{
    static const char right[] = "4, 8, 16, 32 or 64, or a pair of these like 16x8";
    return parse_pair(value, &options->search.block_w, &options->search.block_h) ? NULL : right;
}

static const char *set_step(cli_options *options, const char *value)
{
    int ok = parse_pair(value, &options->search.step_x, &options->search.step_y) &&
             options->search.step_x && options->search.step_y;
    return ok ? NULL : "from 1 to the block size, or a pair like 8x4";
}

static const char *set_range(cli_options *options, const char *value)
{
    static const char right[] = "from 0 to 256, or a pair like 32x16";
    return parse_pair(value, &options->search.range_x, &options->search.range_y) ? NULL : right;
}

CHOICE_SETTER(set_edges, search.edges, "clamp or inside")
CHOICE_SETTER(set_subpel, search.subpel, "none, half or quarter")
CHOICE_SETTER(set_filter, search.interpolation, "h264, hevc or bilinear")

static const char metrics[] = "sad, ssd, satd or satd4";

CHOICE_SETTER(set_refine_metric, search.refine_metric, metrics)
CHOICE_SETTER(set_metric, search.metric, metrics)

static const char *set_lambda(cli_options *options, const char *value)
{
    char *end;
    double lambda = strtod(value, &end);
    if (end == value || *end || !(lambda >= 0 && lambda <= 4095))
        return "from 0 to 4095, in steps of 1/16";
    options->search.lambda_q4 = (uint32_t)(16 * lambda + 0.5);
    return NULL;
}

static const char *set_qp(cli_options *options, const char *value)
{
    int64_t qp;
    if (!parse_int64(value, 0, 81, &qp))
        return "from 0 to 81 (51 at 8 bits)";
    options->search.lambda_q4 = mvf_lambda_q4((int32_t)qp);
    return NULL;
}

CHOICE_SETTER(set_partitions, search.partitions, "fixed, square or rect")
NUMBER_SETTER(set_partition_min, int32_t, search.partition_min, 4, 64, "4, 8, 16, 32 or 64")
CHOICE_SETTER(set_partition_output, search.partition_output, "tree or all")
NUMBER_SETTER(set_leaf_cost, uint32_t, search.leaf_cost, 0, INT32_MAX, "from 0 to 2147483647")
CHOICE_SETTER(set_merge, search.merge, "none, best or average")
CHOICE_SETTER(set_smooth, search.smooth, "none, median or path")
FLAG_SETTER(set_residual, residual)

static const char *set_reference(cli_options *options, const char *value)
{
    int index = 0;
    const char *right = choose(&index, value, "previous, next or both");
    options->reference = (reference_choice)(index + 1);
    return right;
}

NUMBER_SETTER(set_start, int64_t, first_frame, 0, INT64_MAX, "a frame number from 0 on")
NUMBER_SETTER(set_frames, int64_t, n_frames, 1, INT64_MAX, "a number of frames from 1 on")
NUMBER_SETTER(set_stream, int32_t, stream, 0, INT32_MAX,
              "the number of a video stream (mvfield info IN lists them)")

static const char *set_timeout(cli_options *options, const char *value)
{
    char *end;
    double seconds = strtod(value, &end);
    if (end == value || *end || !(seconds == 0 || (seconds >= 0.001 && seconds <= 1e6)))
        return "0 (wait for ever), or seconds from 0.001 to 1000000";
    options->timeout_ms = (int32_t)(1000 * seconds + 0.5);
    return NULL;
}

NUMBER_SETTER(set_max_pixels, int64_t, max_pixels, 1, INT64_C(1) << 30,
              "from 1 to 1073741824 (32768x32768)")
NUMBER_SETTER(set_threads, int32_t, search.threads, 0, 1024,
              "from 1 to 1024, or 0 for one a processor")

static const char *set_cpu_level(cli_options *options, const char *value)
{
    for (int level = MVF_CPU_C; level <= MVF_CPU_AVX512; level++)
        if (!strcmp(value, mvf_cpu_level_name((mvf_cpu_level)level))) {
            options->search.cpu_level = (mvf_cpu_level)level;
            return NULL;
        }
    return "c, sse2, ssse3, avx2 or avx512";
}

static const char *set_decoders(cli_options *options, const char *value)
{
    int64_t number = 0;
    if (strcmp(value, "auto") && !parse_int64(value, 1, 64, &number))
        return "auto, or from 1 to 64";
    options->n_decoders = (int32_t)number;
    return NULL;
}

static const char *set_verbose(cli_options *options, const char *value)
{
    (void)value;
    options->verbose = 1;
    message_set_level(MVF_LOG_DEBUG);
    return NULL;
}

CHOICE_SETTER(set_progress, progress, "auto, always or never")

static const char *set_quiet(cli_options *options, const char *value)
{
    (void)value;
    options->progress = PROGRESS_NEVER;
    message_set_level(MVF_LOG_ERROR);
    return NULL;
}

static const char *set_log_level(cli_options *options, const char *value)
{
    int index = 0;
    const char *right = choose(&index, value, "error, warning, info or debug");
    (void)options;
    if (!right)
        message_set_level((mvf_log_level)index);
    return right;
}

/* What a preset sets: options by name, which options on the command line then override. */
typedef struct preset {
    const char *name, *summary;
    struct {
        const char *option, *value;
    } settings[16];
} preset;

static const preset presets[] = {
    {"exact",
     "the default: whole samples, every vector in range",
     {{"method", "full"}, {"block", "16"}, {"range", "16"}, {"subpel", "none"}}},
    {"quick",
     "large motion fast: whole samples, from coarse to fine",
     {{"method", "hier"}, {"block", "16"}, {"range", "64"}, {"subpel", "none"}}},
    {"encoder",
     "what a video encoder starts from: squares of 64 to 8 px, quarter samples, a rate",
     {{"method", "full"},
      {"block", "64"},
      {"partitions", "square"},
      {"partition-min", "8"},
      {"range", "16"},
      {"qp", "26"},
      {"leaf-cost", "40"},
      {"subpel", "quarter"},
      {"filter", "h264"},
      {"refine-metric", "satd"}}},
    {"truemotion",
     "where things moved: 1/16 px, smooth, with confidence, for cells of 4x4 px or every pixel",
     {{"method", "truemotion"}, {"step", "4"}, {"effort", "high"}}},
};
#define N_PRESETS (sizeof presets / sizeof presets[0])

static const char *preset_name(size_t index)
{
    return index < N_PRESETS ? presets[index].name : NULL;
}

/* NULL if `value` is one of the names that `name_of` gives, from 0 on, until NULL; else `choices`,
 * of `size` bytes, which then lists them as choose() does. */
static const char *choose_name(const char *value, const char *(*name_of)(size_t index),
                               char *choices, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; name_of(i); i++)
        if (!strcmp(name_of(i), value))
            return NULL;
    for (size_t i = 0; name_of(i) && length < size; i++)
        length += (size_t)snprintf(choices + length, size - length, "%s%s",
                                   !i               ? ""
                                   : name_of(i + 1) ? ", "
                                                    : " or ",
                                   name_of(i));
    return choices;
}

/* Presets are applied before the other options, wherever they stand. */
static const char *set_preset(cli_options *options, const char *value)
{
    static char right[128];
    (void)options;
    return choose_name(value, preset_name, right, sizeof right);
}

static const char *set_format(cli_options *options, const char *value)
{
    static char right[128];
    options->format = value;
    return choose_name(value, mvf_sink_format, right, sizeof right);
}

FLAG_SETTER(set_list_presets, list_presets)

/* A row without a name is the heading of those after it. */
#define HEADING(title)             \
    {                              \
        NULL, NULL, 0, NULL, title \
    }

static const option_spec specs[] = {
    {"preset", "NAME", SEARCHES, set_preset,
     "exact, quick, encoder or truemotion; options given beside it win (mvfield info --presets) "
     "[exact]"},
    HEADING("Output"),
    {"output", "FILE", WRITES | COMMAND_MERGE, set_output, "the file to make; -o FILE is the same"},
    {"format", "NAME", COMMAND_EXTRACT, set_format,
     "csv, jsonl, npy, npz, flo, kitti, yuview, mvf, md5 or null [by FILE's extension]"},
    {"compress", "LEVEL", COMMAND_EXTRACT, set_compress, "deflate npz or mvf, 1 to 9 [0: not]"},
    {"overwrite", NULL, WRITES | COMMAND_BENCH | COMMAND_MERGE, set_overwrite,
     "replace FILE if it exists"},
    {"play", NULL, COMMAND_OVERLAY, draw_set_play, "show it by ffplay or mpv instead of -o"},
    {"codec", "NAME", DRAWS, draw_set_codec,
     "FFmpeg's name of a codec or encoder [by FILE's extension]"},
    {"quality", "N", DRAWS, draw_set_quality, "1 (smallest) to 100 (best) [good to look at]"},
    {"presets", NULL, COMMAND_INFO, set_list_presets, "list what each preset sets"},
    {"json", "FILE", COMMAND_BENCH, set_json_output,
     "save the figures as JSON, too; - prints them instead of the table"},
    {"json", NULL, COMMAND_COMPARE | COMMAND_STATS | COMMAND_INFO, set_json, "print JSON"},
    {"per-frame", NULL, COMMAND_COMPARE | COMMAND_STATS, set_per_frame, "print each frame, too"},
    {"fail-above", "PX", COMMAND_COMPARE, set_fail_above,
     "exit status 1 if the mean end-point error is larger"},
    HEADING("Input"),
    {"list", "FILE", COMMAND_EXTRACT, set_list,
     "extract the files that FILE (- for standard input) names, one a line, into the folder -o"},
    {"null", NULL, COMMAND_EXTRACT, set_null,
     "with --list: names end in NUL, as find -print0 writes them, not in a line break"},
    {"shard", "I/N", COMMAND_EXTRACT, set_shard,
     "only part I of N, from 0/N on, cut at key frames, into an mvf file that merge joins with the "
     "others; done already: nothing happens [all]"},
    {"video", "FILE", COMMAND_COMPARE, set_video,
     "the video of the vectors: also tells how well they predict it"},
    {"vectors", "SOURCE", WRITES | COMMAND_STATS, set_vectors,
     "search: found by block matching; codec: those that the video was coded with [search]"},
    {"frame", "N", COMMAND_OVERLAY, draw_set_frame, "only this frame, into exactly FILE"},
    {"start", "N", SEARCHES | COMMAND_BENCH, set_start, "first frame, counted from 0 [0]"},
    {"frames", "N", SEARCHES, set_frames, "number of frames [all]"},
    {"frames", "N", COMMAND_BENCH, set_frames, "number of frames, from 2 on [30]"},
    {"every", "N", SEARCHES, set_every, "one in N of the frames from the first on [1]"},
    {"stream", "N", LOOKS_AT_INPUT, set_stream, "stream number [the best video stream]"},
    {"max-pixels", "N", LOOKS_AT_INPUT, set_max_pixels,
     "refuse frames of more px, before memory is taken for them [134217728: 16384x8192]"},
    {"timeout", "SECONDS", LOOKS_AT_INPUT, set_timeout,
     "give an input up that gives nothing for so long; 0: never [30; 600 for pipes and devices]"},
    HEADING("Search"),
    {"method", "NAME", SEARCHES, set_method,
     "full: every vector in range, exactly; hier: from coarse to fine; refine: only near the "
     "codec's own vectors; truemotion: where things moved [full]"},
    {"method", "NAME", COMMAND_BENCH, set_bench_method, "only full or only hier [both]"},
    {"refine-range", "N", SEARCHES, set_refine_range,
     "with method refine: px round each of the codec's vectors, 0 to 16 [2]"},
    {"effort", "NAME", SEARCHES, set_effort, "of method truemotion: high or low [high]"},
    {"block", "W[xH]", SEARCHES | COMMAND_BENCH, set_block,
     "block size in px: 4, 8, 16, 32, 64 [16]"},
    {"step", "X[xY]", SEARCHES, set_step,
     "px between block origins [the block size]; of truemotion: 4, or 1 for every pixel [4]"},
    {"range", "X[xY]", SEARCHES, set_range, "largest motion in px, 0 to 256 [16]"},
    {"range", "X[xY]", COMMAND_BENCH, set_range,
     "largest motion in px, 0 to 256 [full: 16 and 32, hier: 64]"},
    {"edges", "RULE", SEARCHES, set_edges,
     "clamp: edge samples repeat outside the frame; inside: vectors stay in it [clamp]"},
    {"metric", "NAME", SEARCHES, set_metric,
     "what the search compares by: sad, ssd, satd or satd4 [sad]"},
    {"reference", "WHICH", SEARCHES, set_reference,
     "predict each frame from its previous, next or both frames [previous]"},
    {"merge", "HOW", SEARCHES, set_merge,
     "with both references: none, best (of the two) or average (where better) [none]"},
    {"smooth", "HOW", SEARCHES, set_smooth,
     "none; median: each block takes the vector median of the 3x3 blocks round it; path: it takes "
     "a "
     "vector of its surroundings where that costs little [none]"},
    {"residual", NULL, WRITES, set_residual,
     "leave what moves on its own: vectors less the motion of the whole frame (shift, turn, zoom)"},
    HEADING("Fractions of a pixel"),
    {"subpel", "STEP", SEARCHES, set_subpel, "refine vectors: none, half or quarter px [none]"},
    {"filter", "NAME", SEARCHES, set_filter,
     "how --subpel makes samples: h264, hevc or bilinear [h264]"},
    {"refine-metric", "NAME", SEARCHES, set_refine_metric,
     "what --subpel compares by: sad, ssd, satd or satd4 [sad]"},
    HEADING("Rate and partitions"),
    {"lambda", "N", SEARCHES, set_lambda,
     "what a bit of a vector costs, in units of the metric [0: vectors are free]"},
    {"qp", "N", SEARCHES, set_qp, "lambda by x264's rule for this QP, instead of --lambda"},
    {"partitions", "SHAPES", SEARCHES, set_partitions,
     "fixed: the grid; square: split blocks by four; rect: and into halves [fixed]"},
    {"partition-min", "SIZE", SEARCHES, set_partition_min,
     "smallest partition in px, from 4 to the block size [8]"},
    {"partition-output", "WHICH", SEARCHES, set_partition_output,
     "tree: the cheapest cut of each block; all: every partition [tree]"},
    {"leaf-cost", "N", SEARCHES, set_leaf_cost,
     "what a block of the tree costs besides its metric and its vector's bits [0]"},
    HEADING("Drawing"),
    {"draw", "MODES", DRAWS, draw_set_modes,
     "arrows, wheel, cost, grid, partitions, difference; several with commas; or none, which "
     "searches nothing [arrows]"},
    {"against", "WHAT", DRAWS, draw_set_against,
     "what difference compares with: an mvf file, codec or search"},
    {"scale", "N", DRAWS, draw_set_scale, "arrows N times as long as the motion [1]"},
    {"max-motion", "PX", DRAWS, draw_set_max_motion,
     "motion at the wheel's rim, one for the clip; measure: the clip's largest [the range; 32 with "
     "--vectors codec]"},
    {"max-cost", "N", DRAWS, draw_set_max_cost, "cost per px, at 8 bits, that is brightest [16]"},
    {"opacity", "N", DRAWS, draw_set_opacity,
     "of wheel, cost and difference, 0 to 1 [0.6; 1 on a plain ground]"},
    {"layout", "NAME", DRAWS, draw_set_layout,
     "over: on the picture; side: beside the source [over]"},
    {"ground", "NAME", DRAWS, draw_set_ground, "draw on the video, on black or on gray [video]"},
    {"legend", NULL, DRAWS, draw_set_legend, "show what colours and lengths mean"},
    {"caption", NULL, DRAWS, draw_set_caption, "show frame number, time and type"},
    HEADING("Machine"),
    {"backend", "NAME", SEARCHES | COMMAND_BENCH, set_backend,
     "auto, cpu or cuda [auto: a GPU if there is one]"},
    {"hwaccel", "NAME", SEARCHES, set_hwaccel,
     "what decodes: auto, none (the processor) or cuda (NVDEC, into the GPU's memory) [auto: cuda "
     "where the search runs there and all decoders agree]"},
    {"device", "N", (SEARCHES & ~BY_WORKERS) | COMMAND_BENCH, set_device,
     "the CUDA device to use [0]"},
    {"device", "N[,N...]", BY_WORKERS, set_devices,
     "the CUDA device to use, or several that share the work, or all [0; with --list all]"},
    {"jobs", "N", COMMAND_EXTRACT, set_jobs,
     "with --list: files at a time, 1 to 1024 [two a GPU, or one a processor]"},
    {"threads", "N", SEARCHES, set_threads, "CPU threads [one a processor]"},
    {"threads", "N", COMMAND_BENCH, set_threads,
     "CPU threads to measure beside one thread [one a processor]"},
    {"decoders", "N", BY_WORKERS, set_decoders,
     "decoders that read the file at once, each its own part between key frames, 1 to 64; auto: as "
     "suits the file and the machine [auto]"},
    {"cpu-level", "NAME", SEARCHES | COMMAND_BENCH, set_cpu_level,
     "highest instruction set to use: c, sse2, ssse3, avx2, avx512 [the best]"},
    HEADING("Messages"),
    {"progress", "WHEN", SEARCHES | COMMAND_BENCH, set_progress,
     "auto, always or never [auto: on a terminal]"},
    {"verbose", NULL, BY_WORKERS, set_verbose,
     "say at the end where the time went: decoding, transfer, search, writing"},
    {"quiet", NULL, SPEAKS, set_quiet, "say nothing but errors"},
    {"log-level", "LEVEL", SPEAKS, set_log_level, "error, warning, info or debug [info]"},
};
#define N_SPECS ((int)(sizeof specs / sizeof specs[0]))
static_assert(sizeof specs / sizeof specs[0] <= MAX_OPTIONS,
              "cli_options.given has a place for each");

int options_next(cli_command command, int index, option_text *text)
{
    cli_options scratch = {.argc = 0};
    const char *heading = NULL;
    if (index < 0)
        text->heading = NULL;
    for (int i = index + 1; i < N_SPECS; i++) {
        if (!specs[i].name)
            heading = specs[i].help;
        if (!(specs[i].commands & command))
            continue;
        *text = (option_text){.heading = heading ? heading : text->heading,
                              .name = specs[i].name,
                              .value = specs[i].value,
                              .help = specs[i].help,
                              .values = specs[i].value ? specs[i].set(&scratch, "?") : NULL};
        return i;
    }
    return -1;
}

static int is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return 1;
    return 0;
}

/* The option of that name which the commands have, or -1. */
static int find_option(const char *name, size_t length, unsigned commands)
{
    for (int i = 0; i < N_SPECS; i++)
        if (specs[i].commands & commands && strlen(specs[i].name) == length &&
            !strncmp(specs[i].name, name, length))
            return i;
    return -1;
}

int options_was_given(const cli_options *options, const char *name)
{
    for (int i = 0; i < N_SPECS; i++)
        if (options->given[i] && !strcmp(specs[i].name, name))
            return 1;
    return 0;
}

static parse_result usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

static parse_result usage_error(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    message_print(MVF_LOG_ERROR, "%s", line);
    return PARSE_ERROR;
}

int options_describe(const cli_options *options, char *text, size_t size)
{
    /* These say where to, and how fast. */
    static const char *const idle[] = {
        "output", "format",  "overwrite", "shard",   "backend",   "hwaccel",
        "device", "threads", "cpu-level", "quiet",   "log-level", "progress",
        "jobs",   "timeout", "decoders",  "verbose", NULL};
    int length = snprintf(text, size, "mvfield %s", mvf_version());
    for (int i = 0; i < N_SPECS; i++)
        if (options->given[i] && !is_one_of(specs[i].name, idle)) {
            size_t used = (size_t)length < size ? (size_t)length : size;
            length += snprintf(text + used, size - used, " --%s%s%s", specs[i].name,
                               options->values[i] ? " " : "",
                               options->values[i] ? options->values[i] : "");
        }
    return length;
}

void options_print_presets(void)
{
    for (size_t i = 0; i < N_PRESETS; i++) {
        printf("%-9s %s\n         ", presets[i].name, presets[i].summary);
        for (int k = 0; k < 16 && presets[i].settings[k].option; k++)
            printf(" --%s %s", presets[i].settings[k].option, presets[i].settings[k].value);
        printf("\n");
    }
}

static void apply_preset(cli_options *options, const char *name)
{
    for (size_t i = 0; i < N_PRESETS; i++)
        for (int k = 0; k < 16 && presets[i].settings[k].option; k++)
            if (!strcmp(presets[i].name, name)) {
                const char *option = presets[i].settings[k].option;
                int found = find_option(option, strlen(option), SEARCHES);
                specs[found].set(options, presets[i].settings[k].value);
            }
}

/* Applies the last preset on the command line. */
static void apply_presets(cli_options *options, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strncmp(argv[i], "--preset=", 9))
            apply_preset(options, argv[i] + 9);
        else if (!strcmp(argv[i], "--preset") && i + 1 < argc)
            apply_preset(options, argv[i + 1]);
    }
}

/* Parses the option at argv[*index] and moves on to its last word. */
static parse_result parse_option(cli_options *options, cli_command command, int argc, char **argv,
                                 int *index)
{
    const char *word = argv[*index];
    const char *name = !strcmp(word, "-o") ? "output" : word + 2;
    const char *equals = strchr(name, '=');
    int found = find_option(name, equals ? (size_t)(equals - name) : strlen(name), command);
    if (strcmp(word, "-o") && strncmp(word, "--", 2))
        found = -1;
    if (found < 0)
        return usage_error("%s: there is no such option (mvfield %s --help lists them)", word,
                           command_name(command));
    const char *value = equals ? equals + 1 : NULL;
    if (!specs[found].value && value)
        return usage_error("--%s takes no value", specs[found].name);
    if (specs[found].value && !value) {
        if (++*index >= argc)
            return usage_error("--%s needs a value: %s", specs[found].name, specs[found].help);
        value = argv[*index];
    }
    const char *right = specs[found].set(options, value);
    if (right)
        return usage_error("--%s %s: must be %s", specs[found].name, value, right);
    options->given[found] = 1;
    options->values[found] = value;
    return PARSE_RUN;
}

/* Options for encoders that would do nothing. */
static parse_result check_encoder_options(const cli_options *options)
{
    static const char *const needs_subpel[] = {"filter", "refine-metric"};
    static const char *const needs_partitions[] = {"partition-min", "partition-output",
                                                   "leaf-cost"};
    for (int i = 0; i < 2; i++)
        if (options->search.subpel == MVF_SUBPEL_NONE &&
            options_was_given(options, needs_subpel[i]))
            return usage_error("--%s has no effect without --subpel half or quarter",
                               needs_subpel[i]);
    for (int i = 0; i < 3; i++)
        if (options->search.partitions == MVF_PARTITIONS_FIXED &&
            options_was_given(options, needs_partitions[i]))
            return usage_error("--%s has no effect without --partitions square or rect",
                               needs_partitions[i]);
    if (options->search.method != MVF_METHOD_REFINE && options_was_given(options, "refine-range"))
        return usage_error("--refine-range has no effect without --method refine");
    if (options->search.partition_output == MVF_PARTITION_ALL &&
        options_was_given(options, "leaf-cost"))
        return usage_error("--leaf-cost has no effect with --partition-output all");
    if (options->reference != REFERENCE_BOTH && options_was_given(options, "merge"))
        return usage_error("--merge has no effect without --reference both");
    if (options_was_given(options, "lambda") && options_was_given(options, "qp"))
        return usage_error("--lambda and --qp both set lambda: give one of them");
    return PARSE_RUN;
}

const char *options_find_idle(const cli_options *options, idle_case which)
{
    static const char *const others[] = {
        "json",     "per-frame", "fail-above", "video",   "output", "format",
        "compress", "overwrite", "start",      "frames",  "every",  "progress",
        "quiet",    "log-level", "residual",   "verbose", NULL};
    static const char *const of_video[] = {"vectors",    "stream",   "threads", "timeout",
                                           "max-pixels", "shard",    "list",    "null",
                                           "jobs",       "decoders", NULL};
    for (int i = 0; i < N_SPECS; i++)
        if (options->given[i] && specs[i].commands & ~DRAWS && !is_one_of(specs[i].name, others) &&
            (which == IDLE_WITH_MVF || !is_one_of(specs[i].name, of_video)))
            return specs[i].name;
    return NULL;
}

static parse_result check_truemotion_options(const cli_options *options)
{
    static const char *const others[] = {
        "block",  "range", "edges", "subpel",    "filter",     "refine-metric", "metric",
        "lambda", "qp",    "merge", "leaf-cost", "partitions", "partition-min", "partition-output",
        "smooth"};
    if (options->search.method != MVF_METHOD_TRUEMOTION)
        return options_was_given(options, "effort")
                   ? usage_error("--effort has no effect without --method truemotion")
                   : PARSE_RUN;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (options_was_given(options, others[i]))
            return usage_error("--%s has no effect with --method truemotion", others[i]);
    return PARSE_RUN;
}

int options_want_codec_vectors(const cli_options *options)
{
    return options->vectors == VECTORS_CODEC || options->search.method == MVF_METHOD_REFINE ||
           (options->against && !strcmp(options->against, "codec"));
}

/* Options that would do nothing. */
static parse_result check_combination(const cli_options *options)
{
    int searches = options->vectors == VECTORS_SEARCH ||
                   (options->against && !strcmp(options->against, "search"));
    const char *idle = searches ? NULL : options_find_idle(options, IDLE_WITH_CODEC);
    if (idle)
        return usage_error("--%s has no effect with --vectors codec", idle);
    if (options->search.backend == MVF_BACKEND_CPU && options->hwaccel != MVF_HWACCEL_CUDA &&
        options_was_given(options, "device"))
        return usage_error("--device has no effect with --backend cpu");
    if (options->hwaccel == MVF_HWACCEL_CUDA && options_want_codec_vectors(options))
        return usage_error("--hwaccel cuda: gives no codec vectors, which are wanted here: auto or "
                           "none decodes in software");
    if (options->search.backend == MVF_BACKEND_CUDA && options_was_given(options, "cpu-level"))
        return usage_error("--cpu-level has no effect with --backend cuda");
    parse_result result = check_truemotion_options(options);
    if (result == PARSE_RUN)
        result = check_encoder_options(options);
    if (result != PARSE_RUN)
        return result;
    if (mvf_options_check(&options->search) != MVF_OK)
        return PARSE_ERROR;
    return PARSE_RUN;
}

static parse_result check_bench(const cli_options *options)
{
    static const char *const of_input[] = {"start", "stream", "timeout", "max-pixels"};
    for (int i = 0; i < 4; i++)
        if (!options->input && options_was_given(options, of_input[i]))
            return usage_error("--%s has no effect without an input", of_input[i]);
    if (options->search.backend == MVF_BACKEND_CUDA && options_was_given(options, "threads"))
        return usage_error("--threads has no effect with --backend cuda");
    if (options->n_frames < 2)
        return usage_error("--frames 1: must be a number of frames from 2 on");
    if (options->overwrite && (!options->json_output || !strcmp(options->json_output, "-")))
        return usage_error("--overwrite has no effect without --json FILE");
    return check_combination(options);
}

static parse_result check_list(const cli_options *options)
{
    static const char *const of_list[] = {"null", "jobs"};
    const char *format = options->format ? options->format : "mvf";
    for (int i = 0; i < 2; i++)
        if (!options->list && options_was_given(options, of_list[i]))
            return usage_error("--%s has no effect without --list", of_list[i]);
    if (!options->list)
        return PARSE_RUN;
    if (options->input)
        return usage_error("%s: no input is taken beside --list", options->input);
    if (options->shard_count)
        return usage_error("--shard does not go with --list: cut each file in a run of its own");
    size_t known = 0;
    while (mvf_sink_format(known) && strcmp(mvf_sink_format(known), format))
        known++;
    if (!mvf_sink_format(known))
        return usage_error("--format %s: there is no such format (mvfield extract --help)", format);
    if (!strcmp(format, "flo") || !strcmp(format, "kitti"))
        return usage_error("--list needs a format of one file an input; %s makes one a field",
                           format);
    if (!strcmp(format, "null") && options->output)
        return usage_error("--output has no effect with --list and --format null");
    if (options->output && !strcmp(options->output, "-"))
        return usage_error("--list needs a folder: give -o DIR");
    return PARSE_RUN;
}

static parse_result check_operands(const cli_options *options, cli_command command)
{
    if (command == COMMAND_COMPLETION && !options->input)
        return usage_error("completion: no shell: give bash or zsh");
    if (command == COMMAND_INFO || command == COMMAND_COMPLETION)
        return PARSE_RUN;
    if (command == COMMAND_BENCH)
        return check_bench(options);
    if (command == COMMAND_EXTRACT && check_list(options) != PARSE_RUN)
        return PARSE_ERROR;
    if (!options->input && !options->list)
        return usage_error("%s: no input: give a file, or - for standard input",
                           command_name(command));
    if (command == COMMAND_COMPARE && !options->second_input)
        return usage_error("compare: one more is needed to compare %s with", options->input);
    if (command == COMMAND_COMPARE || command == COMMAND_STATS)
        return check_combination(options);
    if (command == COMMAND_MERGE)
        return options->output ? PARSE_RUN : usage_error("merge: no output: give -o FILE");
    int discards = options->format && !strcmp(options->format, "null");
    if (!options->output && !discards)
        return usage_error("%s: no output: give -o FILE", command_name(command));
    const char *wrong = draw_check(options, options_was_given);
    if (wrong)
        return usage_error("%s", wrong);
    return check_combination(options);
}

parse_result options_parse(cli_options *options, cli_command command, int argc, char **argv)
{
    int operands_only = 0;
    *options = (cli_options){.reference = REFERENCE_PREVIOUS,
                             .n_frames = INT64_MAX,
                             .every = 1,
                             .fail_above = -1,
                             .argc = argc,
                             .argv = argv,
                             .compression = -1,
                             .stream = -1,
                             .timeout_ms = -1,
                             .max_pixels = INT64_C(1) << 27,
                             .hwaccel = command & SEARCHES ? MVF_HWACCEL_AUTO : MVF_HWACCEL_NONE,
                             .looks_at_frames = !(command & (COMMAND_EXTRACT | COMMAND_STATS))};
    if (command == COMMAND_BENCH)
        options->n_frames = 30;
    options->inputs = (const char **)(uintptr_t)argv;
    mvf_overlay_options_init(&options->overlay);
    options->overlay.max_motion_px = 0;
    mvf_options_init(&options->search);
    options->search.logger = message_logger();
    apply_presets(options, argc, argv);
    for (int i = 0; i < argc; i++) {
        if (!operands_only && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            help_print(command);
            return PARSE_HELP;
        }
        if (!operands_only && !strcmp(argv[i], "--")) {
            operands_only = 1;
        } else if (!operands_only && argv[i][0] == '-' && argv[i][1]) {
            parse_result result = parse_option(options, command, argc, argv, &i);
            if (result != PARSE_RUN)
                return result;
        } else if (command == COMMAND_MERGE) {
            /* The operands gather at the front of the list that they come from. */
            argv[options->n_inputs++] = argv[i];
            options->input = argv[0];
        } else if (options->input && command == COMMAND_COMPARE && !options->second_input) {
            options->second_input = argv[i];
        } else if (options->input) {
            return usage_error("%s: only one input is taken, and %s is given already%s", argv[i],
                               options->input,
                               command & WRITES ? "; what to make goes after -o" : "");
        } else {
            options->input = argv[i];
        }
    }
    return check_operands(options, command);
}
