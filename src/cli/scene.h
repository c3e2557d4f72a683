/*
 * cli/scene.h - where one scene ends and another begins.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MVF_CLI_SCENE_H
#define MVF_CLI_SCENE_H

#include <mvfield/field.h>

/* The running mean of the costs a px since the scene began; below 0 before the first. */
typedef struct scene_watch {
    double usual_cost;
} scene_watch;

/* Whether a scene begins with the field's frame, whose vectors cost so much a px and cover so large
 * a share of the frame. Asked of each field once, in order. */
int scene_begins(scene_watch *watch, const mvf_field *field, double cost_px, double coverage);

#endif
