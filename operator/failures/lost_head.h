/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failure of a worker that is about to be written, while it is known that its head had ended: it is not told as certain
 * then, and where no sidecar said more than exit code 1 it is GCSLost. A head's end that becomes known later changes only the
 * status (operator/incidents.h), for spec is written once. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_LOST_HEAD_H
#define AFTERGLOW_OPERATOR_FAILURES_LOST_HEAD_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "operator/failures/story.h"

/* Whether the head's end may have been the cause of this one: a worker's Ray container that ended with exit code 1. */
bool lost_head_may_be(const struct story *story);

/*
 * The failure of that story anew (the caller owns it), if one of the heads' n ends explains it; sealed as before.
 * NULL: none does, or no memory.
 */
cJSON *lost_head_refined(const struct story *story, const struct incident_death *heads, size_t n, const cJSON *failure);

#endif
