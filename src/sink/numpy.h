/*
 * sink/numpy.h - the header of an .npy array (format version 1.0).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_SINK_NUMPY_H
#define MVF_SINK_NUMPY_H

#include <stddef.h>
#include <stdint.h>

/* Room for any header made here. A 4-dimensional one of a plain type always takes 128 bytes. */
#define MVF_NUMPY_HEADER_BYTES 512

/* `descr` is Python text, quotes included. Returns the header's size, a multiple of 64. */
size_t mvf_numpy_header(char to[MVF_NUMPY_HEADER_BYTES], const char *descr, const int64_t *shape,
                        int n_dimensions);

#endif
