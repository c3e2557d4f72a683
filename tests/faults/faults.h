/*
 * faults.h - a preloaded library that runs a program again and again, each time with one thing gone
 * wrong, and judges how the program took it.
 *
 * With LD_PRELOAD, the program's main() is started in a child process for each fault, all from the
 * same image. The environment says what shall go wrong:
 *
 *   MVF_FAULT        memory: an allocation asked for by mvfield, libc or zlib fails
 *                    any-memory: an allocation by anyone fails, FFmpeg and encoders included
 *                    call: a call of open, read, write, rename, pthread_create ... by mvfield fails
 *                    read: reading fails from a certain byte of the input on
 *                    file-size: no file gets larger than so many bytes
 *                    pipe: the reader of standard output leaves after so many bytes
 *                    interrupt, terminate: SIGINT, SIGTERM at an allocation or a call
 *                    driver: a call of the emulated CUDA driver returns MVF_FAULT_DRIVER, a number
 *   MVF_FAULT_COUNT  how many faults there are, where only the caller knows
 *   MVF_FAULT_STATUS the only exit status that is right, instead of those that go with the fault
 *   MVF_FAULT_DIR    the folder that the program writes into; emptied before each run
 *   MVF_FAULT_LASTING   set: what failed once goes on failing
 *   MVF_FAULT_SAMPLE    at most so many faults, evenly spread, instead of all
 *   MVF_FAULT_FIRST     one fault alone, by its number, with the program's messages shown
 *   MVF_FAULT_REPORT    the file for the verdict: one line "N faults: ...", then one for each fault
 *                       that was taken badly
 *
 * A run without a fault comes first: its files, standard output, blocks and descriptors left at the
 * end are what the others are measured by. Freed memory is poisoned and kept for a while, each
 * block ends in a guard, and fresh memory holds junk.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_TESTS_FAULTS_H
#define MVF_TESTS_FAULTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_EXPORT __attribute__((visibility("default")))

typedef enum fault_kind {
    FAULT_MEMORY,
    FAULT_ANY_MEMORY,
    FAULT_CALL,
    FAULT_READ,
    FAULT_FILE_SIZE,
    FAULT_PIPE,
    FAULT_INTERRUPT,
    FAULT_TERMINATE,
    FAULT_DRIVER,
    N_FAULT_KINDS
} fault_kind;

/* One run of the program; in memory that its process shares with the judge. */
typedef struct fault_trial {
    fault_kind kind;
    /* The event that fails, from 1; 0 for the run without a fault. */
    uint64_t nth;
    int lasting;
    atomic_int armed, struck;
    atomic_uint_fast64_t n_events;
    /* What failed, and what was wrong with how the program took it. */
    char struck_at[256], fault[512];
    /* Whether a crash was in code that is not mvfield's. */
    int is_foreign;
    int n_descriptors;
} fault_trial;

/* NULL until a run is under way. */
extern fault_trial *fault_current;

/* Whether the event that `caller` brings about now is the one that fails. */
int fault_strikes(fault_kind kind, const char *what, void *caller);

/* Notes what is wrong, the first time, and ends the run. */
_Noreturn void fault_condemn(const char *what, void *caller);

/* Whose code an address is. */
typedef enum fault_owner { OWNER_MVFIELD, OWNER_SYSTEM, OWNER_FOREIGN } fault_owner;
fault_owner fault_owner_of(const void *address);
/* Whether mvfield asked for it, by way of libc or zlib too. */
int fault_is_for_mvfield(void *caller);
/* Writes "file+offset". */
void fault_describe(const void *address, char *text, size_t size);

/* heap.c */

/* What is alive now may be alive at the end. The first call is before any run. */
void heap_pin(void);
/* Looks through all blocks, and for those alive that were not so at the end of the run without a
 * fault; with `ours_only`, for those that mvfield itself asked for. */
void heap_check(int is_first, int ours_only, char *fault, size_t size);
/* Memory that the runs share with the judge. */
void *heap_shared(size_t n_bytes);

/* trial.c */

typedef struct fault_program {
    int (*main)(int, char **, char **);
    int argc;
    char **argv, **environment;
} fault_program;

/* Runs the program to its end, with what fault_current says. */
_Noreturn void trial_run(const fault_program *program);

/* verdict.c */

/* Runs the program once for each fault and writes the verdict: 0 if it took all of them well. */
int verdict_run(const fault_program *program);

#endif
