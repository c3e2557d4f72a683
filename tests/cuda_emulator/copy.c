/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "block.h"

static pending_copy *add_copy(emulated_thread *thread)
{
    if (thread->n_copies == thread->n_copies_allocated) {
        size_t n = 2 * thread->n_copies_allocated + 16;
        pending_copy *copies = realloc(thread->copies, n * sizeof *copies);
        if (!copies)
            emulated_fail("out of memory for copies into shared memory");
        thread->copies = copies;
        thread->n_copies_allocated = n;
    }
    return &thread->copies[thread->n_copies++];
}

static void note(const void *address, size_t n_bytes, int kind)
{
    if (emulated_access)
        emulated_access(address, n_bytes, kind, __builtin_return_address(0));
}

static void copy(void *to, const void *from, size_t n_bytes, int kind)
{
    if ((n_bytes != 4 && n_bytes != 8 && n_bytes != 16) || (uintptr_t)to % n_bytes ||
        (uintptr_t)from % n_bytes)
        emulated_fail("a copy of %zu bytes from %p to %p: 4, 8 or 16 bytes, aligned as such, are "
                      "possible",
                      n_bytes, from, to);
    note(from, n_bytes, kind);
    if (emulated_random() & 1) {
        note(to, n_bytes, ACCESS_WRITE);
        memcpy(to, from, n_bytes);
        return;
    }
    memset(to, 0xa5, n_bytes);
    *add_copy(emulated_current) = (pending_copy){to, from, n_bytes, emulated_current->n_groups};
}

void emulated_copy_async(void *to, const void *from, size_t n_bytes)
{
    copy(to, from, n_bytes, ACCESS_READ);
}

void emulated_copy_unordered(void *to, const void *from, size_t n_bytes)
{
    copy(to, from, n_bytes, ACCESS_READ | ACCESS_ATOMIC);
}

void emulated_copy_commit(void)
{
    emulated_current->n_groups++;
}

static void arrive(emulated_thread *thread, unsigned before_group)
{
    size_t n_left = 0;
    for (size_t i = 0; i < thread->n_copies; i++) {
        pending_copy copy = thread->copies[i];
        if (copy.group < before_group) {
            note(copy.to, copy.n_bytes, 1);
            memcpy(copy.to, copy.from, copy.n_bytes);
        } else {
            thread->copies[n_left++] = copy;
        }
    }
    thread->n_copies = n_left;
}

void emulated_copy_wait(unsigned n_left)
{
    if (emulated_current->n_groups > n_left)
        arrive(emulated_current, emulated_current->n_groups - n_left);
}

void emulated_copies_arrive(emulated_thread *thread)
{
    arrive(thread, ~0u);
}
