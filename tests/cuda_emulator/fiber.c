/* SPDX-License-Identifier: BSD-2-Clause */
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"

/* Kernels that are not optimised take some kilobytes, and more under sanitizers. */
#define STACK_BYTES ((size_t)256 << 10)

#ifdef HAVE_ASAN
void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size);
void __asan_unpoison_memory_region(const volatile void *memory, size_t size);
#endif

int fiber_alloc(fiber *f)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    /* Stacks grow down, into a page that nobody may touch. */
    mprotect(memory, page, PROT_NONE);
    *f = (fiber){.stack = memory + page, .stack_bytes = STACK_BYTES};
    return 1;
}

static void leave(fiber *to, void **fake_stack)
{
#ifdef HAVE_ASAN
    __sanitizer_start_switch_fiber(fake_stack, to->stack, to->stack_bytes);
#else
    (void)to;
    (void)fake_stack;
#endif
}

/* The thread's own stack becomes known when the first fiber arrives from it. */
static fiber *left_from;

void fiber_arrive(fiber *f)
{
#ifdef HAVE_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(f->fake_stack, &bottom, &size);
    f->fake_stack = NULL;
    if (left_from && !left_from->stack_bytes) {
        left_from->stack = (char *)(uintptr_t)bottom;
        left_from->stack_bytes = size;
    }
#else
    (void)f;
#endif
}

#ifdef __x86_64__
void emulated_fiber_swap(void **saved, void *to);

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden emulated_fiber_swap\n"
        ".globl emulated_fiber_swap\n"
        ".type emulated_fiber_swap, @function\n"
        "emulated_fiber_swap:\n"
        "    endbr64\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emulated_fiber_swap, . - emulated_fiber_swap\n");

static void swap(fiber *from, fiber *to)
{
    emulated_fiber_swap(&from->saved, to->saved);
}

static void prepare(fiber *f, void (*run)(void), size_t offset)
{
    /* Six registers, the address that `ret` takes, and the one that run() would return to. */
    void **top = (void **)(f->stack + f->stack_bytes - offset) - 8;
    for (int i = 0; i < 6; i++)
        top[i] = NULL;
    top[6] = (void *)(uintptr_t)run;
    top[7] = NULL;
    f->saved = top;
}
#else
#include <ucontext.h>

static ucontext_t *context_of(fiber *f)
{
    if (!f->saved && !(f->saved = calloc(1, sizeof(ucontext_t))))
        abort();
    return f->saved;
}

static void swap(fiber *from, fiber *to)
{
    swapcontext(context_of(from), context_of(to));
}

static void prepare(fiber *f, void (*run)(void), size_t offset)
{
    ucontext_t *context = context_of(f);
    getcontext(context);
    context->uc_stack.ss_sp = f->stack;
    context->uc_stack.ss_size = f->stack_bytes - offset;
    context->uc_link = NULL;
    makecontext(context, run, 0);
}
#endif

void fiber_start(fiber *f, void (*run)(void), size_t offset)
{
#ifdef HAVE_ASAN
    __asan_unpoison_memory_region(f->stack, f->stack_bytes);
#endif
    f->fake_stack = NULL;
    prepare(f, run, offset / 64 * 64);
}

void fiber_switch(fiber *from, fiber *to)
{
    left_from = from;
    leave(to, &from->fake_stack);
    swap(from, to);
    fiber_arrive(from);
}

void fiber_end(fiber *from, fiber *to)
{
    left_from = from;
    leave(to, NULL);
    swap(from, to);
}
