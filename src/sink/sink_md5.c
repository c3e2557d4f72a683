/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/md5.h"
#include "field/record.h"
#include "sink/sink.h"

static mvf_status start(mvf_sink *sink)
{
    mvf_md5_init(sink->state);
    return MVF_OK;
}

static mvf_status digest(mvf_sink *sink, const mvf_field *field)
{
    mvf_md5 *md5 = sink->state;
    uint8_t bytes[MVF_RECORD_HEADER_BYTES];
    mvf_record_write_header(bytes, field);
    mvf_md5_update(md5, bytes, MVF_RECORD_HEADER_BYTES);
    for (size_t i = 0; i < field->n_references; i++) {
        mvf_record_write_reference(bytes, &field->references[i]);
        mvf_md5_update(md5, bytes, MVF_RECORD_REFERENCE_BYTES);
    }
    for (size_t i = 0; i < field->n_blocks; i++) {
        mvf_record_write_block(bytes, &field->blocks[i]);
        mvf_md5_update(md5, bytes, MVF_RECORD_BLOCK_BYTES);
    }
    if (field->confidence)
        mvf_md5_update(md5, field->confidence, field->n_blocks);
    return MVF_OK;
}

static mvf_status finish(mvf_sink *sink)
{
    char line[34];
    mvf_md5_finish(sink->state, line);
    line[32] = '\n';
    return mvf_sink_put(sink, line, 33);
}

const mvf_sink_format_ops mvf_sink_md5 = {.name = "md5",
                                          .extension = ".md5",
                                          .state_bytes = sizeof(mvf_md5),
                                          .open = start,
                                          .write = digest,
                                          .finish = finish};
