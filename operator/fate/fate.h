/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. A pod's status says that the pod was deleted, evicted or lost, but seldom by
 * which component. Other objects say that: the Node's taints and conditions (node_mark.h), Events
 * (claim.h, probe_kill.h), the RayCluster and its RayJob. fate_next names the objects to read next.
 * fate_refine draws the conclusion from those that were read: who ended it, the class (NodeShutdown
 * for a deletion that emptied a node, ProbeKilled), the sentence, the evidence, and what is
 * missing. A conclusion from Events or from a tenant's objects is likely at best. Pure:
 * operator/failure_controller/inquiry.h does the reading.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "operator/failures/ray_failure.h"

/* The sources that can be read. A set of them is the OR of their bits. */
enum fate_source {
	FATE_NODE = 1,
	FATE_POD_EVENTS = 2,
	FATE_CLUSTER_EVENTS = 4,
	FATE_JOB = 8,
	FATE_OWNER_EVENTS = 16,
	FATE_NODE_EVENTS = 32,
};

enum fate_state {
	FATE_UNSEEN, /* the source was not asked, or did not answer */
	FATE_FOUND,
	FATE_ABSENT,
	FATE_REFUSED, /* the operator may not read it */
};

/* Objects belong to the caller. */
struct fate_facts {
	unsigned asked; /* the sources that have answered, or never will */
	enum fate_state node_state, job_state, cluster_state;
	const cJSON *node, *job, *cluster; /* NULL unless found; cluster comes from the watch */
	/* EventLists, or NULL */
	const cJSON *pod_events, *cluster_events, *owner_events, *node_events;
	int64_t now_ns; /* since 1970 */
};

/* Returns whether the pod's RayCluster is being deleted, or is gone. */
bool fate_is_cluster_going(const struct fate_facts *facts);

/* Returns the sources to read next; 0 if all have been read, so that fate_refine can run. */
unsigned fate_next(const struct ray_failure *failure, const struct fate_facts *facts);

/*
 * These two are for a failure that is recorded only if its class changes. They return whether the
 * Node can change the class: the first one before the Node was read, the second one with the facts
 * so far.
 */
bool fate_depends_on_node(const struct ray_failure *failure);
bool fate_node_may_explain(const struct ray_failure *failure, const struct fate_facts *facts);

/*
 * Returns whether an Event that explains the end may still come. The kubelet writes Events beside
 * the pod's status, and on a busy node they arrive seconds after it.
 */
bool fate_event_may_follow(const struct ray_failure *failure, int64_t now_ns);

/* Appends the path and query of the GET request for a source. */
void fate_path(const struct ray_failure *failure, enum fate_source source, struct strbuf *out);

/*
 * Changes failure as a whole, or leaves it alone when memory is short. Returns whether it changed.
 */
bool fate_refine(struct ray_failure *failure, const struct fate_facts *facts);
