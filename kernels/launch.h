/*
 * launch.h - the table of launch shapes: threads of a block, how many blocks a multiprocessor shall
 * hold, shared memory, and every other constant of a kernel that was chosen by its speed.
 *
 * Before each row stands what it was chosen by. Figures are of one H200, in microseconds a frame of
 * 1080p in batches of 32 unless they say otherwise, on the scenes bunny / street / wall of the clip
 * mix-1080p-h264.mp4, before and after; PERFORMANCE.md has the rest. "Untried" rows are as first
 * written: no other value was measured. "Fits" rows follow from sizes and registers, not from
 * speed.
 *
 * Blocks a multiprocessor (the second number of __launch_bounds__) are by architecture: on the host
 * their values mean nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_LAUNCH_H
#define MVF_KERNELS_LAUNCH_H

/* All kernels. */

/* Fits: dynamic shared memory that every device gives without being asked, less the kernel's own.
 */
#define MVF_SEARCH_SHARED_BYTES (48 * 1024 - 256)

/* plane.cu */

/* Untried. */
#define MVF_PAD_THREADS 128
/* Fits: bytes that one thread writes; rows and the left border are multiples. */
#define MVF_PAD_BYTES 16

/* self_test.cu */

/* Fits: one warp, for the three cases. */
#define MVF_SELF_TEST_THREADS 32
/* H200, no clip: blocks of 256 threads, 8 a multiprocessor, 16 sums a thread reach 65.4 to 66.9 T
 * differences/s of 66.9 that the clock allows. */
#define MVF_RATE_THREADS 256
#define MVF_RATE_BLOCKS 8
#define MVF_RATE_CHAINS 16

/* search.cu: blocks of any size by all candidates. */

/* H200, bunny: all threads for one block of the frame before, a warp after: 16x16 +-16 86.6, 55.7;
 * +-32 176, 149; 8x8 +-16 210, 122; 4x4 +-8 509, 187; 32x32 +-32 126, 120; but 64x64 +-64 340, 558,
 * so both are there, and launch_cuda.c takes the one that it reckons to cost less. */
#define MVF_SEARCH_THREADS 128
#define MVF_SEARCH_TEAM 32
/* Fits: left to itself the compiler takes 64 registers on some architectures and spills; with this
 * it takes 72 (sm_120: 96) and does not. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define MVF_SEARCH_BLOCKS 5
#else
#define MVF_SEARCH_BLOCKS 7
#endif
/* Untried: columns of candidates that one load serves, and most groups of them in a panel, since a
 * wider one leaves too few threads to share out its rows. */
#define MVF_SEARCH_GROUP 4
#define MVF_SEARCH_PANEL_GROUPS 32

/* search_eliminate.cu: 16x16 blocks of 8 bits by elimination. */

/* Fits: two blocks to a multiprocessor of sm_90. sm_100 has the shared memory for two as well, but
 * spills with the 64 registers that leaves. */
#define MVF_ELIMINATE_THREADS 512
#define MVF_ELIMINATE_SHARED_BYTES 115696
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
#define MVF_ELIMINATE_BLOCKS 2
#else
#define MVF_ELIMINATE_BLOCKS 1
#endif
/* Fits: blocks that are launched for each multiprocessor, as many as one of sm_90 holds, of this
 * kernel and of search_exhaust.cu. Where fewer fit, the rest starts late and finds the tiles handed
 * out. */
#define MVF_FULL_BLOCKS 2
/* H200, of a block's 1105 words, so many left by level 1 before it goes to brute force: 600 words
 * 31.4 / 39.7 / 25.8, 900 words 31.4 / 38.8 / 25.8. */
#define MVF_ELIMINATE_HARD_WORDS 900
/* H200, so many blocks of a tile are searched here all the same: 8 slow bunny down by 1.1. */
#define MVF_ELIMINATE_HARD_BLOCKS 3
/* H200, both where the launch has fewer pairs than that and brute force starts before the
 * elimination ends; one frame alone, and each of two: 900 words, 3 blocks, no early start 91.9 /
 * 91.0 / 54.9 and 64.1 / 65.8 / 40.1; 900 words, no block, early 85.2 / 85.0 / 52.2 and 56.1 / 62.4
 * / 39.0; 400 words 68.1 / 74.9 / 53.4 and 48.9 / 58.3 / 43.0; 250 words 64.1 / 82.0 / 61.7
 * and 50.2 / 69.9 / 47.9. */
#define MVF_ELIMINATE_FEW_PAIRS 4
#define MVF_ELIMINATE_HARD_WORDS_OF_FEW 400
#define MVF_ELIMINATE_HARD_BLOCKS_OF_FEW 0
/* H200, bytes between rows of samples: 132 before, 144 after, SADs of single candidates alone, 8
 * lanes each, street: 42, 30. 36 words keep rows of one SAD in different banks. */
#define MVF_ELIMINATE_WINDOW_PITCH 144
/* H200, bytes between rows of 4x4 sums: 132 before, 140 after, wall: 1 % less. What is left of a
 * block lies close together, in rows as in columns. */
#define MVF_ELIMINATE_CELL_PITCH 140

/* search_exhaust.cu: 16x16 blocks of 8 bits by all candidates. */

/* H200, noise, of the limit: 320 threads, strips of 13 rows 0.605; 128, strips of 11 0.67; 256,
 * strips of 13, 4x2 blocks to a window 0.834. */
#define MVF_EXHAUST_THREADS 256
#define MVF_EXHAUST_STRIP 13
/* Fits: two blocks to a multiprocessor of sm_80, sm_90 and sm_100. */
#define MVF_EXHAUST_SHARED_BYTES 67792
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200))
#define MVF_EXHAUST_BLOCKS 2
#else
#define MVF_EXHAUST_BLOCKS 1
#endif
/* H200, lists of up to so many groups a block are dealt out in quarters, for less latency: whole
 * groups before, quarters after, bunny's share of it: 2.4, 1.5. Lists that leave a block for each
 * block of the frame are dealt out one by one: untried. */
#define MVF_EXHAUST_SHORT_LIST 4

/* hier_pyramid.cu: the levels of method hier. */

/* Untried: threads, and samples of a level, or sums of cells, that one thread makes. */
#define MVF_PYRAMID_THREADS 128
#define MVF_PYRAMID_RUN 4
/* Rows of sums that one thread makes: no more than a cell has. Untried. */
#define MVF_PYRAMID_ROWS 4

/* hier_top.cu: the top level of method hier. */

/* Fits: three blocks to a multiprocessor of sm_90, with 80 registers a thread. */
#define MVF_HIER_TOP_THREADS 256
#define MVF_HIER_TOP_BLOCKS 3
/* Fits: shared memory that the kernel declares, and what a tile may take beside it if that many
 * blocks are to share the 228 KiB of sm_90. */
#define MVF_HIER_TOP_STATIC_BYTES 6272
#define MVF_HIER_TILE_BYTES (228 * 1024 / MVF_HIER_TOP_BLOCKS - 1024 - MVF_HIER_TOP_STATIC_BYTES)
/* Untried: most blocks of a tile, across or down, and in all. */
#define MVF_HIER_TILE_SIDE 8
#define MVF_HIER_TILE_BLOCKS (MVF_HIER_TILE_SIDE * MVF_HIER_TILE_SIDE)
/* Fits: candidates of a group, which one load of four words serves, and bytes that one thread
 * copies, of which the origins of windows are multiples. */
#define MVF_HIER_GROUP 4
#define MVF_HIER_COPY_BYTES 16
/* Most groups that a lane lists at a time. Untried. */
#define MVF_HIER_LISTED 8
/* Fits: columns of groups that are left out together where ranges are small, so that many words
 * past the table are read, to no end. */
#define MVF_HIER_COLUMNS 4
#define MVF_HIER_TABLE_MORE (MVF_HIER_GROUP * (MVF_HIER_COLUMNS - 1))

/* hier_below.cu: the levels below. */

/* Untried: at most so many threads. */
#define MVF_HIER_BELOW_THREADS 128
/* Fits: starts of a block (its parent, that one's eight neighbours, and zero), and shared memory
 * that leaves room for 36 warps and more. */
#define MVF_HIER_STARTS 10
#define MVF_HIER_BELOW_SHARED_BYTES (24 * 1024)
/* Fits: rows that one lane loads at once, as three times six are those of a window of 16x16. */
#define MVF_HIER_LOADS 3

/* block_search.cu: any metric, rates and partitions. */

/* Untried: at most so many threads. */
#define MVF_BLOCK_SEARCH_THREADS 256
/* Fits: none of them spills; tiles of 8x8 differences need more registers. */
#define MVF_BLOCK_SEARCH_BLOCKS 2
#define MVF_BLOCK_SEARCH_FEW_BLOCKS 1

/* partition.cu: squares of 64 to 8 or 4, with halves or without. */

/* Candidates of a strip, words from row to row of the window, and most threads. Strip times pitch
 * is 1 modulo 32 banks, and so is each range that is a multiple of 16 px in candidates, so that a
 * row of strips goes on in the banks after those where the one before it ends.
 *
 * H200, noise: strips of 17, 145 words, 8 warps of 126 registers: +-32 212; of 13, 10 warps of 94:
 * 205. */
#define MVF_PARTITION_FAR_STRIP 13
#define MVF_PARTITION_FAR_PITCH 133
#define MVF_PARTITION_FAR_THREADS 320
#define MVF_PARTITION_FAR_BLOCKS 2
/* H200, noise, ranges up to 18 whose window over 64x64 such rows take in: strips of 17, 113 words,
 * 16 warps a multiprocessor: +-16 75.6; of 11, 24 warps of 80 registers (which spill on sm_86):
 * 68.5. */
#define MVF_PARTITION_NEAR_STRIP 11
#define MVF_PARTITION_NEAR_PITCH 99
#define MVF_PARTITION_NEAR_THREADS 256
#define MVF_PARTITION_NEAR_RANGE 18
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define MVF_PARTITION_NEAR_BLOCKS 3
#else
#define MVF_PARTITION_NEAR_BLOCKS 2
#endif
/* Samples of 16 bits. H200, noise, 10 bits, +-16: 12 warps a multiprocessor 166, 18 the same.
 * Before sm_90 two blocks leave a thread too few registers. */
#define MVF_PARTITION_16_STRIP 11
#define MVF_PARTITION_16_PITCH 131
#define MVF_PARTITION_16_THREADS 256
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define MVF_PARTITION_16_BLOCKS 2
#else
#define MVF_PARTITION_16_BLOCKS 1
#endif
/* With squares of 4. Untried. */
#define MVF_PARTITION_FOURS_STRIP 11
#define MVF_PARTITION_FOURS_PITCH 131
#define MVF_PARTITION_FOURS_THREADS 288
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define MVF_PARTITION_FOURS_BLOCKS 2
#else
#define MVF_PARTITION_FOURS_BLOCKS 1
#endif
/* With halves. H200, noise, +-16: strips of 7, 151 words: 227; of 5: 186. */
#define MVF_PARTITION_HALVES_STRIP 5
#define MVF_PARTITION_HALVES_PITCH 141
#define MVF_PARTITION_HALVES_THREADS 256
#define MVF_PARTITION_HALVES_BLOCKS 2
/* Fits: strips that are left after full warps, so short that one warp takes them: 5 of 13
 * candidates at +-32 as 25 of so many. */
#define MVF_PARTITION_SHORT_STRIP 3
/* H200, rows of 32 words of a window that a warp has on their way: one word before, some after,
 * with the short strips shared by all warps: noise, +-32 255, 227. So many: untried. */
#define MVF_PARTITION_WINDOW_ROWS 16

/* refine.cu, refine_matrix.cu */

/* Fits: at most so many threads. */
#define MVF_REFINE_THREADS 256
#define MVF_REFINE_BLOCKS 1
/* Fits: a warp, for a block that is one piece; at most so many threads for one of several. H200,
 * quarter samples by SATD, h264, 16x16, batches of 8, with 80 / 96 / 114 registers 10.2 / 12.0
 * / 10.1 on bunny, 15.9 / 15.8 / 16.5 on wall. */
#define MVF_REFINE_MATRIX_TEAM 32
#define MVF_REFINE_MATRIX_THREADS 256
/* Fits: thread blocks to a multiprocessor with which nothing spills; left to itself the compiler
 * spills a register. */
#define MVF_REFINE_MATRIX_8_BLOCKS 16
#define MVF_REFINE_MATRIX_64_BLOCKS 1
/* Fits: what a warp of refine_matrix.cu takes, samples each way, and vectors of 16 bytes that its
 * images take: nine of a vector a lane. */
#define MVF_REFINE_PIECE 16
#define MVF_REFINE_IMAGE_VECTORS (9 * 32)

/* smooth_paths.cu, smooth_median.cu */

/* Untried: threads of blocks that label, four blocks of the frame at a time, and of those that have
 * one for each block of the frame. H200, with these, what 16x16 blocks of +-32 take: paths 36.7 /
 * 47.0 / 29.5 more, of quarter samples 94.7 / 165.2 / 103.8; medians 0.2 to 0.6. */
#define MVF_SMOOTH_LABEL_THREADS 128
#define MVF_SMOOTH_THREADS 128
/* Fits: bilinear samples, left to themselves, spill on sm_120; with this nothing does. */
#define MVF_SMOOTH_BILINEAR_BLOCKS 6

/* truemotion.cu, truemotion_image.cu */

/* Untried: threads of most kernels; those that share a cell or a line; tiles of cells or px. */
#define MVF_TM_THREADS 128
#define MVF_TM_TEAM 8
#define MVF_TM_PATH_THREADS 64
#define MVF_TM_TILE_W 32
#define MVF_TM_TILE_H 8
#define MVF_TM_TILE_THREADS 256
/* Fits: with 8 blocks a multiprocessor sm_80 spills a register. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define MVF_TM_LABEL_BLOCKS 6
#else
#define MVF_TM_LABEL_BLOCKS 8
#endif
/* H200, cells that a path loads ahead: 1 before, 4 after, with the minimum from the shuffled sums:
 * 154, 80 a launch at 480x270 cells; 8 the same as 4. */
#define MVF_TM_PATH_AHEAD 4

#endif
