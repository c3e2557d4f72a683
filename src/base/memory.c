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

char *mvf_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mvf_alloc_array(size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}
