/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/numpy.h"

#include <string.h>

#include "base/bytes.h"
#include "sink/text.h"

size_t mvf_numpy_header(char to[MVF_NUMPY_HEADER_BYTES], const char *descr, const int64_t *shape,
                        int n_dimensions)
{
    char *end = to + 10;
    memset(to, ' ', MVF_NUMPY_HEADER_BYTES);
    memcpy(to, "\x93NUMPY\x01", 8);
    end = mvf_text_string(end, "{'descr': ");
    end = mvf_text_string(end, descr);
    end = mvf_text_string(end, ", 'fortran_order': False, 'shape': (");
    for (int i = 0; i < n_dimensions; i++) {
        end = mvf_text_int(end, shape[i]);
        end = mvf_text_string(end, i + 1 < n_dimensions ? ", " : n_dimensions == 1 ? "," : "");
    }
    end = mvf_text_string(end, "), }");
    size_t size = ((size_t)(end - to) + 1 + 63) / 64 * 64;
    to[size - 1] = '\n';
    mvf_put_le((uint8_t *)to + 8, size - 10, 2);
    return size;
}
