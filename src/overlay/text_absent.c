/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/text.h"

mvf_status mvf_text_open(mvf_text **text, int32_t size_px)
{
    (void)size_px;
    *text = NULL;
    return MVF_ERROR_UNSUPPORTED;
}

void mvf_text_close(mvf_text **text)
{
    *text = NULL;
}

int32_t mvf_text_line_height(const mvf_text *text)
{
    (void)text;
    return 0;
}

int32_t mvf_text_width(mvf_text *text, const char *words)
{
    (void)text;
    (void)words;
    return 0;
}

void mvf_text_draw(mvf_text *text, mvf_image *image, int32_t x, int32_t y, const char *words,
                   const double rgb[3])
{
    (void)text;
    (void)image;
    (void)x;
    (void)y;
    (void)words;
    (void)rgb;
}
