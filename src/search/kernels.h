/*
 * search/kernels.h - the inner loops of the CPU's searches, one struct of function pointers.
 *
 * Plain C fills the struct and gives the meaning; each instruction level then replaces what it
 * does faster. Answers never differ. What a kernel may read past a block or a row of sums: 64
 * bytes, whose values do not matter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_KERNELS_H
#define MVF_SEARCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include <mvfield/search.h>

/* Candidates that are tested at once: neighbours in a row of the window. */
#define MVF_GROUP 32
/* Of sub-blocks in a block: 64 x 64 in cells of 4 x 4. */
#define MVF_MAX_CELLS 256
/* list_groups stops after the group that passes this many; its list has room for MVF_GROUP more,
 * and for vector stores past its end as many again. */
#define MVF_LIST_SOFT 224
#define MVF_LIST_ROOM (MVF_LIST_SOFT + 2 * MVF_GROUP)

/* Of the SADs: blocks 4, 8, 16, 32 and 64 samples wide, and any width up to 64. */
enum {
    MVF_WIDTH_4,
    MVF_WIDTH_8,
    MVF_WIDTH_16,
    MVF_WIDTH_32,
    MVF_WIDTH_64,
    MVF_WIDTH_ANY,
    MVF_N_WIDTHS
};

static inline int32_t mvf_width_of(int32_t w)
{
    for (int32_t i = 0; i < MVF_WIDTH_ANY; i++)
        if (w == 4 << i)
            return i;
    return MVF_WIDTH_ANY;
}

/*
 * A lower bound of the SAD at each candidate: the differences between the sums of the block's cells
 * (squares of samples) and those of the same cells in the reference, added up.
 */
typedef struct mvf_bound {
    /* The plane of sums at the block and the window's first candidate; one uint16_t below 2^15 for
     * each sample, the sum of the cell whose corner it is. */
    const uint8_t *sums;
    /* Candidates with a higher bound are out. Bounds saturate at 65535. */
    uint32_t limit;
    /* Groups with fewer or more candidates left than these pass untested. */
    int32_t least, most;
    /* The block's cells: their sums, and their places in the plane of sums in bytes. */
    int32_t count;
    const uint16_t *sum;
    const int32_t *offset;
} mvf_bound;

/* Groups of a window: the place of each one's first candidate, y << 16 | x counted from the
 * window's first candidate, and which of its candidates are left. */
typedef struct mvf_groups {
    uint32_t *at, *mask;
} mvf_groups;

/*
 * Another bound, of blocks of 4 x n cells of 8-bit samples: the differences between the means of
 * the block's cells, rounded down, and those of the same cells in the reference, added up. Times
 * the samples of a cell, less the block's slack, that is at most the SAD.
 *
 * A tile holds the means for a group of candidates, row by row, in four lanes of 16 bytes, in
 * each of which candidates lie a byte apart: byte k of lane i is the mean of the cell at
 * mvf_tile_first(cell, i) + k * cell samples from the group's first candidate.
 */
#define MVF_TILE_BYTES 64
/* How many rows of tiles are made at once at most. */
#define MVF_TILE_ROWS 64
#define MVF_NOWHERE UINT32_MAX
/* Numbers, for the bounds of `ny` rows of a tile. */
#define MVF_BOUNDS_ROOM(ny) (((ny) + 3) / 4 * 5 * MVF_GROUP)

static inline int32_t mvf_tile_first(int32_t cell, int32_t lane)
{
    return cell == 4 ? lane : lane % 2 * 16 + lane / 2;
}

/* Candidates a side of a square that method hier tries round a start. */
#define MVF_SQUARE 3

/* The SADs at n places in the window, `reference` being at its first candidate. */
typedef void (*mvf_sad_list_function)(const uint8_t *current, ptrdiff_t current_stride_bytes,
                                      const uint8_t *reference, ptrdiff_t reference_stride_bytes,
                                      int32_t w, int32_t h, const uint32_t *at, int32_t n,
                                      uint32_t *costs);

typedef struct mvf_search_kernels {
    mvf_sad_list_function sad_list[MVF_N_WIDTHS];
    /* From how many candidates in a group sad_groups is the cheaper way. */
    int32_t dense[MVF_N_WIDTHS];
    /* All candidates of n groups, 1 to 4; hits: those within the limit; costs[n][MVF_GROUP]: of the
     * groups that have some. `list` is the width's sad_list, for levels that have nothing better.
     */
    void (*sad_groups)(mvf_sad_list_function list, const uint8_t *current,
                       ptrdiff_t current_stride_bytes, const uint8_t *reference,
                       ptrdiff_t reference_stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                       int32_t n, uint32_t limit, uint32_t *costs, uint32_t *hits);
    /* Squares of candidates, the first of each at one of n places: the lowest SAD of each, and the
     * candidates that have it, bit 4 * y + x. `list` as above. */
    void (*sad_squares)(mvf_sad_list_function list, const uint8_t *current,
                        ptrdiff_t current_stride_bytes, const uint8_t *reference,
                        ptrdiff_t reference_stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                        int32_t n, uint32_t *lowest, uint32_t *where);
    /* The groups of a window of nx x ny candidates that keep some within the limit, column of
     * groups by column; returns their number. `room`: ny + 16 words to write to. `groups` needs
     * room for 16 more than there are in the window. */
    int32_t (*bound_window)(const mvf_bound *bound, ptrdiff_t stride_bytes, int32_t nx, int32_t ny,
                            const mvf_groups *groups, uint32_t *room);
    /* The same for n listed groups, in place. */
    int32_t (*bound_groups)(const mvf_bound *bound, ptrdiff_t stride_bytes,
                            const mvf_groups *groups, int32_t n);
    /* Whether the bounds by means pay at this level; all levels have them. */
    int32_t has_means;
    /* n_rows rows of n_tiles tiles, the samples being those of the first tile's first candidate.
     * Reads 40 samples beyond the 32 of the last tile. */
    void (*means_tiles)(const uint8_t *samples, ptrdiff_t stride_bytes, int32_t cell,
                        int32_t n_tiles, int32_t n_rows, uint8_t *tiles, ptrdiff_t tile_bytes);
    /* The means of a block of 4 x n_rows cells in raster order; returns its slack. */
    int32_t (*means_block)(const uint8_t *current, ptrdiff_t stride_bytes, int32_t cell,
                           int32_t n_rows, uint8_t *means);
    /* Bounds of `ny` rows of MVF_GROUP candidates, the first of which are the tile's, or those four
     * cells further to the right; returns the lowest in `columns`. How bounds are stored, only
     * the level itself knows; it needs room for MVF_BOUNDS_ROOM(ny). */
    uint16_t (*means_bounds)(const uint8_t *tile, int32_t cell, int32_t is_right,
                             const uint8_t *means, int32_t n_rows, int32_t ny, uint32_t columns,
                             uint16_t *bounds);
    /* Where that bound is, one of its places, y << 16 | x: at `known`, if that is not MVF_NOWHERE
     * and it is there. */
    uint32_t (*means_find)(const uint16_t *bounds, int32_t cell, int32_t ny, uint32_t columns,
                           uint16_t bound, uint32_t known);
    /* Adds the groups that have candidates within the limit, of those in `columns`, to n others;
     * `x`: the group's place in the window. */
    int32_t (*means_groups)(const uint16_t *bounds, int32_t cell, int32_t ny, uint16_t limit,
                            uint32_t columns, int32_t x, const mvf_groups *groups, int32_t n);
    /* How many candidates n masks hold. */
    int32_t (*count_candidates)(const uint32_t *masks, int32_t n);
    /* The single candidates of groups from *next on; returns their number. */
    int32_t (*list_groups)(const mvf_groups *groups, int32_t *next, int32_t n, uint32_t *at);
    /* The sums of the cells of 4 x 4 that fit, in raster order; room for 4 more. */
    void (*cell_sums)(const uint8_t *current, ptrdiff_t stride_bytes, int32_t w, int32_t h,
                      uint32_t *sums);
    /* Sums of columns of samples, uint16_t at one byte a sample, else uint32_t: adds a row of n;
     * adds one and takes another away. Both may write 63 more. */
    void (*columns_add)(void *columns, const uint8_t *row, int32_t n);
    void (*columns_slide)(void *columns, const uint8_t *add, const uint8_t *subtract, int32_t n);
    /* Sums of `cell` neighbouring columns, shifted right, into n (and up to 63 more) sums. */
    void (*columns_sum)(const void *columns, int32_t cell, int32_t shift, int32_t n,
                        uint16_t *sums);
    /* Sums of four cells, two in each row and `cell` apart, the same way. */
    void (*sums_merge)(const uint16_t *top, const uint16_t *bottom, int32_t cell, int32_t shift,
                       int32_t n, uint16_t *sums);
    /* A row of n samples of the next level of the pyramid (rule.h), from four rows of this one,
     * the first sample being one left of the first pair. May write 63 bytes more. */
    void (*halve_row)(const uint8_t *rows, ptrdiff_t stride_bytes, int32_t n, uint8_t *out);
} mvf_search_kernels;

/* What a level does with squares that it has nothing better for. */
void mvf_sad_squares_c(mvf_sad_list_function list, const uint8_t *current,
                       ptrdiff_t current_stride_bytes, const uint8_t *reference,
                       ptrdiff_t reference_stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                       int32_t n, uint32_t *lowest, uint32_t *where);

/* The kernels for samples of 1 or 2 bytes at the level, or at the best that this machine runs. */
void mvf_search_kernels_init(mvf_search_kernels *kernels, int32_t sample_bytes,
                             mvf_cpu_level level);

/* One level alone, on top of those below. */
void mvf_search_kernels_init_c(mvf_search_kernels *kernels, int32_t sample_bytes);
void mvf_search_kernels_init_sse2(mvf_search_kernels *kernels, int32_t sample_bytes);
void mvf_search_kernels_init_ssse3(mvf_search_kernels *kernels, int32_t sample_bytes);
void mvf_search_kernels_init_avx2(mvf_search_kernels *kernels, int32_t sample_bytes);
void mvf_search_kernels_init_avx512(mvf_search_kernels *kernels, int32_t sample_bytes);

/* The parts of it for squares, and for bounds by means. */
void mvf_quads_kernels_init_avx512(mvf_search_kernels *kernels);
void mvf_means_kernels_init_avx512(mvf_search_kernels *kernels);

#endif
