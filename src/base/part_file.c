/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define MAX_ATTEMPTS 1000
/* As many as Linux follows. */
#define MAX_LINKS 40
/* Of a file's own name, of the 255 that most systems take. */
#define MAX_NAME_BYTES 200

/* How much of the path is its folder. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Where the symbolic link `path` leads to, in place of it; which need not be there. */
static int follow_link(char **path, const char *target)
{
    size_t folder = *target == '/' ? 0 : folder_length(*path);
    char *led = mvf_alloc_array(folder + strlen(target) + 1, 1);
    if (!led)
        return errno = ENOMEM, -1;
    memcpy(led, *path, folder);
    memcpy(led + folder, target, strlen(target));
    free(*path);
    *path = led;
    return 0;
}

static int follow_links(char **path)
{
    char target[PATH_MAX];
    for (int i = 0; i < MAX_LINKS; i++) {
        ssize_t n = readlink(*path, target, sizeof target - 1);
        if (n < 0)
            return 0;
        target[n] = '\0';
        if (follow_link(path, target))
            return -1;
    }
    errno = ELOOP;
    return -1;
}

/* So much of the path that what is added fits into the longest names, whole in UTF-8. */
static int stem_length(const char *path)
{
    size_t length = strlen(path), folder = folder_length(path);
    if (length - folder <= MAX_NAME_BYTES)
        return (int)length;
    length = folder + MAX_NAME_BYTES;
    while (length > folder && (path[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

static int create(mvf_part_file *part)
{
    size_t size = strlen(part->path) + 64;
    int file = -1, stem = stem_length(part->path);
    part->part_path = mvf_alloc_array(size, 1);
    if (!part->part_path)
        return errno = ENOMEM, -1;
    errno = EEXIST;
    for (int attempt = 0; file < 0 && errno == EEXIST && attempt < MAX_ATTEMPTS; attempt++) {
        snprintf(part->part_path, size, "%.*s.%ld-%d.part", stem, part->path, (long)getpid(),
                 attempt);
        file = open(part->part_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (file < 0) {
        int error = errno;
        free(part->part_path);
        part->part_path = NULL;
        errno = error;
    }
    return file;
}

int mvf_part_file_open(mvf_part_file *part, const char *path, int overwrite)
{
    struct stat existing;
    int exists = stat(path, &existing) == 0, file = -1;
    *part = (mvf_part_file){.path = mvf_strdup(path), .overwrite = overwrite};
    if (!part->path)
        errno = ENOMEM;
    else if (exists && !S_ISREG(existing.st_mode))
        file = open(path, O_WRONLY | O_CLOEXEC);
    else if (exists && !overwrite)
        errno = EEXIST;
    else if (follow_links(&part->path) == 0)
        file = create(part);
    if (file < 0) {
        int error = errno;
        mvf_part_file_discard(part);
        errno = error;
    }
    return file;
}

/* rename() that replaces nothing, as far as the file system can do that. */
static int name_anew(const char *from, const char *to)
{
    if (link(from, to))
        return errno == EEXIST ? -1 : rename(from, to);
    unlink(from);
    return 0;
}

int mvf_part_file_commit(mvf_part_file *part)
{
    if (!part->part_path)
        return 0;
    if (part->overwrite ? rename(part->part_path, part->path)
                        : name_anew(part->part_path, part->path))
        return -1;
    free(part->part_path);
    part->part_path = NULL;
    return 0;
}

void mvf_part_file_discard(mvf_part_file *part)
{
    if (part->part_path)
        unlink(part->part_path);
    free(part->part_path);
    free(part->path);
    *part = (mvf_part_file){.path = NULL};
}
