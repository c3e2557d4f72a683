/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/text.h"

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <stdlib.h>

#include "base/memory.h"

struct mvf_text {
    FT_Library library;
    FT_Face face;
};

/* The file of the font; free() it. A configuration of our own: the process's shared one may be in
 * use by other threads. */
static mvf_status find_font(char **path)
{
    mvf_status status = MVF_ERROR_UNSUPPORTED;
    *path = NULL;
    FcResult result;
    FcConfig *config = FcInitLoadConfigAndFonts();
    FcPattern *wanted = config ? FcNameParse((const FcChar8 *)"sans:scalable=true") : NULL;
    if (wanted) {
        FcConfigSubstitute(config, wanted, FcMatchPattern);
        FcDefaultSubstitute(wanted);
        FcPattern *found = FcFontMatch(config, wanted, &result);
        FcChar8 *file;
        if (found && FcPatternGetString(found, FC_FILE, 0, &file) == FcResultMatch) {
            *path = mvf_strdup((const char *)file);
            status = *path ? MVF_OK : MVF_ERROR_MEMORY;
        }
        if (found)
            FcPatternDestroy(found);
        FcPatternDestroy(wanted);
    }
    if (config)
        FcConfigDestroy(config);
    return status;
}

static mvf_status load_font(mvf_text *text, const char *path, int32_t size_px)
{
    FT_Error error = FT_Init_FreeType(&text->library);
    if (!error)
        error = FT_New_Face(text->library, path, 0, &text->face);
    if (!error)
        error = FT_Set_Pixel_Sizes(text->face, 0, (FT_UInt)size_px);
    if (FT_ERROR_BASE(error) == FT_Err_Out_Of_Memory)
        return MVF_ERROR_MEMORY;
    return error ? MVF_ERROR_UNSUPPORTED : MVF_OK;
}

mvf_status mvf_text_open(mvf_text **text, int32_t size_px)
{
    *text = NULL;
    mvf_text *opened = mvf_alloc_array(1, sizeof *opened);
    if (!opened)
        return MVF_ERROR_MEMORY;
    char *path;
    mvf_status status = find_font(&path);
    if (status == MVF_OK)
        status = load_font(opened, path, size_px);
    free(path);
    if (status != MVF_OK)
        mvf_text_close(&opened);
    *text = opened;
    return status;
}

void mvf_text_close(mvf_text **text)
{
    if (!*text)
        return;
    if ((*text)->face)
        FT_Done_Face((*text)->face);
    if ((*text)->library)
        FT_Done_FreeType((*text)->library);
    free(*text);
    *text = NULL;
}

int32_t mvf_text_line_height(const mvf_text *text)
{
    return (int32_t)(text->face->size->metrics.height >> 6);
}

int32_t mvf_text_width(mvf_text *text, const char *words)
{
    FT_Pos width = 0;
    for (; *words; words++)
        if (!FT_Load_Char(text->face, (FT_ULong)*words, FT_LOAD_DEFAULT))
            width += text->face->glyph->advance.x;
    return (int32_t)((width + 63) >> 6);
}

static void draw_glyph(mvf_image *image, const FT_GlyphSlot glyph, int32_t x, int32_t baseline,
                       const double rgb[3])
{
    const FT_Bitmap *bitmap = &glyph->bitmap;
    if (bitmap->pixel_mode != FT_PIXEL_MODE_GRAY)
        return;
    for (int32_t row = 0; row < (int32_t)bitmap->rows; row++)
        for (int32_t col = 0; col < (int32_t)bitmap->width; col++)
            mvf_image_blend(image, x + glyph->bitmap_left + col, baseline - glyph->bitmap_top + row,
                            rgb, bitmap->buffer[row * bitmap->pitch + col] / 255.0);
}

void mvf_text_draw(mvf_text *text, mvf_image *image, int32_t x, int32_t y, const char *words,
                   const double rgb[3])
{
    int32_t baseline = y + (int32_t)(text->face->size->metrics.ascender >> 6);
    for (FT_Pos at = 0; *words; words++) {
        if (FT_Load_Char(text->face, (FT_ULong)*words, FT_LOAD_RENDER))
            continue;
        draw_glyph(image, text->face->glyph, x + (int32_t)(at >> 6), baseline, rgb);
        at += text->face->glyph->advance.x;
    }
}
