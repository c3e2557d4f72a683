/*
 * fiber.h - threads of control within one thread, each with a stack, that hand over to each other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CUDA_EMULATOR_FIBER_H
#define MVF_CUDA_EMULATOR_FIBER_H

#include <stddef.h>

/* One whose stack is NULL stands for the thread itself. */
typedef struct fiber {
    char *stack;
    size_t stack_bytes;
    void *saved;
    void *fake_stack;
} fiber;

/* 0 without memory. */
int fiber_alloc(fiber *f);

/* The next switch to f calls run(), which must not return; what f did before is forgotten. */
void fiber_start(fiber *f, void (*run)(void), size_t offset);

/* Goes on in `to`; returns when something switches to `from`. */
void fiber_switch(fiber *from, fiber *to);

/* To be called first in run(). */
void fiber_arrive(fiber *f);

/* As fiber_switch(), from a fiber that ends. */
void fiber_end(fiber *from, fiber *to);

#endif
