/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>

#include "guard.h"

const char *const object_names[N_OBJECT_KINDS] = {"allocations", "host-allocations", "modules",
                                                  "streams", "events"};

void *object_create(CUcontext context, object_kind kind, size_t size)
{
    object *created = calloc(1, size);
    if (!created)
        return NULL;
    created->kind = kind;
    created->next = context->objects;
    context->objects = created;
    return created;
}

int object_exists(CUcontext context, const void *address, object_kind kind)
{
    const object *o = context->objects;
    while (o && o != address)
        o = o->next;
    return o && o->kind == kind;
}

static void free_functions(CUmodule module)
{
    while (module->functions) {
        CUfunction next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
}

static void free_allocation(allocation *a)
{
    if (!guard_holds(a->memory, a->n_bytes))
        fprintf(stderr, "emulated CUDA: bytes outside an allocation of %zu were written\n",
                a->n_bytes);
    guard_free(a->memory);
    free(a->histories);
}

void object_destroy(CUcontext context, void *address)
{
    object **o = &context->objects;
    while (*o != address)
        o = &(*o)->next;
    *o = (*o)->next;
    object *gone = address;
    if (gone->kind == OBJECT_MODULE)
        free_functions(address);
    else if (gone->kind == OBJECT_ALLOCATION || gone->kind == OBJECT_HOST_ALLOCATION)
        free_allocation(address);
    free(address);
}

size_t object_count(CUcontext context, object_kind kind)
{
    size_t n = 0;
    for (const object *o = context->objects; o; o = o->next)
        n += o->kind == kind;
    return n;
}

allocation *find_allocation(CUcontext context, object_kind kind, const void *address,
                            size_t n_bytes)
{
    for (object *o = context->objects; o; o = o->next) {
        allocation *a = (allocation *)o;
        if (o->kind != kind || (uintptr_t)address < (uintptr_t)a->memory)
            continue;
        size_t offset = (size_t)((uintptr_t)address - (uintptr_t)a->memory);
        if (offset <= a->n_bytes && n_bytes <= a->n_bytes - offset)
            return a;
    }
    return NULL;
}
