/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/ahead.h"

static int is_full(const ahead *a)
{
    return a->n >= AHEAD_LEAST_FRAMES && (a->n >= a->n_most || a->n_bytes >= a->most_bytes);
}

/* One that cannot be described takes all the room: whoever uses it finds out why. */
static int64_t luma_bytes(const ahead *a, mvf_frame *frame)
{
    mvf_picture picture;
    int32_t width, height, bit_depth;
    return mvf_frame_get_picture(frame, &picture, &width, &height, &bit_depth) == MVF_OK
               ? (int64_t)width * height * (bit_depth > 8 ? 2 : 1)
               : a->most_bytes;
}

static void put_frame(ahead *a, mvf_frame *frame, int64_t n_bytes)
{
    a->frames[(a->first + a->n++) % AHEAD_MOST_FRAMES] = (ahead_frame){frame, n_bytes};
    a->n_bytes += n_bytes;
    a->n_left--;
}

static mvf_frame *take_frame(ahead *a)
{
    ahead_frame taken = a->frames[a->first];
    a->first = (a->first + 1) % AHEAD_MOST_FRAMES;
    a->n--;
    a->n_bytes -= taken.n_bytes;
    return taken.frame;
}

static void *read_frames(void *opaque)
{
    ahead *a = opaque;
    pthread_mutex_lock(&a->mutex);
    while (!a->has_ended) {
        if (!a->is_stopping && is_full(a)) {
            pthread_cond_wait(&a->changed, &a->mutex);
            continue;
        }
        mvf_frame *frame = NULL;
        int64_t n_bytes = 0;
        mvf_status status = MVF_EOF;
        int counts = a->n_most > AHEAD_LEAST_FRAMES;
        if (!a->is_stopping && a->n_left > 0) {
            pthread_mutex_unlock(&a->mutex);
            status = a->read(a->opaque, &frame);
            if (status == MVF_OK && counts)
                n_bytes = luma_bytes(a, frame);
            pthread_mutex_lock(&a->mutex);
        }
        if (status == MVF_OK)
            put_frame(a, frame, n_bytes);
        a->has_ended = status != MVF_OK;
        a->ended = status;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

mvf_status ahead_open(ahead *a, line_reader read, void *opaque, int64_t n_frames,
                      int64_t most_bytes)
{
    *a = (ahead){.read = read, .opaque = opaque, .n_left = n_frames, .most_bytes = most_bytes};
    a->n_most = most_bytes > 0 ? AHEAD_MOST_FRAMES : AHEAD_LEAST_FRAMES;
    if (pthread_mutex_init(&a->mutex, NULL))
        return MVF_ERROR_MEMORY;
    pthread_cond_init(&a->changed, NULL);
    if (!pthread_create(&a->thread, NULL, read_frames, a))
        return MVF_OK;
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
    return MVF_ERROR_MEMORY;
}

void ahead_stay_close(ahead *a)
{
    pthread_mutex_lock(&a->mutex);
    a->n_most = AHEAD_LEAST_FRAMES;
    pthread_mutex_unlock(&a->mutex);
}

mvf_status ahead_read(void *opaque, mvf_frame **frame)
{
    ahead *a = opaque;
    mvf_status status = MVF_OK;
    *frame = NULL;
    pthread_mutex_lock(&a->mutex);
    while (!a->n && !a->has_ended)
        pthread_cond_wait(&a->changed, &a->mutex);
    if (a->n) {
        *frame = take_frame(a);
        /* The first one only makes its user open what it needs. */
        if (a->n_taken++ && a->n + 1 < a->n_most)
            a->n_most = a->n < AHEAD_LEAST_FRAMES ? AHEAD_LEAST_FRAMES : a->n + 1;
        pthread_cond_signal(&a->changed);
    } else {
        status = a->ended;
    }
    pthread_mutex_unlock(&a->mutex);
    return status;
}

void ahead_close(ahead *a)
{
    pthread_mutex_lock(&a->mutex);
    a->is_stopping = 1;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->thread, NULL);
    while (a->n) {
        mvf_frame *frame = take_frame(a);
        mvf_frame_free(&frame);
    }
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
}
