/* SPDX-License-Identifier: BSD-2-Clause */
#include "search/sums.h"

#include <string.h>

#include "base/memory.h"

/* Vector stores may pass the end of a row by less than this. */
#define PAST_END 64

static size_t columns_bytes(const mvf_sums *sums)
{
    size_t n = (size_t)(sums->x_end - sums->x_begin) + 2 * PAST_END;
    return (n * sizeof(uint32_t) + MVF_ALIGNMENT - 1) / MVF_ALIGNMENT * MVF_ALIGNMENT;
}

static ptrdiff_t row_bytes(const mvf_sums *sums)
{
    size_t n = (size_t)(sums->x_end - sums->x_begin) + PAST_END;
    size_t bytes = (n * sizeof(uint16_t) + MVF_ALIGNMENT - 1) / MVF_ALIGNMENT * MVF_ALIGNMENT;
    /* An odd number of cache lines, so that rows do not share a few of its sets. */
    return (ptrdiff_t)(bytes / MVF_ALIGNMENT % 2 ? bytes : bytes + MVF_ALIGNMENT);
}

mvf_status mvf_sums_alloc(mvf_sums *sums, int32_t width, int32_t range_x, int32_t n_rows,
                          int32_t bit_depth, int32_t top_level)
{
    *sums = (mvf_sums){
        .top_level = top_level, .x_begin = -range_x, .x_end = width + range_x, .n_rows = n_rows};
    sums->stride_bytes = row_bytes(sums);
    size_t n_levels = (size_t)top_level + 1;
    size_t level_bytes = (size_t)sums->stride_bytes * (size_t)n_rows + 2 * PAST_END;
    sums->memory = mvf_alloc_aligned(n_levels, level_bytes + columns_bytes(sums));
    if (!sums->memory)
        return MVF_ERROR_MEMORY;
    /* Sums past a row's end are read and ignored: let them at least be set. */
    memset(sums->memory, 0, n_levels * (level_bytes + columns_bytes(sums)));
    for (int32_t level = 0; level < MVF_CELL_LEVELS; level++) {
        int32_t bits = 2 * (level + 2) + bit_depth - 15;
        sums->shift[level] = bits > 0 ? bits : 0;
        if (level <= top_level)
            sums->columns[level] =
                sums->memory + n_levels * level_bytes + (size_t)level * columns_bytes(sums);
    }
    return MVF_OK;
}

void mvf_sums_free(mvf_sums *sums)
{
    mvf_free_aligned(sums->memory);
    sums->memory = NULL;
}

void mvf_sums_begin(mvf_sums *sums, int32_t y)
{
    size_t level_bytes = (size_t)sums->stride_bytes * (size_t)sums->n_rows + 2 * PAST_END;
    sums->first_row = y;
    for (int32_t level = 0; level <= sums->top_level; level++) {
        sums->next_row[level] = y;
        sums->origin[level] = sums->memory + (size_t)level * level_bytes - y * sums->stride_bytes -
                              2 * (ptrdiff_t)sums->x_begin;
        memset(sums->columns[level], 0, columns_bytes(sums));
    }
}

static uint16_t *row_of(const mvf_sums *sums, int32_t level, int32_t y)
{
    return (uint16_t *)(sums->origin[level] + y * sums->stride_bytes) + sums->x_begin;
}

/* Sums of columns of the level's height slide down the reference. */
static void sum_samples(mvf_sums *sums, const mvf_search_kernels *kernels,
                        const mvf_plane *reference, int32_t level, int32_t y_end)
{
    int32_t cell = MVF_CELL(level), n = sums->x_end - sums->x_begin;
    void *columns = sums->columns[level];
    for (int32_t y = sums->next_row[level]; y + cell <= y_end; sums->next_row[level] = ++y) {
        const uint8_t *last = mvf_plane_at(reference, sums->x_begin, y + cell - 1);
        if (y > sums->first_row)
            kernels->columns_slide(columns, last, mvf_plane_at(reference, sums->x_begin, y - 1), n);
        else
            for (int32_t i = 0; i < cell; i++)
                kernels->columns_add(columns, last - i * reference->stride_bytes, n);
        kernels->columns_sum(columns, cell, sums->shift[level], n - cell + 1,
                             row_of(sums, level, y));
    }
}

/* Each cell is four of the level below, whose sums are exact and have all rows that this needs. */
static void merge_cells(mvf_sums *sums, const mvf_search_kernels *kernels, int32_t level,
                        int32_t y_end)
{
    int32_t half = MVF_CELL(level - 1), n = sums->x_end - sums->x_begin - 2 * half + 1;
    for (int32_t y = sums->next_row[level]; y + 2 * half <= y_end; sums->next_row[level] = ++y)
        kernels->sums_merge(row_of(sums, level - 1, y), row_of(sums, level - 1, y + half), half,
                            sums->shift[level], n, row_of(sums, level, y));
}

void mvf_sums_extend(mvf_sums *sums, const mvf_search_kernels *kernels, const mvf_plane *reference,
                     int32_t y_end)
{
    for (int32_t level = 0; level <= sums->top_level; level++)
        if (level > 0 && reference->sample_bytes == 1)
            merge_cells(sums, kernels, level, y_end);
        else
            sum_samples(sums, kernels, reference, level, y_end);
}
