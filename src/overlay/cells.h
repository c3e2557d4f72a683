/*
 * overlay/cells.h - which block of a field shows at each place of the frame.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_CELLS_H
#define MVF_OVERLAY_CELLS_H

#include <mvfield/field.h>

/* Squares of size_px that no block's border crosses, in raster order. */
typedef struct mvf_cells {
    int32_t size_px, cols, rows;
    /* Index of the block, or -1. Where several lie over one another: one with a vector first, then
     * the smallest cost per px, then the first. */
    int32_t *owners;
    size_t capacity;
} mvf_cells;

/* Fills `cells`, zeroed before their first use. Overlapped blocks show what is nearest to their
 * centres. */
mvf_status mvf_cells_map(mvf_cells *cells, const mvf_field *field);

void mvf_cells_free(mvf_cells *cells);

#endif
