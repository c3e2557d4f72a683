/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

#include <stdlib.h>

typedef struct mvf_packet_node {
    AVPacket *packet;
    struct mvf_packet_node *next;
} mvf_packet_node;

int mvf_packet_queue_init(mvf_packet_queue *queue, size_t limit_bytes)
{
    *queue = (mvf_packet_queue){.limit_bytes = limit_bytes};
    queue->end = &queue->first;
    return pthread_mutex_init(&queue->mutex, NULL) ? AVERROR(ENOMEM) : 0;
}

static size_t cost_bytes(const AVPacket *packet)
{
    return (size_t)packet->size + sizeof(AVPacket) + sizeof(mvf_packet_node);
}

static AVPacket *take_first(mvf_packet_queue *queue)
{
    mvf_packet_node *node = queue->first;
    if (!node)
        return NULL;
    AVPacket *packet = node->packet;
    queue->first = node->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->n_bytes -= cost_bytes(packet);
    free(node);
    return packet;
}

int mvf_packet_queue_push(mvf_packet_queue *queue, AVPacket *packet)
{
    mvf_packet_node *node = malloc(sizeof *node);
    AVPacket *copy = av_packet_alloc();
    if (!node || !copy) {
        free(node);
        av_packet_free(&copy);
        return AVERROR(ENOMEM);
    }
    av_packet_move_ref(copy, packet);
    *node = (mvf_packet_node){.packet = copy};
    pthread_mutex_lock(&queue->mutex);
    *queue->end = node;
    queue->end = &node->next;
    queue->n_bytes += cost_bytes(copy);
    while (queue->n_bytes > queue->limit_bytes) {
        AVPacket *oldest = take_first(queue);
        av_packet_free(&oldest);
        queue->n_dropped++;
    }
    pthread_mutex_unlock(&queue->mutex);
    return 0;
}

AVPacket *mvf_packet_queue_pop(mvf_packet_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    AVPacket *packet = take_first(queue);
    pthread_mutex_unlock(&queue->mutex);
    return packet;
}

static void clear(mvf_packet_queue *queue)
{
    AVPacket *packet;
    while ((packet = mvf_packet_queue_pop(queue)))
        av_packet_free(&packet);
}

void mvf_packet_queue_destroy(mvf_packet_queue *queue)
{
    clear(queue);
    pthread_mutex_destroy(&queue->mutex);
}
