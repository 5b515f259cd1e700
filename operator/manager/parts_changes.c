/* SPDX-License-Identifier: Apache-2.0 */
/* Passes changes of the watched objects to the parts. */
#include "lib/units.h"
#include "operator/manager/parts.h"

#define KEY_MAX 512

static void parts_changes_enqueue(const struct parts *p, const char *key)
{
	p->o.on_cluster(p->o.arg, key);
}

static void on_policy(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct parts *p = arg;

	policies_see(p->policies, WATCH_POLICIES, change, before, after);
}

static void on_cluster_policy(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct parts *p = arg;

	policies_see(p->policies, WATCH_CLUSTER_POLICIES, change, before, after);
}

static void parts_changes_on_namespace(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct parts *p = arg;

	policies_see(p->policies, WATCH_NAMESPACES, change, before, after);
}

static void parts_changes_on_cluster(void *arg, enum store_change change, const cJSON *before,
				     const cJSON *after)
{
	struct parts *p = arg;
	_cleanup_free_ char *key = object_key(after ? after : before);

	policies_see(p->policies, WATCH_CLUSTERS, change, before, after);
	launcher_store_see_cluster(p->launcher_store, before, after);
	if (change == STORE_REMOVED)
		failure_owners_cluster_gone(p->owners, before, now_boottime_ns());
	else if (key)
		parts_changes_enqueue(p, key);
}

/* Both the old and the new cluster are enqueued, because a label may have changed. */
static void enqueue_owner(const struct parts *p, const cJSON *object)
{
	char key[KEY_MAX];

	if (object && cluster_key(object, key, sizeof(key)))
		parts_changes_enqueue(p, key);
}

static void enqueue_cluster_of(const struct parts *p, const cJSON *pod)
{
	char key[KEY_MAX];

	if (pod && pod_cluster_key(pod, key, sizeof(key)))
		parts_changes_enqueue(p, key);
}

static void on_owned(void *arg, enum store_change, const cJSON *before, const cJSON *after)
{
	enqueue_owner(arg, before);
	enqueue_owner(arg, after);
}

/* A RayFailure that another replica wrote counts, too: then this replica need not write it. */
static void on_failure(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	struct parts *p = arg;
	_cleanup_free_ char *key = object_key(after ? after : before);

	failure_gc_see(p->gc, change, before, after);
	incident_writer_see(p->incidents, change, before, after);
	if (change == STORE_REMOVED && key)
		failure_writer_removed(p->writer, key);
	if (change != STORE_ADDED || !key)
		return;
	failure_writer_written(p->writer, key);
	enqueue_owner(p, after);
}

static void parts_changes_on_pod(void *arg, enum store_change change, const cJSON *before,
				 const cJSON *after)
{
	struct parts *p = arg;

	policies_see(p->policies, WATCH_PODS, change, before, after);
	failure_writer_see(p->writer, after ? after : before, !after);
	sidecar_poller_see(p->poller, after ? after : before, !after);
	if (p->admission && after)
		admission_see_pod(p->admission, change == STORE_ADDED, after);
	launcher_store_see_pod(p->launcher_store, before, after);
	missed_pods_see(p->missed, after ? after : before, !after);
	missed_pods_tell(p->missed, now_boottime_ns());
	if (!after)
		reconciler_pod_left(p->reconciler, before);
	enqueue_cluster_of(p, before);
	enqueue_cluster_of(p, after);
}

static void parts_changes_on_state(void *arg)
{
	const struct parts *p = arg;

	p->o.on_ready(p->o.arg);
	failure_writer_wake(p->writer);
	incident_writer_wake(p->incidents);
	/* Handles a pod that was listed before its cluster. */
	missed_pods_tell(p->missed, now_boottime_ns());
}

void parts_see_changes(struct parts *p, struct watches_options *options)
{
	options->on_change[WATCH_CLUSTERS] = parts_changes_on_cluster;
	options->on_change[WATCH_PODS] = parts_changes_on_pod;
	options->on_change[WATCH_SERVICES] = on_owned;
	options->on_change[WATCH_FAILURES] = on_failure;
	options->on_change[WATCH_POLICIES] = on_policy;
	options->on_change[WATCH_CLUSTER_POLICIES] = on_cluster_policy;
	options->on_change[WATCH_NAMESPACES] = parts_changes_on_namespace;
	options->on_state = parts_changes_on_state;
	options->arg = p;
}
