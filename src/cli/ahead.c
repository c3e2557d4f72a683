/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/ahead.h"

static void *read_frames(void *opaque)
{
    ahead *a = opaque;
    pthread_mutex_lock(&a->mutex);
    while (!a->has_ended) {
        if (!a->is_stopping && a->n >= (size_t)a->n_most) {
            pthread_cond_wait(&a->changed, &a->mutex);
            continue;
        }
        mvf_frame *frame = NULL;
        mvf_status status = MVF_EOF;
        if (!a->is_stopping && a->n_left > 0) {
            pthread_mutex_unlock(&a->mutex);
            status = a->read(a->opaque, &frame);
            pthread_mutex_lock(&a->mutex);
        }
        if (status == MVF_OK) {
            a->frames[(a->first + a->n++) % AHEAD_MOST_FRAMES] = frame;
            a->n_left--;
        }
        a->has_ended = status != MVF_OK;
        a->ended = status;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

mvf_status ahead_open(ahead *a, line_reader read, void *opaque, int64_t n_frames, int32_t n_ahead)
{
    *a = (ahead){.read = read, .opaque = opaque, .n_left = n_frames, .n_most = n_ahead};
    if (pthread_mutex_init(&a->mutex, NULL))
        return MVF_ERROR_MEMORY;
    pthread_cond_init(&a->changed, NULL);
    if (!pthread_create(&a->thread, NULL, read_frames, a))
        return MVF_OK;
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
    return MVF_ERROR_MEMORY;
}

void ahead_limit(ahead *a, int32_t n_ahead)
{
    pthread_mutex_lock(&a->mutex);
    a->n_most = n_ahead;
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
        *frame = a->frames[a->first];
        a->first = (a->first + 1) % AHEAD_MOST_FRAMES;
        a->n--;
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
    for (; a->n; a->n--, a->first = (a->first + 1) % AHEAD_MOST_FRAMES)
        mvf_frame_free(&a->frames[a->first]);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
}
