/*
 * verdict.c - runs the program once for each fault, and compares what it leaves with what it makes
 * when nothing is wrong.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "faults.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run that takes longer hangs. */
#define MAX_SECONDS 120
#define MAX_FILES 64
#define MAX_TEXT 65536
#define EXIT_INTERRUPTED 130

static const char *const kind_names[N_FAULT_KINDS] = {"memory",    "any-memory", "call",
                                                      "read",      "file-size",  "pipe",
                                                      "interrupt", "terminate",  "driver"};

typedef struct kept_file {
    char name[256];
    uint8_t *bytes;
    size_t n_bytes;
} kept_file;

/* What a run left. */
typedef struct outcome {
    /* As waitpid() gives it. */
    int ended;
    kept_file files[MAX_FILES];
    size_t n_files;
    kept_file output;
    char messages[MAX_TEXT];
} outcome;

static fault_trial *trial;
static const char *folder;
static outcome first, now;
static uint64_t n_faults, n_bad, n_foreign, n_other, n_by_status[256];
static FILE *report;

static void load(kept_file *file, int from)
{
    struct stat status;
    file->n_bytes = fstat(from, &status) ? 0 : (size_t)status.st_size;
    file->bytes = malloc(file->n_bytes + 1);
    if (pread(from, file->bytes, file->n_bytes, 0) != (ssize_t)file->n_bytes)
        file->n_bytes = 0;
}

static int note_file(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)place;
    if (type == FTW_D || now.n_files == MAX_FILES)
        return 0;
    kept_file *file = &now.files[now.n_files++];
    snprintf(file->name, sizeof file->name, "%s", path + strlen(folder) + 1);
    FILE *stream = fopen(path, "rb");
    if (stream)
        load(file, fileno(stream));
    if (stream)
        fclose(stream);
    return 0;
}

static int remove_file(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    if (place->level > 0)
        remove(path);
    return 0;
}

static void free_outcome(outcome *one)
{
    for (size_t i = 0; i < one->n_files; i++)
        free(one->files[i].bytes);
    free(one->output.bytes);
    memset(one, 0, sizeof *one);
}

static void set_up_child(uint64_t nth)
{
    char fault[64];
    struct rlimit limit = {nth ? nth - 1 : RLIM_INFINITY, RLIM_INFINITY};
    signal(SIGALRM, SIG_DFL);
    alarm(MAX_SECONDS);
    if (trial->kind == FAULT_FILE_SIZE)
        setrlimit(RLIMIT_FSIZE, &limit);
    if (trial->kind == FAULT_DRIVER && nth) {
        snprintf(fault, sizeof fault, "%" PRIu64 "%s=%s", nth, trial->lasting ? "+" : "",
                 getenv("MVF_FAULT_DRIVER"));
        setenv("CUDA_EMULATOR_FAULTS", fault, 1);
    }
}

/* Reads what comes through both pipes until they are closed; of output, so many bytes at most. */
static void listen(int messages, int output, uint64_t limit)
{
    size_t n_text = 0;
    char scrap[4096];
    struct pollfd from[2] = {{.fd = messages, .events = POLLIN}, {.fd = output, .events = POLLIN}};
    while (from[0].fd >= 0 || from[1].fd >= 0) {
        if (limit == 0 && from[1].fd >= 0) {
            close(output);
            from[1].fd = -1;
            continue;
        }
        if (poll(from, 2, -1) < 0 && errno != EINTR)
            break;
        if (from[0].revents) {
            ssize_t n = read(messages, now.messages + n_text, sizeof now.messages - 1 - n_text);
            n_text += n > 0 ? (size_t)n : 0;
            from[0].fd = n > 0 && n_text < sizeof now.messages - 1 ? messages : -1;
        }
        if (from[1].revents) {
            ssize_t n = read(output, scrap, limit < sizeof scrap ? limit : sizeof scrap);
            limit -= n > 0 ? (uint64_t)n : limit;
        }
    }
    close(messages);
}

static void run_one(const fault_program *program, uint64_t nth)
{
    int messages[2], output[2] = {-1, -1};
    int is_pipe = trial->kind == FAULT_PIPE && nth;
    int written = is_pipe ? -1 : memfd_create("output", MFD_CLOEXEC);
    nftw(folder, remove_file, 16, FTW_DEPTH | FTW_PHYS);
    lseek(STDIN_FILENO, 0, SEEK_SET);
    memset(trial->struck_at, 0, sizeof trial->struck_at);
    memset(trial->fault, 0, sizeof trial->fault);
    trial->nth = nth;
    trial->struck = trial->is_foreign = 0;
    trial->n_events = 0;
    if (pipe(messages) || (is_pipe && pipe(output)))
        abort();
    pid_t child = fork();
    if (child == 0) {
        dup2(is_pipe ? output[1] : written, STDOUT_FILENO);
        if (!getenv("MVF_FAULT_FIRST"))
            dup2(messages[1], STDERR_FILENO);
        close(messages[0]);
        close(messages[1]);
        if (is_pipe)
            close(output[0]), close(output[1]);
        else
            close(written);
        set_up_child(nth);
        fault_current = trial;
        trial_run(program);
    }
    close(messages[1]);
    if (is_pipe)
        close(output[1]);
    listen(messages[0], output[0], is_pipe ? nth - 1 : UINT64_MAX);
    while (waitpid(child, &now.ended, 0) < 0 && errno == EINTR)
        ;
    if (!is_pipe) {
        load(&now.output, written);
        close(written);
    }
    nftw(folder, note_file, 16, FTW_PHYS);
}

static void judge(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes what is wrong with this run. */
static void judge(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    n_bad++;
    fprintf(report, "%s fault %" PRIu64 " (%s): ", kind_names[trial->kind], trial->nth,
            trial->struck_at);
    vfprintf(report, format, arguments);
    fprintf(report, "; status %x, it says: %.*s\n", now.ended, (int)strcspn(now.messages, "\n"),
            now.messages);
    va_end(arguments);
}

static const kept_file *find_file(const outcome *one, const char *name)
{
    for (size_t i = 0; i < one->n_files; i++)
        if (!strcmp(one->files[i].name, name))
            return &one->files[i];
    return NULL;
}

static int is_same(const kept_file *a, const kept_file *b)
{
    return a->n_bytes == b->n_bytes && !memcmp(a->bytes, b->bytes, a->n_bytes);
}

static int is_start(const kept_file *a, const kept_file *b)
{
    return a->n_bytes <= b->n_bytes && !memcmp(a->bytes, b->bytes, a->n_bytes);
}

/* Whether a file that holds less than all is whole in itself: asks the command MVF_FAULT_CHECK. */
static int is_whole(const char *name)
{
    char command[4096];
    const char *check = getenv("MVF_FAULT_CHECK");
    snprintf(command, sizeof command, "%s '%s/%s' > /dev/null 2>&1", check ? check : "false",
             folder, name);
    return system(command) == 0;
}

static int judge_files(int status)
{
    /* A decoder that gets no memory may hand out another picture, or none, and say nothing. */
    int is_hidden = trial->kind == FAULT_ANY_MEMORY && status == 0;
    int holds_part = is_hidden || status == EXIT_INTERRUPTED || status == 3;
    int differs = 0;
    for (size_t i = 0; i < now.n_files; i++) {
        const kept_file *file = &now.files[i], *wanted = find_file(&first, file->name);
        if (!wanted)
            return judge("it leaves %s", file->name), 0;
        if (is_same(file, wanted))
            continue;
        differs = 1;
        if (!holds_part || (!is_start(file, wanted) && !is_whole(file->name)))
            return judge("%s is not what it should be", file->name), 0;
    }
    if (status)
        return 1;
    if (now.output.bytes && !is_same(&now.output, &first.output)) {
        differs = 1;
        if (!is_hidden)
            return judge("standard output is not what it should be"), 0;
    }
    if (differs) {
        n_other++;
        fprintf(report, "%s fault %" PRIu64 " (%s): another output\n", kind_names[trial->kind],
                trial->nth, trial->struck_at);
    }
    if (now.n_files < first.n_files)
        return judge("%zu of %zu files are missing", first.n_files - now.n_files, first.n_files), 0;
    return 1;
}

/* One line says what failed; warnings may come with it. */
static int judge_messages(int status)
{
    size_t n_errors = 0;
    if (getenv("MVF_FAULT_FIRST") || getenv("MVF_FAULT_SILENT"))
        return 1;
    for (const char *line = now.messages; *line; line += strcspn(line, "\n"), line += *line != 0) {
        if (strncmp(line, "mvfield: ", 9))
            return judge("it says something else"), 0;
        n_errors += strncmp(line + 9, "warning: ", 9) != 0;
    }
    if ((status == 1 || status == EXIT_INTERRUPTED) && n_errors != 1)
        return judge("it says %zu lines of what failed", n_errors), 0;
    return 1;
}

static int is_lawful(int status)
{
    int is_signal = trial->kind == FAULT_INTERRUPT || trial->kind == FAULT_TERMINATE;
    if (getenv("MVF_FAULT_STATUS"))
        return status == atoi(getenv("MVF_FAULT_STATUS"));
    if (!trial->struck && trial->kind <= FAULT_READ)
        return status == 0;
    return status == 0 || (is_signal ? status == EXIT_INTERRUPTED : status == 1 || status == 3);
}

static void judge_run(void)
{
    int status = WEXITSTATUS(now.ended);
    n_faults++;
    if (WIFSIGNALED(now.ended))
        judge(WTERMSIG(now.ended) == SIGALRM ? "it hangs" : "it is ended by a signal");
    else if (*trial->fault && trial->is_foreign && trial->kind == FAULT_ANY_MEMORY)
        n_foreign++;
    else if (*trial->fault)
        judge("%s", trial->fault);
    else if (!is_lawful(status))
        judge("the status is wrong");
    else if (judge_files(status) && judge_messages(status))
        n_by_status[status]++;
}

/* How many faults of the kind there can be. */
static uint64_t count_faults(void)
{
    uint64_t most = trial->n_events;
    const char *given = getenv("MVF_FAULT_COUNT");
    if (given)
        return strtoull(given, NULL, 10);
    if (trial->kind == FAULT_FILE_SIZE || trial->kind == FAULT_PIPE) {
        most = first.output.n_bytes;
        for (size_t i = 0; trial->kind == FAULT_FILE_SIZE && i < first.n_files; i++)
            most = first.files[i].n_bytes > most ? first.files[i].n_bytes : most;
    }
    return most;
}

static void run_all(const fault_program *program)
{
    const char *sample_text = getenv("MVF_FAULT_SAMPLE"), *one = getenv("MVF_FAULT_FIRST");
    uint64_t n = count_faults();
    uint64_t sample = sample_text ? strtoull(sample_text, NULL, 10) : n;
    sample = sample < n ? sample : n;
    if (one) {
        run_one(program, strtoull(one, NULL, 10));
        judge_run();
        return;
    }
    for (uint64_t i = 0; i < sample; i++) {
        run_one(program, 1 + (sample > 1 ? i * (n - 1) / (sample - 1) : 0));
        judge_run();
        free_outcome(&now);
    }
}

static int find_kind(const char *name)
{
    for (int i = 0; i < N_FAULT_KINDS; i++)
        if (!strcmp(name, kind_names[i]))
            return i;
    fprintf(stderr, "MVF_FAULT: there is no %s\n", name);
    exit(99);
}

int verdict_run(const fault_program *program)
{
    static char text[1 << 20];
    char *report_path = getenv("MVF_FAULT_REPORT");
    folder = getenv("MVF_FAULT_DIR");
    trial = heap_shared(sizeof *trial);
    trial->kind = (fault_kind)find_kind(getenv("MVF_FAULT"));
    trial->lasting = getenv("MVF_FAULT_LASTING") != NULL;
    report = fmemopen(text, sizeof text, "w");
    heap_pin();
    /* Not for what the program or the judge starts. */
    unsetenv("LD_PRELOAD");
    run_one(program, 0);
    if (now.ended || *trial->fault) {
        fprintf(stderr, "without a fault: status %x %s\n%s", now.ended, trial->fault, now.messages);
        return 99;
    }
    first = now;
    memset(&now, 0, sizeof now);
    run_all(program);
    fclose(report);
    FILE *file = report_path ? fopen(report_path, "w") : stdout;
    if (!file)
        return 99;
    fprintf(file, "%" PRIu64 " faults: %" PRIu64 " taken badly", n_faults, n_bad);
    for (int i = 0; i < 256; i++)
        if (n_by_status[i])
            fprintf(file, ", %" PRIu64 " with status %d", n_by_status[i], i);
    if (n_other)
        fprintf(file, ", %" PRIu64 " of these with other pictures", n_other);
    if (n_foreign)
        fprintf(file, ", %" PRIu64 " crashed other code", n_foreign);
    fprintf(file, "\n%s", text);
    /* Without a fault nothing was tried. */
    return fclose(file) || n_bad || !n_faults;
}
