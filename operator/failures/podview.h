/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out from the pod's status alone why a container died. The status has what the
 * sidecar in the pod cannot see (eviction, preemption, deletion, a failed start), and it is
 * all that is left when the sidecar's report did not arrive.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/failure_class.h"
#include "operator/failures/ended_by.h"

struct podview {
	enum failure_class class;
	enum confidence confidence;
	int signal; /* 0: the container did not die by a signal */
	bool lost; /* the kubelet found no container to ask: the exit code is made up */
	/*
	 * the class comes from the pod's fate, not the exit code: it outranks a sidecar's Killed or
	 * Terminated
	 */
	bool from_outside;
	/*
	 * the pod's fate explains the end; the kubelet's OOMKilled may be about a kill that the
	 * container survived
	 */
	bool oom_open;
	struct ended_by by; /* ENDED_BY_NOBODY if the pod's status names no component */
	/* static: what became of the container; NULL if the class says it all */
	const char *fate;
	char sentence[512]; /* without a full stop at the end, like the sidecar's */
	char evidence[512]; /* in addition to the kubelet's exit code and reason; "": none */
};

/*
 * Classifies the end of the container of that name. terminated is its
 * ContainerStateTerminated. current: it is in state, not lastState, so it is the
 * last instance; the pod's own fate applies to the last instance only.
 */
void podview_classify(const cJSON *pod, const char *container, const cJSON *terminated,
		      bool current, struct podview *ret_view);

/*
 * Returns whether the pod's status may still show more about the end of this container's
 * last instance. The kubelet writes an eviction, or a shutdown of the node, into the
 * status only when all containers have ended, and it soon starts most containers again.
 * container_id may be NULL; otherwise false is returned for any other instance.
 */
bool podview_is_open(const cJSON *pod, const char *container, const char *container_id);

/*
 * For a container that was running in the last known state of a pod that is gone: returns whether
 * the container was lost with its node. Then it fills in ret_view.
 */
bool podview_lost(const cJSON *pod, const char *container, struct podview *ret_view);

/*
 * Returns whether a container that waits for that reason (NULL is allowed) cannot be started; false
 * if it may still start.
 */
bool podview_cannot_start(const char *reason);

/*
 * Returns the memory limit of a container or init container as its pod says it, such as "1Gi"; "":
 * none.
 */
const char *podview_memory_limit(const cJSON *pod, const char *container);

/*
 * Fills in ret_view for a container that cannot be started. waiting is its ContainerStateWaiting.
 */
void podview_not_started(const cJSON *pod, const char *container, const cJSON *waiting,
			 struct podview *ret_view);
