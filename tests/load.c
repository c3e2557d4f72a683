/*
 * load.c - much at once, much one after the other, and for long, through the public API.
 *
 *     load together N [cpu|cuda [WxH]]   N searchers in N threads find what one alone finds
 *     load cycles N CLIP [cpu|cuda]      everything opened, used and closed N times
 *     load frames N [FORMAT]             N small frames through one searcher and one sink
 *
 * The last two print what the process holds at each tenth of the way, and fail where it has grown
 * since half of it. Under sanitizers, which hold memory of their own, memory is left out there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mvfield/mvfield.h>
#include <mvfield/video.h>

/* The largest, and the usual ones. */
#define WIDTH 93
#define HEIGHT 70
#define N_PLANES 6
#define MAX_THREADS 64
/* From half of the way on. */
#define MAX_GROWTH_KB 8192
#define MAX_HEAP_GROWTH_KB 256

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static uint8_t planes[N_PLANES][HEIGHT][WIDTH];
static int32_t width = WIDTH, height = HEIGHT;

#define CHECK(call)                                                                    \
    do {                                                                               \
        mvf_status check_status = (call);                                              \
        if (check_status != MVF_OK) {                                                  \
            fprintf(stderr, "load: %s: %s\n", #call, mvf_status_string(check_status)); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* A texture that moves by (-3, -2) px a plane. */
static void fill_planes(void)
{
    for (int n = 0; n < N_PLANES; n++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                uint32_t across = (uint32_t)(x + 3 * n), down = (uint32_t)(y + 2 * n);
                uint32_t hash = across * 73856093u ^ down * 19349663u;
                hash = (hash ^ hash >> 13) * 0x5bd1e995;
                planes[n][y][x] = (uint8_t)(hash >> 15);
            }
}

static mvf_picture picture_of(int64_t frame)
{
    mvf_picture picture;
    mvf_picture_init(&picture);
    picture.data = planes[frame % N_PLANES];
    picture.stride_bytes = WIDTH;
    picture.frame = picture.pts = frame;
    picture.time_base = (mvf_rational){1, 25};
    return picture;
}

/* Kinds of searches. */

static void set_overlap(mvf_options *options)
{
    options->block_w = options->block_h = 8;
    options->step_x = options->step_y = 4;
    options->edges = MVF_EDGES_INSIDE;
}

static void set_quarter(mvf_options *options)
{
    options->subpel = MVF_SUBPEL_QUARTER;
    options->refine_metric = MVF_METRIC_SATD;
    options->merge = MVF_MERGE_BEST;
}

static void set_squares(mvf_options *options)
{
    options->block_w = options->block_h = 64;
    options->partitions = MVF_PARTITIONS_SQUARE;
    options->subpel = MVF_SUBPEL_QUARTER;
    options->lambda_q4 = 64;
}

static void set_hier(mvf_options *options)
{
    options->method = MVF_METHOD_HIER;
    options->range_x = options->range_y = 32;
}

static void set_truemotion(mvf_options *options)
{
    options->method = MVF_METHOD_TRUEMOTION;
    options->effort = MVF_EFFORT_LOW;
}

static void set_path(mvf_options *options)
{
    options->smooth = MVF_SMOOTH_PATH;
}

static const struct {
    const char *name;
    void (*set)(mvf_options *options);
} kinds[] = {{"full", NULL},           {"overlap", set_overlap}, {"quarter", set_quarter},
             {"squares", set_squares}, {"hier", set_hier},       {"truemotion", set_truemotion},
             {"path", set_path}};

#define N_KINDS ((int)(sizeof kinds / sizeof *kinds))

static mvf_options options_of(int kind, mvf_backend backend)
{
    mvf_options options;
    mvf_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    options.range_x = options.range_y = 5;
    options.max_in_flight = 3;
    if (kinds[kind].set)
        kinds[kind].set(&options);
    return options;
}

static mvf_backend backend_named(const char *name)
{
    if (name && strcmp(name, "cpu") && strcmp(name, "cuda")) {
        fprintf(stderr, "load: the backend is cpu or cuda, not %s\n", name);
        exit(2);
    }
    return name && !strcmp(name, "cuda") ? MVF_BACKEND_CUDA : MVF_BACKEND_CPU;
}

/* Together. */

static uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return digest;
}

/* Adds what comes back; until the end, or as far as it is ready. */
static void take_fields(mvf_searcher *searcher, uint64_t *digest, int *n_fields)
{
    mvf_field *field;
    mvf_status status;
    while ((status = mvf_searcher_receive(searcher, &field)) == MVF_OK) {
        *digest = digest_bytes(*digest, field->blocks, field->n_blocks * sizeof *field->blocks);
        if (field->confidence)
            *digest = digest_bytes(*digest, field->confidence, field->n_blocks);
        ++*n_fields;
        mvf_field_free(&field);
    }
    if (status != MVF_AGAIN && status != MVF_EOF)
        CHECK(status);
}

#define N_FRAMES 5

/* What a searcher of its own makes of the frames. */
static uint64_t search_all(int kind, mvf_backend backend)
{
    uint64_t digest = 0xcbf29ce484222325;
    int n_fields = 0;
    mvf_options options = options_of(kind, backend);
    mvf_searcher *searcher;
    CHECK(mvf_searcher_open(&searcher, &options, width, height, 8));
    for (int64_t n = 1; n < N_FRAMES; n++) {
        mvf_picture current = picture_of(n), references[2] = {picture_of(n - 1), picture_of(0)};
        mvf_status status;
        while ((status = mvf_searcher_submit(searcher, &current, references, options.merge ? 2 : 1,
                                             NULL)) == MVF_AGAIN)
            take_fields(searcher, &digest, &n_fields);
        CHECK(status);
    }
    CHECK(mvf_searcher_flush(searcher));
    take_fields(searcher, &digest, &n_fields);
    mvf_searcher_close(&searcher);
    return n_fields == N_FRAMES - 1 ? digest : 0;
}

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    mvf_backend backend;
    int kind;
    uint64_t digest;
} worker;

static void *work(void *opaque)
{
    worker *self = opaque;
    pthread_barrier_wait(self->barrier);
    self->digest = search_all(self->kind, self->backend);
    return NULL;
}

/* All of one kind, or each of the next one. Returns how many differ from what one found alone. */
static int work_together(int n, int kind, int step, mvf_backend backend, const uint64_t *alone)
{
    worker workers[MAX_THREADS];
    pthread_barrier_t barrier;
    int n_bad = 0;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)n))
        exit(1);
    for (int i = 0; i < n; i++) {
        workers[i] =
            (worker){.barrier = &barrier, .backend = backend, .kind = (kind + i * step) % N_KINDS};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            exit(1);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        n_bad += workers[i].digest != alone[workers[i].kind];
    }
    pthread_barrier_destroy(&barrier);
    printf("%d of %s%s at once: %d differ\n", n, kinds[kind].name, step ? " and others" : "",
           n_bad);
    return n_bad;
}

static int run_together(int n, const char *backend_name, const char *size)
{
    mvf_backend backend = backend_named(backend_name);
    uint64_t alone[N_KINDS];
    int n_bad = 0;
    if (n < 1 || n > MAX_THREADS || (size && sscanf(size, "%dx%d", &width, &height) != 2) ||
        width < 1 || width > WIDTH || height < 1 || height > HEIGHT) {
        fprintf(stderr, "load: at most %d threads and %dx%d px\n", MAX_THREADS, WIDTH, HEIGHT);
        return 2;
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        alone[kind] = search_all(kind, backend);
        n_bad += alone[kind] == 0;
    }
    for (int kind = 0; kind < N_KINDS; kind++)
        n_bad += work_together(n, kind, 0, backend, alone);
    for (int round = 0; round < 2; round++)
        n_bad += work_together(n, round, 1, backend, alone);
    return n_bad != 0;
}

/* What the process holds. */

typedef struct usage {
    long rss_kb, heap_kb;
    int n_descriptors, n_threads;
    /* Of device 0; -1 where it cannot be told. */
    long device_kb;
} usage;

static int count_entries(const char *path)
{
    int n = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        exit(1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* The memory of device 0 that is in use by anyone. */
static long device_kb(void)
{
    static int (*push)(void *), (*pop)(void **), (*get)(size_t *, size_t *);
    static void *context;
    size_t n_free, n_all;
    if (!context) {
        int (*initialise)(unsigned), (*retain)(void **, int);
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!driver)
            return -1;
        *(void **)&initialise = dlsym(driver, "cuInit");
        *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
        *(void **)&push = dlsym(driver, "cuCtxPushCurrent_v2");
        *(void **)&pop = dlsym(driver, "cuCtxPopCurrent_v2");
        *(void **)&get = dlsym(driver, "cuMemGetInfo_v2");
        if (!initialise || !retain || !push || !pop || !get || initialise(0) ||
            retain(&context, 0)) {
            dlclose(driver);
            return -1;
        }
    }
    if (push(context))
        return -1;
    int error = get(&n_free, &n_all);
    pop(&context);
    return error ? -1 : (long)((n_all - n_free) / 1024);
}

static usage measure(mvf_backend backend)
{
    usage now = {.rss_kb = resident_kb(),
                 .n_descriptors = count_entries("/proc/self/fd"),
                 .n_threads = count_entries("/proc/self/task") - 2,
                 .device_kb = backend == MVF_BACKEND_CUDA ? device_kb() : -1};
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 heap = mallinfo2();
    now.heap_kb = (long)((heap.uordblks + heap.hblkhd) / 1024);
#endif
    /* Of the folder that is open to count them. */
    now.n_descriptors -= 3;
    return now;
}

static int has_grown(const usage *from, const usage *to)
{
    int grew = to->n_descriptors > from->n_descriptors || to->n_threads > from->n_threads ||
               to->device_kb > from->device_kb;
    return grew || (!IS_SANITIZED && (to->rss_kb > from->rss_kb + MAX_GROWTH_KB ||
                                      to->heap_kb > from->heap_kb + MAX_HEAP_GROWTH_KB));
}

/* Calls `step` n times. */
static int repeat(int64_t n, mvf_backend backend, void (*step)(int64_t n, void *opaque),
                  void *opaque)
{
    usage halfway = {.rss_kb = 0}, now = halfway;
    printf("%10s %12s %10s %12s %8s %10s\n", "times", "resident KB", "heap KB", "descriptors",
           "threads", "device KB");
    for (int64_t i = 0; i < n; i++) {
        step(i, opaque);
        if ((i + 1) % (n / 10 ? n / 10 : 1) && i + 1 != n)
            continue;
        now = measure(backend);
        printf("%10" PRId64 " %12ld %10ld %12d %8d %10ld\n", i + 1, now.rss_kb, now.heap_kb,
               now.n_descriptors, now.n_threads, now.device_kb);
        if (i + 1 <= n / 2)
            halfway = now;
    }
    if (!has_grown(&halfway, &now))
        return 0;
    printf("it has grown\n");
    return 1;
}

/* Cycles. */

typedef struct cycles {
    const char *clip;
    char folder[64];
    mvf_backend backend;
} cycles;

static const char *path_in(const cycles *c, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", c->folder, name);
    return path;
}

/* Half of them are left in the middle of their work. */
static void use_searcher(int64_t n, const cycles *c, mvf_field **field)
{
    mvf_searcher *searcher;
    mvf_options options = options_of((int)(n % N_KINDS), c->backend);
    CHECK(mvf_searcher_open(&searcher, &options, width, height, 8));
    for (int64_t frame = 1; frame < 3; frame++) {
        mvf_picture current = picture_of(frame), reference = picture_of(frame - 1);
        CHECK(mvf_searcher_submit(searcher, &current, &reference, 1, NULL));
    }
    CHECK(mvf_searcher_flush(searcher));
    CHECK(mvf_searcher_receive(searcher, field));
    if (n % 2) {
        mvf_field *last;
        CHECK(mvf_searcher_receive(searcher, &last));
        mvf_field_free(&last);
    }
    mvf_searcher_close(&searcher);
}

static void use_sink(int64_t n, const cycles *c, const mvf_field *field)
{
    static const char *const names[] = {"a.csv", "a.jsonl", "a.npy", "a.npz", "a.yuview.csv"};
    mvf_sink *sink;
    mvf_sink_options options;
    mvf_sink_options_init(&options);
    options.overwrite = 1;
    const char *name = names[n % 5];
    if (!strcmp(name, "a.npy") && (!field->grid.cols || field->n_references != 1))
        name = "a.csv";
    options.compression = strcmp(name, "a.npz") ? -1 : (int32_t)(n % 10);
    CHECK(mvf_sink_open(&sink, path_in(c, name), &options));
    CHECK(mvf_sink_write(sink, field));
    if (n % 3)
        CHECK(mvf_sink_close(&sink));
    else
        mvf_sink_discard(&sink);
    if (mvf_sink_open(&sink, path_in(c, "missing/a.csv"), &options) == MVF_OK)
        exit(1);
}

static void use_reader(int64_t n, const cycles *c, const mvf_field *field)
{
    mvf_sink *sink;
    mvf_reader *reader;
    mvf_sink_options options;
    mvf_sink_options_init(&options);
    options.overwrite = 1;
    options.compression = n % 2 ? 6 : 0;
    CHECK(mvf_sink_open(&sink, path_in(c, "a.mvf"), &options));
    CHECK(mvf_sink_write(sink, field));
    CHECK(mvf_sink_close(&sink));
    CHECK(mvf_reader_open(&reader, path_in(c, "a.mvf"), NULL));
    for (int i = 0; i < n % 3; i++) {
        mvf_field *back = NULL;
        if (mvf_reader_next(reader, &back) != (i ? MVF_EOF : MVF_OK))
            exit(1);
        mvf_field_free(&back);
    }
    mvf_reader_close(&reader);
    if (mvf_reader_open(&reader, c->clip, NULL) == MVF_OK)
        exit(1);
}

static void use_source(int64_t n, const cycles *c)
{
    mvf_source *source;
    mvf_overlay *overlay = NULL;
    mvf_source_options options;
    mvf_overlay_options overlay_options;
    mvf_source_options_init(&options);
    mvf_overlay_options_init(&overlay_options);
    overlay_options.overwrite = 1;
    options.keep_other_streams = n % 2 != 0;
    options.codec_vectors = n % 4 == 1;
    CHECK(mvf_source_open(&source, c->clip, &options));
    CHECK(mvf_overlay_open(&overlay, path_in(c, n % 3 ? "a.y4m" : "a.avi"), source,
                           &overlay_options));
    for (int64_t i = 0; i < n % 4; i++) {
        mvf_frame *frame;
        CHECK(mvf_source_read(source, &frame));
        CHECK(mvf_overlay_write(overlay, frame, NULL, NULL));
        mvf_frame_free(&frame);
    }
    if (n % 4 > 1)
        CHECK(mvf_overlay_close(&overlay));
    mvf_overlay_discard(&overlay);
    mvf_source_close(&source);
    if (mvf_source_open(&source, path_in(c, n % 2 ? "missing.mp4" : "a.mvf"), NULL) == MVF_OK)
        exit(1);
}

static void cycle(int64_t n, void *opaque)
{
    const cycles *c = opaque;
    mvf_field *field;
    use_searcher(n, c, &field);
    use_sink(n, c, field);
    use_reader(n, c, field);
    mvf_field_free(&field);
    use_source(n, c);
}

static int run_cycles(int64_t n, const char *clip, const char *backend_name)
{
    cycles c = {.clip = clip, .backend = backend_named(backend_name)};
    snprintf(c.folder, sizeof c.folder, "load-XXXXXX");
    if (!mkdtemp(c.folder))
        return 1;
    mvf_ffmpeg_quiet();
    int grew = repeat(n, c.backend, cycle, &c);
    static const char *const names[] = {"a.csv",        "a.jsonl", "a.npy", "a.npz",
                                        "a.yuview.csv", "a.mvf",   "a.y4m", "a.avi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(path_in(&c, names[i]));
    return rmdir(c.folder) || grew;
}

/* Frames. */

typedef struct stream {
    mvf_searcher *searcher;
    mvf_sink *sink;
} stream;

static void write_fields(const stream *s)
{
    mvf_field *field;
    mvf_status status;
    while ((status = mvf_searcher_receive(s->searcher, &field)) == MVF_OK) {
        CHECK(mvf_sink_write(s->sink, field));
        mvf_field_free(&field);
    }
    if (status != MVF_AGAIN && status != MVF_EOF)
        CHECK(status);
}

static void search_frame(int64_t n, void *opaque)
{
    const stream *s = opaque;
    mvf_picture current = picture_of(n + 1), reference = picture_of(n);
    mvf_status status;
    while ((status = mvf_searcher_submit(s->searcher, &current, &reference, 1, NULL)) == MVF_AGAIN)
        write_fields(s);
    CHECK(status);
}

static int run_frames(int64_t n, const char *format)
{
    stream s;
    mvf_options options = options_of(0, MVF_BACKEND_CPU);
    mvf_sink_options sink_options;
    mvf_sink_options_init(&sink_options);
    sink_options.format = format ? format : "csv";
    sink_options.overwrite = 1;
    options.range_x = options.range_y = 2;
    CHECK(mvf_searcher_open(&s.searcher, &options, width, height, 8));
    CHECK(mvf_sink_open(&s.sink, "/dev/null", &sink_options));
    int grew = repeat(n, options.backend, search_frame, &s);
    CHECK(mvf_searcher_flush(s.searcher));
    write_fields(&s);
    CHECK(mvf_sink_close(&s.sink));
    mvf_searcher_close(&s.searcher);
    return grew;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    fill_planes();
    if (n > 0 && !strcmp(argv[1], "together"))
        return run_together((int)n, argv[3], argc > 3 ? argv[4] : NULL);
    if (n > 0 && argc > 3 && !strcmp(argv[1], "cycles"))
        return run_cycles(n, argv[3], argv[4]);
    if (n > 0 && !strcmp(argv[1], "frames"))
        return run_frames(n, argv[3]);
    fprintf(stderr, "usage: load together N [cpu|cuda [WxH]] | cycles N CLIP [cpu|cuda] | "
                    "frames N [FORMAT]\n");
    return 2;
}
