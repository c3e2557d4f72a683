/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/launch_cuda.h"

#include <string.h>

#include "base/error.h"

extern const unsigned char mvf_fatbin_search[];

/* Columns of candidates that one load serves; see search.cu. */
#define GROUP 4
/* Most groups of a panel: a wider one leaves too few threads to share out its rows. */
#define MAX_PANEL_GROUPS 32

mvf_cuda_border mvf_cuda_plane_border(const mvf_search_config *config)
{
    int32_t sample_bytes = config->sample_bytes;
    int32_t left_bytes = (config->range_x + GROUP) * sample_bytes;
    left_bytes = (left_bytes + MVF_PAD_BYTES - 1) / MVF_PAD_BYTES * MVF_PAD_BYTES;
    return (mvf_cuda_border){.left = left_bytes / sample_bytes,
                             .right = config->range_x + MVF_MAX_BLOCK + 2 * GROUP,
                             .top = config->range_y,
                             .bottom = config->range_y + MVF_MAX_BLOCK};
}

static int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int serves_row(const mvf_launch_shape *shape, const mvf_search_config *config,
                      const mvf_cuda *cuda)
{
    (void)cuda;
    return config->sample_bytes == shape->sample_bytes &&
           config->block_w * config->sample_bytes >= shape->row_bytes;
}

/* Panels of equal width, and as many rows as shared memory holds beside the block itself. */
static void prepare_search(mvf_launch_plan *plan, const mvf_search_config *config)
{
    mvf_search_params *p = &plan->params;
    /* The first candidate may be the last sample of a group. */
    int32_t n_groups = (2 * config->range_x + 1 + GROUP - 1 + GROUP - 1) / GROUP;
    int32_t n_panels = (n_groups + MAX_PANEL_GROUPS - 1) / MAX_PANEL_GROUPS;
    int32_t block_pitch_bytes = config->block_w * config->sample_bytes;
    p->panel_groups = (n_groups + n_panels - 1) / n_panels;
    int32_t pitch_bytes = p->panel_groups * GROUP * config->sample_bytes + block_pitch_bytes;
    int32_t block_bytes = block_pitch_bytes * config->block_h;
    int32_t window_rows = (MVF_SEARCH_SHARED_BYTES - block_bytes) / pitch_bytes;
    p->panel_rows = min_i32(2 * config->range_y + 1, window_rows - config->block_h + 1);
    plan->shared_bytes = block_bytes + (p->panel_rows + config->block_h - 1) * pitch_bytes;
}

static mvf_status enqueue_search(mvf_cuda *cuda, const mvf_launch_plan *plan,
                                 const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                                 CUstream stream)
{
    mvf_search_params params = plan->params;
    void *arguments[] = {&params};
    unsigned n_blocks =
        (unsigned)params.cols * (unsigned)((params.height + params.step_y - 1) / params.step_y);
    (void)scratch;
    memcpy(params.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, plan->function, n_blocks, (unsigned)n_jobs, 1,
                 (unsigned)plan->shape->threads, 1, 1, (unsigned)plan->shared_bytes, stream,
                 arguments, NULL);
    return MVF_OK;
}

#define SEARCH_SHAPE(name, bytes_of_sample, bytes_of_row)                                 \
    {                                                                                     \
        .kernel = name, .fatbin = mvf_fatbin_search, .threads = MVF_SEARCH_THREADS,       \
        .serves = serves_row, .sample_bytes = bytes_of_sample, .row_bytes = bytes_of_row, \
        .prepare = prepare_search, .enqueue = enqueue_search                              \
    }

/* The launch shapes, most particular first. The last of each sample size serves everything. */
static const mvf_launch_shape shapes[] = {
    SEARCH_SHAPE("search_8_w4", 1, 16), SEARCH_SHAPE("search_8_w2", 1, 8),
    SEARCH_SHAPE("search_8_w1", 1, 4),  SEARCH_SHAPE("search_16_w4", 2, 16),
    SEARCH_SHAPE("search_16_w2", 2, 8),
};

static mvf_status load_kernel(mvf_launch_plan *plan, mvf_cuda *cuda)
{
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->function, plan->module, plan->shape->kernel);
    MVF_CUDA_TRY(cuda, cuFuncSetAttribute, plan->function,
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, plan->shared_bytes);
    return MVF_OK;
}

static void set_params(mvf_search_params *params, const mvf_search_config *config,
                       int64_t stride_bytes)
{
    *params = (mvf_search_params){.stride_bytes = stride_bytes,
                                  .width = config->width,
                                  .height = config->height,
                                  .block_w = config->block_w,
                                  .block_h = config->block_h,
                                  .step_x = config->step_x,
                                  .step_y = config->step_y,
                                  .cols = config->cols,
                                  .range_x = config->range_x,
                                  .range_y = config->range_y,
                                  .inside = config->edges == MVF_EDGES_INSIDE};
}

mvf_status mvf_launch_plan_open(mvf_launch_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes)
{
    const mvf_launch_shape *shape = shapes;
    while (!shape->serves(shape, config, cuda))
        shape++;
    *plan = (mvf_launch_plan){.shape = shape};
    set_params(&plan->params, config, stride_bytes);
    shape->prepare(plan, config);
    MVF_TRY(mvf_cuda_load(cuda, &plan->module, shape->fatbin));
    mvf_status status = load_kernel(plan, cuda);
    if (status != MVF_OK)
        mvf_launch_plan_close(plan, cuda);
    return status;
}

void mvf_launch_plan_close(mvf_launch_plan *plan, mvf_cuda *cuda)
{
    if (plan->module)
        cuda->driver.cuModuleUnload(plan->module);
    plan->module = NULL;
}

size_t mvf_launch_scratch_bytes(const mvf_launch_plan *plan, const mvf_search_config *config,
                                int32_t n_jobs)
{
    return plan->shape->scratch_bytes ? plan->shape->scratch_bytes(config, n_jobs) : 0;
}

mvf_status mvf_launch(mvf_cuda *cuda, const mvf_launch_plan *plan, const mvf_search_pair *pairs,
                      int32_t n_jobs, CUdeviceptr scratch, CUstream stream)
{
    return plan->shape->enqueue(cuda, plan, pairs, n_jobs, scratch, stream);
}
