/* SPDX-License-Identifier: BSD-2-Clause */
#include <mvfield/picture.h>

void mvf_picture_init(mvf_picture *picture)
{
    *picture =
        (mvf_picture){.frame = MVF_NO_FRAME, .pts = MVF_NO_PTS, .time_base = {.num = 0, .den = 1}};
}

char mvf_picture_type_letter(mvf_picture_type type)
{
    switch (type) {
    case MVF_PICTURE_I:
        return 'I';
    case MVF_PICTURE_P:
        return 'P';
    case MVF_PICTURE_B:
        return 'B';
    case MVF_PICTURE_UNKNOWN:
        break;
    }
    return '?';
}
