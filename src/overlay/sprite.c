/* SPDX-License-Identifier: BSD-2-Clause */
#include "overlay/sprite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "overlay/blend.h"

/* How much of the video the outline hides, and how bright a still block's dot is. */
#define OUTLINE_ALPHA 0.7f
#define STILL_GRAY 0.9
/* Share of white in an arrow's colour, so that blue is not lost on dark ground. */
#define WHITE_SHARE 0.25
#define MIN_STILL_RADIUS 0.8f

typedef struct point {
    float x, y;
} point;

/* From `from` on by `by`; `share` is 1 / length^2, or 0. */
typedef struct segment {
    point from, by;
    float share;
} segment;

/* A line with round ends and, for an arrow, a triangle whose tip is its end. */
typedef struct shape {
    point tail, neck;
    point head[3];
    segment line, sides[3];
    /* Outside of this box the head changes nothing. */
    float head_min_x, head_max_x, head_min_y, head_max_y;
    int32_t has_head;
    float radius, outline;
    /* Of the covered area, outline and antialiasing included. */
    float min_y, max_y;
} shape;

/* Arrays that grow row by row while a sprite is drawn. */
typedef struct plane_builder {
    int32_t y, n_rows, row_capacity;
    int32_t min_x, end_x;
    mvf_sprite_row *rows;
    int32_t n_samples, sample_capacity;
    uint8_t *hide, *add[2];
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

static inline float smaller(float a, float b)
{
    return a < b ? a : b;
}

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static segment segment_between(point a, point b)
{
    segment s = {.from = a, .by = {b.x - a.x, b.y - a.y}};
    float length2 = s.by.x * s.by.x + s.by.y * s.by.y;
    s.share = length2 > 0 ? 1 / length2 : 0;
    return s;
}

static inline float distance2_to_segment(point p, const segment *s)
{
    float x = p.x - s->from.x, y = p.y - s->from.y;
    float t = clamp01((x * s->by.x + y * s->by.y) * s->share);
    x -= t * s->by.x;
    y -= t * s->by.y;
    return x * x + y * y;
}

/* Negative inside. */
static float distance_to_head(point p, const shape *s)
{
    float nearest2 = INFINITY;
    int n_left = 0;
    for (int i = 0; i < 3; i++) {
        const segment *side = &s->sides[i];
        nearest2 = smaller(nearest2, distance2_to_segment(p, side));
        n_left += side->by.x * (p.y - side->from.y) - side->by.y * (p.x - side->from.x) >= 0;
    }
    return n_left == 3 || n_left == 0 ? -sqrtf(nearest2) : sqrtf(nearest2);
}

static inline float distance_to_shape(const shape *s, point p)
{
    float distance = sqrtf(distance2_to_segment(p, &s->line)) - s->radius;
    if (!s->has_head || p.x < s->head_min_x || p.x > s->head_max_x || p.y < s->head_min_y ||
        p.y > s->head_max_y)
        return distance;
    return smaller(distance, distance_to_head(p, s));
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
    float margin = s->outline + 1;
    s->line = segment_between(s->tail, s->neck);
    s->min_y = smaller(s->tail.y, s->neck.y);
    s->max_y = larger(s->tail.y, s->neck.y);
    s->head_min_x = s->head_min_y = INFINITY;
    s->head_max_x = s->head_max_y = -INFINITY;
    for (int i = 0; s->has_head && i < 3; i++) {
        s->sides[i] = segment_between(s->head[i], s->head[(i + 1) % 3]);
        s->head_min_x = smaller(s->head_min_x, s->head[i].x - margin);
        s->head_max_x = larger(s->head_max_x, s->head[i].x + margin);
        s->head_min_y = smaller(s->head_min_y, s->head[i].y - margin);
        s->head_max_y = larger(s->head_max_y, s->head[i].y + margin);
        s->min_y = smaller(s->min_y, s->head[i].y);
        s->max_y = larger(s->max_y, s->head[i].y);
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
        t[0] = larger(0, smaller(first, second));
        t[1] = smaller(1, larger(first, second));
    } else if (fabsf(y - a.y) > reach_px) {
        return;
    }
    if (t[0] > t[1])
        return;
    for (int i = 0; i < 2; i++) {
        float x = a.x + t[i] * (b.x - a.x);
        *min_x = smaller(*min_x, x - reach_px);
        *max_x = larger(*max_x, x + reach_px);
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

static mvf_status grow_samples(uint8_t **array, int32_t n)
{
    uint8_t *grown = realloc(*array, (size_t)n);
    if (!grown)
        return MVF_ERROR_MEMORY;
    *array = grown;
    return MVF_OK;
}

/* Makes room for one more row of `n_samples`. */
static mvf_status grow_plane(plane_builder *p, int32_t n_samples)
{
    int32_t n_rows = p->n_rows + 1, samples = p->n_samples + n_samples;
    if (n_rows > p->row_capacity) {
        mvf_sprite_row *grown = realloc(p->rows, (size_t)n_rows * 2 * sizeof *grown);
        if (!grown)
            return MVF_ERROR_MEMORY;
        p->rows = grown;
        p->row_capacity = 2 * n_rows;
    }
    if (samples > p->sample_capacity) {
        MVF_TRY(grow_samples(&p->hide, 2 * samples));
        MVF_TRY(grow_samples(&p->add[0], 2 * samples));
        MVF_TRY(grow_samples(&p->add[1], 2 * samples));
        p->sample_capacity = 2 * samples;
    }
    return MVF_OK;
}

/* Not more than what `hide` leaves room for. */
static uint8_t mix(float fill_weight, float fill, float outline_weight, float outline, int hide)
{
    float sum = fill_weight * fill + outline_weight * outline;
    int most = 255 * hide / 256;
    return (uint8_t)(sum < 0 ? 0 : sum > (float)most ? most : (int)(sum + 0.5f));
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
    int32_t n_padded = (n + MVF_BLEND_LANES - 1) / MVF_BLEND_LANES * MVF_BLEND_LANES;
    MVF_TRY(grow_plane(p, n_padded));
    int32_t at = p->n_samples;
    for (int32_t i = 0; i < n_padded; i++) {
        float fill = i < n ? coverage[0][first + i] : 0;
        float dark = i < n ? coverage[1][first + i] * OUTLINE_ALPHA * (1 - fill) : 0;
        int hide = (int)lrintf(255 * (fill + dark));
        p->hide[at + i] = (uint8_t)hide;
        p->add[0][at + i] = is_chroma ? mix(fill, b->fill.u, dark, b->outline.u, hide)
                                      : mix(fill, b->fill.y, dark, b->outline.y, hide);
        if (is_chroma)
            p->add[1][at + i] = mix(fill, b->fill.v, dark, b->outline.v, hide);
    }
    p->rows[p->n_rows] = (mvf_sprite_row){.x = x + first, .n = n, .offset = at};
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
            b->chroma_row[k][at] = larger(b->chroma_row[k][at], b->row[k][i]);
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
    size_t n_samples = (size_t)p->n_samples;
    plane->hide = append(memory, p->hide, n_samples);
    plane->add[0] = append(memory, p->add[0], n_samples);
    plane->add[1] = append(memory, p->add[1], n_adds > 1 ? n_samples : 0);
    plane->rows = append(memory, p->rows, (size_t)p->n_rows * sizeof *p->rows);
    plane->y = p->y;
    plane->n_rows = p->n_rows;
    plane->min_x = p->min_x;
    plane->end_x = p->end_x;
}

static size_t plane_bytes(const plane_builder *p, int n_adds)
{
    return (size_t)p->n_rows * sizeof *p->rows + (size_t)p->n_samples * (size_t)(1 + n_adds);
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
        free(planes[i]->rows);
        free(planes[i]->hide);
        free(planes[i]->add[0]);
        free(planes[i]->add[1]);
    }
}

static void choose_colours(builder *b, const mvf_sprite_motion *motion)
{
    const double outlines[2][3] = {{0, 0, 0}, {1, 1, 1}};
    double colour[3] = {STILL_GRAY, STILL_GRAY, STILL_GRAY};
    if (motion->x != 0 || motion->y != 0) {
        mvf_wheel_colour(motion->x, motion->y, colour);
        for (int c = 0; c < 3; c++)
            colour[c] += WHITE_SHARE * (1 - colour[c]);
    }
    b->fill = mvf_colour_to_yuv(colour, &b->style->space);
    b->outline = mvf_colour_to_yuv(outlines[motion->is_future], &b->style->space);
}

mvf_status mvf_sprite_make(mvf_sprite **sprite, const mvf_sprite_style *style,
                           const mvf_sprite_motion *motion, int32_t phase_x, int32_t phase_y)
{
    builder b = {.style = style};
    if (motion->x != 0 || motion->y != 0)
        shape_arrow(&b.shape, style, motion->x, motion->y);
    else
        shape_dot(&b.shape, style);
    bound_shape(&b.shape);
    choose_colours(&b, motion);
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

/* One plane to draw on, and where in it the anchor lies. */
typedef struct target {
    uint8_t *samples;
    ptrdiff_t stride_bytes;
    int32_t width, height, depth;
    int32_t x, y;
} target;

static void draw_clipped_row(const mvf_sprite_plane *plane, int which, const mvf_sprite_row *row,
                             uint8_t *line, const target *t)
{
    int32_t x = t->x + row->x;
    int32_t skip = x < 0 ? -x : 0;
    int32_t n = (x + row->n > t->width ? t->width - x : row->n) - skip;
    const uint8_t *hide = plane->hide + row->offset + skip;
    const uint8_t *add = plane->add[which] + row->offset + skip;
    if (n <= 0)
        return;
    if (t->depth > 8) {
        uint16_t *samples = (uint16_t *)(void *)line + x + skip;
        for (int32_t i = 0; i < n; i++)
            samples[i] = mvf_blend_word(samples[i], hide[i], add[i], t->depth);
        return;
    }
    for (int32_t i = 0; i < n; i++)
        line[x + skip + i] = mvf_blend_byte(line[x + skip + i], hide[i], add[i]);
}

/* For a row that lies inside of the plane, its padding included. */
static inline void draw_whole_row(const mvf_sprite_plane *plane, int which,
                                  const mvf_sprite_row *row, uint8_t *line, const target *t)
{
    const uint8_t *hide = plane->hide + row->offset, *add = plane->add[which] + row->offset;
    int32_t x = t->x + row->x;
    if (t->depth > 8)
        mvf_blend_word_lanes((uint16_t *)(void *)line + x, hide, add, row->n, t->depth);
    else
        mvf_blend_byte_lanes(line + x, hide, add, row->n);
}

static void draw_plane(const mvf_sprite_plane *plane, int which, const target *t)
{
    int inside = t->x + plane->min_x >= 0 && t->x + plane->end_x <= t->width;
    int32_t top = t->y + plane->y;
    int32_t first = top < 0 ? -top : 0;
    int32_t end = top + plane->n_rows > t->height ? t->height - top : plane->n_rows;
    uint8_t *line = t->samples + (ptrdiff_t)(top + first) * t->stride_bytes;
    for (int32_t i = first; i < end; i++, line += t->stride_bytes) {
        const mvf_sprite_row *row = &plane->rows[i];
        if (inside)
            draw_whole_row(plane, which, row, line, t);
        else
            draw_clipped_row(plane, which, row, line, t);
    }
}

void mvf_sprite_draw(const mvf_sprite *sprite, const mvf_canvas *canvas, int32_t x, int32_t y)
{
    int32_t shift_x = canvas->chroma_shift_x, shift_y = canvas->chroma_shift_y;
    target t = {.samples = canvas->planes[0],
                .stride_bytes = canvas->strides_bytes[0],
                .width = canvas->width,
                .height = canvas->height,
                .depth = canvas->bit_depth,
                .x = x,
                .y = y};
    draw_plane(&sprite->luma, 0, &t);
    t.width = (canvas->width + (1 << shift_x) - 1) >> shift_x;
    t.height = (canvas->height + (1 << shift_y) - 1) >> shift_y;
    t.x = x >> shift_x;
    t.y = y >> shift_y;
    for (int i = 0; i < 2 && canvas->planes[1]; i++) {
        t.samples = canvas->planes[1 + i];
        t.stride_bytes = canvas->strides_bytes[1 + i];
        draw_plane(&sprite->chroma, i, &t);
    }
}
