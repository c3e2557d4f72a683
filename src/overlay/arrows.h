/*
 * overlay/arrows.h - a field as arrows on a canvas.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_ARROWS_H
#define MVF_OVERLAY_ARROWS_H

#include <mvfield/field.h>

#include "overlay/canvas.h"

/* Keeps the arrows that it has drawn, since fields repeat their vectors; bounded memory. */
typedef struct mvf_arrows mvf_arrows;

mvf_status mvf_arrows_open(mvf_arrows **arrows);

/* The convention is that of mvf_overlay_write(), lengths times `scale`. Blocks without a vector
 * draw nothing. */
mvf_status mvf_arrows_draw(mvf_arrows *arrows, const mvf_canvas *canvas, const mvf_field *field,
                           double scale);

void mvf_arrows_close(mvf_arrows **arrows);

#endif
