/*
 * search/truemotion_parts.h - the parts of true motion; truemotion.h says what each one computes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_TRUEMOTION_PARTS_H
#define MVF_SEARCH_TRUEMOTION_PARTS_H

#include "search/engine.h"
#include "search/truemotion.h"
#include "search/truemotion_rule.h"

/* Neighbouring cells that a median treats side by side. */
#define MVF_TM_LANES 16

/* Features of a px: I, Gx, Gy and zero, from the lowest byte up. */
typedef uint32_t mvf_tm_features;

typedef struct mvf_tm_level {
    int32_t width, height;
    /* Of a row of features, borders included. */
    ptrdiff_t stride_bytes;
    /* Sample (0, 0) of each phase: bit 0 of the index is half a px in x, bit 1 in y. */
    mvf_tm_features *phase[4];
    /* The level at 8 bits, without borders: row after row. */
    uint8_t *luma;
    void *memory;
} mvf_tm_level;

struct mvf_tm_image {
    int32_t width, height, n_levels;
    mvf_tm_level levels[MVF_TM_MAX_LEVELS];
};

/* Vectors on a grid of cells. All arrays have borders of MVF_TM_MAX_RADIUS cells, where they are
 * zero, and room for MVF_TM_LANES more cells at the end of a row. */
typedef struct mvf_tm_field {
    int32_t cols, rows, cell_px;
    /* Cells from one row to the next, in all arrays. */
    ptrdiff_t stride;
    int16_t *x, *y;
    uint8_t *guide;
    /* 255 where the cell counts in medians and means, 0 if it is occluded. */
    uint8_t *visible;
    void *memory;
} mvf_tm_field;

/* Which samples of a window count. */
typedef enum mvf_tm_pattern { MVF_TM_PATTERN_8 = 0, MVF_TM_PATTERN_4 = 1 } mvf_tm_pattern;

/* Steps of 1/2, 1/4 and 1/8 px as powers of two of the vector unit. */
enum { MVF_TM_HALF = 3, MVF_TM_QUARTER = 2, MVF_TM_EIGHTH = 1 };

/* What an effort does. */
typedef struct mvf_tm_schedule {
    mvf_tm_pattern coarse_pattern;
    /* Rows and columns in every pass, or in turn. */
    int32_t both_axes;
    /* Passes at level 0: the first in quarters of a px, the others in eighths. */
    int32_t n_fine;
    /* Whether single pixels come from a finer grid. */
    int32_t refines;
} mvf_tm_schedule;

/* By mvf_effort. */
extern const mvf_tm_schedule mvf_tm_schedules[];

typedef struct mvf_tm_labels {
    int16_t x[MVF_TM_PLACES], y[MVF_TM_PLACES], cost[MVF_TM_PLACES];
} mvf_tm_labels;

/* Vectors to be compared for one cell. */
#define MVF_TM_MAX_CANDIDATES 33
typedef struct mvf_tm_candidates {
    int32_t count;
    int16_t x[MVF_TM_MAX_CANDIDATES], y[MVF_TM_MAX_CANDIDATES];
    int16_t cost[MVF_TM_MAX_CANDIDATES];
} mvf_tm_candidates;

/* Fills in the costs of the candidates for the window at (x, y) of `current`. */
typedef void (*mvf_tm_cost_function)(mvf_tm_candidates *list, const mvf_tm_level *current,
                                     const mvf_tm_level *reference, int32_t x, int32_t y,
                                     mvf_tm_pattern pattern);
/* Adds a line's L to `sums`, MVF_TM_PLACES a cell: n cells, `step` cells apart (may be negative).
 */
typedef void (*mvf_tm_path_function)(const mvf_tm_labels *cells, int16_t *sums, ptrdiff_t step,
                                     int32_t n, int32_t penalty_max);
/* Weighted medians of MVF_TM_LANES neighbouring cells, the first of which is at `values`. The
 * weights, one row of lanes for each cell of the window, sum to 32767 a lane at most. */
typedef void (*mvf_tm_median_function)(int16_t *medians, const int16_t *values, ptrdiff_t stride,
                                       int32_t radius, const int16_t *weights);

typedef struct mvf_tm_kernels {
    mvf_tm_cost_function cost;
    mvf_tm_path_function path;
    mvf_tm_median_function median;
} mvf_tm_kernels;

/* Plain C, replaced function by function up to `level`. */
void mvf_tm_kernels_init(mvf_tm_kernels *kernels, mvf_cpu_level level);
void mvf_tm_kernels_init_avx2(mvf_tm_kernels *kernels);

void mvf_tm_path_c(const mvf_tm_labels *cells, int16_t *sums, ptrdiff_t step, int32_t n,
                   int32_t penalty_max);
void mvf_tm_median_c(int16_t *medians, const int16_t *values, ptrdiff_t stride, int32_t radius,
                     const int16_t *weights);

mvf_status mvf_tm_field_alloc(mvf_tm_field *field, const mvf_tm_level *level, int32_t cell_px);
void mvf_tm_field_free(mvf_tm_field *field);

/* What a pass needs besides the field: memory for the largest grid, and the kernels. */
typedef struct mvf_tm_workspace {
    mvf_tm_kernels kernels;
    mvf_tm_labels *labels;
    int16_t *sums;
    /* One plane of vectors, strided as the field. */
    int16_t *x, *y;
} mvf_tm_workspace;

/* One pass over a grid. */
typedef struct mvf_tm_pass {
    mvf_tm_pattern pattern;
    int32_t log2_step;
    /* In cells, the furthest last; at least one. */
    int32_t n_reaches;
    int32_t reaches[3];
    int32_t penalty_max;
} mvf_tm_pass;

/* Labels of every cell: at the top, or in a pass. */
void mvf_tm_label_top(const mvf_tm_workspace *work, const mvf_tm_field *field,
                      const mvf_tm_level *current, const mvf_tm_level *reference,
                      mvf_tm_pattern pattern);
void mvf_tm_label_pass(const mvf_tm_workspace *work, const mvf_tm_field *field,
                       const mvf_tm_level *current, const mvf_tm_level *reference,
                       const mvf_tm_pass *pass);

/* Sums the paths over rows and/or columns and gives each cell its best label. */
void mvf_tm_choose(const mvf_tm_workspace *work, mvf_tm_field *field, int32_t rows, int32_t columns,
                   int32_t penalty_max);

void mvf_tm_median(const mvf_tm_workspace *work, mvf_tm_field *field, int32_t radius);
void mvf_tm_mean(const mvf_tm_workspace *work, mvf_tm_field *field);

void mvf_tm_check(mvf_tm_field *forward, const mvf_tm_field *backward, const mvf_tm_level *level);
/* Cost, confidence and flags of each cell of 4x4 px; the vectors are the mean's business. */
void mvf_tm_rate(const mvf_tm_workspace *work, const mvf_tm_field *field,
                 const mvf_tm_level *current, const mvf_tm_level *reference, mvf_tm_match *matches);

/* Vectors of the level below or (scale 1) of the grid with half the cells' side. */
void mvf_tm_descend(mvf_tm_field *fine, const mvf_tm_field *coarse, int32_t scale);
/* The vector of every px. */
void mvf_tm_interpolate(mvf_tm_match *matches, const mvf_tm_field *field,
                        const mvf_tm_level *level);

/* Writes the job's blocks and their confidence. */
void mvf_tm_write_blocks(const mvf_search_config *config, const mvf_tm_match *matches,
                         const mvf_engine_job *job);

static inline int32_t mvf_tm_clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The quotient rounded down; the divisor is positive. */
static inline int32_t mvf_tm_divide(int32_t dividend, int32_t divisor)
{
    int32_t quotient = dividend / divisor;
    return dividend % divisor < 0 ? quotient - 1 : quotient;
}

/* Elements of each array of a field, borders included. */
static inline size_t mvf_tm_field_cells(const mvf_tm_field *field)
{
    return (size_t)field->stride * ((size_t)field->rows + 2 * MVF_TM_MAX_RADIUS);
}

#endif
