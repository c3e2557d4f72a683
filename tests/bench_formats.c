/*
 * bench_formats.c - how fast each format takes fields, on one core.
 *
 *     bench_formats FORMAT [LEVEL [FIELDS.mvf]]
 *
 * Prepared fields (of the file, or made up: 1920 x 1080 px, 16 x 16 blocks) are written again and
 * again for two seconds of the processor, into the current folder; completing the file counts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mvfield/mvfield.h>

#define MAX_FIELDS 32

static mvf_field *make_field(int number)
{
    mvf_field *field;
    const mvf_grid grid = {16, 16, 16, 16, 120, 68};
    if (mvf_field_alloc(&field, 1, 120 * 68) != MVF_OK)
        exit(1);
    field->width = 1920;
    field->height = 1080;
    field->mv_scale = 4;
    field->bit_depth = 8;
    field->grid = grid;
    for (int i = 0; i < 120 * 68; i++) {
        unsigned noise = (unsigned)(i * 7919 + number * 104729) * 2654435761u >> 16;
        field->blocks[i] = (mvf_block){.x = i % 120 * 16,
                                       .y = i / 120 * 16,
                                       .w = 16,
                                       .h = (uint16_t)(i / 120 == 67 ? 8 : 16),
                                       .mv_x = (int16_t)(noise % 129 - 64),
                                       .mv_y = (int16_t)(noise / 129 % 129 - 64),
                                       .cost = noise % 4000,
                                       .dir = -1};
    }
    return field;
}

static int prepare(mvf_field **fields, const char *path)
{
    int n = 0;
    if (!path) {
        for (; n < MAX_FIELDS; n++)
            fields[n] = make_field(n);
        return n;
    }
    mvf_reader *reader;
    if (mvf_reader_open(&reader, path, NULL) != MVF_OK)
        return 0;
    while (n < MAX_FIELDS && mvf_reader_next(reader, &fields[n]) == MVF_OK) {
        if (fields[n]->n_blocks)
            n++;
        else
            mvf_field_free(&fields[n]);
    }
    mvf_reader_close(&reader);
    return n;
}

static double seconds(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    mvf_field *fields[MAX_FIELDS];
    mvf_sink *sink;
    mvf_sink_options options;
    const char *path = "bench_formats.out";
    int n_fields = argc > 1 ? prepare(fields, argc > 3 ? argv[3] : NULL) : 0;
    if (!n_fields) {
        fprintf(stderr, "usage: bench_formats FORMAT [LEVEL [FIELDS.mvf]]\n");
        return 2;
    }
    mvf_sink_options_init(&options);
    options.format = argv[1];
    options.overwrite = 1;
    if (argc > 2)
        options.compression = atoi(argv[2]);
    if (mvf_sink_open(&sink, path, &options) != MVF_OK)
        return 1;
    size_t n_blocks = 0;
    int n_written = 0;
    double start = seconds(CLOCK_MONOTONIC), busy = seconds(CLOCK_PROCESS_CPUTIME_ID);
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) - busy < 2) {
        mvf_field *field = fields[n_written % n_fields];
        field->frame = field->pts = n_written++;
        field->time_base = (mvf_rational){1, 25};
        field->references[0] = (mvf_reference){field->frame - 1, field->pts - 1};
        if (mvf_sink_write(sink, field) != MVF_OK)
            return 1;
        n_blocks += field->n_blocks;
    }
    if (mvf_sink_close(&sink) != MVF_OK)
        return 1;
    double spent = seconds(CLOCK_MONOTONIC) - start;
    busy = seconds(CLOCK_PROCESS_CPUTIME_ID) - busy;
    struct stat info;
    double bytes = stat(path, &info) ? 0 : (double)info.st_size;
    unlink(path);
    printf("%s: %.0f fields a second of one core (%.0f by the clock), %.2f bytes a block\n",
           argv[1], n_written / busy, n_written / spent, bytes / (double)n_blocks);
    for (int i = 0; i < n_fields; i++)
        mvf_field_free(&fields[i]);
    return 0;
}
