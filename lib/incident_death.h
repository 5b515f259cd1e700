/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the end of a container or of a process, as far as it decides which ends belong to one
 * incident.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/failure_class.h"

/* The container of KubeRay's submitter: in a pod of its own, or, in SidecarMode, in the head's. */
#define SUBMITTER_CONTAINER "ray-job-submitter"

/*
 * The end of a container, or of a process in a container that lives on. Texts are borrowed and
 * never NULL; "": not known.
 */
struct incident_death {
	const char *name; /* the RayFailure's: unique in its cluster */
	enum failure_class class;
	int64_t ended_ns; /* since 1970, by the clock of its node, perhaps in whole seconds */
	const char *pod, *uid; /* the pod's name and uid */
	const char *container, *node;
	const char *process; /* the process of Ray's own that ended first */
	const char *ended_by; /* "kind/name/reason" of the component that deleted or stopped it */
	/* the pod's address; Ray's ID of the node that the container was */
	const char *ip, *ray_node;
	const char *worker; /* Ray's ID of the worker that ended */
	int64_t pid; /* of the process that ended first; 0: not known */
	struct incident_names {
		const char *ray_node, *worker, *ip;
		int64_t pid;
	} names; /* of a driver: what had died, by Ray's exception */
	int64_t restart; /* which instance of the container; -1: not known */
	int64_t exit_code; /* -1: none */
	bool head; /* its pod is the head */
	bool ray; /* its container is the one that runs Ray */
	bool lives; /* a process ended, and its container lives on */
	bool signaled; /* the container, or the process, died by a signal */
	bool outlives_gcs; /* a worker of a cluster with GCS fault tolerance */
};
