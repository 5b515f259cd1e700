/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a RayFailure for every death. */
#include "operator/failure_controller/failure_writer.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/failure_controller/failure_writer_internal.h"
#include "operator/failures/failures.h"
#include "operator/failures/older_crd.h"
#include "operator/fate/fate.h"

#define WRITTEN_MAX 100000
#define IN_FLIGHT_MAX 8
/* One namespace gets no more: by many Events its users can make each inquiry last very long. */
#define IN_FLIGHT_MAX_EACH (IN_FLIGHT_MAX / 2)
/*
 * A replica that does not act keeps only failures of pods that are gone, because nobody could
 * derive those again. It keeps them as long as there may be no leader: the Lease lasts 15 s.
 */
#define STANDBY_NS (60 * NS_PER_SEC)
/* The kubelet's Event may be behind the pod's status by as much. */
#define EVENT_DELAY_NS (4 * NS_PER_SEC)
/* Only time shows whether the CRD was upgraded and takes the next failure. */
#define CRD_OUTDATED_NS (3600 * NS_PER_SEC)

static void failure_writer_run(evutil_socket_t fd, short what, void *arg);

/* Creates series that begin at 0, because increase() does not see the first value of a series. */
static void begin_at_zero(struct metrics *metrics)
{
	static const char *const reasons[] = { "refused", "invalid", "unreachable", "full",
					       "memory" };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		metrics_add(metrics, METRIC_FAILURES_LOST, 0, "reason=\"%s\"", reasons[i]);
}

int failure_writer_new(const struct failure_writer_options *options,
		       struct failure_writer **ret_writer, struct err *err)
{
	struct failure_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return err_set(err, ENOMEM, "failure writer");
	writer->o = *options;
	writer->counts.quote_verdicts = options->quote_verdicts;
	workqueue_init(&writer->queue);
	writer->queue.most = IN_FLIGHT_MAX_EACH;
	writer->wake = evtimer_new(options->base, failure_writer_run, writer);
	writer->walk = evtimer_new(options->base, failure_writer_walk, writer);
	if (!writer->wake || !writer->walk) {
		failure_writer_free(writer);
		return err_set(err, ENOMEM, "failure writer");
	}
	begin_at_zero(writer->o.metrics);
	*ret_writer = writer;
	return 0;
}

void failure_writer_free(struct failure_writer *writer)
{
	if (!writer)
		return;
	event_drop(writer->wake);
	event_drop(writer->walk);
	pending_failures_release(&writer->pending);
	failure_counts_release(&writer->counts);
	namespace_map_release(&writer->written, NULL);
	workqueue_release(&writer->queue);
	free(writer);
}

void failure_writer_metrics(const struct failure_writer *writer)
{
	/* What a standby keeps for a minute will be written by the leader. */
	bool leads = writer->o.is_leader(writer->o.arg);
	bool outdated = writer->refused_by_crd_ns &&
			now_boottime_ns() - writer->refused_by_crd_ns < CRD_OUTDATED_NS;

	metrics_set(writer->o.metrics, METRIC_FAILURES_PENDING,
		    leads ? (double)failure_writer_n_pending(writer) : 0, "%s", "");
	metrics_set(writer->o.metrics, METRIC_CRDS_OUTDATED, outdated, "%s", "");
	failure_counts_publish(&writer->counts, now_boottime_ns(), writer->o.metrics);
}

void failure_writer_wake(struct failure_writer *writer)
{
	event_active(writer->wake, 0, 0);
}

/* Forgets those of the namespace that has most, so that a tenant displaces its own. */
static void written_make_room(struct namespace_map *written)
{
	char prefix[256];
	size_t len = (size_t)snprintf(prefix, sizeof(prefix), "%s/",
				      namespace_share_most(&written->share));
	const char *key;
	void *value;

	strmap_each(&written->map, &key, &value)
		if (strncmp(key, prefix, len) == 0)
			namespace_map_remove(written, key);
}

static void note_written(struct failure_writer *writer, const char *key)
{
	if (writer->written.map.n >= WRITTEN_MAX)
		written_make_room(&writer->written);
	(void)namespace_map_put(&writer->written, key, writer, SIZE_MAX, NULL);
}

/*
 * --- Writing
 * --------------------------------------------------------------------------------------------
 */

/* Returns NULL if there is no memory. */
static cJSON *failure_writer_object_of(const struct failure_writer *writer,
				       const struct ray_failure *failure)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *object = ray_failure_to_json(failure);

	failure_seal(object);
	if (oom_count() != lost)
		return NULL;
	cJSON *better = writer->o.reconsider(writer->o.arg, object);
	return better ? better : TAKE_PTR(object);
}

/* Ends the work on it, written or not. The pod need not wait for it any more. */
static void failure_writer_settle(struct failure_writer *writer, struct pending_failure *p)
{
	char cluster[512];

	note_written(writer, p->key);
	workqueue_forget(&writer->queue, p->key);
	workqueue_done(&writer->queue, p->key);
	if (ray_failure_text(p->failure->cluster) &&
	    snprintf(cluster, sizeof(cluster), "%s/%s", p->failure->namespace,
		     p->failure->cluster) < (int)sizeof(cluster))
		writer->o.on_written(writer->o.arg, cluster);
	pending_failures_remove(&writer->pending, p);
}

void failure_writer_written(struct failure_writer *writer, const char *key)
{
	struct pending_failure *p = pending_failures_get(&writer->pending, key);

	/* While our own write is under way, its answer decides. */
	if (!p || !workqueue_remove(&writer->queue, key))
		return;
	failure_writer_settle(writer, p);
}

void failure_writer_removed(struct failure_writer *writer, const char *key)
{
	note_written(writer, key);
}

static void failure_writer_give_up(struct failure_writer *writer, struct pending_failure *p,
				   const char *reason, const char *why)
{
	failure_writer_tell_lost(writer, p->failure, reason, why);
	failure_writer_settle(writer, p);
}

static void failure_writer_retry(struct failure_writer *writer, struct pending_failure *p,
				 int status, int64_t least_ns, const struct err *err)
{
	if (!pending_failure_may_retry(p, status, now_boottime_ns())) {
		failure_writer_give_up(writer, p, status ? "refused" : "unreachable",
				       err_text(err));
		return;
	}
	int64_t delay = workqueue_retry(&writer->queue, p->key, now_boottime_ns(),
					MAX(least_ns, NS_PER_SEC));
	log_warning_limited("failure %s: %s; again in %s", p->key, err_text(err),
			    DURATION_TEXT(delay));
	pending_failure_set_object(p, NULL);
	workqueue_done(&writer->queue, p->key);
}

static void failure_writer_create(struct failure_writer *writer, struct pending_failure *p);

/* Reports an old CRD once, because all failures meet it until somebody upgrades the CRD. */
static void tell_older_crd(struct failure_writer *writer, const char *what, const struct err *err)
{
	writer->refused_by_crd_ns = now_boottime_ns();
	if (writer->reported_older_crd)
		return;
	writer->reported_older_crd = true;
	log_error(
		"the CRD rayfailures.afterglow.dev is older than this operator and does not have %s: RayFailures are written without "
		"these fields until the CRDs are upgraded: %s",
		what, err_text(err));
	if (writer->o.on_older_crd)
		writer->o.on_older_crd(writer->o.arg, what);
}

/* Handles a RayFailure that the server rejects as invalid. */
static void take_invalid(struct failure_writer *writer, struct pending_failure *p,
			 const struct client_response *response)
{
	char what[OLDER_CRD_TEXT_MAX];

	if (response->status == 422 && !p->reduced &&
	    older_crd_reduce(p->object, response->object, what)) {
		p->reduced = true;
		tell_older_crd(writer, what, &response->err);
		failure_writer_create(writer, p);
	} else {
		failure_writer_give_up(writer, p, "invalid", err_text(&response->err));
	}
}

static void failure_writer_on_created(void *arg, struct client_response *response)
{
	struct pending_failure *p = arg;
	struct failure_writer *writer = p->writer;

	if (response->status / 100 == 2) {
		log_info("failure %s: %s", p->key, json_str(p->object, "spec.verdict"));
		failure_counts_add(&writer->counts, p->object, now_boottime_ns());
		/*
		 * This comes before the pod is replaced, because a crash loop is recognised by its
		 * RayFailures, and the watch may be late.
		 */
		informer_learn(writer->o.known, TAKE_PTR(response->object));
		failure_writer_settle(writer, p);
	} else if (response->status == 409 && strcmp(response->reason, "AlreadyExists") == 0) {
		failure_writer_settle(writer, p);
	} else if (client_namespace_ends(response)) {
		log_info("failure %s is not written, its namespace is being deleted: %s", p->key,
			 json_str(p->object, "spec.verdict"));
		failure_writer_settle(writer, p);
	} else if (response->status == 400 || response->status == 413 || response->status == 422) {
		take_invalid(writer, p, response);
	} else {
		failure_writer_retry(writer, p, response->status, response->retry_after_ns,
				     &response->err);
	}
	failure_writer_wake(writer);
}

static void failure_writer_create(struct failure_writer *writer, struct pending_failure *p)
{
	struct err err = { 0 };

	if (client_create(writer->o.client, p->object, NULL, failure_writer_on_created, p, &err) <
	    0)
		failure_writer_retry(writer, p, 0, 0, &err);
}

static void seal_and_create(struct failure_writer *writer, struct pending_failure *p)
{
	pending_failure_set_object(p, failure_writer_object_of(writer, p->failure));
	if (p->object)
		failure_writer_create(writer, p);
	else
		failure_writer_retry(writer, p, 0, 0,
				     &(struct err){ .code = ENOMEM, .text = "no memory" });
}

static void on_owner(void *arg)
{
	struct pending_failure *p = arg;
	struct failure_writer *writer = p->writer;

	failure_owners_complete(writer->o.owners, p->failure, now_boottime_ns());
	seal_and_create(writer, p);
	failure_writer_wake(writer);
}

static bool ask_for_owner(struct failure_writer *writer, struct pending_failure *p)
{
	bool asked = p->owner_asked;

	p->owner_asked = true;
	return !asked &&
	       failure_owners_ask(writer->o.owners, p->failure, now_boottime_ns(), on_owner, p);
}

/*
 * Called when as much as possible is known about who ended the container, which may have changed
 * the class.
 */
static void failure_writer_go_on(struct failure_writer *writer, struct pending_failure *p)
{
	const char *why;

	if (!writer->o.wanted(writer->o.arg, p->failure, &why)) {
		log_info("failure %s is not recorded: %s", p->key, why);
		failure_writer_settle(writer, p);
	} else if (!ask_for_owner(writer, p)) {
		seal_and_create(writer, p);
	}
}

/*
 * Puts a failure back that an Event of the kubelet may still explain. Meanwhile it takes no place
 * among those that are being written. Returns whether it did.
 */
static bool failure_writer_look_again(struct failure_writer *writer, struct pending_failure *p)
{
	if (p->looks_again || !fate_event_may_follow(p->failure, now_realtime_ns()))
		return false;
	p->looks_again = true;
	p->inquired = false;
	workqueue_add_at(&writer->queue, p->key, now_boottime_ns() + EVENT_DELAY_NS);
	workqueue_done(&writer->queue, p->key);
	return true;
}

static void on_inquired(void *arg)
{
	struct pending_failure *p = arg;
	struct failure_writer *writer = p->writer;

	if (!failure_writer_look_again(writer, p))
		failure_writer_go_on(writer, p);
	failure_writer_wake(writer);
}

static bool ask_who_ended_it(struct failure_writer *writer, struct pending_failure *p)
{
	bool asked = p->inquired;
	const char *why;
	bool wanted = writer->o.wanted(writer->o.arg, p->failure, &why);

	p->inquired = true;
	failure_owners_complete(writer->o.owners, p->failure, now_boottime_ns());
	return !asked && inquiries_start(writer->o.inquiries, p->failure, wanted, on_inquired, p);
}

static void failure_writer_start(struct failure_writer *writer, const char *key)
{
	struct pending_failure *p = pending_failures_get(&writer->pending, key);

	if (p)
		p->taken = true;
	if (!p) {
		workqueue_forget(&writer->queue, key);
		workqueue_done(&writer->queue, key);
	} else if (store_has(informer_store(writer->o.known), key)) {
		failure_writer_settle(writer, p);
	} else if (!ask_who_ended_it(writer, p)) {
		failure_writer_go_on(writer, p);
	}
}

/*
 * Writing begins when it is known which RayFailures exist, or if listing them fails for a reason
 * that may not concern writing.
 */
static bool failure_writer_may_start(const struct failure_writer *writer)
{
	return writer->o.may_write(writer->o.arg) &&
	       (informer_synced(writer->o.known) ||
		informer_reflector(writer->o.known)->last_status != 0) &&
	       writer->queue.n_working < IN_FLIGHT_MAX;
}

/*
 * Drops failures that the leader has not written in time: it will not write them any more.
 */
static void drop_old(struct failure_writer *writer)
{
	int64_t now = now_boottime_ns();
	void *value;

	strmap_each(&writer->pending.all, NULL, &value) {
		struct pending_failure *p = value;

		if (now - p->since_ns >= STANDBY_NS && workqueue_remove(&writer->queue, p->key))
			pending_failures_remove(&writer->pending, p);
	}
	if (writer->pending.all.n)
		event_add(writer->wake, &(struct timeval){ STANDBY_NS / NS_PER_SEC, 0 });
}

static void failure_writer_run(evutil_socket_t, short, void *arg)
{
	struct failure_writer *writer = arg;
	const char *key;

	if (!writer->o.is_leader(writer->o.arg)) {
		drop_old(writer);
		return;
	}
	while (failure_writer_may_start(writer) &&
	       (key = workqueue_get(&writer->queue, now_boottime_ns())))
		failure_writer_start(writer, key);
	int64_t next = workqueue_next_ns(&writer->queue);
	if (next <= 0 || !failure_writer_may_start(writer))
		return; /* the end of a write, or a change of the informer, wakes us */
	timer_after(writer->wake, next - now_boottime_ns());
}
