/*
 * search/metric_rule.h - metrics and rate: part of the contract of rule.h, bit for bit.
 *
 * Plain C and CUDA both compile this file.
 *
 * With d the differences current - prediction over the visible samples:
 *   SAD    sum of |d|.
 *   SSD    sum of d^2. Refused where area * (2^depth - 1)^2 may exceed 2^31 - 1: costs have 32
 * bits. SATD   the block is cut into tiles from its own corner, and each tile is transformed by the
 *          unnormalised Hadamard matrix on both sides; differences at samples that are not visible
 *          count as zero. A tile of 8 x 8 costs (sum of |coefficients| + 2) >> 2, one of 4 x 4
 *          (sum + 1) >> 1, and the SATD is the sum over tiles. `satd` uses tiles of 8 x 8 if both
 *          sides of the smallest block of the search are at least 8, else 4 x 4; `satd4` always
 *          4 x 4. The largest is twice the largest SAD.
 * All three add up: a block costs the sum of the blocks of 8 x 8 (or, of 4 x 4) that it is made of.
 *
 * The rate. J(v) = metric(v) + ((lambda_q4 * bits) >> 4), where bits is the sum over x and y of the
 * length of v - predictor in quarter samples: by default that of a signed Exp-Golomb code, 1 for 0
 * and 2 * floor(log2 |d|) + 3 otherwise; with a caller's table of n entries, entry
 * min(|d|, n - 1). With lambda_q4 and entries of at most 65535, J stays below 2^32.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SEARCH_METRIC_RULE_H
#define MVF_SEARCH_METRIC_RULE_H

#include "search/rule.h"

typedef struct mvf_rate {
    /* NULL: Exp-Golomb. */
    const uint16_t *table;
    int32_t n_entries;
    uint32_t lambda_q4;
} mvf_rate;

MVF_RULE uint32_t mvf_rule_bits(const mvf_rate *rate, int32_t d)
{
    uint32_t magnitude = (uint32_t)(d < 0 ? -d : d), bits = 1;
    if (rate->table)
        return rate->table[magnitude < (uint32_t)rate->n_entries ? magnitude
                                                                 : (uint32_t)rate->n_entries - 1];
#if defined(__CUDA_ARCH__)
    return magnitude ? 65 - 2 * (uint32_t)__clz((int32_t)magnitude) : bits;
#elif defined(__GNUC__)
    return magnitude ? 65 - 2 * (uint32_t)__builtin_clz(magnitude) : bits;
#else
    if (magnitude)
        for (bits = 3; magnitude > 1; magnitude >>= 1)
            bits += 2;
    return bits;
#endif
}

/* What the difference (dx, dy) to the predictor, in quarter samples, adds to the metric. */
MVF_RULE uint32_t mvf_rule_rate(const mvf_rate *rate, int32_t dx, int32_t dy)
{
    if (!rate->lambda_q4)
        return 0;
    uint64_t bits = (uint64_t)mvf_rule_bits(rate, dx) + mvf_rule_bits(rate, dy);
    return (uint32_t)(rate->lambda_q4 * bits >> 4);
}

/* One Hadamard transform of n (4 or 8) values that lie `step` apart, in place. */
MVF_RULE void mvf_rule_hadamard(int32_t *v, int32_t n, int32_t step)
{
    for (int32_t half = 1; half < n; half *= 2)
        for (int32_t i = 0; i < n; i++)
            if (!(i & half)) {
                int32_t a = v[i * step], b = v[(i + half) * step];
                v[i * step] = a + b;
                v[(i + half) * step] = a - b;
            }
}

/* The SATD of one tile of n x n differences, which it overwrites. */
MVF_RULE uint32_t mvf_rule_satd_tile(int32_t *d, int32_t n)
{
    uint32_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        mvf_rule_hadamard(d + i * n, n, 1);
    for (int32_t i = 0; i < n; i++)
        mvf_rule_hadamard(d + i, n, n);
    for (int32_t i = 0; i < n * n; i++)
        sum += (uint32_t)(d[i] < 0 ? -d[i] : d[i]);
    return n == 4 ? (sum + 1) >> 1 : (sum + 2) >> 2;
}

#endif
