/*
 * attach_side_data - searched vectors as side data of FFmpeg's frames, drawn by its codecview.
 *
 *     attach_side_data CLIP OUT.y4m [FRAMES]
 *
 * Each frame is searched in the one before, its vectors are attached to the AVFrame, and the frame
 * goes through FFmpeg's filter graph "codecview=mv=pf". What comes out is written as YUV4MPEG, and
 * for each frame the vectors found on it there and the samples that codecview changed are printed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/frame.h>
#include <libavutil/motion_vector.h>
#include <libavutil/pixdesc.h>

#include <mvfield/video.h>

static void fail(const char *what)
{
    fprintf(stderr, "attach_side_data: %s\n", what);
    exit(1);
}

static void require(mvf_status status)
{
    if (status != MVF_OK)
        fail(mvf_status_string(status));
}

typedef struct drawer {
    AVFilterGraph *graph;
    AVFilterContext *in, *out;
} drawer;

static drawer open_drawer(const AVFrame *frame)
{
    char arguments[256];
    drawer d = {.graph = avfilter_graph_alloc()};
    AVFilterContext *view = NULL;
    snprintf(arguments, sizeof arguments, "video_size=%dx%d:pix_fmt=%d:time_base=1/25",
             frame->width, frame->height, frame->format);
    if (!d.graph ||
        avfilter_graph_create_filter(&d.in, avfilter_get_by_name("buffer"), "in", arguments, NULL,
                                     d.graph) < 0 ||
        avfilter_graph_create_filter(&view, avfilter_get_by_name("codecview"), "view",
                                     "mv=pf+bf+bb", NULL, d.graph) < 0 ||
        avfilter_graph_create_filter(&d.out, avfilter_get_by_name("buffersink"), "out", NULL, NULL,
                                     d.graph) < 0 ||
        avfilter_link(d.in, 0, view, 0) < 0 || avfilter_link(view, 0, d.out, 0) < 0 ||
        avfilter_graph_config(d.graph, NULL) < 0)
        fail("the filter graph cannot be set up (is codecview in this FFmpeg?)");
    return d;
}

static AVFrame *draw(const drawer *d, AVFrame *frame)
{
    AVFrame *drawn = av_frame_alloc();
    if (!drawn || av_buffersrc_add_frame_flags(d->in, frame, AV_BUFFERSRC_FLAG_KEEP_REF) < 0 ||
        av_buffersink_get_frame(d->out, drawn) < 0)
        fail("the filter graph gives no frame");
    return drawn;
}

static size_t count_vectors(const AVFrame *frame)
{
    const AVFrameSideData *data = av_frame_get_side_data(frame, AV_FRAME_DATA_MOTION_VECTORS);
    return data ? data->size / sizeof(AVMotionVector) : 0;
}

static size_t count_changes(const AVFrame *a, const AVFrame *b)
{
    size_t n = 0;
    for (int y = 0; y < a->height; y++)
        for (int x = 0; x < a->width; x++)
            n += a->data[0][y * a->linesize[0] + x] != b->data[0][y * b->linesize[0] + x];
    return n;
}

static void write_frame(FILE *file, const AVFrame *frame)
{
    fputs("FRAME\n", file);
    for (int plane = 0; plane < 3; plane++) {
        int w = plane ? (frame->width + 1) / 2 : frame->width;
        int h = plane ? (frame->height + 1) / 2 : frame->height;
        for (int y = 0; y < h; y++)
            fwrite(frame->data[plane] + y * frame->linesize[plane], 1, (size_t)w, file);
    }
}

/* The field of the frame after `previous`, which may be NULL: no blocks. */
static mvf_field *search(mvf_searcher *searcher, mvf_frame *frame, mvf_frame *previous)
{
    mvf_field *field;
    mvf_picture current, reference;
    int32_t w, h, depth;
    require(mvf_frame_get_picture(frame, &current, &w, &h, &depth));
    if (previous)
        require(mvf_frame_get_picture(previous, &reference, &w, &h, &depth));
    require(mvf_searcher_submit(searcher, &current, previous ? &reference : NULL, previous ? 1 : 0,
                                NULL));
    require(mvf_searcher_flush(searcher));
    require(mvf_searcher_receive(searcher, &field));
    return field;
}

int main(int argc, char **argv)
{
    mvf_source *source;
    mvf_frame *frame, *previous = NULL;
    mvf_searcher *searcher = NULL;
    drawer d = {.graph = NULL};
    mvf_options options;
    if (argc < 3)
        fail("usage: attach_side_data CLIP OUT.y4m [FRAMES]");
    long n_frames = argc > 3 ? atol(argv[3]) : 1L << 30;
    FILE *file = fopen(argv[2], "wb");
    if (!file)
        fail("the output cannot be written");
    require(mvf_source_open(&source, argv[1], NULL));
    mvf_options_init(&options);
    options.subpel = MVF_SUBPEL_QUARTER;
    for (long i = 0; i < n_frames && mvf_source_read(source, &frame) == MVF_OK; i++) {
        AVFrame *av = mvf_frame_get_avframe(frame);
        if (!searcher) {
            if (av->format != AV_PIX_FMT_YUV420P && av->format != AV_PIX_FMT_YUVJ420P)
                fail("only 4:2:0 with 8 bits is written");
            d = open_drawer(av);
            require(mvf_searcher_open(&searcher, &options, av->width, av->height, 8));
            fprintf(file, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n", av->width, av->height);
        }
        mvf_field *field = search(searcher, frame, previous);
        require(mvf_field_attach(field, av));
        AVFrame *drawn = draw(&d, av);
        printf("frame %ld: %zu blocks, %zu vectors read back, %zu samples drawn on\n", i,
               field->n_blocks, count_vectors(drawn), count_changes(av, drawn));
        write_frame(file, drawn);
        av_frame_free(&drawn);
        mvf_field_free(&field);
        mvf_frame_free(&previous);
        previous = frame;
    }
    mvf_frame_free(&previous);
    mvf_searcher_close(&searcher);
    mvf_source_close(&source);
    avfilter_graph_free(&d.graph);
    return fclose(file) ? 1 : 0;
}
