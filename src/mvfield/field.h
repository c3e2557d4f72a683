/*
 * mvfield/field.h - the motion vector field of one frame.
 *
 * One representation serves searched and codec vectors, uniform grids and partitions alike. A field
 * is plain data that its holder may read from any thread, and owns: free it with mvf_field_free().
 *
 * Sign: a vector points from the block in the current frame to its prediction in the reference, as
 * in H.264 and FFmpeg's AVMotionVector. Content that moved 3 px to the left since the reference has
 * x = +3 px. y grows downwards.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_FIELD_H
#define MVFIELD_FIELD_H

#include <mvfield/picture.h>
#include <mvfield/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Block flags. */
enum {
    /* The best vector lies on the border of the search range: the true one may lie beyond. */
    MVF_BLOCK_RANGE_EDGE = 1 << 0,
    /* One of two entries for the same block, side by side: it is predicted from the rounded-up
     * average of both predictions, and the cost of each is that of the average. */
    MVF_BLOCK_AVERAGE = 1 << 1,
    /* Method truemotion: the content is hidden in the reference or lies outside it, and the vector
     * is that of the surroundings. */
    MVF_BLOCK_OCCLUDED = 1 << 2,
    /* Method truemotion: the block has no texture to match; its surroundings decide. */
    MVF_BLOCK_FLAT = 1 << 3,
    /* A vector median (mvf_field_smooth()) gave the block another one's vector; its cost is that of
       its own. */
    MVF_BLOCK_SMOOTHED = 1 << 4
};

/* Field flags. */
enum {
    /* The current frame is identical to the reference, sample by sample. */
    MVF_FIELD_DUPLICATE = 1 << 0,
    /* The decoder reported damage in the current frame. */
    MVF_FIELD_DAMAGED = 1 << 1,
    /* Decoding can start at the current frame. */
    MVF_FIELD_KEY = 1 << 2,
    /* Vectors are relative to the motion of the whole frame (mvf_field_subtract_global()). */
    MVF_FIELD_RESIDUAL = 1 << 3
};

/* Where a field comes from. */
typedef enum mvf_vector_source { MVF_VECTORS_SEARCH = 0, MVF_VECTORS_CODEC = 1 } mvf_vector_source;

/* A motion vector; whoever takes or gives it names the unit. */
typedef struct mvf_vector {
    int16_t x, y;
} mvf_vector;

/* One block and its vector. */
typedef struct mvf_block {
    /* Top-left corner and size in px. A block at the right or bottom edge keeps only what is
     * inside the frame, so w and h may be smaller than the grid's block size there. */
    int32_t x, y;
    /* What of the block is inside the frame, in px. */
    uint16_t w, h;
    /* The vector in units of 1/mv_scale px. */
    int16_t mv_x, mv_y;
    /* The metric at that vector, summed over the w * h samples at the input's own bit depth. */
    uint32_t cost;
    /* -1: the reference is in the past, +1: in the future, 0: the block has no vector. */
    int8_t dir;
    /* MVF_BLOCK_ flags. */
    uint8_t flags;
    /* Index into the field's references, or -1 where the reference is not known. */
    int16_t ref;
} mvf_block;

/* A frame that blocks refer to: its index and its time, as in mvf_picture. */
typedef struct mvf_reference {
    int64_t frame;
    int64_t pts;
} mvf_reference;

/* The uniform grid of a searched field. Zero columns: the blocks follow no grid. */
typedef struct mvf_grid {
    int32_t block_w, block_h;
    /* Distance between block origins in px; smaller than the block for overlapped blocks. */
    int32_t step_x, step_y;
    /* ceil(width / step_x), ceil(height / step_y). */
    int32_t cols, rows;
} mvf_grid;

/* The motion vectors of one frame. */
typedef struct mvf_field {
    /* The current frame. */
    int64_t frame;
    int64_t pts;
    /* The unit of pts in seconds. */
    mvf_rational time_base;
    /* Of the current frame. */
    mvf_picture_type type;
    /* Found by a search, or a codec's own. */
    mvf_vector_source source;
    /* Of the frame, in px and bits a sample. */
    int32_t width, height;
    int32_t bit_depth;
    /* Units of mv_x and mv_y in one px. */
    int32_t mv_scale;
    /* MVF_FIELD_ flags. */
    uint32_t flags;
    /* Zero columns: none. */
    mvf_grid grid;
    /* The frames that blocks refer to. */
    size_t n_references;
    mvf_reference *references;
    /*
     * The blocks; on a uniform grid in raster order, n_references layers of cols * rows blocks,
     * or one where references were merged. Partitions: layer by layer, in the order that the
     * searcher's options name.
     * No blocks: the frame has no field (the first frame, an intra frame of codec vectors), which
     * is not the same as a field of zero vectors.
     */
    size_t n_blocks;
    mvf_block *blocks;
    /* What the caller handed to mvf_searcher_submit(). */
    void *opaque;
    /* Of each block, how sure its vector is, from 0 (anything could be true, or occluded) to 255
     * (nothing else fits); NULL for methods that do not tell. */
    uint8_t *confidence;
} mvf_field;

/*
 * Allocates a field with room for `n_references` references and `n_blocks` blocks, all zero, with
 * no frame index and no pts. MVF_ERROR_MEMORY leaves *field NULL.
 */
MVF_API mvf_status mvf_field_alloc(mvf_field **field, size_t n_references, size_t n_blocks);

/* Frees *field and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_field_free(mvf_field **field);

/*
 * Gives each block the vector median of the 3 x 3 blocks round it, of those in the grid that have a
 * vector to the same reference: the vector whose distances |x| + |y| to the others have the
 * smallest sum; among equals the block's own, then the first in raster order. All medians are of
 * the vectors before the call. A block whose vector changes is flagged and keeps its cost.
 * MVF_ERROR_UNSUPPORTED: the blocks follow no grid; MVF_ERROR_MEMORY. The field is as it was then.
 */
MVF_API mvf_status mvf_field_smooth(mvf_field *field);

/* Sums over the blocks that have a vector. */
typedef struct mvf_field_statistics {
    /* Blocks with a vector, and how many of those are (0, 0). */
    uint64_t n_vectors;
    uint64_t n_still;
    /* Sum of the blocks' costs and of their areas in px. */
    uint64_t cost;
    uint64_t area_px;
    /* Mean and largest vector length in px; 0 without vectors. */
    double mean_length_px;
    double max_length_px;
} mvf_field_statistics;

/* Sums up the field. */
MVF_API void mvf_field_measure(const mvf_field *field, mvf_field_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
