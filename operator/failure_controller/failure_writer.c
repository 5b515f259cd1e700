/* SPDX-License-Identifier: Apache-2.0 */
/* Every death becomes a RayFailure. */
#include "operator/failure_controller/failure_writer.h"

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
	struct failure_writer *writer;
	cJSON *failure;
	char *key; /* "namespace/name" of the failure */
	char *pod_uid; /* NULL: it has none */
	struct pending *next_of_pod;
	int64_t since_ns;
	bool open;  /* its class may still change */
	bool seen_undeleted; /* when its pod was first seen dead, nobody had deleted it */
	bool taken; /* in work, or was: it stays as it is */
	bool owner_asked, inquired;
};

struct failure_writer {
	struct failure_writer_options o;
	struct workqueue queue;
	struct strmap pending; /* key -> struct pending */
	struct strmap by_pod; /* pod_uid -> the first struct pending of that pod */
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
	free(p->pod_uid);
	free(p);
}

/* Without memory its pod is not held for it. */
static void index_by_pod(struct failure_writer *writer, struct pending *p)
{
	const char *uid = json_str(p->failure, "spec.podUID");
	void *first = NULL;

	p->pod_uid = uid ? strdup(uid) : NULL;
	if (p->pod_uid && strmap_put(&writer->by_pod, p->pod_uid, p, &first) < 0)
		free(TAKE_PTR(p->pod_uid));
	p->next_of_pod = first;
}

static void unindex(struct failure_writer *writer, const struct pending *p)
{
	struct pending *first = p->pod_uid ? strmap_get(&writer->by_pod, p->pod_uid) : NULL, *before = first;

	if (first == p && !p->next_of_pod) {
		strmap_remove(&writer->by_pod, p->pod_uid);
	} else if (first == p) {
		strmap_put(&writer->by_pod, p->pod_uid, p->next_of_pod, NULL); /* which is there: no memory is needed */
	} else {
		while (before && before->next_of_pod != p)
			before = before->next_of_pod;
		if (before)
			before->next_of_pod = p->next_of_pod;
	}
}

static void run(evutil_socket_t fd, short what, void *arg);

int failure_writer_new(const struct failure_writer_options *options, struct failure_writer **ret_writer, struct err *err)
{
	struct failure_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return err_set(err, ENOMEM, "failure writer");
	writer->o = *options;
	workqueue_init(&writer->queue);
	writer->wake = evtimer_new(options->base, run, writer);
	if (!writer->wake) {
		failure_writer_free(writer);
		return err_set(err, ENOMEM, "failure writer");
	}
	*ret_writer = writer;
	return 0;
}

void failure_writer_free(struct failure_writer *writer)
{
	if (!writer)
		return;
	if (writer->wake)
		event_free(writer->wake);
	strmap_release(&writer->pending, pending_free);
	strmap_release(&writer->by_pod, NULL);
	strmap_release(&writer->written, NULL);
	workqueue_release(&writer->queue);
	free(writer);
}

void failure_writer_wake(struct failure_writer *writer)
{
	event_active(writer->wake, 0, 0);
}

static bool known(const struct failure_writer *writer, const char *key)
{
	return strmap_get(&writer->pending, key) || strmap_get(&writer->written, key) ||
	       store_has(informer_store(writer->o.known), key);
}

/* One that waits, and the pod's status as it is now. Takes failure. */
static void look_again(struct failure_writer *writer, struct pending *p, cJSON *failure, bool open, bool deleted)
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
		workqueue_add(&writer->queue, p->key);
		failure_writer_wake(writer);
	}
}

/* Takes failure. deleted: its pod is being deleted. */
static void add(struct failure_writer *writer, cJSON *failure, bool open, bool deleted)
{
	_cleanup_json_ cJSON *owned = failure;
	_cleanup_free_ char *key = object_key(failure);
	struct pending *waiting = key ? strmap_get(&writer->pending, key) : NULL;

	if (waiting)
		look_again(writer, waiting, TAKE_PTR(owned), open, deleted);
	if (waiting || !key || known(writer, key))
		return;
	if (writer->pending.n >= PENDING_MAX) {
		log_error("failure %s is lost: %d others wait to be written", key, PENDING_MAX);
		return;
	}
	struct pending *p = calloc(1, sizeof(*p));
	if (!p || strmap_put(&writer->pending, key, p, NULL) < 0) {
		free(p);
		log_error("failure %s is lost: out of memory", key);
		return;
	}
	p->writer = writer;
	p->failure = TAKE_PTR(owned);
	p->key = TAKE_PTR(key);
	p->since_ns = now_boottime_ns();
	p->open = open;
	p->seen_undeleted = !deleted;
	index_by_pod(writer, p);
	if (open)
		workqueue_add_at(&writer->queue, p->key, p->since_ns + SETTLE_NS);
	else
		workqueue_add(&writer->queue, p->key);
	failure_writer_wake(writer);
}

bool failure_writer_knows(const struct failure_writer *writer, const cJSON *failure)
{
	_cleanup_free_ char *key = object_key(failure);

	return key && known(writer, key);
}

void failure_writer_add(struct failure_writer *writer, cJSON *failure)
{
	add(writer, failure, false, false);
}

void failure_writer_see(struct failure_writer *writer, const cJSON *pod, bool gone)
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
		add(writer, failure, !gone && failure_is_open(pod, failure), deleted);
}

void failure_writer_begin(struct failure_writer *writer)
{
	struct strmap_pos pos = { 0 };
	void *value;

	while (strmap_next(&writer->pending, &pos, NULL, &value))
		((struct pending *)value)->since_ns = now_boottime_ns();
	failure_writer_wake(writer);
}

static const struct pending *first_of_pod(const struct failure_writer *writer, const cJSON *pod)
{
	const char *uid = json_str(pod, "metadata.uid");

	return uid ? strmap_get(&writer->by_pod, uid) : NULL;
}

bool failure_writer_pending(const struct failure_writer *writer, const cJSON *pod)
{
	const struct pending *p = first_of_pod(writer, pod);
	int64_t now_ns = now_boottime_ns();

	while (p && now_ns - p->since_ns >= HOLD_NS)
		p = p->next_of_pod;
	return p != NULL;
}

size_t failure_writer_ends(const struct failure_writer *writer, const cJSON *pod, struct told_end *ret_ends, size_t max)
{
	size_t n = 0;

	for (const struct pending *p = first_of_pod(writer, pod); p && n < max; p = p->next_of_pod) {
		const cJSON *spec = json_get(p->failure, "spec");
		const char *container = json_str(spec, "container");

		if (!container || json_bool(spec, "containerLives", false) ||
		    !told_end_time(json_str(spec, "endedAt"), &ret_ends[n].at_ns))
			continue;
		snprintf(ret_ends[n++].container, sizeof(ret_ends->container), "%s", container);
	}
	return n;
}

size_t failure_writer_in_flight(const struct failure_writer *writer)
{
	return writer->queue.n_working;
}

size_t failure_writer_n_pending(const struct failure_writer *writer)
{
	return writer->pending.n;
}

/* Done with it, for good or ill: the pod need not wait for it any more. */
static void settle(struct failure_writer *writer, struct pending *p)
{
	const char *cluster = json_str(p->failure, "spec.cluster");
	const char *namespace = json_str(p->failure, "metadata.namespace");
	char key[512];

	if (writer->written.n >= WRITTEN_MAX)
		strmap_release(&writer->written, NULL);
	strmap_put(&writer->written, p->key, writer, NULL);
	strmap_remove(&writer->pending, p->key);
	unindex(writer, p);
	workqueue_forget(&writer->queue, p->key);
	workqueue_done(&writer->queue, p->key);
	if (cluster && namespace && snprintf(key, sizeof(key), "%s/%s", namespace, cluster) < (int)sizeof(key))
		writer->o.on_written(writer->o.arg, key);
	pending_free(p);
}

void failure_writer_written(struct failure_writer *writer, const char *key)
{
	struct pending *p = strmap_get(&writer->pending, key);

	/* While our own write of it runs, its answer settles it. */
	if (p && workqueue_remove(&writer->queue, key))
		settle(writer, p);
}

static void retry(struct failure_writer *writer, struct pending *p, int64_t least_ns, const struct err *err)
{
	int64_t delay = workqueue_retry(&writer->queue, p->key, now_boottime_ns(), MAX(least_ns, NS_PER_SEC));
	char text[DURATION_TEXT_MAX];

	log_warning("failure %s: %s; again in %s", p->key, err_text(err), duration_format(delay, text));
	workqueue_done(&writer->queue, p->key);
}

static void on_created(void *arg, struct client_response *response)
{
	struct pending *p = arg;
	struct failure_writer *writer = p->writer;
	const char *class = json_str(p->failure, "spec.class");

	if (response->status / 100 == 2) {
		log_info("failure %s: %s", p->key, json_str(p->failure, "spec.verdict"));
		metrics_add(writer->o.metrics, METRIC_FAILURES, 1, "class=\"%s\"", class ? class : "");
		/* Before the pod is replaced: planning counts deaths. The watch may be late. */
		informer_learn(writer->o.known, TAKE_PTR(response->object));
		settle(writer, p);
	} else if (response->status == 409 && strcmp(response->reason, "AlreadyExists") == 0) {
		settle(writer, p);
	} else if (client_namespace_ends(response)) {
		log_info("failure %s is not written, its namespace is being deleted: %s", p->key, json_str(p->failure, "spec.verdict"));
		settle(writer, p);
	} else if (response->status == 400 || response->status == 413 || response->status == 422) {
		log_error("failure %s is lost, the server will not take it: %s", p->key, err_text(&response->err));
		settle(writer, p);
	} else {
		retry(writer, p, response->retry_after_ns, &response->err);
	}
	failure_writer_wake(writer);
}

static void create(struct failure_writer *writer, struct pending *p)
{
	struct err err = { 0 };
	cJSON *better;

	failure_seal(p->failure);
	better = writer->o.reconsider(writer->o.arg, p->failure);
	if (better) {
		cJSON_Delete(p->failure);
		p->failure = better;
	}
	if (client_create(writer->o.client, p->failure, NULL, on_created, p, &err) < 0)
		retry(writer, p, 0, &err);
}

static void on_owner(void *arg)
{
	struct pending *p = arg;
	struct failure_writer *writer = p->writer;

	failure_owners_complete(writer->o.owners, p->failure, now_boottime_ns());
	create(writer, p);
	failure_writer_wake(writer);
}

static bool ask_for_owner(struct failure_writer *writer, struct pending *p)
{
	bool asked = p->owner_asked;

	p->owner_asked = true;
	return !asked && failure_owners_ask(writer->o.owners, p->failure, now_boottime_ns(), on_owner, p);
}

/* Who ended it is known, as far as it can be, which may have made another class of it. */
static void go_on(struct failure_writer *writer, struct pending *p)
{
	const char *why;

	if (!writer->o.wanted(writer->o.arg, p->failure, &why)) {
		log_info("failure %s is not recorded: %s", p->key, why);
		settle(writer, p);
	} else if (!ask_for_owner(writer, p)) {
		create(writer, p);
	}
}

static void on_inquired(void *arg)
{
	struct pending *p = arg;
	struct failure_writer *writer = p->writer;

	go_on(writer, p);
	failure_writer_wake(writer);
}

static bool ask_who_ended_it(struct failure_writer *writer, struct pending *p)
{
	bool asked = p->inquired;
	const char *why;
	bool wanted = writer->o.wanted(writer->o.arg, p->failure, &why);

	p->inquired = true;
	failure_owners_complete(writer->o.owners, p->failure, now_boottime_ns());
	return !asked && inquiries_start(writer->o.inquiries, p->failure, wanted, on_inquired, p);
}

static void start(struct failure_writer *writer, const char *key)
{
	struct pending *p = strmap_get(&writer->pending, key);

	if (p)
		p->taken = true;
	if (!p) {
		workqueue_forget(&writer->queue, key);
		workqueue_done(&writer->queue, key);
	} else if (store_has(informer_store(writer->o.known), key)) {
		settle(writer, p);
	} else if (!ask_who_ended_it(writer, p)) {
		go_on(writer, p);
	}
}

/* Not before we know which exist; unless the list fails for a reason that writing may not share. */
static bool may_start(const struct failure_writer *writer)
{
	return writer->o.may_write(writer->o.arg) &&
	       (informer_synced(writer->o.known) || informer_reflector(writer->o.known)->last_status != 0) &&
	       writer->queue.n_working < IN_FLIGHT_MAX;
}

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct failure_writer *writer = arg;
	const char *key;

	(void)fd;
	(void)what;
	while (may_start(writer) && (key = workqueue_get(&writer->queue, now_boottime_ns())))
		start(writer, key);
	int64_t next = workqueue_next_ns(&writer->queue);
	if (next <= 0 || !may_start(writer))
		return; /* the end of a write, or a state of the informer, wakes us */
	int64_t delay = MAX(next - now_boottime_ns(), NS_PER_MS);
	event_add(writer->wake, &(struct timeval){ delay / NS_PER_SEC, delay % NS_PER_SEC / 1000 });
}
