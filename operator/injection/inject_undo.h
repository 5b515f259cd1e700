/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With the sidecar a pod may break a quota, a range or a policy of its namespace. Then Ray comes
 * first. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_INJECTION_INJECT_UNDO_H
#define AFTERGLOW_OPERATOR_INJECTION_INJECT_UNDO_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Why a pod goes without the sidecar, although it should have it: the API server's words. */
#define INJECT_REFUSED_ANNOTATION "afterglow.dev/sidecar-refused"

/*
 * Takes the sidecar out of a pod that was refused with it for that reason, and notes so; the
 * launcher stays. False, and nothing done: there is none of ours.
 */
bool inject_undo(cJSON *pod, const char *reason);

#endif
