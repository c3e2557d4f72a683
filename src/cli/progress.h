/*
 * cli/progress.h - one line that says how far the work is, on a terminal.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_PROGRESS_H
#define MVF_CLI_PROGRESS_H

#include <stdint.h>

typedef enum progress_mode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } progress_mode;

/* `n_expected` frames, 0 where that is not known. */
void progress_start(progress_mode mode, int64_t n_expected);
void progress_update(int64_t n_frames);
/* Takes the line away, so that something else can be printed. */
void progress_clear(void);

#endif
