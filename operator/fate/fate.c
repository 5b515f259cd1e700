/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which objects to read to find out what became of a pod. */
#include "operator/fate/fate.h"

#include <stdio.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/ended_by.h"
#include "operator/fate/node_mark.h"
#include "operator/fate/probe_kill.h"
#include "operator/kube/resource.h"

/* An Event that has not come so long after the end is not waited for. */
#define EVENT_LATE_NS (10 * NS_PER_SEC)

bool fate_is_cluster_going(const struct fate_facts *facts)
{
	return facts->cluster_state == FATE_ABSENT ||
	       (facts->cluster_state == FATE_FOUND &&
		json_str(facts->cluster, "metadata.deletionTimestamp"));
}

/* Returns the objects to read: first those that are cheap to read and that many deaths share. */
static unsigned wanted_sources(const struct ray_failure *f, const struct fate_facts *facts)
{
	enum ended_by_kind kind = f->ended_by.kind;
	unsigned of_gone_node = facts->node_state == FATE_ABSENT ? FATE_NODE_EVENTS : 0;

	if (f->class == FAILURE_NODE_SHUTDOWN || kind == ENDED_BY_KUBELET)
		return f->class == FAILURE_NODE_SHUTDOWN ? FATE_NODE : 0;
	if (kind == ENDED_BY_TAINT_EVICTION || kind == ENDED_BY_POD_GC)
		return FATE_NODE | FATE_NODE_EVENTS;
	if (kind == ENDED_BY_SCHEDULER)
		return FATE_POD_EVENTS;
	if (kind == ENDED_BY_EVICTION_API)
		return FATE_NODE | FATE_POD_EVENTS | of_gone_node;
	if (kind == ENDED_BY_CLIENT && fate_is_cluster_going(facts) && f->owner &&
	    f->owner->kind == OWNER_RAY_JOB)
		return FATE_NODE | FATE_JOB;
	if (kind == ENDED_BY_CLIENT && fate_is_cluster_going(facts) && f->owner &&
	    f->owner->kind == OWNER_RAY_SERVICE)
		return FATE_NODE | FATE_OWNER_EVENTS;
	if (kind == ENDED_BY_CLIENT)
		return FATE_NODE | FATE_POD_EVENTS | FATE_CLUSTER_EVENTS | of_gone_node;
	if (f->class == FAILURE_TERMINATED)
		return FATE_POD_EVENTS | FATE_NODE;
	return probe_kill_possible(f) ? FATE_POD_EVENTS : 0;
}

static bool can_be_asked(const struct ray_failure *f, unsigned source)
{
	if (!f->namespace)
		return false;
	switch (source) {
	case FATE_NODE:
	case FATE_NODE_EVENTS:
		return ray_failure_text(f->node);
	case FATE_POD_EVENTS:
		return ray_failure_text(f->pod_uid);
	case FATE_CLUSTER_EVENTS:
		return ray_failure_text(f->cluster);
	default:
		return f->owner;
	}
}

unsigned fate_next(const struct ray_failure *f, const struct fate_facts *facts)
{
	unsigned wanted = wanted_sources(f, facts) & ~facts->asked;

	for (unsigned source = FATE_NODE; source <= FATE_NODE_EVENTS; source <<= 1)
		if ((wanted & source) && can_be_asked(f, source))
			return source;
	return 0;
}

bool fate_depends_on_node(const struct ray_failure *f)
{
	enum ended_by_kind kind = f->ended_by.kind;

	return can_be_asked(f, FATE_NODE) &&
	       (kind == ENDED_BY_CLIENT || kind == ENDED_BY_EVICTION_API);
}

/*
 * Returns whether the node may explain the end. Any mark will do here; fate_refine decides with all
 * facts whether it counts. Where the operator may not read nodes, the pod's Events may say why the
 * pod was evicted.
 */
bool fate_node_may_explain(const struct ray_failure *f, const struct fate_facts *facts)
{
	struct node_mark mark;

	if (!fate_depends_on_node(f))
		return false;
	return facts->node_state == FATE_ABSENT ||
	       (facts->node_state == FATE_REFUSED && f->ended_by.kind == ENDED_BY_EVICTION_API) ||
	       (facts->node_state == FATE_FOUND && node_mark_find(facts->node, &mark));
}

bool fate_event_may_follow(const struct ray_failure *f, int64_t now_ns)
{
	bool open = (f->class == FAILURE_KILLED || f->class == FAILURE_TERMINATED) &&
		    f->ended_by.kind == ENDED_BY_NOBODY && !f->from_node;
	int64_t ended_ns;

	return open && probe_kill_possible(f) && f->ended_at &&
	       time_parse(f->ended_at, &ended_ns, NULL) == 0 && now_ns - ended_ns < EVENT_LATE_NS;
}

static void add_events_path(const char *namespace, const char *selector, struct strbuf *out)
{
	strbuf_adds(out, "/api/v1/namespaces/");
	url_encode(namespace, out);
	strbuf_adds(out, "/events?limit=500&fieldSelector=");
	url_encode(selector, out);
}

static void add_events_of(const char *namespace, const char *kind, const char *name,
			  struct strbuf *out)
{
	char selector[400];

	snprintf(selector, sizeof(selector), "involvedObject.kind=%.60s,involvedObject.name=%.253s",
		 kind, name);
	add_events_path(namespace, selector, out);
}

void fate_path(const struct ray_failure *f, enum fate_source source, struct strbuf *out)
{
	const char *owner = f->owner ? f->owner->name : "";
	const char *node = f->node ? f->node : "", *cluster = f->cluster ? f->cluster : "";
	char selector[128];

	switch (source) {
	case FATE_NODE:
		strbuf_adds(out, "/api/v1/nodes/");
		url_encode(node, out);
		return;
	case FATE_POD_EVENTS:
		snprintf(selector, sizeof(selector), "involvedObject.uid=%.64s", f->pod_uid);
		add_events_path(f->namespace, selector, out);
		return;
	case FATE_CLUSTER_EVENTS:
		add_events_of(f->namespace, "RayCluster", cluster, out);
		return;
	case FATE_JOB:
		resource_path(resource_find("ray.io/v1", "RayJob"), f->namespace, owner, NULL, out);
		return;
	case FATE_OWNER_EVENTS:
		add_events_of(f->namespace, owner_kind_name(f->owner->kind), owner, out);
		return;
	case FATE_NODE_EVENTS:
		add_events_of("default", "Node", node, out);
		return;
	}
}
