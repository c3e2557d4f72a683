/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "cuda/device.h"
#include "params.h"
#include "search/engine_cuda.h"

extern const unsigned char mvf_fatbin_self_test[];

#define ROUNDS 8192
#define N_LAUNCHES 7

typedef struct rate_run {
    mvf_cuda cuda;
    CUmodule module;
    CUfunction function;
    CUdeviceptr sink;
    CUevent start, end;
} rate_run;

static mvf_status prepare(rate_run *run)
{
    mvf_cuda *cuda = &run->cuda;
    size_t n_threads = (size_t)cuda->multiprocessors * MVF_RATE_BLOCKS * MVF_RATE_THREADS;
    MVF_TRY(mvf_cuda_load(cuda, &run->module, mvf_fatbin_self_test));
    MVF_CUDA_TRY(cuda, cuModuleGetFunction, &run->function, run->module, "sad_rate");
    MVF_CUDA_TRY(cuda, cuMemAlloc_v2, &run->sink, n_threads * sizeof(uint32_t));
    MVF_CUDA_TRY(cuda, cuEventCreate, &run->start, CU_EVENT_DEFAULT);
    MVF_CUDA_TRY(cuda, cuEventCreate, &run->end, CU_EVENT_DEFAULT);
    return MVF_OK;
}

static mvf_status time_launch(rate_run *run, float *milliseconds)
{
    mvf_cuda *cuda = &run->cuda;
    int32_t n_rounds = ROUNDS;
    void *arguments[] = {&run->sink, &n_rounds};
    MVF_CUDA_TRY(cuda, cuEventRecord, run->start, NULL);
    MVF_CUDA_TRY(cuda, cuLaunchKernel, run->function,
                 (unsigned)cuda->multiprocessors * MVF_RATE_BLOCKS, 1, 1, MVF_RATE_THREADS, 1, 1, 0,
                 NULL, arguments, NULL);
    MVF_CUDA_TRY(cuda, cuEventRecord, run->end, NULL);
    MVF_CUDA_TRY(cuda, cuEventSynchronize, run->end);
    MVF_CUDA_TRY(cuda, cuEventElapsedTime, milliseconds, run->start, run->end);
    return MVF_OK;
}

/* The best of a few launches: the first ones warm the device up. */
static mvf_status measure(rate_run *run, double *differences_per_second)
{
    double per_launch = 4.0 * MVF_RATE_CHAINS * ROUNDS * MVF_RATE_THREADS * MVF_RATE_BLOCKS *
                        run->cuda.multiprocessors;
    MVF_TRY(prepare(run));
    *differences_per_second = 0;
    for (int i = 0; i < N_LAUNCHES; i++) {
        float milliseconds;
        MVF_TRY(time_launch(run, &milliseconds));
        double rate = 1000.0 * per_launch / (double)milliseconds;
        if (rate > *differences_per_second)
            *differences_per_second = rate;
    }
    return MVF_OK;
}

static void clean_up(rate_run *run)
{
    if (run->start)
        run->cuda.driver.cuEventDestroy_v2(run->start);
    if (run->end)
        run->cuda.driver.cuEventDestroy_v2(run->end);
    if (run->sink)
        run->cuda.driver.cuMemFree_v2(run->sink);
    if (run->module)
        run->cuda.driver.cuModuleUnload(run->module);
}

mvf_status mvf_cuda_sad_rate(int32_t device, const mvf_logger *logger,
                             double *differences_per_second)
{
    rate_run run = {.module = NULL};
    MVF_TRY(mvf_cuda_open(&run.cuda, device, logger));
    mvf_status status = mvf_cuda_enter(&run.cuda);
    if (status == MVF_OK) {
        status = measure(&run, differences_per_second);
        clean_up(&run);
        mvf_cuda_leave(&run.cuda);
    }
    mvf_cuda_close(&run.cuda);
    return status;
}
