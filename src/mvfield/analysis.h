/*
 * mvfield/analysis.h - what fields say: two of them side by side, the picture that one predicts,
 * and the motion of the whole.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_ANALYSIS_H
#define MVFIELD_ANALYSIS_H

#include <mvfield/field.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Comparison of vectors A with vectors B, pixel by pixel; B is the truth where there is one. The
 * end-point error (EPE) of a pixel is the length of A - B.
 */
typedef struct mvf_comparison mvf_comparison;

/* How far two sets of vectors agree. */
typedef struct mvf_agreement {
    /* Pixels with a vector in both, in A alone, in B alone, in neither. */
    uint64_t n_pixels, n_only_a, n_only_b, n_neither;
    /* Of n_pixels: those with the same vector in both; with an EPE over 1 px; over 3 px; over 3 px
     * and over 5 % of B's length (KITTI's outliers). */
    uint64_t n_equal, n_over_1px, n_over_3px, n_outliers;
    /* In px. The percentiles are rounded up to 1/64 px, and none exceeds 1024 px. */
    double mean_epe, max_epe, median_epe, p90_epe, p95_epe, p99_epe;
} mvf_agreement;

/* MVF_ERROR_MEMORY leaves *comparison NULL. */
MVF_API mvf_status mvf_comparison_open(mvf_comparison **comparison);

/* Adds `n_pixels` pairs of px vectors, as in mvf_flow. */
MVF_API void mvf_comparison_add(mvf_comparison *comparison, const float *a, const float *b,
                                size_t n_pixels);

/*
 * Adds two fields of one frame, each as mvf_field_fill_flow() sees it. MVF_ERROR_ARGUMENT: their
 * sizes in px differ; MVF_ERROR_MEMORY. Nothing was added then.
 */
MVF_API mvf_status mvf_comparison_add_fields(mvf_comparison *comparison, const mvf_field *a,
                                             const mvf_field *b);

/* What has been added so far; percentiles and means are 0 where n_pixels is. */
MVF_API void mvf_comparison_get(const mvf_comparison *comparison, mvf_agreement *agreement);

/* As if nothing had been added. */
MVF_API void mvf_comparison_reset(mvf_comparison *comparison);

/* Frees *comparison and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_comparison_close(mvf_comparison **comparison);

/* Squared differences between a frame and its prediction. */
typedef struct mvf_prediction {
    /* How many samples were predicted, and the sum of their squared errors. */
    uint64_t n_samples;
    double squared_error;
} mvf_prediction;

/*
 * Adds to *prediction how well the vectors of direction `dir` predict `current` from `reference`,
 * both of the field's size and bit depth, in host memory. Samples between samples are
 * interpolated bilinearly; outside the frame the nearest edge sample counts. Pixels of no block are
 * left out; those of several count several times. PSNR is 10 log10(peak^2 n_samples /
 * squared_error). MVF_ERROR_ARGUMENT: a picture without samples, or not in host memory.
 */
MVF_API mvf_status mvf_field_measure_prediction(const mvf_field *field, int32_t dir,
                                                const mvf_picture *current,
                                                const mvf_picture *reference,
                                                mvf_prediction *prediction);

/*
 * The motion of the whole frame, as a camera makes it: shift, turn and zoom. The block whose centre
 * is at p px from the centre of the frame has the vector (x, y) + (zoom R - 1) p, R turning by
 * rotation_degrees.
 */
typedef struct mvf_global_motion {
    /* Which vectors it is the motion of: -1 those into the past, +1 those into the future. */
    int32_t dir;
    /* Blocks with such a vector. */
    size_t n_vectors;
    /* The median of each component, in px. */
    double median_x, median_y;
    /* The shift at the centre of the frame, in px, as a vector: toward the reference. */
    double x, y;
    /* Clockwise as seen, from the current frame to the reference. */
    double rotation_degrees;
    /* How much larger the content is in the reference; 1: as large. */
    double zoom;
    /* The share of n_vectors that are within 2 px of the motion. */
    double support;
} mvf_global_motion;

/*
 * Fits the motion of the whole to the vectors of direction `dir` (-1 or +1; 0: the side in time
 * that mvf_field_fill_flow() takes): the best of 200 guesses from pairs of vectors, the same for
 * the same field, then least squares over the vectors within 2 px, ten times. So most of the frame
 * decides, whatever moves in the rest. All zero, with a zoom of 1, without vectors.
 * MVF_ERROR_MEMORY.
 */
MVF_API mvf_status mvf_field_estimate_global(const mvf_field *field, int32_t dir,
                                             mvf_global_motion *motion);

/*
 * Leaves what moves on its own: takes the motion from the vectors of its direction, rounded to the
 * field's units, and sets MVF_FIELD_RESIDUAL. Costs and flags of blocks stay those of the vectors
 * before.
 */
MVF_API void mvf_field_subtract_global(mvf_field *field, const mvf_global_motion *motion);

#ifdef __cplusplus
}
#endif

#endif
