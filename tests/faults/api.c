/*
 * api.c - a program on the C API of libmvfield that takes every error as it comes: 0 if all went
 * well, 1 if a call failed for want of memory, space or threads, and it aborts on anything else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include <mvfield/mvfield.h>

#define WIDTH 70
#define HEIGHT 37
#define N_FRAMES 3

static uint8_t samples[N_FRAMES][HEIGHT][WIDTH];

#define CHECK(call)                       \
    do {                                  \
        mvf_status check_status = (call); \
        if (check_status != MVF_OK)       \
            return check_status;          \
    } while (0)

static void fill(void)
{
    for (int n = 0; n < N_FRAMES; n++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                uint32_t at = (uint32_t)((x + 3 * n) * 7919 + (y + 2 * n) * 104729);
                samples[n][y][x] = (uint8_t)(at * 2654435761u >> 24);
            }
}

static mvf_picture picture_of(int n)
{
    mvf_picture picture;
    mvf_picture_init(&picture);
    picture.data = samples[n];
    picture.stride_bytes = WIDTH;
    picture.frame = n;
    return picture;
}

static mvf_status analyse(mvf_field *field, mvf_comparison *comparison)
{
    mvf_global_motion motion;
    mvf_flow *flow;
    mvf_status status = mvf_flow_alloc(&flow, WIDTH, HEIGHT);
    if ((status == MVF_OK) != (flow != NULL))
        abort();
    if (status == MVF_OK)
        mvf_field_fill_flow(field, flow->vectors);
    mvf_flow_free(&flow);
    if (status == MVF_OK)
        status = mvf_field_estimate_global(field, 0, &motion);
    if (status == MVF_OK)
        status = mvf_comparison_add_fields(comparison, field, field);
    return status == MVF_OK && field->n_blocks ? mvf_field_smooth(field) : status;
}

static mvf_status search(mvf_searcher *searcher, mvf_sink *sink, mvf_comparison *comparison)
{
    for (int n = 1; n < N_FRAMES; n++) {
        mvf_picture current = picture_of(n), references[2] = {picture_of(n - 1), picture_of(0)};
        CHECK(mvf_searcher_submit(searcher, &current, references, 2, NULL));
    }
    mvf_searcher_flush(searcher);
    for (;;) {
        mvf_field *field;
        mvf_status status = mvf_searcher_receive(searcher, &field);
        if ((status == MVF_OK) != (field != NULL))
            abort();
        if (status == MVF_EOF)
            return MVF_OK;
        if (status == MVF_OK)
            status = analyse(field, comparison);
        if (status == MVF_OK)
            status = mvf_sink_write(sink, field);
        mvf_field_free(&field);
        if (status != MVF_OK)
            return status;
    }
}

static mvf_status write_fields(const char *path)
{
    mvf_options options;
    mvf_searcher *searcher = NULL;
    mvf_sink *sink = NULL;
    mvf_comparison *comparison = NULL;
    mvf_options_init(&options);
    options.backend = MVF_BACKEND_CPU;
    options.threads = 2;
    options.range_x = options.range_y = 4;
    options.subpel = MVF_SUBPEL_QUARTER;
    options.merge = MVF_MERGE_BEST;
    mvf_status status = mvf_searcher_open(&searcher, &options, WIDTH, HEIGHT, 8);
    if (status == MVF_OK)
        status = mvf_comparison_open(&comparison);
    if (status == MVF_OK)
        status = mvf_sink_open(&sink, path, NULL);
    if (status == MVF_OK)
        status = search(searcher, sink, comparison);
    if (status == MVF_OK)
        status = mvf_sink_close(&sink);
    mvf_sink_discard(&sink);
    mvf_comparison_close(&comparison);
    mvf_searcher_close(&searcher);
    if (sink || comparison || searcher)
        abort();
    return status;
}

static mvf_status read_fields(const char *path)
{
    mvf_reader *reader;
    mvf_status status = mvf_reader_open(&reader, path, NULL);
    if ((status == MVF_OK) != (reader != NULL))
        abort();
    while (status == MVF_OK) {
        mvf_field *field;
        status = mvf_reader_next(reader, &field);
        mvf_field_free(&field);
    }
    mvf_reader_close(&reader);
    return status == MVF_EOF ? MVF_OK : status;
}

int main(int argc, char **argv)
{
    fill();
    if (argc != 2)
        return 2;
    mvf_status status = write_fields(argv[1]);
    if (status == MVF_OK)
        status = read_fields(argv[1]);
    if (status != MVF_OK && status != MVF_ERROR_MEMORY && status != MVF_ERROR_IO)
        abort();
    return status != MVF_OK;
}
