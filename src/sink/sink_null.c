/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/sink.h"

static mvf_status drop(mvf_sink *sink, const mvf_field *field)
{
    (void)sink;
    (void)field;
    return MVF_OK;
}

const mvf_sink_format_ops mvf_sink_null = {
    .name = "null", .files = MVF_SINK_NO_FILE, .takes_shards = 1, .write = drop};
