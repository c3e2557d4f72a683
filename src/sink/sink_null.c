/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/sink.h"

static mvf_status accept(mvf_sink *sink)
{
    (void)sink;
    return MVF_OK;
}

static mvf_status drop(mvf_sink *sink, const mvf_field *field)
{
    (void)sink;
    (void)field;
    return MVF_OK;
}

const mvf_sink_format_ops mvf_sink_null = {
    .name = "null", .discards = 1, .open = accept, .write = drop, .finish = accept};
