/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void *mvf_alloc_array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *mvf_alloc_aligned(size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - MVF_ALIGNMENT) / size)
        return NULL;
    size_t bytes = (count * size + MVF_ALIGNMENT) / MVF_ALIGNMENT * MVF_ALIGNMENT;
    return aligned_alloc(MVF_ALIGNMENT, bytes);
}

void mvf_free_aligned(void *memory)
{
    free(memory);
}

mvf_status mvf_reserve(uint8_t **buffer, size_t *capacity, uint64_t n_bytes)
{
    if (n_bytes <= *capacity)
        return MVF_OK;
    free(*buffer);
    *capacity = 0;
    *buffer = n_bytes <= SIZE_MAX ? malloc((size_t)n_bytes) : NULL;
    if (!*buffer)
        return MVF_ERROR_MEMORY;
    *capacity = (size_t)n_bytes;
    return MVF_OK;
}

void *mvf_grow_array(void *array, size_t *capacity, size_t wanted, size_t item_bytes)
{
    size_t least = 64, larger = 2 * *capacity;
    if (wanted <= *capacity)
        return array;
    larger = larger > wanted ? larger : wanted;
    larger = larger > least ? larger : least;
    void *moved = larger > SIZE_MAX / item_bytes ? NULL : realloc(array, larger * item_bytes);
    if (moved)
        *capacity = larger;
    return moved;
}

char *mvf_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mvf_alloc_array(size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}
