/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which failures wait to be written. */
#include "operator/failure_controller/failure_writer_internal.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/failures/failures.h"

/* For an eviction the kubelet gives containers one second, but it may be slow. */
#define SETTLE_NS (20 * NS_PER_SEC)
/* A dead pod is kept this long for its evidence. Then its cluster must go on. */
#define HOLD_NS (60 * NS_PER_SEC)
/* All pods are looked at in parts, and the event loop goes on in between. */
#define PODS_AT_ONCE 200
/* Looking at all pods of a large cluster takes seconds of processor time. */
#define DEFERRED_NS (30 * NS_PER_SEC)

static bool failure_writer_intake_known(const struct failure_writer *writer, const char *key)
{
	return pending_failures_get(&writer->pending, key) ||
	       strmap_get(&writer->written.map, key) ||
	       store_has(informer_store(writer->o.known), key);
}

/* Reports that the failure will not be written. */
void failure_writer_tell_lost(struct failure_writer *writer, const struct ray_failure *failure,
			      const char *reason, const char *why)
{
	metrics_add(writer->o.metrics, METRIC_FAILURES_LOST, 1, "reason=\"%s\"", reason);
	log_warning_limited("failure %s/%s is not recorded: %s: %s", failure->namespace,
			    failure->name, why, failure->verdict);
	if (writer->o.on_lost)
		writer->o.on_lost(writer->o.arg, failure, why);
}

/* --- Waiting failures ------------------------------------------------------------------------- */

/*
 * Returns whether the node agent's proof says more than the pod's status, which may have a better
 * reason only if something happened to the pod.
 */
static bool is_explained(const struct ray_failure *waiting, const struct ray_failure *later)
{
	return waiting->from_node && !later->from_node &&
	       (later->class == FAILURE_KERNEL_OOM_CONTAINER || later->class == FAILURE_KILLED);
}

/*
 * Replaces a waiting failure by `failure`, which has the pod's present status, if that is better.
 * Takes failure.
 */
static void look_again(struct failure_writer *writer, struct pending_failure *p,
		       struct ray_failure *failure, bool open, bool deleted)
{
	bool better = !p->taken && p->undecided && !is_explained(p->failure, failure) &&
		      (!deleted || !p->seen_undeleted || failure_supersedes(failure, p->failure));

	if (better)
		pending_failure_replace(p, TAKE_PTR(failure));
	ray_failure_free(failure);
	if (p->taken || !p->undecided)
		return;
	p->undecided = open;
	if (!open) {
		workqueue_add(&writer->queue, p->key);
		failure_writer_wake(writer);
	}
}

static void walk_again(struct failure_writer *writer)
{
	if (!evtimer_pending(writer->walk, NULL))
		event_add(writer->walk, &(struct timeval){ DEFERRED_NS / NS_PER_SEC, 0 });
}

/*
 * Called when there is no room for the failure. A pod that exists is looked at again later; the
 * status of a pod that is gone is lost.
 */
static void failure_writer_intake_defer(struct failure_writer *writer,
					const struct ray_failure *failure, bool gone)
{
	if (gone)
		failure_writer_tell_lost(writer, failure, "full",
					 "too many failures of this namespace wait to be written");
	else
		log_warning_limited(
			"failures of namespace %s wait: too many others of this namespace must be written first",
			failure->namespace);
	if (!gone && writer->o.may_write(writer->o.arg))
		walk_again(writer);
}

/* Takes failure. Returns NULL if it was not added. */
static struct pending_failure *add_pending(struct failure_writer *writer,
					   struct ray_failure *failure, bool gone)
{
	struct pending_failure *pending = NULL;
	int r = pending_failures_add(&writer->pending, failure, now_boottime_ns(), &pending);

	if (r == 0)
		return pending;
	if (r == -ENOSPC)
		failure_writer_intake_defer(writer, failure, gone);
	else
		failure_writer_tell_lost(writer, failure, "memory", "there is no memory for it");
	ray_failure_free(failure);
	return NULL;
}

/* Takes failure. deleted: its pod is being deleted. gone: nobody can derive the failure again. */
static void failure_writer_intake_add(struct failure_writer *writer, struct ray_failure *failure,
				      bool open, bool deleted, bool gone)
{
	_cleanup_free_ char *key = ray_failure_key(failure);
	struct pending_failure *waiting = key ? pending_failures_get(&writer->pending, key) : NULL;

	if (waiting) {
		look_again(writer, waiting, failure, open, deleted);
		return;
	}
	if (!key || failure_writer_intake_known(writer, key)) {
		ray_failure_free(failure);
		return;
	}
	struct pending_failure *p = add_pending(writer, failure, gone);
	if (!p)
		return;
	p->writer = writer;
	p->undecided = open;
	p->seen_undeleted = !deleted;
	if (open)
		workqueue_add_at(&writer->queue, p->key, p->since_ns + SETTLE_NS);
	else
		workqueue_add(&writer->queue, p->key);
	failure_writer_wake(writer);
}

bool failure_writer_knows(const struct failure_writer *writer, const struct ray_failure *failure)
{
	_cleanup_free_ char *key = ray_failure_key(failure);

	return key && failure_writer_intake_known(writer, key);
}

bool failure_writer_add(struct failure_writer *writer, struct ray_failure *failure)
{
	_cleanup_free_ char *key = ray_failure_key(failure);

	failure_writer_intake_add(writer, failure, false, false, false);
	return key && failure_writer_intake_known(writer, key);
}

/* Returns whether the sidecar may still bring the node agent's proof of the end. */
static bool may_be_explained(const struct failure_writer *writer, const struct ray_failure *failure)
{
	_cleanup_free_ char *key = failure->sidecar_was_away ? ray_failure_key(failure) : NULL;
	const struct pending_failure *p = key ? pending_failures_get(&writer->pending, key) : NULL;

	return key && !(p && p->heard);
}

static bool failure_writer_intake_is_open(const struct failure_writer *writer, const cJSON *pod,
					  const struct ray_failure *failure)
{
	return failure_is_open(pod, failure) || may_be_explained(writer, failure);
}

void failure_writer_see(struct failure_writer *writer, const cJSON *pod, bool gone)
{
	struct ray_failures failures = { 0 };
	bool deleted = json_str(pod, "metadata.deletionTimestamp");
	struct err err = { 0 };

	/* A new leader will look at all existing pods. */
	if (!gone && !writer->o.is_leader(writer->o.arg))
		return;
	int r = gone ? failures_from_gone_pod(pod, now_realtime_ns(), &failures, &err) :
		       failures_from_pod(pod, now_realtime_ns(), &failures, &err);
	if (r < 0)
		log_warning("pod %s/%s: %s", json_str(pod, "metadata.namespace"),
			    json_str(pod, "metadata.name"), err_text(&err));
	for (size_t i = 0; r == 0 && i < failures.n; i++) {
		bool open = !gone && failure_writer_intake_is_open(writer, pod, failures.list[i]);

		failure_writer_intake_add(writer, TAKE_PTR(failures.list[i]), open, deleted, gone);
	}
	ray_failures_release(&failures);
}

static bool is_of_pod(const struct pending_failure *p, const char *uid)
{
	return p->failure->pod_uid && strcmp(p->failure->pod_uid, uid) == 0;
}

static bool awaits_sidecar(const struct pending_failure *p)
{
	return p->undecided && !p->taken && !p->heard && p->failure->sidecar_was_away;
}

bool failure_writer_awaits_sidecar(const struct failure_writer *writer, const cJSON *pod)
{
	const char *uid = json_str(pod, "metadata.uid");
	void *value;

	if (!uid || !strmap_get(&writer->pending.pods, uid))
		return false;
	strmap_each(&writer->pending.all, NULL, &value) {
		const struct pending_failure *p = value;

		if (is_of_pod(p, uid) && awaits_sidecar(p))
			return true;
	}
	return false;
}

/* Takes over failure, which was made from the pod and what its sidecar says. */
static void failure_writer_intake_hear(struct failure_writer *writer, const cJSON *pod,
				       struct ray_failure *failure, bool settled)
{
	_cleanup_free_ char *key = ray_failure_key(failure);
	struct pending_failure *p = key ? pending_failures_get(&writer->pending, key) : NULL;

	/* The rest of what the node agent kept may be on its way, and make the end certain. */
	if (!p || !awaits_sidecar(p) ||
	    (!settled && failure->from_node && failure->confidence != CONFIDENCE_CERTAIN)) {
		ray_failure_free(failure);
		return;
	}
	p->heard = settled || failure->from_node;
	look_again(writer, p, failure, failure_writer_intake_is_open(writer, pod, failure),
		   json_str(pod, "metadata.deletionTimestamp"));
}

void failure_writer_hear(struct failure_writer *writer, const cJSON *pod,
			 const struct unmet_ends *unmet)
{
	struct ray_failures failures = { 0 };

	if (!failure_writer_awaits_sidecar(writer, pod))
		return;
	/* If there is no memory, the poller asks again, and the next answer is taken. */
	if (failures_from_pod_and_node(pod, unmet, now_realtime_ns(), &failures, NULL) == 0)
		for (size_t i = 0; i < failures.n; i++)
			failure_writer_intake_hear(writer, pod, TAKE_PTR(failures.list[i]),
						   unmet->settled);
	ray_failures_release(&failures);
}

/* --- All existing pods ------------------------------------------------------------------------ */

/* Begins a walk over all pods, also when a fresh list has replaced the map. */
static void begin_walk(struct failure_writer *writer, const struct store *pods)
{
	if (writer->walk_buckets != pods->entries.n_buckets)
		writer->walk_at = (struct strmap_pos){ 0 };
	writer->walk_buckets = pods->entries.n_buckets;
	writer->walks = true;
}

void failure_writer_walk(evutil_socket_t, short, void *arg)
{
	struct failure_writer *writer = arg;
	const struct store *pods = informer_store(writer->o.pods);
	const char *key;
	void *value;
	size_t n = 0;

	if (!writer->walks)
		writer->walks_since_ns = now_boottime_ns();
	begin_walk(writer, pods);
	/*
	 * Looks at buckets to their ends. The map may change before the next part, and the walk can
	 * continue only at a bucket.
	 */
	while ((n < PODS_AT_ONCE || writer->walk_at.next) &&
	       strmap_next(&pods->entries, &writer->walk_at, &key, &value)) {
		const cJSON *pod = store_peek(pods, key);

		n++;
		if (pod)
			failure_writer_see(writer, pod, false);
	}
	writer->walks = n >= PODS_AT_ONCE;
	if (writer->walks)
		event_active(writer->walk, 0, 0);
	else
		writer->walk_buckets = 0;
}

void failure_writer_begin(struct failure_writer *writer)
{
	pending_failures_touch(&writer->pending, now_boottime_ns());
	writer->walk_buckets = 0;
	writer->walks = true;
	writer->walks_since_ns = now_boottime_ns();
	event_active(writer->walk, 0, 0);
	failure_writer_wake(writer);
}

bool failure_writer_pending(const struct failure_writer *writer, const cJSON *pod)
{
	const char *uid = json_str(pod, "metadata.uid"),
		   *namespace = json_str(pod, "metadata.namespace");
	int64_t now = now_boottime_ns();

	return (writer->walks && now - writer->walks_since_ns < HOLD_NS) ||
	       (namespace && pending_failures_is_full(&writer->pending, namespace, now, HOLD_NS)) ||
	       (uid && pending_failures_of_pod(&writer->pending, uid, now, HOLD_NS));
}

static bool failure_writer_intake_end_of(const struct ray_failure *failure,
					 struct known_end *ret_end)
{
	const char *container = ray_failure_text(failure->container);
	bool is_end = container && !failure->container_lives &&
		      end_time_parse(failure->ended_at, &ret_end->at_ns);

	if (!is_end)
		return false;
	snprintf(ret_end->container, sizeof(ret_end->container), "%s", container);
	ret_end->number = failure->restart == RAY_FAILURE_NONE ? 0 : failure->restart + 1;
	ret_end->more = failure->more_ends;
	return true;
}

size_t failure_writer_ends(const struct failure_writer *writer, const cJSON *pod,
			   struct known_end *ret_ends, size_t max)
{
	const char *uid = json_str(pod, "metadata.uid");
	struct strmap_pos pos = { 0 };
	void *value;
	size_t n = 0;

	if (!uid || !strmap_get(&writer->pending.pods, uid))
		return 0;
	while (n < max && strmap_next(&writer->pending.all, &pos, NULL, &value)) {
		const struct pending_failure *p = value;

		if (is_of_pod(p, uid))
			n += failure_writer_intake_end_of(p->failure, &ret_ends[n]);
	}
	return n;
}

size_t failure_writer_in_flight(const struct failure_writer *writer)
{
	return writer->queue.n_working;
}

size_t failure_writer_n_pending(const struct failure_writer *writer)
{
	return writer->pending.all.n;
}
