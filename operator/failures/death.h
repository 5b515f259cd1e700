/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a death in a pod, and sets the fields that RayFailures of containers and of processes
 * have in common. Only for this folder.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/failures/podview.h"
#include "operator/failures/ray_failure.h"
#include "operator/failures/unmet_end.h"

struct death {
	const cJSON *pod;
	const char *container;
	const cJSON *terminated; /* ContainerStateTerminated */
	/* the container was lost with its node; terminated is made up, without exit code */
	bool lost;
	/* the container could not be started; terminated is its ContainerStateWaiting */
	bool never_ran;
	/* the kubelet made terminated up because the runtime no longer knew the container */
	bool forgotten;
	/* the end is in state.terminated rather than lastState.terminated */
	bool current;
	int64_t restart; /* which instance, from 0 */
	int64_t now_ns;
	cJSON *report; /* the sidecar's report; NULL if no credible report exists */
	bool provisional; /* the report is a snapshot of the living container */
	const char *distrust; /* why there is no report */
	bool forged; /* the termination message has one that the pod's sidecar did not write */
	bool is_signed; /* the pod's sidecar wrote the report */
	bool doubted; /* the report was certain of something without a signature */
	const struct unmet_ends *unmet; /* ends of which the node agent has proof; NULL: none */
	bool from_node; /* report is from such an end */
	struct podview view;
};

/* Returns whether the sidecar sent its final report of the death. */
bool death_is_reported(const struct death *d);

/*
 * Makes a report without a signature likely at most: anything in the pod may have written it, and
 * its sentence may be about the kernel, the node or another pod, whatever its class is.
 */
void death_doubt_unsigned(struct death *d);
/* Says so, if that happened. */
void death_set_doubt(const struct death *d, struct ray_failure *failure);

/*
 * Sets cluster, group, pod, container, node, and the owner that the pod's annotation names
 * (failures/owner.h).
 */
void death_set_whose(const struct death *d, struct ray_failure *failure);
/* Sets the name. The same seed, pod and container give the same name. */
void death_set_name(const struct death *d, const char *seed, struct ray_failure *failure);
/*
 * Sets the time of the end, and whether the pod was deleted before it. ended_at is NULL or "" if
 * the time is not known.
 */
void death_set_ended_at(const struct death *d, const char *ended_at, struct ray_failure *failure);
/*
 * Sets the bundle from the sidecar's final report. A bundle that belongs to another pod is listed
 * as missing.
 */
void death_set_bundle(const struct death *d, struct ray_failure *failure);
/*
 * Sets the facts by which failures are grouped and joined: the signature from the final report, and
 * the pod's own facts about the container (failures/story.h).
 */
void death_set_story(const struct death *d, struct ray_failure *failure);
