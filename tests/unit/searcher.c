/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "base/memory.h"

#define W 70
#define H 50
#define STRIDE 96

/* A plane of noise that moves by (-2, -1) px a frame. */
typedef struct unit_plane {
    uint8_t samples[H * STRIDE];
    mvf_picture picture;
} unit_plane;

static uint8_t noise(int64_t x, int64_t y)
{
    uint32_t hash = (uint32_t)(x * 73856093 ^ y * 19349663);
    hash ^= hash >> 13;
    hash *= 0x5bd1e995;
    return (uint8_t)(hash >> 15);
}

static void fill_plane(unit_plane *plane, int64_t phase, int64_t frame)
{
    memset(plane->samples, 0xa5, sizeof plane->samples);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            plane->samples[y * STRIDE + x] = noise(x + 2 * phase, y + phase);
    mvf_picture_init(&plane->picture);
    plane->picture.data = plane->samples;
    plane->picture.stride_bytes = STRIDE;
    plane->picture.frame = frame;
    plane->picture.pts = frame == MVF_NO_FRAME ? MVF_NO_PTS : frame * 40;
    plane->picture.time_base = (mvf_rational){1, 1000};
}

static unit_plane *make_plane(int64_t phase, int64_t frame)
{
    unit_plane *plane = malloc(sizeof *plane);
    assert_non_null(plane);
    fill_plane(plane, phase, frame);
    return plane;
}

static mvf_options cpu_options(void)
{
    mvf_options options;
    mvf_options_init(&options);
    options.backend = MVF_BACKEND_CPU;
    options.threads = 2;
    options.range_x = options.range_y = 4;
    return options;
}

static mvf_searcher *open_searcher(const mvf_options *options)
{
    mvf_searcher *searcher;
    assert_int_equal(mvf_searcher_open(&searcher, options, W, H, 8), MVF_OK);
    return searcher;
}

static mvf_field *receive(mvf_searcher *searcher)
{
    mvf_field *field;
    assert_int_equal(mvf_searcher_flush(searcher), MVF_OK);
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_OK);
    return field;
}

/* That content moving by (-2, -1) * pairs px was found wherever its source is inside. */
static void assert_motion(const mvf_field *field, size_t layer, int pairs)
{
    int n_inside = 0;
    size_t n = (size_t)(field->grid.cols * field->grid.rows);
    assert_true(field->n_blocks >= (layer + 1) * n);
    for (size_t i = layer * n; i < (layer + 1) * n; i++) {
        const mvf_block *block = &field->blocks[i];
        int x = block->x + 2 * pairs, y = block->y + pairs;
        if (x < 0 || y < 0 || x + block->w > W || y + block->h > H)
            continue;
        n_inside++;
        assert_int_equal(block->mv_x, 2 * pairs * field->mv_scale);
        assert_int_equal(block->mv_y, pairs * field->mv_scale);
        assert_int_equal(block->cost, 0);
    }
    assert_true(n_inside >= 6);
}

static void assert_same_blocks(const mvf_field *a, const mvf_field *b)
{
    assert_int_equal(a->n_blocks, b->n_blocks);
    for (size_t i = 0; i < a->n_blocks; i++)
        assert_memory_equal(&a->blocks[i], &b->blocks[i], sizeof *a->blocks);
}

/* options */

typedef struct bad_option {
    size_t offset;
    int32_t value;
    const char *message;
} bad_option;

#define BAD(member, value, message)                   \
    {                                                 \
        offsetof(mvf_options, member), value, message \
    }

static void test_bad_options(void **state)
{
    static const bad_option cases[] = {
        BAD(backend, 3, "backend"),
        BAD(backend, -1, "backend"),
        BAD(device, -1, "device"),
        BAD(method, 99, "method"),
        BAD(block_w, 0, "block size"),
        BAD(block_w, 12, "4, 8, 16, 32 or 64"),
        BAD(block_h, 128, "block size"),
        BAD(block_h, -16, "block size"),
        BAD(step_x, 17, "step"),
        BAD(step_x, -1, "step"),
        BAD(step_y, 17, "step"),
        BAD(step_y, -1, "step"),
        BAD(range_x, 257, "0 to 256"),
        BAD(range_x, -1, "0 to 256"),
        BAD(range_y, 257, "0 to 256"),
        BAD(range_y, -1, "0 to 256"),
        BAD(edges, 2, "edge"),
        BAD(threads, -1, "threads"),
        BAD(threads, 1025, "threads"),
        BAD(max_in_flight, 0, "1 to 64"),
        BAD(max_in_flight, 65, "1 to 64"),
        BAD(smooth, 3, "smooth"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_searcher *searcher = (mvf_searcher *)&searcher;
        unit_messages messages;
        mvf_options options = cpu_options();
        memcpy((char *)&options + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        options.logger = unit_logger(&messages);
        assert_int_equal(mvf_options_check(&options), MVF_ERROR_ARGUMENT);
        unit_assert_message(&messages, cases[i].message);
        options.logger = unit_logger(&messages);
        assert_int_equal(mvf_searcher_open(&searcher, &options, W, H, 8), MVF_ERROR_ARGUMENT);
        unit_assert_message(&messages, cases[i].message);
        assert_null(searcher);
        /* Without a logger, the status says it. */
        options.logger = (mvf_logger){NULL, NULL};
        assert_int_equal(mvf_options_check(&options), MVF_ERROR_ARGUMENT);
    }
}

static void test_good_options(void **state)
{
    static const bad_option cases[] = {
        BAD(block_w, 4, ""),       BAD(block_h, 64, ""),       BAD(step_x, 1, ""),
        BAD(step_y, 16, ""),       BAD(range_x, 256, ""),      BAD(range_y, 0, ""),
        BAD(threads, 0, ""),       BAD(threads, 1024, ""),     BAD(edges, 1, ""),
        BAD(max_in_flight, 1, ""), BAD(max_in_flight, 64, ""), BAD(smooth, 1, ""),
        BAD(smooth, 2, ""),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_options options = cpu_options();
        memcpy((char *)&options + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        assert_int_equal(mvf_options_check(&options), MVF_OK);
    }
}

static void test_bad_geometry(void **state)
{
    static const struct {
        int32_t width, height, bit_depth;
        const char *message;
    } cases[] = {
        {0, H, 8, "frame size"},    {W, 0, 8, "frame size"},    {-1, H, 8, "frame size"},
        {W, -1, 8, "frame size"},   {32769, H, 8, "32768"},     {W, 32769, 8, "32768"},
        {INT32_MAX, H, 8, "32768"}, {W, INT32_MIN, 8, "32768"}, {W, H, 7, "bit depth"},
        {W, H, 17, "8 to 16"},      {W, H, 0, "bit depth"},     {W, H, -8, "bit depth"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_searcher *searcher = (mvf_searcher *)&searcher;
        unit_messages messages;
        mvf_options options = cpu_options();
        options.logger = unit_logger(&messages);
        assert_int_equal(mvf_searcher_open(&searcher, &options, cases[i].width, cases[i].height,
                                           cases[i].bit_depth),
                         MVF_ERROR_ARGUMENT);
        unit_assert_message(&messages, cases[i].message);
        assert_null(searcher);
    }
}

static void test_struct_size(void **state)
{
    mvf_options options = cpu_options();
    mvf_searcher *searcher = (mvf_searcher *)&searcher;
    (void)state;
    /* A caller that has not called init, and one built against shorter or longer structs. */
    options.struct_size = 0;
    assert_int_equal(mvf_searcher_open(&searcher, &options, W, H, 8), MVF_ERROR_ARGUMENT);
    assert_null(searcher);
    options = cpu_options();
    options.max_in_flight = 999;
    options.struct_size = offsetof(mvf_options, max_in_flight);
    searcher = open_searcher(&options);
    mvf_searcher_close(&searcher);
    struct {
        mvf_options options;
        char more[64];
    } longer = {.options = cpu_options()};
    longer.options.struct_size = sizeof longer;
    searcher = open_searcher(&longer.options);
    mvf_searcher_close(&searcher);
    mvf_searcher_close(&searcher);
}

/* pictures */

static void test_bad_pictures(void **state)
{
    unit_messages messages;
    mvf_options options = cpu_options();
    unit_plane *plane = make_plane(0, 0);
    options.logger = unit_logger(&messages);
    mvf_searcher *searcher = open_searcher(&options);
    mvf_picture good = plane->picture, bad[9];
    (void)state;
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].data = NULL;
    bad[1].stride_bytes = W - 1;
    bad[2].stride_bytes = 1 - W;
    bad[3].stride_bytes = 0;
    bad[4].memory = (mvf_memory)7;
    /* Bytes have no other place for their values, host memory no stream, a device no way back. */
    bad[5].shift_bits = 1;
    bad[6].shift_bits = -1;
    bad[7].stream = plane;
    bad[8].memory = MVF_MEMORY_CUDA;
    bad[8].stride_bytes = -good.stride_bytes;
    for (int i = 0; i < 9; i++) {
        messages.count = 0;
        assert_int_equal(mvf_searcher_submit(searcher, &bad[i], &good, 1, NULL),
                         MVF_ERROR_ARGUMENT);
        unit_assert_message(&messages, "picture");
        messages.count = 0;
        assert_int_equal(mvf_searcher_submit(searcher, &good, &bad[i], 1, NULL),
                         MVF_ERROR_ARGUMENT);
        unit_assert_message(&messages, "picture");
    }
    messages.count = 0;
    assert_int_equal(mvf_searcher_submit(searcher, NULL, &good, 1, NULL), MVF_ERROR_ARGUMENT);
    unit_assert_message(&messages, "picture");
    messages.count = 0;
    assert_int_equal(mvf_searcher_submit(searcher, &good, NULL, 1, NULL), MVF_ERROR_ARGUMENT);
    unit_assert_message(&messages, "picture");
    messages.count = 0;
    assert_int_equal(mvf_searcher_submit(searcher, &good, &good, MVF_MAX_REFERENCES + 1, NULL),
                     MVF_ERROR_ARGUMENT);
    unit_assert_message(&messages, "at most 16");
    /* Device memory that the CPU engine cannot copy: there is no such device. */
    bad[0] = good;
    bad[0].frame = 5;
    bad[0].memory = MVF_MEMORY_CUDA;
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    messages.count = 0;
    assert_int_equal(mvf_searcher_submit(searcher, &good, &bad[0], 1, NULL), MVF_ERROR_NO_DEVICE);
    unit_assert_message(&messages, "CUDA");
    /* None of these was taken, and the searcher works on. */
    mvf_field *field;
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_AGAIN);
    assert_null(field);
    assert_int_equal(mvf_searcher_submit(searcher, &good, &good, 1, NULL), MVF_OK);
    field = receive(searcher);
    assert_int_equal(field->flags, MVF_FIELD_DUPLICATE);
    mvf_field_free(&field);
    mvf_searcher_close(&searcher);
    free(plane);
}

static void test_bad_words(void **state)
{
    static uint16_t samples[H * STRIDE + 1];
    unit_messages messages;
    mvf_searcher *searcher;
    mvf_options options = cpu_options();
    mvf_picture good, bad[2];
    (void)state;
    options.logger = unit_logger(&messages);
    assert_int_equal(mvf_searcher_open(&searcher, &options, W, H, 10), MVF_OK);
    mvf_picture_init(&good);
    good.data = samples;
    good.stride_bytes = 2 * STRIDE;
    bad[0] = bad[1] = good;
    bad[0].data = (const char *)samples + 1;
    bad[1].stride_bytes = 2 * STRIDE - 1;
    for (int i = 0; i < 2; i++) {
        messages.count = 0;
        assert_int_equal(mvf_searcher_submit(searcher, &bad[i], &good, 1, NULL),
                         MVF_ERROR_ARGUMENT);
        unit_assert_message(&messages, "even");
    }
    bad[0] = good;
    bad[0].stride_bytes = 2 * W - 2;
    messages.count = 0;
    assert_int_equal(mvf_searcher_submit(searcher, &good, &bad[0], 1, NULL), MVF_ERROR_ARGUMENT);
    unit_assert_message(&messages, "stride");
    mvf_searcher_close(&searcher);
}

/* Values in the high bits of words, above noise, are the same samples. */
static void test_shifted_words(void **state)
{
    static uint16_t low[2][H * STRIDE], high[2][H * STRIDE];
    mvf_options options = cpu_options();
    mvf_searcher *searcher;
    mvf_picture pictures[2][2];
    mvf_field *fields[2];
    (void)state;
    for (int i = 0; i < H * STRIDE; i++)
        for (int n = 0; n < 2; n++) {
            uint32_t noise = (uint32_t)(i + 3 * n) * 2654435761u;
            low[n][i] = (uint16_t)(noise >> 22);
            high[n][i] = (uint16_t)(low[n][i] << 6 | (noise & 63));
        }
    for (int n = 0; n < 2; n++)
        for (int shifted = 0; shifted < 2; shifted++) {
            mvf_picture *picture = &pictures[shifted][n];
            mvf_picture_init(picture);
            picture->data = shifted ? high[n] : low[n];
            picture->stride_bytes = 2 * STRIDE;
            picture->shift_bits = shifted ? 6 : 0;
        }
    assert_int_equal(mvf_searcher_open(&searcher, &options, W, H, 10), MVF_OK);
    for (int shifted = 0; shifted < 2; shifted++) {
        assert_int_equal(
            mvf_searcher_submit(searcher, &pictures[shifted][1], &pictures[shifted][0], 1, NULL),
            MVF_OK);
        fields[shifted] = receive(searcher);
    }
    assert_int_equal(fields[0]->n_blocks, fields[1]->n_blocks);
    assert_memory_equal(fields[0]->blocks, fields[1]->blocks,
                        fields[0]->n_blocks * sizeof *fields[0]->blocks);
    /* Its prediction reads them so too, and its quality. */
    mvf_prediction prediction[2] = {{0}, {0}};
    static uint16_t predicted[2][H * STRIDE];
    for (int shifted = 0; shifted < 2; shifted++) {
        assert_int_equal(mvf_field_predict(fields[0], &pictures[shifted][0], MVF_INTERPOLATION_H264,
                                           predicted[shifted], 2 * STRIDE),
                         MVF_OK);
        assert_int_equal(mvf_field_measure_prediction(fields[0], -1, &pictures[shifted][1],
                                                      &pictures[shifted][0], &prediction[shifted]),
                         MVF_OK);
    }
    mvf_field_free(&fields[0]);
    mvf_field_free(&fields[1]);
    assert_memory_equal(predicted[0], predicted[1], sizeof predicted[0]);
    assert_true(prediction[0].squared_error == prediction[1].squared_error);
    mvf_searcher_close(&searcher);
}

static void test_negative_stride(void **state)
{
    mvf_options options = cpu_options();
    unit_plane *planes[] = {make_plane(1, MVF_NO_FRAME), make_plane(0, MVF_NO_FRAME)};
    mvf_field *upright, *flipped;
    (void)state;
    assert_int_equal(
        mvf_search(&options, W, H, 8, &planes[0]->picture, &planes[1]->picture, &upright), MVF_OK);
    assert_motion(upright, 0, 1);
    for (int i = 0; i < 2; i++) {
        uint8_t *rows = malloc(H * STRIDE);
        assert_non_null(rows);
        for (int y = 0; y < H; y++)
            memcpy(rows + y * STRIDE, planes[i]->samples + (H - 1 - y) * STRIDE, STRIDE);
        memcpy(planes[i]->samples, rows, H * STRIDE);
        free(rows);
        planes[i]->picture.data = planes[i]->samples + (H - 1) * STRIDE;
        planes[i]->picture.stride_bytes = -STRIDE;
    }
    assert_int_equal(
        mvf_search(&options, W, H, 8, &planes[0]->picture, &planes[1]->picture, &flipped), MVF_OK);
    assert_same_blocks(upright, flipped);
    mvf_field_free(&upright);
    mvf_field_free(&flipped);
    free(planes[0]);
    free(planes[1]);
}

static void test_one_row(void **state)
{
    uint8_t row[40];
    mvf_options options = cpu_options();
    mvf_field *field;
    mvf_picture picture;
    (void)state;
    for (int i = 0; i < 40; i++)
        row[i] = noise(i, 0);
    mvf_picture_init(&picture);
    picture.data = row;
    assert_int_equal(mvf_search(&options, 40, 1, 8, &picture, &picture, &field), MVF_OK);
    assert_int_equal(field->n_blocks, 3);
    assert_int_equal(field->blocks[2].w, 8);
    assert_int_equal(field->blocks[2].h, 1);
    mvf_field_free(&field);
}

/* submit, receive, flush */

static void test_order(void **state)
{
    enum { N = 30 };
    int tags[N];
    mvf_options options = cpu_options();
    options.max_in_flight = 3;
    mvf_searcher *searcher = open_searcher(&options);
    unit_plane *planes[2] = {make_plane(0, 0), make_plane(0, 0)};
    mvf_field *field;
    int n_received = 0, n_refused = 0;
    (void)state;
    assert_string_equal(mvf_searcher_backend(searcher), "cpu");
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_AGAIN);
    for (int i = 1; i < N; i++) {
        unit_plane *current = planes[i % 2], *previous = planes[1 - i % 2];
        fill_plane(current, i, i);
        while (mvf_searcher_submit(searcher, &current->picture, &previous->picture, 1, &tags[i]) ==
               MVF_AGAIN) {
            n_refused++;
            assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_OK);
            assert_ptr_equal(field->opaque, &tags[++n_received]);
            assert_int_equal(field->frame, n_received);
            assert_motion(field, 0, 1);
            mvf_field_free(&field);
        }
        /* The samples were read before submit returned. */
        memset(previous->samples, i, sizeof previous->samples);
    }
    assert_int_equal(n_refused, N - 1 - options.max_in_flight);
    mvf_searcher_flush(searcher);
    while (mvf_searcher_receive(searcher, &field) == MVF_OK) {
        assert_ptr_equal(field->opaque, &tags[++n_received]);
        assert_motion(field, 0, 1);
        mvf_field_free(&field);
    }
    assert_int_equal(n_received, N - 1);
    mvf_searcher_close(&searcher);
    assert_null(searcher);
    free(planes[0]);
    free(planes[1]);
}

static void test_flush(void **state)
{
    mvf_options options = cpu_options();
    mvf_searcher *searcher = open_searcher(&options);
    unit_plane *planes[] = {make_plane(0, 0), make_plane(1, 1)};
    mvf_field *field;
    (void)state;
    mvf_searcher_flush(searcher);
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_EOF);
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_EOF);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(
            mvf_searcher_submit(searcher, &planes[1]->picture, &planes[0]->picture, 1, NULL),
            MVF_OK);
        field = receive(searcher);
        assert_motion(field, 0, 1);
        mvf_field_free(&field);
        assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_EOF);
        assert_null(field);
    }
    /* A submission ends the flush; one that waits is thrown away by close. */
    assert_int_equal(mvf_searcher_submit(searcher, &planes[1]->picture, NULL, 0, NULL), MVF_OK);
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_OK);
    mvf_field_free(&field);
    assert_int_equal(mvf_searcher_receive(searcher, &field), MVF_AGAIN);
    assert_int_equal(
        mvf_searcher_submit(searcher, &planes[1]->picture, &planes[0]->picture, 1, NULL), MVF_OK);
    mvf_searcher_close(&searcher);
    free(planes[0]);
    free(planes[1]);
}

/* fields */

static void test_field(void **state)
{
    mvf_options options = cpu_options();
    options.block_w = 32;
    options.step_x = 8;
    options.edges = MVF_EDGES_INSIDE;
    unit_plane *planes[] = {make_plane(0, 4), make_plane(1, 5)};
    mvf_field *field;
    (void)state;
    planes[1]->picture.type = MVF_PICTURE_B;
    assert_int_equal(
        mvf_search(&options, W, H, 8, &planes[1]->picture, &planes[0]->picture, &field), MVF_OK);
    assert_true(field->frame == 5 && field->pts == 200 && field->time_base.den == 1000);
    assert_true(field->type == MVF_PICTURE_B && field->source == MVF_VECTORS_SEARCH);
    assert_true(field->width == W && field->height == H && field->bit_depth == 8);
    assert_true(field->mv_scale == 4 && field->flags == 0);
    assert_true(field->grid.block_w == 32 && field->grid.block_h == 16);
    assert_true(field->grid.step_x == 8 && field->grid.step_y == 16);
    assert_true(field->grid.cols == 9 && field->grid.rows == 4);
    assert_int_equal(field->n_references, 1);
    assert_true(field->references[0].frame == 4 && field->references[0].pts == 160);
    assert_int_equal(field->n_blocks, 36);
    for (int i = 0; i < 36; i++) {
        const mvf_block *block = &field->blocks[i];
        assert_int_equal(block->x, i % 9 * 8);
        assert_int_equal(block->y, i / 9 * 16);
        assert_int_equal(block->w, W - block->x < 32 ? W - block->x : 32);
        assert_int_equal(block->h, H - block->y < 16 ? H - block->y : 16);
        assert_true(block->dir == -1 && block->ref == 0);
        assert_int_equal(block->flags, 0 + (abs(block->mv_x) == 16 || abs(block->mv_y) == 16));
    }
    mvf_field_free(&field);
    free(planes[0]);
    free(planes[1]);
}

static void test_range_edge(void **state)
{
    mvf_options options = cpu_options();
    unit_plane *planes[] = {make_plane(0, 0), make_plane(1, 1)};
    mvf_field *field;
    (void)state;
    options.range_x = 2;
    assert_int_equal(
        mvf_search(&options, W, H, 8, &planes[1]->picture, &planes[0]->picture, &field), MVF_OK);
    assert_int_equal(field->blocks[0].mv_x, 8);
    assert_int_equal(field->blocks[0].flags, MVF_BLOCK_RANGE_EDGE);
    mvf_field_free(&field);
    options.range_x = 3;
    assert_int_equal(
        mvf_search(&options, W, H, 8, &planes[1]->picture, &planes[0]->picture, &field), MVF_OK);
    assert_int_equal(field->blocks[0].flags, 0);
    mvf_field_free(&field);
    /* A range of 0 has no edge to be on. */
    options.range_x = options.range_y = 0;
    assert_int_equal(
        mvf_search(&options, W, H, 8, &planes[1]->picture, &planes[0]->picture, &field), MVF_OK);
    assert_int_equal(field->blocks[0].flags, 0);
    mvf_field_free(&field);
    free(planes[0]);
    free(planes[1]);
}

static void test_references(void **state)
{
    mvf_options options = cpu_options();
    options.range_x = 8;
    mvf_searcher *searcher = open_searcher(&options);
    unit_plane *current = make_plane(10, 10);
    mvf_picture references[MVF_MAX_REFERENCES];
    unit_plane *planes[MVF_MAX_REFERENCES];
    (void)state;
    for (int i = 0; i < MVF_MAX_REFERENCES; i++) {
        int distance = i % 8 - 4 + (i % 8 >= 4);
        planes[i] = make_plane(10 - distance, 10 - distance);
        references[i] = planes[i]->picture;
    }
    for (size_t n = 0; n <= MVF_MAX_REFERENCES; n += 4) {
        assert_int_equal(mvf_searcher_submit(searcher, &current->picture, references, n, current),
                         MVF_OK);
        mvf_field *field = receive(searcher);
        assert_int_equal(field->n_references, n);
        assert_int_equal(field->n_blocks, n * 5 * 4);
        assert_ptr_equal(field->opaque, current);
        for (size_t i = 0; i < n; i++) {
            int distance = (int)(i % 8) - 4 + (i % 8 >= 4);
            assert_int_equal(field->references[i].frame, 10 - distance);
            assert_int_equal(field->references[i].pts, 40 * (10 - distance));
            assert_motion(field, i, distance);
            for (size_t b = i * 20; b < i * 20 + 20; b++) {
                assert_int_equal(field->blocks[b].ref, i);
                assert_int_equal(field->blocks[b].dir, distance > 0 ? -1 : 1);
            }
        }
        mvf_field_free(&field);
    }
    mvf_searcher_close(&searcher);
    for (int i = 0; i < MVF_MAX_REFERENCES; i++)
        free(planes[i]);
    free(current);
}

/* Nothing is searched, so no samples are needed either. */
static void test_no_references(void **state)
{
    mvf_options options = cpu_options();
    mvf_searcher *searcher = open_searcher(&options);
    mvf_picture picture;
    (void)state;
    mvf_picture_init(&picture);
    picture.frame = 3;
    assert_int_equal(mvf_searcher_submit(searcher, &picture, NULL, 0, NULL), MVF_OK);
    mvf_field *field = receive(searcher);
    assert_int_equal(field->frame, 3);
    assert_int_equal(field->n_blocks, 0);
    assert_int_equal(field->n_references, 0);
    assert_int_equal(field->flags, 0);
    mvf_field_free(&field);
    mvf_searcher_close(&searcher);
}

static void test_direction_by_time(void **state)
{
    mvf_options options = cpu_options();
    unit_plane *a = make_plane(0, MVF_NO_FRAME), *b = make_plane(1, MVF_NO_FRAME);
    static const struct {
        int64_t current, reference;
        int dir;
    } cases[] = {{10, 5, -1}, {5, 10, 1}, {-10, -5, 1}, {MVF_NO_PTS, 5, -1}, {5, MVF_NO_PTS, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mvf_field *field;
        b->picture.pts = cases[i].current;
        a->picture.pts = cases[i].reference;
        assert_int_equal(mvf_search(&options, W, H, 8, &b->picture, &a->picture, &field), MVF_OK);
        assert_int_equal(field->blocks[0].dir, cases[i].dir);
        mvf_field_free(&field);
    }
    free(a);
    free(b);
}

static void test_duplicate(void **state)
{
    mvf_options options = cpu_options();
    unit_plane *a = make_plane(3, 0), *b = make_plane(3, 1);
    mvf_field *field;
    (void)state;
    assert_int_equal(mvf_search(&options, W, H, 8, &b->picture, &a->picture, &field), MVF_OK);
    assert_int_equal(field->flags, MVF_FIELD_DUPLICATE);
    mvf_field_free(&field);
    b->samples[(H - 1) * STRIDE + W - 1] ^= 1;
    assert_int_equal(mvf_search(&options, W, H, 8, &b->picture, &a->picture, &field), MVF_OK);
    assert_int_equal(field->flags, 0);
    mvf_field_free(&field);
    free(a);
    free(b);
}

/* Pictures without an index are prepared anew each time; those with one may be kept. */
static void test_indices(void **state)
{
    mvf_options options = cpu_options();
    mvf_searcher *searcher = open_searcher(&options);
    unit_plane *a = make_plane(0, MVF_NO_FRAME), *b = make_plane(1, MVF_NO_FRAME);
    (void)state;
    for (int i = -2; i <= 2; i++) {
        fill_plane(b, i, MVF_NO_FRAME);
        assert_int_equal(mvf_searcher_submit(searcher, &b->picture, &a->picture, 1, NULL), MVF_OK);
        mvf_field *field = receive(searcher);
        assert_motion(field, 0, i);
        mvf_field_free(&field);
    }
    /* Frames that come back in any order, many more than a searcher keeps. */
    for (int i = 0; i < 60; i++) {
        int reference = i * 7 % 13, distance = i % 3 - 1;
        fill_plane(a, reference, reference);
        fill_plane(b, reference + distance, reference + distance);
        assert_int_equal(mvf_searcher_submit(searcher, &b->picture, &a->picture, 1, NULL), MVF_OK);
        mvf_field *field = receive(searcher);
        assert_int_equal(field->references[0].frame, reference);
        assert_motion(field, 0, distance);
        mvf_field_free(&field);
    }
    mvf_searcher_close(&searcher);
    free(a);
    free(b);
}

/* the SAD instruction */

static void test_sad_limit(void **state)
{
    unit_messages messages;
    mvf_options options = cpu_options();
    mvf_sad_limit limit;
    (void)state;
    for (int level = MVF_CPU_C; level <= (int)mvf_cpu_best_level(); level++) {
        options.cpu_level = (mvf_cpu_level)level;
        options.threads = 1 + level % 2;
        assert_int_equal(mvf_sad_limit_measure(&options, &limit), MVF_OK);
        assert_true(limit.differences_per_second > 1e6);
        assert_string_equal(limit.backend, "cpu");
        assert_int_equal(!strcmp(limit.instruction, "plain C"), level == MVF_CPU_C);
    }
    options.logger = unit_logger(&messages);
    options.threads = -1;
    assert_int_equal(mvf_sad_limit_measure(&options, &limit), MVF_ERROR_ARGUMENT);
    unit_assert_message(&messages, "threads");
    options.threads = 1;
    options.struct_size = 0;
    assert_int_equal(mvf_sad_limit_measure(&options, &limit), MVF_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_options),   cmocka_unit_test(test_good_options),
        cmocka_unit_test(test_bad_geometry),  cmocka_unit_test(test_struct_size),
        cmocka_unit_test(test_bad_pictures),  cmocka_unit_test(test_bad_words),
        cmocka_unit_test(test_shifted_words), cmocka_unit_test(test_negative_stride),
        cmocka_unit_test(test_one_row),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_flush),         cmocka_unit_test(test_field),
        cmocka_unit_test(test_range_edge),    cmocka_unit_test(test_references),
        cmocka_unit_test(test_no_references), cmocka_unit_test(test_direction_by_time),
        cmocka_unit_test(test_duplicate),     cmocka_unit_test(test_indices),
        cmocka_unit_test(test_sad_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
