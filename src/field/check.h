/*
 * field/check.h - whether a field keeps the promises of mvfield/field.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_FIELD_CHECK_H
#define MVF_FIELD_CHECK_H

#include <mvfield/field.h>

/* The largest mv_scale; vectors in px then still have an exact decimal form of 15 digits. */
#define MVF_MAX_MV_SCALE 32768

/* NULL, or what is wrong with the field: "block 7 has direction 3". `text` is where it is put. */
const char *mvf_field_find_fault(const mvf_field *field, char *text, size_t size);

/* Blocks of one layer of the field's grid; 0 without a grid. */
size_t mvf_grid_cells(const mvf_grid *grid);

#endif
