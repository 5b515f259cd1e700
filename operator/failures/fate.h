/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. The pod's status says that a pod was deleted, evicted or lost, and seldom by whom. Others know: the Node's
 * taints and conditions (node_mark.h), Events (claim.h, probe_kill.h), the RayCluster and its RayJob. fate_next says which of them
 * to look at next, fate_refine says what follows from those that were seen: spec.endedBy, a class (NodeShutdown for a deletion that
 * emptied a node, ProbeKilled), the sentence, evidence, and what is missing. What rests on Events or a tenant's objects is likely.
 * Pure: whoever looks is operator/inquiry.h.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_FATE_H
#define AFTERGLOW_OPERATOR_FAILURES_FATE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"

/* What can be looked at; a set of them is a number of bits. */
enum fate_source {
	FATE_NODE = 1,
	FATE_POD_EVENTS = 2,
	FATE_CLUSTER_EVENTS = 4,
	FATE_JOB = 8,
	FATE_OWNER_EVENTS = 16,
	FATE_NODE_EVENTS = 32,
};

enum fate_state {
	FATE_UNSEEN, /* not asked, or no answer came */
	FATE_FOUND,
	FATE_ABSENT,
	FATE_REFUSED, /* the operator may not read it */
};

/* Objects belong to the caller. */
struct fate_facts {
	unsigned asked;			   /* of these sources an answer came, or none will */
	enum fate_state node_state, job_state, cluster_state;
	const cJSON *node, *job, *cluster; /* where found; the RayCluster as it is watched */
	const cJSON *pod_events, *cluster_events, *owner_events, *node_events; /* EventLists, or NULL */
	int64_t now_ns;			   /* since 1970 */
};

/* Whether the pod's RayCluster is deleted, or was. */
bool fate_is_cluster_going(const struct fate_facts *facts);

/* What to look at next, or 0: it is time for fate_refine. */
unsigned fate_next(const cJSON *failure, const struct fate_facts *facts);

/* Whether a look at the Node may make another class of a failure that would not be recorded as it is; and whether it may still. */
bool fate_depends_on_node(const cJSON *failure);
bool fate_node_may_explain(const cJSON *failure, const struct fate_facts *facts);

/* Appends the path, with its query, of a source. */
void fate_path(const cJSON *failure, enum fate_source source, struct strbuf *out);

/* Wholly or, without memory, not at all. Returns whether anything changed. */
bool fate_refine(cJSON *failure, const struct fate_facts *facts);

#endif
