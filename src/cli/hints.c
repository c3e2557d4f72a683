/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/hints.h"

#include <stdlib.h>

mvf_status hints_from_codec(mvf_guides *guides, mvf_vector **vectors, const mvf_searcher *searcher,
                            const mvf_frame *frame, int64_t index, const mvf_picture *references,
                            size_t n_references, const mvf_logger *logger)
{
    mvf_field *field;
    mvf_grid grid;
    *vectors = NULL;
    mvf_guides_init(guides);
    mvf_status status = mvf_frame_get_codec_field(frame, &field, logger);
    if (status != MVF_OK)
        return status;
    status = mvf_searcher_get_grid(searcher, 0, &grid);
    size_t n_blocks = (size_t)grid.cols * (size_t)grid.rows;
    if (status == MVF_OK && field->n_blocks && n_references) {
        *vectors = malloc(n_references * n_blocks * sizeof **vectors);
        status = *vectors ? MVF_OK : MVF_ERROR_MEMORY;
    }
    for (size_t i = 0; *vectors && i < n_references; i++)
        mvf_guides_from_field(field, references[i].frame > index ? 1 : -1, &grid,
                              *vectors + i * n_blocks, 1);
    guides->hints = *vectors;
    guides->hints_per_block = 1;
    mvf_field_free(&field);
    return status;
}
