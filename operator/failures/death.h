/* SPDX-License-Identifier: Apache-2.0 */
/* A death in a pod, and what RayFailures of containers and of processes have in common. For this folder only. */
#ifndef AFTERGLOW_OPERATOR_FAILURES_DEATH_H
#define AFTERGLOW_OPERATOR_FAILURES_DEATH_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/failures/podview.h"
#include "operator/failures/ray_failure.h"

struct death {
	const cJSON *pod;
	const char *container;
	const cJSON *terminated; /* ContainerStateTerminated */
	bool lost;		 /* with its node; terminated is made up, without exit code */
	bool never_ran;		 /* terminated is the ContainerStateWaiting of one that could not be started */
	bool forgotten;		 /* terminated is what the kubelet made up when the runtime did not know the container any more */
	bool current;		 /* state.terminated rather than lastState.terminated */
	int64_t restart;	 /* which instance, from 0 */
	int64_t now_ns;
	cJSON *report;	      /* of the sidecar, NULL when there is none to be believed */
	bool provisional;     /* the report is a snapshot of the living container */
	const char *distrust; /* why there is no report */
	struct podview view;
};

/* A label of the pod, or NULL. */
const char *death_label(const cJSON *pod, const char *name);

/* Whether the sidecar's last word on it is there. */
bool death_is_told(const struct death *d);

/* Cluster, group, pod, container, node, and the owner as the pod's annotation says (failures/owner.h). */
void death_set_whose(const struct death *d, struct ray_failure *failure);
/* The same seed, pod and container give the same name. */
void death_set_name(const struct death *d, const char *seed, struct ray_failure *failure);
/* And whether the pod was deleted before. NULL and "": it is not known. */
void death_set_ended_at(const struct death *d, const char *ended_at, struct ray_failure *failure);
/* Of a report that is told; a bundle that is another pod's is said to be missing. */
void death_set_bundle(const struct death *d, struct ray_failure *failure);
/* What failures are grouped and joined by: the signature of a report that is told, and what the pod says of the container. */
void death_set_story(const struct death *d, struct ray_failure *failure);

#endif
