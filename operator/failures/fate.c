/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which objects to read to find out what became of a pod. */
#include "operator/failures/fate.h"

#include <stdio.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "operator/failures/ended_by.h"
#include "operator/failures/node_mark.h"
#include "operator/failures/probe_kill.h"
#include "operator/kube/resource.h"

static int class_of(const cJSON *failure)
{
	const char *name = json_str(failure, "spec.class");

	return name ? failure_class_from_name(name) : -1;
}

static enum ended_by_kind kind_of(const cJSON *failure)
{
	return ended_by_kind_of(json_str(failure, "spec.endedBy.kind"));
}

bool fate_is_cluster_going(const struct fate_facts *facts)
{
	return facts->cluster_state == FATE_ABSENT ||
	       (facts->cluster_state == FATE_FOUND && json_str(facts->cluster, "metadata.deletionTimestamp"));
}

/* The objects that are cheap to read, and that many deaths share, come first. */
static unsigned wanted_sources(const cJSON *failure, const struct fate_facts *facts)
{
	enum ended_by_kind kind = kind_of(failure);
	const char *owner = json_str(failure, "spec.owner.kind");
	unsigned of_gone_node = facts->node_state == FATE_ABSENT ? FATE_NODE_EVENTS : 0;

	if (class_of(failure) == FAILURE_NODE_SHUTDOWN || kind == ENDED_BY_KUBELET)
		return class_of(failure) == FAILURE_NODE_SHUTDOWN ? FATE_NODE : 0;
	if (kind == ENDED_BY_TAINT_EVICTION || kind == ENDED_BY_POD_GC)
		return FATE_NODE | FATE_NODE_EVENTS;
	if (kind == ENDED_BY_SCHEDULER)
		return FATE_POD_EVENTS;
	if (kind == ENDED_BY_EVICTION_API)
		return FATE_NODE | FATE_POD_EVENTS | of_gone_node;
	if (kind == ENDED_BY_CLIENT && fate_is_cluster_going(facts) && owner && strcmp(owner, "RayJob") == 0)
		return FATE_NODE | FATE_JOB;
	if (kind == ENDED_BY_CLIENT && fate_is_cluster_going(facts) && owner && strcmp(owner, "RayService") == 0)
		return FATE_NODE | FATE_OWNER_EVENTS;
	if (kind == ENDED_BY_CLIENT)
		return FATE_NODE | FATE_POD_EVENTS | FATE_CLUSTER_EVENTS | of_gone_node;
	if (class_of(failure) == FAILURE_TERMINATED)
		return FATE_POD_EVENTS | FATE_NODE;
	return probe_kill_possible(failure) ? FATE_POD_EVENTS : 0;
}

static bool can_be_asked(const cJSON *failure, unsigned source)
{
	if (!json_str(failure, "metadata.namespace"))
		return false;
	switch (source) {
	case FATE_NODE:
	case FATE_NODE_EVENTS:
		return json_str(failure, "spec.node");
	case FATE_POD_EVENTS:
		return json_str(failure, "spec.podUID");
	case FATE_CLUSTER_EVENTS:
		return json_str(failure, "spec.cluster");
	default:
		return json_str(failure, "spec.owner.name");
	}
}

unsigned fate_next(const cJSON *failure, const struct fate_facts *facts)
{
	unsigned wanted = wanted_sources(failure, facts) & ~facts->asked;

	for (unsigned source = FATE_NODE; source <= FATE_NODE_EVENTS; source <<= 1)
		if ((wanted & source) && can_be_asked(failure, source))
			return source;
	return 0;
}

bool fate_depends_on_node(const cJSON *failure)
{
	enum ended_by_kind kind = kind_of(failure);

	return can_be_asked(failure, FATE_NODE) && (kind == ENDED_BY_CLIENT || kind == ENDED_BY_EVICTION_API);
}

/*
 * Any mark will do here; fate_refine decides with all facts whether it counts. Where the operator may not read nodes, the pod's
 * Events may say why it was evicted.
 */
bool fate_node_may_explain(const cJSON *failure, const struct fate_facts *facts)
{
	struct node_mark mark;

	if (!fate_depends_on_node(failure))
		return false;
	return facts->node_state == FATE_ABSENT ||
	       (facts->node_state == FATE_REFUSED && kind_of(failure) == ENDED_BY_EVICTION_API) ||
	       (facts->node_state == FATE_FOUND && node_mark_find(facts->node, &mark));
}

static void add_events_path(const char *namespace, const char *selector, struct strbuf *out)
{
	strbuf_adds(out, "/api/v1/namespaces/");
	url_encode(namespace, out);
	strbuf_adds(out, "/events?limit=500&fieldSelector=");
	url_encode(selector, out);
}

static void add_events_of(const char *namespace, const char *kind, const char *name, struct strbuf *out)
{
	char selector[400];

	snprintf(selector, sizeof(selector), "involvedObject.kind=%.60s,involvedObject.name=%.253s", kind, name);
	add_events_path(namespace, selector, out);
}

void fate_path(const cJSON *failure, enum fate_source source, struct strbuf *out)
{
	const char *namespace = json_str(failure, "metadata.namespace"), *owner = json_str(failure, "spec.owner.name");
	const char *node = json_str(failure, "spec.node"), *cluster = json_str(failure, "spec.cluster");
	char selector[128];

	switch (source) {
	case FATE_NODE:
		strbuf_adds(out, "/api/v1/nodes/");
		url_encode(node ? node : "", out);
		return;
	case FATE_POD_EVENTS:
		snprintf(selector, sizeof(selector), "involvedObject.uid=%.64s", json_str(failure, "spec.podUID"));
		add_events_path(namespace, selector, out);
		return;
	case FATE_CLUSTER_EVENTS:
		add_events_of(namespace, "RayCluster", cluster ? cluster : "", out);
		return;
	case FATE_JOB:
		resource_path(resource_find("ray.io/v1", "RayJob"), namespace, owner ? owner : "", NULL, out);
		return;
	case FATE_OWNER_EVENTS:
		add_events_of(namespace, json_str(failure, "spec.owner.kind"), owner ? owner : "", out);
		return;
	case FATE_NODE_EVENTS:
		add_events_of("default", "Node", node ? node : "", out);
		return;
	}
}
