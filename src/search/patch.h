/*
 * search/patch.h - blocks as patches of 16-bit samples, and what is computed on them: the metrics
 * of metric_rule.h and the predictions of subpel_rule.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_PATCH_H
#define MVF_SEARCH_PATCH_H

#include <mvfield/search.h>

#include "plane/plane.h"

/* Samples in 16 bits whatever the bit depth. */
typedef struct mvf_patch {
    uint16_t *origin;
    ptrdiff_t stride_bytes;
} mvf_patch;

static inline uint16_t *mvf_patch_at(mvf_patch patch, int32_t x, int32_t y)
{
    return (uint16_t *)((uint8_t *)patch.origin + y * patch.stride_bytes) + x;
}

static inline mvf_patch mvf_patch_move(mvf_patch patch, int32_t x, int32_t y)
{
    return (mvf_patch){mvf_patch_at(patch, x, y), patch.stride_bytes};
}

/* Copies the w x h samples from (x, y) on into the patch; those outside the frame repeat the
 * nearest edge sample. Needs no borders. */
void mvf_patch_gather(mvf_patch to, const mvf_plane *plane, int32_t x, int32_t y, int32_t w,
                      int32_t h);

/*
 * The metric over w x h samples, up to 64 x 64. SAD and SSD may stop after any row at which the sum
 * has reached `limit`, and then return that partial sum.
 */
typedef uint32_t (*mvf_metric_function)(mvf_patch a, mvf_patch b, int32_t w, int32_t h,
                                        uint32_t limit);

/*
 * The prediction of w x h samples at phase (fx, fy), 0 to 3, into `to`. `reference` is at the whole
 * sample of the vector, and may be read MVF_SUBPEL_MARGIN - 1 samples before and MVF_SUBPEL_MARGIN
 * after the block.
 */
typedef void (*mvf_predict_function)(mvf_patch to, mvf_patch reference, int32_t w, int32_t h,
                                     int32_t fx, int32_t fy, int32_t bit_depth);

/* `tile` (8 or 4): the size of SATD's tiles. */
mvf_metric_function mvf_metric_select(mvf_metric metric, int32_t tile, int32_t bit_depth,
                                      mvf_cpu_level level);
mvf_predict_function mvf_predict_select(mvf_interpolation filter, mvf_cpu_level level);

/* What partitions need for each candidate. */
typedef struct mvf_partition_ops {
    /* SADs of n_cols x n_rows whole blocks of size x size, in raster order. NULL: no faster way
     * than the metric, block by block. */
    void (*sads)(mvf_patch a, mvf_patch b, int32_t size, int32_t n_cols, int32_t n_rows,
                 uint32_t *sums);
    /* Where sums[i] + rate is below best_j[i], makes it the best and notes the index. */
    void (*keep)(const uint32_t *sums, uint32_t *best_j, int32_t *best_index, int32_t n,
                 uint32_t rate, int32_t index);
} mvf_partition_ops;

mvf_partition_ops mvf_partition_select(int32_t size, int32_t bit_depth, mvf_cpu_level level);

/* SADs of 8-bit samples where they lie, in blocks whose width is a multiple of 8; NULL: none. */
typedef struct mvf_byte_ops {
    /* May stop as mvf_metric_function may. */
    uint32_t (*sad)(const uint8_t *a, ptrdiff_t a_stride_bytes, const uint8_t *b,
                    ptrdiff_t b_stride_bytes, int32_t w, int32_t h, uint32_t limit);
    /* Of n_cols x n_rows blocks of 8 x 8, n_cols even, in raster order. */
    void (*sads_8)(const uint8_t *a, ptrdiff_t a_stride_bytes, const uint8_t *b,
                   ptrdiff_t b_stride_bytes, int32_t n_cols, int32_t n_rows, uint32_t *sums);
} mvf_byte_ops;

mvf_byte_ops mvf_byte_select(mvf_cpu_level level);

/* The same for AVX2; NULL where plain C serves. */
mvf_byte_ops mvf_byte_select_avx2(void);
mvf_metric_function mvf_metric_select_avx2(mvf_metric metric, int32_t tile, int32_t bit_depth);
mvf_predict_function mvf_predict_select_avx2(mvf_interpolation filter);
mvf_partition_ops mvf_partition_select_avx2(int32_t size, int32_t bit_depth);

/* Replaces `to` by the rounded-up average of both. */
void mvf_patch_average(mvf_patch to, mvf_patch other, int32_t w, int32_t h);

#endif
