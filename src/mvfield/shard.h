/*
 * mvfield/shard.h - a run over a video in parts, each a file of its own, and the parts joined.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_SHARD_H
#define MVFIELD_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include <mvfield/field.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The end of the last part: as many frames as there are. */
#define MVF_SHARD_END INT64_MAX

/* What an mvf file says of itself that holds one part of a run: see mvf_source_cut(). */
typedef struct mvf_shard {
    /* Part number `index`, from 0, of `count`. */
    int32_t index, count;
    /* It has the fields of frames `first` to `end` - 1, as far as these were asked for. */
    int64_t first, end;
    /* Tells the input from others. */
    uint8_t input[16];
    /* All that decides about the fields but the input, in words that compare equal when it is the
     * same; less than 1 KiB. The caller's, or, from a reader, the reader's. */
    const char *settings;
} mvf_shard;

/* How shards are joined. */
typedef struct mvf_merge_options {
    /* Set by mvf_merge_options_init(). */
    size_t struct_size;
    /* Whether an existing file may be replaced. Default 0. */
    int32_t overwrite;
    mvf_logger logger;
} mvf_merge_options;

/* Fills in the defaults. */
MVF_API void mvf_merge_options_init(mvf_merge_options *options);

/*
 * Joins the shards of one run, mvf files in any order, into `output` ("-": standard output): the
 * same bytes as those of the file that the run in one part makes. Nothing is expanded or kept, so
 * it takes little memory, however long the files are; every byte is checked on the way. The file
 * appears under its name when it is complete. The shards stay as they are.
 *
 * MVF_ERROR_ARGUMENT: they do not make up one run (one is missing, there twice, of another input or
 * of other settings, or no shard at all); the message names it. MVF_ERROR_DATA (a shard is damaged
 * or not complete), MVF_ERROR_UNSUPPORTED (a later version of the format), MVF_ERROR_EXISTS,
 * MVF_ERROR_IO, MVF_ERROR_MEMORY. `options` may be NULL.
 */
MVF_API mvf_status mvf_merge_shards(const char *const *paths, size_t n, const char *output,
                                    const mvf_merge_options *options);

#ifdef __cplusplus
}
#endif

#endif
