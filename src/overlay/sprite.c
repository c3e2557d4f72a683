/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/sprite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* How much of the video the outline hides, and how bright a still block's dot is. */
#define OUTLINE_ALPHA 0.7f
#define STILL_GRAY 0.9
/* Share of white in an arrow's colour, so that blue is not lost on dark ground. */
#define WHITE_SHARE 0.25
#define MIN_STILL_RADIUS 0.8f

typedef struct point {
    float x, y;
} point;

/* A line with round ends and, for an arrow, a triangle whose tip is its end. */
typedef struct shape {
    point tail, neck;
    point head[3];
    int32_t has_head;
    float radius, outline;
    /* Of the covered area, outline and antialiasing included. */
    float min_y, max_y;
} shape;

/* Arrays that grow row by row while a sprite is drawn. */
typedef struct plane_builder {
    int32_t y, n_rows, row_capacity;
    int32_t min_x, end_x;
    int32_t *x, *n, *offset;
    int32_t n_samples, sample_capacity;
    uint16_t *keep, *add[2];
} plane_builder;

typedef struct builder {
    const mvf_sprite_style *style;
    shape shape;
    mvf_yuv fill, outline;
    /* Coverage of one row of luma and, as the maximum over its samples, of one row of chroma. */
    float *row[2], *chroma_row[2];
    int32_t row_x, row_n, row_capacity;
    int32_t chroma_x, chroma_n;
    plane_builder luma, chroma;
} builder;

static float reach(const shape *s)
{
    return s->radius + s->outline + 1;
}

static float clamp01(float value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static float distance_to_segment(point p, point a, point b)
{
    float dx = b.x - a.x, dy = b.y - a.y;
    float length2 = dx * dx + dy * dy;
    float t = length2 > 0 ? clamp01(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2) : 0;
    return hypotf(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/* Negative inside. */
static float distance_to_triangle(point p, const point corner[3])
{
    float nearest = INFINITY;
    int n_left = 0;
    for (int i = 0; i < 3; i++) {
        point a = corner[i], b = corner[(i + 1) % 3];
        nearest = fminf(nearest, distance_to_segment(p, a, b));
        n_left += (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) >= 0;
    }
    return n_left == 3 || n_left == 0 ? -nearest : nearest;
}

static float distance_to_shape(const shape *s, point p)
{
    float distance = distance_to_segment(p, s->tail, s->neck) - s->radius;
    return s->has_head ? fminf(distance, distance_to_triangle(p, s->head)) : distance;
}

/* The arrow's proportions: the head grows with the line and takes at most 60 % of the length. */
static void shape_arrow(shape *s, const mvf_sprite_style *style, float x, float y)
{
    float length = hypotf(x, y);
    float drawn = fminf(length, style->max_length);
    float ux = x / length, uy = y / length;
    float head = fminf(4 * style->line_radius + 2.5f, 0.6f * drawn);
    float half = 0.55f * head;
    *s = (shape){
        .tail = {-ux * drawn, -uy * drawn},
        .neck = {-ux * head, -uy * head},
        .has_head = half > style->line_radius,
        .radius = style->line_radius,
        .outline = style->outline,
    };
    s->head[1] = (point){s->neck.x - uy * half, s->neck.y + ux * half};
    s->head[2] = (point){s->neck.x + uy * half, s->neck.y - ux * half};
    if (!s->has_head)
        s->neck = (point){0, 0};
}

static void shape_dot(shape *s, const mvf_sprite_style *style)
{
    *s = (shape){.radius = fmaxf(1.2f * style->line_radius, MIN_STILL_RADIUS),
                 .outline = style->outline};
}

static void bound_shape(shape *s)
{
    s->min_y = fminf(s->tail.y, s->neck.y);
    s->max_y = fmaxf(s->tail.y, s->neck.y);
    for (int i = 0; s->has_head && i < 3; i++) {
        s->min_y = fminf(s->min_y, s->head[i].y);
        s->max_y = fmaxf(s->max_y, s->head[i].y);
    }
    s->min_y -= reach(s);
    s->max_y += reach(s);
}

/* Widens [min_x, max_x] by the part of a segment that lies within `reach` rows of y. */
static void widen(float *min_x, float *max_x, point a, point b, float y, float reach_px)
{
    float t[2] = {0, 1};
    if (fabsf(b.y - a.y) > 1e-6f) {
        float first = (y - reach_px - a.y) / (b.y - a.y);
        float second = (y + reach_px - a.y) / (b.y - a.y);
        t[0] = fmaxf(0, fminf(first, second));
        t[1] = fminf(1, fmaxf(first, second));
    } else if (fabsf(y - a.y) > reach_px) {
        return;
    }
    if (t[0] > t[1])
        return;
    for (int i = 0; i < 2; i++) {
        float x = a.x + t[i] * (b.x - a.x);
        *min_x = fminf(*min_x, x - reach_px);
        *max_x = fmaxf(*max_x, x + reach_px);
    }
}

static mvf_status grow_row(builder *b, int32_t n)
{
    if (n <= b->row_capacity)
        return MVF_OK;
    float **rows[4] = {&b->row[0], &b->row[1], &b->chroma_row[0], &b->chroma_row[1]};
    for (int i = 0; i < 4; i++) {
        float *grown = realloc(*rows[i], (size_t)n * sizeof **rows[i]);
        if (!grown)
            return MVF_ERROR_MEMORY;
        *rows[i] = grown;
    }
    b->row_capacity = n;
    return MVF_OK;
}

/* Coverage of luma row y by the fill and by fill and outline together. */
static mvf_status cover_row(builder *b, int32_t y)
{
    const shape *s = &b->shape;
    float min_x = INFINITY, max_x = -INFINITY;
    widen(&min_x, &max_x, s->tail, s->neck, (float)y, reach(s));
    for (int i = 0; s->has_head && i < 3; i++)
        widen(&min_x, &max_x, s->head[i], s->head[(i + 1) % 3], (float)y, reach(s));
    b->row_n = 0;
    if (min_x > max_x)
        return MVF_OK;
    b->row_x = (int32_t)floorf(min_x);
    int32_t n = (int32_t)ceilf(max_x) - b->row_x + 1;
    MVF_TRY(grow_row(b, n));
    for (int32_t i = 0; i < n; i++) {
        float distance = distance_to_shape(s, (point){(float)(b->row_x + i), (float)y});
        b->row[0][i] = clamp01(0.5f - distance);
        b->row[1][i] = clamp01(0.5f + s->outline - distance);
    }
    b->row_n = n;
    return MVF_OK;
}

static mvf_status grow_ints(int32_t **array, int32_t n)
{
    int32_t *grown = realloc(*array, (size_t)n * sizeof *grown);
    if (!grown)
        return MVF_ERROR_MEMORY;
    *array = grown;
    return MVF_OK;
}

static mvf_status grow_samples(uint16_t **array, int32_t n)
{
    uint16_t *grown = realloc(*array, (size_t)n * sizeof *grown);
    if (!grown)
        return MVF_ERROR_MEMORY;
    *array = grown;
    return MVF_OK;
}

/* Makes room for one more row of `n_samples`. */
static mvf_status grow_plane(plane_builder *p, int32_t n_samples)
{
    int32_t rows = p->n_rows + 1, samples = p->n_samples + n_samples;
    if (rows > p->row_capacity) {
        MVF_TRY(grow_ints(&p->x, 2 * rows));
        MVF_TRY(grow_ints(&p->n, 2 * rows));
        MVF_TRY(grow_ints(&p->offset, 2 * rows));
        p->row_capacity = 2 * rows;
    }
    if (samples > p->sample_capacity) {
        MVF_TRY(grow_samples(&p->keep, 2 * samples));
        MVF_TRY(grow_samples(&p->add[0], 2 * samples));
        MVF_TRY(grow_samples(&p->add[1], 2 * samples));
        p->sample_capacity = 2 * samples;
    }
    return MVF_OK;
}

static uint16_t mix(float fill_weight, float fill, float outline_weight, float outline,
                    uint16_t keep)
{
    float sum = 256 * (fill_weight * fill + outline_weight * outline);
    float most = 255.0f * (float)(256 - keep);
    return (uint16_t)lrintf(fminf(fmaxf(sum, 0), most));
}

/* Appends one row, given its coverage, trimmed of samples that it does not change. */
static mvf_status add_row(builder *b, plane_builder *p, int is_chroma, int32_t x, int32_t n,
                          float *const coverage[2])
{
    while (n > 0 && coverage[1][n - 1] <= 0)
        n--;
    int32_t first = 0;
    while (first < n && coverage[1][first] <= 0)
        first++;
    n -= first;
    int32_t n_padded = (n + MVF_SPRITE_LANES - 1) / MVF_SPRITE_LANES * MVF_SPRITE_LANES;
    MVF_TRY(grow_plane(p, n_padded));
    int32_t at = p->n_samples;
    for (int32_t i = 0; i < n_padded; i++) {
        float fill = i < n ? coverage[0][first + i] : 0;
        float dark = i < n ? coverage[1][first + i] * OUTLINE_ALPHA * (1 - fill) : 0;
        uint16_t keep = (uint16_t)lrintf(256 * (1 - fill - dark));
        p->keep[at + i] = keep;
        p->add[0][at + i] = is_chroma ? mix(fill, b->fill.u, dark, b->outline.u, keep)
                                      : mix(fill, b->fill.y, dark, b->outline.y, keep);
        if (is_chroma)
            p->add[1][at + i] = mix(fill, b->fill.v, dark, b->outline.v, keep);
    }
    p->x[p->n_rows] = x + first;
    p->n[p->n_rows] = n;
    p->offset[p->n_rows] = at;
    p->min_x = n && x + first < p->min_x ? x + first : p->min_x;
    p->end_x = n && x + first + n_padded > p->end_x ? x + first + n_padded : p->end_x;
    p->n_samples += n_padded;
    p->n_rows++;
    return MVF_OK;
}

/* A chroma sample takes the strongest coverage of its luma samples: thin lines keep their colour.
 */
static void cover_chroma(builder *b, int32_t phase_x)
{
    int32_t shift = b->style->chroma_shift_x;
    for (int32_t i = 0; i < b->row_n; i++) {
        int32_t at = ((b->row_x + i + phase_x) >> shift) - b->chroma_x;
        for (int k = 0; k < 2; k++)
            b->chroma_row[k][at] = fmaxf(b->chroma_row[k][at], b->row[k][i]);
    }
}

/* Draws the luma rows under chroma row `chroma_y`, then that row. */
static mvf_status add_chroma_group(builder *b, int32_t chroma_y, int32_t phase_x, int32_t phase_y)
{
    int32_t shift_x = b->style->chroma_shift_x, rows = 1 << b->style->chroma_shift_y;
    int32_t first_y = chroma_y * rows - phase_y;
    float reach_x = fmaxf(fabsf(b->shape.tail.x), 5 * b->style->line_radius + 4) + reach(&b->shape);
    b->chroma_x = (-(int32_t)ceilf(reach_x) - 2) >> shift_x;
    b->chroma_n = (((int32_t)ceilf(reach_x) + 3 + phase_x) >> shift_x) - b->chroma_x + 1;
    MVF_TRY(grow_row(b, b->chroma_n));
    for (int k = 0; k < 2; k++)
        memset(b->chroma_row[k], 0, (size_t)b->chroma_n * sizeof *b->chroma_row[k]);
    for (int32_t y = first_y; y < first_y + rows; y++) {
        MVF_TRY(cover_row(b, y));
        MVF_TRY(add_row(b, &b->luma, 0, b->row_x, b->row_n, b->row));
        cover_chroma(b, phase_x);
    }
    return b->style->has_chroma ? add_row(b, &b->chroma, 1, b->chroma_x, b->chroma_n, b->chroma_row)
                                : MVF_OK;
}

static const void *append(uint8_t **memory, const void *array, size_t n_bytes)
{
    const void *place = *memory;
    if (n_bytes)
        memcpy(*memory, array, n_bytes);
    *memory += n_bytes;
    return place;
}

static void place_plane(mvf_sprite_plane *plane, const plane_builder *p, int n_adds,
                        uint8_t **memory)
{
    size_t row_bytes = (size_t)p->n_rows * sizeof *p->x;
    size_t sample_bytes = (size_t)p->n_samples * sizeof *p->keep;
    plane->keep = append(memory, p->keep, sample_bytes);
    plane->add[0] = append(memory, p->add[0], sample_bytes);
    plane->add[1] = append(memory, p->add[1], n_adds > 1 ? sample_bytes : 0);
    plane->x = append(memory, p->x, row_bytes);
    plane->n = append(memory, p->n, row_bytes);
    plane->offset = append(memory, p->offset, row_bytes);
    plane->y = p->y;
    plane->n_rows = p->n_rows;
    plane->min_x = p->min_x;
    plane->end_x = p->end_x;
}

static size_t plane_bytes(const plane_builder *p, int n_adds)
{
    return (size_t)p->n_rows * 3 * sizeof *p->x +
           (size_t)p->n_samples * (size_t)(1 + n_adds) * sizeof *p->keep;
}

static mvf_status pack(mvf_sprite **sprite, const builder *b)
{
    size_t n_bytes = sizeof **sprite + plane_bytes(&b->luma, 1) + plane_bytes(&b->chroma, 2);
    mvf_sprite *made = malloc(n_bytes);
    if (!made)
        return MVF_ERROR_MEMORY;
    uint8_t *memory = (uint8_t *)(made + 1);
    place_plane(&made->luma, &b->luma, 1, &memory);
    place_plane(&made->chroma, &b->chroma, 2, &memory);
    made->n_bytes = n_bytes;
    *sprite = made;
    return MVF_OK;
}

static void free_builder(builder *b)
{
    plane_builder *planes[2] = {&b->luma, &b->chroma};
    for (int i = 0; i < 2; i++) {
        free(b->row[i]);
        free(b->chroma_row[i]);
        free(planes[i]->x);
        free(planes[i]->n);
        free(planes[i]->offset);
        free(planes[i]->keep);
        free(planes[i]->add[0]);
        free(planes[i]->add[1]);
    }
}

static void choose_colours(builder *b, float motion_x, float motion_y)
{
    const double black[3] = {0, 0, 0};
    double colour[3] = {STILL_GRAY, STILL_GRAY, STILL_GRAY};
    if (motion_x != 0 || motion_y != 0) {
        mvf_wheel_colour(motion_x, motion_y, colour);
        for (int c = 0; c < 3; c++)
            colour[c] += WHITE_SHARE * (1 - colour[c]);
    }
    b->fill = mvf_colour_to_yuv(colour, &b->style->space);
    b->outline = mvf_colour_to_yuv(black, &b->style->space);
}

mvf_status mvf_sprite_make(mvf_sprite **sprite, const mvf_sprite_style *style, float motion_x,
                           float motion_y, int32_t phase_x, int32_t phase_y)
{
    builder b = {.style = style};
    if (motion_x != 0 || motion_y != 0)
        shape_arrow(&b.shape, style, motion_x, motion_y);
    else
        shape_dot(&b.shape, style);
    bound_shape(&b.shape);
    choose_colours(&b, motion_x, motion_y);
    int32_t first = ((int32_t)floorf(b.shape.min_y) + phase_y) >> style->chroma_shift_y;
    int32_t last = ((int32_t)ceilf(b.shape.max_y) + phase_y) >> style->chroma_shift_y;
    b.chroma.y = first;
    b.luma.y = first * (1 << style->chroma_shift_y) - phase_y;
    b.luma.min_x = b.chroma.min_x = INT32_MAX;
    b.luma.end_x = b.chroma.end_x = INT32_MIN;
    mvf_status status = MVF_OK;
    for (int32_t y = first; y <= last && status == MVF_OK; y++)
        status = add_chroma_group(&b, y, phase_x, phase_y);
    if (status == MVF_OK)
        status = pack(sprite, &b);
    free_builder(&b);
    return status;
}

static void blend_lanes(uint8_t *restrict samples, const uint16_t *restrict keep,
                        const uint16_t *restrict add, int32_t n)
{
    for (int32_t i = 0; i < n; i += MVF_SPRITE_LANES)
        for (int32_t k = 0; k < MVF_SPRITE_LANES; k++)
            samples[i + k] =
                (uint8_t)((uint16_t)(samples[i + k] * keep[i + k] + add[i + k] + 128) >> 8);
}

static void blend_bytes(uint8_t *restrict samples, const uint16_t *restrict keep,
                        const uint16_t *restrict add, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        samples[i] = (uint8_t)((uint16_t)(samples[i] * keep[i] + add[i] + 128) >> 8);
}

static void blend_words(uint16_t *restrict samples, const uint16_t *restrict keep,
                        const uint16_t *restrict add, int32_t n, int32_t depth)
{
    for (int32_t i = 0; i < n; i++)
        samples[i] =
            (uint16_t)(((uint32_t)samples[i] * keep[i] + ((uint32_t)add[i] << (depth - 8)) + 128 -
                        (keep[i] == 256) * 128) >>
                       8);
}

/* `inside`: no row of the sprite, padding included, leaves the plane. */
static void draw_row(const mvf_sprite_plane *plane, int which, int32_t row, uint8_t *line,
                     int32_t anchor_x, int32_t width, int32_t depth, int inside)
{
    int32_t x = anchor_x + plane->x[row], n = plane->n[row], skip = 0;
    if (!inside) {
        skip = x < 0 ? -x : 0;
        n = x + n > width ? width - x : n;
    }
    if (skip >= n)
        return;
    const uint16_t *keep = plane->keep + plane->offset[row] + skip;
    const uint16_t *add = plane->add[which] + plane->offset[row] + skip;
    if (depth > 8)
        blend_words((uint16_t *)(void *)line + x + skip, keep, add, n - skip, depth);
    else if (inside)
        blend_lanes(line + x, keep, add, n);
    else
        blend_bytes(line + x + skip, keep, add, n - skip);
}

static void draw_plane(const mvf_sprite_plane *plane, int which, uint8_t *samples,
                       ptrdiff_t stride_bytes, int32_t width, int32_t height, int32_t depth,
                       int32_t x, int32_t y)
{
    int inside = x + plane->min_x >= 0 && x + plane->end_x <= width;
    int32_t first = y + plane->y < 0 ? -(y + plane->y) : 0;
    int32_t end = plane->n_rows;
    if (y + plane->y + end > height)
        end = height - y - plane->y;
    for (int32_t row = first; row < end; row++)
        draw_row(plane, which, row, samples + (y + plane->y + row) * stride_bytes, x, width, depth,
                 inside);
}

void mvf_sprite_draw(const mvf_sprite *sprite, const mvf_canvas *canvas, int32_t x, int32_t y)
{
    int32_t shift_x = canvas->chroma_shift_x, shift_y = canvas->chroma_shift_y;
    int32_t chroma_width = (canvas->width + (1 << shift_x) - 1) >> shift_x;
    int32_t chroma_height = (canvas->height + (1 << shift_y) - 1) >> shift_y;
    draw_plane(&sprite->luma, 0, canvas->planes[0], canvas->strides_bytes[0], canvas->width,
               canvas->height, canvas->bit_depth, x, y);
    for (int i = 0; i < 2 && canvas->planes[1]; i++)
        draw_plane(&sprite->chroma, i, canvas->planes[1 + i], canvas->strides_bytes[1 + i],
                   chroma_width, chroma_height, canvas->bit_depth, x >> shift_x, y >> shift_y);
}
