/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refines the failure of a worker before it is written, when the end of its head is already known.
 * The verdict becomes likely at best; an end with nothing but exit code 1 becomes GCSLost. A head's
 * end that becomes known later changes only the status, because spec is written once
 * (operator/failure_controller/incident_writer.h). Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "operator/failures/story.h"

/*
 * Returns whether a head's end can explain this one. That is so for a worker's Ray container that
 * ended with exit code 1.
 */
bool lost_head_may_be(const struct story *story);

/*
 * Returns a refined and sealed copy of failure, which the caller owns, if one of the n ends of
 * heads explains it. Returns NULL if none explains it, or there is no memory.
 */
cJSON *lost_head_refined(const struct story *story, const struct incident_death *heads, size_t n,
			 const cJSON *failure);
