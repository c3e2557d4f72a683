/*
 * mestimate GRAPH - vectors of FFmpeg's mestimate filter and their SAD, one block a line.
 *
 * GRAPH is an lavfi source that ends in mestimate. Prints "frame dir x y cost" for every block
 * whose reference was seen. Of mestimate's vectors only source, src and dst are ever written, and
 * its last frame never comes out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavutil/frame.h>
#include <libavutil/motion_vector.h>

static unsigned block_sad(const AVFrame *current, const AVFrame *reference,
                          const AVMotionVector *vector)
{
    unsigned sum = 0;
    int x = vector->dst_x - vector->w / 2, y = vector->dst_y - vector->h / 2;
    int from_x = vector->src_x - vector->w / 2, from_y = vector->src_y - vector->h / 2;
    for (int row = 0; row < vector->h; row++) {
        const uint8_t *a = current->data[0] + (y + row) * current->linesize[0] + x;
        const uint8_t *b = reference->data[0] + (from_y + row) * reference->linesize[0] + from_x;
        for (int col = 0; col < vector->w; col++)
            sum += (unsigned)abs(a[col] - b[col]);
    }
    return sum;
}

/* The blocks of `current` that are predicted from `reference`, at distance `dir`. */
static void print_blocks(int frame, int dir, const AVFrame *current, const AVFrame *reference)
{
    const AVFrameSideData *data = av_frame_get_side_data(current, AV_FRAME_DATA_MOTION_VECTORS);
    if (!data)
        return;
    const AVMotionVector *vectors = (const AVMotionVector *)(const void *)data->data;
    for (size_t i = 0; i < data->size / sizeof *vectors; i++)
        if (vectors[i].source == dir)
            printf("%d %d %d %d %u\n", frame, dir, vectors[i].dst_x - vectors[i].w / 2,
                   vectors[i].dst_y - vectors[i].h / 2, block_sad(current, reference, &vectors[i]));
}

static AVFilterContext *open_graph(AVFilterGraph *graph, const char *description)
{
    AVFilterContext *sink;
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    if (!graph || avfilter_graph_create_filter(&sink, avfilter_get_by_name("buffersink"), "out",
                                               NULL, NULL, graph) < 0)
        return NULL;
    int error = avfilter_graph_parse2(graph, description, &inputs, &outputs);
    if (error >= 0 && outputs)
        error = avfilter_link(outputs->filter_ctx, (unsigned)outputs->pad_idx, sink, 0);
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    return error < 0 || avfilter_graph_config(graph, NULL) < 0 ? NULL : sink;
}

int main(int argc, char **argv)
{
    AVFilterGraph *graph = avfilter_graph_alloc();
    AVFilterContext *sink = argc == 2 ? open_graph(graph, argv[1]) : NULL;
    AVFrame *previous = NULL, *frame = av_frame_alloc();
    if (!sink || !frame) {
        fprintf(stderr, "usage: mestimate GRAPH\n");
        return 2;
    }
    for (int index = 0; av_buffersink_get_frame(sink, frame) >= 0; index++) {
        if (previous) {
            print_blocks(index - 1, 1, previous, frame);
            print_blocks(index, -1, frame, previous);
        }
        av_frame_free(&previous);
        previous = frame;
        frame = av_frame_alloc();
        if (!frame)
            return 1;
    }
    av_frame_free(&previous);
    av_frame_free(&frame);
    avfilter_graph_free(&graph);
    return 0;
}
