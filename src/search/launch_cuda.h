/*
 * search/launch_cuda.h - which kernel answers a search, and in what shape it is launched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_LAUNCH_CUDA_H
#define MVF_SEARCH_LAUNCH_CUDA_H

#include "cuda/device.h"
#include "params.h"
#include "search/engine.h"

/* A plane on the device, the same for current and reference frames. */
typedef struct mvf_cuda_layout {
    /* Samples and rows around the frame that a kernel may read; all repeat the nearest edge sample.
     * The row's last ones only fill it up to the stride. */
    int32_t left, right, top, bottom;
    int64_t stride_bytes;
    int32_t n_rows;
    size_t n_bytes;
    /* Sample (0, 0). */
    int64_t origin_bytes;
} mvf_cuda_layout;

mvf_cuda_layout mvf_cuda_plane_layout(const mvf_search_config *config);

/* Rows of the table of launch shapes, for the config's first_shape: those for 16x16 blocks, and
 * where the others begin. */
enum { MVF_SHAPE_ELIMINATE, MVF_SHAPE_EXHAUST, MVF_SHAPE_OTHERS };

/* Kernels that one batch launches, one after the other. */
#define MVF_MAX_STAGES 2

typedef struct mvf_launch_shape mvf_launch_shape;

typedef struct mvf_launch_stage {
    CUmodule module;
    CUfunction function;
    /* Dynamic shared memory. */
    int32_t shared_bytes;
} mvf_launch_stage;

/* One engine's way to answer batches. */
typedef struct mvf_launch_plan {
    const mvf_launch_shape *shape;
    mvf_launch_stage stages[MVF_MAX_STAGES];
    /* What is the same for every batch: one of them, by the shape. */
    mvf_search_params params;
    mvf_full_params full_params;
    mvf_partition_params partition;
    mvf_block_params block;
    /* Thread blocks of a launch, where their number does not follow from the batch. */
    int32_t n_thread_blocks;
    /* Threads of a block, where their number follows from the config. */
    int32_t n_threads;
} mvf_launch_plan;

/* A kernel and where it is embedded. */
typedef struct mvf_launch_kernel {
    const char *name;
    const unsigned char *fatbin;
} mvf_launch_kernel;

/* A row of the table of launch shapes; the first that serves a config is taken. */
struct mvf_launch_shape {
    mvf_launch_kernel kernels[MVF_MAX_STAGES];
    /* Threads that search one block of the frame; of the general kernels only. */
    int32_t team;
    int (*serves)(const mvf_launch_shape *shape, const mvf_search_config *config,
                  const mvf_cuda *cuda);
    /* What `serves` compares: sample size, the fewest bytes of a block's row, and dynamic shared
     * memory. */
    int32_t sample_bytes, row_bytes, shared_bytes;
    /* The same of the kernels that serve what needs mvf_block_search: the side of their tiles, and
     * whether they take SADs only. */
    int32_t tile, is_sad;
    /* Of the kernels for squares: most threads of a block, candidates of a strip, words from row to
     * row of a window, the longest range across (0: any), whether they take halves too, and the
     * smallest square. */
    int32_t most_threads, strip, pitch, most_range, has_halves, smallest;
    /* Device memory of its own that each batch of n_jobs needs, zero before the first launch and
     * after one that failed. NULL: none. */
    size_t (*scratch_bytes)(const mvf_search_config *config, int32_t n_jobs);
    /* Fills in the stages' shared_bytes and the parameters. */
    void (*prepare)(mvf_launch_plan *plan, const mvf_search_config *config, const mvf_cuda *cuda,
                    int64_t stride_bytes);
    mvf_status (*enqueue)(mvf_cuda *cuda, const mvf_launch_plan *plan,
                          const mvf_search_pair *before, const mvf_search_pair *pairs,
                          int32_t n_jobs, CUdeviceptr scratch, CUstream stream);
};

/* Chooses only: from the device's capability, multiprocessors and shared memory. */
void mvf_launch_plan_choose(mvf_launch_plan *plan, const mvf_cuda *cuda,
                            const mvf_search_config *config, int64_t stride_bytes);

/* Chooses and loads. The context is current. On failure nothing is left to close. */
mvf_status mvf_launch_plan_open(mvf_launch_plan *plan, mvf_cuda *cuda,
                                const mvf_search_config *config, int64_t stride_bytes);
void mvf_launch_plan_close(mvf_launch_plan *plan, mvf_cuda *cuda);

size_t mvf_launch_scratch_bytes(const mvf_launch_plan *plan, const mvf_search_config *config,
                                int32_t n_jobs);

/* Queues what brings scratch memory into the state that mvf_launch() expects and leaves. */
mvf_status mvf_launch_clear_scratch(mvf_cuda *cuda, CUdeviceptr scratch, size_t n_bytes,
                                    CUstream stream);

/*
 * Queues the search of n_jobs (1 to MVF_CUDA_BATCH) pairs. The kernels may look at what `before`,
 * an earlier pair or NULL, has found so far, and at the matches of the pairs themselves before they
 * are written: none may be memory that nothing was ever written to.
 */
mvf_status mvf_launch(mvf_cuda *cuda, const mvf_launch_plan *plan, const mvf_search_pair *before,
                      const mvf_search_pair *pairs, int32_t n_jobs, CUdeviceptr scratch,
                      CUstream stream);

#endif
