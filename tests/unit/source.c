/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <math.h>

#include <sys/stat.h>
#include <unistd.h>

#include "video/write.h"

/* A decoder that holds two frames back, refuses every second packet at first, and may fail. */
typedef struct fake {
    int n_packets, n_read, n_sent, n_received;
    int send_calls, draining;
    int damaged_packet, drain_failures;
} fake;

static int fake_read(void *context, AVPacket *packet)
{
    fake *f = context;
    if (f->n_read == f->n_packets)
        return AVERROR_EOF;
    packet->pts = f->n_read++;
    return 0;
}

static int fake_send(void *context, const AVPacket *packet)
{
    fake *f = context;
    if (!packet) {
        f->draining = 1;
        return 0;
    }
    if (f->n_sent - f->n_received > 2 || ++f->send_calls % 2 == 0)
        return AVERROR(EAGAIN);
    assert_int_equal(packet->pts, f->n_sent);
    f->n_sent++;
    return packet->pts == f->damaged_packet ? AVERROR_INVALIDDATA : 0;
}

static int fake_receive(void *context, AVFrame *frame)
{
    fake *f = context;
    int held = f->n_sent - f->n_received;
    if (f->draining && f->drain_failures-- > 0)
        return AVERROR_INVALIDDATA;
    if (held > (f->draining ? 0 : 2)) {
        frame->pts = f->n_received++;
        return 0;
    }
    return f->draining ? AVERROR_EOF : AVERROR(EAGAIN);
}

static int64_t decode_all(fake *f, int64_t *refused)
{
    mvf_decoder decoder = {.calls = {fake_read, fake_send, fake_receive}, .context = f};
    AVFrame *frame = av_frame_alloc();
    int64_t n = 0;
    decoder.packet = av_packet_alloc();
    while (mvf_decoder_next(&decoder, frame) >= 0) {
        assert_int_equal(frame->pts, n);
        n++;
        av_frame_unref(frame);
    }
    assert_int_equal(mvf_decoder_next(&decoder, frame), AVERROR_EOF);
    *refused = decoder.refused_packets;
    av_packet_free(&decoder.packet);
    av_frame_free(&frame);
    return n;
}

static void test_refused_packets_are_sent_again(void **state)
{
    int64_t refused;
    fake f = {.n_packets = 100, .damaged_packet = -1};
    (void)state;
    assert_int_equal(decode_all(&f, &refused), 100);
    assert_int_equal(refused, 0);
}

static void test_damage_stops_nothing(void **state)
{
    int64_t refused;
    fake f = {.n_packets = 10, .damaged_packet = 4, .drain_failures = 3};
    (void)state;
    assert_int_equal(decode_all(&f, &refused), 10);
    assert_int_equal(refused, 4);
}

static void expect_time(mvf_timeline *timeline, int64_t time, int64_t expected, int changed)
{
    int64_t result;
    assert_int_equal(mvf_timeline_next(timeline, time, 40, 1000, &result), changed);
    assert_int_equal(result, expected);
}

static void test_timeline(void **state)
{
    mvf_timeline timeline = {.last = 0};
    (void)state;
    expect_time(&timeline, 100, 100, 0);
    expect_time(&timeline, 140, 140, 0);
    expect_time(&timeline, 140, 141, 1);
    expect_time(&timeline, 180, 180, 0);
    expect_time(&timeline, MVF_NO_PTS, 220, 1);
    expect_time(&timeline, 2000, 2000, 0);
    expect_time(&timeline, 0, 2040, 1);
    expect_time(&timeline, 40, 2080, 0);
}

/* Clips of the tests, made by the ffmpeg command in a folder of their own. */
static char folder[] = "/tmp/mvfield-source-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[2][256];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void make_clip(const char *arguments, const char *name)
{
    char command[1024];
    snprintf(command, sizeof command,
             "ffmpeg -v error -y %s 'file:%s/%s' < /dev/null > /dev/null 2>&1", arguments, folder,
             name);
    if (system(command) != 0)
        skip();
}

#define TEST_CLIP "-f lavfi -i testsrc2=s=320x240:r=25:d=2 "
#define B_FRAMES TEST_CLIP "-c:v mpeg4 -bf 2 -q:v 4"

static int64_t count_frames(mvf_source *source)
{
    mvf_frame *frame;
    int64_t n = 0;
    while (mvf_source_read(source, &frame) == MVF_OK) {
        mvf_picture picture;
        int32_t width, height, depth;
        assert_int_equal(mvf_frame_get_picture(frame, &picture, &width, &height, &depth), MVF_OK);
        assert_int_equal(picture.frame, n);
        n++;
        mvf_frame_free(&frame);
    }
    return n;
}

static int64_t count_of(const char *name, int threads)
{
    mvf_source *source;
    mvf_source_options options;
    mvf_source_options_init(&options);
    options.threads = threads;
    assert_int_equal(mvf_source_open(&source, path_of(name), &options), MVF_OK);
    int64_t n = count_frames(source);
    mvf_source_close(&source);
    return n;
}

static void test_every_frame(void **state)
{
    (void)state;
    make_clip(B_FRAMES, "b.mp4");
    for (int threads = 0; threads <= 8; threads = threads ? threads * 2 : 1)
        assert_int_equal(count_of("b.mp4", threads), 50);
    make_clip("-f lavfi -i testsrc2=s=320x240 -frames:v 1", "one.png");
    assert_int_equal(count_of("one.png", 0), 1);
}

static void test_names(void **state)
{
    static const char *const names[] = {"clip:1.mp4", "50%03d.mp4", "-dash.mp4", "sp ace\nnl",
                                        "http:name"};
    (void)state;
    make_clip(B_FRAMES, "b.mp4");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char from[256];
        snprintf(from, sizeof from, "%s", path_of("b.mp4"));
        assert_int_equal(rename(from, path_of(names[i])), 0);
        assert_int_equal(count_of(names[i], 0), 50);
        assert_int_equal(rename(path_of(names[i]), from), 0);
    }
}

static int first_sample(const mvf_picture *picture, int32_t depth)
{
    return depth > 8 ? *(const uint16_t *)picture->data : *(const uint8_t *)picture->data;
}

/* A limited-range 8-bit luma of 74, in each format, is read back as that value at its depth. */
static void test_luma(void **state)
{
    static const struct {
        const char *format;
        int32_t depth, in_place;
    } formats[] = {
        {"yuv420p", 8, 1},      {"yuv422p", 8, 1},      {"nv12", 8, 1},
        {"yuva420p", 8, 1},     {"yuyv422", 8, 0},      {"uyvy422", 8, 0},
        {"yuv420p10le", 10, 1}, {"yuv420p10be", 10, 0}, {"yuv422p12le", 12, 1},
        {"yuv444p16be", 16, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char arguments[256];
        mvf_source *source;
        mvf_frame *frame;
        mvf_picture picture;
        int32_t width, height, depth;
        snprintf(arguments, sizeof arguments,
                 "-f lavfi -i nullsrc=s=34x18:r=25:d=0.1,format=yuv420p,geq=lum=74:cb=90:cr=200 "
                 "-pix_fmt %s -c:v rawvideo -f nut",
                 formats[i].format);
        make_clip(arguments, "luma.nut");
        assert_int_equal(mvf_source_open(&source, path_of("luma.nut"), NULL), MVF_OK);
        assert_int_equal(mvf_source_read(source, &frame), MVF_OK);
        mvf_source_close(&source);
        assert_int_equal(mvf_frame_get_picture(frame, &picture, &width, &height, &depth), MVF_OK);
        assert_true(width == 34 && height == 18);
        assert_int_equal(depth, formats[i].depth);
        assert_int_equal(first_sample(&picture, depth), 74 << (depth - 8));
        assert_int_equal(picture.data == mvf_frame_get_avframe(frame)->data[0],
                         formats[i].in_place);
        mvf_frame_free(&frame);
    }
}

/* A frame of the caller's own making, for a format that no container carries. */
static void test_luma_in_high_bits(void **state)
{
    mvf_logger logger = {NULL, NULL};
    AVBufferRef *converter = mvf_luma_converter_alloc(&logger);
    AVFrame *frame = av_frame_alloc(), *gray;
    (void)state;
    frame->format = AV_PIX_FMT_P010LE;
    frame->width = 32;
    frame->height = 16;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int i = 0; i < 2; i++)
        for (int y = 0; y < frame->height >> i; y++)
            for (int x = 0; x < frame->width; x++)
                ((uint16_t *)(void *)(frame->data[i] + y * frame->linesize[i]))[x] = 301 << 6;
    assert_int_equal(mvf_luma_depth_in_place(frame->format), 0);
    assert_int_equal(mvf_luma_convert(converter, frame, &gray), MVF_OK);
    assert_int_equal(mvf_luma_depth_in_place(gray->format), 10);
    assert_int_equal(((const uint16_t *)(const void *)gray->data[0])[5], 301);
    av_frame_free(&gray);
    av_frame_free(&frame);
    av_buffer_unref(&converter);
}

static void write_file(const char *name, const char *text, size_t n_bytes)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n_bytes, file), n_bytes);
    fclose(file);
}

static void expect_failure(const char *name, mvf_status status, const char *part)
{
    unit_messages messages;
    mvf_source *source;
    mvf_source_options options;
    mvf_source_options_init(&options);
    options.logger = unit_logger(&messages);
    assert_int_equal(mvf_source_open(&source, path_of(name), &options), status);
    assert_null(source);
    unit_assert_message(&messages, part);
}

static void test_not_a_video(void **state)
{
    (void)state;
    write_file("empty.mp4", "", 0);
    write_file("garbage.mp4", "this is no video, whatever its name says", 40);
    mkdir(path_of("folder.mp4"), 0777);
    expect_failure("empty.mp4", MVF_ERROR_DATA, "is empty");
    expect_failure("garbage.mp4", MVF_ERROR_DATA, "not a video");
    expect_failure("folder.mp4", MVF_ERROR_IO, "is a directory");
    expect_failure("missing.mp4", MVF_ERROR_IO, "No such file");
    make_clip("-f lavfi -i sine=d=0.2", "sound.wav");
    expect_failure("sound.wav", MVF_ERROR_NO_VIDEO, "no video stream");
}

static void test_truncated(void **state)
{
    static const char *const clips[] = {"cut.mp4", "cut.mkv", "cut.avi"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        mvf_source *source;
        mvf_source_report report;
        struct stat status;
        make_clip(i == 0 ? B_FRAMES " -movflags +faststart" : B_FRAMES, clips[i]);
        for (int cut = 0; cut < 2; cut++) {
            assert_int_equal(stat(path_of(clips[i]), &status), 0);
            if (cut)
                assert_int_equal(truncate(path_of(clips[i]), status.st_size * 6 / 10), 0);
            assert_int_equal(mvf_source_open(&source, path_of(clips[i]), NULL), MVF_OK);
            int64_t n = count_frames(source);
            mvf_source_get_report(source, &report);
            assert_int_equal(report.truncated, cut);
            assert_int_equal(report.frames, n);
            assert_true(cut ? n > 10 && n < 50 : n == 50);
            mvf_source_close(&source);
        }
    }
}

static int always(void *opaque)
{
    ++*(int *)opaque;
    return 1;
}

/* A FIFO that nobody writes to does not hold an interrupted caller. */
static void test_interrupt(void **state)
{
    int n_calls = 0;
    mvf_source *source;
    mvf_source_options options;
    (void)state;
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    mvf_source_options_init(&options);
    options.interrupt = always;
    options.interrupt_opaque = &n_calls;
    assert_int_equal(mvf_source_open(&source, path_of("fifo"), &options), MVF_ERROR_INTERRUPTED);
    assert_true(n_calls > 0);
}

static void write_overlay(const char *from, const char *to, mvf_status opened, int overwrite)
{
    mvf_source *source;
    mvf_overlay *overlay;
    mvf_overlay_options options;
    mvf_frame *frame;
    mvf_overlay_options_init(&options);
    options.overwrite = overwrite;
    assert_int_equal(mvf_source_open(&source, path_of(from), NULL), MVF_OK);
    assert_int_equal(mvf_overlay_open(&overlay, path_of(to), source, &options), opened);
    while (opened == MVF_OK && mvf_source_read(source, &frame) == MVF_OK) {
        assert_int_equal(mvf_overlay_write(overlay, frame, NULL, NULL), MVF_OK);
        mvf_frame_free(&frame);
    }
    if (opened == MVF_OK)
        assert_int_equal(mvf_overlay_close(&overlay), MVF_OK);
    assert_null(overlay);
    mvf_source_close(&source);
}

static void expect_same_times(const char *one, const char *other)
{
    mvf_source *sources[2];
    mvf_frame *frames[2];
    assert_int_equal(mvf_source_open(&sources[0], path_of(one), NULL), MVF_OK);
    assert_int_equal(mvf_source_open(&sources[1], path_of(other), NULL), MVF_OK);
    while (mvf_source_read(sources[0], &frames[0]) == MVF_OK) {
        mvf_picture pictures[2];
        int32_t width[2], height[2], depth;
        assert_int_equal(mvf_source_read(sources[1], &frames[1]), MVF_OK);
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                mvf_frame_get_picture(frames[i], &pictures[i], &width[i], &height[i], &depth),
                MVF_OK);
        assert_true(width[0] == width[1] && height[0] == height[1]);
        assert_int_equal(
            av_compare_ts(pictures[0].pts,
                          (AVRational){pictures[0].time_base.num, pictures[0].time_base.den},
                          pictures[1].pts,
                          (AVRational){pictures[1].time_base.num, pictures[1].time_base.den}),
            0);
        mvf_frame_free(&frames[0]);
        mvf_frame_free(&frames[1]);
    }
    assert_int_equal(mvf_source_read(sources[1], &frames[1]), MVF_EOF);
    mvf_source_close(&sources[0]);
    mvf_source_close(&sources[1]);
}

static void test_overlay_keeps_frames_and_times(void **state)
{
    (void)state;
    make_clip(TEST_CLIP "-vf \"select='not(mod(n,3))+not(mod(n,7))'\" -vsync vfr -c:v mpeg4 -q:v 4",
              "vfr.mp4");
    write_overlay("vfr.mp4", "vfr-out.mp4", MVF_OK, 0);
    expect_same_times("vfr.mp4", "vfr-out.mp4");
    make_clip("-f lavfi -i testsrc=s=321x241:r=25:d=0.4 -c:v ffv1", "odd.mkv");
    write_overlay("odd.mkv", "odd-out.mkv", MVF_OK, 0);
    expect_same_times("odd.mkv", "odd-out.mkv");
}

static void test_overlay_names(void **state)
{
    (void)state;
    make_clip(B_FRAMES, "b.mp4");
    write_overlay("b.mp4", "b.mp4", MVF_ERROR_EXISTS, 0);
    write_overlay("b.mp4", "b-out.txt", MVF_ERROR_ARGUMENT, 0);
    write_overlay("b.mp4", "no-folder/b.mp4", MVF_ERROR_IO, 0);
    write_overlay("b.mp4", "b.mp4", MVF_OK, 1);
    assert_int_equal(count_of("b.mp4", 0), 50);
}

static uint64_t sum_of_planes(const struct AVFrame *frame)
{
    uint64_t sum = 0;
    for (int plane = 0; plane < 3 && frame->data[plane]; plane++)
        for (int y = 0; y < (plane ? frame->height / 2 : frame->height); y++)
            for (int x = 0; x < (plane ? frame->width / 2 : frame->width); x++)
                sum = sum * 31 + frame->data[plane][y * frame->linesize[plane] + x];
    return sum;
}

/* Every mode and layout, over every kind of ground: the frame that is drawn over stays as it was.
 */
static void test_overlay_leaves_frames(void **state)
{
    mvf_source *source;
    mvf_frame *frame;
    mvf_field *field;
    (void)state;
    make_clip(B_FRAMES, "b.mp4");
    assert_int_equal(mvf_source_open(&source, path_of("b.mp4"), NULL), MVF_OK);
    assert_int_equal(mvf_source_read(source, &frame), MVF_OK);
    struct AVFrame *av = mvf_frame_get_avframe(frame);
    uint64_t before = sum_of_planes(av);
    assert_int_equal(mvf_field_alloc(&field, 1, 1), MVF_OK);
    field->width = av->width;
    field->height = av->height;
    field->mv_scale = 4;
    field->bit_depth = 8;
    field->blocks[0] =
        (mvf_block){.w = 64, .h = 64, .mv_x = 40, .mv_y = 8, .dir = -1, .cost = 9999};
    for (int setting = 0; setting < 6; setting++) {
        mvf_overlay *overlay;
        mvf_overlay_options options;
        mvf_overlay_options_init(&options);
        options.overwrite = options.legend = options.caption = 1;
        options.draw = 2 * MVF_DRAW_ARROWS - 1;
        options.layout = (mvf_layout)(setting % 2);
        options.ground = (mvf_ground)(setting / 2);
        options.codec = "ffv1";
        assert_int_equal(mvf_overlay_open(&overlay, path_of("left.mkv"), source, &options), MVF_OK);
        assert_int_equal(mvf_overlay_write(overlay, frame, field, field), MVF_OK);
        assert_int_equal(mvf_overlay_close(&overlay), MVF_OK);
        assert_true(sum_of_planes(av) == before);
    }
    mvf_field_free(&field);
    mvf_frame_free(&frame);
    mvf_source_close(&source);
}

static void expect_refused(const mvf_overlay_options *options)
{
    mvf_source *source;
    mvf_overlay *overlay;
    assert_int_equal(mvf_source_open(&source, path_of("b.mp4"), NULL), MVF_OK);
    assert_int_equal(mvf_overlay_open(&overlay, path_of("refused.mkv"), source, options),
                     MVF_ERROR_ARGUMENT);
    assert_null(overlay);
    mvf_source_close(&source);
}

static void test_overlay_options(void **state)
{
    (void)state;
    make_clip(B_FRAMES, "b.mp4");
    for (int wrong = 0; wrong < 7; wrong++) {
        mvf_overlay_options options;
        mvf_overlay_options_init(&options);
        options.arrow_scale = wrong == 0 ? 0 : 1;
        options.max_motion_px = wrong == 1 ? NAN : 16;
        options.max_cost = wrong == 2 ? -1 : 16;
        options.opacity = wrong == 3 ? 1.5 : 1;
        options.quality = wrong == 4 ? 101 : 1;
        options.draw = wrong == 5 ? 64 : 1;
        options.layout = (mvf_layout)(wrong == 6 ? 2 : 0);
        expect_refused(&options);
    }
}

static void test_image_names(void **state)
{
    static const char *const names[][2] = {
        {"a.png", "a-000042.png"},
        {"a%d.png", "a42.png"},
        {"a%03d.png", "a042.png"},
        {"a%s%d.b.jpg", "a%s42.b.jpg"},
        {"50%.d/a.png", "50%.d/a-000042.png"},
        {"a%99d.png", "a%99d-000042.png"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *name = mvf_image_name(names[i][0], 42);
        assert_string_equal(name, names[i][1]);
        free(name);
    }
}

static int make_folder(void **state)
{
    (void)state;
    mvf_ffmpeg_quiet();
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_packets_are_sent_again),
        cmocka_unit_test(test_damage_stops_nothing),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_every_frame),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_luma),
        cmocka_unit_test(test_luma_in_high_bits),
        cmocka_unit_test(test_not_a_video),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_overlay_keeps_frames_and_times),
        cmocka_unit_test(test_overlay_names),
        cmocka_unit_test(test_overlay_leaves_frames),
        cmocka_unit_test(test_overlay_options),
        cmocka_unit_test(test_image_names),
    };
    return cmocka_run_group_tests_name("source", tests, make_folder, remove_folder);
}
