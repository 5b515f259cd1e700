/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the sidecar from a pod that breaks a quota, a limit range or a policy of its namespace
 * with it, because Ray comes first. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Why a pod that should have the sidecar has none, in the API server's words. */
#define INJECT_REFUSED_ANNOTATION "afterglow.dev/sidecar-refused"

/*
 * Removes the sidecar from a pod that was refused with it, and notes the reason in the pod; the
 * launcher stays, and waits for no sidecar. Returns false and changes nothing if the pod does not
 * have our sidecar.
 */
bool inject_undo(cJSON *pod, const char *reason);
