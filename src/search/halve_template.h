/*
 * search/halve_template.h - rows of the pyramid of 8-bit samples, for one instruction level of
 * x86-64. Whoever includes this sets FN(name), ALWAYS, and V(name), the level's intrinsics, and has
 * `vector`, load(), and store_bytes(p, words), which stores 16-bit numbers as bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
ALWAYS vector blur_8(const uint8_t *p)
{
    const vector left = V(set1_epi16)(0x0301), right = V(set1_epi16)(0x0103);
    return V(add_epi16)(V(maddubs_epi16)(load(p), left), V(maddubs_epi16)(load(p + 2), right));
}

static void FN(halve_row_8)(const uint8_t *rows, ptrdiff_t stride_bytes, int32_t n, uint8_t *out)
{
    enum { N_AT_ONCE = sizeof(vector) / 2 };
    const vector half = V(set1_epi16)(32), three = V(set1_epi16)(3);
    for (int32_t x = 0; x < n; x += N_AT_ONCE, rows += 2 * N_AT_ONCE) {
        vector ends = V(add_epi16)(blur_8(rows), blur_8(rows + 3 * stride_bytes));
        vector middle = V(add_epi16)(blur_8(rows + stride_bytes), blur_8(rows + 2 * stride_bytes));
        vector sum = V(add_epi16)(ends, V(mullo_epi16)(middle, three));
        store_bytes(out + x, V(srli_epi16)(V(add_epi16)(sum, half), 6));
    }
}
