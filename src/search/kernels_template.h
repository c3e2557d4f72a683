/*
 * search/kernels_template.h - plain C kernels for one sample size: PIXEL, COLUMN and FN(name) are
 * set by whoever includes this.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
static uint32_t FN(sad)(const uint8_t *cur, ptrdiff_t current_stride_bytes, const uint8_t *ref,
                        ptrdiff_t reference_stride_bytes, int32_t w, int32_t h)
{
    uint32_t sum = 0;
    for (int32_t y = 0; y < h; y++, cur += current_stride_bytes, ref += reference_stride_bytes) {
        const PIXEL *c = (const PIXEL *)cur, *r = (const PIXEL *)ref;
        for (int32_t x = 0; x < w; x++)
            sum += (uint32_t)(c[x] > r[x] ? c[x] - r[x] : r[x] - c[x]);
    }
    return sum;
}

static void FN(sad_list)(const uint8_t *cur, ptrdiff_t current_stride_bytes, const uint8_t *ref,
                         ptrdiff_t reference_stride_bytes, int32_t w, int32_t h, const uint32_t *at,
                         int32_t n, uint32_t *out)
{
    for (int32_t i = 0; i < n; i++) {
        const uint8_t *r =
            ref + (at[i] >> 16) * reference_stride_bytes + (at[i] & 0xffff) * sizeof(PIXEL);
        out[i] = FN(sad)(cur, current_stride_bytes, r, reference_stride_bytes, w, h);
    }
}

static void FN(cell_sums)(const uint8_t *cur, ptrdiff_t stride, int32_t w, int32_t h, uint32_t *out)
{
    for (int32_t y = 0; y + 4 <= h; y += 4) {
        for (int32_t x = 0; x + 4 <= w; x += 4) {
            uint32_t sum = 0;
            for (int32_t j = 0; j < 4; j++) {
                const PIXEL *c = (const PIXEL *)(cur + (y + j) * stride) + x;
                sum += (uint32_t)c[0] + c[1] + c[2] + c[3];
            }
            *out++ = sum;
        }
    }
}

static void FN(columns_add)(void *columns, const uint8_t *row, int32_t n)
{
    COLUMN *c = columns;
    const PIXEL *r = (const PIXEL *)row;
    for (int32_t x = 0; x < n; x++)
        c[x] = (COLUMN)(c[x] + r[x]);
}

static void FN(columns_slide)(void *columns, const uint8_t *add, const uint8_t *sub, int32_t n)
{
    COLUMN *c = columns;
    const PIXEL *a = (const PIXEL *)add, *s = (const PIXEL *)sub;
    for (int32_t x = 0; x < n; x++)
        c[x] = (COLUMN)(c[x] + a[x] - s[x]);
}

static void FN(columns_sum)(const void *columns, int32_t cell, int32_t shift, int32_t n,
                            uint16_t *out)
{
    const COLUMN *c = columns;
    uint32_t sum = 0;
    for (int32_t x = 0; x < cell - 1; x++)
        sum += c[x];
    for (int32_t x = 0; x < n; x++) {
        sum += c[x + cell - 1];
        out[x] = (uint16_t)(sum >> shift);
        sum -= c[x];
    }
}

static uint32_t FN(blur_4)(const PIXEL *p)
{
    return p[0] + 3u * p[1] + 3u * p[2] + p[3];
}

static void FN(halve_row)(const uint8_t *rows, ptrdiff_t stride_bytes, int32_t n, uint8_t *out)
{
    PIXEL *to = (PIXEL *)out;
    for (int32_t x = 0; x < n; x++, rows += 2 * sizeof(PIXEL)) {
        uint32_t a = FN(blur_4)((const PIXEL *)rows);
        uint32_t b = FN(blur_4)((const PIXEL *)(rows + stride_bytes));
        uint32_t c = FN(blur_4)((const PIXEL *)(rows + 2 * stride_bytes));
        uint32_t d = FN(blur_4)((const PIXEL *)(rows + 3 * stride_bytes));
        to[x] = (PIXEL)((a + 3 * b + 3 * c + d + 32) >> 6);
    }
}
