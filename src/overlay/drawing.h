/*
 * overlay/drawing.h - all that one overlay draws: modes on top of one another, legend, caption.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_DRAWING_H
#define MVF_OVERLAY_DRAWING_H

#include "overlay/arrows.h"
#include "overlay/cells.h"
#include "overlay/text.h"

/* Bits from the bottom of the picture to its top: the public MVF_DRAW_ modes, by the same values.
 */
enum {
    MVF_DRAWS_COST = 1 << 0,
    MVF_DRAWS_WHEEL = 1 << 1,
    MVF_DRAWS_DIFFERENCE = 1 << 2,
    MVF_DRAWS_GRID = 1 << 3,
    MVF_DRAWS_PARTITIONS = 1 << 4,
    MVF_DRAWS_ARROWS = 1 << 5
};

typedef struct mvf_drawing_style {
    uint32_t modes;
    double arrow_scale, max_motion_px, max_cost, opacity;
    int32_t legend, caption;
    /* Degrees that players turn the picture clockwise. */
    int32_t rotation;
} mvf_drawing_style;

/* Zeroed with a style, it is ready; mvf_drawing_close() frees what it keeps. */
typedef struct mvf_drawing {
    mvf_drawing_style style;
    mvf_arrows *arrows;
    mvf_cells cells, against_cells;
    mvf_text *text;
    int32_t text_height;
    mvf_image legend;
    /* The legend for canvases like this one. */
    mvf_sprite *legend_sprite;
    mvf_canvas legend_canvas;
} mvf_drawing;

/* `field` and `against` may be NULL. */
mvf_status mvf_drawing_draw(mvf_drawing *drawing, const mvf_canvas *canvas, const mvf_field *field,
                            const mvf_field *against);

/* Whether legends and captions can have words here. MVF_ERROR_MEMORY. */
mvf_status mvf_drawing_find_text(mvf_drawing *drawing, const mvf_canvas *canvas, int *has_text);

typedef struct mvf_caption {
    int64_t frame;
    /* NAN where the frame has no time. */
    double seconds;
    /* "I", "P" and so on, or "". */
    const char *type;
} mvf_caption;

/* Legend and caption, as far as the style asks for them. */
mvf_status mvf_drawing_annotate(mvf_drawing *drawing, const mvf_canvas *canvas,
                                const mvf_caption *caption);

void mvf_drawing_close(mvf_drawing *drawing);

#endif
