/* SPDX-License-Identifier: Apache-2.0 */
/* A death in a pod, and what RayFailures of containers and of processes have in common. For this folder only. */
#ifndef AFTERGLOW_OPERATOR_FAILURES_DEATH_H
#define AFTERGLOW_OPERATOR_FAILURES_DEATH_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/failures/podview.h"

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

/* The same seed, pod and container give the same name. */
void death_set_name(const struct death *d, const char *seed, cJSON *metadata);

void death_set_labels(const struct death *d, cJSON *metadata, const char *class);

/* As the pod's annotation says (failures/owner.h); nothing without it. */
void death_set_owner(const struct death *d, cJSON *failure);

/* As annotations; spec.endedAt must be there. */
void death_set_times(const struct death *d, cJSON *metadata, const cJSON *spec);

/* What failures are grouped and joined by: its signature, and the beginning of its story. spec must be whole. */
void death_set_story(const struct death *d, cJSON *failure);

/* Nothing for NULL and "". */
void death_set_text(cJSON *to, const char *name, const char *text);

void death_add_missing(cJSON *spec, const char *what, const char *needs);

/* Cluster, group, pod, container, node. */
void death_set_whose(const struct death *d, cJSON *spec);

/* Of the report. */
void death_set_memory(const struct death *d, cJSON *spec);
/* The process that ended first, as the sidecar says. */
void death_set_process(const struct death *d, cJSON *spec);
void death_set_evidence(const struct death *d, cJSON *spec);

/* Of a report that is told; one that names another pod's is said to be missing. */
void death_set_bundle(const struct death *d, cJSON *spec);

#endif
