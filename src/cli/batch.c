/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/batch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/run.h"

/* Files at a time on one GPU: while one is opened or ends, another one is searched. */
#define JOBS_PER_GPU 2

/* What runs at a time, and on what. */
typedef struct crew {
    const cli_options *options;
    int (*extract)(const cli_options *options);
    int32_t n_jobs, threads_per_job;
    /* Handed out to the jobs in turn; 0: the options' own. */
    int32_t devices[MAX_DEVICES], n_devices;
    /* Which of the places at work are taken. */
    unsigned char *busy;
    sigset_t outer_mask, waited_for;
    int is_interrupted;
    size_t n_ended;
} crew;

static void ignore_signal(int signal_number)
{
    (void)signal_number;
}

/* Signals come one after the other from sigwaitinfo(), so that none is missed. */
static void hold_signals(crew *c)
{
    struct sigaction action = {.sa_handler = ignore_signal};
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&c->waited_for);
    sigaddset(&c->waited_for, SIGCHLD);
    sigaddset(&c->waited_for, SIGINT);
    sigaddset(&c->waited_for, SIGTERM);
    sigprocmask(SIG_BLOCK, &c->waited_for, &c->outer_mask);
}

/* The driver must not be loaded here, for then a child could not use it: a child counts. */
static int32_t count_gpus(void)
{
    int status = 0;
    pid_t process = fork();
    if (process == 0) {
        mvf_device_info info;
        int32_t n = 0;
        while (n < MAX_DEVICES && mvf_device_describe(n, &info, NULL) == MVF_OK && info.usable)
            n++;
        _exit(n);
    }
    return process > 0 && waitpid(process, &status, 0) == process && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 0;
}

static void plan_devices(crew *c)
{
    const cli_options *options = c->options;
    c->n_devices = options->n_devices;
    memcpy(c->devices, options->devices, (size_t)options->n_devices * sizeof c->devices[0]);
    if (c->n_devices || options->search.backend == MVF_BACKEND_CPU ||
        options->vectors == VECTORS_CODEC)
        return;
    c->n_devices = count_gpus();
    for (int32_t i = 0; i < c->n_devices; i++)
        c->devices[i] = i;
}

static mvf_status plan(crew *c, size_t n_files)
{
    int32_t n_processors = run_processor_count();
    plan_devices(c);
    c->n_jobs = c->options->jobs ? c->options->jobs
                                 : (c->n_devices ? JOBS_PER_GPU * c->n_devices : n_processors);
    if ((size_t)c->n_jobs > n_files)
        c->n_jobs = n_files ? (int32_t)n_files : 1;
    c->threads_per_job = c->options->search.threads;
    if (!c->threads_per_job)
        c->threads_per_job = n_processors > c->n_jobs ? n_processors / c->n_jobs : 1;
    c->busy = calloc((size_t)c->n_jobs, 1);
    return c->busy ? MVF_OK : MVF_ERROR_MEMORY;
}

/* One file, in a process of its own: what breaks there breaks nothing else. */
static int work(const crew *c, const batch_file *file)
{
    cli_options options = *c->options;
    sigprocmask(SIG_SETMASK, &c->outer_mask, NULL);
    options.list = NULL;
    options.input = file->input;
    options.output = file->output;
    options.format = options.format ? options.format : "mvf";
    options.progress = PROGRESS_NEVER;
    options.whole_only = 1;
    options.search.threads = c->threads_per_job;
    /* The other jobs keep the other devices and processors busy. */
    options.n_decoders = options.n_decoders ? options.n_decoders : 1;
    options.n_devices = options.all_devices = 0;
    if (c->n_devices)
        options.search.device = c->devices[file->slot % c->n_devices];
    message_print(MVF_LOG_DEBUG, "%s: job %d of %d, device %d, threads %d", file->input, file->slot,
                  c->n_jobs, options.search.device, options.search.threads);
    return c->extract(&options);
}

static mvf_status start_file(crew *c, batch_file *file)
{
    int32_t slot = 0;
    while (c->busy[slot])
        slot++;
    file->slot = slot;
    fflush(NULL);
    file->process = fork();
    if (file->process == 0)
        _exit(work(c, file));
    if (file->process < 0) {
        message_print(MVF_LOG_ERROR, "%s: cannot be started: %s", file->input, strerror(errno));
        return MVF_ERROR_INTERNAL;
    }
    c->busy[slot] = 1;
    file->state = BATCH_RUNNING;
    return MVF_OK;
}

static batch_state state_of(const batch_file *file, int status)
{
    if (WIFSIGNALED(status)) {
        message_print(MVF_LOG_ERROR, "%s: its process was ended by signal %d (%s)", file->input,
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
        return BATCH_FAILED;
    }
    switch (WEXITSTATUS(status)) {
    case EXIT_ALL_FRAMES:
        return BATCH_DONE;
    case EXIT_DAMAGED:
        return BATCH_DAMAGED;
    case EXIT_INTERRUPTED:
        return BATCH_WAITING;
    default:
        return BATCH_FAILED;
    }
}

static void end_file(crew *c, batch *b, batch_file *file, int status)
{
    static const char *const words[] = {[BATCH_WAITING] = "interrupted",
                                        [BATCH_DONE] = "done",
                                        [BATCH_DAMAGED] = "done, damaged",
                                        [BATCH_FAILED] = "failed"};
    file->state = state_of(file, status);
    c->busy[file->slot] = 0;
    c->n_ended++;
    message_print(MVF_LOG_INFO, "%zu of %zu: %s: %s", c->n_ended, b->n, file->input,
                  words[file->state]);
}

/* Takes in the files whose processes have ended. */
static void reap(crew *c, batch *b)
{
    int status;
    pid_t process;
    while ((process = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < b->n; i++)
            if (b->files[i].state == BATCH_RUNNING && b->files[i].process == process)
                end_file(c, b, &b->files[i], status);
}

/* The processes may have had the signal too, as from a terminal or a service manager: a second one
 * of its kind would end them at once. */
static void interrupt(crew *c, const batch *b, int signal_number)
{
    c->is_interrupted = 1;
    for (size_t i = 0; i < b->n; i++)
        if (b->files[i].state == BATCH_RUNNING)
            kill(b->files[i].process, signal_number == SIGINT ? SIGTERM : SIGINT);
}

static size_t count_running(const crew *c)
{
    size_t n = 0;
    for (int32_t i = 0; i < c->n_jobs; i++)
        n += c->busy[i];
    return n;
}

static int compare_sizes(const void *a, const void *b)
{
    const batch_file *x = *(batch_file *const *)a, *y = *(batch_file *const *)b;
    int order = (x->n_bytes < y->n_bytes) - (x->n_bytes > y->n_bytes);
    return order ? order : (x > y) - (x < y);
}

/* Runs what waits, the largest first, lest one of them is left alone at the end. */
static mvf_status run_files(crew *c, batch *b)
{
    size_t next = 0;
    mvf_status status = MVF_OK;
    batch_file **queue = calloc(b->n + 1, sizeof *queue);
    if (!queue)
        return MVF_ERROR_MEMORY;
    for (size_t i = 0; i < b->n; i++)
        queue[i] = &b->files[i];
    qsort(queue, b->n, sizeof *queue, compare_sizes);
    for (;;) {
        while (!c->is_interrupted && status == MVF_OK && next < b->n &&
               count_running(c) < (size_t)c->n_jobs) {
            if (queue[next]->state == BATCH_WAITING)
                status = start_file(c, queue[next]);
            next++;
        }
        if (!count_running(c))
            break;
        int signal_number = sigwaitinfo(&c->waited_for, NULL);
        if (signal_number == SIGCHLD)
            reap(c, b);
        else if (signal_number > 0)
            interrupt(c, b, signal_number);
    }
    free(queue);
    return status;
}

static void skip_finished(crew *c, batch *b)
{
    struct stat info;
    for (size_t i = 0; i < b->n; i++)
        if (b->files[i].output && !c->options->overwrite && !stat(b->files[i].output, &info)) {
            b->files[i].state = BATCH_FINISHED_BEFORE;
            c->n_ended++;
        }
}

static int summarise(const crew *c, const batch *b)
{
    size_t n[BATCH_FINISHED_BEFORE + 1] = {0};
    for (size_t i = 0; i < b->n; i++) {
        n[b->files[i].state]++;
        if (b->files[i].state == BATCH_FAILED)
            message_print(MVF_LOG_ERROR, "%s: failed, and was left out", b->files[i].input);
    }
    message_print(n[BATCH_FAILED] || n[BATCH_WAITING] ? MVF_LOG_ERROR : MVF_LOG_INFO,
                  "%zu files: %zu done, %zu of them damaged; %zu finished before, %zu failed, %zu "
                  "not done",
                  b->n, n[BATCH_DONE] + n[BATCH_DAMAGED], n[BATCH_DAMAGED],
                  n[BATCH_FINISHED_BEFORE], n[BATCH_FAILED], n[BATCH_WAITING]);
    if (c->is_interrupted)
        return EXIT_INTERRUPTED;
    if (n[BATCH_FAILED] || n[BATCH_WAITING])
        return EXIT_FAILED;
    return n[BATCH_DAMAGED] ? EXIT_DAMAGED : EXIT_ALL_FRAMES;
}

static mvf_status make_folder(const char *path)
{
    struct stat info;
    if (!path || !mkdir(path, 0777))
        return MVF_OK;
    if (errno == EEXIST && !stat(path, &info) && S_ISDIR(info.st_mode))
        return MVF_OK;
    message_print(MVF_LOG_ERROR, "%s: cannot be made a folder: %s", path,
                  errno == EEXIST ? "a file has that name" : strerror(errno));
    return MVF_ERROR_IO;
}

int batch_run(const cli_options *options, int (*extract)(const cli_options *options))
{
    batch b;
    crew c = {.options = options, .extract = extract};
    mvf_status status = batch_read(&b, options);
    if (status == MVF_OK)
        status = make_folder(options->output);
    if (status == MVF_OK)
        status = plan(&c, b.n);
    int exit_status = EXIT_FAILED;
    if (status == MVF_OK) {
        hold_signals(&c);
        c.is_interrupted = run_interrupted(NULL);
        skip_finished(&c, &b);
        status = run_files(&c, &b);
        exit_status = summarise(&c, &b);
    }
    if (status != MVF_OK)
        exit_status = message_exit_status(status);
    free(c.busy);
    batch_free(&b);
    return exit_status;
}
