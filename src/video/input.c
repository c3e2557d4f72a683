/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libavutil/intreadwrite.h>

#define BUFFER_BYTES 65536
/* How soon an interrupt is heard while a pipe is silent. */
#define POLL_MS 50

static int is_interrupted(const mvf_input *input)
{
    return input->interrupt.callback && input->interrupt.callback(input->interrupt.opaque);
}

static int read_bytes(void *opaque, uint8_t *buffer, int size)
{
    mvf_input *input = opaque;
    for (;;) {
        struct pollfd waiting = {.fd = input->fd, .events = POLLIN};
        if (is_interrupted(input))
            return AVERROR_EXIT;
        int ready = poll(&waiting, 1, POLL_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        ssize_t n_bytes = read(input->fd, buffer, (size_t)size);
        if (n_bytes > 0) {
            input->n_bytes += n_bytes;
            return (int)n_bytes;
        }
        if (n_bytes == 0)
            return AVERROR_EOF;
        if (errno != EINTR && errno != EAGAIN)
            return AVERROR(errno);
    }
}

static int64_t seek_bytes(void *opaque, int64_t offset, int whence)
{
    mvf_input *input = opaque;
    if (whence & AVSEEK_SIZE) {
        struct stat status;
        return fstat(input->fd, &status) ? AVERROR(errno) : (int64_t)status.st_size;
    }
    off_t position = lseek(input->fd, (off_t)offset, whence & ~AVSEEK_FORCE);
    return position < 0 ? AVERROR(errno) : (int64_t)position;
}

static int open_io(mvf_input *input, int seekable)
{
    uint8_t *buffer = av_malloc(BUFFER_BYTES);
    if (!buffer)
        return AVERROR(ENOMEM);
    input->io = avio_alloc_context(buffer, BUFFER_BYTES, 0, input, read_bytes, NULL,
                                   seekable ? seek_bytes : NULL);
    if (!input->io) {
        av_free(buffer);
        return AVERROR(ENOMEM);
    }
    input->io->seekable = seekable ? AVIO_SEEKABLE_NORMAL : 0;
    return 0;
}

/* Standard input that was redirected from a file can be sought in as long as it stands at its
 * start, which is where the container begins. */
static int is_seekable(int fd, const struct stat *status)
{
    return S_ISREG(status->st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

int mvf_input_open(mvf_input *input, const char *path, AVIOInterruptCB interrupt)
{
    struct stat status;
    input->interrupt = interrupt;
    input->owned = path != NULL;
    /* O_NONBLOCK: a FIFO without a writer opens at once, and the wait for one is in poll(). */
    input->fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO;
    if (input->fd < 0)
        return AVERROR(errno);
    int error = fstat(input->fd, &status) ? AVERROR(errno) : 0;
    input->is_regular = !error && S_ISREG(status.st_mode);
    if (!error && S_ISDIR(status.st_mode))
        error = AVERROR(EISDIR);
    if (!error)
        error = open_io(input, is_seekable(input->fd, &status));
    if (error)
        mvf_input_close(input);
    return error;
}

void mvf_input_close(mvf_input *input)
{
    if (input->io) {
        av_freep(&input->io->buffer);
        avio_context_free(&input->io);
    }
    if (input->owned && input->fd >= 0)
        close(input->fd);
    input->owned = 0;
    input->fd = -1;
}

static int is_first_box(uint32_t type)
{
    static const char types[][5] = {"ftyp", "styp", "moov", "moof", "mdat", "free", "skip", "wide"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (type == AV_RB32(types[i]))
            return 1;
    return 0;
}

/* ISO base media: a file is a row of boxes, each with its size; 0 means "to the end". */
static int is_cut_boxes(AVIOContext *io, int64_t file_bytes)
{
    int64_t position = 0;
    while (position + 8 <= file_bytes) {
        if (avio_seek(io, position, SEEK_SET) < 0)
            return 0;
        uint64_t size = avio_rb32(io);
        uint32_t type = avio_rb32(io);
        if (size == 0 || (position == 0 && !is_first_box(type)))
            return 0;
        uint64_t header_bytes = 8;
        if (size == 1) {
            size = avio_rb64(io);
            header_bytes = 16;
        }
        if (size < header_bytes || io->error)
            return 0;
        if (size > (uint64_t)(file_bytes - position))
            return 1;
        position += (int64_t)size;
    }
    return 0;
}

/* A variable-length size of EBML; 0 with *known 0 where all its bits are set. */
static uint64_t read_ebml_size(AVIOContext *io, int *known)
{
    uint64_t value = (uint64_t)avio_r8(io);
    int n_bytes = 1;
    uint64_t mask = 0x80;
    while (mask && !(value & mask)) {
        mask >>= 1;
        n_bytes++;
    }
    if (!mask) {
        *known = 0;
        return 0;
    }
    value &= mask - 1;
    for (int i = 1; i < n_bytes; i++)
        value = value << 8 | (uint64_t)avio_r8(io);
    *known = value != (UINT64_C(1) << (7 * n_bytes)) - 1;
    return *known ? value : 0;
}

/* Matroska: the EBML header, then the segment, whose size is known unless it was streamed. */
static int is_cut_segment(AVIOContext *io, int64_t file_bytes)
{
    int known;
    if (avio_rb32(io) != 0x1a45dfa3)
        return 0;
    uint64_t size = read_ebml_size(io, &known);
    if (!known || size > (uint64_t)file_bytes || avio_skip(io, (int64_t)size) < 0 ||
        avio_rb32(io) != 0x18538067)
        return 0;
    size = read_ebml_size(io, &known);
    return known && size > (uint64_t)(file_bytes - avio_tell(io));
}

static int is_cut_riff(AVIOContext *io, int64_t file_bytes)
{
    if (avio_rb32(io) != 0x52494646)
        return 0;
    return (int64_t)avio_rl32(io) + 8 > file_bytes;
}

static int is_cut_packets(AVIOContext *io, int64_t file_bytes)
{
    const int64_t packet_bytes = 188;
    int first = avio_r8(io);
    avio_seek(io, packet_bytes, SEEK_SET);
    return first == 0x47 && avio_r8(io) == 0x47 && file_bytes % packet_bytes != 0;
}

int mvf_input_is_cut(AVIOContext *io, const char *container)
{
    int64_t file_bytes = io && (io->seekable & AVIO_SEEKABLE_NORMAL) ? avio_size(io) : -1;
    if (file_bytes <= 0 || avio_seek(io, 0, SEEK_SET) < 0)
        return 0;
    if (strstr(container, "mp4"))
        return is_cut_boxes(io, file_bytes);
    if (strstr(container, "matroska"))
        return is_cut_segment(io, file_bytes);
    if (!strcmp(container, "avi"))
        return is_cut_riff(io, file_bytes);
    if (!strcmp(container, "mpegts"))
        return is_cut_packets(io, file_bytes);
    return 0;
}
