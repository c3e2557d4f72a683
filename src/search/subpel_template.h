/*
 * search/subpel_template.h - the filters of subpel_rule.h, row by row, for compilers to turn into
 * vectors: included once for each instruction level.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "search/patch.h"
#include "search/subpel_rule.h"

/* Sums of taps before rounding, for the rows that a second pass needs. */
typedef int32_t sums[MVF_MAX_BLOCK + 8][MVF_MAX_BLOCK];

static void copy(mvf_patch to, mvf_patch from, int32_t w, int32_t h)
{
    for (int32_t y = 0; y < h; y++)
        memcpy(mvf_patch_at(to, 0, y), mvf_patch_at(from, 0, y), (size_t)w * sizeof(uint16_t));
}

static void predict_bilinear(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t fx,
                             int32_t fy, int32_t bit_depth)
{
    (void)bit_depth;
    for (int32_t y = 0; y < h; y++) {
        uint16_t *restrict out = mvf_patch_at(to, 0, y);
        const uint16_t *a = mvf_patch_at(from, 0, y), *c = mvf_patch_at(from, 0, y + 1);
        for (int32_t x = 0; x < w; x++)
            out[x] = (uint16_t)(((4 - fx) * (4 - fy) * a[x] + fx * (4 - fy) * a[x + 1] +
                                 (4 - fx) * fy * c[x] + fx * fy * c[x + 1] + 8) >>
                                4);
    }
}

static void h264_horizontal(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t top)
{
    for (int32_t y = 0; y < h; y++) {
        uint16_t *restrict out = mvf_patch_at(to, 0, y);
        const uint16_t *p = mvf_patch_at(from, -2, y);
        for (int32_t x = 0; x < w; x++, p++)
            out[x] = (uint16_t)mvf_rule_clip(
                (mvf_rule_taps_h264(p[0], p[1], p[2], p[3], p[4], p[5]) + 16) >> 5, top);
    }
}

static void h264_vertical(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t top)
{
    for (int32_t y = 0; y < h; y++) {
        uint16_t *restrict out = mvf_patch_at(to, 0, y);
        const uint16_t *p[6];
        for (int32_t i = 0; i < 6; i++)
            p[i] = mvf_patch_at(from, 0, y + i - 2);
        for (int32_t x = 0; x < w; x++)
            out[x] = (uint16_t)mvf_rule_clip(
                (mvf_rule_taps_h264(p[0][x], p[1][x], p[2][x], p[3][x], p[4][x], p[5][x]) + 16) >>
                    5,
                top);
    }
}

static void h264_centre(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t top)
{
    sums middle;
    for (int32_t y = 0; y < h + 5; y++) {
        const uint16_t *p = mvf_patch_at(from, -2, y - 2);
        for (int32_t x = 0; x < w; x++, p++)
            middle[y][x] = mvf_rule_taps_h264(p[0], p[1], p[2], p[3], p[4], p[5]);
    }
    for (int32_t y = 0; y < h; y++) {
        uint16_t *restrict out = mvf_patch_at(to, 0, y);
        for (int32_t x = 0; x < w; x++)
            out[x] = (uint16_t)mvf_rule_clip(
                (mvf_rule_taps_h264(middle[y][x], middle[y + 1][x], middle[y + 2][x],
                                    middle[y + 3][x], middle[y + 4][x], middle[y + 5][x]) +
                 512) >>
                    10,
                top);
    }
}

/* A whole or half sample, at an even phase up to 4. */
static void predict_h264_half(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t fx,
                              int32_t fy, int32_t top)
{
    from = mvf_patch_move(from, fx >> 2, fy >> 2);
    fx &= 3;
    fy &= 3;
    if (fx && fy)
        h264_centre(to, from, w, h, top);
    else if (fx)
        h264_horizontal(to, from, w, h, top);
    else if (fy)
        h264_vertical(to, from, w, h, top);
    else
        copy(to, from, w, h);
}

static void average_rows(mvf_patch to, mvf_patch other, int32_t w, int32_t h)
{
    for (int32_t y = 0; y < h; y++) {
        uint16_t *restrict out = mvf_patch_at(to, 0, y);
        const uint16_t *in = mvf_patch_at(other, 0, y);
        for (int32_t x = 0; x < w; x++)
            out[x] = (uint16_t)((out[x] + in[x] + 1) >> 1);
    }
}

static void predict_h264(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t fx, int32_t fy,
                         int32_t bit_depth)
{
    uint16_t samples[MVF_MAX_BLOCK * MVF_MAX_BLOCK];
    const mvf_patch other = {samples, MVF_MAX_BLOCK * sizeof *samples};
    int32_t ax, ay, bx, by, top = (1 << bit_depth) - 1;
    int is_quarter = mvf_rule_h264_pair(fx, fy, &ax, &ay, &bx, &by);
    predict_h264_half(to, from, w, h, ax, ay, top);
    if (!is_quarter)
        return;
    predict_h264_half(other, from, w, h, bx, by, top);
    average_rows(to, other, w, h);
}

/* One pass along rows; at phase 0 only the shift remains, as sums of 64 times the sample would. */
static void hevc_horizontal(sums to, mvf_patch from, int32_t w, int32_t h, int32_t phase,
                            int32_t shift)
{
    int32_t tap[8];
    for (int32_t i = 0; i < 8; i++)
        tap[i] = mvf_rule_tap_hevc(phase, i);
    for (int32_t y = 0; y < h; y++) {
        const uint16_t *p = mvf_patch_at(from, -3, y);
        for (int32_t x = 0; x < w; x++, p++)
            to[y][x] = (tap[0] * p[0] + tap[1] * p[1] + tap[2] * p[2] + tap[3] * p[3] +
                        tap[4] * p[4] + tap[5] * p[5] + tap[6] * p[6] + tap[7] * p[7]) >>
                       shift;
    }
}

/* One pass along columns: row y comes from rows y to y + 7. In place. */
static void hevc_vertical(sums to, int32_t w, int32_t h, int32_t phase, int32_t shift)
{
    int32_t tap[8];
    for (int32_t i = 0; i < 8; i++)
        tap[i] = mvf_rule_tap_hevc(phase, i);
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++)
            to[y][x] = (tap[0] * to[y][x] + tap[1] * to[y + 1][x] + tap[2] * to[y + 2][x] +
                        tap[3] * to[y + 3][x] + tap[4] * to[y + 4][x] + tap[5] * to[y + 5][x] +
                        tap[6] * to[y + 6][x] + tap[7] * to[y + 7][x]) >>
                       shift;
}

/* The horizontal pass at phase 0 gives 64 * sample >> first_shift: the intermediate of the standard
 * (sample << 14 - depth), and exactly what its purely vertical case sums, 6 bits later. */
static void predict_hevc(mvf_patch to, mvf_patch from, int32_t w, int32_t h, int32_t fx, int32_t fy,
                         int32_t bit_depth)
{
    sums middle;
    int32_t last = mvf_rule_hevc_last_shift(bit_depth), top = (1 << bit_depth) - 1;
    int32_t n_rows = fy ? h + 7 : h;
    hevc_horizontal(middle, mvf_patch_move(from, 0, fy ? -3 : 0), w, n_rows, fx,
                    mvf_rule_hevc_first_shift(bit_depth));
    if (fy)
        hevc_vertical(middle, w, h, fy, 6);
    for (int32_t y = 0; y < h; y++) {
        uint16_t *restrict out = mvf_patch_at(to, 0, y);
        for (int32_t x = 0; x < w; x++)
            out[x] = (uint16_t)mvf_rule_clip((middle[y][x] + (1 << (last - 1))) >> last, top);
    }
}

static mvf_predict_function select_predict(mvf_interpolation filter)
{
    if (filter == MVF_INTERPOLATION_H264)
        return predict_h264;
    return filter == MVF_INTERPOLATION_HEVC ? predict_hevc : predict_bilinear;
}
