/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <mvfield/flow.h>

#include "base/bytes.h"
#include "base/error.h"
#include "sink/sink.h"

/* Turns floats into little-endian bytes where they lie. */
static void to_little_endian(float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], 4);
        mvf_put_le((uint8_t *)&values[i], bits, 4);
    }
}

static mvf_status write_file(mvf_sink *sink, mvf_flow *flow)
{
    uint8_t header[12] = {'P', 'I', 'E', 'H'};
    size_t n = 2 * (size_t)flow->width * (size_t)flow->height;
    mvf_put_le(header + 4, (uint32_t)flow->width, 4);
    mvf_put_le(header + 8, (uint32_t)flow->height, 4);
    to_little_endian(flow->vectors, n);
    MVF_TRY(mvf_sink_put(sink, header, sizeof header));
    MVF_TRY(mvf_sink_put(sink, flow->vectors, n * sizeof(float)));
    return mvf_output_close(&sink->output);
}

static mvf_status write_field(mvf_sink *sink, const mvf_field *field)
{
    mvf_flow *flow;
    mvf_status status = mvf_flow_alloc(&flow, field->width, field->height);
    if (status == MVF_ERROR_ARGUMENT)
        return mvf_sink_refuse(sink, field, "a flow file has 1 to 32768 px a side");
    MVF_TRY(status);
    status = mvf_sink_open_numbered(sink, field);
    if (status == MVF_OK) {
        mvf_field_fill_flow(field, flow->vectors);
        status = write_file(sink, flow);
    }
    mvf_flow_free(&flow);
    return status;
}

const mvf_sink_format_ops mvf_sink_flo = {
    .name = "flo", .extension = ".flo", .files = MVF_SINK_FILE_A_FIELD, .write = write_field};
