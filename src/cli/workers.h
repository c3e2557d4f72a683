/*
 * cli/workers.h - a run by several decoders and devices at once, whose output is that of one.
 *
 * The source is cut into sections (mvfield/section.h). Each worker, a thread with a decoder and a
 * searcher of its own, takes the next section that nobody has, and puts the fields of it into the
 * section's queue; the thread that called empties the queues in the order of the sections. Fields
 * that wait take 256 MiB at most: then only the section whose turn it is goes on.
 *
 * Whatever a section's packets do not promise (damage, above all) ends the reading by sections: the
 * source is then read by one decoder from the start, as without workers, up to the first field that
 * is missing, and on from there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_WORKERS_H
#define MVF_CLI_WORKERS_H

#include "cli/run.h"

/* As run_fields(), without the frames: `consume` gets NULL for them. It is called on this thread,
 * while others decode and search. */
mvf_status workers_run(mvf_source *source, const cli_options *options, run_consumer consume,
                       void *opaque);

#endif
