/*
 * trial.c - one run of the program: what fails in it, and how it ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "faults.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fault_trial *fault_current;

#define MAX_MODULES 256

static struct {
    uintptr_t start, end;
    fault_owner owner;
} modules[MAX_MODULES];
static size_t n_modules;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *opaque)
{
    const char *name = base_name(info->dlpi_name);
    (void)size;
    (void)opaque;
    int is_ours = !*name || !strncmp(name, "libmvfield", 10);
    int is_system = !strncmp(name, "libc.so", 7) || !strncmp(name, "libz.so", 7) ||
                    !strncmp(name, "ld-linux", 8);
    for (int i = 0; i < info->dlpi_phnum && n_modules < MAX_MODULES; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
            continue;
        modules[n_modules].start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        modules[n_modules].end = modules[n_modules].start + info->dlpi_phdr[i].p_memsz;
        modules[n_modules++].owner = is_ours     ? OWNER_MVFIELD
                                     : is_system ? OWNER_SYSTEM
                                                 : OWNER_FOREIGN;
    }
    return 0;
}

fault_owner fault_owner_of(const void *address)
{
    for (size_t i = 0; i < n_modules; i++)
        if ((uintptr_t)address >= modules[i].start && (uintptr_t)address < modules[i].end)
            return modules[i].owner;
    return OWNER_FOREIGN;
}

int fault_is_for_mvfield(void *caller)
{
    void *stack[16];
    Dl_info self, info;
    fault_owner owner = fault_owner_of(caller);
    if (owner != OWNER_SYSTEM)
        return owner == OWNER_MVFIELD;
    dladdr((void *)(uintptr_t)fault_describe, &self);
    int n = backtrace(stack, 16);
    for (int i = 0; i < n; i++) {
        owner = fault_owner_of(stack[i]);
        if (owner != OWNER_SYSTEM && dladdr(stack[i], &info) && info.dli_fbase != self.dli_fbase)
            return owner == OWNER_MVFIELD;
    }
    return 0;
}

void fault_describe(const void *address, char *text, size_t size)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        snprintf(text, size, "%p", address);
    else
        snprintf(text, size, "%s+0x%lx%s%s", base_name(info.dli_fname),
                 (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_fbase),
                 info.dli_sname ? " " : "", info.dli_sname ? info.dli_sname : "");
}

static void show_stack(void)
{
    void *stack[32];
    backtrace_symbols_fd(stack, backtrace(stack, 32), STDERR_FILENO);
}

int fault_strikes(fault_kind kind, const char *what, void *caller)
{
    fault_trial *trial = fault_current;
    int is_signal = trial && (trial->kind == FAULT_INTERRUPT || trial->kind == FAULT_TERMINATE);
    /* Any of these is a moment for a signal. */
    int counts =
        trial && trial->armed && (trial->kind == kind || (is_signal && kind != FAULT_MEMORY));
    if (!counts)
        return 0;
    uint64_t n = ++trial->n_events;
    if (!trial->nth || (n != trial->nth && !(trial->lasting && n > trial->nth)))
        return 0;
    if (!trial->struck++) {
        int length = snprintf(trial->struck_at, sizeof trial->struck_at, "%s by ", what);
        fault_describe(caller, trial->struck_at + length, sizeof trial->struck_at - (size_t)length);
    }
    if (getenv("MVF_FAULT_FIRST"))
        show_stack();
    if (is_signal)
        raise(trial->kind == FAULT_INTERRUPT ? SIGINT : SIGTERM);
    return !is_signal;
}

/* The code nearest to the top of the stack that is neither this library nor the system's. */
static void find_culprit(void *const *stack, int n, char *text, size_t size)
{
    Dl_info self, info;
    dladdr((void *)(uintptr_t)fault_describe, &self);
    for (int i = 0; i < n; i++) {
        if (!dladdr(stack[i], &info) || info.dli_fbase == self.dli_fbase ||
            !strncmp(base_name(info.dli_fname), "libc.so", 7))
            continue;
        fault_current->is_foreign = fault_owner_of(stack[i]) == OWNER_FOREIGN;
        fault_describe(stack[i], text, size);
        return;
    }
}

static void end_badly(const char *what)
{
    void *stack[64];
    fault_trial *trial = fault_current;
    trial->armed = 0;
    int n = backtrace(stack, 64);
    int length = snprintf(trial->fault, sizeof trial->fault, "%s in ", what);
    find_culprit(stack, n, trial->fault + length, sizeof trial->fault - (size_t)length);
    if (getenv("MVF_FAULT_FIRST"))
        show_stack();
    _exit(1);
}

_Noreturn void fault_condemn(const char *what, void *caller)
{
    char text[300];
    int length = snprintf(text, sizeof text, "%s by ", what);
    fault_describe(caller, text + length, sizeof text - (size_t)length);
    if (!fault_current) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
    end_badly(text);
    abort();
}

static void crash(int number)
{
    char text[64];
    snprintf(text, sizeof text, "crash by signal %d", number);
    end_badly(text);
}

static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK};
    static char stack[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &action, NULL);
}

static int count_descriptors(void)
{
    int n = 0;
    for (int file = 0; file < 1024; file++)
        n += fcntl(file, F_GETFD) >= 0;
    return n;
}

_Noreturn void trial_run(const fault_program *program)
{
    fault_trial *trial = fault_current;
    int n_descriptors = count_descriptors();
    heap_pin();
    catch_crashes();
    trial->armed = 1;
    int status = program->main(program->argc, program->argv, program->environment);
    trial->armed = 0;
    int ours_only = trial->kind == FAULT_ANY_MEMORY || trial->kind == FAULT_DRIVER;
    heap_check(!trial->nth, ours_only, trial->fault, sizeof trial->fault);
    int n_left = count_descriptors() - n_descriptors;
    if (!trial->nth)
        trial->n_descriptors = n_left;
    else if (n_left > trial->n_descriptors && !*trial->fault)
        snprintf(trial->fault, sizeof trial->fault, "%d descriptors leak",
                 n_left - trial->n_descriptors);
    exit(status);
}

static int (*real_main)(int, char **, char **);

static int judged_main(int argc, char **argv, char **environment)
{
    void *stack[4];
    const fault_program program = {real_main, argc, argv, environment};
    dl_iterate_phdr(note_module, NULL);
    /* The first use loads a library. */
    backtrace(stack, 4);
    /* The loader's first error takes memory that stays. */
    dlopen("no such library", RTLD_NOW);
    dlerror();
    dlerror();
    return verdict_run(&program);
}

typedef int start_function(int (*)(int, char **, char **), int, char **, void (*)(void),
                           void (*)(void), void (*)(void), void *);

FAULT_EXPORT start_function __libc_start_main;

/* The program's entry calls this with its main(). */
FAULT_EXPORT int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
                                   void (*start)(void), void (*finish)(void),
                                   void (*loader_finish)(void), void *stack_end)
{
    start_function *real;
    *(void **)(&real) = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = program;
    return real(getenv("MVF_FAULT") ? judged_main : program, argc, argv, start, finish,
                loader_finish, stack_end);
}
