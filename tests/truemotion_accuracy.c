/*
 * truemotion_accuracy - true motion against measured ground truth, and the errors pinned.
 *
 *     truemotion_accuracy [FOLDER]
 *
 * FOLDER holds the image pairs and their flow files; without one it is flow/ in $MVF_MEDIA, or in
 * ../shared/media beside the sources. Exits with 77 where it is absent. Prints the mean end-point
 * errors in px over the pixels whose motion is known, and fails where one has moved from what is
 * written here or where a mean of the six Middlebury pairs has passed its limit. Then the same for
 * smoothed fields of blocks, and for both under noise.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mvfield/flow.h>
#include <mvfield/search.h>
#include <mvfield/video.h>

#define N_MIDDLEBURY 6
#define N_SETTINGS 4
/* In px; versions of swscale make a gray image differently in the last bit. */
#define TOLERANCE 0.004

static const struct {
    const char *name;
    mvf_effort effort;
    int32_t step;
    /* Of the mean over the Middlebury pairs, in px. */
    double limit;
} settings[N_SETTINGS] = {
    {"high, every px", MVF_EFFORT_HIGH, 1, 0.200},
    {"high, 4x4 px", MVF_EFFORT_HIGH, 4, 0.225},
    {"low, every px", MVF_EFFORT_LOW, 1, 0.230},
    {"low, 4x4 px", MVF_EFFORT_LOW, 4, 0.230},
};

static const struct {
    const char *first, *second, *truth;
    /* With each of the settings, in px. */
    double pinned[N_SETTINGS];
} pairs[] = {
    {"dimetrodon-10.png",
     "dimetrodon-11.png",
     "dimetrodon-10.flo",
     {0.0964, 0.0986, 0.0995, 0.1003}},
    {"grove2-10.png", "grove2-11.png", "grove2-10.flo", {0.1354, 0.1454, 0.1403, 0.1489}},
    {"rubberwhale-10.png",
     "rubberwhale-11.png",
     "rubberwhale-10.flo",
     {0.0932, 0.1028, 0.1070, 0.1111}},
    {"urban2-10.png", "urban2-11.png", "urban2-10.flo", {0.2889, 0.3150, 0.3091, 0.3238}},
    {"urban3-10.png", "urban3-11.png", "urban3-10.flo", {0.3495, 0.3792, 0.3693, 0.3939}},
    {"venus-10.png", "venus-11.png", "venus-10.flo", {0.2118, 0.2271, 0.2123, 0.2287}},
    {"yosemite-09.png", "yosemite-10.png", "yosemite-09.flo", {0.5886, 0.5870, 0.5199, 0.5227}},
    {"kitti-000010-10.png",
     "kitti-000010-11.png",
     "kitti-000010-occ.png",
     {3.4146, 3.4450, 3.4169, 3.4333}},
};
#define N_PAIRS ((int)(sizeof pairs / sizeof pairs[0]))

/* What smooths fields of blocks, and true motion beside it. */
enum { PLAIN, MEDIAN, PATH, TRUE_MOTION, N_WAYS };
static const char *const ways[N_WAYS] = {"none", "median", "path", "true motion"};

/* Means over the Middlebury pairs with noise of that deviation in both images, in px. */
static const struct {
    int32_t block, sigma;
    double pinned[N_WAYS];
} noisy[] = {
    {8, 0, {1.989, 0.741, 0.449, 0.211}},
    {8, 8, {9.939, 4.405, 0.818, 0.606}},
    {8, 16, {13.033, 6.676, 1.985, 0.966}},
    {16, 8, {5.695, 2.161, 0.771, 0.606}},
};
#define N_NOISY ((int)(sizeof noisy / sizeof noisy[0]))

static char folder[4096];

static const char *path_of(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void find_folder(int argc, char **argv)
{
    const char *media = getenv("MVF_MEDIA"), *sources = getenv("top_srcdir");
    if (argc > 1)
        snprintf(folder, sizeof folder, "%s", argv[1]);
    else if (media && *media)
        snprintf(folder, sizeof folder, "%s/flow", media);
    else
        snprintf(folder, sizeof folder, "%s/../shared/media/flow", sources ? sources : ".");
    FILE *file = fopen(path_of(pairs[0].truth), "rb");
    if (!file) {
        printf("skipped: no %s in %s\n", pairs[0].truth, folder);
        exit(77);
    }
    fclose(file);
}

static void print_message(void *opaque, mvf_log_level level, const char *message)
{
    (void)opaque;
    if (level == MVF_LOG_ERROR)
        fprintf(stderr, "truemotion_accuracy: %s\n", message);
}

static const mvf_logger logger = {print_message, NULL};

static void must(mvf_status status, const char *what)
{
    if (status == MVF_OK)
        return;
    fprintf(stderr, "truemotion_accuracy: %s: %s\n", what, mvf_status_string(status));
    exit(1);
}

/* An image's luma; the frame owns the samples. */
typedef struct image {
    mvf_frame *frame;
    mvf_picture picture;
    int32_t width, height, bit_depth;
} image;

static image read_image(const char *name)
{
    mvf_source_options options;
    mvf_source *source;
    image made;
    mvf_source_options_init(&options);
    options.logger = logger;
    must(mvf_source_open(&source, path_of(name), &options), name);
    must(mvf_source_read(source, &made.frame), name);
    must(mvf_frame_get_picture(made.frame, &made.picture, &made.width, &made.height,
                               &made.bit_depth),
         name);
    mvf_source_close(&source);
    return made;
}

static mvf_options true_motion(mvf_effort effort, int32_t step)
{
    mvf_options options;
    mvf_options_init(&options);
    options.method = MVF_METHOD_TRUEMOTION;
    options.effort = effort;
    options.step_x = options.step_y = step;
    return options;
}

static mvf_field *search(image *first, image *second, mvf_options options)
{
    mvf_field *field;
    options.logger = logger;
    options.backend = MVF_BACKEND_CPU;
    /* Two images: the second is the frame after. */
    first->picture.frame = 0;
    second->picture.frame = 1;
    must(mvf_search(&options, first->width, first->height, first->bit_depth, &first->picture,
                    &second->picture, &field),
         "search");
    return field;
}

static double mean_error(const mvf_field *field, const mvf_flow *truth)
{
    size_t n_pixels = (size_t)truth->width * (size_t)truth->height, n = 0;
    float *found = malloc(2 * n_pixels * sizeof *found);
    double sum = 0;
    if (!found || field->width != truth->width || field->height != truth->height)
        must(MVF_ERROR_DATA, "the flow does not fit the images");
    mvf_field_fill_flow(field, found);
    for (size_t i = 0; i < n_pixels; i++) {
        const float *known = truth->vectors + 2 * i;
        if (!(fabsf(known[0]) < MVF_FLOW_LIMIT && fabsf(known[1]) < MVF_FLOW_LIMIT))
            continue;
        sum += hypot((double)(found[2 * i] - known[0]), (double)(found[2 * i + 1] - known[1]));
        n++;
    }
    free(found);
    return sum / (double)n;
}

static void measure_pair(int pair, double errors[N_SETTINGS])
{
    mvf_flow *truth;
    image first = read_image(pairs[pair].first), second = read_image(pairs[pair].second);
    must(mvf_flow_read(&truth, path_of(pairs[pair].truth), &logger), pairs[pair].truth);
    for (int i = 0; i < N_SETTINGS; i++) {
        mvf_field *field =
            search(&first, &second, true_motion(settings[i].effort, settings[i].step));
        errors[i] = mean_error(field, truth);
        mvf_field_free(&field);
    }
    mvf_flow_free(&truth);
    mvf_frame_free(&first.frame);
    mvf_frame_free(&second.frame);
}

static void print_row(const char *name, const double errors[N_SETTINGS])
{
    printf("%-22s", name);
    for (int i = 0; i < N_SETTINGS; i++)
        printf(" %14.4f", errors[i]);
    printf("\n");
}

/* Blocks. */

/* A copy of the image's samples with noise of about that deviation: sums of twelve numbers. */
static uint8_t *add_noise(image *from, int32_t sigma, uint32_t seed)
{
    size_t width = (size_t)from->width;
    uint8_t *samples = malloc(width * (size_t)from->height), *to = samples;
    if (!samples)
        must(MVF_ERROR_MEMORY, "noise");
    for (int32_t y = 0; y < from->height; y++)
        for (int32_t x = 0; x < from->width; x++) {
            const uint8_t *row =
                (const uint8_t *)from->picture.data + y * from->picture.stride_bytes;
            int32_t sum = -12 * 32768;
            for (int i = 0; i < 12; i++) {
                seed = seed * 1664525u + 1013904223u;
                sum += (int32_t)(seed >> 16);
            }
            int32_t value = (row[x] * 65536 + sigma * sum + 32768) / 65536;
            *to++ = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    from->picture.data = samples;
    from->picture.stride_bytes = from->width;
    return samples;
}

/* The mean distance between blocks side by side, in px. */
static double roughness(const mvf_field *field)
{
    int64_t sum = 0, n = 0;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        if (!b->x)
            continue;
        sum += abs(b->mv_x - b[-1].mv_x) + abs(b->mv_y - b[-1].mv_y);
        n++;
    }
    return (double)sum / (double)(n * field->mv_scale);
}

static mvf_options blocks(int32_t size, int way)
{
    mvf_options options;
    if (way == TRUE_MOTION)
        return true_motion(MVF_EFFORT_HIGH, 4);
    mvf_options_init(&options);
    options.block_w = options.block_h = size;
    options.range_x = options.range_y = 24;
    options.subpel = MVF_SUBPEL_QUARTER;
    options.smooth = way == PATH     ? MVF_SMOOTH_PATH
                     : way == MEDIAN ? MVF_SMOOTH_MEDIAN
                                     : MVF_SMOOTH_NONE;
    return options;
}

/* Adds a pair's errors and roughness; without noise, paths must be truer than no smoothing. */
static int measure_noisy(int pair, int32_t size, int32_t sigma, double errors[N_WAYS],
                         double rough[N_WAYS])
{
    mvf_flow *truth;
    double found[N_WAYS];
    image first = read_image(pairs[pair].first), second = read_image(pairs[pair].second);
    uint8_t *a = add_noise(&first, sigma, 2 * (uint32_t)pair + 1);
    uint8_t *b = add_noise(&second, sigma, 2 * (uint32_t)pair + 2);
    must(mvf_flow_read(&truth, path_of(pairs[pair].truth), &logger), pairs[pair].truth);
    for (int way = 0; way < N_WAYS; way++) {
        mvf_field *field = search(&first, &second, blocks(size, way));
        found[way] = mean_error(field, truth);
        errors[way] += found[way] / N_MIDDLEBURY;
        rough[way] += roughness(field) / N_MIDDLEBURY;
        mvf_field_free(&field);
    }
    mvf_flow_free(&truth);
    mvf_frame_free(&first.frame);
    mvf_frame_free(&second.frame);
    free(a);
    free(b);
    return found[PATH] > found[PLAIN];
}

static int check_noisy(int row)
{
    double errors[N_WAYS] = {0}, rough[N_WAYS] = {0};
    int n_failed = 0;
    for (int pair = 0; pair < N_MIDDLEBURY; pair++)
        n_failed += measure_noisy(pair, noisy[row].block, noisy[row].sigma, errors, rough);
    printf("blocks %2d, noise %2d    ", noisy[row].block, noisy[row].sigma);
    for (int way = 0; way < N_WAYS; way++) {
        printf("   %6.3f (%6.2f)", errors[way], rough[way]);
        n_failed += fabs(errors[way] - noisy[row].pinned[way]) > 0.02 * noisy[row].pinned[way];
    }
    printf("\n");
    return n_failed + (rough[PATH] > rough[PLAIN] / 2);
}

/* Of the six pairs: errors and, in brackets, how far vectors side by side are apart. */
static int check_blocks(void)
{
    int n_failed = 0;
    printf("%-22s", "mean error (roughness)");
    for (int way = 0; way < N_WAYS; way++)
        printf("   %15s", ways[way]);
    printf("\n");
    for (int row = 0; row < N_NOISY; row++)
        n_failed += check_noisy(row);
    return n_failed;
}

int main(int argc, char **argv)
{
    double means[N_SETTINGS] = {0};
    int n_failed = 0;
    find_folder(argc, argv);
    printf("%-22s", "mean error, px");
    for (int i = 0; i < N_SETTINGS; i++)
        printf(" %14s", settings[i].name);
    printf("\n");
    for (int pair = 0; pair < N_PAIRS; pair++) {
        double errors[N_SETTINGS];
        measure_pair(pair, errors);
        print_row(pairs[pair].first, errors);
        for (int i = 0; i < N_SETTINGS; i++) {
            n_failed += fabs(errors[i] - pairs[pair].pinned[i]) > TOLERANCE;
            means[i] += pair < N_MIDDLEBURY ? errors[i] / N_MIDDLEBURY : 0;
        }
    }
    print_row("mean of the first six", means);
    for (int i = 0; i < N_SETTINGS; i++)
        n_failed += means[i] > settings[i].limit;
    n_failed += check_blocks();
    printf("%d errors are not what they were, or past their limit\n", n_failed);
    return n_failed ? 1 : 0;
}
