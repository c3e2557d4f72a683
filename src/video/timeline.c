/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/write.h"

int mvf_timeline_next(mvf_timeline *timeline, int64_t time, int64_t step, int64_t restart,
                      int64_t *result)
{
    int changed = time == MVF_NO_PTS;
    if (time == MVF_NO_PTS)
        time = timeline->started ? timeline->last + step : timeline->offset;
    else
        time += timeline->offset;
    if (timeline->started && time <= timeline->last) {
        int64_t behind = timeline->last - time;
        int64_t later = behind >= restart ? step : 1;
        if (behind >= restart)
            timeline->offset += behind + step;
        time = timeline->last + later;
        changed = 1;
    }
    timeline->started = 1;
    timeline->last = time;
    *result = time;
    return changed;
}
