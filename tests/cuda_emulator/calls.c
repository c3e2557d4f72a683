/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FAULTS 32
#define MAX_LEFT 8

#define FUNCTION_NAME(name) #name,
static const char *const function_names[N_FUNCTIONS] = {MVF_CUDA_FUNCTIONS(FUNCTION_NAME)};

static unsigned long counts[N_FUNCTIONS], n_calls;

/* Call number n of a function (N_FUNCTIONS: of all), and those after it. */
static struct {
    int function;
    unsigned long n;
    int and_after;
    CUresult result;
} faults[MAX_FAULTS];
static int n_faults = -1;

static struct {
    const char *what;
    size_t n;
} left[MAX_LEFT];
static int n_left;

static size_t most_bytes[N_OBJECT_KINDS];

long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return otherwise;
    long value = strtol(text, &end, 10);
    if (!*end)
        return value;
    fprintf(stderr, "emulated CUDA: %s=%s is no number\n", name, text);
    exit(2);
}

static void refuse(const char *text)
{
    fprintf(stderr, "emulated CUDA: CUDA_EMULATOR_FAULTS: '%s' is not [NAME:]N[+]=RESULT\n", text);
    exit(2);
}

static int find_function(const char *name, size_t length)
{
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (strlen(function_names[i]) == length && !strncmp(function_names[i], name, length))
            return i;
    return -1;
}

/* One fault; returns what follows it. */
static const char *parse_fault(const char *text)
{
    const char *at = text + strcspn(text, ":,=");
    int function = N_FUNCTIONS;
    if (*at == ':') {
        function = find_function(text, (size_t)(at - text));
        at++;
    } else {
        at = text;
    }
    char *end;
    unsigned long n = strtoul(at, &end, 10);
    int and_after = *end == '+';
    const char *result = end + and_after;
    if (function < 0 || end == at || !n || *result != '=' || n_faults == MAX_FAULTS)
        refuse(text);
    unsigned long code = strtoul(result + 1, &end, 10);
    if (end == result + 1 || (*end && *end != ',') || !code)
        refuse(text);
    faults[n_faults].function = function;
    faults[n_faults].n = n;
    faults[n_faults].and_after = and_after;
    faults[n_faults++].result = (CUresult)code;
    return *end ? end + 1 : end;
}

static void parse_faults(void)
{
    const char *text = getenv("CUDA_EMULATOR_FAULTS");
    n_faults = 0;
    while (text && *text)
        text = parse_fault(text);
}

CUresult calls_begin(driver_function function)
{
    if (n_faults < 0)
        parse_faults();
    counts[function]++;
    n_calls++;
    for (int i = 0; i < n_faults; i++) {
        unsigned long n = faults[i].function == N_FUNCTIONS ? n_calls : counts[function];
        int matches = faults[i].function == N_FUNCTIONS || faults[i].function == (int)function;
        if (matches && (n == faults[i].n || (faults[i].and_after && n > faults[i].n)))
            return faults[i].result;
    }
    return CUDA_SUCCESS;
}

void calls_left(const char *what, size_t n)
{
    int i = 0;
    while (i < n_left && strcmp(left[i].what, what) != 0)
        i++;
    if (!n || i == MAX_LEFT)
        return;
    left[i].what = what;
    left[i].n += n;
    n_left += i == n_left;
}

void calls_note_bytes(object_kind kind, size_t n_bytes)
{
    most_bytes[kind] = n_bytes > most_bytes[kind] ? n_bytes : most_bytes[kind];
}

__attribute__((destructor(101))) static void write_calls(void)
{
    const char *name = getenv("CUDA_EMULATOR_CALLS");
    FILE *file = name && *name ? fopen(name, "a") : NULL;
    if (!file)
        return;
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (counts[i])
            fprintf(file, "%s %lu\n", function_names[i], counts[i]);
    fprintf(file, "calls %lu\n", n_calls);
    for (int i = 0; i < n_left; i++)
        fprintf(file, "left %s %zu\n", left[i].what, left[i].n);
    for (int i = 0; i < N_OBJECT_KINDS; i++)
        if (most_bytes[i])
            fprintf(file, "most %s %zu\n", object_names[i], most_bytes[i]);
    fclose(file);
}
