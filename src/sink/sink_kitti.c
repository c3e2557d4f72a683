/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <mvfield/flow.h>

#include "base/error.h"
#include "base/memory.h"
#include "sink/png.h"
#include "sink/sink.h"

typedef struct kitti_state {
    int warned;
} kitti_state;

/* Whether the format can hold the vector: 1/64 px from -512 on. */
static int encode(const float *vector, uint16_t *samples)
{
    float x = roundf(vector[0] * 64) + 32768, y = roundf(vector[1] * 64) + 32768;
    int fits = x >= 0 && x <= 65535 && y >= 0 && y <= 65535;
    samples[0] = fits ? (uint16_t)x : 0;
    samples[1] = fits ? (uint16_t)y : 0;
    samples[2] = (uint16_t)fits;
    return fits;
}

static void warn(mvf_sink *sink, const mvf_field *field)
{
    kitti_state *state = sink->state;
    if (!state->warned)
        mvf_log(&sink->options.logger, MVF_LOG_WARNING,
                "%s: frame %" PRId64 ": a vector of 512 px or more does not fit into a KITTI file "
                "and is marked as unknown; more of these are not reported",
                sink->path, field->frame);
    state->warned = 1;
}

static mvf_status write_image(mvf_sink *sink, const mvf_field *field, const mvf_flow *flow)
{
    size_t n_pixels = (size_t)flow->width * (size_t)flow->height;
    uint16_t *samples = mvf_alloc_array(n_pixels, 3 * sizeof *samples);
    if (!samples)
        return MVF_ERROR_MEMORY;
    for (size_t i = 0; i < n_pixels; i++)
        if (flow->vectors[2 * i] < MVF_FLOW_LIMIT &&
            !encode(&flow->vectors[2 * i], samples + 3 * i))
            warn(sink, field);
    mvf_status status = mvf_sink_open_numbered(sink, field);
    if (status == MVF_OK) {
        status = mvf_png_write(sink->output.file, flow->width, flow->height, samples);
        status = status == MVF_ERROR_IO ? mvf_output_fail(&sink->output) : status;
    }
    free(samples);
    return status == MVF_OK ? mvf_output_close(&sink->output) : status;
}

static mvf_status write_field(mvf_sink *sink, const mvf_field *field)
{
    mvf_flow *flow;
    mvf_status status = mvf_flow_alloc(&flow, field->width, field->height);
    if (status == MVF_ERROR_ARGUMENT)
        return mvf_sink_refuse(sink, field, "a flow file has 1 to 32768 px a side");
    MVF_TRY(status);
    mvf_field_fill_flow(field, flow->vectors);
    status = write_image(sink, field, flow);
    mvf_flow_free(&flow);
    return status;
}

const mvf_sink_format_ops mvf_sink_kitti = {.name = "kitti",
                                            .extension = ".png",
                                            .state_bytes = sizeof(kitti_state),
                                            .files = MVF_SINK_FILE_A_FIELD,
                                            .write = write_field};
