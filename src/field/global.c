/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/analysis.h>

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* Farther from the motion of the whole than this a vector is not part of it. */
#define NEAR_PX 2.0
/* Pairs of vectors that make a guess, and vectors that it is tried on. */
#define N_GUESSES 200
#define MAX_TRIED 1000
#define N_REFINEMENTS 10
/* What turns by more or changes size by more, as |z|, is no camera between two frames. */
#define MAX_CHANGE 0.5
#define DEGREES (180 / 3.14159265358979323846)

/* A vector, and where its block's centre is relative to that of the frame, in px. */
typedef struct sample {
    double px, py, vx, vy;
} sample;

/* v = t + z p, with p, v, t and z as complex numbers: z + 1 turns and scales. */
typedef struct similarity {
    double tx, ty, zx, zy;
} similarity;

static int chosen_direction(const mvf_field *field)
{
    for (size_t i = 0; i < field->n_blocks; i++)
        if (field->blocks[i].dir < 0)
            return -1;
    return 1;
}

static void place(const mvf_field *field, const mvf_block *block, double *x, double *y)
{
    *x = block->x + (block->w - field->width) / 2.0;
    *y = block->y + (block->h - field->height) / 2.0;
}

static size_t gather(const mvf_field *field, int dir, sample *samples)
{
    size_t n = 0;
    for (size_t i = 0; i < field->n_blocks; i++) {
        const mvf_block *block = &field->blocks[i];
        if (block->dir != dir)
            continue;
        samples[n] = (sample){.vx = (double)block->mv_x / field->mv_scale,
                              .vy = (double)block->mv_y / field->mv_scale};
        place(field, block, &samples[n].px, &samples[n].py);
        n++;
    }
    return n;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const sample *samples, size_t n, int is_y, double *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = is_y ? samples[i].vy : samples[i].vx;
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double distance(const similarity *m, const sample *s)
{
    double x = m->tx + m->zx * s->px - m->zy * s->py - s->vx;
    double y = m->ty + m->zx * s->py + m->zy * s->px - s->vy;
    return hypot(x, y);
}

/* How badly it fits: what is not near counts the same wherever it is. */
static double misfit(const similarity *m, const sample *samples, size_t n)
{
    size_t step = n / MAX_TRIED + 1;
    double sum = 0;
    for (size_t i = 0; i < n; i += step)
        sum += fmin(distance(m, &samples[i]), NEAR_PX);
    return sum;
}

/* The similarity that two vectors have; 0 if their blocks are too close to tell. */
static int join(const sample *a, const sample *b, similarity *m)
{
    double px = b->px - a->px, py = b->py - a->py, vx = b->vx - a->vx, vy = b->vy - a->vy;
    double square = px * px + py * py;
    if (square < 1)
        return 0;
    m->zx = (vx * px + vy * py) / square;
    m->zy = (vy * px - vx * py) / square;
    m->tx = a->vx - m->zx * a->px + m->zy * a->py;
    m->ty = a->vy - m->zx * a->py - m->zy * a->px;
    return hypot(m->zx, m->zy) <= MAX_CHANGE;
}

static similarity guess(const sample *samples, size_t n, double median_x, double median_y)
{
    similarity best = {median_x, median_y, 0, 0}, next;
    double least = misfit(&best, samples, n);
    uint64_t state = 1;
    for (int i = 0; i < N_GUESSES; i++) {
        size_t picks[2];
        for (int k = 0; k < 2; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            picks[k] = (size_t)(state >> 33) % n;
        }
        if (!join(&samples[picks[0]], &samples[picks[1]], &next))
            continue;
        double m = misfit(&next, samples, n);
        if (m < least) {
            least = m;
            best = next;
        }
    }
    return best;
}

/* The least squares of the vectors near `m`; their number. */
static size_t fit(similarity *m, const sample *samples, size_t n)
{
    sample mean = {0, 0, 0, 0};
    double dot = 0, cross = 0, square = 0;
    size_t n_near = 0;
    for (size_t i = 0; i < n; i++)
        if (distance(m, &samples[i]) <= NEAR_PX) {
            mean.px += samples[i].px;
            mean.py += samples[i].py;
            mean.vx += samples[i].vx;
            mean.vy += samples[i].vy;
            n_near++;
        }
    if (!n_near)
        return 0;
    mean = (sample){mean.px / (double)n_near, mean.py / (double)n_near, mean.vx / (double)n_near,
                    mean.vy / (double)n_near};
    for (size_t i = 0; i < n; i++)
        if (distance(m, &samples[i]) <= NEAR_PX) {
            double px = samples[i].px - mean.px, py = samples[i].py - mean.py;
            double vx = samples[i].vx - mean.vx, vy = samples[i].vy - mean.vy;
            dot += vx * px + vy * py;
            cross += vy * px - vx * py;
            square += px * px + py * py;
        }
    m->zx = square > 0 ? dot / square : 0;
    m->zy = square > 0 ? cross / square : 0;
    m->tx = mean.vx - m->zx * mean.px + m->zy * mean.py;
    m->ty = mean.vy - m->zx * mean.py - m->zy * mean.px;
    return n_near;
}

mvf_status mvf_field_estimate_global(const mvf_field *field, int32_t dir, mvf_global_motion *motion)
{
    *motion = (mvf_global_motion){.dir = dir ? dir : chosen_direction(field), .zoom = 1};
    sample *samples = mvf_alloc_array(field->n_blocks, sizeof *samples + sizeof(double));
    if (!samples)
        return MVF_ERROR_MEMORY;
    size_t n = motion->n_vectors = gather(field, motion->dir, samples);
    if (n) {
        double *values = (double *)(samples + field->n_blocks);
        motion->median_x = median(samples, n, 0, values);
        motion->median_y = median(samples, n, 1, values);
        similarity m = guess(samples, n, motion->median_x, motion->median_y);
        size_t n_near = 0;
        for (int i = 0; i < N_REFINEMENTS; i++)
            n_near = fit(&m, samples, n);
        motion->x = m.tx;
        motion->y = m.ty;
        motion->zoom = hypot(1 + m.zx, m.zy);
        motion->rotation_degrees = atan2(m.zy, 1 + m.zx) * DEGREES;
        motion->support = (double)n_near / (double)n;
    }
    free(samples);
    return MVF_OK;
}

static int16_t subtract(int16_t value, double px, int32_t mv_scale)
{
    long difference = value - lround(px * mv_scale);
    return (int16_t)(difference < INT16_MIN   ? INT16_MIN
                     : difference > INT16_MAX ? INT16_MAX
                                              : difference);
}

void mvf_field_subtract_global(mvf_field *field, const mvf_global_motion *motion)
{
    double angle = motion->rotation_degrees / DEGREES;
    double zx = motion->zoom * cos(angle) - 1, zy = motion->zoom * sin(angle), x, y;
    for (size_t i = 0; i < field->n_blocks; i++) {
        mvf_block *block = &field->blocks[i];
        if (block->dir != motion->dir)
            continue;
        place(field, block, &x, &y);
        block->mv_x = subtract(block->mv_x, motion->x + zx * x - zy * y, field->mv_scale);
        block->mv_y = subtract(block->mv_y, motion->y + zx * y + zy * x, field->mv_scale);
    }
    field->flags |= MVF_FIELD_RESIDUAL;
}
