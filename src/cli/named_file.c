/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/named_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"

static mvf_status fail(const char *name)
{
    message_print(MVF_LOG_ERROR, "%s: cannot be written: %s", name, strerror(errno));
    return MVF_ERROR_IO;
}

static mvf_status fail_existing(const char *name, const char *when)
{
    message_print(MVF_LOG_ERROR, "%s: exists %s (--overwrite replaces it)", name, when);
    return MVF_ERROR_EXISTS;
}

mvf_status named_file_check(const char *name, int overwrite)
{
    struct stat existing;
    int is_there = !overwrite && stat(name, &existing) == 0 && S_ISREG(existing.st_mode);
    return is_there ? fail_existing(name, "already") : MVF_OK;
}

mvf_status named_file_open(named_file *file, const char *name, int overwrite)
{
    struct stat existing;
    *file = (named_file){.name = name, .overwrite = overwrite};
    int is_there = stat(name, &existing) == 0;
    if (is_there && !S_ISREG(existing.st_mode)) {
        file->file = fopen(name, "wbe");
        return file->file ? MVF_OK : fail(name);
    }
    /* Where symbolic links lead to. */
    file->path = is_there ? realpath(name, NULL) : strdup(name);
    size_t size = file->path ? strlen(file->path) + 40 : 0;
    file->part = file->path ? malloc(size) : NULL;
    if (!file->part) {
        free(file->path);
        return MVF_ERROR_MEMORY;
    }
    snprintf(file->part, size, "%s.%ld.part", file->path, (long)getpid());
    file->file = fopen(file->part, "wbe");
    if (file->file)
        return MVF_OK;
    mvf_status status = fail(name);
    free(file->path);
    free(file->part);
    return status;
}

/* Replaces nothing unless it may. */
static mvf_status give_name(const named_file *file)
{
    if (!file->overwrite && link(file->part, file->path) == 0)
        return MVF_OK;
    if (!file->overwrite && errno == EEXIST)
        return fail_existing(file->name, "by now");
    return rename(file->part, file->path) ? fail(file->name) : MVF_OK;
}

mvf_status named_file_close(named_file *file, mvf_status status)
{
    int failed = ferror(file->file);
    if ((fclose(file->file) || failed) && status == MVF_OK)
        status = fail(file->name);
    if (file->part && status == MVF_OK)
        status = give_name(file);
    if (file->part)
        unlink(file->part);
    free(file->part);
    free(file->path);
    return status;
}
