/*
 * calls.c - the calls by which mvfield reaches files and threads, as functions that fail on demand.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What ferror() of glibc looks at. */
#define STREAM_ERROR 0x20

/* Where reading the input starts to fail, counted over all reads of a run. */
static atomic_uint_fast64_t n_read;

static int fails(const char *name, void *caller, int error)
{
    if (fault_owner_of(caller) != OWNER_MVFIELD || !fault_strikes(FAULT_CALL, name, caller))
        return 0;
    errno = error;
    return 1;
}

/* The same for a stream, which then remembers it. */
static int stream_fails(const char *name, FILE *stream, void *caller)
{
    if (stream == stderr || !fails(name, caller, ENOSPC))
        return 0;
    stream->_flags |= STREAM_ERROR;
    return 1;
}

static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

#define CALLER __builtin_return_address(0)

/* REAL(name): the function that this one stands in front of. */
#define REAL(name)                 \
    static __typeof__(&name) real; \
    if (!real)                     \
    *(void **)(&real) = find(#name)

/* What is left to read before it fails; of n_bytes. */
static size_t readable(size_t n_bytes, void *caller)
{
    if (!fault_current || !fault_current->armed || fault_current->kind != FAULT_READ ||
        fault_owner_of(caller) != OWNER_MVFIELD)
        return n_bytes;
    uint64_t limit = fault_current->nth ? fault_current->nth - 1 : UINT64_MAX;
    uint64_t left = limit > n_read ? limit - n_read : 0;
    if (left >= n_bytes)
        return n_bytes;
    if (!left)
        fault_current->struck = 1;
    return (size_t)left;
}

static ssize_t note_read(ssize_t n_bytes)
{
    if (n_bytes > 0 && fault_current && fault_current->kind == FAULT_READ) {
        n_read += (uint64_t)n_bytes;
        fault_current->n_events = n_read + 1;
    }
    return n_bytes;
}

FAULT_EXPORT ssize_t read(int file, void *bytes, size_t n_bytes)
{
    REAL(read);
    size_t n = readable(n_bytes, CALLER);
    if ((n_bytes && !n) || fails("read", CALLER, EIO)) {
        errno = EIO;
        return -1;
    }
    ssize_t done = real(file, bytes, n);
    return fault_owner_of(CALLER) == OWNER_MVFIELD ? note_read(done) : done;
}

FAULT_EXPORT ssize_t pread(int file, void *bytes, size_t n_bytes, off_t offset)
{
    REAL(pread);
    size_t n = readable(n_bytes, CALLER);
    if ((n_bytes && !n) || fails("pread", CALLER, EIO)) {
        errno = EIO;
        return -1;
    }
    ssize_t done = real(file, bytes, n, offset);
    return fault_owner_of(CALLER) == OWNER_MVFIELD ? note_read(done) : done;
}

FAULT_EXPORT ssize_t write(int file, const void *bytes, size_t n_bytes)
{
    REAL(write);
    return fails("write", CALLER, ENOSPC) ? -1 : real(file, bytes, n_bytes);
}

FAULT_EXPORT int open(const char *path, int flags, ...)
{
    REAL(open);
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return fails("open", CALLER, EMFILE) ? -1 : real(path, flags, mode);
}

FAULT_EXPORT off_t lseek(int file, off_t offset, int whence)
{
    REAL(lseek);
    return fails("lseek", CALLER, EIO) ? -1 : real(file, offset, whence);
}

FAULT_EXPORT int fstat(int file, struct stat *status)
{
    REAL(fstat);
    return fails("fstat", CALLER, EIO) ? -1 : real(file, status);
}

FAULT_EXPORT int ftruncate(int file, off_t size)
{
    REAL(ftruncate);
    return fails("ftruncate", CALLER, EIO) ? -1 : real(file, size);
}

/* Closes all the same, as Linux does. */
FAULT_EXPORT int close(int file)
{
    REAL(close);
    int result = real(file);
    return fails("close", CALLER, EIO) ? -1 : result;
}

FAULT_EXPORT int rename(const char *from, const char *to)
{
    REAL(rename);
    return fails("rename", CALLER, EIO) ? -1 : real(from, to);
}

/* As on a file system that has no links. */
FAULT_EXPORT int link(const char *from, const char *to)
{
    REAL(link);
    return fails("link", CALLER, EPERM) ? -1 : real(from, to);
}

FAULT_EXPORT int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    return fails("mkdir", CALLER, ENOSPC) ? -1 : real(path, mode);
}

FAULT_EXPORT int mkostemp(char *name, int flags)
{
    REAL(mkostemp);
    return fails("mkostemp", CALLER, ENOSPC) ? -1 : real(name, flags);
}

FAULT_EXPORT FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return fails("fopen", CALLER, EMFILE) ? NULL : real(path, mode);
}

FAULT_EXPORT FILE *fdopen(int file, const char *mode)
{
    REAL(fdopen);
    return fails("fdopen", CALLER, ENOMEM) ? NULL : real(file, mode);
}

FAULT_EXPORT int fflush(FILE *stream)
{
    REAL(fflush);
    return stream && stream_fails("fflush", stream, CALLER) ? EOF : real(stream);
}

FAULT_EXPORT int fclose(FILE *stream)
{
    REAL(fclose);
    int result = real(stream);
    return fails("fclose", CALLER, ENOSPC) ? EOF : result;
}

FAULT_EXPORT int fseeko(FILE *stream, off_t offset, int whence)
{
    REAL(fseeko);
    return fails("fseeko", CALLER, EIO) ? -1 : real(stream, offset, whence);
}

FAULT_EXPORT size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
    REAL(fwrite);
    return stream_fails("fwrite", stream, CALLER) ? 0 : real(bytes, size, count, stream);
}

FAULT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                void *(*start)(void *), void *argument)
{
    REAL(pthread_create);
    return fails("pthread_create", CALLER, EAGAIN) ? EAGAIN
                                                   : real(thread, attributes, start, argument);
}
