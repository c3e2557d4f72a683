/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/status.h>

const char *mvf_version(void)
{
    return MVF_VERSION_STRING;
}

const char *mvf_status_string(mvf_status status)
{
    switch (status) {
    case MVF_OK:
        return "success";
    case MVF_AGAIN:
        return "no result yet";
    case MVF_EOF:
        return "end of stream";
    case MVF_ERROR_ARGUMENT:
        return "invalid argument";
    case MVF_ERROR_MEMORY:
        return "out of memory";
    case MVF_ERROR_UNSUPPORTED:
        return "not supported";
    case MVF_ERROR_IO:
        return "input/output error";
    case MVF_ERROR_DATA:
        return "invalid or damaged data";
    case MVF_ERROR_NO_DEVICE:
        return "no usable GPU";
    case MVF_ERROR_DEVICE:
        return "GPU error";
    case MVF_ERROR_EXISTS:
        return "file exists";
    case MVF_ERROR_NO_VIDEO:
        return "no video stream";
    case MVF_ERROR_INTERRUPTED:
        return "interrupted";
    case MVF_ERROR_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}
