/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (1 << 18)

#if LIBAVFORMAT_VERSION_MAJOR >= 61
typedef const uint8_t output_byte;
#else
typedef uint8_t output_byte;
#endif

static int write_bytes(void *opaque, output_byte *buffer, int size)
{
    mvf_media_output *output = opaque;
    int written = 0;
    while (written < size) {
        ssize_t n_bytes = write(output->fd, buffer + written, (size_t)(size - written));
        if (n_bytes < 0 && errno != EINTR)
            return AVERROR(errno);
        written += n_bytes > 0 ? (int)n_bytes : 0;
    }
    return size;
}

static int64_t seek_bytes(void *opaque, int64_t offset, int whence)
{
    mvf_media_output *output = opaque;
    struct stat status;
    if (whence & AVSEEK_SIZE)
        return fstat(output->fd, &status) ? AVERROR(errno) : (int64_t)status.st_size;
    off_t position = lseek(output->fd, (off_t)offset, whence & ~AVSEEK_FORCE);
    if (position < 0 && output->part.part_path)
        output->seek_error = AVERROR(errno);
    return position < 0 ? AVERROR(errno) : (int64_t)position;
}

static int create_io(mvf_media_output *output)
{
    uint8_t *buffer = av_malloc(BUFFER_BYTES);
    if (!buffer)
        return AVERROR(ENOMEM);
    output->io = avio_alloc_context(buffer, BUFFER_BYTES, 1, output, NULL, write_bytes, seek_bytes);
    if (!output->io)
        av_free(buffer);
    return output->io ? 0 : AVERROR(ENOMEM);
}

/* Not seekable: what is written is written. */
static mvf_status open_stdout(mvf_media_output *output, int *error)
{
    output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    *error = output->fd < 0 ? AVERROR(errno) : create_io(output);
    if (output->io)
        output->io->seekable = 0;
    if (!*error)
        return MVF_OK;
    mvf_media_output_discard(output);
    return *error == AVERROR(ENOMEM) ? MVF_ERROR_MEMORY : MVF_ERROR_IO;
}

mvf_status mvf_media_output_open(mvf_media_output *output, const char *path, int overwrite,
                                 int *error)
{
    *output = (mvf_media_output){.fd = -1};
    *error = 0;
    if (!strcmp(path, "-"))
        return open_stdout(output, error);
    output->fd = mvf_part_file_open(&output->part, path, overwrite);
    *error = output->fd < 0 ? AVERROR(errno) : 0;
    if (*error == AVERROR(EEXIST))
        return MVF_ERROR_EXISTS;
    if (!*error)
        *error = create_io(output);
    if (output->io && !output->part.part_path)
        output->io->seekable = 0;
    if (!*error)
        return MVF_OK;
    mvf_media_output_discard(output);
    return *error == AVERROR(ENOMEM) ? MVF_ERROR_MEMORY : MVF_ERROR_IO;
}

int mvf_media_output_restart(mvf_media_output *output)
{
    if (!output->part.part_path)
        return AVERROR(ESPIPE);
    if (avio_seek(output->io, 0, SEEK_SET) < 0 || ftruncate(output->fd, 0))
        return AVERROR(EIO);
    return 0;
}

static int close_file(mvf_media_output *output)
{
    int error = 0;
    if (output->io) {
        avio_flush(output->io);
        error = output->io->error;
        av_freep(&output->io->buffer);
        avio_context_free(&output->io);
    }
    if (output->fd >= 0 && close(output->fd) && !error)
        error = AVERROR(errno);
    output->fd = -1;
    return error;
}

int mvf_media_output_commit(mvf_media_output *output)
{
    int error = close_file(output);
    error = error ? error : output->seek_error;
    if (!error && mvf_part_file_commit(&output->part))
        error = AVERROR(errno);
    return error;
}

void mvf_media_output_discard(mvf_media_output *output)
{
    close_file(output);
    mvf_part_file_discard(&output->part);
    *output = (mvf_media_output){.fd = -1};
}
