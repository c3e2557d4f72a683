/*
 * mvfield/flow.h - dense flow: one vector a pixel, as Middlebury and KITTI files hold it.
 *
 * Flow files hold the motion from their first frame to their second one, on the first frame's
 * pixels. A field's vectors stand on the current frame and point to its reference. So a field of
 * frame k against frame k + 1 (reference next) is flow from k to k + 1, and a field against the
 * frame before is flow from k to k - 1; nothing is turned round.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVFIELD_FLOW_H
#define MVFIELD_FLOW_H

#include <mvfield/field.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What stands for an unknown component; anything beyond MVF_FLOW_LIMIT, and NaN, reads as one. */
#define MVF_FLOW_UNKNOWN 1e10f
#define MVF_FLOW_LIMIT 1e9f
/* Largest width and height in px. */
#define MVF_FLOW_MAX_SIDE 32768

/* One vector for each pixel of a frame. */
typedef struct mvf_flow {
    /* In px. */
    int32_t width, height;
    /* Rows from top to bottom of width pairs (x to the right, y down), in px. */
    float *vectors;
} mvf_flow;

/* Allocates a flow that is unknown everywhere. MVF_ERROR_ARGUMENT, MVF_ERROR_MEMORY. */
MVF_API mvf_status mvf_flow_alloc(mvf_flow **flow, int32_t width, int32_t height);

/* Frees *flow and sets it to NULL; does nothing for NULL. */
MVF_API void mvf_flow_free(mvf_flow **flow);

/*
 * Gives each pixel the vector of its block; unknown where no block is or the block has none. On a
 * grid whose blocks overlap, that is the block with the nearest centre. The vectors are those to
 * one side in time: into the past if the field has any, else into the future; of several layers on
 * that side, the first.
 * `vectors` has room for field->width * field->height pairs.
 */
MVF_API void mvf_field_fill_flow(const mvf_field *field, float *vectors);

/*
 * Reads a Middlebury .flo file or a KITTI flow PNG, told apart by their first bytes.
 * MVF_ERROR_IO, MVF_ERROR_DATA (the message names file and byte offset), MVF_ERROR_UNSUPPORTED (a
 * PNG that is not 16-bit RGB), MVF_ERROR_MEMORY. `logger` may be NULL.
 */
MVF_API mvf_status mvf_flow_read(mvf_flow **flow, const char *path, const mvf_logger *logger);

#ifdef __cplusplus
}
#endif

#endif
