/*
 * overlay/areas.h - a field as colour over the frame, hatches and outlines.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_AREAS_H
#define MVF_OVERLAY_AREAS_H

#include "overlay/canvas.h"
#include "overlay/cells.h"

/* Motion by colour: the wheel at `max_px`. */
mvf_status mvf_areas_wheel(const mvf_canvas *canvas, const mvf_field *field, const mvf_cells *cells,
                           double max_px, double opacity);

/* The colour for a share of the largest cost: black, violet, orange, yellow, all but white. */
void mvf_heat_colour(double share, double rgb[3]);

/* Cost per px in units of 8 bits, `max_cost` and more being the brightest. */
mvf_status mvf_areas_cost(const mvf_canvas *canvas, const mvf_field *field, const mvf_cells *cells,
                          double max_cost, double opacity);

/* How far the vectors of two fields lie apart, `max_px` and more being the strongest red. Where
 * only one of them has a vector: hatched. */
mvf_status mvf_areas_difference(const mvf_canvas *canvas, const mvf_field *field,
                                const mvf_cells *cells, const mvf_field *against,
                                const mvf_cells *against_cells, double max_px, double opacity);

/* Stripes over what has no vector. */
void mvf_areas_hatch(const mvf_canvas *canvas, const mvf_field *field, const mvf_cells *cells);

/* The edges between blocks, all alike. */
void mvf_outline_grid(const mvf_canvas *canvas, const mvf_field *field);

/* The colour of outlines for a reference: yellow to red for the past, blue to green for the future,
 * by index; the first one where it is not known. */
void mvf_reference_colour(int dir, int ref, double rgb[3]);

/* Each block's outline by its reference; two for a block with two vectors, that to the future
 * inside. */
void mvf_outline_partitions(const mvf_canvas *canvas, const mvf_field *field);

#endif
