/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/drawing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "overlay/areas.h"
#include "overlay/legend.h"

/* Modes that give each place of the frame a colour. */
#define AREA_MODES (MVF_DRAWS_COST | MVF_DRAWS_WHEEL | MVF_DRAWS_DIFFERENCE)
#define NEED_CELLS (AREA_MODES | MVF_DRAWS_PARTITIONS)
/* Modes in which a place without a vector looks like nothing else. */
#define HATCHED (MVF_DRAWS_COST | MVF_DRAWS_WHEEL | MVF_DRAWS_PARTITIONS)

static mvf_status draw_areas(mvf_drawing *drawing, const mvf_canvas *canvas, const mvf_field *field,
                             const mvf_field *against)
{
    const mvf_drawing_style *style = &drawing->style;
    if (style->modes & MVF_DRAWS_COST)
        MVF_TRY(mvf_areas_cost(canvas, field, &drawing->cells, style->max_cost, style->opacity));
    if (style->modes & MVF_DRAWS_WHEEL)
        MVF_TRY(
            mvf_areas_wheel(canvas, field, &drawing->cells, style->max_motion_px, style->opacity));
    if (style->modes & MVF_DRAWS_DIFFERENCE && against) {
        MVF_TRY(mvf_cells_map(&drawing->against_cells, against));
        MVF_TRY(mvf_areas_difference(canvas, field, &drawing->cells, against,
                                     &drawing->against_cells, style->max_motion_px,
                                     style->opacity));
    }
    return MVF_OK;
}

mvf_status mvf_drawing_draw(mvf_drawing *drawing, const mvf_canvas *canvas, const mvf_field *field,
                            const mvf_field *against)
{
    uint32_t modes = drawing->style.modes;
    int has_other = modes & MVF_DRAWS_DIFFERENCE && against && against->n_blocks;
    if (!field || (!field->n_blocks && !has_other) || field->mv_scale <= 0)
        return MVF_OK;
    if (modes & NEED_CELLS)
        MVF_TRY(mvf_cells_map(&drawing->cells, field));
    MVF_TRY(draw_areas(drawing, canvas, field, against));
    if (modes & HATCHED && field->n_blocks)
        mvf_areas_hatch(canvas, field, &drawing->cells);
    if (modes & MVF_DRAWS_GRID)
        mvf_outline_grid(canvas, field);
    if (modes & MVF_DRAWS_PARTITIONS)
        mvf_outline_partitions(canvas, field);
    if (!(modes & MVF_DRAWS_ARROWS))
        return MVF_OK;
    if (!drawing->arrows)
        MVF_TRY(mvf_arrows_open(&drawing->arrows));
    return mvf_arrows_draw(drawing->arrows, canvas, field, drawing->style.arrow_scale);
}

/* The picture's width and height as watched. */
static void watched_size(const mvf_drawing *drawing, const mvf_canvas *canvas, int32_t size[2])
{
    int sideways = drawing->style.rotation == 90 || drawing->style.rotation == 270;
    size[0] = sideways ? canvas->height : canvas->width;
    size[1] = sideways ? canvas->width : canvas->height;
}

static int32_t text_size(const mvf_canvas *canvas)
{
    int32_t smaller = canvas->width < canvas->height ? canvas->width : canvas->height;
    return smaller < 480 ? 12 : smaller / 40;
}

static void forget_legend(mvf_drawing *drawing)
{
    mvf_image_free(&drawing->legend);
    free(drawing->legend_sprite);
    drawing->legend_sprite = NULL;
}

mvf_status mvf_drawing_find_text(mvf_drawing *drawing, const mvf_canvas *canvas, int *has_text)
{
    int32_t size_px = text_size(canvas);
    if (drawing->text_height != size_px) {
        mvf_text_close(&drawing->text);
        forget_legend(drawing);
        if (mvf_text_open(&drawing->text, size_px) == MVF_ERROR_MEMORY)
            return MVF_ERROR_MEMORY;
        drawing->text_height = size_px;
    }
    *has_text = drawing->text != NULL;
    return MVF_OK;
}

static void describe(const mvf_caption *caption, char *words, size_t size)
{
    int n = snprintf(words, size, "frame %" PRId64, caption->frame);
    if (!isnan(caption->seconds)) {
        int64_t ms = llrint(fabs(caption->seconds) * 1000);
        n += snprintf(words + n, size - (size_t)n,
                      "  %s%" PRId64 ":%02" PRId64 ":%02" PRId64 ".%03" PRId64,
                      caption->seconds < 0 ? "-" : "", ms / 3600000, ms / 60000 % 60,
                      ms / 1000 % 60, ms % 1000);
    }
    if (caption->type[0])
        snprintf(words + n, size - (size_t)n, "  %s", caption->type);
}

static mvf_status draw_caption(mvf_drawing *drawing, const mvf_canvas *canvas,
                               const mvf_caption *caption)
{
    const double black[3] = {0, 0, 0}, white[3] = {1, 1, 1};
    mvf_image image;
    char words[128];
    int32_t margin = drawing->text_height / 2;
    describe(caption, words, sizeof words);
    MVF_TRY(mvf_image_alloc(&image, mvf_text_width(drawing->text, words) + 2 * margin,
                            mvf_text_line_height(drawing->text) + margin));
    mvf_image_fill(&image, 0, 0, image.width, image.height, black, 0.65);
    mvf_text_draw(drawing->text, &image, margin, margin / 2, words, white);
    mvf_sprite *sprite = NULL;
    int32_t x = margin, y = margin;
    mvf_status status = mvf_image_sprite(&sprite, &image, canvas, drawing->style.rotation);
    mvf_image_anchor(&image, canvas, drawing->style.rotation, &x, &y);
    if (status == MVF_OK)
        mvf_sprite_draw(sprite, canvas, x, y);
    free(sprite);
    mvf_image_free(&image);
    return status;
}

static int is_like(const mvf_canvas *a, const mvf_canvas *b)
{
    return a->width == b->width && a->height == b->height &&
           a->chroma_shift_x == b->chroma_shift_x && a->chroma_shift_y == b->chroma_shift_y &&
           a->space.kr == b->space.kr && a->space.full_range == b->space.full_range;
}

static mvf_status prepare_legend(mvf_drawing *drawing, const mvf_canvas *canvas)
{
    if (drawing->legend_sprite && is_like(&drawing->legend_canvas, canvas))
        return MVF_OK;
    forget_legend(drawing);
    drawing->legend_canvas = *canvas;
    MVF_TRY(mvf_legend_make(&drawing->legend, &drawing->style, drawing->text, text_size(canvas)));
    return mvf_image_sprite(&drawing->legend_sprite, &drawing->legend, canvas,
                            drawing->style.rotation);
}

static mvf_status draw_legend(mvf_drawing *drawing, const mvf_canvas *canvas)
{
    int32_t size[2], margin = text_size(canvas) / 2;
    MVF_TRY(prepare_legend(drawing, canvas));
    watched_size(drawing, canvas, size);
    int32_t x = size[0] - drawing->legend.width - margin;
    int32_t y = size[1] - drawing->legend.height - margin;
    mvf_image_anchor(&drawing->legend, canvas, drawing->style.rotation, &x, &y);
    mvf_sprite_draw(drawing->legend_sprite, canvas, x, y);
    return MVF_OK;
}

mvf_status mvf_drawing_annotate(mvf_drawing *drawing, const mvf_canvas *canvas,
                                const mvf_caption *caption)
{
    const mvf_drawing_style *style = &drawing->style;
    int has_text = 0;
    if (style->caption || style->legend)
        MVF_TRY(mvf_drawing_find_text(drawing, canvas, &has_text));
    if (style->caption && has_text)
        MVF_TRY(draw_caption(drawing, canvas, caption));
    return style->legend ? draw_legend(drawing, canvas) : MVF_OK;
}

void mvf_drawing_close(mvf_drawing *drawing)
{
    mvf_arrows_close(&drawing->arrows);
    mvf_cells_free(&drawing->cells);
    mvf_cells_free(&drawing->against_cells);
    mvf_text_close(&drawing->text);
    forget_legend(drawing);
}
