/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <string.h>

#include <libavutil/imgutils.h>
#include <libavutil/mem.h>

/* FFmpeg's decoders may read and write so many bytes beyond a plane. */
#define BEYOND_BYTES 128

/* Memory for the samples of one picture, at its end. */
typedef struct picture_memory {
    mvf_picture_pool *pool;
    struct picture_memory *next;
    size_t n_bytes;
    uint8_t *samples;
} picture_memory;

struct mvf_picture_pool {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t cleaner;
    int has_cleaner, is_closed;
    /* Of the pictures that are kept, which nobody uses. */
    size_t n_bytes;
    picture_memory *clean, *used;
    /* The opener, and whatever of its memory somebody uses. */
    int64_t n_users;
};

int mvf_picture_pool_open(mvf_picture_pool **out)
{
    mvf_picture_pool *pool = av_mallocz(sizeof *pool);
    *out = NULL;
    if (!pool || pthread_mutex_init(&pool->mutex, NULL)) {
        av_free(pool);
        return AVERROR(ENOMEM);
    }
    pthread_cond_init(&pool->changed, NULL);
    pool->n_users = 1;
    *out = pool;
    return 0;
}

static void free_memory(picture_memory *memory)
{
    if (memory)
        av_free(memory->samples);
    av_free(memory);
}

static picture_memory *take(picture_memory **list)
{
    picture_memory *taken = *list;
    if (taken)
        *list = taken->next;
    return taken;
}

static void put(picture_memory **list, picture_memory *memory)
{
    memory->next = *list;
    *list = memory;
}

static void free_idle(mvf_picture_pool *pool)
{
    picture_memory *memory;
    while ((memory = take(&pool->clean)) || (memory = take(&pool->used)))
        free_memory(memory);
}

/* With the mutex held, which is given up. */
static void leave(mvf_picture_pool *pool)
{
    int is_last = --pool->n_users == 0;
    pthread_mutex_unlock(&pool->mutex);
    if (!is_last)
        return;
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
    av_free(pool);
}

static void *clean_memory(void *opaque)
{
    mvf_picture_pool *pool = opaque;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->is_closed) {
        picture_memory *memory = take(&pool->used);
        if (!memory) {
            pthread_cond_wait(&pool->changed, &pool->mutex);
            continue;
        }
        pthread_mutex_unlock(&pool->mutex);
        memset(memory->samples, 0, memory->n_bytes);
        pthread_mutex_lock(&pool->mutex);
        if (pool->is_closed || memory->n_bytes != pool->n_bytes)
            free_memory(memory);
        else
            put(&pool->clean, memory);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

void mvf_picture_pool_close(mvf_picture_pool **slot)
{
    mvf_picture_pool *pool = *slot;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->is_closed = 1;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
    if (pool->has_cleaner)
        pthread_join(pool->cleaner, NULL);
    pthread_mutex_lock(&pool->mutex);
    free_idle(pool);
    leave(pool);
    *slot = NULL;
}

/* Nobody uses it any more. */
static void give_back(void *opaque, uint8_t *samples)
{
    picture_memory *memory = opaque;
    mvf_picture_pool *pool = memory->pool;
    (void)samples;
    pthread_mutex_lock(&pool->mutex);
    if (pool->is_closed || memory->n_bytes != pool->n_bytes) {
        free_memory(memory);
    } else {
        put(&pool->used, memory);
        if (!pool->has_cleaner)
            pool->has_cleaner = !pthread_create(&pool->cleaner, NULL, clean_memory, pool);
        pthread_cond_signal(&pool->changed);
    }
    leave(pool);
}

static picture_memory *make_memory(mvf_picture_pool *pool, size_t n_bytes)
{
    picture_memory *made = av_mallocz(sizeof *made);
    if (!made)
        return NULL;
    made->pool = pool;
    made->n_bytes = n_bytes;
    made->samples = av_mallocz(n_bytes);
    if (made->samples)
        return made;
    av_free(made);
    return NULL;
}

static picture_memory *get_memory(mvf_picture_pool *pool, size_t n_bytes)
{
    pthread_mutex_lock(&pool->mutex);
    if (pool->n_bytes != n_bytes)
        free_idle(pool);
    pool->n_bytes = n_bytes;
    picture_memory *memory = take(&pool->clean);
    int is_clean = memory != NULL;
    if (!memory)
        memory = take(&pool->used);
    pool->n_users++;
    pthread_mutex_unlock(&pool->mutex);
    if (memory && !is_clean)
        memset(memory->samples, 0, n_bytes);
    if (!memory)
        memory = make_memory(pool, n_bytes);
    if (memory)
        return memory;
    pthread_mutex_lock(&pool->mutex);
    leave(pool);
    return NULL;
}

/* Where the planes begin that the decoder wants, how large they are, and how many bytes all of them
 * take. 0, or an AVERROR code. */
static int lay_out(AVCodecContext *codec, AVFrame *frame, size_t offsets[4], size_t sizes[4],
                   size_t *n_bytes)
{
    int width = frame->width, height = frame->height, is_aligned = 0, lines[4];
    int alignment[AV_NUM_DATA_POINTERS] = {0};
    ptrdiff_t strides[4];
    avcodec_align_dimensions2(codec, &width, &height, alignment);
    for (; !is_aligned; width += width & -width) {
        int error = av_image_fill_linesizes(lines, frame->format, width);
        if (error < 0)
            return error;
        is_aligned = 1;
        for (int i = 0; i < 4; i++)
            is_aligned &= lines[i] % alignment[i] == 0;
    }
    for (int i = 0; i < 4; i++)
        strides[i] = frame->linesize[i] = lines[i];
    int error = av_image_fill_plane_sizes(sizes, frame->format, height, strides);
    if (error < 0)
        return error;
    *n_bytes = 0;
    for (int i = 0; i < 4; i++) {
        offsets[i] = *n_bytes;
        *n_bytes += sizes[i] ? FFALIGN(sizes[i] + BEYOND_BYTES, BEYOND_BYTES) : 0;
    }
    return 0;
}

int mvf_picture_pool_get(mvf_picture_pool *pool, AVCodecContext *codec, AVFrame *frame)
{
    size_t offsets[4], sizes[4], n_bytes;
    int error = lay_out(codec, frame, offsets, sizes, &n_bytes);
    if (error < 0)
        return error;
    picture_memory *memory = get_memory(pool, n_bytes);
    if (!memory)
        return AVERROR(ENOMEM);
    frame->buf[0] = av_buffer_create(memory->samples, n_bytes, give_back, memory, 0);
    if (!frame->buf[0]) {
        give_back(memory, memory->samples);
        return AVERROR(ENOMEM);
    }
    for (int i = 0; i < 4; i++)
        frame->data[i] = sizes[i] ? memory->samples + offsets[i] : NULL;
    frame->extended_data = frame->data;
    return 0;
}
