/*
 * lossless_coder - a small motion-compensated lossless coder of luma on the public API.
 *
 *     lossless_coder encode CLIP CODED [FRAMES]    reports what vectors and residual take
 *     lossless_coder decode CODED LUMA             raw planes, two bytes a sample above 8 bits
 *
 * Each frame is predicted from the one before by a tree of squares with quarter-sample vectors, or
 * from its own left and upper samples, whichever deflates to less. Residual and vectors go through
 * zlib. The decoder makes the same prediction with mvf_field_predict().
 *
 * File: "MVL1", then width, height, bit depth in 4 bytes each, then for each frame: mode byte, size
 * and deflated vectors, size and deflated residual. Little-endian.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mvfield/video.h>
#include <zlib.h>

enum { SQUARE = 64, SMALLEST = 8 };

static void fail(const char *what)
{
    fprintf(stderr, "lossless_coder: %s\n", what);
    exit(1);
}

static void require(mvf_status status, const char *what)
{
    if (status == MVF_OK)
        return;
    fprintf(stderr, "lossless_coder: %s: %s\n", what, mvf_status_string(status));
    exit(1);
}

static void *allocate(size_t n_bytes)
{
    void *memory = calloc(n_bytes ? n_bytes : 1, 1);
    if (!memory)
        fail("out of memory");
    return memory;
}

/* Bytes that grow, and that are read from the front. */
typedef struct buffer {
    uint8_t *data;
    size_t size, room, next;
} buffer;

static void put_byte(buffer *b, unsigned value)
{
    if (b->size == b->room) {
        b->room = b->room ? 2 * b->room : 4096;
        b->data = realloc(b->data, b->room);
        if (!b->data)
            fail("out of memory");
    }
    b->data[b->size++] = (uint8_t)value;
}

static unsigned get_byte(buffer *b)
{
    if (b->next == b->size)
        fail("the coded file is damaged");
    return b->data[b->next++];
}

/* Small numbers of either sign as small numbers: 0, -1, 1, -2, 2, ... */
static unsigned fold(int value)
{
    return value < 0 ? 2 * (unsigned)-value - 1 : 2 * (unsigned)value;
}

static int unfold(unsigned value)
{
    return value & 1 ? -(int)((value + 1) / 2) : (int)(value / 2);
}

static buffer deflated(const buffer *from)
{
    uLongf size = compressBound(from->size);
    buffer to = {.data = allocate(size), .room = size};
    if (compress2(to.data, &size, from->data ? from->data : to.data, from->size, 9) != Z_OK)
        fail("zlib cannot compress");
    to.size = size;
    return to;
}

static buffer inflated(const buffer *from, size_t size)
{
    uLongf n = size;
    buffer to = {.data = allocate(size), .size = size, .room = size};
    if (uncompress(to.data, &n, from->data, from->size) != Z_OK || n != size)
        fail("the coded file is damaged");
    return to;
}

/* A luma plane without gaps, and the shape that all of a clip have. */
typedef struct shape {
    int32_t width, height, bit_depth;
} shape;

static size_t sample_bytes(const shape *s)
{
    return s->bit_depth > 8 ? 2 : 1;
}

static size_t plane_bytes(const shape *s)
{
    return (size_t)s->width * (size_t)s->height * sample_bytes(s);
}

static int get_sample(const shape *s, const uint8_t *plane, int32_t x, int32_t y)
{
    size_t index = (size_t)y * (size_t)s->width + (size_t)x;
    return s->bit_depth > 8 ? ((const uint16_t *)plane)[index] : plane[index];
}

static void set_sample(const shape *s, uint8_t *plane, int32_t x, int32_t y, int value)
{
    size_t index = (size_t)y * (size_t)s->width + (size_t)x;
    if (s->bit_depth > 8)
        ((uint16_t *)plane)[index] = (uint16_t)value;
    else
        plane[index] = (uint8_t)value;
}

static mvf_picture as_picture(const shape *s, const uint8_t *plane)
{
    mvf_picture picture;
    mvf_picture_init(&picture);
    picture.data = plane;
    picture.stride_bytes = (ptrdiff_t)(plane_bytes(s) / (size_t)s->height);
    return picture;
}

/* The median of left, upper, and left + upper - upper left: the predictor of JPEG-LS. */
static int predict_intra(const shape *s, const uint8_t *plane, int32_t x, int32_t y)
{
    int left = x ? get_sample(s, plane, x - 1, y) : y ? get_sample(s, plane, x, y - 1) : 0;
    int up = y ? get_sample(s, plane, x, y - 1) : left;
    int corner = x && y ? get_sample(s, plane, x - 1, y - 1) : up;
    int low = left < up ? left : up, high = left < up ? up : left;
    return corner >= high ? low : corner <= low ? high : left + up - corner;
}

/* Differences modulo 2^depth, folded; with two bytes a sample, first all low ones, then all high
 * ones. `prediction` is a plane, or NULL for intra. */
static buffer code_residual(const shape *s, const uint8_t *plane, const uint8_t *prediction)
{
    int half = 1 << (s->bit_depth - 1), all = 2 * half;
    size_t n = (size_t)s->width * (size_t)s->height, i = 0;
    buffer residual = {.data = allocate(n * sample_bytes(s)), .size = n * sample_bytes(s)};
    for (int32_t y = 0; y < s->height; y++)
        for (int32_t x = 0; x < s->width; x++, i++) {
            int predicted =
                prediction ? get_sample(s, prediction, x, y) : predict_intra(s, plane, x, y);
            int difference = get_sample(s, plane, x, y) - predicted;
            unsigned folded = fold((difference + half + all) % all - half);
            residual.data[i] = (uint8_t)folded;
            if (sample_bytes(s) == 2)
                residual.data[n + i] = (uint8_t)(folded >> 8);
        }
    buffer coded = deflated(&residual);
    free(residual.data);
    return coded;
}

static void decode_residual(const shape *s, const buffer *coded, uint8_t *plane,
                            const uint8_t *prediction)
{
    size_t n = (size_t)s->width * (size_t)s->height, i = 0;
    int all = 1 << s->bit_depth;
    buffer residual = inflated(coded, n * sample_bytes(s));
    for (int32_t y = 0; y < s->height; y++)
        for (int32_t x = 0; x < s->width; x++, i++) {
            int predicted =
                prediction ? get_sample(s, prediction, x, y) : predict_intra(s, plane, x, y);
            unsigned high = sample_bytes(s) == 2 ? residual.data[n + i] : 0;
            int value = predicted + unfold(residual.data[i] | high << 8);
            set_sample(s, plane, x, y, (value + all) % all);
        }
    free(residual.data);
}

/* The blocks of a field as they are coded: in the order of the tree, with the last vector to
 * predict the next from. */
typedef struct block_stream {
    const shape *s;
    mvf_block *next, *end;
    mvf_block last;
    /* One byte a square: whether it is split; then each vector, its bytes apart. */
    buffer splits, vectors;
} block_stream;

static int32_t visible(int32_t origin, int32_t size, int32_t frame)
{
    return frame - origin < size ? frame - origin : size;
}

static void put_number(buffer *b, int value)
{
    unsigned folded = fold(value);
    put_byte(b, folded & 255);
    put_byte(b, folded >> 8);
}

static int get_number(buffer *b)
{
    unsigned low = get_byte(b);
    return unfold(low | get_byte(b) << 8);
}

static void write_square(block_stream *b, int32_t x, int32_t y, int32_t size)
{
    if (x >= b->s->width || y >= b->s->height)
        return;
    int is_leaf =
        b->next->w == visible(x, size, b->s->width) && b->next->h == visible(y, size, b->s->height);
    if (size > SMALLEST)
        put_byte(&b->splits, !is_leaf);
    if (is_leaf) {
        put_number(&b->vectors, b->next->mv_x - b->last.mv_x);
        put_number(&b->vectors, b->next->mv_y - b->last.mv_y);
        b->last = *b->next++;
        return;
    }
    for (int32_t i = 0; i < 4; i++)
        write_square(b, x + i % 2 * size / 2, y + i / 2 * size / 2, size / 2);
}

static void read_square(block_stream *b, int32_t x, int32_t y, int32_t size)
{
    if (x >= b->s->width || y >= b->s->height)
        return;
    if (size > SMALLEST && get_byte(&b->splits)) {
        for (int32_t i = 0; i < 4; i++)
            read_square(b, x + i % 2 * size / 2, y + i / 2 * size / 2, size / 2);
        return;
    }
    if (b->next == b->end)
        fail("the coded file is damaged");
    mvf_block block = {.x = x, .y = y, .dir = -1};
    block.w = (uint16_t)visible(x, size, b->s->width);
    block.h = (uint16_t)visible(y, size, b->s->height);
    block.mv_x = (int16_t)(b->last.mv_x + get_number(&b->vectors));
    block.mv_y = (int16_t)(b->last.mv_y + get_number(&b->vectors));
    b->last = *b->next++ = block;
}

static void each_square(block_stream *b, void (*run)(block_stream *, int32_t, int32_t, int32_t))
{
    for (int32_t y = 0; y < b->s->height; y += SQUARE)
        for (int32_t x = 0; x < b->s->width; x += SQUARE)
            run(b, x, y, SQUARE);
}

/* The number of blocks, the splits and the vectors, deflated behind their sizes. */
static buffer code_vectors(const shape *s, const mvf_field *field)
{
    block_stream b = {.s = s, .next = field->blocks, .end = field->blocks + field->n_blocks};
    buffer plain = {.data = NULL};
    each_square(&b, write_square);
    for (size_t i = 0; i < b.splits.size; i++)
        put_byte(&plain, b.splits.data[i]);
    /* Like bytes side by side deflate best. */
    for (size_t byte = 0; byte < 4; byte++)
        for (size_t i = byte; i < b.vectors.size; i += 4)
            put_byte(&plain, b.vectors.data[i]);
    buffer packed = deflated(&plain), coded = {.data = NULL};
    for (int i = 0; i < 4; i++)
        put_byte(&coded, (unsigned)(b.splits.size >> 8 * i & 255));
    for (int i = 0; i < 4; i++)
        put_byte(&coded, (unsigned)(field->n_blocks >> 8 * i & 255));
    for (size_t i = 0; i < packed.size; i++)
        put_byte(&coded, packed.data[i]);
    free(b.splits.data);
    free(b.vectors.data);
    free(plain.data);
    free(packed.data);
    return coded;
}

static size_t get_size(buffer *b)
{
    size_t size = 0;
    for (int i = 0; i < 4; i++)
        size |= (size_t)get_byte(b) << 8 * i;
    return size;
}

static mvf_field *decode_vectors(const shape *s, buffer *coded)
{
    mvf_field *field;
    size_t n_splits = get_size(coded), n_blocks = get_size(coded);
    if (n_blocks > (size_t)s->width * (size_t)s->height || n_splits > n_blocks)
        fail("the coded file is damaged");
    buffer rest = {.data = coded->data + coded->next, .size = coded->size - coded->next};
    buffer plain = inflated(&rest, n_splits + 4 * n_blocks), vectors = {.data = NULL};
    for (size_t i = 0; i < 4 * n_blocks; i++)
        put_byte(&vectors, plain.data[n_splits + i % 4 * n_blocks + i / 4]);
    require(mvf_field_alloc(&field, 1, n_blocks), "field");
    field->width = s->width;
    field->height = s->height;
    field->bit_depth = s->bit_depth;
    field->mv_scale = 4;
    block_stream b = {.s = s, .next = field->blocks, .end = field->blocks + n_blocks};
    b.splits = (buffer){.data = plain.data, .size = n_splits};
    b.vectors = vectors;
    each_square(&b, read_square);
    free(vectors.data);
    free(plain.data);
    return field;
}

static uint8_t *compensate(const shape *s, const mvf_field *field, const uint8_t *previous)
{
    uint8_t *prediction = allocate(plane_bytes(s));
    mvf_picture reference = as_picture(s, previous);
    require(mvf_field_predict(field, &reference, MVF_INTERPOLATION_H264, prediction,
                              reference.stride_bytes),
            "prediction");
    return prediction;
}

/* What a clip took. */
typedef struct totals {
    unsigned long long frames, inter_frames, intra_only, vectors, residual;
} totals;

static void write_size(FILE *file, size_t size)
{
    for (int i = 0; i < 4; i++)
        fputc((int)(size >> 8 * i & 255), file);
}

static void write_chunk(FILE *file, const buffer *b)
{
    write_size(file, b->size);
    if (b->size && fwrite(b->data, 1, b->size, file) != b->size)
        fail("writing failed");
}

static void encode_frame(FILE *file, const shape *s, mvf_searcher *searcher, const uint8_t *plane,
                         const uint8_t *previous, totals *t)
{
    buffer residual = code_residual(s, plane, NULL), vectors = {.data = NULL};
    t->frames++;
    t->intra_only += residual.size;
    if (previous) {
        mvf_picture current = as_picture(s, plane), reference = as_picture(s, previous);
        mvf_field *field;
        require(mvf_searcher_submit(searcher, &current, &reference, 1, NULL), "search");
        require(mvf_searcher_flush(searcher), "search");
        require(mvf_searcher_receive(searcher, &field), "search");
        uint8_t *prediction = compensate(s, field, previous);
        buffer inter = code_residual(s, plane, prediction), moved = code_vectors(s, field);
        int wins = inter.size + moved.size < residual.size;
        free(wins ? residual.data : inter.data);
        if (wins) {
            residual = inter;
            vectors = moved;
            t->inter_frames++;
        } else {
            free(moved.data);
        }
        free(prediction);
        mvf_field_free(&field);
    }
    fputc(vectors.size > 0, file);
    write_chunk(file, &vectors);
    write_chunk(file, &residual);
    t->vectors += vectors.size;
    t->residual += residual.size;
    free(vectors.data);
    free(residual.data);
}

/* The frame's luma without gaps between rows. */
static uint8_t *copy_luma(mvf_frame *frame, shape *s)
{
    mvf_picture picture;
    require(mvf_frame_get_picture(frame, &picture, &s->width, &s->height, &s->bit_depth), "frame");
    uint8_t *plane = allocate(plane_bytes(s));
    size_t row_bytes = plane_bytes(s) / (size_t)s->height;
    for (int32_t y = 0; y < s->height; y++)
        memcpy(plane + (size_t)y * row_bytes,
               (const uint8_t *)picture.data + y * picture.stride_bytes, row_bytes);
    return plane;
}

static mvf_searcher *open_searcher(const shape *s)
{
    mvf_searcher *searcher;
    mvf_options options;
    mvf_options_init(&options);
    options.block_w = options.block_h = SQUARE;
    options.partitions = MVF_PARTITIONS_SQUARE;
    options.partition_min = SMALLEST;
    options.leaf_cost = 48;
    options.lambda_q4 = mvf_lambda_q4(24);
    options.subpel = MVF_SUBPEL_QUARTER;
    require(mvf_searcher_open(&searcher, &options, s->width, s->height, s->bit_depth), "searcher");
    return searcher;
}

static void start_file(FILE *file, const shape *s)
{
    fwrite("MVL1", 1, 4, file);
    write_size(file, (size_t)s->width);
    write_size(file, (size_t)s->height);
    write_size(file, (size_t)s->bit_depth);
}

static void print_report(const shape *s, const totals *t)
{
    unsigned long long coded = t->vectors + t->residual;
    printf("%dx%d, %d bits, %llu frames, %llu of them predicted from the frame before\n", s->width,
           s->height, s->bit_depth, t->frames, t->inter_frames);
    printf("intra only   %llu bits\n", 8 * t->intra_only);
    printf("vectors      %llu bits\n", 8 * t->vectors);
    printf("residual     %llu bits\n", 8 * t->residual);
    printf("together     %.1f %% of intra only\n", 100.0 * (double)coded / (double)t->intra_only);
}

static void encode(const char *clip, const char *path, unsigned long long n_frames)
{
    mvf_source *source;
    mvf_frame *frame;
    mvf_searcher *searcher = NULL;
    uint8_t *previous = NULL;
    shape s = {0, 0, 0}, now;
    totals t = {.frames = 0};
    mvf_status status = MVF_OK;
    FILE *file = fopen(path, "wb");
    if (!file)
        fail("the coded file cannot be written");
    require(mvf_source_open(&source, clip, NULL), clip);
    while (t.frames < n_frames && (status = mvf_source_read(source, &frame)) == MVF_OK) {
        uint8_t *plane = copy_luma(frame, &now);
        if (!searcher) {
            s = now;
            searcher = open_searcher(&s);
            start_file(file, &s);
        }
        if (memcmp(&s, &now, sizeof s) != 0)
            fail("the clip changes its size");
        encode_frame(file, &s, searcher, plane, previous, &t);
        free(previous);
        previous = plane;
        mvf_frame_free(&frame);
    }
    if (status != MVF_EOF)
        require(status, clip);
    free(previous);
    mvf_searcher_close(&searcher);
    mvf_source_close(&source);
    if (fclose(file))
        fail("writing failed");
    print_report(&s, &t);
}

static size_t read_size(FILE *file)
{
    size_t size = 0;
    for (int i = 0; i < 4; i++)
        size |= (size_t)(fgetc(file) & 255) << 8 * i;
    if (feof(file))
        fail("the coded file is damaged");
    return size;
}

static buffer read_chunk(FILE *file)
{
    size_t size = read_size(file);
    buffer b = {.data = allocate(size), .size = size, .room = size};
    if (size && fread(b.data, 1, size, file) != size)
        fail("the coded file is damaged");
    return b;
}

static void decode_frame(FILE *file, const shape *s, uint8_t *plane, const uint8_t *previous)
{
    uint8_t *prediction = NULL;
    buffer vectors = read_chunk(file), residual = read_chunk(file);
    if (vectors.size) {
        mvf_field *field = decode_vectors(s, &vectors);
        for (size_t i = 0; i < field->n_blocks; i++)
            field->blocks[i].ref = 0;
        prediction = compensate(s, field, previous);
        mvf_field_free(&field);
    }
    decode_residual(s, &residual, plane, prediction);
    free(prediction);
    free(vectors.data);
    free(residual.data);
}

static void decode(const char *path, const char *luma)
{
    char magic[4];
    FILE *file = fopen(path, "rb"), *out = fopen(luma, "wb");
    if (!file || !out)
        fail("a file cannot be opened");
    if (fread(magic, 1, 4, file) != 4 || memcmp(magic, "MVL1", 4) != 0)
        fail("this is not a coded file");
    shape s;
    s.width = (int32_t)read_size(file);
    s.height = (int32_t)read_size(file);
    s.bit_depth = (int32_t)read_size(file);
    if (s.width < 1 || s.width > MVF_MAX_DIMENSION || s.height < 1 ||
        s.height > MVF_MAX_DIMENSION || s.bit_depth < 8 || s.bit_depth > 16)
        fail("the coded file is damaged");
    uint8_t *plane = allocate(plane_bytes(&s)), *previous = allocate(plane_bytes(&s));
    while (fgetc(file) != EOF) {
        decode_frame(file, &s, plane, previous);
        if (fwrite(plane, 1, plane_bytes(&s), out) != plane_bytes(&s))
            fail("writing failed");
        memcpy(previous, plane, plane_bytes(&s));
    }
    free(plane);
    free(previous);
    fclose(file);
    if (fclose(out))
        fail("writing failed");
}

int main(int argc, char **argv)
{
    if (argc >= 4 && !strcmp(argv[1], "encode"))
        encode(argv[2], argv[3], argc > 4 ? strtoull(argv[4], NULL, 10) : ~0ull);
    else if (argc == 4 && !strcmp(argv[1], "decode"))
        decode(argv[2], argv[3]);
    else
        fail("usage: lossless_coder encode CLIP CODED [FRAMES] | decode CODED LUMA");
    return 0;
}
