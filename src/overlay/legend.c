/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/legend.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "overlay/areas.h"

static const double white[3] = {1, 1, 1};

/* Where the next part of the legend goes; parts are measured first, then drawn. */
typedef struct legend_page {
    mvf_image *image;
    const mvf_drawing_style *style;
    mvf_text *text;
    int32_t unit, line;
    /* Of the wheel and of scales. */
    int32_t size;
    int32_t x, y, width;
} legend_page;

static void add_words(legend_page *page, const char *words, const double rgb[3])
{
    if (page->text && page->image)
        mvf_text_draw(page->text, page->image, page->x, page->y, words, rgb);
    if (page->text) {
        int32_t width = mvf_text_width(page->text, words);
        page->width = width > page->width ? width : page->width;
        page->y += page->line;
    }
}

static void add_number(legend_page *page, const char *before, double number, const char *after)
{
    char words[64];
    snprintf(words, sizeof words, "%s%.4g%s", before, number, after);
    add_words(page, words, white);
}

/* The direction in the coded picture of one that is watched. */
static void turn_back(int32_t rotation, double *x, double *y)
{
    double watched_x = *x, watched_y = *y;
    if (rotation == 90) {
        *x = watched_y;
        *y = -watched_x;
    } else if (rotation == 180) {
        *x = -watched_x;
        *y = -watched_y;
    } else if (rotation == 270) {
        *x = -watched_y;
        *y = watched_x;
    }
}

static void add_wheel(legend_page *page)
{
    int32_t size = page->size;
    double radius = 0.5 * size;
    for (int32_t row = 0; page->image && row < size; row++)
        for (int32_t col = 0; col < size; col++) {
            double x = (col + 0.5 - radius) / radius, y = (row + 0.5 - radius) / radius, rgb[3];
            double inside = fmin(fmax((1 - hypot(x, y)) * radius, 0), 1);
            turn_back(page->style->rotation, &x, &y);
            mvf_wheel_motion_colour(fmin(fmax(x, -1), 1), fmin(fmax(y, -1), 1), rgb);
            mvf_image_blend(page->image, page->x + col, page->y + row, rgb, inside);
        }
    page->width = size > page->width ? size : page->width;
    page->y += size;
    if (page->style->modes & MVF_DRAWS_WHEEL)
        add_number(page, "", page->style->max_motion_px, " px");
    page->y += page->unit / 2;
}

/* The longest power of two that fits. */
static void add_bar(legend_page *page)
{
    double scale = page->style->arrow_scale, motion = 1;
    int32_t most = page->size, thick = page->unit / 8 + 1;
    while (2 * motion * scale <= most)
        motion *= 2;
    while (motion * scale > most)
        motion /= 2;
    int32_t length = (int32_t)lrint(motion * scale), tick = page->unit / 2;
    length = length > thick ? length : thick;
    if (page->image) {
        mvf_image_fill(page->image, page->x, page->y + (tick - thick) / 2, length, thick, white, 1);
        mvf_image_fill(page->image, page->x, page->y, thick, tick, white, 1);
        mvf_image_fill(page->image, page->x + length - thick, page->y, thick, tick, white, 1);
    }
    page->y += tick;
    add_number(page, "", motion, " px");
    page->y += page->unit / 2;
}

static void add_scale(legend_page *page, void (*colour)(double share, double rgb[3]),
                      const char *before, double most, const char *after)
{
    int32_t size = page->size;
    for (int32_t col = 0; page->image && col < size; col++) {
        double rgb[3];
        colour((col + 0.5) / size, rgb);
        mvf_image_fill(page->image, page->x + col, page->y, 1, page->unit, rgb, 1);
    }
    page->width = size > page->width ? size : page->width;
    page->y += page->unit;
    add_number(page, before, most, after);
    page->y += page->unit / 2;
}

static void difference_colour(double share, double rgb[3])
{
    rgb[0] = 0.3 + 0.7 * share;
    rgb[1] = rgb[2] = 0.1 * (1 - share);
}

static void add_references(legend_page *page)
{
    double rgb[3];
    mvf_reference_colour(-1, 0, rgb);
    add_words(page, "past", rgb);
    mvf_reference_colour(1, 0, rgb);
    add_words(page, "future", rgb);
}

static void add_parts(legend_page *page)
{
    uint32_t modes = page->style->modes;
    if (modes & (MVF_DRAWS_WHEEL | MVF_DRAWS_ARROWS))
        add_wheel(page);
    if (modes & MVF_DRAWS_ARROWS)
        add_bar(page);
    if (modes & MVF_DRAWS_COST)
        add_scale(page, mvf_heat_colour, "cost 0-", page->style->max_cost, "");
    if (modes & MVF_DRAWS_DIFFERENCE)
        add_scale(page, difference_colour, "apart ", page->style->max_motion_px, " px");
    if (modes & MVF_DRAWS_PARTITIONS)
        add_references(page);
}

mvf_status mvf_legend_make(mvf_image *legend, const mvf_drawing_style *style, mvf_text *text,
                           int32_t text_px)
{
    const double black[3] = {0, 0, 0};
    int32_t margin = text_px / 2;
    legend_page page = {.style = style,
                        .text = text,
                        .unit = text_px,
                        .size = text_px > 12 ? 6 * text_px : 4 * text_px,
                        .line = text ? mvf_text_line_height(text) : 0};
    add_parts(&page);
    if (!page.y)
        return mvf_image_alloc(legend, 1, 1);
    MVF_TRY(mvf_image_alloc(legend, page.width + 2 * margin, page.y + 2 * margin));
    mvf_image_fill(legend, 0, 0, legend->width, legend->height, black, 0.65);
    page.image = legend;
    page.x = page.y = margin;
    add_parts(&page);
    return MVF_OK;
}
