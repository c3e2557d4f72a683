/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/scene.h"

/* A scene change: the cost a px is so many times that of the frames before, and at least so much of
 * the sample range; with codec vectors, so little of a frame that is not an I frame has any. */
#define CUT_RATIO 2.5
#define CUT_COST (6.0 / 256)
#define CUT_COVERAGE 0.3
/* How much the latest frame counts in the running mean of costs. */
#define COST_WEIGHT 0.3

static int is_cut(const scene_watch *watch, const mvf_field *field, double cost_px, double coverage)
{
    if (field->source == MVF_VECTORS_CODEC)
        return field->type != MVF_PICTURE_I && field->type != MVF_PICTURE_UNKNOWN &&
               coverage < CUT_COVERAGE;
    double range =
        (double)(1 << (field->bit_depth > 0 && field->bit_depth <= 16 ? field->bit_depth : 8));
    return watch->usual_cost >= 0 && cost_px > CUT_COST * range &&
           cost_px > CUT_RATIO * watch->usual_cost;
}

int scene_begins(scene_watch *watch, const mvf_field *field, double cost_px, double coverage)
{
    if (is_cut(watch, field, cost_px, coverage))
        return 1;
    watch->usual_cost = watch->usual_cost < 0
                            ? cost_px
                            : (1 - COST_WEIGHT) * watch->usual_cost + COST_WEIGHT * cost_px;
    return 0;
}
