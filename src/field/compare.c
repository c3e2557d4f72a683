/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/analysis.h>
#include <mvfield/flow.h>

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

/* Bins of the histogram that percentiles come from. */
#define BINS_A_PX 64
#define MAX_EPE_PX 1024
#define N_BINS (BINS_A_PX * MAX_EPE_PX + 1)

struct mvf_comparison {
    mvf_agreement counts;
    double epe_sum;
    uint64_t bins[N_BINS];
};

mvf_status mvf_comparison_open(mvf_comparison **comparison)
{
    *comparison = mvf_alloc_array(1, sizeof **comparison);
    return *comparison ? MVF_OK : MVF_ERROR_MEMORY;
}

static int is_known(const float *vector)
{
    return fabsf(vector[0]) <= MVF_FLOW_LIMIT && fabsf(vector[1]) <= MVF_FLOW_LIMIT;
}

static void add_pair(mvf_comparison *comparison, const float *a, const float *b)
{
    mvf_agreement *counts = &comparison->counts;
    double epe = hypot((double)a[0] - b[0], (double)a[1] - b[1]);
    double bin = ceil(epe * BINS_A_PX);
    counts->n_pixels++;
    counts->n_equal += epe == 0;
    counts->n_over_1px += epe > 1;
    counts->n_over_3px += epe > 3;
    counts->n_outliers += epe > 3 && epe > 0.05 * hypot(b[0], b[1]);
    if (epe > counts->max_epe)
        counts->max_epe = epe;
    comparison->epe_sum += epe;
    comparison->bins[bin < N_BINS ? (size_t)bin : N_BINS - 1]++;
}

void mvf_comparison_add(mvf_comparison *comparison, const float *a, const float *b, size_t n_pixels)
{
    for (size_t i = 0; i < n_pixels; i++, a += 2, b += 2) {
        int in_a = is_known(a), in_b = is_known(b);
        if (in_a && in_b)
            add_pair(comparison, a, b);
        else
            (*(in_a   ? &comparison->counts.n_only_a
               : in_b ? &comparison->counts.n_only_b
                      : &comparison->counts.n_neither))++;
    }
}

mvf_status mvf_comparison_add_fields(mvf_comparison *comparison, const mvf_field *a,
                                     const mvf_field *b)
{
    mvf_flow *of_a = NULL, *of_b = NULL;
    if (a->width != b->width || a->height != b->height)
        return MVF_ERROR_ARGUMENT;
    mvf_status status = mvf_flow_alloc(&of_a, a->width, a->height);
    if (status == MVF_OK)
        status = mvf_flow_alloc(&of_b, b->width, b->height);
    if (status == MVF_OK) {
        mvf_field_fill_flow(a, of_a->vectors);
        mvf_field_fill_flow(b, of_b->vectors);
        mvf_comparison_add(comparison, of_a->vectors, of_b->vectors,
                           (size_t)a->width * (size_t)a->height);
    }
    mvf_flow_free(&of_a);
    mvf_flow_free(&of_b);
    return status;
}

/* The least EPE that the share `part` of the pixels does not exceed. */
static double percentile(const mvf_comparison *comparison, double part)
{
    double wanted = part * (double)comparison->counts.n_pixels;
    uint64_t seen = 0;
    for (size_t bin = 0; bin < N_BINS; bin++) {
        seen += comparison->bins[bin];
        if (seen && (double)seen >= wanted)
            return (double)bin / BINS_A_PX;
    }
    return 0;
}

void mvf_comparison_get(const mvf_comparison *comparison, mvf_agreement *agreement)
{
    *agreement = comparison->counts;
    if (!agreement->n_pixels)
        return;
    agreement->mean_epe = comparison->epe_sum / (double)agreement->n_pixels;
    agreement->median_epe = percentile(comparison, 0.5);
    agreement->p90_epe = percentile(comparison, 0.9);
    agreement->p95_epe = percentile(comparison, 0.95);
    agreement->p99_epe = percentile(comparison, 0.99);
}

void mvf_comparison_reset(mvf_comparison *comparison)
{
    *comparison = (mvf_comparison){.epe_sum = 0};
}

void mvf_comparison_close(mvf_comparison **comparison)
{
    free(*comparison);
    *comparison = NULL;
}
