/* SPDX-License-Identifier: Apache-2.0 */
/* Passes changes of the watched objects to the parts. */
#include "lib/units.h"
#include "operator/manager/parts.h"

#define KEY_MAX 512

static void parts_changes_on_cluster(struct parts *p, enum store_change change, const cJSON *before,
				     const cJSON *after)
{
	_cleanup_free_ char *key = object_key(after ? after : before);

	launcher_store_see_cluster(p->launcher_store, before, after);
	if (change == STORE_REMOVED)
		failure_owners_cluster_gone(p->owners, before, now_boottime_ns());
	else if (key)
		p->o.on_cluster(p->o.arg, key);
}

static void enqueue_cluster_of(const struct parts *p, const cJSON *object,
			       bool (*key_of)(const cJSON *object, char *buf, size_t size))
{
	char key[KEY_MAX];

	if (object && key_of(object, key, sizeof(key)))
		p->o.on_cluster(p->o.arg, key);
}

static void on_owned(struct parts *p, enum store_change, const cJSON *before, const cJSON *after)
{
	/* A label may have changed. */
	enqueue_cluster_of(p, before, cluster_key);
	enqueue_cluster_of(p, after, cluster_key);
}

/* A RayFailure that another replica wrote counts, too: then this replica need not write it. */
static void on_failure(struct parts *p, enum store_change change, const cJSON *before,
		       const cJSON *after)
{
	_cleanup_free_ char *key = object_key(after ? after : before);

	failure_gc_see(p->gc, change, before, after);
	incident_writer_see(p->incidents, change, before, after);
	if (change == STORE_REMOVED && key)
		failure_writer_removed(p->writer, key);
	if (change != STORE_ADDED || !key)
		return;
	failure_writer_written(p->writer, key);
	enqueue_cluster_of(p, after, cluster_key);
}

static void parts_changes_on_pod(struct parts *p, enum store_change change, const cJSON *before,
				 const cJSON *after)
{
	failure_writer_see(p->writer, after ? after : before, !after);
	sidecar_poller_see(p->poller, after ? after : before, !after);
	if (p->admission && after)
		admission_see_pod(p->admission, change == STORE_ADDED, after);
	launcher_store_see_pod(p->launcher_store, before, after);
	memory_keeper_see(p->memory_keeper, before, after);
	missed_pods_see(p->missed, after ? after : before, !after);
	missed_pods_tell(p->missed, now_boottime_ns());
	if (!after)
		reconciler_pod_left(p->reconciler, before);
	enqueue_cluster_of(p, before, pod_cluster_key);
	enqueue_cluster_of(p, after, pod_cluster_key);
}

static void parts_on_change(void *arg, enum watch_kind kind, enum store_change change,
			    const cJSON *before, const cJSON *after)
{
	static void (*const sees[WATCH_KIND_COUNT])(struct parts *p, enum store_change change,
						    const cJSON *before, const cJSON *after) = {
		[WATCH_CLUSTERS] = parts_changes_on_cluster,
		[WATCH_PODS] = parts_changes_on_pod,
		[WATCH_SERVICES] = on_owned,
		[WATCH_FAILURES] = on_failure,
	};
	struct parts *p = arg;

	policies_see(p->policies, kind, change, before, after);
	if (kind == WATCH_JOBS)
		submitter_pods_see(&p->submitters, after);
	else if (sees[kind])
		sees[kind](p, change, before, after);
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
	options->on_change = parts_on_change;
	options->on_state = parts_changes_on_state;
	options->arg = p;
}
