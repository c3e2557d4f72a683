/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/named_file.h"

#include <errno.h>
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

/* What was not there when it was checked. */
static mvf_status fail_to_name(const char *name)
{
    return errno == EEXIST ? fail_existing(name, "by now") : fail(name);
}

mvf_status named_file_open(named_file *file, const char *name, int overwrite)
{
    *file = (named_file){.name = name};
    int descriptor = mvf_part_file_open(&file->part, name, overwrite);
    if (descriptor < 0 && errno == ENOMEM)
        return MVF_ERROR_MEMORY;
    if (descriptor < 0)
        return fail_to_name(name);
    file->file = fdopen(descriptor, "wb");
    if (file->file)
        return MVF_OK;
    mvf_status status = fail(name);
    close(descriptor);
    mvf_part_file_discard(&file->part);
    return status;
}

mvf_status named_file_close(named_file *file, mvf_status status)
{
    int failed = ferror(file->file);
    if ((fclose(file->file) || failed) && status == MVF_OK)
        status = fail(file->name);
    if (status == MVF_OK && mvf_part_file_commit(&file->part))
        status = fail_to_name(file->name);
    mvf_part_file_discard(&file->part);
    return status;
}
