/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds ends of containers that are recorded nowhere: the pod's status has forgotten them, no
 * operator was running when it showed them, and no sidecar reported them. Only the kubelet's
 * restart count shows that they happened. Pure.
 *
 * They are counted from the last end with a numbered RayFailure, because older RayFailures may have
 * been removed. If there is no such end, only a young pod is judged. An exit with code 0 has no
 * RayFailure either. So a container is left out if the status shows no failure of it, and the
 * RayFailure says that the exit codes may have been 0.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/failures/earlier_end.h"
#include "operator/failures/ray_failure.h"

/*
 * Returns whether the status of any container has forgotten ends; if not, the caller need not
 * collect the known ends.
 */
bool unseen_ends_possible(const cJSON *pod);

/*
 * Appends a RayFailure to failures for each container with such ends: one for all of them, because
 * nothing distinguishes them. known are the ends that have a RayFailure, or will have one. Returns
 * false if it is too early to judge some of them, because the sidecar may still report them. The
 * caller asks again with the sidecar's next answer, or later if the pod has no sidecar.
 */
bool unseen_ends_find(const cJSON *pod, const struct known_end *known, size_t n_known,
		      int64_t now_ns, struct ray_failures *failures);
