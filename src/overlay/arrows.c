/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/arrows.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "overlay/sprite.h"

#define N_SLOTS 8192
#define MAX_CACHE_BYTES (24 << 20)
/* Motion is drawn to a quarter px up to this length, then to whole px, and from four times as much
 * on to 1/32 of its power of two: steps that the eye cannot tell apart and the cache can. */
#define EXACT_PX 8
/* On grids of less than 8 px. */
#define DENSE_SPACING_PX 12
/* Codec vectors may lie anywhere; nothing that far out can be seen. */
#define MAX_POSITION (1 << 20)

typedef struct arrow_entry {
    int32_t motion_x, motion_y;
    /* Of chroma, and whether the reference is in the future. */
    int32_t phase, is_future;
    mvf_sprite *sprite;
    struct arrow_entry *next;
} arrow_entry;

struct mvf_arrows {
    mvf_sprite_style style;
    int32_t width, height, spacing;
    size_t n_bytes;
    arrow_entry *slots[N_SLOTS];
};

mvf_status mvf_arrows_open(mvf_arrows **arrows)
{
    *arrows = mvf_alloc_array(1, sizeof **arrows);
    return *arrows ? MVF_OK : MVF_ERROR_MEMORY;
}

static void forget(mvf_arrows *arrows)
{
    for (int i = 0; i < N_SLOTS; i++) {
        while (arrows->slots[i]) {
            arrow_entry *entry = arrows->slots[i];
            arrows->slots[i] = entry->next;
            free(entry->sprite);
            free(entry);
        }
    }
    arrows->n_bytes = 0;
}

void mvf_arrows_close(mvf_arrows **arrows)
{
    if (!arrows || !*arrows)
        return;
    forget(*arrows);
    free(*arrows);
    *arrows = NULL;
}

/* Where blocks are denser than arrows can be told apart, one arrow for so many of them. */
static int32_t blocks_per_arrow(int32_t step_px)
{
    return step_px > 0 && step_px < 8 ? (DENSE_SPACING_PX + step_px - 1) / step_px : 1;
}

static int is_drawn(int32_t place, int32_t count, int32_t per_arrow)
{
    int32_t first = per_arrow / 2 < count ? per_arrow / 2 : count - 1;
    return place % per_arrow == first;
}

/* px from one arrow to the next, which limits how thick a line may be. */
static int32_t arrow_spacing(const mvf_field *field)
{
    int32_t spacing = INT32_MAX;
    const mvf_grid *grid = &field->grid;
    if (grid->cols > 0) {
        int32_t x = grid->step_x * blocks_per_arrow(grid->step_x);
        int32_t y = grid->step_y * blocks_per_arrow(grid->step_y);
        return x < y ? x : y;
    }
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        int32_t size = block->w < block->h ? block->w : block->h;
        spacing = block->dir && size < spacing ? size : spacing;
    }
    return spacing == INT32_MAX || spacing < 8 ? 8 : spacing;
}

static int is_same_space(const mvf_colour_space *a, const mvf_colour_space *b)
{
    return a->kr == b->kr && a->kb == b->kb && a->full_range == b->full_range;
}

/* Lines scale with the frame's height: 1 px up to 720 lines, 1.5 px at 1080, 3 px at 2160. */
static void choose_style(mvf_arrows *arrows, const mvf_canvas *canvas, int32_t spacing)
{
    mvf_sprite_style *style = &arrows->style;
    if (arrows->width == canvas->width && arrows->height == canvas->height &&
        arrows->spacing == spacing && style->chroma_shift_x == canvas->chroma_shift_x &&
        style->chroma_shift_y == canvas->chroma_shift_y &&
        style->has_chroma == (canvas->planes[1] != NULL) &&
        is_same_space(&style->space, &canvas->space))
        return;
    forget(arrows);
    arrows->width = canvas->width;
    arrows->height = canvas->height;
    arrows->spacing = spacing;
    float radius = fminf((float)canvas->height / 1440, 0.09f * (float)spacing);
    *style = (mvf_sprite_style){
        .chroma_shift_x = canvas->chroma_shift_x,
        .chroma_shift_y = canvas->chroma_shift_y,
        .has_chroma = canvas->planes[1] != NULL,
        .space = canvas->space,
        .line_radius = fmaxf(radius, 0.5f),
        .outline = fmaxf(0.8f * radius, 0.8f),
        .max_length = (float)canvas->width + (float)canvas->height,
    };
}

static unsigned slot_of(const arrow_entry *wanted)
{
    uint32_t hash = (uint32_t)wanted->motion_x * 2654435761u;
    hash ^= (uint32_t)wanted->motion_y * 2246822519u;
    hash ^= (uint32_t)(2 * wanted->phase + wanted->is_future) * 3266489917u;
    return (hash ^ hash >> 15) % N_SLOTS;
}

static mvf_status add_entry(mvf_arrows *arrows, arrow_entry **slot, const arrow_entry *wanted)
{
    arrow_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return MVF_ERROR_MEMORY;
    *entry = *wanted;
    mvf_sprite_motion motion = {.x = (float)wanted->motion_x / 4,
                                .y = (float)wanted->motion_y / 4,
                                .is_future = wanted->is_future};
    mvf_status status = mvf_sprite_make(&entry->sprite, &arrows->style, &motion, wanted->phase & 15,
                                        wanted->phase >> 4);
    if (status != MVF_OK) {
        free(entry);
        return status;
    }
    entry->next = *slot;
    *slot = entry;
    arrows->n_bytes += entry->sprite->n_bytes + sizeof *entry;
    return MVF_OK;
}

static mvf_status find_sprite(mvf_arrows *arrows, const arrow_entry *wanted,
                              const mvf_sprite **sprite)
{
    if (arrows->n_bytes > MAX_CACHE_BYTES)
        forget(arrows);
    arrow_entry **slot = &arrows->slots[slot_of(wanted)];
    for (arrow_entry *entry = *slot; entry; entry = entry->next) {
        if (entry->motion_x == wanted->motion_x && entry->motion_y == wanted->motion_y &&
            entry->phase == wanted->phase && entry->is_future == wanted->is_future) {
            *sprite = entry->sprite;
            return MVF_OK;
        }
    }
    MVF_TRY(add_entry(arrows, slot, wanted));
    *sprite = (*slot)->sprite;
    return MVF_OK;
}

static int32_t quarters(int32_t mv, double px_per_unit)
{
    return (int32_t)lrint(4 * mv * px_per_unit);
}

static int32_t round_to(int32_t value, int32_t step)
{
    return (value + (value < 0 ? -step : step) / 2) / step * step;
}

/* By one step for both parts, so that directions stay as they are. */
static void round_motion(arrow_entry *wanted)
{
    int32_t x = abs(wanted->motion_x), y = abs(wanted->motion_y), most = x > y ? x : y, step = 4;
    if (most <= 4 * EXACT_PX)
        return;
    while (most > 32 * step)
        step *= 2;
    wanted->motion_x = round_to(wanted->motion_x, step);
    wanted->motion_y = round_to(wanted->motion_y, step);
}

/* Content moved from the reference to the current frame, so against the vector for a past
 * reference, and along it for a future one. */
static mvf_status draw_block(mvf_arrows *arrows, const mvf_canvas *canvas, const mvf_block *block,
                             double px_per_unit)
{
    int32_t x = block->x + block->w / 2, y = block->y + block->h / 2;
    int32_t sign = block->dir < 0 ? -1 : 1;
    arrow_entry wanted = {.motion_x = sign * quarters(block->mv_x, px_per_unit),
                          .motion_y = sign * quarters(block->mv_y, px_per_unit),
                          .is_future = block->dir > 0};
    round_motion(&wanted);
    if (block->dir > 0) {
        x += (int32_t)lrint(block->mv_x * px_per_unit);
        y += (int32_t)lrint(block->mv_y * px_per_unit);
    }
    if (abs(x) > MAX_POSITION || abs(y) > MAX_POSITION)
        return MVF_OK;
    int32_t phase_x = x & ((1 << canvas->chroma_shift_x) - 1);
    int32_t phase_y = y & ((1 << canvas->chroma_shift_y) - 1);
    wanted.phase = phase_x | phase_y << 4;
    const mvf_sprite *sprite;
    MVF_TRY(find_sprite(arrows, &wanted, &sprite));
    mvf_sprite_draw(sprite, canvas, x, y);
    return MVF_OK;
}

static int has_arrow(const mvf_grid *grid, size_t index)
{
    if (grid->cols <= 0 || grid->rows <= 0)
        return 1;
    int32_t col = (int32_t)(index % (size_t)grid->cols);
    int32_t row = (int32_t)(index / (size_t)grid->cols % (size_t)grid->rows);
    return is_drawn(col, grid->cols, blocks_per_arrow(grid->step_x)) &&
           is_drawn(row, grid->rows, blocks_per_arrow(grid->step_y));
}

mvf_status mvf_arrows_draw(mvf_arrows *arrows, const mvf_canvas *canvas, const mvf_field *field,
                           double scale)
{
    if (field->n_blocks == 0 || field->mv_scale <= 0)
        return MVF_OK;
    choose_style(arrows, canvas, arrow_spacing(field));
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir && has_arrow(&field->grid, i))
            MVF_TRY(draw_block(arrows, canvas, &field->blocks[i], scale / field->mv_scale));
    return MVF_OK;
}
