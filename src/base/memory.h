/*
 * base/memory.h - allocation whose sizes cannot overflow.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_BASE_MEMORY_H
#define MVF_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <mvfield/status.h>

/* Widest vector register in bytes; planes and scratch buffers are aligned to it. */
#define MVF_ALIGNMENT 64

/* count * size zeroed bytes, or NULL when there is no memory or the product overflows. A product
 * of zero gives a pointer that can be freed. */
void *mvf_alloc_array(size_t count, size_t size);

/* The same, aligned to MVF_ALIGNMENT and not zeroed; free with mvf_free_aligned(). */
void *mvf_alloc_aligned(size_t count, size_t size);
void mvf_free_aligned(void *memory);

/* Makes room for n_bytes in a buffer from malloc(), whose contents are lost where it has to grow.
 * MVF_ERROR_MEMORY: there is no buffer any more. */
mvf_status mvf_reserve(uint8_t **buffer, size_t *capacity, uint64_t n_bytes);

/* The array (NULL at first) with room for `wanted` items, one or more, and for as many again as
 * there were where it has to grow; its contents are kept. NULL when there is no memory or a size
 * overflows: the array is then as it was. */
void *mvf_grow_array(void *array, size_t *capacity, size_t wanted, size_t item_bytes);

char *mvf_strdup(const char *text);

#endif
