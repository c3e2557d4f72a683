/*
 * minimum.h - what minimum.cu and its launches agree on.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_MINIMUM_H
#define MVF_TESTS_MINIMUM_H

#include <stdint.h>

#define MINIMUM_THREADS 128
/* Samples of a tile, across and down: blocks of 16, 8 and 4 fill it. */
#define MINIMUM_TILE 16
/* Vectors of a block, across and down: from -32 to 31. */
#define MINIMUM_SPAN 64

/*
 * 8-bit planes, given by the sample (0, 0) of the first tile: around the tiles of both lie
 * MINIMUM_SPAN / 2 samples more, and on the right as much as loads of words need. The answers are
 * mvf_match each: tile by tile in raster order, and in a tile its blocks in that order.
 */
typedef struct minimum_params {
    uint64_t current, reference, matches;
    int64_t stride_bytes;
    int32_t tiles_across;
} minimum_params;

#endif
