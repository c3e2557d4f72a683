/*
 * fuzz_search.c - sizes, strides, blocks, steps, ranges, edge rules and all that goes with a
 * search: every CPU level must find what plain C finds, and that must be the best there is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include <mvfield/mvfield.h>

#include "fuzz.h"

#define MAX_SIDE 100
/* Samples times candidates of one search, so that a run stays short. */
#define MAX_WORK 400000
/* Samples of an image for true motion, which takes longer. */
#define MAX_TRUEMOTION_AREA 1600

typedef struct image {
    uint8_t *memory;
    mvf_picture picture;
} image;

typedef struct trial {
    int32_t width, height, bit_depth, n_references;
    mvf_options options;
    image images[3];
} trial;

static int32_t choose(fuzz_bytes *bytes, const int32_t *values, int n)
{
    return values[fuzz_take(bytes) % n];
}

static void take_options(trial *t, fuzz_bytes *bytes)
{
    static const int32_t blocks[] = {16, 8, 4, 32, 64}, depths[] = {8, 8, 10, 12, 16};
    mvf_options *o = &t->options;
    mvf_options_init(o);
    o->backend = MVF_BACKEND_CPU;
    o->method = (mvf_method)(fuzz_take(bytes) % 4);
    t->width = fuzz_number(bytes, 1, MAX_SIDE);
    t->height = fuzz_number(bytes, 1, MAX_SIDE);
    t->bit_depth = choose(bytes, depths, 5);
    t->n_references = fuzz_number(bytes, 1, 2);
    o->block_w = choose(bytes, blocks, 5);
    o->block_h = choose(bytes, blocks, 5);
    o->step_x = fuzz_number(bytes, 0, o->block_w);
    o->step_y = fuzz_number(bytes, 0, o->block_h);
    o->range_x = fuzz_number(bytes, 0, 40);
    o->range_y = fuzz_number(bytes, 0, 40);
    uint8_t choices = fuzz_take(bytes);
    o->edges = (mvf_edges)(choices & 1);
    o->subpel = (mvf_subpel)(choices >> 1 & 3);
    o->interpolation = (mvf_interpolation)(choices >> 3 & 3);
    o->metric = (mvf_metric)(choices >> 5 & 3);
    choices = fuzz_take(bytes);
    o->refine_metric = (mvf_metric)(choices & 3);
    o->partitions = (mvf_partitions)(choices >> 2 & 3);
    o->partition_output = (mvf_partition_output)(choices >> 4 & 1);
    o->merge = (mvf_merge)(choices >> 5 & 3);
    choices = fuzz_take(bytes);
    o->smooth = (mvf_smooth)(choices & 3);
    o->effort = (mvf_effort)(choices >> 2 & 1);
    o->partition_min = 4 << (choices >> 3 & 3);
    o->lambda_q4 = choices & 32 ? fuzz_take(bytes) * 16u : 0;
    o->leaf_cost = choices & 64 ? fuzz_take(bytes) : 0;
    o->refine_range = fuzz_number(bytes, 0, 6);
}

/* Rows in memory that ends with the last sample. */
static void take_image(trial *t, image *img, fuzz_bytes *bytes, uint8_t shift)
{
    int32_t sample_bytes = t->bit_depth > 8 ? 2 : 1, row_bytes = t->width * sample_bytes;
    int32_t stride = row_bytes + fuzz_number(bytes, 0, 40) * sample_bytes;
    int upwards = fuzz_take(bytes) & 1;
    size_t size = (size_t)stride * (size_t)(t->height - 1) + (size_t)row_bytes;
    uint32_t state = fuzz_take(bytes), kind = fuzz_take(bytes) % 4;
    img->memory = malloc(size);
    FUZZ_EXPECT(img->memory);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        size_t x = i % (size_t)stride, y = i / (size_t)stride;
        uint8_t stripes = (uint8_t)((x + shift) / 3 * 40 ^ (y + shift) / 5 * 24);
        img->memory[i] = kind == 0   ? stripes
                         : kind == 1 ? (uint8_t)(state >> 24)
                         : kind == 2 ? (uint8_t)(state >> 31 ? 255 : 0)
                                     : fuzz_take(bytes);
    }
    for (size_t i = 0; sample_bytes == 2 && i + 1 < size; i += 2) {
        uint16_t sample;
        memcpy(&sample, img->memory + i, 2);
        sample &= (uint16_t)((1 << t->bit_depth) - 1);
        memcpy(img->memory + i, &sample, 2);
    }
    mvf_picture_init(&img->picture);
    img->picture.data =
        upwards ? img->memory + (size_t)stride * (size_t)(t->height - 1) : img->memory;
    img->picture.stride_bytes = upwards ? -stride : stride;
    img->picture.frame = shift;
}

static mvf_status search(const trial *t, mvf_cpu_level level, int32_t threads, mvf_field **field)
{
    mvf_options options = t->options;
    mvf_searcher *s;
    mvf_picture references[2] = {t->images[1].picture, t->images[2].picture};
    options.cpu_level = level;
    options.threads = threads;
    *field = NULL;
    mvf_status status = mvf_searcher_open(&s, &options, t->width, t->height, t->bit_depth);
    if (status != MVF_OK)
        return status;
    status =
        mvf_searcher_submit(s, &t->images[0].picture, references, (size_t)t->n_references, NULL);
    mvf_searcher_flush(s);
    if (status == MVF_OK)
        status = mvf_searcher_receive(s, field);
    mvf_searcher_close(&s);
    return status;
}

static uint32_t sample(const trial *t, const image *img, int32_t x, int32_t y)
{
    x = x < 0 ? 0 : x >= t->width ? t->width - 1 : x;
    y = y < 0 ? 0 : y >= t->height ? t->height - 1 : y;
    const uint8_t *row = (const uint8_t *)img->picture.data + y * img->picture.stride_bytes;
    return t->bit_depth > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

static uint32_t sad(const trial *t, const mvf_block *block, int32_t dx, int32_t dy)
{
    uint32_t sum = 0;
    for (int32_t y = block->y; y < block->y + block->h; y++)
        for (int32_t x = block->x; x < block->x + block->w; x++) {
            uint32_t a = sample(t, &t->images[0], x, y);
            uint32_t b = sample(t, &t->images[1], x + dx, y + dy);
            sum += a > b ? a - b : b - a;
        }
    return sum;
}

/* In a plain search no vector in range may cost less than the one that was found. */
static void check_best(const trial *t, const mvf_field *field)
{
    const mvf_options *o = &t->options;
    if (o->method != MVF_METHOD_FULL || o->metric || o->subpel || o->partitions || o->merge ||
        o->lambda_q4 || o->smooth || t->n_references != 1)
        return;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        FUZZ_EXPECT(block->cost == sad(t, block, block->mv_x / 4, block->mv_y / 4));
        for (int32_t dy = -o->range_y; dy <= o->range_y; dy++)
            for (int32_t dx = -o->range_x; dx <= o->range_x; dx++) {
                int leaves = block->x + dx < 0 || block->y + dy < 0 ||
                             block->x + dx + block->w > t->width ||
                             block->y + dy + block->h > t->height;
                if (o->edges == MVF_EDGES_CLAMP || !leaves)
                    FUZZ_EXPECT(sad(t, block, dx, dy) >= block->cost);
            }
    }
}

static void compare(const mvf_field *a, const mvf_field *b)
{
    FUZZ_EXPECT(a->n_blocks == b->n_blocks);
    FUZZ_EXPECT(!memcmp(a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks));
    FUZZ_EXPECT(!a->confidence == !b->confidence);
    FUZZ_EXPECT(!a->confidence || !memcmp(a->confidence, b->confidence, a->n_blocks));
}

static int is_short(const trial *t)
{
    const mvf_options *o = &t->options;
    int64_t overlap = (int64_t)(o->step_x ? (o->block_w + o->step_x - 1) / o->step_x : 1) *
                      (o->step_y ? (o->block_h + o->step_y - 1) / o->step_y : 1);
    if (o->method == MVF_METHOD_TRUEMOTION && t->width * t->height > MAX_TRUEMOTION_AREA)
        return 0;
    int64_t candidates = (int64_t)(2 * o->range_x + 1) * (2 * o->range_y + 1);
    return candidates * t->width * t->height * overlap <= MAX_WORK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trial t = {.width = 0};
    fuzz_bytes bytes = {data, size};
    mvf_field *plain, *other;
    take_options(&t, &bytes);
    if (!is_short(&t))
        return 0;
    for (uint8_t i = 0; i < 3; i++)
        take_image(&t, &t.images[i], &bytes, i);
    mvf_status status = search(&t, MVF_CPU_C, 1, &plain);
    FUZZ_EXPECT((status == MVF_OK) == (plain != NULL));
    if (plain)
        check_best(&t, plain);
    for (int level = MVF_CPU_SSE2; level <= (int)mvf_cpu_best_level(); level++) {
        FUZZ_EXPECT(search(&t, (mvf_cpu_level)level, 1 + level % 2, &other) == status);
        if (plain)
            compare(plain, other);
        mvf_field_free(&other);
    }
    mvf_field_free(&plain);
    for (int i = 0; i < 3; i++)
        free(t.images[i].memory);
    return 0;
}
