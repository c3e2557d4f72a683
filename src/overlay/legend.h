/*
 * overlay/legend.h - what colours and lengths mean, as a picture.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_LEGEND_H
#define MVF_OVERLAY_LEGEND_H

#include "overlay/drawing.h"

/*
 * From top to bottom, as far as the modes need it: the wheel with the motion at its rim, a bar as
 * long as an arrow of the motion that it names, the scale of costs, that of differences, and the
 * colours of references. Without `text` (NULL), the same without words. Sizes follow those of
 * letters.
 */
mvf_status mvf_legend_make(mvf_image *legend, const mvf_drawing_style *style, mvf_text *text,
                           int32_t text_px);

#endif
