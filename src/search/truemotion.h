/*
 * search/truemotion.h - motion that follows the scene: the contract, and the calls.
 *
 * The vector with the smallest SAD is what an encoder wants; this method looks for where things
 * moved. Block matching on a pyramid, path-wise dynamic programming over each cell's best
 * candidates, weighted medians and a forward/backward check, all in integers, each step a function
 * of the step before it alone: any engine and any number of threads return the same bits.
 *
 * Units. Vectors are in 1/16 px of their level; each component stays within +-16383. "Clamped to
 * the plane" means that a coordinate outside it is replaced by the nearest one inside. Shifts to
 * the right round down. |.|_1 adds the components' sizes.
 *
 *  1. Planes. Level 0, at 16 times the samples of 8 bits, from samples s of d bits (a Gaussian of
 *     0.6 px):
 *       h(x, y) = 11 s(x-1, y) + 42 s(x, y) + 11 s(x+1, y)
 *       (11 h(x, y-1) + 42 h(x, y) + 11 h(x, y+1) + 2^(d-1)) >> d
 *     Each further level has half the size, rounded up: weights 1 3 3 1 over 2x-1 to 2x+2 in both
 *     directions, (sum + 32) >> 6. Levels are added while the last one's smaller side is 24 or
 *     more. Coordinates are clamped to the plane.
 *  2. Phases: whole, half a px in x, in y, in both. Horizontally and then vertically
 *       16 P(x), or half way to the next -P(x-1) + 9 P(x) + 9 P(x+1) - P(x+2)
 *     then (that + 128) >> 8, kept within 0 and 4095. Phases go on outside the frame, the level's
 *     coordinates being clamped.
 *  3. Features of a phase, 8 bits each, for brightness and for the gradients in x and in y:
 *       I = (P + 32) >> 6
 *       G = 128 + ((P(+1) - P(-1) + 4) >> 3), kept within 0 and 255
 *     Brightness counts a quarter and gradients double: fades and exposure do little harm.
 *  4. Pixel cost at a position in 1/16 px: each feature from the four half samples round it, a b
 *     above c d, at fractions fx, fy in 1/8 of their distance, and with its differences d:
 *       (a (8-fx) (8-fy) + b fx (8-fy) + c (8-fx) fy + d fx fy + 32) >> 6
 *       min(|dI| + |dGx| + |dGy|, 60)
 *     Cell cost at a vector: over the 4x4 px window with the cell's centre, twice the sum over the
 *     8 px with x + y even, or four times the sum over the 4 px (1,0) (3,1) (0,2) (2,3). Where the
 *     window starts in the reference is clamped to -8 and width + 4, -8 and height + 4.
 *  5. Candidates of a cell in a pass of step h, in this order: its own vector v; v + h (dx, dy) for
 *     the eight neighbours (dx, dy) of (0, 0) in raster order; for each reach r of the pass the
 *     vectors of the eight cells at (dx, dy) r, clamped to the grid. Of another cell, u is dropped
 *     if both |q| <= 1, or if its q is that of a vector kept before, where in each component
 *       q = (u - v + h/2) >> log2 h
 *     All vectors are those from before the pass. At the top level's start: (0, 0), then the other
 *     whole-px vectors within +-2 px in raster order.
 *  6. Labels: the own vector, and of the others the five cheapest by (cost, order).
 *  7. Paths. Along a line of cells, L = C (the labels' costs) at the first, and from a cell q with
 *     labels u to the next cell p with labels v
 *       L(p, k) = C(p, k) + min_j (L(q, j) + min(4 |v_k - u_j|_1, T)) - min_j L(q, j)
 *     T is 80 at level 0 and 160 above. Rows and columns, each in both senses; at low effort rows
 *     alone in a flow's passes 0, 2, 4 and so on, columns alone in the others. The label with the
 *     smallest sum of L wins, the earlier one among equals.
 *  8. Weighted median, x and y apart: over the cells of the grid within a radius in both directions
 *     the smallest value that, with the smaller ones, has half of the weight or more. Weight:
 *     w20(|difference of the guides|), 0 if occluded. A cell without any weight keeps its vector.
 *     Guide: the mean of the level in the cell, coordinates clamped, from (P + 8) >> 4 as
 *     (sum + n/2) / n. w20(d) = round(255 exp(-d/20)), in a table.
 *  9. A flow, from the top level down: cells of 2x2 px, at level 0 of 4x4 px; vectors are twice
 *     those of the cell of the level above that covers the same place. Above level 0 a pass of
 *     1/2 px, median of radius 2, a pass of 1/4 px, median of radius 2; at level 0 passes of 1/4
 *     and 1/8 px, at high effort one more of 1/8. Reaches 1, 3 and 8. Costs over 8 px; at low
 *     effort over 4 above level 0. The choice at the top level's start counts as the first pass.
 * 10. Check. The same flow from reference to current. A cell is occluded if its centre, moved by
 *     its v, leaves the frame (0 and width - 1, 0 and height - 1), or if |v + u|_1 > 16 with u the
 *     backward vector of the cell that holds the moved centre, rounded to whole px. Then a median
 *     of radius 2, which fills occluded cells.
 * 11. Confidence: c is the cell's cost over 8 px, r the smallest among its rivals: the eight
 *     vectors 1 px from its own in x, y or both, and those of the eight cells at reach 3 that are
 *     |.|_1 >= 16 from its own. 255 (r - c) / (r + 16), rounded down; 0 if r <= c or if the cell is
 *     occluded. Flat: the sum of |G - 128| over both gradients of the 8 px is below 32.
 * 12. For every px at high effort: each cell becomes four of 2x2 px, one more pass of 1/8 px with
 *     reach 2, a median of radius 4.
 * 13. Mean over the cells of the grid within 2 in both directions whose vector u is |.|_1 <= 8 from
 *     the own v, weights w as in 8, the own cell's never 0:
 *       v + (2 sum w (u - v) + sum w) / (2 sum w), rounded down
 * 14. For every px: the same mean of the four cells round it that are in the grid, with weights
 *       (2g - |dx|) (2g - |dy|) w10(|the px at 8 bits - guide|)
 *     g being the cell's side and dx, dy the distance of the centres in half px;
 *     w10(d) = max(1, round(255 exp(-d/10))), in a table.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_TRUEMOTION_H
#define MVF_SEARCH_TRUEMOTION_H

#include <mvfield/picture.h>
#include <mvfield/search.h>
#include <mvfield/status.h>

#include "search/truemotion_rule.h"

/* What is found for one output cell. */
typedef struct mvf_tm_match {
    int16_t x, y;
    /* The 4x4 cell's cost at its vector before the mean, 0 to 960 (step 4 of the contract). */
    uint16_t cost;
    /* 0: anything could be true; 255: nothing else fits. */
    uint8_t confidence;
    /* MVF_TM_ flags. */
    uint8_t flags;
} mvf_tm_match;

enum {
    /* The place is hidden in the reference, or outside it: the vector comes from its surroundings.
     */
    MVF_TM_OCCLUDED = MVF_TM_FLAG_OCCLUDED,
    /* No texture to match: the vector comes from its surroundings. */
    MVF_TM_FLAT = MVF_TM_FLAG_FLAT
};

/* One picture, prepared to be searched in and for. Read-only once loaded, from any thread. */
typedef struct mvf_tm_image mvf_tm_image;

/* Allocates; MVF_ERROR_MEMORY leaves *image NULL. Takes some 22 bytes a px. */
mvf_status mvf_tm_image_create(mvf_tm_image **image, int32_t width, int32_t height);

/* Builds levels and phases from samples of `bit_depth` bits in host memory. */
mvf_status mvf_tm_image_load(mvf_tm_image *image, const void *samples, ptrdiff_t stride_bytes,
                             int32_t bit_depth);

void mvf_tm_image_destroy(mvf_tm_image **image);

/* One search, from one image to another of the same size. */
typedef struct mvf_tm_pair mvf_tm_pair;

typedef enum mvf_tm_direction { MVF_TM_FORWARD = 0, MVF_TM_BACKWARD = 1 } mvf_tm_direction;

/*
 * Opens a search whose matches are one for each px (step_px 1) or for each cell of 4x4 px (4). The
 * images must be loaded by the time of its first flow, and stay. MVF_ERROR_MEMORY leaves *pair
 * NULL.
 */
mvf_status mvf_tm_pair_open(mvf_tm_pair **pair, const mvf_tm_image *current,
                            const mvf_tm_image *reference, mvf_effort effort, int32_t step_px,
                            mvf_cpu_level level);

/* Finds one of the two flows (step 9 of the contract), once each, on different threads at will. Has
 * memory of its own while it runs; MVF_ERROR_MEMORY if there is none. */
mvf_status mvf_tm_pair_find_flow(mvf_tm_pair *pair, mvf_tm_direction direction);

/* The steps after both flows: fills in the matches in raster order. Once. MVF_ERROR_MEMORY. */
mvf_status mvf_tm_pair_match(mvf_tm_pair *pair, mvf_tm_match *matches);

void mvf_tm_pair_close(mvf_tm_pair **pair);

#endif
