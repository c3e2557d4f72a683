/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/batch.h"
#include "cli/message.h"

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s%s%s%s", a, b, c, d);
    return text;
}

/* The name's last part, without its extension, in the folder, with the format's extension. */
static char *output_of(const char *input, const cli_options *options)
{
    const char *format = options->format ? options->format : "mvf";
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
    const char *dot = strrchr(name, '.');
    char *stem = strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
    const char *extension = !strcmp(format, "yuview") ? ".yuview.csv" : NULL;
    char *dotted = extension ? strdup(extension) : join(".", format, "", "");
    char *output = stem && dotted ? join(options->output, "/", stem, dotted) : NULL;
    free(stem);
    free(dotted);
    return output;
}

static mvf_status add_file(batch *b, size_t *capacity, const char *name, const cli_options *options)
{
    struct stat info;
    if (b->n == *capacity) {
        size_t larger = *capacity * 2 + 64;
        batch_file *moved = realloc(b->files, larger * sizeof *moved);
        if (!moved)
            return MVF_ERROR_MEMORY;
        b->files = moved;
        *capacity = larger;
    }
    batch_file *file = &b->files[b->n++];
    *file = (batch_file){.state = BATCH_WAITING};
    /* A list holds files: "-" is one of that name. */
    file->input = strcmp(name, "-") ? strdup(name) : strdup("./-");
    if (options->output)
        file->output = output_of(name, options);
    if (!file->input || (options->output && !file->output))
        return MVF_ERROR_MEMORY;
    file->n_bytes = stat(file->input, &info) == 0 ? (int64_t)info.st_size : 0;
    return MVF_OK;
}

static mvf_status read_names(batch *b, FILE *list, const cli_options *options)
{
    char *name = NULL;
    size_t size = 0, capacity = 0;
    ssize_t length;
    int end = options->names_end_in_nul ? '\0' : '\n';
    mvf_status status = MVF_OK;
    errno = 0;
    while (status == MVF_OK && (length = getdelim(&name, &size, end, list)) >= 0) {
        if (length && name[length - 1] == end)
            name[--length] = '\0';
        if (strlen(name) != (size_t)length) {
            message_print(MVF_LOG_ERROR, "%s: holds names that end in NUL: --null reads them",
                          options->list);
            status = MVF_ERROR_ARGUMENT;
        } else if (length) {
            status = add_file(b, &capacity, name, options);
        }
    }
    /* Without memory for a name, too, there is more to come. */
    if (status == MVF_OK && !feof(list)) {
        message_print(MVF_LOG_ERROR, "%s: cannot be read: %s", options->list, strerror(errno));
        status = MVF_ERROR_IO;
    }
    free(name);
    return status;
}

static int compare_outputs(const void *a, const void *b)
{
    const batch_file *x = *(const batch_file *const *)a, *y = *(const batch_file *const *)b;
    int order = strcmp(x->output, y->output);
    return order ? order : (x > y) - (x < y);
}

/* Two inputs must not make one output. */
static mvf_status check_outputs(const batch *b)
{
    size_t n_colliding = 0;
    const batch_file **sorted = calloc(b->n + 1, sizeof(const batch_file *));
    if (!sorted)
        return MVF_ERROR_MEMORY;
    for (size_t i = 0; i < b->n; i++)
        sorted[i] = &b->files[i];
    qsort(sorted, b->n, sizeof *sorted, compare_outputs);
    for (size_t i = 1; i < b->n; i++)
        if (!strcmp(sorted[i - 1]->output, sorted[i]->output)) {
            n_colliding++;
            message_print(MVF_LOG_ERROR,
                          "%s and %s: would both become %s; rename one, or extract them into "
                          "different folders",
                          sorted[i - 1]->input, sorted[i]->input, sorted[i]->output);
        }
    free(sorted);
    return n_colliding ? MVF_ERROR_ARGUMENT : MVF_OK;
}

mvf_status batch_read(batch *b, const cli_options *options)
{
    *b = (batch){.files = NULL};
    int is_stdin = !strcmp(options->list, "-");
    FILE *list = is_stdin ? stdin : fopen(options->list, "re");
    if (!list) {
        message_print(MVF_LOG_ERROR, "%s: cannot be opened: %s", options->list, strerror(errno));
        return MVF_ERROR_IO;
    }
    mvf_status status = read_names(b, list, options);
    if (!is_stdin)
        fclose(list);
    return status == MVF_OK && options->output ? check_outputs(b) : status;
}

void batch_free(batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->files[i].input);
        free(b->files[i].output);
    }
    free(b->files);
    *b = (batch){.files = NULL};
}
