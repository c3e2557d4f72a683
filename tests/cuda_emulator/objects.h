/*
 * objects.h - what the driver hands out: contexts and all that is in them, streams and the work
 * that waits in them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_OBJECTS_H
#define MVF_CUDA_EMULATOR_OBJECTS_H

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "launch.h"

typedef enum object_kind {
    OBJECT_ALLOCATION,
    OBJECT_HOST_ALLOCATION,
    OBJECT_MODULE,
    OBJECT_STREAM,
    OBJECT_EVENT,
    N_OBJECT_KINDS
} object_kind;

extern const char *const object_names[N_OBJECT_KINDS];

/* Every object begins with this. */
typedef struct object {
    object_kind kind;
    struct object *next;
} object;

typedef struct allocation {
    object object;
    char *memory;
    size_t n_bytes;
    /* What watch.c knows of its bytes, or NULL. */
    void *histories;
} allocation;

struct CUfunc_st {
    const emulated_kernel *kernel;
    size_t max_dynamic_shared_bytes;
    CUmodule module;
    CUfunction next;
};

struct CUmod_st {
    object object;
    const emulated_module *module;
    CUfunction functions;
};

struct CUevent_st {
    object object;
    int has_time;
    /* Records asked for, the last one done, and when that was, in milliseconds. */
    uint64_t n_asked, n_done;
    double done_ms;
};

typedef enum operation_kind {
    OPERATION_COPY,
    OPERATION_FILL,
    OPERATION_LAUNCH,
    OPERATION_RECORD,
    OPERATION_WAIT
} operation_kind;

typedef struct operation {
    operation_kind kind;
    struct operation *next;
    /* A copy of rows, or one row to fill with a value. */
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, row_bytes, n_rows;
    unsigned char value;
    /* A launch, with arguments of its own. */
    emulated_launch launch;
    /* A record or what a wait is for. */
    CUevent event;
    uint64_t ticket;
    /* What it has to itself: arguments, or the source of a copy; freed after it. */
    void *memory;
} operation;

struct CUstream_st {
    object object;
    operation *first, **end;
};

struct CUctx_st {
    int device, n_references;
    /* What every call returns once a kernel has failed. */
    CUresult dead;
    object *objects;
    struct CUstream_st default_stream;
};

/* The context whose kernel runs. */
extern CUcontext emulated_context;
/* Whether kernels do nothing. */
extern int emulated_is_idle;

/* A new object of the context, or NULL. */
void *object_create(CUcontext context, object_kind kind, size_t size);
/* Whether it is one of the context's. */
int object_exists(CUcontext context, const void *address, object_kind kind);
/* Takes it from the context and frees it and what belongs to it. */
void object_destroy(CUcontext context, void *address);
size_t object_count(CUcontext context, object_kind kind);

/* The allocation that all n_bytes from the address on lie in, or NULL. */
allocation *find_allocation(CUcontext context, object_kind kind, const void *address,
                            size_t n_bytes);

/* Adds a copy of the operation to a stream. 0 without memory. */
int stream_add(CUstream stream, const operation *what);
/* Does what waits in one stream, or in all of the context, and all that this waits for. */
void stream_drain(CUcontext context, CUstream stream);
void context_drain(CUcontext context);
/* Does one operation of any stream that can go on; 0 where there is none. */
int context_advance(CUcontext context);
/* Goes on until the event's last record is done. */
void event_drain(CUcontext context, CUevent event);

#endif
