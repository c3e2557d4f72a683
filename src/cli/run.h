/*
 * cli/run.h - the pipeline that extract and overlay share: frames in, frames with fields out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_RUN_H
#define MVF_CLI_RUN_H

#include "cli/options.h"

/*
 * Gets each frame with its field, in order. Both stay the pipeline's. Anything but MVF_OK ends the
 * run with that status.
 */
typedef mvf_status (*run_consumer)(void *opaque, mvf_frame *frame, const mvf_field *field);

/* The processors that this process may use, as the libraries count them. */
int32_t run_processor_count(void);

/* Makes SIGINT and SIGTERM end runs and reads in good order, and what cannot be written an error
 * instead of a signal. */
void run_catch_signals(void);
int run_interrupted(void *opaque);

/* Makes runs and reads end as after a signal, or no longer so. */
void run_break_off(int is_over);

/* MVF_ERROR_EXISTS, after saying so, where the output (NULL: none) would take the input's place. */
mvf_status run_spare_input(const char *input, const char *output);

/* How the options have a video decoded. */
void run_source_options(mvf_source_options *source_options, const cli_options *options);

/* Opens the input that the options name. */
mvf_status run_open_source(mvf_source **source, const cli_options *options, int keep_other_streams);

/* Whether the options ask for the frame's field, and the first frame after all of those. */
int run_is_wanted(const cli_options *options, int64_t frame);
int64_t run_end(const cli_options *options);

/* What is done to every field before it is handed on. */
mvf_status run_finish_field(const cli_options *options, mvf_field *field);

/* 1 where a field needs the frame before, else 0. */
int run_refers_back(const cli_options *options);

/* Goes to the first frame that the one decoder of a run needs; *start is the number of the frame
 * that comes next. */
mvf_status run_seek(mvf_source *source, const cli_options *options, int64_t *start);

/* Whether the source, which was just opened, decodes on a GPU that need not search. */
int run_can_leave_gpu(const mvf_source *source, const cli_options *options);

/* Whether such a run has ended with the GPU: then says that it goes on without, from the field of
 * frame `field` on, and has what is opened from here on decode in software. */
int run_leaves_gpu(mvf_source *source, const cli_options *options, mvf_status status,
                   int64_t field);

/* Goes once more to the first frame that the field of frame `field`, and those after it, need;
 * *start is the number of the frame that comes next. */
mvf_status run_read_again(mvf_source *source, const cli_options *options, int64_t field,
                          int64_t *start);

/* mvf_source_read(), for a line. */
mvf_status run_read(void *source, mvf_frame **frame);

/* How many fields there may be, for the progress line. */
int64_t run_expected_frames(const mvf_source *source, const cli_options *options);

/* The fields of the frames that the options ask for, by one decoder, with their frames: searched,
 * or the codec's. MVF_ERROR_INTERRUPTED after a signal. */
mvf_status run_fields(mvf_source *source, const cli_options *options, run_consumer consume,
                      void *opaque);

/* Says what was damaged; the exit status of a run whose output is complete. */
int run_report(const mvf_source *source, const cli_options *options, mvf_status status);

#endif
