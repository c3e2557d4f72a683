/*
 * mvfield/search.h - block-matching motion search: pictures in, fields out.
 *
 * What is returned is fixed, whatever engine computes it: for every block the candidate vector with
 * the smallest (cost, dx^2 + dy^2, dy, dx), compared in that order; for MVF_METHOD_TRUEMOTION what
 * its own rules say. The CPU at every instruction level and thread count and CUDA on every device
 * return the same bytes.
 *
 * A searcher serves one thread at a time; any number of searchers run side by side. The library has
 * no global state.
 *
 *     mvf_options options;
 *     mvf_options_init(&options);
 *     mvf_field *field = NULL;
 *     mvf_status status = mvf_search(&options, 1920, 1080, 8, &current, &reference, &field);
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_SEARCH_H
#define MVFIELD_SEARCH_H

#include <mvfield/field.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who computes. */
typedef enum mvf_backend {
    /* CUDA where a device can be used, else the CPU, with one message that says why. */
    MVF_BACKEND_AUTO = 0,
    MVF_BACKEND_CPU = 1,
    /*
     * CUDA, or an error. CUDA serves everything, smoothing included; averages of two references,
     * and vector medians of references that are merged, are made on the CPU, after the search.
     */
    MVF_BACKEND_CUDA = 2
} mvf_backend;

/* How vectors are searched for. */
typedef enum mvf_method {
    /* Every vector of the window; the answer is exact however it is computed. */
    MVF_METHOD_FULL = 0,
    /* Hierarchical: all vectors on a smaller level of the frame, then only those near the
     * neighbours' on the larger ones (search/rule.h has every detail). Much faster over large
     * ranges, and close to exact: a defined algorithm with one answer. */
    MVF_METHOD_HIER = 1,
    /* The zero vector, and the windows of +-refine_range px round the block's predictor and hints
     * (mvf_guides), cut to the range. */
    MVF_METHOD_REFINE = 2,
    /*
     * Where things moved, rather than what predicts best: a pyramid, paths of smooth motion through
     * each cell's best candidates, weighted medians, and a check against the motion from reference
     * to current. Vectors of any length up to 1023 px, in 1/16 px, for cells of 4 x 4 px or for
     * every pixel (step); the field has a confidence for each block, and flags for what is hidden
     * in the reference and for what has no texture. A block's cost is that of matching its cell, 0
     * to 960, in the method's own measure. Of the options only backend, step, effort, threads,
     * cpu_level and max_in_flight matter; those for metrics, rates, sub-sample steps, partitions
     * and merging must be left alone. On the CPU, a pair keeps two threads busy; a picture takes
     * some 25 bytes a px while it is in use. On CUDA a picture takes some 23 bytes a px of the
     * device's memory and a pair 17 (33 with step 1 at high effort): several of both while all take
     * less than 710 MB, else two pictures and a pair, 540 MB at 3840x2160 with step 4.
     */
    MVF_METHOD_TRUEMOTION = 3
} mvf_method;

/* Of MVF_METHOD_TRUEMOTION. */
typedef enum mvf_effort {
    MVF_EFFORT_HIGH = 0,
    /* Fewer samples, paths and steps: less work, and 3 to 5 % more error (PERFORMANCE.md). */
    MVF_EFFORT_LOW = 1
} mvf_effort;

/* What lies outside the reference. */
typedef enum mvf_edges {
    /* Reference samples outside the frame repeat the nearest edge sample. */
    MVF_EDGES_CLAMP = 0,
    /* Vectors whose prediction would leave the frame are not candidates; (0, 0) always is one. */
    MVF_EDGES_INSIDE = 1
} mvf_edges;

/* How a block is compared with its prediction. */
typedef enum mvf_metric {
    /* Sum of absolute differences. */
    MVF_METRIC_SAD = 0,
    /* Sum of squared differences. Costs have 32 bits, so blocks are limited above 8 bits a sample:
     * 64 x 32 px at 10 bits, 128 px in all at 12, none at 14 and above (MVF_ERROR_UNSUPPORTED). */
    MVF_METRIC_SSD = 1,
    /* Sum of absolute values of the Hadamard transform of the differences, in tiles of 8 x 8 px
     * ((sum + 2) / 4 a tile) or, where the smallest block has a side of 4, of 4 x 4 ((sum + 1) / 2
     * a tile). Where a tile leaves the frame, the difference counts as zero. */
    MVF_METRIC_SATD = 2,
    /* The same with tiles of 4 x 4 always. */
    MVF_METRIC_SATD4 = 3
} mvf_metric;

/* How fine vectors are refined. */
typedef enum mvf_subpel {
    MVF_SUBPEL_NONE = 0,
    /* The eight half-sample neighbours of the best whole-sample vector. */
    MVF_SUBPEL_HALF = 1,
    /* The same, then the eight quarter-sample neighbours of the best of these. */
    MVF_SUBPEL_QUARTER = 2
} mvf_subpel;

/* How samples between samples are made, bit for bit as the standards say, clipped to the bit depth.
 * What the filters read outside the frame repeats the nearest edge sample. */
typedef enum mvf_interpolation {
    /* ITU-T H.264: 6 taps for half samples, averages for quarters. */
    MVF_INTERPOLATION_H264 = 0,
    /* ITU-T H.265 (and VVC's quarter positions): 8 and 7 taps. */
    MVF_INTERPOLATION_HEVC = 1,
    MVF_INTERPOLATION_BILINEAR = 2
} mvf_interpolation;

/* Which blocks get a vector. */
typedef enum mvf_partitions {
    /* Those of the grid. */
    MVF_PARTITIONS_FIXED = 0,
    /* The squares of the grid and the squares that they split into by four, down to
     * partition_min, from one pass: the best vector and cost of each are what a search with blocks
     * of that size alone would find. */
    MVF_PARTITIONS_SQUARE = 1,
    /* These, and the two halves both ways of every square that can be split. */
    MVF_PARTITIONS_RECT = 2
} mvf_partitions;

/* Which partitions come back. */
typedef enum mvf_partition_output {
    /* Those of the cheapest cut of each largest square: they cover the frame once. */
    MVF_PARTITION_TREE = 0,
    /* All: they cover the frame once for each level. */
    MVF_PARTITION_ALL = 1
} mvf_partition_output;

/* What becomes of several references. */
typedef enum mvf_merge {
    /* Each has its own layer of blocks. */
    MVF_MERGE_NONE = 0,
    /* One layer: each block takes the reference with the smallest (J, index). */
    MVF_MERGE_BEST = 1,
    /* The same, or the rounded-up average of the predictions from the two best references where
     * that has a smaller J (its cost + both rates): then the block has two entries, with
     * MVF_BLOCK_AVERAGE. The field follows no grid. */
    MVF_MERGE_AVERAGE = 2
} mvf_merge;

/* What is done to searched vectors, so that neighbours agree: by whoever searches (mvf_backend). */
typedef enum mvf_smooth {
    MVF_SMOOTH_NONE = 0,
    /* mvf_field_smooth(): vector medians. */
    MVF_SMOOTH_MEDIAN = 1,
    /*
     * Paths: each block keeps its vector or takes another block's that costs it little more and
     * fits its surroundings better (search/path_rule.h). The cost is that of the new vector.
     */
    MVF_SMOOTH_PATH = 2
} mvf_smooth;

/* x86-64 instruction levels; other processors have MVF_CPU_C alone. */
typedef enum mvf_cpu_level {
    MVF_CPU_C = 0,
    MVF_CPU_SSE2 = 1,
    MVF_CPU_SSSE3 = 2,
    MVF_CPU_AVX2 = 3,
    MVF_CPU_AVX512 = 4,
    /* The highest that this machine runs. */
    MVF_CPU_BEST = 255
} mvf_cpu_level;

/* Limits of the options below. */
#define MVF_MAX_BLOCK 64
#define MVF_MAX_RANGE 256
#define MVF_MAX_REFERENCES 16
#define MVF_MAX_DIMENSION 32768

/* What a search is asked for. */
typedef struct mvf_options {
    /* Set by mvf_options_init(): lets a newer library serve callers built against these headers. */
    size_t struct_size;
    /* Default auto. */
    mvf_backend backend;
    /* CUDA device ordinal, from 0. */
    int32_t device;
    /* Default full. */
    mvf_method method;
    /* Block size in px, each of 4, 8, 16, 32, 64. Default 16 x 16. */
    int32_t block_w, block_h;
    /* Distance between block origins in px, 1 to the block size; 0 (the default): the block size.
     * With method truemotion, whose blocks have the size of the step: 1 or 4; 0: 4. */
    int32_t step_x, step_y;
    /* Largest |x| and |y| of a vector in whole px, 0 to MVF_MAX_RANGE. Default 16. */
    int32_t range_x, range_y;
    /* Default clamp. */
    mvf_edges edges;
    /* Threads of the CPU engine; 0 (the default): one for each online processor. With the CUDA
     * engine the searcher copies pictures and finishes fields on up to four threads of its own,
     * whatever this says. */
    int32_t threads;
    /* The highest instruction level that the CPU engine may use; the answer never changes. */
    mvf_cpu_level cpu_level;
    /* Pairs that may be submitted and not yet received, 1 to 64. Default 8. A large GPU is filled
     * by 32 to 64 pairs of 1080p in its memory. */
    int32_t max_in_flight;
    /* Gets the messages. Default none. */
    mvf_logger logger;
    /*
     * Sub-sample refinement of each block's best vector. Default none. The neighbours are tried in
     * a fixed order (rows from top to bottom, left to right) and only a strictly smaller cost
     * replaces the best. A refined vector may leave the range by up to 3/4 px. With edges inside, a
     * vector is a candidate only if the block moved by it, rounded down and rounded up to whole
     * samples, lies in the frame. The block's cost is then the refinement metric.
     */
    mvf_subpel subpel;
    /* Default H.264. */
    mvf_interpolation interpolation;
    /* Of the refinement; default SAD. SATD finds the vector that codes best after a transform. */
    mvf_metric refine_metric;
    /* Of the search for whole samples; default SAD, which is by far the fastest. */
    mvf_metric metric;
    /*
     * The rate. Vectors are chosen by J = metric + ((lambda_q4 * bits) >> 4), where bits is what
     * the vector's distance to its predictor (mvf_guides; zero by default) takes in quarter
     * samples, x and y added. A block's cost is the metric alone. lambda_q4 is in 1/16 of a unit of
     * the metric a bit, 0 (the default: no rate) to 65535; mvf_lambda_q4() gives it for a QP.
     *
     * mv_bits: the bits of distances 0, 1, ... n_mv_bits - 1, for both signs; farther ones take the
     * last entry. With a table in 1/16 bit, give lambda in whole units. NULL (the default): a
     * signed Exp-Golomb code, 1 bit for 0, else 2 * floor(log2(distance)) + 3. The searcher keeps a
     * copy.
     */
    uint32_t lambda_q4;
    const uint16_t *mv_bits;
    int32_t n_mv_bits;
    /* With method refine: half the side of the windows in px, 0 to 16. Default 2. */
    int32_t refine_range;
    /*
     * Partitions of square blocks (block_w = block_h, no other step). partition_min: the smallest
     * square, 4 or more, default 8. Predictors and hints belong to the largest squares, and serve
     * all blocks in them.
     *
     * Tree: for each largest square the cheapest way to cut it, where a block costs its J +
     * leaf_cost, ties falling to the fewer blocks. Blocks come in order of the squares, within them
     * depth first, rows before columns.
     * All: for each level (mvf_searcher_get_grid()) all blocks in raster order.
     */
    mvf_partitions partitions;
    int32_t partition_min;
    mvf_partition_output partition_output;
    uint32_t leaf_cost;
    /* Default none. Partitions are merged one by one, before the tree is chosen. */
    mvf_merge merge;
    /* With method truemotion. Default high. */
    mvf_effort effort;
    /* Of blocks on a grid: not with partitions, merge average or method truemotion, and path not
     * with metric ssd. Default none. */
    mvf_smooth smooth;
} mvf_options;

/* Fills in the defaults: exact full search of 16 x 16 blocks within +-16 px, backend auto. */
MVF_API void mvf_options_init(mvf_options *options);

/*
 * lambda_q4 of an H.264 or HEVC QP (0 to 81; others are taken to the nearer end) by the rule that
 * x264 uses for SAD and SATD: max(1, round(2^((qp - 12) / 6))), in 1/16.
 */
MVF_API uint32_t mvf_lambda_q4(int32_t qp);

/* Checks the options without opening anything: MVF_OK, or MVF_ERROR_ARGUMENT with a message that
 * names the option and what would be right. */
MVF_API mvf_status mvf_options_check(const mvf_options *options);

/* A search that keeps its buffers, threads and device from frame to frame. */
typedef struct mvf_searcher mvf_searcher;

/*
 * Opens a searcher for luma planes of width x height px (1 to MVF_MAX_DIMENSION) and `bit_depth`
 * bits (8 to 16). Takes a copy of the options. On failure *searcher is NULL:
 * MVF_ERROR_ARGUMENT (the message names the option and its range), MVF_ERROR_MEMORY,
 * MVF_ERROR_UNSUPPORTED (metric ssd where it does not fit a cost; backend cuda, an option that it
 * does not serve), MVF_ERROR_NO_DEVICE and MVF_ERROR_DEVICE (backend cuda only; with auto the CPU
 * takes over).
 */
MVF_API mvf_status mvf_searcher_open(mvf_searcher **searcher, const mvf_options *options,
                                     int32_t width, int32_t height, int32_t bit_depth);

/*
 * Submits one frame to be predicted from each of `n_references` others (0 to MVF_MAX_REFERENCES).
 * One field comes back for it, with a layer of blocks for each reference; with none, a field
 * without blocks. The pictures' samples are read before the call returns, so their memory may be
 * reused at once (on their own stream, where they have one). Returns MVF_AGAIN when max_in_flight
 * submissions wait to be received: receive one, then submit the same pair again. `opaque` comes
 * back in the field.
 *
 * Device loss: with backend auto the CPU carries on at the same frame with the same results, unless
 * pictures lay in the memory of a device that cannot be read any more; with backend cuda,
 * MVF_ERROR_DEVICE. When it searches on the CPU, pictures in device memory are copied from there,
 * with any backend; MVF_ERROR_NO_DEVICE where there is none, or no CUDA in this build, and
 * MVF_ERROR_DEVICE where it gives nothing.
 */
MVF_API mvf_status mvf_searcher_submit(mvf_searcher *searcher, const mvf_picture *current,
                                       const mvf_picture *references, size_t n_references,
                                       void *opaque);

/*
 * What the caller knows of the blocks of one submission. Each array has a layer of cols * rows
 * blocks (level 0 of mvf_searcher_get_grid(), in raster order) for each reference, and is read
 * before the call returns. Vectors are in quarter samples.
 */
typedef struct mvf_guides {
    /* Set by mvf_guides_init(). */
    size_t struct_size;
    /* What the rate measures from, one for each block; NULL: zero. */
    const mvf_vector *predictors;
    /* Start vectors for method refine, hints_per_block (1 to MVF_MAX_HINTS) for each block, those
     * of one block side by side. NULL: none. */
    const mvf_vector *hints;
    int32_t hints_per_block;
} mvf_guides;

/* Limit of hints_per_block. */
#define MVF_MAX_HINTS 16

/* No predictors and no hints. */
MVF_API void mvf_guides_init(mvf_guides *guides);

/*
 * As mvf_searcher_submit(), with guides (NULL: none); MVF_ERROR_ARGUMENT if they do not fit.
 */
MVF_API mvf_status mvf_searcher_submit_guided(mvf_searcher *searcher, const mvf_picture *current,
                                              const mvf_picture *references, size_t n_references,
                                              const mvf_guides *guides, void *opaque);

/*
 * The grid of level `level`, from 0, the largest blocks, on: one level without partitions; with
 * them the squares by falling size, each that can be split followed, with halves, by the grids of
 * its halves w x h/2 and w/2 x h. MVF_ERROR_ARGUMENT: there is no such level.
 */
MVF_API mvf_status mvf_searcher_get_grid(const mvf_searcher *searcher, int32_t level,
                                         mvf_grid *grid);

/*
 * Vectors for predictors or hints from a field, searched before or read from a codec: for each
 * block of `grid` the vector, in quarter samples, of the field's last block with direction `dir`
 * that holds the block's centre (moved into the frame); zero where there is none. `vectors` has
 * room for one of each block; they are written `stride` apart (1 for predictors, hints_per_block
 * for hints).
 */
MVF_API void mvf_guides_from_field(const mvf_field *field, int8_t dir, const mvf_grid *grid,
                                   mvf_vector *vectors, size_t stride);

/*
 * Takes the next field, in the order of submission, and hands its ownership to the caller. Waits
 * for the search when max_in_flight submissions are pending or after a flush; else returns
 * MVF_AGAIN while the oldest is not finished. MVF_EOF: flushed, and nothing is left. Any other
 * error: that submission has failed and is gone, and its `opaque` does not come back.
 */
MVF_API mvf_status mvf_searcher_receive(mvf_searcher *searcher, mvf_field **field);

/* No more submissions for now: receive then waits for each pending field, and ends in MVF_EOF.
 * The next submit starts anew. */
MVF_API mvf_status mvf_searcher_flush(mvf_searcher *searcher);

/* Closes *searcher, pending work included, and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_searcher_close(mvf_searcher **searcher);

/* The engine in use: "cpu" or "cuda". Static storage; may change after device loss. */
MVF_API const char *mvf_searcher_backend(const mvf_searcher *searcher);

/* One pair in one call: opens a searcher, searches, closes. Errors as the calls above. */
MVF_API mvf_status mvf_search(const mvf_options *options, int32_t width, int32_t height,
                              int32_t bit_depth, const mvf_picture *current,
                              const mvf_picture *reference, mvf_field **field);

/*
 * Motion compensation: writes what the field predicts, block by block, into a plane of the field's
 * size and bit depth in host memory. `references` are the field's, in its order, in host memory.
 * Later blocks go over earlier ones; pairs with MVF_BLOCK_AVERAGE are averaged; blocks without a
 * vector are left as they are. Bit-exact with the search: a block's SAD against its prediction is
 * its cost, if it was refined by SAD with the same filter.
 * MVF_ERROR_ARGUMENT: a block that is not in the frame, larger than MVF_MAX_BLOCK or without its
 * reference. MVF_ERROR_UNSUPPORTED: a vector scale other than 1, 2 and 4.
 */
MVF_API mvf_status mvf_field_predict(const mvf_field *field, const mvf_picture *references,
                                     mvf_interpolation filter, void *plane, ptrdiff_t stride_bytes);

/* The best level that this machine runs, and a level's name ("c", "sse2", ... "avx512"). */
MVF_API mvf_cpu_level mvf_cpu_best_level(void);
MVF_API const char *mvf_cpu_level_name(mvf_cpu_level level);

/* What is known of one GPU. */
typedef struct mvf_device_info {
    /* As the driver gives it. */
    char name[256];
    /* Compute capability, major * 10 + minor: 90 for an H200. */
    int32_t compute_capability;
    /* How many of them, and the memory of the device. */
    int32_t multiprocessors;
    uint64_t memory_bytes;
    /* Whether this build holds kernels that the device runs. */
    int32_t usable;
} mvf_device_info;

/*
 * Describes CUDA device `device`. MVF_ERROR_NO_DEVICE: there is no driver or no such device; the
 * logger, which may be NULL, gets the reason. Loads the driver for the time of the call.
 */
MVF_API mvf_status mvf_device_describe(int32_t device, mvf_device_info *info,
                                       const mvf_logger *logger);

/* "13.0: 75 80 90" - the CUDA compiler and the architectures in this build - or "none". */
MVF_API const char *mvf_cuda_build(void);

/* A copy of a picture in the memory of a CUDA device, which it has to itself. */
typedef struct mvf_device_picture mvf_device_picture;

/*
 * Copies a picture of width x height samples of bit_depth bits, which lies in host memory, to the
 * device, and waits until it is there. For programs without CUDA code of their own, to keep
 * pictures where many searches find them. The logger, which may be NULL, gets the reason of a
 * failure. MVF_ERROR_NO_DEVICE: there is no such device. MVF_ERROR_DEVICE: a call failed, for want
 * of device memory, say. MVF_ERROR_MEMORY. MVF_ERROR_ARGUMENT: a size, a depth or a picture that no
 * searcher takes. *copy is NULL then.
 */
MVF_API mvf_status mvf_device_picture_open(mvf_device_picture **copy, int32_t device, int32_t width,
                                           int32_t height, int32_t bit_depth,
                                           const mvf_picture *picture, const mvf_logger *logger);

/* The copy as a picture for searchers on its device: all is as the original had it, but where the
 * samples lie, and a stream with which submitting it does not wait. It holds until the copy is
 * closed. Thread-safe. */
MVF_API void mvf_device_picture_get(const mvf_device_picture *copy, mvf_picture *picture);

/* Waits for searches that still take samples from it, frees *copy and sets it to NULL; does nothing
 * for NULL. */
MVF_API void mvf_device_picture_close(mvf_device_picture **copy);

/* The speed of a backend's SAD instruction. */
typedef struct mvf_sad_limit {
    /* Absolute differences of samples of 8 bits in a second. */
    double differences_per_second;
    /* What takes them: "vpsadbw zmm", "psadbw xmm", "vabsdiff4"; "plain C" where the processor has
     * none, or none is allowed. */
    const char *instruction;
    /* "cpu" or "cuda". */
    const char *backend;
} mvf_sad_limit;

/*
 * Measures how many absolute differences the backend takes in a second with its packed SAD
 * instruction and nothing else: operands in registers, no sums, no loads. No search that compares
 * every candidate of every block can be faster than this divided by
 * width * height * (2 * range_x + 1) * (2 * range_y + 1) frames/s. For samples above 8 bits there
 * is no such instruction, and the true limit is lower.
 *
 * Of the options backend, device, threads, cpu_level and logger matter. CPU: that many threads at
 * once, by the clock; one thread by its own processor time, so that other programs do not lower
 * it; in the width, of those that the level allows, that is fastest. CUDA: all of the device.
 * Backend auto measures CUDA where a device can be used, else the CPU. It takes some 0.1 s, and
 * keeps the threads or the device busy for that long.
 *
 * The strings have static storage. Thread-safe. Errors as mvf_searcher_open().
 */
MVF_API mvf_status mvf_sad_limit_measure(const mvf_options *options, mvf_sad_limit *limit);

#ifdef __cplusplus
}
#endif

#endif
