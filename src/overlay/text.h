/*
 * overlay/text.h - words on images, by FreeType, in the font that fontconfig calls "sans".
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_OVERLAY_TEXT_H
#define MVF_OVERLAY_TEXT_H

#include "overlay/image.h"

typedef struct mvf_text mvf_text;

/* Letters of about this height in px. MVF_ERROR_UNSUPPORTED: this build or machine has no font;
 * MVF_ERROR_MEMORY. */
mvf_status mvf_text_open(mvf_text **text, int32_t size_px);
void mvf_text_close(mvf_text **text);

/* px from one line to the next, and of a line's length. Words are ASCII. */
int32_t mvf_text_line_height(const mvf_text *text);
int32_t mvf_text_width(mvf_text *text, const char *words);

/* With the top left corner of the line at (x, y). */
void mvf_text_draw(mvf_text *text, mvf_image *image, int32_t x, int32_t y, const char *words,
                   const double rgb[3]);

#endif
