/*
 * sink/png.h - PNG images of 16-bit RGB, as flow files use them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_PNG_H
#define MVF_SINK_PNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mvfield/status.h>

/* `samples`: width * height triplets. MVF_ERROR_IO leaves the reason in errno. */
mvf_status mvf_png_write(FILE *file, int32_t width, int32_t height, const uint16_t *samples);

/*
 * Decodes an image of at most MVF_PNG_MAX_SIDE px a side into malloc'ed triplets. On MVF_ERROR_DATA
 * and MVF_ERROR_UNSUPPORTED *fault says what is wrong with the byte at *offset.
 */
#define MVF_PNG_MAX_SIDE 32768
mvf_status mvf_png_read(const uint8_t *bytes, size_t n_bytes, int32_t *width, int32_t *height,
                        uint16_t **samples, const char **fault, size_t *offset);

#endif
