/*
 * params.h - what kernels are told, in structs that C and CUDA lay out alike.
 *
 * Addresses are device addresses as integers; strides are bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_PARAMS_H
#define MVF_KERNELS_PARAMS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "launch.h"
#include "search/metric_rule.h"

/* Pairs of planes that one launch can answer. */
#define MVF_CUDA_BATCH 32
/* The same of true motion. */
#define MVF_TM_BATCH 8

/* Of the kernels for 16x16 blocks, in samples: the block, the tile of blocks that one thread block
 * takes, how far its search window reaches beyond the tile, and the longest vector. */
#define MVF_FULL_BLOCK 16
#define MVF_FULL_TILE 64
#define MVF_FULL_HALO 32
#define MVF_FULL_RANGE_MAX 127
/* Origins of windows are multiples of it, since they are copied in such words. */
#define MVF_FULL_COPY_BYTES 16

/* One plane: `from` holds the picture's rows, `to` the first byte of the padded plane, which is
 * aligned to MVF_PAD_BYTES. */
typedef struct mvf_pad_params {
    uint64_t from, to;
    int64_t from_stride_bytes, to_stride_bytes;
    int32_t width, height;
    /* Samples and rows before sample (0, 0), and all rows of the padded plane. */
    int32_t border_left, border_top;
    int32_t n_rows;
    /* Whether `from` and its stride are multiples of MVF_PAD_BYTES. */
    int32_t is_aligned;
    /* Bits below the value, with samples of two bytes. */
    int32_t shift_bits;
    int32_t reserved;
} mvf_pad_params;

static_assert(sizeof(mvf_pad_params) == 64, "same layout in C and CUDA");
static_assert(offsetof(mvf_pad_params, width) == 32, "same layout in C and CUDA");
static_assert(offsetof(mvf_pad_params, n_rows) == 48, "same layout in C and CUDA");

/* Sample (0, 0) of two padded planes, and where the answers go: mvf_match of search/engine.h. */
typedef struct mvf_search_pair {
    uint64_t current, reference, matches;
    /* Of each block of the grid, mvf_guide_vector: a predictor, and n_hints hints; 0: none. */
    uint64_t predictors, hints;
    int32_t n_hints, reserved;
} mvf_search_pair;

/* As mvf_vector of mvfield/field.h, in quarter samples. */
typedef struct mvf_guide_vector {
    int16_t x, y;
} mvf_guide_vector;

/*
 * The window of a block is searched panel by panel: `panel_groups` times four columns of candidates
 * wide and `panel_rows` high, as much as fits into shared memory.
 */
typedef struct mvf_search_params {
    int64_t stride_bytes;
    int32_t width, height;
    int32_t block_w, block_h, step_x, step_y, cols;
    int32_t range_x, range_y;
    /* Whether candidates must lie inside the frame. */
    int32_t inside;
    int32_t panel_groups, panel_rows;
    /* Blocks of the frame, and words of shared memory that each team of threads has to itself. */
    int32_t n_blocks, team_words;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_search_params;

static_assert(sizeof(mvf_rate) == 16, "same layout in C and CUDA");
static_assert(sizeof(mvf_guide_vector) == 4, "same layout in C and CUDA");
static_assert(sizeof(mvf_search_pair) == 48, "same layout in C and CUDA");
static_assert(offsetof(mvf_search_params, width) == 8, "same layout in C and CUDA");
static_assert(offsetof(mvf_search_params, panel_groups) == 48, "same layout in C and CUDA");
static_assert(offsetof(mvf_search_params, pairs) == 64, "same layout in C and CUDA");
static_assert(sizeof(mvf_search_params) == 64 + 48 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/* Metrics as the kernels number them. */
#define MVF_CUDA_METRIC_SAD 0
#define MVF_CUDA_METRIC_SSD 1
#define MVF_CUDA_METRIC_SATD 2

/* The refinement of one grid of blocks, whose matches begin at first_match. */
typedef struct mvf_refine_params {
    int64_t stride_bytes;
    /* Its table lies on the device. */
    mvf_rate rate;
    int32_t width, height, bit_depth;
    int32_t block_w, block_h, step_x, step_y, cols;
    int32_t first_match;
    /* Whether candidates must lie inside the frame; whether quarter samples follow half ones. */
    int32_t inside, quarter;
    int32_t metric;
    /* Of SATD. */
    int32_t tile;
    /* How many of these blocks one block of the grid holds each way, and its columns: where a
     * block's predictor is. */
    int32_t across, down, guide_cols;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_refine_params;

static_assert(offsetof(mvf_refine_params, block_w) == 36, "same layout in C and CUDA");
static_assert(offsetof(mvf_refine_params, pairs) == 88, "same layout in C and CUDA");
static_assert(sizeof(mvf_refine_params) == 88 + 48 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/*
 * A search over square partitions. The window of a unit is searched in panels of panel_cols x
 * panel_rows candidates; it lies in shared memory as window_rows rows of words, one from each
 * sample on.
 */
typedef struct mvf_partition_params {
    int64_t stride_bytes;
    /* Its table lies on the device. */
    mvf_rate rate;
    int32_t width, height;
    /* Units of 64 x 64 across, of which a thread block searches one. */
    int32_t cols;
    int32_t range_x, range_y;
    int32_t inside;
    int32_t panel_cols, panel_rows, window_rows;
    /* Shared memory for the SADs of the square of 64, without halves. */
    int32_t sums_words;
    /* With a rate: of the squares that have a predictor of their own, the binary logarithm of how
     * many of 4 x 4 are in one, and the words of its tables. */
    int32_t guide_shift, guide_words;
    /* Of the squares of 64, 32, 16, 8 and 4, of their upper and lower halves, and of their left and
     * right ones: the first match (-1: not asked for), and how many there are across the frame. */
    int32_t first_match[3][5], level_cols[3][5];
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_partition_params;

static_assert(offsetof(mvf_partition_params, first_match) == 72, "same layout in C and CUDA");
static_assert(offsetof(mvf_partition_params, pairs) == 192, "same layout in C and CUDA");
static_assert(sizeof(mvf_partition_params) == 192 + 48 * MVF_CUDA_BATCH,
              "same layout in C and CUDA");

/*
 * One level of method hier from the one below, for several frames. `from` is sample (0, 0) of that,
 * which has borders, and `to` the first byte of the level with its borders, both counted in bytes
 * from sample (0, 0) of the frame.
 */
typedef struct mvf_halve_params {
    int64_t from, to;
    int64_t from_stride_bytes, to_stride_bytes;
    int32_t from_width, from_height, width, height;
    int32_t border_left, border_top;
    uint64_t frames[MVF_CUDA_BATCH];
} mvf_halve_params;

static_assert(offsetof(mvf_halve_params, width) == 40, "same layout in C and CUDA");
static_assert(offsetof(mvf_halve_params, frames) == 56, "same layout in C and CUDA");
static_assert(sizeof(mvf_halve_params) == 56 + 8 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/*
 * The sum of cell_w x cell_h samples, less its lowest `shift` bits, at each sample of a rectangle
 * of a level, as uint16. `from` and `to` count from sample (0, 0) of the frame; the first sample's
 * address is a multiple of four bytes.
 */
typedef struct mvf_cell_params {
    int64_t from, to;
    int64_t from_stride_bytes, to_stride_bytes;
    /* Columns in whole runs; rows are the grid's, several each. */
    int32_t n_cols, cell_w, cell_h, shift;
    uint64_t frames[MVF_CUDA_BATCH];
} mvf_cell_params;

static_assert(offsetof(mvf_cell_params, n_cols) == 32, "same layout in C and CUDA");
static_assert(offsetof(mvf_cell_params, frames) == 48, "same layout in C and CUDA");
static_assert(sizeof(mvf_cell_params) == 48 + 8 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/* A level of method hier; see rule.h. */
typedef struct mvf_hier_level {
    /* From sample (0, 0) of a frame to that of its level. */
    int64_t offset_bytes;
    int64_t stride_bytes;
    /* Where the first pair's matches of the level go (0: where the pair says), and how far the next
     * pair's lie apart. */
    uint64_t matches;
    int64_t pair_bytes;
    int32_t width, height;
    /* The block and step of the search, not of the level. */
    int32_t block_w, block_h, step_x, step_y;
    int32_t cols, rows;
    int32_t range_x, range_y;
    /* Whether candidates must lie inside the level; whether it is not the frame. */
    int32_t inside, is_coarse;
} mvf_hier_level;

static_assert(sizeof(mvf_hier_level) == 80, "same layout in C and CUDA");
static_assert(offsetof(mvf_hier_level, width) == 32, "same layout in C and CUDA");

/*
 * The top level of method hier. A thread block takes a tile of tile_cols x tile_rows blocks. In
 * shared memory: the samples of its window, their cells' sums in a byte each, and a word of four of
 * these for each sample; rows of each lie that many words apart.
 */
typedef struct mvf_hier_top_params {
    mvf_hier_level level;
    /* From sample (0, 0) of a frame to the sum of the cell that begins at (0, 0) of its level. */
    int64_t sums_offset_bytes, sums_stride_bytes;
    int32_t bit_depth;
    int32_t tile_cols, tile_rows, n_tiles_across;
    /* Parts in which the candidates of a block are shared out, a warp each. */
    int32_t n_parts;
    int32_t sample_pitch, sample_rows, sum_pitch, sum_rows, table_pitch, table_rows;
    /* Of the table, where whole sums lie before. */
    int32_t table_words;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_hier_top_params;

static_assert(offsetof(mvf_hier_top_params, bit_depth) == 96, "same layout in C and CUDA");
static_assert(offsetof(mvf_hier_top_params, pairs) == 144, "same layout in C and CUDA");
static_assert(sizeof(mvf_hier_top_params) == 144 + 48 * MVF_CUDA_BATCH,
              "same layout in C and CUDA");

/* Another level of method hier. */
typedef struct mvf_hier_below_params {
    mvf_hier_level level;
    /* The matches of the level above, as in mvf_hier_level. */
    uint64_t above;
    int32_t above_cols, above_rows;
    /* Starts whose windows are in shared memory at a time, and the words that each warp has there.
     */
    int32_t n_at_once, warp_words;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_hier_below_params;

static_assert(offsetof(mvf_hier_below_params, above) == 80, "same layout in C and CUDA");
static_assert(offsetof(mvf_hier_below_params, pairs) == 104, "same layout in C and CUDA");
static_assert(sizeof(mvf_hier_below_params) == 104 + 48 * MVF_CUDA_BATCH,
              "same layout in C and CUDA");

/* Grids of blocks in one search: squares of 64, 32, 16, 8 and 4, and the halves of all but the
 * last. */
#define MVF_BLOCK_LEVELS 13

/* One grid of equal blocks. */
typedef struct mvf_block_level {
    int32_t w, h;
    /* Its columns in the frame, and how many of them one block of the largest grid holds. */
    int32_t cols, across, down;
    /* Its first block among the matches of a job, and among the blocks of a largest one. */
    int32_t first_match, first_node;
} mvf_block_level;

/*
 * A search over all candidates, or round hints, of blocks of any size. With partitions `depth`
 * tells how often the largest squares are split by four, and the levels are by falling size, each
 * square that is split followed, with has_halves, by the upper and lower and the left and right
 * halves.
 */
typedef struct mvf_block_params {
    int64_t stride_bytes;
    /* Its table lies on the device. */
    mvf_rate rate;
    int32_t width, height;
    int32_t step_x, step_y, cols;
    int32_t range_x, range_y;
    int32_t inside, metric;
    /* Half the side of the windows round hints, or -1: all candidates of the range. */
    int32_t refine_range;
    int32_t depth, has_halves;
    int32_t n_levels, n_nodes;
    mvf_block_level levels[MVF_BLOCK_LEVELS];
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_block_params;

static_assert(sizeof(mvf_block_level) == 28, "same layout in C and CUDA");
static_assert(offsetof(mvf_block_params, levels) == 80, "same layout in C and CUDA");
static_assert(offsetof(mvf_block_params, pairs) == 448, "same layout in C and CUDA");
static_assert(sizeof(mvf_block_params) == 448 + 48 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/*
 * One pass of smooth paths. A team of lanes, a power of two up to a warp, takes one candidate: the
 * n_items items of a block, 1 << log2_row_items to a row, are words, or columns of a tile's height.
 */
typedef struct mvf_smooth_params {
    int64_t stride_bytes;
    /* Its table lies on the device. */
    mvf_rate rate;
    int32_t width, height, bit_depth;
    int32_t block_w, block_h, step_x, step_y, cols, rows;
    /* Whether candidates must lie inside the frame. */
    int32_t inside;
    int32_t metric;
    /* Quarter samples in a unit of the matches' vectors. */
    int32_t match_units;
    int32_t reach;
    int32_t team, n_items, log2_row_items;
    /* The first pair's memory, and from one pair's to the next one's. */
    uint64_t work;
    int64_t pair_bytes;
    /* In a pair's memory, MVF_TM_PLACES a block: labels in 1/16 sample, the metric at each, C, and
     * L for each of four senses, from one of which to the next are path_bytes. */
    int64_t labels, label_costs, path_costs, paths, path_bytes;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_smooth_params;

static_assert(offsetof(mvf_smooth_params, inside) == 60, "same layout in C and CUDA");
static_assert(offsetof(mvf_smooth_params, work) == 88, "same layout in C and CUDA");
static_assert(offsetof(mvf_smooth_params, pairs) == 144, "same layout in C and CUDA");
static_assert(sizeof(mvf_smooth_params) == 144 + 48 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/* Vector medians of matches: where the first pair's go, mvf_guide_vector in the matches' unit, and
 * from one pair's to the next one's. */
typedef struct mvf_median_params {
    uint64_t medians;
    int64_t pair_bytes;
    int32_t cols, rows;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
} mvf_median_params;

static_assert(offsetof(mvf_median_params, pairs) == 24, "same layout in C and CUDA");
static_assert(sizeof(mvf_median_params) == 24 + 48 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/* True motion. */

static_assert(MVF_TM_TILE_W * MVF_TM_TILE_H == MVF_TM_TILE_THREADS, "a thread for each");

/* One level of an image, or of a picture on its way there. */
typedef struct mvf_tm_image_params {
    /* What is read, what is written, and the image. */
    uint64_t from, to, image;
    int64_t from_stride_bytes;
    /* In the image: feature (0, 0) of phase 0, from one phase to the next, and, where they are
     * wanted (not 0), brightness and the guides of cells of 4x4 and of 2x2 px. */
    int64_t features, phase_bytes, luma, wide_guide, narrow_guide;
    int32_t width, height, from_width, from_height;
    int32_t bit_depth, stride_px;
} mvf_tm_image_params;

static_assert(offsetof(mvf_tm_image_params, width) == 72, "same layout in C and CUDA");
static_assert(sizeof(mvf_tm_image_params) == 96, "same layout in C and CUDA");

/* One flow: the images from and to which it goes, and its memory. */
typedef struct mvf_tm_flow {
    uint64_t from, to, work;
} mvf_tm_flow;

/* One step on one grid, for several flows: blockIdx.y counts them, `flow_step` apart. */
typedef struct mvf_tm_params {
    /* As above, in the images. */
    int64_t features, phase_bytes, luma, guide;
    /* In a flow's memory: the vectors and what is made of them, which cells are visible and what is
     * made of that, labels and their costs, sums along paths, from one sense to the next, and what
     * is known of cells. */
    int64_t vectors, made, visible, made_visible, labels, costs, paths, path_bytes, ratings;
    /* The matches of the first pair, and from one pair to the next. */
    uint64_t matches;
    int64_t match_bytes;
    int32_t width, height, stride_px;
    int32_t cols, rows, cell_px;
    /* The grid above: its columns, and what its cells are shifted by and vectors multiplied by. */
    int32_t coarse_cols, shift, scale;
    /* Whether half as many px are compared. */
    int32_t few;
    int32_t log2_step, n_reaches, reaches[3];
    int32_t penalty_max, by_rows, by_cols;
    /* Whether cells may be occluded. */
    int32_t is_checked;
    int32_t flow_step;
    mvf_tm_flow flows[2 * MVF_TM_BATCH];
} mvf_tm_params;

static_assert(offsetof(mvf_tm_params, width) == 120, "same layout in C and CUDA");
static_assert(offsetof(mvf_tm_params, flows) == 200, "same layout in C and CUDA");
static_assert(sizeof(mvf_tm_params) == 200 + 48 * MVF_TM_BATCH, "same layout in C and CUDA");

/* As mvf_match of search/engine.h. */
typedef struct mvf_full_match {
    int16_t x, y;
    uint32_t cost;
} mvf_full_match;

/*
 * 4x2 blocks, some of which the elimination left to the exhaustive kernel, which may be looking
 * while they are listed: written at once. Zero before the first launch.
 */
typedef struct mvf_full_group {
    /* Pair, row and column in groups, and bit 4 * row + col of each block that is left: from the
     * lowest bit on 5, 10, 9 and 8 bits. */
    uint32_t place;
    /* mvf_full_counters.n_launches when it was listed, and 1. */
    uint32_t launch;
} mvf_full_group;

#define MVF_FULL_ROW_SHIFT 5
#define MVF_FULL_COL_SHIFT 15
#define MVF_FULL_MASK_SHIFT 24

/* Zero before the first launch; the exhaustive kernel leaves it zero but for n_launches. */
typedef struct mvf_full_counters {
    uint32_t next_tile, n_groups, next_group, n_done;
    /* Thread blocks of the elimination that list no more groups. */
    uint32_t n_gone;
    uint32_t n_launches;
} mvf_full_counters;

/*
 * The candidates of a block are searched in n_windows_x * n_windows_y windows of 65 x 65 vectors
 * that begin at (origin_x, origin_y) and lie 64 apart: mvf_full_windows().
 */
typedef struct mvf_full_params {
    /* mvf_full_counters, and room for every mvf_full_group of the batch. */
    uint64_t counters, groups;
    int64_t stride_bytes;
    int32_t n_pairs;
    int32_t width, height, cols, rows;
    int32_t range_x, range_y;
    /* Whether candidates must lie inside the frame. */
    int32_t inside;
    int32_t origin_x, origin_y, n_windows_x, n_windows_y;
    /* Whether the exhaustive kernel takes every block instead of the groups listed for it. */
    int32_t every_group;
    /* Of the elimination: words of a block that make it hard, and hard blocks of a tile that it
     * searches itself, if they are no more. */
    int32_t hard_words, hard_blocks;
    /* Whether the exhaustive kernel starts before the elimination ends. */
    int32_t early;
    mvf_search_pair pairs[MVF_CUDA_BATCH];
    /* For each pair mvf_full_match, not yet, half, or long written, which may be near its own; 0:
     * none. They are read by chance: no answer depends on them. */
    uint64_t hints[MVF_CUDA_BATCH];
} mvf_full_params;

static_assert(sizeof(mvf_full_match) == 8, "same layout in C and CUDA");
static_assert(sizeof(mvf_full_group) == 8, "same layout in C and CUDA");
static_assert(sizeof(mvf_full_counters) == 24, "same layout in C and CUDA");
static_assert(offsetof(mvf_full_params, n_pairs) == 24, "same layout in C and CUDA");
static_assert(offsetof(mvf_full_params, inside) == 52, "same layout in C and CUDA");
static_assert(offsetof(mvf_full_params, every_group) == 72, "same layout in C and CUDA");
static_assert(offsetof(mvf_full_params, pairs) == 88, "same layout in C and CUDA");
static_assert(sizeof(mvf_full_params) == 88 + 56 * MVF_CUDA_BATCH, "same layout in C and CUDA");

/* One axis. Both ends of a window are searched, so neighbours share a row or column of vectors. */
static inline void mvf_full_windows(int32_t range, int32_t *origin, int32_t *n_windows)
{
    if (range <= MVF_FULL_HALO) {
        *origin = -MVF_FULL_HALO;
        *n_windows = 1;
    } else {
        int32_t unit = MVF_FULL_COPY_BYTES;
        *origin = -((range + unit - 1) / unit * unit);
        *n_windows = (range - *origin + MVF_FULL_TILE - 1) / MVF_FULL_TILE;
    }
}

/* What the self-test kernel finds; bit n is case n of the three a < b, a = b, a > b. */
typedef struct mvf_self_test_result {
    uint32_t min_keeps_first, max_keeps_first;
    /* Cases in which the minimum or the maximum itself is wrong. */
    uint32_t wrong_values;
} mvf_self_test_result;

static_assert(sizeof(mvf_self_test_result) == 12, "same layout in C and CUDA");

#endif
