/*
 * mvfield/mvfield.h - the whole of libmvfield: planes in, motion vector fields out.
 *
 * Conventions: strides are in bytes; sizes and positions in px; vectors in 1/mv_scale px. Objects
 * are opaque and belong to whoever opened them; the call that ends one sets its pointer to NULL.
 * Structs with a struct_size are filled by their init call before anything else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_MVFIELD_H
#define MVFIELD_MVFIELD_H

#include <mvfield/analysis.h>
#include <mvfield/field.h>
#include <mvfield/flow.h>
#include <mvfield/picture.h>
#include <mvfield/reader.h>
#include <mvfield/search.h>
#include <mvfield/shard.h>
#include <mvfield/sink.h>
#include <mvfield/status.h>
#include <mvfield/version.h>

#endif
