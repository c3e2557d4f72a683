/*
 * mvfield/video.h - libmvfield-video: frames from whatever FFmpeg opens, overlays to video files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_VIDEO_H
#define MVFIELD_VIDEO_H

#include <mvfield/mvfield.h>

#ifdef __cplusplus
extern "C" {
#endif

/* FFmpeg's frame, for callers that use FFmpeg themselves. */
struct AVFrame;

/*
 * Asked again and again while a call waits for a file, a pipe or the network; non-zero makes the
 * call return MVF_ERROR_INTERRUPTED. Called on the threads that read.
 */
typedef int (*mvf_interrupt_callback)(void *opaque);

/* What decodes. */
typedef enum mvf_hwaccel {
    /* NVDEC where a CUDA device can be opened and the codec is one that all decoders agree on bit
     * for bit (H.264, HEVC, VP8, VP9, AV1), else the processor. */
    MVF_HWACCEL_AUTO = 0,
    /* The processor. */
    MVF_HWACCEL_NONE = 1,
    /* NVDEC for all codecs that it serves; mvf_source_open() fails without a CUDA device. */
    MVF_HWACCEL_CUDA = 2
} mvf_hwaccel;

/* How a source is opened. */
typedef struct mvf_source_options {
    /* Set by mvf_source_options_init(). */
    size_t struct_size;
    /* Index of the stream in the file; -1 (the default): the best video stream, never cover art. */
    int32_t stream;
    /* Decoder threads; 0 (the default): as many as the decoder wants. */
    int32_t threads;
    /* Keep audio and subtitle packets for an overlay that writes them. Default 0. */
    int32_t keep_other_streams;
    /* NULL (the default): nothing interrupts. `interrupt_opaque` is handed to it. */
    mvf_interrupt_callback interrupt;
    void *interrupt_opaque;
    /* Gets the messages. Default none. */
    mvf_logger logger;
    /* Have the decoder export the codec's own vectors, which costs it some speed, for
     * mvf_frame_get_codec_field(). Default 0. With a codec whose decoder exports none,
     * mvf_source_read() soon fails: MVF_ERROR_UNSUPPORTED. */
    int32_t codec_vectors;
    /* How long an input may give nothing before it is given up, in ms; 0: for ever. Default -1: 30
     * s for what is not local, 10 minutes for pipes, FIFOs, sockets and devices. The frames before
     * are all read; the report says timed_out. Regular files have no limit, and the time that a
     * caller takes between reads does not count. */
    int32_t timeout_ms;
    /* Frames of more px are refused before memory is taken for them, as if damaged; 1 or more.
     * Default 2^27, which 16384 x 8192 px are. Each side is at most MVF_MAX_DIMENSION in any case.
     */
    int64_t max_pixels;
    /*
     * Default none. Frames that NVDEC decodes lie in the memory of CUDA device `device` (from 0,
     * the default), see mvf_frame_get_picture(); some come in host memory all the same, when the
     * caller holds more than six of a source. They have the samples that decoding in software
     * gives, MPEG-1, MPEG-2, MPEG-4 and VC-1 excepted, whose standards leave the last bit open.
     * What NVDEC does not take (a profile, a chroma format, a size) is decoded in software, and so
     * is the whole of an input that shows damage; the logger gets a line. Codec vectors need
     * software.
     *
     * NVDEC conceals damage without a word: only what FFmpeg finds in headers and packets, or the
     * container marks, counts as damage then. Use none where damage has to be known.
     */
    mvf_hwaccel hwaccel;
    int32_t device;
} mvf_source_options;

/* Fills in the defaults. */
MVF_API void mvf_source_options_init(mvf_source_options *options);

/* A video that is open for reading, and one of its frames. */
typedef struct mvf_source mvf_source;
typedef struct mvf_frame mvf_frame;

/* What the container says. Sizes and formats of frames are each frame's own. */
typedef struct mvf_source_info {
    /* FFmpeg's short names; static storage. */
    const char *container;
    const char *codec;
    /* The stream that is read, and its size in px as coded. */
    int32_t stream;
    int32_t width, height;
    /* As the container guesses it; 0/1 where it does not say. */
    mvf_rational frame_rate;
    /* The unit of time stamps in seconds. */
    mvf_rational time_base;
    mvf_rational sample_aspect;
    /* Clockwise turn in degrees that a player applies. Fields are in coded orientation. */
    int32_t rotation;
    /* A hint for progress display only: 0 where unknown, and often wrong. */
    int64_t frame_count_hint;
    /* Non-zero: the input is no regular file, so that frames may come as they are made. */
    int32_t is_live;
    /* What decodes, none or cuda, as far as the codec alone tells. */
    mvf_hwaccel hwaccel;
} mvf_source_info;

/*
 * Opens `url`: a file, "-" for standard input, a device or a network address. A local file of
 * exactly that name always wins over any other reading of it, so ':', '%' or a leading '-' mean
 * nothing there; a name with a pattern such as "%04d" that no file has is an image sequence. Pipes
 * and FIFOs are waited for, the interrupt callback being asked about every 50 ms.
 *
 * A local file reaches nothing but itself, whatever is in it, unless its extension says that it is
 * a playlist (.m3u8 .m3u .mpd .ffconcat .concat), which may name other local files. Any other name
 * is FFmpeg's to read, its protocols included ("concat:a|b", "http://..."): names that strangers
 * choose want a "./" before them, which makes any of them a file.
 *
 * Files are decoded by several threads. At the first sign of damage they are read once more, by one
 * thread, so that each run gives the same frames; pipes, FIFOs, devices and network addresses are
 * read so from the start, and no frame of theirs is held back. With FFmpeg before 6.1, one kind of
 * damage shows for certain with threads = 1 only: slices of H.264 that are missing or end early and
 * leave no error behind.
 *
 * `options` may be NULL; they are copied. On failure *source is NULL: MVF_ERROR_IO,
 * MVF_ERROR_DATA, MVF_ERROR_NO_VIDEO, MVF_ERROR_ARGUMENT (no such stream, or not a video one),
 * MVF_ERROR_UNSUPPORTED (no decoder, or hwaccel cuda in a build without it), MVF_ERROR_NO_DEVICE
 * and MVF_ERROR_DEVICE (hwaccel cuda), MVF_ERROR_INTERRUPTED, MVF_ERROR_MEMORY. A source serves one
 * thread at a time; its frames may go to other threads and outlive it.
 */
MVF_API mvf_status mvf_source_open(mvf_source **source, const char *url,
                                   const mvf_source_options *options);

/* Lives as long as the source. */
MVF_API const mvf_source_info *mvf_source_get_info(const mvf_source *source);

/*
 * Reads the next frame in presentation order; the caller owns it, and its samples stay where the
 * decoder put them. Goes on past damage, which is counted. MVF_EOF after the last frame, when the
 * decoder has been drained; MVF_ERROR_DATA instead if there was no frame at all. MVF_ERROR_MEMORY,
 * MVF_ERROR_INTERRUPTED; MVF_ERROR_UNSUPPORTED (codec_vectors, or all frames are too large). After
 * any of these, each further call returns the same.
 */
MVF_API mvf_status mvf_source_read(mvf_source *source, mvf_frame **frame);

/*
 * Before the first read: goes on to the frame of that number without decoding all before it, where
 * the numbers of frames can be told from the container alone. *next is the number of the frame that
 * mvf_source_read() then returns: `frame`, or 0 where that cannot be told. Frames have the numbers
 * and the samples that they have in a run from the start, as long as the part in between is not
 * damaged. MVF_ERROR_IO, MVF_ERROR_INTERRUPTED.
 */
MVF_API mvf_status mvf_source_seek(mvf_source *source, int64_t frame, int64_t *next);

/*
 * Before the first read: cuts the input into `count` parts, of about as many packets each, and says
 * which frames' fields are part `index`, from 0 (first, end and input of *shard; its settings are
 * the caller's). Where it is cut depends on the file alone: at frames from which on decoding gives
 * what it gives in a run from the start. All of the file's packets are read, but none decoded; an
 * input that cannot be cut (whose packets lack times, say) is one part, and the others are empty.
 *
 * The field of a part's first frame needs the frame before it: mvf_source_seek() goes there without
 * decoding more, and has to be called before mvf_source_read(), for frame 0 too. While a part is
 * read, its frames are held against what its packets promise: where there are others, or where it
 * is damaged just after a cut, mvf_source_read() fails (MVF_ERROR_DATA), since the numbers of later
 * parts' frames would be wrong; such a file can be read whole only.
 *
 * MVF_ERROR_ARGUMENT (no such part), MVF_ERROR_UNSUPPORTED (not a local file), MVF_ERROR_IO,
 * MVF_ERROR_INTERRUPTED, MVF_ERROR_MEMORY.
 */
MVF_API mvf_status mvf_source_cut(mvf_source *source, int32_t index, int32_t count,
                                  mvf_shard *shard);

/* Tells the input from any other, wherever the file lies and whatever its name is, by its size and
 * by what it begins and ends with. MVF_ERROR_UNSUPPORTED (not a local file), MVF_ERROR_IO,
 * MVF_ERROR_MEMORY. */
MVF_API mvf_status mvf_source_identify(const mvf_source *source, uint8_t id[16]);

/* What has been seen so far. */
typedef struct mvf_source_report {
    /* Frames that were read. */
    int64_t frames;
    /* Frames that the decoder marked as damaged, and packets that it refused or that could not be
     * read. */
    int64_t damaged_frames;
    int64_t refused_packets;
    /* Index of the first frame that was damaged or follows a refused packet (as far as the
     * decoder's threads let that be told), `frames` where none follows; MVF_NO_FRAME. */
    int64_t first_damage;
    /* Non-zero, after MVF_EOF: the input ended before its header or index (MP4, Matroska, AVI) says
     * that it should, in the middle of a packet, or by a read error. */
    int32_t truncated;
    /* Non-zero, after MVF_EOF: the input gave nothing for timeout_ms and was given up. */
    int32_t timed_out;
    /* Sessions with NVDEC that were asked for, by the source and by the readers of its sections.
     * One takes some 70 ms on an H200, in which no other is made. */
    int64_t gpu_sessions;
} mvf_source_report;

/* Fills in *report; may be called at any time. */
MVF_API void mvf_source_get_report(const mvf_source *source, mvf_source_report *report);

/* Closes *source and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_source_close(mvf_source **source);

/*
 * Describes the frame's luma as a picture that stays valid as long as the frame: in place for gray
 * and for YUV whose luma is a plane of 8 to 16 bits in the machine's byte order, converted to gray
 * of the same depth otherwise (RGB, palettes, packed YUV, P010; once, the frame keeps the result).
 * Alpha is ignored, and the range of YUV kept. Sizes and depth come with it. A frame in device
 * memory is described there, with the stream that the decoder works on: a search on the same device
 * takes it without a copy. MVF_ERROR_UNSUPPORTED, MVF_ERROR_ARGUMENT (the samples were given up),
 * MVF_ERROR_MEMORY. A frame serves one thread at a time.
 */
MVF_API mvf_status mvf_frame_get_picture(mvf_frame *frame, mvf_picture *picture, int32_t *width,
                                         int32_t *height, int32_t *bit_depth);

/*
 * Brings a frame from device memory to host memory, as decoding in software gives it, and gives up
 * the former; a picture of it is to be asked for anew. Does nothing for a frame in host memory.
 * MVF_ERROR_DEVICE, MVF_ERROR_MEMORY.
 */
MVF_API mvf_status mvf_frame_download(mvf_frame *frame);

/*
 * Gives up the frame's samples, and the decoder's memory with them, while other owners of the frame
 * keep theirs; its number, times and flags stay. For frames that wait for their field, which has
 * taken the samples already. MVF_ERROR_MEMORY: they are still there.
 */
MVF_API mvf_status mvf_frame_drop_samples(mvf_frame *frame);

/* Non-zero: the decoder marked the frame as damaged. */
MVF_API int32_t mvf_frame_is_damaged(const mvf_frame *frame);

/* Non-zero: the decoder could start at this frame. */
MVF_API int32_t mvf_frame_is_key(const mvf_frame *frame);

/*
 * The vectors that the codec coded the frame with, as FFmpeg exports them; the source was opened
 * with codec_vectors. A frame that has none (each I frame) gives a field without blocks.
 *
 * One block a vector, in the decoder's order; a block predicted from both sides has two. x and y
 * are the block's corner (FFmpeg's dst is its centre), w and h what of it is inside the frame,
 * which may be nothing in the rows that the codec adds below the picture. Vectors are exact, in the
 * codec's own unit (mv_scale 2, 4 or 8). dir is the side that the reference is on, as far as the
 * codec tells: H.264 and MPEG give the reference list, of which list 0 counts as the past. Which
 * frame it is remains unknown: ref is -1. There is no cost (0). Intra blocks are not there at all.
 *
 * What FFmpeg does not tell: H.264 partitions below 8 x 8 (the 8 x 8 block then has the vector of
 * its first part), and fields of interlaced frames (in macroblocks coded as fields, the y of 16 x 8
 * and 8 x 16 vectors is scaled to frame lines, that of other sizes is not).
 *
 * The caller owns *field. MVF_ERROR_DATA (vectors without a usable unit), MVF_ERROR_MEMORY.
 * `logger` may be NULL.
 */
MVF_API mvf_status mvf_frame_get_codec_field(const mvf_frame *frame, mvf_field **field,
                                             const mvf_logger *logger);

/* FFmpeg's frame, owned by `frame`; in device memory its format is AV_PIX_FMT_CUDA. */
MVF_API struct AVFrame *mvf_frame_get_avframe(mvf_frame *frame);

/*
 * Attaches the field's vectors to a frame as AV_FRAME_DATA_MOTION_VECTORS, in place of any that are
 * there, so that FFmpeg's tools (the codecview filter, whatever reads side data) see them as a
 * codec's: dst is a block's centre, src = dst + motion / motion_scale rounded towards zero.
 * FFmpeg's positions have 16 bits: in frames wider or higher than 32767 px they wrap.
 * MVF_ERROR_MEMORY.
 */
MVF_API mvf_status mvf_field_attach(const mvf_field *field, struct AVFrame *frame);

/* A second owner of the same frame, or NULL when memory runs out. */
MVF_API mvf_frame *mvf_frame_ref(const mvf_frame *frame);

/* Gives up *frame and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_frame_free(mvf_frame **frame);

/* What an overlay draws, from below to the top; any of them together. */
enum {
    /* The cost per px as heat: black, violet, orange, yellow. */
    MVF_DRAW_COST = 1 << 0,
    /* Each block in the colour of its motion on the wheel of Baker et al. (2007): white is still,
     * the direction's colour is max_motion_px, darker is beyond. */
    MVF_DRAW_WHEEL = 1 << 1,
    /* Red where two fields lie more than 0.75 px apart, strongest from max_motion_px on; violet
     * stripes where only one of them has a vector. */
    MVF_DRAW_DIFFERENCE = 1 << 2,
    /* The edges of blocks, all alike. */
    MVF_DRAW_GRID = 1 << 3,
    /* Each block's edge in the colour of its reference: yellow to red for the first to the fourth
     * and later one in the past, blue to green for the future; a block that has both shows both. */
    MVF_DRAW_PARTITIONS = 1 << 4,
    /* See mvf_overlay_write(). */
    MVF_DRAW_ARROWS = 1 << 5
};

/* Where the drawing stands. */
typedef enum mvf_layout {
    MVF_LAYOUT_OVER = 0,
    /* The source beside what is drawn, left and right as watched. */
    MVF_LAYOUT_SIDE = 1
} mvf_layout;

/* What is drawn on. */
typedef enum mvf_ground {
    MVF_GROUND_VIDEO = 0,
    MVF_GROUND_BLACK = 1,
    MVF_GROUND_GRAY = 2
} mvf_ground;

/* What an overlay draws, and how it is written. */
typedef struct mvf_overlay_options {
    /* Set by mvf_overlay_options_init(). */
    size_t struct_size;
    /* Whether an existing file may be replaced, or one that is there when this one is complete.
     * Default 0. Symbolic links are followed; a device or a pipe is written in place. */
    int32_t overwrite;
    /* Encoder threads; 0 (the default): as many as the encoder wants. */
    int32_t threads;
    /* Gets the messages. Default none. */
    mvf_logger logger;
    /* MVF_DRAW_ bits. Default MVF_DRAW_ARROWS. */
    uint32_t draw;
    /* Arrows are drawn this many times as long as the motion; above 0. Default 1. */
    double arrow_scale;
    /* The motion in px at the rim of the wheel, the same for all frames; above 0. Default 16. */
    double max_motion_px;
    /* The cost per px, in units of 8 bits at any depth, that is brightest; above 0. Default 16. */
    double max_cost;
    /* Of areas in colour, 0 to 1. Default -1: 0.6 over the video, 1 on a plain ground. */
    double opacity;
    /* Default over the video. */
    mvf_layout layout;
    /* Default the video. */
    mvf_ground ground;
    /* Non-zero: what colours and lengths mean, in the corner on the bottom right. Default 0. */
    int32_t legend;
    /* Non-zero: frame number, time and picture type, in the corner on the top left. Needs a font:
     * else a warning says that there are no words. Default 0. */
    int32_t caption;
    /* FFmpeg's name of a codec or an encoder; NULL (the default): what suits the file. It is
     * copied.
     */
    const char *codec;
    /* 1 to 100, from smallest to best; 0 (the default): good to look at. */
    int32_t quality;
    /* Images: write the first frame under exactly the name given, and no more. Default 0. */
    int32_t single_image;
    /* Non-zero: 8 bits, 4:2:0, even sizes (an odd one is scaled up by a px), which browsers play.
     * Default 0. */
    int32_t for_browsers;
} mvf_overlay_options;

/* Fills in the defaults. */
MVF_API void mvf_overlay_options_init(mvf_overlay_options *options);

/* A video that is being written. */
typedef struct mvf_overlay mvf_overlay;

/*
 * Opens a video file that will hold the source's frames with fields drawn over them. Its kind goes
 * by the extension:
 *
 *   .mp4 .m4v .mov .mkv .avi   H.264 where FFmpeg has libx264 or libopenh264, else MPEG-4
 *   .webm                      VP9 where FFmpeg has libvpx, else AV1
 *   .gif .apng .webp           animations without sound
 *   .png .jpg .jpeg            an image a frame, named by the frame's number in the source: where
 *                              the path holds a %d (or %06d), else before the extension, as in
 *                              x-000012.png
 *   .y4m, or "-"               raw video for players and FFmpeg; "-" is standard output
 *
 * The encoder opens with the first frame. More than 8 bits become 10 where the encoder takes them;
 * gray and RGB become 4:2:0, odd sizes 4:4:4. Aspect, rotation, colour tags and range are the
 * source's; images are RGB, JPEG of full range. Where the kind of file has no mark for rotation
 * (all but .mp4, .m4v and .mov, and from FFmpeg 6.1 on .mkv and .webm), the pixels are turned after
 * the drawing. The source's audio and subtitles are copied where the container takes them (open the
 * source with keep_other_streams; what is left out is named in a warning). Text subtitles that it
 * does not take become MOV text in .mp4, .m4v and .mov and WebVTT in .webm, where a text that
 * cannot be converted is left out; MOV shows one text at a time, until the next one starts. A frame
 * whose size is not the first one's is scaled to that size after the drawing.
 *
 * Every frame keeps its time, to the ms in .mkv and .webm, to 1/100 s in .gif, to the frame in .avi
 * and .y4m. Times that do not grow are moved by the least that makes them, a jump back of a second
 * or more continues one frame later, and a video whose first time is negative starts at 0; each is
 * said once.
 *
 * A file appears under its name when it is complete: images one by one, others when
 * mvf_overlay_close() succeeds. On failure *overlay is NULL: MVF_ERROR_ARGUMENT (unknown extension,
 * an option out of range), MVF_ERROR_EXISTS, MVF_ERROR_IO, MVF_ERROR_UNSUPPORTED (no such encoder,
 * or not in this kind of file), MVF_ERROR_MEMORY. `options` may be NULL. An overlay serves one
 * thread at a time, which need not be the one that reads the source; close it before the source.
 */
MVF_API mvf_status mvf_overlay_open(mvf_overlay **overlay, const char *path, mvf_source *source,
                                    const mvf_overlay_options *options);

/*
 * Draws `field` (NULL or without blocks: nothing) over a copy of `frame` and encodes it. `against`
 * is the field that MVF_DRAW_DIFFERENCE compares it with, else NULL.
 *
 * An arrow shows how the content moved, y downwards. For a past reference (dir -1) it starts where
 * the content was in the reference, at the block's centre plus the vector, and its tip is the
 * block's centre; for a future one (dir +1) it starts at the centre and its tip is the centre plus
 * the vector. Its outline is dark for the past, light for the future. Searched and codec vectors
 * are drawn alike. The colour is the direction on the wheel: right red, down yellow, left cyan, up
 * violet. A zero vector is a gray dot; a block without a vector has no arrow. On grids of less than
 * 8 px, one block in so many has an arrow that they are 12 px or little more apart.
 *
 * Wheel, cost and partitions cover what has no vector (intra blocks, holes) with gray stripes.
 * Where several vectors share a place, wheel, cost and difference show that of the smallest cost,
 * the first of equals.
 *
 * MVF_ERROR_ARGUMENT (a field's size is not the frame's), MVF_ERROR_UNSUPPORTED (no encoder),
 * MVF_ERROR_EXISTS (an image), MVF_ERROR_IO, MVF_ERROR_MEMORY. After these, but the first, the
 * overlay can only be discarded.
 */
MVF_API mvf_status mvf_overlay_write(mvf_overlay *overlay, mvf_frame *frame, const mvf_field *field,
                                     const mvf_field *against);

/* Completes the file under its final name and frees *overlay, which becomes NULL. On failure
 * nothing is left under that name: MVF_ERROR_IO, MVF_ERROR_DATA (there was no frame). May be called
 * at any frame, for a valid file that ends there. Does nothing for NULL. */
MVF_API mvf_status mvf_overlay_close(mvf_overlay **overlay);

/* Frees *overlay and removes what it wrote; does nothing for NULL. */
MVF_API void mvf_overlay_discard(mvf_overlay **overlay);

/*
 * Silences FFmpeg's own messages for the whole process (av_log_set_level()), which otherwise reach
 * standard error beside those of the loggers. For programs; the library never calls it.
 */
MVF_API void mvf_ffmpeg_quiet(void);

/* The versions of FFmpeg's libraries in use, as "libavformat 59.27.100, ...". Static storage. */
MVF_API const char *mvf_ffmpeg_versions(void);

#ifdef __cplusplus
}
#endif

#endif
