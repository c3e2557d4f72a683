/*
 * Planes are uploaded and padded on one stream; those that lie on the device already are padded
 * from where they are. Jobs gather in a batch, which is launched on a stream of its own when it is
 * full, when the device has too little to do, or when one of its answers is waited for: so a slow
 * caller sees each job start at once, and a fast one fills the device.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "search/engine_cuda.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/integers.h"
#include "base/memory.h"
#include "cuda/device.h"
#include "plane/plane.h"
#include "search/hier_cuda.h"
#include "search/launch_cuda.h"
#include "search/refine_cuda.h"
#include "search/smooth_cuda.h"
#include "search/truemotion.h"
#include "search/truemotion_cuda.h"

extern const unsigned char mvf_fatbin_plane[];
extern const unsigned char mvf_fatbin_self_test[];

/* Batches in flight with which the next one starts only when it is full, and those with which it
 * starts once it has its share of what may be in flight; with fewer it starts at once. A third one
 * waits on the device while the second fills the places that the first leaves at its end. */
#define MOST_BATCHES 3
#define BUSY_BATCHES 2
/* That share: one in so many. */
#define BATCH_SHARE 8
/* Answers of a batch take no more memory than this, unless one job's do. */
#define BATCH_BYTES ((size_t)64 << 20)

/* Pictures are copied by several threads in parts of so many bytes. */
#define COPY_PART_BYTES ((size_t)128 << 10)

_Static_assert(sizeof(mvf_match) == 8 && offsetof(mvf_match, y) == 2 &&
                   offsetof(mvf_match, cost) == 4,
               "search.cu writes this layout");

/* Device memory of method truemotion that batches use in turn: images, and what the pairs of one
 * batch are searched in; and that planes use, from when they are loaded until their image is built.
 */
typedef enum area_kind { AREA_IMAGE, AREA_SEARCH, AREA_PICTURE, N_AREA_KINDS } area_kind;

typedef struct area {
    CUdeviceptr memory;
    /* The plane whose image or picture it is, if any. */
    mvf_engine_plane *holder;
    uint64_t last_use;
    /* Of a picture: when it was read last. */
    CUevent read;
} area;

typedef enum batch_state { BATCH_OPEN, BATCH_RUNNING, BATCH_DONE } batch_state;

typedef struct batch {
    batch_state state;
    /* Of a batch that is done. */
    mvf_status status;
    mvf_engine_job *jobs[MVF_CUDA_BATCH];
    int32_t n_jobs;
    /* Jobs whose answers are not taken yet: the batch is idle once it is done and there are none.
     * Other threads take them. */
    atomic_int n_held;
    CUstream stream;
    CUevent done;
    /* Not with method truemotion, whose batches use areas: these ones, a bit each. */
    CUdeviceptr device_matches, scratch;
    uint64_t areas[N_AREA_KINDS];
    /* Room for the jobs' predictors and hints, here and on the device: as much as they have taken
     * at most. */
    mvf_vector *guides;
    CUdeviceptr device_guides;
    size_t n_guides;
    /* Whether scratch is as mvf_launch() expects it. */
    int scratch_is_clear;
    mvf_match *matches;
    /* Of smoothed vectors: they follow all matches, on the device, too. */
    mvf_vector *medians;
    struct batch *next;
} batch;

struct mvf_engine {
    mvf_cuda cuda;
    /* Its table of bits is the device's, bits. */
    mvf_search_config config;
    CUdeviceptr bits;
    /* The picture's rows, and the same with borders. */
    int64_t picture_stride_bytes;
    mvf_cuda_layout layout;
    CUmodule plane_module;
    CUfunction pad;
    /* The search: one of the three, by the method. */
    mvf_launch_plan plan;
    mvf_hier_plan hier;
    mvf_tm_plan truemotion;
    mvf_refine_plan refine;
    mvf_smooth_plan smooth;
    /* With method truemotion, whose images are built on a stream of their own. */
    CUstream build;
    area areas[N_AREA_KINDS][MVF_TM_MOST_IMAGES];
    int32_t n_areas[N_AREA_KINDS];
    uint64_t clock;
    CUstream upload;
    CUevent uploaded;
    /* The rows of the picture that is on its way into a plane, or 0: not needed yet. */
    CUdeviceptr picture;
    size_t n_blocks;
    /* Jobs of a full batch, and of one that starts while the device is busy. */
    int32_t batch_jobs, least_jobs;
    batch *batches;
    /* The batch that takes jobs, or NULL. */
    batch *open;
    /* Planes that are loaded and whose levels for method hier are not queued yet. */
    mvf_engine_plane *without_levels;
    /* The last job that was launched, whose matches stay where they are; all zero before it. */
    mvf_search_pair before;
};

/* Whether a plane's samples are in host memory: not at all, once the upload stream is done, or now.
 */
typedef enum host_copy { HOST_COPY_NONE, HOST_COPY_COMING, HOST_COPY_HERE } host_copy;

struct mvf_engine_plane {
    mvf_engine *engine;
    /* The picture in pinned memory, once that was needed. */
    uint8_t *staging;
    host_copy host_copy;
    /* The picture on the device, with borders. */
    CUdeviceptr padded;
    /* Sample (0, 0) of the padded plane. With method truemotion, which has none: the image, or 0
     * without one, and its area. */
    CUdeviceptr origin;
    int32_t area;
    /* With method truemotion, from the upload until the image is built: where the picture is, too.
     */
    area *picture;
    CUevent uploaded;
    /* The list that mvf_engine.without_levels begins. */
    int is_without_levels;
    mvf_engine_plane *next;
};

/* Opening and closing. */

static mvf_status run_self_test(mvf_cuda *cuda, CUmodule module, CUdeviceptr memory,
                                mvf_self_test_result *result)
{
    static const int32_t operands[6] = {-5, 7, 11, 11, 9, -3};
    CUfunction function;
    CUdeviceptr answer = memory + sizeof operands;
    void *arguments[] = {&memory, &answer};
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &function, module, "self_test");
    MVF_CUDA_TRY(cuda, cuMemcpyHtoDAsync_v2, memory, operands, sizeof operands, NULL);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, function, 1, 1, 1, MVF_SELF_TEST_THREADS, 1, 1, 0, NULL,
                 arguments, NULL);
    MVF_CUDA_TRY(cuda, cuMemcpyDtoH_v2, result, answer, sizeof *result);
    return MVF_OK;
}

/* Whether the predicate of __vibmin_s32 tells that the first operand is kept, as search.cu needs.
 */
static mvf_status self_test(mvf_cuda *cuda)
{
    mvf_self_test_result result = {0, 0, 7};
    CUmodule module;
    CUdeviceptr memory = 0;
    MVF_TRY(mvf_cuda_load(cuda, &module, mvf_fatbin_self_test));
    mvf_status status =
        mvf_cuda_check(cuda, cuda->driver.cuMemAlloc_v2(&memory, 256), "cuMemAlloc_v2");
    if (status == MVF_OK)
        status = run_self_test(cuda, module, memory, &result);
    if (memory)
        cuda->driver.cuMemFree_v2(memory);
    cuda->driver.cuModuleUnload(module);
    MVF_TRY(status);
    if (result.min_keeps_first == 3 && result.max_keeps_first == 6 && !result.wrong_values)
        return MVF_OK;
    return mvf_fail(&cuda->logger, MVF_ERROR_NO_DEVICE,
                    "the CUDA device fails the self-test of __vibmin_s32 (%x, %x, %x)",
                    result.min_keeps_first, result.max_keeps_first, result.wrong_values);
}

static void set_layout(mvf_engine *engine, const mvf_search_config *config)
{
    int64_t row_bytes = (int64_t)config->width * config->sample_bytes;
    engine->config = *config;
    engine->layout = mvf_cuda_plane_layout(config);
    engine->picture_stride_bytes = mvf_round_up_i64(row_bytes, MVF_PAD_BYTES);
    engine->n_blocks = config->n_matches;
}

static void set_batch_jobs(mvf_engine *engine, const mvf_options *options)
{
    size_t jobs = BATCH_BYTES / (engine->n_blocks * sizeof(mvf_match));
    if (jobs > (size_t)options->max_in_flight)
        jobs = (size_t)options->max_in_flight;
    if (jobs > MVF_CUDA_BATCH)
        jobs = MVF_CUDA_BATCH;
    engine->batch_jobs = jobs ? (int32_t)jobs : 1;
    engine->least_jobs = options->max_in_flight / BATCH_SHARE;
}

static int is_truemotion(const mvf_engine *engine)
{
    return engine->config.method == MVF_METHOD_TRUEMOTION;
}

static int is_hier(const mvf_engine *engine)
{
    return engine->config.method == MVF_METHOD_HIER;
}

static mvf_status open_search(mvf_engine *engine)
{
    mvf_cuda *cuda = &engine->cuda;
    if (is_hier(engine))
        return mvf_hier_plan_open(&engine->hier, cuda, &engine->config, &engine->layout);
    if (!is_truemotion(engine))
        return mvf_launch_plan_open(&engine->plan, cuda, &engine->config,
                                    engine->layout.stride_bytes);
    /* Its batches have no memory for three at a time. */
    engine->least_jobs = MVF_CUDA_BATCH;
    MVF_CUDA_TRY(cuda, cuStreamCreate, &engine->build, CU_STREAM_NON_BLOCKING);
    return mvf_tm_plan_open(&engine->truemotion, cuda, &engine->config,
                            engine->picture_stride_bytes, &engine->batch_jobs);
}

/* The caller's table, if there is one, onto the device. */
static mvf_status upload_bits(mvf_engine *engine)
{
    mvf_cuda *cuda = &engine->cuda;
    mvf_rate *rate = &engine->config.rate;
    size_t n_bytes = (size_t)rate->n_entries * sizeof *rate->table;
    if (!rate->table)
        return MVF_OK;
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &engine->bits, n_bytes);
    MVF_CUDA_TRY(cuda, cuMemcpyHtoDAsync_v2, engine->bits, rate->table, n_bytes, engine->upload);
    MVF_CUDA_TRY(cuda, cuStreamSynchronize, engine->upload);
    rate->table = (const uint16_t *)(uintptr_t)engine->bits;
    return MVF_OK;
}

static mvf_status open_in_context(mvf_engine *engine)
{
    mvf_cuda *cuda = &engine->cuda;
    const char *pad = engine->config.sample_bytes == 1 ? "pad_8" : "pad_16";
    MVF_TRY(self_test(cuda));
    MVF_TRY(mvf_cuda_load(cuda, &engine->plane_module, mvf_fatbin_plane));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &engine->pad, engine->plane_module, pad);
    MVF_CUDA_TRY(cuda, cuStreamCreate, &engine->upload, CU_STREAM_NON_BLOCKING);
    MVF_CUDA_TRY(cuda, cuEventCreate, &engine->uploaded, CU_EVENT_DISABLE_TIMING);
    MVF_TRY(upload_bits(engine));
    MVF_TRY(open_search(engine));
    MVF_TRY(
        mvf_refine_plan_open(&engine->refine, cuda, &engine->config, engine->layout.stride_bytes));
    return mvf_smooth_plan_open(&engine->smooth, cuda, &engine->config,
                                engine->layout.stride_bytes);
}

static void free_guides(mvf_cuda *cuda, batch *b)
{
    if (b->device_guides)
        cuda->driver.cuMemFree_v2(b->device_guides);
    if (b->guides)
        cuda->driver.cuMemFreeHost(b->guides);
    b->device_guides = 0;
    b->guides = NULL;
    b->n_guides = 0;
}

static void free_batch(mvf_cuda *cuda, batch *b)
{
    if (b->stream) {
        cuda->driver.cuStreamSynchronize(b->stream);
        cuda->driver.cuStreamDestroy_v2(b->stream);
    }
    if (b->done)
        cuda->driver.cuEventDestroy_v2(b->done);
    free_guides(cuda, b);
    if (b->device_matches)
        cuda->driver.cuMemFree_v2(b->device_matches);
    if (b->scratch)
        cuda->driver.cuMemFree_v2(b->scratch);
    if (b->matches)
        cuda->driver.cuMemFreeHost(b->matches);
    free(b);
}

static void free_areas(mvf_engine *engine)
{
    for (int kind = 0; kind < N_AREA_KINDS; kind++)
        for (int32_t i = 0; i < engine->n_areas[kind]; i++) {
            engine->cuda.driver.cuMemFree_v2(engine->areas[kind][i].memory);
            if (engine->areas[kind][i].read)
                engine->cuda.driver.cuEventDestroy_v2(engine->areas[kind][i].read);
        }
}

static void close_in_context(mvf_engine *engine)
{
    mvf_cuda *cuda = &engine->cuda;
    while (engine->batches) {
        batch *next = engine->batches->next;
        free_batch(cuda, engine->batches);
        engine->batches = next;
    }
    if (engine->uploaded)
        cuda->driver.cuEventDestroy_v2(engine->uploaded);
    if (engine->upload)
        cuda->driver.cuStreamDestroy_v2(engine->upload);
    if (engine->build)
        cuda->driver.cuStreamDestroy_v2(engine->build);
    free_areas(engine);
    if (engine->picture)
        cuda->driver.cuMemFree_v2(engine->picture);
    if (engine->bits)
        cuda->driver.cuMemFree_v2(engine->bits);
    if (engine->plane_module)
        cuda->driver.cuModuleUnload(engine->plane_module);
    mvf_smooth_plan_close(&engine->smooth, cuda);
    mvf_refine_plan_close(&engine->refine, cuda);
    mvf_launch_plan_close(&engine->plan, cuda);
    mvf_tm_plan_close(&engine->truemotion, cuda);
    mvf_hier_plan_close(&engine->hier, cuda);
}

static void cuda_close(mvf_engine *engine)
{
    if (mvf_cuda_enter(&engine->cuda) == MVF_OK) {
        close_in_context(engine);
        mvf_cuda_leave(&engine->cuda);
    }
    /* Of a device that is lost, what is in this process. */
    while (engine->batches) {
        batch *next = engine->batches->next;
        free(engine->batches);
        engine->batches = next;
    }
    mvf_cuda_close(&engine->cuda);
    free(engine);
}

static mvf_status cuda_open(mvf_engine **out, const mvf_search_config *config,
                            const mvf_options *options)
{
    mvf_engine *engine = mvf_alloc_array(1, sizeof *engine);
    if (!engine)
        return mvf_fail(&options->logger, MVF_ERROR_MEMORY, "the CUDA engine: out of memory");
    mvf_status status = mvf_cuda_open(&engine->cuda, options->device, &options->logger);
    if (status != MVF_OK) {
        free(engine);
        return status;
    }
    set_layout(engine, config);
    set_batch_jobs(engine, options);
    status = mvf_cuda_enter(&engine->cuda);
    if (status == MVF_OK) {
        status = open_in_context(engine);
        mvf_cuda_leave(&engine->cuda);
    }
    if (status == MVF_OK)
        *out = engine;
    else
        cuda_close(engine);
    return status;
}

/* Planes. */

/* Takes a plane out of the list of those without levels, if it is there. */
static void forget_levels(mvf_engine *engine, mvf_engine_plane *plane)
{
    mvf_engine_plane **link = &engine->without_levels;
    while (*link && *link != plane)
        link = &(*link)->next;
    if (*link)
        *link = plane->next;
    plane->is_without_levels = 0;
}

static void free_plane(mvf_cuda *cuda, mvf_engine_plane *plane)
{
    if (plane->uploaded) {
        cuda->driver.cuEventSynchronize(plane->uploaded);
        cuda->driver.cuEventDestroy_v2(plane->uploaded);
    }
    if (plane->padded)
        cuda->driver.cuMemFree_v2(plane->padded);
    if (plane->staging)
        cuda->driver.cuMemFreeHost(plane->staging);
}

static mvf_status alloc_plane(mvf_engine *engine, mvf_engine_plane *plane)
{
    mvf_cuda *cuda = &engine->cuda;
    if (!is_truemotion(engine)) {
        size_t n_bytes = is_hier(engine) ? engine->hier.plane_bytes : engine->layout.n_bytes;
        MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &plane->padded, n_bytes);
        plane->origin = plane->padded + (CUdeviceptr)engine->layout.origin_bytes;
    }
    MVF_CUDA_TRY(cuda, cuEventCreate, &plane->uploaded, CU_EVENT_DISABLE_TIMING);
    return MVF_OK;
}

/* With method truemotion. */
static void forget_image(mvf_engine *engine, mvf_engine_plane *plane)
{
    if (plane->origin)
        engine->areas[AREA_IMAGE][plane->area].holder = NULL;
    plane->origin = 0;
}

static void forget_picture(mvf_engine_plane *plane)
{
    if (plane->picture)
        plane->picture->holder = NULL;
    plane->picture = NULL;
}

static void cuda_plane_destroy(mvf_engine *engine, mvf_engine_plane *plane)
{
    forget_levels(engine, plane);
    if (is_truemotion(engine))
        forget_image(engine, plane);
    forget_picture(plane);
    if (mvf_cuda_enter(&engine->cuda) == MVF_OK) {
        free_plane(&engine->cuda, plane);
        mvf_cuda_leave(&engine->cuda);
    }
    free(plane);
}

static mvf_status cuda_plane_create(mvf_engine *engine, mvf_engine_plane **out)
{
    mvf_engine_plane *plane = mvf_alloc_array(1, sizeof *plane);
    if (!plane)
        return MVF_ERROR_MEMORY;
    plane->engine = engine;
    mvf_status status = mvf_cuda_enter(&engine->cuda);
    if (status == MVF_OK) {
        status = alloc_plane(engine, plane);
        mvf_cuda_leave(&engine->cuda);
    }
    if (status == MVF_OK)
        *out = plane;
    else
        cuda_plane_destroy(engine, plane);
    return status;
}

static size_t picture_bytes(const mvf_engine *engine)
{
    return (size_t)engine->picture_stride_bytes * (size_t)engine->config.height;
}

/* Rows on the device, as a picture gives them or of the engine's own. */
typedef struct device_rows {
    CUdeviceptr data;
    int64_t stride_bytes;
    int32_t shift_bits;
} device_rows;

static device_rows own_rows(const mvf_engine *engine)
{
    return (device_rows){engine->picture, engine->picture_stride_bytes, 0};
}

static mvf_status need_picture_memory(mvf_engine *engine)
{
    if (!engine->picture)
        MVF_CUDA_TRY(&engine->cuda, cuMemAlloc_v2, &engine->picture, picture_bytes(engine));
    return MVF_OK;
}

/* Pinned memory that no copy is using any more. */
static mvf_status need_staging(mvf_engine *engine, mvf_engine_plane *plane)
{
    void *staging = NULL;
    plane->host_copy = HOST_COPY_NONE;
    if (!plane->staging)
        MVF_CUDA_TRY(&engine->cuda, cuMemHostAlloc, &staging, picture_bytes(engine), 0);
    else
        MVF_CUDA_TRY(&engine->cuda, cuEventSynchronize, plane->uploaded);
    plane->staging = plane->staging ? plane->staging : staging;
    return MVF_OK;
}

/* Rows of a picture on their way into pinned memory, in parts. */
typedef struct row_copy {
    const mvf_search_config *config;
    const mvf_picture *picture;
    uint8_t *to;
    int64_t to_stride_bytes;
    int32_t n_parts;
} row_copy;

static void copy_rows(void *context, int32_t part, int32_t worker)
{
    const row_copy *copy = context;
    const mvf_search_config *config = copy->config;
    int64_t rows = config->height;
    (void)worker;
    for (int64_t y = rows * part / copy->n_parts; y < rows * (part + 1) / copy->n_parts; y++)
        mvf_copy_row(copy->to + y * copy->to_stride_bytes,
                     (const uint8_t *)copy->picture->data + y * copy->picture->stride_bytes,
                     config->width, config->sample_bytes, copy->picture->shift_bits);
}

/* In small parts: threads that wake up late take fewer. */
static mvf_status copy_host_picture(mvf_engine *engine, mvf_engine_plane *plane,
                                    const mvf_picture *picture, mvf_pool *threads)
{
    MVF_TRY(need_staging(engine, plane));
    size_t n_parts = picture_bytes(engine) / COPY_PART_BYTES;
    row_copy copy = {&engine->config, picture, plane->staging, engine->picture_stride_bytes, 1};
    if (threads && n_parts > 1) {
        mvf_pool_job job = {.run = copy_rows, .context = &copy, .n_tasks = (int32_t)n_parts};
        copy.n_parts = job.n_tasks;
        mvf_pool_submit(threads, &job);
        mvf_pool_join(threads, &job);
    } else {
        copy_rows(&copy, 0, 0);
    }
    plane->host_copy = HOST_COPY_HERE;
    return MVF_OK;
}

static mvf_status upload_picture(mvf_engine *engine, const mvf_engine_plane *plane)
{
    MVF_TRY(need_picture_memory(engine));
    MVF_CUDA_TRY(&engine->cuda, cuMemcpyHtoDAsync_v2, engine->picture, plane->staging,
                 picture_bytes(engine), engine->upload);
    return MVF_OK;
}

/* Samples of the plane's size that lie on the device are on their way to its pinned memory. */
static mvf_status start_download(mvf_engine *engine, mvf_engine_plane *plane, CUdeviceptr from,
                                 int64_t stride_bytes)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from,
                          .srcPitch = (size_t)stride_bytes,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstPitch = (size_t)engine->picture_stride_bytes,
                          .WidthInBytes =
                              (size_t)engine->config.width * (size_t)engine->config.sample_bytes,
                          .Height = (size_t)engine->config.height};
    copy.dstHost = plane->staging;
    MVF_CUDA_TRY(&engine->cuda, cuMemcpy2DAsync_v2, &copy, engine->upload);
    plane->host_copy = HOST_COPY_COMING;
    return MVF_OK;
}

/* Rows with borders round them, and shifted: `layout` says of what size. */
static mvf_status pad(mvf_engine *engine, const device_rows *from, CUdeviceptr to,
                      const mvf_cuda_layout *layout, CUstream stream)
{
    mvf_pad_params params = {.from = from->data,
                             .to = to,
                             .from_stride_bytes = from->stride_bytes,
                             .to_stride_bytes = layout->stride_bytes,
                             .width = engine->config.width,
                             .height = engine->config.height,
                             .border_left = layout->left,
                             .border_top = layout->top,
                             .n_rows = layout->n_rows,
                             .is_aligned = from->data % MVF_PAD_BYTES == 0 &&
                                           from->stride_bytes % MVF_PAD_BYTES == 0,
                             .shift_bits = from->shift_bits};
    void *arguments[] = {&params};
    int64_t columns = mvf_round_up_i64(layout->stride_bytes / MVF_PAD_BYTES, MVF_PAD_THREADS);
    MVF_CUDA_TRY(&engine->cuda, cuLaunchKernel, engine->pad, (unsigned)(columns / MVF_PAD_THREADS),
                 (unsigned)layout->n_rows, 1, MVF_PAD_THREADS, 1, 1, 0, stream, arguments, NULL);
    return MVF_OK;
}

static mvf_status build_plane(mvf_engine *engine, mvf_engine_plane *plane, const device_rows *from,
                              CUstream stream)
{
    MVF_TRY(pad(engine, from, plane->padded, &engine->layout, stream));
    if (is_hier(engine) && !plane->is_without_levels) {
        plane->is_without_levels = 1;
        plane->next = engine->without_levels;
        engine->without_levels = plane;
    }
    return MVF_OK;
}

/* One more area for pictures. */
static mvf_status add_picture_area(mvf_engine *engine, area *added)
{
    mvf_cuda *cuda = &engine->cuda;
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &added->memory, engine->truemotion.picture_bytes);
    engine->n_areas[AREA_PICTURE]++;
    MVF_CUDA_TRY(cuda, cuEventCreate, &added->read, CU_EVENT_DISABLE_TIMING);
    return MVF_OK;
}

/* Gives the plane a place for its picture, if there is one, for the upload stream to write to. */
static mvf_status take_picture_area(mvf_engine *engine, mvf_engine_plane *plane)
{
    area *areas = engine->areas[AREA_PICTURE], *taken = areas;
    while (taken < areas + engine->n_areas[AREA_PICTURE] && taken->holder)
        taken++;
    if (taken == areas + engine->truemotion.n_pictures)
        return MVF_OK;
    if (!taken->memory)
        MVF_TRY(add_picture_area(engine, taken));
    MVF_CUDA_TRY(&engine->cuda, cuStreamWaitEvent, engine->upload, taken->read, 0);
    taken->holder = plane;
    plane->picture = taken;
    return MVF_OK;
}

/* True motion builds images when a search needs them: from the picture on the device, or, where
 * that had no place, or the image has given way to others, from the host's copy. */
static mvf_status load_truemotion_rows(mvf_engine *engine, mvf_engine_plane *plane,
                                       const device_rows *rows)
{
    mvf_cuda_layout layout = {.stride_bytes = engine->picture_stride_bytes,
                              .n_rows = engine->config.height};
    MVF_TRY(take_picture_area(engine, plane));
    if (!plane->picture)
        MVF_TRY(need_picture_memory(engine));
    CUdeviceptr to = plane->picture ? plane->picture->memory : engine->picture;
    MVF_TRY(pad(engine, rows, to, &layout, engine->upload));
    return start_download(engine, plane, to, engine->picture_stride_bytes);
}

/* The upload stream waits for the caller's, and that one for the plane. */
static mvf_status load_truemotion_picture(mvf_engine *engine, mvf_engine_plane *plane,
                                          const device_rows *rows, CUstream stream)
{
    mvf_cuda *cuda = &engine->cuda;
    MVF_TRY(need_staging(engine, plane));
    if (stream) {
        MVF_CUDA_TRY(cuda, cuEventRecord, plane->uploaded, stream);
        MVF_CUDA_TRY(cuda, cuStreamWaitEvent, engine->upload, plane->uploaded, 0);
    }
    MVF_TRY(load_truemotion_rows(engine, plane, rows));
    MVF_CUDA_TRY(cuda, cuEventRecord, plane->uploaded, engine->upload);
    if (stream)
        MVF_CUDA_TRY(cuda, cuStreamWaitEvent, stream, plane->uploaded, 0);
    return MVF_OK;
}

/* The picture is in pinned memory. */
static mvf_status upload_truemotion_picture(mvf_engine *engine, mvf_engine_plane *plane)
{
    MVF_TRY(take_picture_area(engine, plane));
    if (!plane->picture)
        return MVF_OK;
    MVF_CUDA_TRY(&engine->cuda, cuMemcpyHtoDAsync_v2, plane->picture->memory, plane->staging,
                 picture_bytes(engine), engine->upload);
    MVF_CUDA_TRY(&engine->cuda, cuEventRecord, plane->uploaded, engine->upload);
    return MVF_OK;
}

/* On the caller's stream, for which the upload stream waits, and which waits for what was queued
 * for the plane before. */
static mvf_status load_search_picture(mvf_engine *engine, mvf_engine_plane *plane,
                                      const device_rows *rows, CUstream stream)
{
    mvf_cuda *cuda = &engine->cuda;
    if (stream)
        MVF_CUDA_TRY(cuda, cuStreamWaitEvent, stream, plane->uploaded, 0);
    MVF_TRY(build_plane(engine, plane, rows, stream ? stream : engine->upload));
    MVF_CUDA_TRY(cuda, cuEventRecord, plane->uploaded, stream ? stream : engine->upload);
    if (stream)
        MVF_CUDA_TRY(cuda, cuStreamWaitEvent, engine->upload, plane->uploaded, 0);
    return MVF_OK;
}

static mvf_status load_device_picture(mvf_engine *engine, mvf_engine_plane *plane,
                                      const mvf_picture *picture)
{
    CUstream stream = picture->stream;
    device_rows rows = {(CUdeviceptr)(uintptr_t)picture->data, picture->stride_bytes,
                        picture->shift_bits};
    plane->host_copy = HOST_COPY_NONE;
    if (is_truemotion(engine))
        MVF_TRY(load_truemotion_picture(engine, plane, &rows, stream));
    else
        MVF_TRY(load_search_picture(engine, plane, &rows, stream));
    if (!stream)
        MVF_CUDA_TRY(&engine->cuda, cuEventSynchronize, plane->uploaded);
    return MVF_OK;
}

static mvf_status load_in_context(mvf_engine *engine, mvf_engine_plane *plane,
                                  const mvf_picture *picture, mvf_pool *threads)
{
    if (is_truemotion(engine))
        forget_image(engine, plane);
    forget_picture(plane);
    if (picture->memory == MVF_MEMORY_CUDA)
        return load_device_picture(engine, plane, picture);
    MVF_TRY(copy_host_picture(engine, plane, picture, threads));
    if (is_truemotion(engine))
        return upload_truemotion_picture(engine, plane);
    MVF_TRY(upload_picture(engine, plane));
    device_rows rows = own_rows(engine);
    MVF_TRY(build_plane(engine, plane, &rows, engine->upload));
    MVF_CUDA_TRY(&engine->cuda, cuEventRecord, plane->uploaded, engine->upload);
    return MVF_OK;
}

static mvf_status cuda_plane_load(mvf_engine *engine, mvf_engine_plane *plane,
                                  const mvf_picture *picture, mvf_pool *threads)
{
    MVF_TRY(mvf_cuda_enter(&engine->cuda));
    mvf_status status = load_in_context(engine, plane, picture, threads);
    mvf_cuda_leave(&engine->cuda);
    return status;
}

static mvf_status bring_to_host(mvf_engine *engine, mvf_engine_plane *plane)
{
    if (plane->host_copy == HOST_COPY_NONE) {
        MVF_TRY(need_staging(engine, plane));
        MVF_TRY(start_download(engine, plane, plane->origin, engine->layout.stride_bytes));
    }
    MVF_CUDA_TRY(&engine->cuda, cuStreamSynchronize, engine->upload);
    plane->host_copy = HOST_COPY_HERE;
    return MVF_OK;
}

static mvf_status cuda_plane_view(mvf_engine_plane *plane, mvf_picture *picture)
{
    mvf_engine *engine = plane->engine;
    if (plane->host_copy != HOST_COPY_HERE) {
        MVF_TRY(mvf_cuda_enter(&engine->cuda));
        mvf_status status = bring_to_host(engine, plane);
        mvf_cuda_leave(&engine->cuda);
        MVF_TRY(status);
    }
    picture->memory = MVF_MEMORY_HOST;
    picture->data = plane->staging;
    picture->stride_bytes = (ptrdiff_t)engine->picture_stride_bytes;
    return MVF_OK;
}

static mvf_status fetch_in_context(mvf_cuda *cuda, const mvf_picture *picture, void *samples,
                                   size_t row_bytes, int32_t n_rows)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = (CUdeviceptr)(uintptr_t)picture->data,
                          .srcPitch = (size_t)picture->stride_bytes,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = samples,
                          .dstPitch = row_bytes,
                          .WidthInBytes = row_bytes,
                          .Height = (size_t)n_rows};
    CUstream stream = picture->stream;
    MVF_CUDA_TRY(cuda, cuMemcpy2DAsync_v2, &copy, stream);
    MVF_CUDA_TRY(cuda, cuStreamSynchronize, stream);
    return MVF_OK;
}

static mvf_status cuda_fetch(const mvf_options *options, const mvf_picture *picture, void *samples,
                             size_t row_bytes, int32_t n_rows)
{
    mvf_cuda cuda;
    MVF_TRY(mvf_cuda_open(&cuda, options->device, &options->logger));
    mvf_status status = mvf_cuda_enter(&cuda);
    if (status == MVF_OK) {
        status = fetch_in_context(&cuda, picture, samples, row_bytes, n_rows);
        mvf_cuda_leave(&cuda);
    }
    mvf_cuda_close(&cuda);
    return status;
}

/* Batches. */

static size_t search_scratch_bytes(const mvf_engine *engine)
{
    if (is_hier(engine))
        return mvf_hier_scratch_bytes(&engine->hier, engine->batch_jobs);
    return mvf_launch_scratch_bytes(&engine->plan, &engine->config, engine->batch_jobs);
}

/* Where the memory for smoothing begins. */
static size_t smooth_offset(const mvf_engine *engine)
{
    return (size_t)mvf_round_up_i64((int64_t)search_scratch_bytes(engine), MVF_CUDA_ALIGNMENT);
}

static size_t n_batch_matches(const mvf_engine *engine)
{
    return engine->n_blocks * (size_t)engine->batch_jobs;
}

static mvf_status alloc_device_matches(mvf_engine *engine, batch *b, size_t n_bytes)
{
    mvf_cuda *cuda = &engine->cuda;
    size_t scratch =
        smooth_offset(engine) + mvf_smooth_scratch_bytes(&engine->smooth, engine->batch_jobs);
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &b->device_matches, n_bytes);
    /* What no batch starts before; see mvf_launch(). */
    MVF_CUDA_TRY(cuda, cuMemsetD8Async, b->device_matches, 0, n_bytes, engine->upload);
    if (scratch)
        MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &b->scratch, scratch);
    return MVF_OK;
}

static mvf_status alloc_batch(mvf_engine *engine, batch *b)
{
    mvf_cuda *cuda = &engine->cuda;
    size_t n_bytes = n_batch_matches(engine) * sizeof *b->matches;
    if (engine->smooth.median)
        n_bytes += n_batch_matches(engine) * sizeof *b->medians;
    void *matches = NULL;
    MVF_CUDA_TRY(cuda, cuStreamCreate, &b->stream, CU_STREAM_NON_BLOCKING);
    MVF_CUDA_TRY(cuda, cuEventCreate, &b->done, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    if (!is_truemotion(engine))
        MVF_TRY(alloc_device_matches(engine, b, n_bytes));
    MVF_CUDA_TRY(cuda, cuMemHostAlloc, &matches, n_bytes, 0);
    b->matches = matches;
    b->medians = (mvf_vector *)(b->matches + n_batch_matches(engine));
    return MVF_OK;
}

/* An idle batch, or one more. */
static mvf_status acquire_batch(mvf_engine *engine, batch **out)
{
    for (batch *b = engine->batches; b; b = b->next)
        if (b->state == BATCH_DONE && !atomic_load(&b->n_held)) {
            *out = b;
            return MVF_OK;
        }
    batch *b = mvf_alloc_array(1, sizeof *b);
    if (!b)
        return MVF_ERROR_MEMORY;
    mvf_status status = alloc_batch(engine, b);
    if (status != MVF_OK) {
        free_batch(&engine->cuda, b);
        return status;
    }
    b->state = BATCH_DONE;
    b->next = engine->batches;
    engine->batches = *out = b;
    return MVF_OK;
}

static void set_pairs(const mvf_engine *engine, const batch *b, mvf_search_pair *pairs)
{
    for (int32_t i = 0; i < b->n_jobs; i++)
        pairs[i] = (mvf_search_pair){.current = b->jobs[i]->current->origin,
                                     .reference = b->jobs[i]->reference->origin,
                                     .matches = b->device_matches +
                                                (size_t)i * engine->n_blocks * sizeof(mvf_match)};
}

/* Queues the levels of all planes that have come since the last batch, many at once. */
static mvf_status build_levels(mvf_engine *engine)
{
    while (engine->without_levels) {
        CUdeviceptr frames[MVF_CUDA_BATCH];
        int32_t n = 0;
        mvf_engine_plane *rest = engine->without_levels;
        for (; rest && n < MVF_CUDA_BATCH; rest = rest->next)
            frames[n++] = rest->origin;
        MVF_TRY(mvf_hier_build(&engine->cuda, &engine->hier, frames, n, engine->upload));
        while (engine->without_levels != rest)
            forget_levels(engine, engine->without_levels);
    }
    return MVF_OK;
}

/* Guides. */

static size_t n_grid_blocks(const mvf_engine *engine)
{
    return (size_t)engine->config.cols * (size_t)engine->config.rows;
}

/* Predictors matter to rates and to windows round them, hints to windows. */
static size_t n_predictors(const mvf_engine *engine, const mvf_engine_job *job)
{
    int matters = engine->config.rate.lambda_q4 || engine->config.method == MVF_METHOD_REFINE;
    return job->predictors && matters ? n_grid_blocks(engine) : 0;
}

static size_t n_hints(const mvf_engine *engine, const mvf_engine_job *job)
{
    int matters = engine->config.method == MVF_METHOD_REFINE;
    return job->hints && matters ? n_grid_blocks(engine) * (size_t)job->n_hints : 0;
}

/* No launch of the batch is pending. */
static mvf_status make_room_for_guides(mvf_engine *engine, batch *b, size_t n)
{
    mvf_cuda *cuda = &engine->cuda;
    void *guides = NULL;
    if (n <= b->n_guides)
        return MVF_OK;
    free_guides(cuda, b);
    MVF_CUDA_TRY(cuda, cuMemHostAlloc, &guides, n * sizeof *b->guides, 0);
    b->guides = guides;
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &b->device_guides, n * sizeof *b->guides);
    b->n_guides = n;
    return MVF_OK;
}

/* Copies n vectors behind those so far; returns where they will be on the device, or 0. */
static uint64_t take_guides(batch *b, const mvf_vector *vectors, size_t n, size_t *n_taken)
{
    if (!n)
        return 0;
    uint64_t place = b->device_guides + *n_taken * sizeof *vectors;
    memcpy(b->guides + *n_taken, vectors, n * sizeof *vectors);
    *n_taken += n;
    return place;
}

static mvf_status upload_guides(mvf_engine *engine, batch *b, mvf_search_pair *pairs)
{
    size_t n = 0, n_taken = 0;
    for (int32_t i = 0; i < b->n_jobs; i++)
        n += n_predictors(engine, b->jobs[i]) + n_hints(engine, b->jobs[i]);
    if (!n)
        return MVF_OK;
    MVF_TRY(make_room_for_guides(engine, b, n));
    for (int32_t i = 0; i < b->n_jobs; i++) {
        const mvf_engine_job *job = b->jobs[i];
        pairs[i].predictors = take_guides(b, job->predictors, n_predictors(engine, job), &n_taken);
        pairs[i].hints = take_guides(b, job->hints, n_hints(engine, job), &n_taken);
        pairs[i].n_hints = pairs[i].hints ? job->n_hints : 0;
    }
    MVF_CUDA_TRY(&engine->cuda, cuMemcpyHtoDAsync_v2, b->device_guides, b->guides,
                 n * sizeof *b->guides, b->stream);
    return MVF_OK;
}

/* By the plan of methods other than hier and truemotion. */
static mvf_status launch_plan(mvf_engine *engine, batch *b, const mvf_search_pair *pairs)
{
    mvf_cuda *cuda = &engine->cuda;
    if (!b->scratch_is_clear)
        MVF_TRY(
            mvf_launch_clear_scratch(cuda, b->scratch, search_scratch_bytes(engine), b->stream));
    b->scratch_is_clear = 0;
    MVF_TRY(mvf_launch(cuda, &engine->plan, engine->before.matches ? &engine->before : NULL, pairs,
                       b->n_jobs, b->scratch, b->stream));
    b->scratch_is_clear = 1;
    /* Refined matches are no whole vectors any more. */
    if (engine->config.subpel == MVF_SUBPEL_NONE)
        engine->before = pairs[b->n_jobs - 1];
    return MVF_OK;
}

static CUdeviceptr device_medians(const mvf_engine *engine, const batch *b)
{
    return b->device_matches + n_batch_matches(engine) * sizeof *b->matches;
}

static mvf_status launch_search(mvf_engine *engine, batch *b, const mvf_search_pair *pairs)
{
    mvf_cuda *cuda = &engine->cuda;
    if (is_hier(engine))
        MVF_TRY(mvf_hier_launch(cuda, &engine->hier, pairs, b->n_jobs, b->scratch, b->stream));
    else
        MVF_TRY(launch_plan(engine, b, pairs));
    MVF_TRY(mvf_refine_launch(cuda, &engine->refine, &engine->config, pairs, b->n_jobs, b->stream));
    return mvf_smooth_launch(cuda, &engine->smooth, pairs, b->n_jobs,
                             b->scratch + smooth_offset(engine), device_medians(engine, b),
                             b->stream);
}

static mvf_status download_medians(mvf_engine *engine, batch *b)
{
    size_t n_bytes = engine->n_blocks * (size_t)b->n_jobs * sizeof *b->medians;
    if (engine->smooth.median)
        MVF_CUDA_TRY(&engine->cuda, cuMemcpyDtoHAsync_v2, b->medians, device_medians(engine, b),
                     n_bytes, b->stream);
    return MVF_OK;
}

/* Areas of true motion. */

/* What is queued on the stream from here on waits for the batches that use the area. */
static mvf_status await_users(mvf_engine *engine, area_kind kind, int32_t index, CUstream stream)
{
    for (batch *b = engine->batches; b; b = b->next)
        if (b->state == BATCH_RUNNING && b->areas[kind] >> index & 1)
            MVF_CUDA_TRY(&engine->cuda, cuStreamWaitEvent, stream, b->done, 0);
    return MVF_OK;
}

static void use_area(mvf_engine *engine, batch *b, area_kind kind, int32_t index)
{
    b->areas[kind] |= (uint64_t)1 << index;
    engine->areas[kind][index].last_use = ++engine->clock;
}

/* The area that no batch has used for longest; not one of this batch's. */
static int32_t oldest_area(const mvf_engine *engine, const batch *b, area_kind kind)
{
    const area *all = engine->areas[kind];
    int32_t oldest = -1;
    for (int32_t i = 0; i < engine->n_areas[kind]; i++)
        if (!(b->areas[kind] >> i & 1) && (oldest < 0 || all[i].last_use < all[oldest].last_use))
            oldest = i;
    return oldest;
}

/* One more area for the batch, whose first use is queued on the stream. */
static mvf_status take_area(mvf_engine *engine, batch *b, area_kind kind, CUstream stream,
                            int32_t *out)
{
    const mvf_tm_plan *plan = &engine->truemotion;
    int32_t *n = &engine->n_areas[kind], most = plan->n_images;
    size_t n_bytes = plan->image_bytes;
    if (kind == AREA_SEARCH) {
        most = plan->n_searches;
        n_bytes = (size_t)engine->batch_jobs * plan->pair_bytes;
    }
    if (*n < most) {
        MVF_CUDA_TRY(&engine->cuda, cuMemAlloc_v2, &engine->areas[kind][*n].memory, n_bytes);
        *out = (*n)++;
    } else {
        *out = oldest_area(engine, b, kind);
        MVF_TRY(await_users(engine, kind, *out, stream));
    }
    use_area(engine, b, kind, *out);
    return MVF_OK;
}

static mvf_status build_image(mvf_engine *engine, batch *b, mvf_engine_plane *plane)
{
    mvf_cuda *cuda = &engine->cuda;
    int32_t index;
    MVF_TRY(take_area(engine, b, AREA_IMAGE, engine->build, &index));
    area *a = &engine->areas[AREA_IMAGE][index];
    if (a->holder)
        forget_image(engine, a->holder);
    /* The picture may still be on its way to the device, or to the host. */
    MVF_CUDA_TRY(cuda, cuStreamWaitEvent, engine->build, plane->uploaded, 0);
    MVF_TRY(mvf_tm_build(cuda, &engine->truemotion, plane->picture ? plane->picture->memory : 0,
                         plane->staging, a->memory, engine->build));
    if (plane->picture)
        MVF_CUDA_TRY(cuda, cuEventRecord, plane->picture->read, engine->build);
    forget_picture(plane);
    MVF_CUDA_TRY(cuda, cuEventRecord, plane->uploaded, engine->build);
    a->holder = plane;
    plane->area = index;
    plane->origin = a->memory;
    return MVF_OK;
}

/* Plane 0 or 1 of a job. Jobs see planes as read-only: where their images lie is the engine's. */
static mvf_engine_plane *plane_of(const mvf_engine_job *job, int which)
{
    return (mvf_engine_plane *)(uintptr_t)(which ? job->reference : job->current);
}

/* Those that are there are not given away for others. */
static mvf_status need_images(mvf_engine *engine, batch *b)
{
    b->areas[AREA_IMAGE] = 0;
    for (int32_t i = 0; i < 2 * b->n_jobs; i++) {
        const mvf_engine_plane *plane = plane_of(b->jobs[i / 2], i & 1);
        if (plane->origin)
            use_area(engine, b, AREA_IMAGE, plane->area);
    }
    for (int32_t i = 0; i < 2 * b->n_jobs; i++) {
        mvf_engine_plane *plane = plane_of(b->jobs[i / 2], i & 1);
        if (!plane->origin)
            MVF_TRY(build_image(engine, b, plane));
    }
    return MVF_OK;
}

/* Whether the images of the batch and of one more job have room at the same time. */
static int has_images_for(const mvf_engine *engine, const batch *b, const mvf_engine_job *job)
{
    const mvf_engine_plane *planes[2 * MVF_TM_BATCH + 2];
    int32_t n = 0;
    for (int32_t i = 0; i < 2 * b->n_jobs + 2; i++) {
        const mvf_engine_plane *plane = plane_of(i < 2 * b->n_jobs ? b->jobs[i / 2] : job, i & 1);
        int32_t k = 0;
        while (k < n && planes[k] != plane)
            k++;
        if (k == n)
            planes[n++] = plane;
    }
    return n <= engine->truemotion.n_images;
}

static mvf_status enqueue_truemotion(mvf_engine *engine, batch *b)
{
    mvf_cuda *cuda = &engine->cuda;
    const mvf_tm_plan *plan = &engine->truemotion;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
    int32_t index;
    b->areas[AREA_SEARCH] = 0;
    MVF_TRY(need_images(engine, b));
    MVF_TRY(take_area(engine, b, AREA_SEARCH, b->stream, &index));
    CUdeviceptr memory = engine->areas[AREA_SEARCH][index].memory;
    set_pairs(engine, b, pairs);
    MVF_CUDA_TRY(cuda, cuEventRecord, engine->uploaded, engine->build);
    MVF_CUDA_TRY(cuda, cuStreamWaitEvent, b->stream, engine->uploaded, 0);
    MVF_TRY(mvf_tm_launch(cuda, plan, pairs, b->n_jobs, memory, b->stream));
    for (int32_t i = 0; i < b->n_jobs; i++)
        MVF_CUDA_TRY(cuda, cuMemcpyDtoHAsync_v2, b->matches + (size_t)i * engine->n_blocks,
                     mvf_tm_matches(plan, memory, i), engine->n_blocks * sizeof *b->matches,
                     b->stream);
    MVF_CUDA_TRY(cuda, cuEventRecord, b->done, b->stream);
    return MVF_OK;
}

static mvf_status enqueue_batch(mvf_engine *engine, batch *b)
{
    mvf_cuda *cuda = &engine->cuda;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
    size_t n_bytes = engine->n_blocks * (size_t)b->n_jobs * sizeof(mvf_match);
    if (is_truemotion(engine))
        return enqueue_truemotion(engine, b);
    set_pairs(engine, b, pairs);
    MVF_TRY(build_levels(engine));
    MVF_TRY(upload_guides(engine, b, pairs));
    MVF_CUDA_TRY(cuda, cuEventRecord, engine->uploaded, engine->upload);
    MVF_CUDA_TRY(cuda, cuStreamWaitEvent, b->stream, engine->uploaded, 0);
    MVF_TRY(launch_search(engine, b, pairs));
    MVF_CUDA_TRY(cuda, cuMemcpyDtoHAsync_v2, b->matches, b->device_matches, n_bytes, b->stream);
    MVF_TRY(download_medians(engine, b));
    MVF_CUDA_TRY(cuda, cuEventRecord, b->done, b->stream);
    return MVF_OK;
}

static void launch_batch(mvf_engine *engine, batch *b)
{
    b->status = enqueue_batch(engine, b);
    b->state = b->status == MVF_OK ? BATCH_RUNNING : BATCH_DONE;
    engine->open = NULL;
}

static void poll_batch(mvf_engine *engine, batch *b, int wait)
{
    mvf_cuda *cuda = &engine->cuda;
    CUresult result =
        wait ? cuda->driver.cuEventSynchronize(b->done) : cuda->driver.cuEventQuery(b->done);
    if (result == CUDA_ERROR_NOT_READY)
        return;
    b->status = mvf_cuda_check(cuda, result, "a search on the device");
    if (b->status != MVF_OK)
        b->scratch_is_clear = 0;
    b->state = BATCH_DONE;
}

static int count_running(mvf_engine *engine)
{
    int n = 0;
    for (batch *b = engine->batches; b; b = b->next) {
        if (b->state == BATCH_RUNNING)
            poll_batch(engine, b, 0);
        n += b->state == BATCH_RUNNING;
    }
    return n;
}

/* Whether the open batch starts now; `waits`: nothing will join it meanwhile. */
static int starts(mvf_engine *engine, int waits)
{
    int32_t n_jobs = engine->open->n_jobs;
    if (n_jobs == engine->batch_jobs)
        return 1;
    int n_running = count_running(engine);
    return n_running < BUSY_BATCHES ||
           (n_running < MOST_BATCHES && (waits || n_jobs >= engine->least_jobs));
}

static mvf_status submit_in_context(mvf_engine *engine, mvf_engine_job *job)
{
    batch *b = engine->open;
    if (b && is_truemotion(engine) && !has_images_for(engine, b, job)) {
        launch_batch(engine, b);
        b = NULL;
    }
    if (!b) {
        MVF_TRY(acquire_batch(engine, &b));
        b->state = BATCH_OPEN;
        b->n_jobs = 0;
        engine->open = b;
    }
    b->jobs[b->n_jobs++] = job;
    atomic_fetch_add(&b->n_held, 1);
    job->state = b;
    if (starts(engine, 0))
        launch_batch(engine, b);
    return MVF_OK;
}

static mvf_status cuda_submit(mvf_engine *engine, mvf_engine_job *job)
{
    job->state = NULL;
    MVF_TRY(mvf_cuda_enter(&engine->cuda));
    mvf_status status = submit_in_context(engine, job);
    mvf_cuda_leave(&engine->cuda);
    return status;
}

static int are_identical(const mvf_engine *engine, const mvf_engine_plane *a,
                         const mvf_engine_plane *b)
{
    size_t row_bytes = (size_t)engine->config.width * (size_t)engine->config.sample_bytes;
    for (int32_t y = 0; y < engine->config.height; y++)
        if (memcmp(a->staging + y * engine->picture_stride_bytes,
                   b->staging + y * engine->picture_stride_bytes, row_bytes))
            return 0;
    return 1;
}

static void write_answers(const mvf_engine *engine, const batch *b, mvf_engine_job *job)
{
    size_t i = 0;
    while (b->jobs[i] != job)
        i++;
    const mvf_match *found = b->matches + i * engine->n_blocks;
    if (is_truemotion(engine)) {
        mvf_tm_write_blocks(&engine->config, (const mvf_tm_match *)found, job);
        job->is_identical = are_identical(engine, job->current, job->reference);
        return;
    }
    memcpy(job->matches, found, engine->n_blocks * sizeof *found);
    job->is_smooth = engine->smooth.module != NULL;
    if (engine->smooth.median && job->medians)
        memcpy(job->medians, b->medians + i * engine->n_blocks,
               engine->n_blocks * sizeof *b->medians);
}

static mvf_status collect_in_context(mvf_engine *engine, mvf_engine_job *job, int wait)
{
    batch *b = job->state;
    if (engine->open && ((wait && b == engine->open) || starts(engine, wait)))
        launch_batch(engine, engine->open);
    if (b->state == BATCH_RUNNING)
        poll_batch(engine, b, wait);
    return b->state == BATCH_DONE ? b->status : MVF_AGAIN;
}

static void release_job(mvf_engine_job *job)
{
    batch *b = job->state;
    job->state = NULL;
    atomic_fetch_sub(&b->n_held, 1);
}

/* A context that cannot be entered any more ends the job with what has become of its batch. */
static mvf_status cuda_collect(mvf_engine *engine, mvf_engine_job *job, int wait)
{
    mvf_status status = mvf_cuda_enter(&engine->cuda);
    if (status == MVF_OK) {
        status = collect_in_context(engine, job, wait);
        mvf_cuda_leave(&engine->cuda);
    }
    if (status != MVF_OK && status != MVF_AGAIN)
        release_job(job);
    return status;
}

/* What it reads has not changed since the batch was launched, and does not before it is idle. */
static void cuda_take(mvf_engine *engine, mvf_engine_job *job)
{
    write_answers(engine, job->state, job);
    release_job(job);
}

static mvf_status cuda_measure_sad(const mvf_options *options, mvf_sad_limit *limit)
{
    *limit = (mvf_sad_limit){.instruction = "vabsdiff4", .backend = "cuda"};
    return mvf_cuda_sad_rate(options->device, &options->logger, &limit->differences_per_second);
}

const mvf_engine_ops mvf_engine_cuda = {.name = "cuda",
                                        .open = cuda_open,
                                        .close = cuda_close,
                                        .plane_create = cuda_plane_create,
                                        .plane_load = cuda_plane_load,
                                        .plane_view = cuda_plane_view,
                                        .fetch = cuda_fetch,
                                        .plane_destroy = cuda_plane_destroy,
                                        .submit = cuda_submit,
                                        .collect = cuda_collect,
                                        .take = cuda_take,
                                        .measure_sad = cuda_measure_sad};

/* Tests and measurement. */

static mvf_status take_batch(mvf_engine *engine, int32_t n_jobs, batch **out)
{
    if (n_jobs < 1 || n_jobs > engine->batch_jobs)
        return mvf_fail(&engine->cuda.logger, MVF_ERROR_ARGUMENT,
                        "a batch of this engine holds 1 to %d jobs", (int)engine->batch_jobs);
    MVF_TRY(acquire_batch(engine, out));
    (*out)->n_jobs = n_jobs;
    return MVF_OK;
}

static mvf_status search_in_context(mvf_engine *engine, mvf_engine_job *jobs, int32_t n_jobs)
{
    batch *b = NULL;
    MVF_TRY(take_batch(engine, n_jobs, &b));
    for (int32_t i = 0; i < n_jobs; i++)
        b->jobs[i] = &jobs[i];
    MVF_TRY(enqueue_batch(engine, b));
    poll_batch(engine, b, 1);
    for (int32_t i = 0; i < n_jobs && b->status == MVF_OK; i++)
        write_answers(engine, b, &jobs[i]);
    return b->status;
}

mvf_status mvf_engine_cuda_search(mvf_engine *engine, mvf_engine_job *jobs, int32_t n_jobs)
{
    MVF_TRY(mvf_cuda_enter(&engine->cuda));
    mvf_status status = search_in_context(engine, jobs, n_jobs);
    mvf_cuda_leave(&engine->cuda);
    return status;
}

static int compare_floats(const void *a, const void *b)
{
    float first = *(const float *)a, second = *(const float *)b;
    return (first > second) - (first < second);
}

/* The jobs of an engine that is measured. */
typedef struct job_ring {
    mvf_engine_job *jobs;
    int32_t n_jobs, next;
} job_ring;

static void take_jobs(const mvf_engine *engine, job_ring *ring, batch *b, mvf_search_pair *pairs)
{
    for (int32_t i = 0; i < b->n_jobs; i++) {
        b->jobs[i] = &ring->jobs[ring->next];
        ring->next = (ring->next + 1) % ring->n_jobs;
    }
    set_pairs(engine, b, pairs);
}

static mvf_status time_launches(mvf_engine *engine, batch *b, job_ring *ring, const CUevent *events,
                                float *times, int32_t n_launches)
{
    mvf_cuda *cuda = &engine->cuda;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
    CUdeviceptr frames[MVF_CUDA_BATCH];
    MVF_TRY(build_levels(engine));
    MVF_CUDA_TRY(cuda, cuStreamSynchronize, engine->upload);
    for (int32_t i = -n_launches; i < n_launches; i++) {
        take_jobs(engine, ring, b, pairs);
        for (int32_t k = 0; k < b->n_jobs; k++)
            frames[k] = pairs[k].current;
        if (i >= 0)
            MVF_CUDA_TRY(cuda, cuEventRecord, events[0], b->stream);
        if (is_hier(engine))
            MVF_TRY(mvf_hier_build(cuda, &engine->hier, frames, b->n_jobs, b->stream));
        MVF_TRY(launch_search(engine, b, pairs));
        if (i < 0)
            continue;
        MVF_CUDA_TRY(cuda, cuEventRecord, events[1], b->stream);
        MVF_CUDA_TRY(cuda, cuEventSynchronize, events[1]);
        MVF_CUDA_TRY(cuda, cuEventElapsedTime, &times[i], events[0], events[1]);
    }
    qsort(times, (size_t)n_launches, sizeof *times, compare_floats);
    return MVF_OK;
}

static mvf_status get_function_attribute(mvf_cuda *cuda, CUfunction function,
                                         CUfunction_attribute attribute, int32_t *value)
{
    int number = 0;
    MVF_CUDA_TRY(cuda, cuFuncGetAttribute, &number, attribute, function);
    *value = number;
    return MVF_OK;
}

static mvf_status describe_plan(mvf_engine *engine, mvf_cuda_measurement *measurement)
{
    mvf_cuda *cuda = &engine->cuda;
    CUfunction function =
        is_hier(engine) ? engine->hier.search_top : engine->plan.stages[0].function;
    measurement->kernel = is_hier(engine) ? "hier_top" : engine->plan.shape->kernels[0].name;
    measurement->dynamic_shared_bytes =
        is_hier(engine) ? engine->hier.top_shared_bytes : engine->plan.stages[0].shared_bytes;
    MVF_TRY(get_function_attribute(cuda, function, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                   &measurement->n_registers));
    return get_function_attribute(cuda, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                  &measurement->static_shared_bytes);
}

static mvf_status measure_in_context(mvf_engine *engine, job_ring *ring, int32_t batch_jobs,
                                     int32_t n_launches, float *times,
                                     mvf_cuda_measurement *measurement)
{
    mvf_cuda *cuda = &engine->cuda;
    CUevent events[2] = {NULL, NULL};
    batch *b = NULL;
    MVF_TRY(describe_plan(engine, measurement));
    MVF_TRY(take_batch(engine, batch_jobs, &b));
    mvf_status status = MVF_OK;
    for (int i = 0; i < 2 && status == MVF_OK; i++)
        status = mvf_cuda_check(cuda, cuda->driver.cuEventCreate(&events[i], CU_EVENT_DEFAULT),
                                "cuEventCreate");
    if (status == MVF_OK)
        status = time_launches(engine, b, ring, events, times, n_launches);
    for (int i = 0; i < 2; i++)
        if (events[i])
            cuda->driver.cuEventDestroy_v2(events[i]);
    return status;
}

mvf_status mvf_engine_cuda_measure(mvf_engine *engine, mvf_engine_job *jobs, int32_t n_jobs,
                                   int32_t batch_jobs, int32_t n_launches,
                                   mvf_cuda_measurement *measurement)
{
    job_ring ring = {.jobs = jobs, .n_jobs = n_jobs};
    float *times = mvf_alloc_array((size_t)n_launches, sizeof *times);
    if (!times)
        return MVF_ERROR_MEMORY;
    mvf_status status = mvf_cuda_enter(&engine->cuda);
    if (status == MVF_OK) {
        status = measure_in_context(engine, &ring, batch_jobs, n_launches, times, measurement);
        mvf_cuda_leave(&engine->cuda);
    }
    measurement->launch_us = 1000.0 * (double)times[n_launches / 2];
    free(times);
    return status;
}
