/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refines the failure of a worker before it is written, when its head is already known to have ended: the verdict becomes likely
 * at best, and GCSLost where exit code 1 is all that is known. A head's end that becomes known later changes only the status
 * (operator/incidents.h), because spec is written once. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_LOST_HEAD_H
#define AFTERGLOW_OPERATOR_FAILURES_LOST_HEAD_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "operator/failures/story.h"

/* Whether the head's end can explain this one, which is true for a worker's Ray container that ended with exit code 1. */
bool lost_head_may_be(const struct story *story);

/*
 * A refined copy of failure, sealed again, that the caller owns, if one of the n ends of heads explains it. NULL: none does, or
 * there is no memory.
 */
cJSON *lost_head_refined(const struct story *story, const struct incident_death *heads, size_t n, const cJSON *failure);

#endif
