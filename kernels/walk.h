/*
 * walk.h - a rectangle shared out among threads side by side, without a division at each step.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_KERNELS_WALK_H
#define MVF_KERNELS_WALK_H

#include <stdint.h>

/* A thread's place in rows of n_columns, and how far it goes in a step. */
struct thread_walk {
    int32_t row, column, n_columns, down, across;
};

static __device__ inline thread_walk start_walk(int32_t thread, int32_t n_threads,
                                                int32_t n_columns)
{
    /* Divisions without a sign are shorter. */
    uint32_t from = (uint32_t)thread, step = (uint32_t)n_threads, n = (uint32_t)n_columns;
    return {(int32_t)(from / n), (int32_t)(from % n), n_columns, (int32_t)(step / n),
            (int32_t)(step % n)};
}

static __device__ inline void take_step(thread_walk &walk)
{
    walk.row += walk.down;
    walk.column += walk.across;
    if (walk.column >= walk.n_columns) {
        walk.column -= walk.n_columns;
        walk.row++;
    }
}

#endif
