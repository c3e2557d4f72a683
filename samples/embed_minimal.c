/*
 * embed_minimal - the smallest embedding: two planes in, vectors out.
 *
 *     cc embed_minimal.c $(pkg-config --cflags --libs mvfield) -o embed_minimal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include <mvfield/mvfield.h>

enum { WIDTH = 64, HEIGHT = 48 };

/* Smooth content that lies (x, y) px from the origin. */
static void paint(uint8_t plane[HEIGHT][WIDTH], int x, int y)
{
    for (int row = 0; row < HEIGHT; row++)
        for (int col = 0; col < WIDTH; col++) {
            int u = col - x + 100, v = row - y + 100;
            plane[row][col] = (uint8_t)(u * u / 7 + v * v / 5 + u * v / 3);
        }
}

int main(void)
{
    static uint8_t before[HEIGHT][WIDTH], now[HEIGHT][WIDTH];
    paint(before, 0, 0);
    paint(now, -3, 2);

    mvf_picture current, reference;
    mvf_picture_init(&current);
    mvf_picture_init(&reference);
    current.data = now;
    reference.data = before;
    current.stride_bytes = reference.stride_bytes = WIDTH;

    mvf_options options;
    mvf_options_init(&options);
    mvf_field *field;
    mvf_status status = mvf_search(&options, WIDTH, HEIGHT, 8, &current, &reference, &field);
    if (status != MVF_OK) {
        fprintf(stderr, "embed_minimal: %s\n", mvf_status_string(status));
        return 1;
    }
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *b = &field->blocks[i];
        printf("block %dx%d at (%d,%d) comes from (%+.2f,%+.2f) px away, SAD %u\n", b->w, b->h,
               b->x, b->y, (double)b->mv_x / field->mv_scale, (double)b->mv_y / field->mv_scale,
               b->cost);
    }
    mvf_field_free(&field);
    return 0;
}
