/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/smooth_cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/integers.h"
#include "search/path_rule.h"
#include "search/refine_cuda.h"
#include "search/truemotion_rule.h"

extern const unsigned char mvf_fatbin_smooth_median[];
extern const unsigned char mvf_fatbin_smooth_paths[];

_Static_assert(MVF_PATH_CANDIDATES <= 32, "a warp holds the candidates of a block");
_Static_assert(sizeof(mvf_match) == 8 && offsetof(mvf_match, cost) == 4,
               "the kernels write this layout");
_Static_assert(sizeof(mvf_vector) == 4, "smooth_median.cu writes this layout");

/* Memory of the pairs of a batch whose paths are made at once, unless one pair takes more. */
#define SCRATCH_BYTES ((size_t)128 << 20)

/* What the search measured with last. */
static mvf_metric last_metric(const mvf_search_config *config)
{
    return config->subpel == MVF_SUBPEL_NONE ? config->metric : config->refine_metric;
}

/* Whether candidates are compared a word at a time. */
static int takes_words(const mvf_search_config *config)
{
    return config->subpel == MVF_SUBPEL_NONE && config->metric == MVF_METRIC_SAD;
}

static int32_t tile_of(const mvf_search_config *config)
{
    return last_metric(config) == MVF_METRIC_SATD4 ? 4 : config->satd_tile;
}

static int32_t log2_of(int32_t power)
{
    int32_t log2 = 0;
    while (power >> (log2 + 1))
        log2++;
    return log2;
}

/* How the lanes of a warp share out the samples of a block. */
static void share_out(mvf_smooth_params *p, const mvf_search_config *config)
{
    int32_t row_items = config->block_w, n_rows = config->block_h / tile_of(config);
    if (takes_words(config)) {
        row_items = config->block_w * config->sample_bytes / 4;
        n_rows = config->block_h;
    }
    p->log2_row_items = log2_of(row_items);
    p->n_items = row_items * n_rows;
    p->team = p->n_items < 32 ? p->n_items : 32;
}

static void lay_out_pair(mvf_smooth_params *p)
{
    int64_t n = (int64_t)p->cols * p->rows * MVF_TM_PLACES;
    p->labels = mvf_cuda_reserve(&p->pair_bytes, n * (int64_t)sizeof(uint32_t));
    p->label_costs = mvf_cuda_reserve(&p->pair_bytes, n * (int64_t)sizeof(uint32_t));
    p->path_costs = mvf_cuda_reserve(&p->pair_bytes, n * (int64_t)sizeof(int16_t));
    p->path_bytes = n * (int64_t)sizeof(int16_t);
    p->paths = mvf_cuda_reserve(&p->pair_bytes, 4 * p->path_bytes);
}

static void set_paths(mvf_smooth_plan *plan, const mvf_search_config *config, int64_t stride_bytes)
{
    plan->paths = (mvf_smooth_params){.stride_bytes = stride_bytes,
                                      .rate = config->rate,
                                      .width = config->width,
                                      .height = config->height,
                                      .bit_depth = config->bit_depth,
                                      .block_w = config->block_w,
                                      .block_h = config->block_h,
                                      .step_x = config->step_x,
                                      .step_y = config->step_y,
                                      .cols = config->cols,
                                      .rows = config->rows,
                                      .inside = config->edges == MVF_EDGES_INSIDE,
                                      .metric = mvf_cuda_metric(last_metric(config)),
                                      .match_units = 4 / config->match_scale};
    share_out(&plan->paths, config);
    lay_out_pair(&plan->paths);
    size_t n = SCRATCH_BYTES / (size_t)plan->paths.pair_bytes;
    plan->n_at_once = n < 1 ? 1 : n < MVF_CUDA_BATCH ? (int32_t)n : MVF_CUDA_BATCH;
}

static mvf_status open_paths(mvf_smooth_plan *plan, mvf_cuda *cuda, const mvf_search_config *config)
{
    static const char *const filters[] = {"h264", "hevc", "bilinear"};
    char name[64];
    int32_t bits = 8 * config->sample_bytes;
    /* Whole samples are what each filter makes of them: bilinear does so in the fewest steps. */
    int filter = config->subpel == MVF_SUBPEL_NONE ? 2 : (int)config->interpolation;
    if (takes_words(config))
        snprintf(name, sizeof name, "smooth_label_sad_%d", (int)bits);
    else
        snprintf(name, sizeof name, "smooth_label_%s_%d_t%d", filters[filter], (int)bits,
                 (int)tile_of(config));
    MVF_TRY(mvf_cuda_load(cuda, &plan->module, mvf_fatbin_smooth_paths));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->label, plan->module, name);
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->path, plan->module, "smooth_path");
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->choose, plan->module, "smooth_choose");
    return MVF_OK;
}

static mvf_status open_medians(mvf_smooth_plan *plan, mvf_cuda *cuda)
{
    MVF_TRY(mvf_cuda_load(cuda, &plan->module, mvf_fatbin_smooth_median));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &plan->median, plan->module, "smooth_median");
    return MVF_OK;
}

mvf_status mvf_smooth_plan_open(mvf_smooth_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes)
{
    mvf_status status = MVF_OK;
    *plan = (mvf_smooth_plan){.n_at_once = MVF_CUDA_BATCH};
    if (config->smooth == MVF_SMOOTH_PATH) {
        set_paths(plan, config, stride_bytes);
        status = open_paths(plan, cuda, config);
    } else if (mvf_medians_are_of_matches(config)) {
        plan->medians.cols = config->cols;
        plan->medians.rows = config->rows;
        plan->medians.pair_bytes = (int64_t)(config->n_matches * sizeof(mvf_vector));
        status = open_medians(plan, cuda);
    }
    if (status != MVF_OK)
        mvf_smooth_plan_close(plan, cuda);
    return status;
}

void mvf_smooth_plan_close(mvf_smooth_plan *plan, mvf_cuda *cuda)
{
    if (plan->module)
        cuda->driver.cuModuleUnload(plan->module);
    plan->module = NULL;
}

size_t mvf_smooth_scratch_bytes(const mvf_smooth_plan *plan, int32_t n_jobs)
{
    return (size_t)(n_jobs < plan->n_at_once ? n_jobs : plan->n_at_once) *
           (size_t)plan->paths.pair_bytes;
}

static mvf_status launch(mvf_cuda *cuda, CUfunction function, int64_t n, int32_t each,
                         int32_t n_jobs, unsigned n_threads, void *params, CUstream stream)
{
    void *arguments[] = {params};
    MVF_CUDA_TRY(cuda, cuLaunchKernel, function, (unsigned)mvf_divide_up_i64(n, each),
                 (unsigned)n_jobs, 1, n_threads, 1, 1, 0, stream, arguments, NULL);
    return MVF_OK;
}

static mvf_status launch_paths(mvf_cuda *cuda, const mvf_smooth_plan *plan,
                               const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                               CUstream stream)
{
    mvf_smooth_params p = plan->paths;
    int64_t n = (int64_t)p.cols * p.rows, n_lines = 2 * ((int64_t)p.cols + p.rows);
    p.work = scratch;
    memcpy(p.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
    for (int32_t pass = 0; pass < MVF_PATH_PASSES; pass++) {
        p.reach = mvf_rule_path_reach(pass);
        MVF_TRY(launch(cuda, plan->label, n, MVF_SMOOTH_LABEL_THREADS / 32, n_jobs,
                       MVF_SMOOTH_LABEL_THREADS, &p, stream));
        MVF_TRY(launch(cuda, plan->path, n_lines, MVF_TM_PATH_THREADS / MVF_TM_TEAM, n_jobs,
                       MVF_TM_PATH_THREADS, &p, stream));
        MVF_TRY(launch(cuda, plan->choose, n, MVF_SMOOTH_THREADS, n_jobs, MVF_SMOOTH_THREADS, &p,
                       stream));
    }
    return MVF_OK;
}

mvf_status mvf_smooth_launch(mvf_cuda *cuda, const mvf_smooth_plan *plan,
                             const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                             CUdeviceptr medians, CUstream stream)
{
    if (!plan->module)
        return MVF_OK;
    if (plan->median) {
        mvf_median_params p = plan->medians;
        p.medians = medians;
        memcpy(p.pairs, pairs, (size_t)n_jobs * sizeof *pairs);
        return launch(cuda, plan->median, (int64_t)p.cols * p.rows, MVF_SMOOTH_THREADS, n_jobs,
                      MVF_SMOOTH_THREADS, &p, stream);
    }
    for (int32_t first = 0; first < n_jobs; first += plan->n_at_once) {
        int32_t n_left = n_jobs - first;
        MVF_TRY(launch_paths(cuda, plan, pairs + first,
                             n_left < plan->n_at_once ? n_left : plan->n_at_once, scratch, stream));
    }
    return MVF_OK;
}
