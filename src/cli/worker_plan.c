/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/worker_plan.h"

#include <inttypes.h>
#include <string.h>

#include "cli/message.h"
#include "cli/run.h"

/* Threads that one decoder keeps busy well. */
#define THREADS_PER_DECODER 4
/* Decoders of a GPU: a large one has seven NVDECs, and more of them than there are do no harm. */
#define DECODERS_PER_GPU 7
/* What is chosen at most: each takes memory. */
#define MOST_DECODERS 16
/* Frames that make it worth while to open a decoder. */
#define FRAMES_PER_DECODER 120

worker_plan worker_plan_whole(const worker_plan *plan, const cli_options *options)
{
    worker_plan whole = {.n_workers = 1, .threads_per_worker = options->search.threads};
    if (plan->n_devices)
        whole.devices[whole.n_devices++] = plan->devices[0];
    return whole;
}

void worker_plan_search(const worker_plan *plan, int32_t index, mvf_options *search)
{
    search->threads = plan->threads_per_worker;
    if (plan->n_devices)
        search->device = plan->devices[index % plan->n_devices];
    if (plan->n_devices < 2)
        return;
    search->backend = MVF_BACKEND_CUDA;
    /* Of several devices, one that fails is left out. */
    search->logger = message_warning_logger();
}

/* The device, if it can be used; of several that are named, one that cannot is an error only where
 * there has to be a GPU. */
static mvf_status add_device(worker_plan *plan, int32_t device, const cli_options *options)
{
    mvf_device_info info;
    int is_needed = options->search.backend == MVF_BACKEND_CUDA;
    mvf_logger logger = is_needed ? message_logger() : message_warning_logger();
    mvf_status status = mvf_device_describe(device, &info, &logger);
    if (status == MVF_OK && info.usable) {
        plan->devices[plan->n_devices++] = device;
        return MVF_OK;
    }
    if (status == MVF_OK)
        message_print(is_needed ? MVF_LOG_ERROR : MVF_LOG_WARNING,
                      "device %" PRId32 ": this build has no kernels for it", device);
    return is_needed ? MVF_ERROR_NO_DEVICE : MVF_OK;
}

static void add_all_devices(worker_plan *plan)
{
    mvf_device_info info;
    for (int32_t i = 0; i < MAX_DEVICES && mvf_device_describe(i, &info, NULL) == MVF_OK; i++)
        if (info.usable)
            plan->devices[plan->n_devices++] = i;
}

/* Whether CUDA serves the options. The run says so where it does not. */
static int is_for_cuda(const cli_options *options, int32_t device)
{
    mvf_options search = options->search;
    mvf_searcher *searcher;
    search.device = device;
    search.logger = (mvf_logger){.callback = NULL};
    if (search.backend != MVF_BACKEND_AUTO)
        return 1;
    if (mvf_searcher_open(&searcher, &search, 64, 64, 8) != MVF_OK)
        return 0;
    int is_cuda = !strcmp(mvf_searcher_backend(searcher), "cuda");
    mvf_searcher_close(&searcher);
    return is_cuda;
}

static mvf_status plan_devices(worker_plan *plan, const cli_options *options)
{
    if (options->vectors == VECTORS_CODEC || options->search.backend == MVF_BACKEND_CPU)
        return MVF_OK;
    if (options->all_devices)
        add_all_devices(plan);
    for (int32_t i = 0; i < options->n_devices && options->n_devices > 1; i++) {
        mvf_status status = add_device(plan, options->devices[i], options);
        if (status != MVF_OK)
            return status;
    }
    if (plan->n_devices > 1 && !is_for_cuda(options, plan->devices[0]))
        plan->n_devices = 0;
    return MVF_OK;
}

/* About what one takes; 0 with the codec's vectors, which are as many as it likes, and few. */
static int64_t field_bytes(const mvf_source_info *info, const cli_options *options)
{
    const mvf_options *search = &options->search;
    int32_t step_x = search->step_x ? search->step_x : search->block_w;
    int32_t step_y = search->step_y ? search->step_y : search->block_h;
    if (options->vectors == VECTORS_CODEC)
        return 0;
    if (search->method == MVF_METHOD_TRUEMOTION && !search->step_x)
        step_x = step_y = 4;
    if (search->partitions != MVF_PARTITIONS_FIXED)
        step_x = step_y = search->partition_min;
    int64_t n_blocks = ((int64_t)info->width + step_x - 1) / step_x *
                       (((int64_t)info->height + step_y - 1) / step_y);
    return (options->reference == REFERENCE_BOTH ? 2 : 1) * n_blocks * (int64_t)sizeof(mvf_block);
}

/* Where n decoders are at work, half of each section but one waits for its turn: with more of them
 * than there is room for, those ahead stand still and the one whose turn it is works alone. */
static int32_t most_decoders(const mvf_source_info *info, const cli_options *options)
{
    int64_t section_bytes = FRAMES_PER_DECODER * field_bytes(info, options);
    if (section_bytes * MOST_DECODERS < 2 * WORKER_WAITING_BYTES)
        return MOST_DECODERS;
    return 1 + (int32_t)(2 * WORKER_WAITING_BYTES / section_bytes);
}

static int32_t choose_decoders(const worker_plan *plan, const mvf_source *source,
                               const cli_options *options, int32_t n_threads)
{
    int64_t n_frames = run_expected_frames(source, options);
    /* Decoders that export vectors use one thread. */
    int exports = options->vectors == VECTORS_CODEC || options->search.method == MVF_METHOD_REFINE;
    int32_t n = exports ? n_threads : n_threads / THREADS_PER_DECODER;
    if (mvf_source_get_info(source)->hwaccel == MVF_HWACCEL_CUDA)
        n = DECODERS_PER_GPU * (plan->n_devices ? plan->n_devices : 1);
    /* What a container does not know may be long. */
    if (mvf_source_get_info(source)->frame_count_hint > 0 && n_frames / FRAMES_PER_DECODER < n)
        n = (int32_t)(n_frames / FRAMES_PER_DECODER);
    int32_t most = most_decoders(mvf_source_get_info(source), options);
    n = n < most ? n : most;
    return n > 0 ? n : 1;
}

mvf_status worker_plan_make(worker_plan *plan, const mvf_source *source, const cli_options *options)
{
    int32_t n_threads = options->search.threads ? options->search.threads : run_processor_count();
    *plan = (worker_plan){.n_workers = 1, .threads_per_worker = options->search.threads};
    if (options->shard_count || mvf_source_get_info(source)->is_live)
        return MVF_OK;
    mvf_status status = plan_devices(plan, options);
    if (status != MVF_OK)
        return status;
    plan->n_workers = options->n_decoders ? options->n_decoders
                                          : choose_decoders(plan, source, options, n_threads);
    if (plan->n_workers < plan->n_devices)
        plan->n_workers = plan->n_devices;
    if (plan->n_workers > 1)
        plan->threads_per_worker = n_threads > plan->n_workers ? n_threads / plan->n_workers : 1;
    return MVF_OK;
}
