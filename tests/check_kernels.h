/*
 * check_kernels.h - what the groups of check_kernels share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_CHECK_KERNELS_H
#define MVF_TESTS_CHECK_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include <mvfield/mvfield.h>

typedef struct check_run {
    uint64_t seed, state;
    const char *only, *clip;
    int cuda, bench;
    /* Few cases and small ones, for a device that is slow. */
    int small;
    /* Of the cases of each group only those whose number, from 0 on, is `share` modulo n_shares:
     * for tools that slow kernels down a hundredfold. */
    int share, n_shares, n_cases;
    /* Of tables of measurements only the first rows; 0: all. */
    int n_rows;
    int n_checks, n_failed;
    mvf_logger logger;
} check_run;

uint32_t check_random(check_run *run);

/* Whether this run takes the group's next case. */
int check_takes(check_run *run);

/* Counts one check and prints `what` if it failed. */
void check_result(check_run *run, int ok, const char *what);

/* A plane of samples in the middle of guard bytes, its rows further apart than they are long. */
typedef struct check_plane {
    uint8_t *memory, *origin;
    size_t n_bytes;
    ptrdiff_t stride_bytes;
    int32_t width, height, bit_depth;
} check_plane;

typedef enum check_fill {
    FILL_NOISE,
    FILL_FLAT,
    FILL_STRIPES,
    FILL_EXTREMES,
    FILL_TEXTURE,
    /* A dark scene's sensor noise. */
    FILL_BLACK,
    /* Texture with patches of noise. */
    FILL_PATCHES,
    /* The ones to draw from. */
    N_FILLS,
    /* Little noise among strong contrasts, where rough bounds come close to the costs. */
    FILL_FAINT = N_FILLS
} check_fill;

void check_plane_alloc(check_run *run, check_plane *plane, int32_t width, int32_t height,
                       int32_t bit_depth);
void check_plane_free(check_plane *plane);
/* `phase` shifts the pattern, so that two planes differ by a motion. */
void check_plane_fill(check_run *run, check_plane *plane, check_fill fill, int32_t phase);
uint32_t check_plane_sample(const check_plane *plane, int32_t x, int32_t y);
void check_plane_set(check_plane *plane, int32_t x, int32_t y, uint32_t value);
mvf_picture check_plane_picture(const check_plane *plane, int64_t frame);
const char *check_fill_name(check_fill fill);

/* One search of made-up pictures; steps of 0 stand for the block's size. */
typedef struct check_case {
    int32_t width, height, bit_depth;
    int32_t block_w, block_h, step_x, step_y, range_x, range_y;
    mvf_edges edges;
    check_fill fill;
} check_case;

/* What method hier is tried on, on the CPU and on CUDA, beside what each draws or adds. */
#define CHECK_HIER_CASES 6
extern const check_case check_hier_cases[CHECK_HIER_CASES];

/* Of any blocks, steps and depth, up to that size; the ranges are the caller's. */
check_case check_case_random(check_run *run, int32_t max_width, int32_t max_height);
mvf_options check_case_options(const check_run *run, const check_case *c);
void check_case_describe(char *text, size_t size, const check_case *c, const char *engine);
/* Pictures of the case, the pattern of each `phase` further than that of the one before. */
void check_case_alloc_planes(check_run *run, const check_case *c, check_plane *planes, int n,
                             int32_t phase);
void check_case_free_planes(check_plane *planes, int n);

/* The groups. */
void check_search(check_run *run);
void check_subpel(check_run *run);
void check_hier(check_run *run);
void check_twins(check_run *run);
void check_pans(check_run *run);
void check_rates(check_run *run);
void check_hints(check_run *run);
void check_partitions(check_run *run);
void check_merges(check_run *run);
void check_smooth_paths(check_run *run);
void check_truemotion(check_run *run);
void bench_truemotion(check_run *run);
void check_cuda_encoder(check_run *run);
void check_cuda_truemotion(check_run *run);
void bench_search(check_run *run);
void check_cuda(check_run *run);
/* Only in builds with CUDA kernels. */
void check_cuda_layout(check_run *run);
void check_cuda_rows_small(check_run *run);
void check_cuda_rows(check_run *run);
void check_cuda_rows_frames(check_run *run);
void check_cuda_pictures(check_run *run);
void check_cuda_minimum(check_run *run);
void check_cuda_hier(check_run *run);
void check_cuda_hier_levels(check_run *run);
void check_cuda_smooth(check_run *run);
void bench_cuda_smooth(check_run *run);
void bench_cuda_minimum(check_run *run);
void bench_cuda_hier(check_run *run);
void bench_cuda_rows(check_run *run);
void bench_cuda_shapes(check_run *run);
void bench_cuda_true_motion(check_run *run);
void bench_cuda_encoder(check_run *run);

#endif
