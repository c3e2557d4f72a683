/*
 * sink/zip.h - a ZIP archive (APPNOTE 6.3), stored or deflated members of any size.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_ZIP_H
#define MVF_SINK_ZIP_H

#include "sink/output.h"

typedef struct mvf_zip mvf_zip;

/* Writes to `output`, which can seek and is at its start. */
mvf_status mvf_zip_open(mvf_zip **zip, mvf_output *output);

/* Starts a member; level 0 stores it, 1 to 9 deflate it. */
mvf_status mvf_zip_begin(mvf_zip *zip, const char *name, int level);
mvf_status mvf_zip_put(mvf_zip *zip, const void *bytes, size_t n_bytes);
mvf_status mvf_zip_end(mvf_zip *zip);

/* Writes the directory that ends the archive. */
mvf_status mvf_zip_finish(mvf_zip *zip);

/* Frees *zip; does nothing for NULL. */
void mvf_zip_free(mvf_zip **zip);

#endif
