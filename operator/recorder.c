/* SPDX-License-Identifier: Apache-2.0 */
/* Every death becomes a RayFailure. */
#include "operator/recorder.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/kube/workqueue.h"

/* A crash loop of a thousand pods fits; beyond it the oldest evidence is not the problem. */
#define PENDING_MAX 20000
#define WRITTEN_MAX 100000
#define IN_FLIGHT_MAX 8
/* The kubelet gives its containers a second for an eviction, and is not always quick. */
#define SETTLE_NS (20 * NS_PER_SEC)
/* So long a dead pod is kept for its evidence; then its cluster must go on. */
#define HOLD_NS (60 * NS_PER_SEC)

struct pending {
	struct recorder *recorder;
	cJSON *failure;
	char *key; /* "namespace/name" of the failure */
	int64_t since_ns;
	bool open;  /* its class may still change */
	bool seen_undeleted; /* when its pod was first seen dead, nobody had deleted it */
	bool taken; /* in work, or was: it stays as it is */
	bool owner_asked, inquired;
};

struct recorder {
	struct recorder_options o;
	struct workqueue queue;
	struct strmap pending; /* key -> struct pending */
	struct strmap written; /* key -> non-NULL: deleted ones are not written again while the pod tells of them */
	struct event *wake;
};

static void pending_free(void *value)
{
	struct pending *p = value;

	if (!p)
		return;
	cJSON_Delete(p->failure);
	free(p->key);
	free(p);
}

static void run(evutil_socket_t fd, short what, void *arg);

int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder, struct err *err)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return err_set(err, ENOMEM, "recorder");
	recorder->o = *options;
	workqueue_init(&recorder->queue);
	recorder->wake = evtimer_new(options->base, run, recorder);
	if (!recorder->wake) {
		recorder_free(recorder);
		return err_set(err, ENOMEM, "recorder");
	}
	*ret_recorder = recorder;
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->wake)
		event_free(recorder->wake);
	strmap_release(&recorder->pending, pending_free);
	strmap_release(&recorder->written, NULL);
	workqueue_release(&recorder->queue);
	free(recorder);
}

void recorder_wake(struct recorder *recorder)
{
	event_active(recorder->wake, 0, 0);
}

static bool known(const struct recorder *recorder, const char *key)
{
	return strmap_get(&recorder->pending, key) || strmap_get(&recorder->written, key) ||
	       store_has(informer_store(recorder->o.known), key);
}

/* One that waits, and the pod's status as it is now. Takes failure. */
static void look_again(struct recorder *recorder, struct pending *p, cJSON *failure, bool open, bool deleted)
{
	_cleanup_json_ cJSON *owned = failure;
	cJSON *old = p->failure;

	if (p->taken || !p->open)
		return;
	if (!deleted || !p->seen_undeleted || failure_supersedes(failure, old)) {
		p->failure = TAKE_PTR(owned);
		cJSON_Delete(old);
	}
	p->open = open;
	if (!open) {
		workqueue_add(&recorder->queue, p->key);
		recorder_wake(recorder);
	}
}

/* Takes failure. deleted: its pod is being deleted. */
static void add(struct recorder *recorder, cJSON *failure, bool open, bool deleted)
{
	_cleanup_json_ cJSON *owned = failure;
	_cleanup_free_ char *key = object_key(failure);
	struct pending *waiting = key ? strmap_get(&recorder->pending, key) : NULL;

	if (waiting)
		look_again(recorder, waiting, TAKE_PTR(owned), open, deleted);
	if (waiting || !key || known(recorder, key))
		return;
	if (recorder->pending.n >= PENDING_MAX) {
		log_error("failure %s is lost: %d others wait to be written", key, PENDING_MAX);
		return;
	}
	struct pending *p = calloc(1, sizeof(*p));
	if (!p || strmap_put(&recorder->pending, key, p, NULL) < 0) {
		free(p);
		log_error("failure %s is lost: out of memory", key);
		return;
	}
	p->recorder = recorder;
	p->failure = TAKE_PTR(owned);
	p->key = TAKE_PTR(key);
	p->since_ns = now_boottime_ns();
	p->open = open;
	p->seen_undeleted = !deleted;
	if (open)
		workqueue_add_at(&recorder->queue, p->key, p->since_ns + SETTLE_NS);
	else
		workqueue_add(&recorder->queue, p->key);
	recorder_wake(recorder);
}

bool recorder_knows(const struct recorder *recorder, const cJSON *failure)
{
	_cleanup_free_ char *key = object_key(failure);

	return key && known(recorder, key);
}

void recorder_add(struct recorder *recorder, cJSON *failure)
{
	add(recorder, failure, false, false);
}

void recorder_see(struct recorder *recorder, const cJSON *pod, bool gone)
{
	_cleanup_json_ cJSON *failures = NULL;
	bool deleted = json_str(pod, "metadata.deletionTimestamp");
	struct err err = { 0 };
	cJSON *failure;

	int r = gone ? failures_from_gone_pod(pod, now_realtime_ns(), &failures, &err) :
		       failures_from_pod(pod, now_realtime_ns(), &failures, &err);
	if (r < 0) {
		log_warning("pod %s/%s: %s", json_str(pod, "metadata.namespace"), json_str(pod, "metadata.name"),
			    err_text(&err));
		return;
	}
	while ((failure = cJSON_DetachItemFromArray(failures, 0)))
		add(recorder, failure, !gone && failure_is_open(pod, failure), deleted);
}

void recorder_begin(struct recorder *recorder)
{
	struct strmap_pos pos = { 0 };
	void *value;

	while (strmap_next(&recorder->pending, &pos, NULL, &value))
		((struct pending *)value)->since_ns = now_boottime_ns();
	recorder_wake(recorder);
}

bool recorder_pending(const struct recorder *recorder, const cJSON *pod)
{
	const char *uid = json_str(pod, "metadata.uid");
	struct strmap_pos pos = { 0 };
	void *value;

	while (uid && strmap_next(&recorder->pending, &pos, NULL, &value)) {
		const struct pending *p = value;
		const char *pod_uid = json_str(p->failure, "spec.podUID");
		if (pod_uid && strcmp(pod_uid, uid) == 0 && now_boottime_ns() - p->since_ns < HOLD_NS)
			return true;
	}
	return false;
}

size_t recorder_ends(const struct recorder *recorder, const cJSON *pod, struct told_end *ret_ends, size_t max)
{
	const char *uid = json_str(pod, "metadata.uid");
	struct strmap_pos pos = { 0 };
	void *value;
	size_t n = 0;

	while (uid && n < max && strmap_next(&recorder->pending, &pos, NULL, &value)) {
		const cJSON *spec = json_get(((const struct pending *)value)->failure, "spec");
		const char *of = json_str(spec, "podUID"), *container = json_str(spec, "container");

		if (!of || !container || strcmp(of, uid) != 0 || json_bool(spec, "containerLives", false) ||
		    !told_end_time(json_str(spec, "endedAt"), &ret_ends[n].at_ns))
			continue;
		snprintf(ret_ends[n++].container, sizeof(ret_ends->container), "%s", container);
	}
	return n;
}

size_t recorder_in_flight(const struct recorder *recorder)
{
	return recorder->queue.n_working;
}

size_t recorder_n_pending(const struct recorder *recorder)
{
	return recorder->pending.n;
}

/* Done with it, for good or ill: the pod need not wait for it any more. */
static void settle(struct recorder *recorder, struct pending *p)
{
	const char *cluster = json_str(p->failure, "spec.cluster");
	const char *namespace = json_str(p->failure, "metadata.namespace");
	char key[512];

	if (recorder->written.n >= WRITTEN_MAX)
		strmap_release(&recorder->written, NULL);
	strmap_put(&recorder->written, p->key, recorder, NULL);
	strmap_remove(&recorder->pending, p->key);
	workqueue_forget(&recorder->queue, p->key);
	workqueue_done(&recorder->queue, p->key);
	if (cluster && namespace && snprintf(key, sizeof(key), "%s/%s", namespace, cluster) < (int)sizeof(key))
		recorder->o.on_written(recorder->o.arg, key);
	pending_free(p);
}

void recorder_written(struct recorder *recorder, const char *key)
{
	struct pending *p = strmap_get(&recorder->pending, key);

	/* While our own write of it runs, its answer settles it. */
	if (p && workqueue_remove(&recorder->queue, key))
		settle(recorder, p);
}

static void retry(struct recorder *recorder, struct pending *p, int64_t least_ns, const struct err *err)
{
	int64_t delay = workqueue_retry(&recorder->queue, p->key, now_boottime_ns(), MAX(least_ns, NS_PER_SEC));
	char text[DURATION_TEXT_MAX];

	log_warning("failure %s: %s; again in %s", p->key, err_text(err), duration_format(delay, text));
	workqueue_done(&recorder->queue, p->key);
}

static void on_created(void *arg, struct client_response *response)
{
	struct pending *p = arg;
	struct recorder *recorder = p->recorder;
	const char *class = json_str(p->failure, "spec.class");

	if (response->status / 100 == 2) {
		log_info("failure %s: %s", p->key, json_str(p->failure, "spec.verdict"));
		metrics_add(recorder->o.metrics, METRIC_FAILURES, 1, "class=\"%s\"", class ? class : "");
		/* Before the pod is replaced: planning counts deaths. The watch may be late. */
		informer_learn(recorder->o.known, TAKE_PTR(response->object));
		settle(recorder, p);
	} else if (response->status == 409 && strcmp(response->reason, "AlreadyExists") == 0) {
		settle(recorder, p);
	} else if (client_namespace_ends(response)) {
		log_info("failure %s is not written, its namespace is being deleted: %s", p->key, json_str(p->failure, "spec.verdict"));
		settle(recorder, p);
	} else if (response->status == 400 || response->status == 413 || response->status == 422) {
		log_error("failure %s is lost, the server will not take it: %s", p->key, err_text(&response->err));
		settle(recorder, p);
	} else {
		retry(recorder, p, response->retry_after_ns, &response->err);
	}
	recorder_wake(recorder);
}

static void create(struct recorder *recorder, struct pending *p)
{
	struct err err = { 0 };
	cJSON *better;

	failure_seal(p->failure);
	better = recorder->o.reconsider(recorder->o.arg, p->failure);
	if (better) {
		cJSON_Delete(p->failure);
		p->failure = better;
	}
	if (client_create(recorder->o.client, p->failure, NULL, on_created, p, &err) < 0)
		retry(recorder, p, 0, &err);
}

static void on_owner(void *arg)
{
	struct pending *p = arg;
	struct recorder *recorder = p->recorder;

	owners_complete(recorder->o.owners, p->failure, now_boottime_ns());
	create(recorder, p);
	recorder_wake(recorder);
}

static bool ask_for_owner(struct recorder *recorder, struct pending *p)
{
	bool asked = p->owner_asked;

	p->owner_asked = true;
	return !asked && owners_ask(recorder->o.owners, p->failure, now_boottime_ns(), on_owner, p);
}

/* Who ended it is known, as far as it can be, which may have made another class of it. */
static void go_on(struct recorder *recorder, struct pending *p)
{
	const char *why;

	if (!recorder->o.wanted(recorder->o.arg, p->failure, &why)) {
		log_info("failure %s is not recorded: %s", p->key, why);
		settle(recorder, p);
	} else if (!ask_for_owner(recorder, p)) {
		create(recorder, p);
	}
}

static void on_inquired(void *arg)
{
	struct pending *p = arg;
	struct recorder *recorder = p->recorder;

	go_on(recorder, p);
	recorder_wake(recorder);
}

static bool ask_who_ended_it(struct recorder *recorder, struct pending *p)
{
	bool asked = p->inquired;
	const char *why;
	bool wanted = recorder->o.wanted(recorder->o.arg, p->failure, &why);

	p->inquired = true;
	owners_complete(recorder->o.owners, p->failure, now_boottime_ns());
	return !asked && inquiries_start(recorder->o.inquiries, p->failure, wanted, on_inquired, p);
}

static void start(struct recorder *recorder, const char *key)
{
	struct pending *p = strmap_get(&recorder->pending, key);

	if (p)
		p->taken = true;
	if (!p) {
		workqueue_forget(&recorder->queue, key);
		workqueue_done(&recorder->queue, key);
	} else if (store_has(informer_store(recorder->o.known), key)) {
		settle(recorder, p);
	} else if (!ask_who_ended_it(recorder, p)) {
		go_on(recorder, p);
	}
}

/* Not before we know which exist; unless the list fails for a reason that writing may not share. */
static bool may_start(const struct recorder *recorder)
{
	return recorder->o.may_write(recorder->o.arg) &&
	       (informer_synced(recorder->o.known) || informer_reflector(recorder->o.known)->last_status != 0) &&
	       recorder->queue.n_working < IN_FLIGHT_MAX;
}

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *recorder = arg;
	const char *key;

	(void)fd;
	(void)what;
	while (may_start(recorder) && (key = workqueue_get(&recorder->queue, now_boottime_ns())))
		start(recorder, key);
	int64_t next = workqueue_next_ns(&recorder->queue);
	if (next <= 0 || !may_start(recorder))
		return; /* the end of a write, or a state of the informer, wakes us */
	int64_t delay = MAX(next - now_boottime_ns(), NS_PER_MS);
	event_add(recorder->wake, &(struct timeval){ delay / NS_PER_SEC, delay % NS_PER_SEC / 1000 });
}
