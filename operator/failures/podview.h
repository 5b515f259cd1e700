/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a container died, as far as the pod's status tells: what the sidecar in
 * the pod cannot see (eviction, preemption, deletion, a failed start) and what is
 * left when its report did not come through.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_PODVIEW_H
#define AFTERGLOW_OPERATOR_FAILURES_PODVIEW_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/failure_class.h"
#include "operator/failures/ended_by.h"

struct podview {
	enum failure_class class;
	enum confidence confidence;
	int signal;         /* 0: it did not die by one */
	bool lost;          /* the kubelet found no container to ask: the exit code is made up */
	bool from_outside;  /* the class comes from the pod's fate, not the exit code: it outranks a sidecar's Killed or Terminated */
	bool oom_open;      /* the pod's fate explains the end; the kubelet's OOMKilled may be about a kill that the container survived */
	struct ended_by by; /* as far as the pod's status tells; nobody where it does not */
	const char *fate;   /* static: what became of the container, where the class does not say it all; NULL: it does */
	char sentence[512]; /* without a full stop at the end, as the sidecar's */
	char evidence[512]; /* beside the kubelet's exit code and reason, "" for none */
};

/*
 * container is its name; terminated the ContainerStateTerminated; current
 * whether it is the last instance (state, not lastState): the pod's own fate is
 * only that one's.
 */
void podview_classify(const cJSON *pod, const char *container, const cJSON *terminated, bool current,
		      struct podview *ret_view);

/*
 * Whether the pod's status may still say more of the end of this container, which
 * was its last instance: the kubelet writes an eviction, or a shutdown of the node,
 * into the status only when all containers have ended; and it starts most again soon.
 */
bool podview_is_open(const cJSON *pod, const char *container, const char *container_id);

/* Of one that ran when it was last heard of, and whose pod is gone: whether it was lost with its node. */
bool podview_lost(const cJSON *pod, const char *container, struct podview *ret_view);

/* Whether a waiting container of that reason cannot be started, rather than not yet. NULL: no. */
bool podview_cannot_start(const char *reason);

/* Of such a container: waiting is its ContainerStateWaiting. */
void podview_not_started(const cJSON *pod, const char *container, const cJSON *waiting, struct podview *ret_view);

#endif
