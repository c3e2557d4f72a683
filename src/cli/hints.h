/*
 * cli/hints.h - the codec's own vectors as hints for --method refine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_HINTS_H
#define MVF_CLI_HINTS_H

#include <mvfield/video.h>

/*
 * Fills in the guides of one submission: for each reference, the frame's vectors to its side. The
 * vectors are the caller's to free(); NULL where the frame has none.
 */
mvf_status hints_from_codec(mvf_guides *guides, mvf_vector **vectors, const mvf_searcher *searcher,
                            const mvf_frame *frame, int64_t index, const mvf_picture *references,
                            size_t n_references, const mvf_logger *logger);

#endif
