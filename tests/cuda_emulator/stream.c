/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guard.h"
#include "objects.h"

CUcontext emulated_context;
int emulated_is_idle;

int stream_add(CUstream stream, const operation *what)
{
    operation *added = malloc(sizeof *added);
    if (!added)
        return 0;
    *added = *what;
    added->next = NULL;
    if (!stream->first)
        stream->end = &stream->first;
    *stream->end = added;
    stream->end = &added->next;
    return 1;
}

static double now_ms(void)
{
    static double last;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double ms = 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
    /* Events of one moment lie apart all the same. */
    last = ms > last + 0.001 ? ms : last + 0.001;
    return last;
}

static void check_guards(CUcontext context, const operation *what)
{
    for (const object *o = context->objects; o; o = o->next) {
        const allocation *a = (const allocation *)o;
        if (o->kind != OBJECT_ALLOCATION || guard_holds(a->memory, a->n_bytes))
            continue;
        fprintf(stderr, "emulated CUDA: kernel %s wrote outside an allocation of %zu bytes\n",
                what->launch.kernel->name, a->n_bytes);
        context->dead = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
}

static void copy_rows(const operation *what)
{
    for (size_t y = 0; y < what->n_rows; y++)
        memcpy(what->to + y * what->to_pitch, what->from + y * what->from_pitch, what->row_bytes);
}

static void launch(CUcontext context, const operation *what)
{
    emulated_context = context;
    /* Without its self-test no engine opens. */
    if (emulated_is_idle && strcmp(what->launch.kernel->name, "self_test") != 0)
        return;
    if (emulated_run(&what->launch))
        check_guards(context, what);
    else
        context->dead = CUDA_ERROR_LAUNCH_FAILED;
}

/* In a context that is dead only records and waits come to pass. */
static void perform(CUcontext context, const operation *what)
{
    if (what->kind == OPERATION_COPY && !context->dead) {
        copy_rows(what);
    } else if (what->kind == OPERATION_FILL && !context->dead) {
        memset(what->to, what->value, what->row_bytes);
    } else if (what->kind == OPERATION_LAUNCH && !context->dead) {
        launch(context, what);
    } else if (what->kind == OPERATION_RECORD) {
        what->event->n_done = what->ticket;
        what->event->done_ms = now_ms();
    }
}

/* 0 where the stream is empty or waits for another one. */
static int advance(CUcontext context, CUstream stream)
{
    operation *what = stream->first;
    if (!what || (what->kind == OPERATION_WAIT && what->event->n_done < what->ticket))
        return 0;
    stream->first = what->next;
    perform(context, what);
    free(what->memory);
    free(what);
    return 1;
}

/* The default stream comes first. */
static CUstream stream_at(CUcontext context, size_t place)
{
    object *o = context->objects;
    if (!place--)
        return &context->default_stream;
    while (o->kind != OBJECT_STREAM || place--)
        o = o->next;
    return (CUstream)o;
}

int context_advance(CUcontext context)
{
    size_t n = 1 + object_count(context, OBJECT_STREAM);
    size_t first = emulated_random_below((uint32_t)n);
    for (size_t i = 0; i < n; i++)
        if (advance(context, stream_at(context, (first + i) % n)))
            return 1;
    return 0;
}

void stream_drain(CUcontext context, CUstream stream)
{
    while (stream->first)
        if (!advance(context, stream) && !context_advance(context))
            abort();
}

void context_drain(CUcontext context)
{
    while (context_advance(context))
        ;
}

void event_drain(CUcontext context, CUevent event)
{
    while (event->n_done < event->n_asked && context_advance(context))
        ;
}
