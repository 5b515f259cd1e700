/* SPDX-License-Identifier: Apache-2.0 */
/* One cluster at a time: observe, plan, carry out. */
#include "operator/reconcile.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/answer.h"
#include "operator/facts.h"
#include "operator/kube/events.h"
#include "operator/lookup.h"
#include "operator/observe.h"
#include "operator/pod_fields.h"
#include "operator/raycluster/inject.h"
#include "operator/raycluster/news.h"
#include "operator/raycluster/redis_cleanup.h"

/* Belt and braces: every cluster is looked at so often, events or not. */
#define RESYNC_NS (600 * NS_PER_SEC)
/* How long it is believed that the launcher's ConfigMap is still there, which is not watched. */
#define LAUNCHER_NS (300 * NS_PER_SEC)
/* While a cluster of the namespace writes it, 100 KiB, the others need not: the answer wakes them, or this. */
#define LAUNCHER_WAIT_NS NS_PER_SEC
/* The same of what a cluster has besides: roles, ingress, secret. A little less, so that each look renews it. */
#define APPLIED_NS (RESYNC_NS - 10 * NS_PER_SEC)
/*
 * Pods are created side by side. So many writes of all clusters together; but each cluster may always have one. It is
 * what keeps us from flooding the API server, too: one that is slow gets fewer requests a second.
 */
#define WRITES_MAX 24

struct reconciler {
	struct reconciler_options o;
	struct facts facts;
	struct reconcile *reconciles;
	size_t n_reconciles;
	size_t n_writes; /* that are not answered yet */
};

/* One operation of a plan, as its answer finds it. */
struct step {
	struct reconcile *reconcile;
	const struct plan_op *op;
};

struct reconcile {
	struct reconciler *reconciler;
	struct reconcile *next, *prev;
	char *key; /* "namespace/name" */
	char *namespace;
	struct plan plan;
	struct lookup lookup;
	struct step *steps; /* as many as the plan has operations */
	size_t at; /* the next operation */
	size_t in_flight;
	int64_t started_ns;
	bool name_taken; /* a pod of that name existed: look again soon */
	bool maybe_done; /* a write without an answer may have been carried out */
	bool cautious; /* the last time a pod was refused: one write at a time */
	bool stop; /* no operation is started any more */
	bool namespace_ends; /* it is being deleted */
	struct strmap refused; /* groups whose pods the server does not take; the others go on */
	cJSON *news; /* what went well, for people */
	struct err trouble; /* the first */
	int64_t retry_after_ns;
};

/* --- Execution ------------------------------------------------------------------------------------------ */

static void run_next(struct reconcile *r);

static void reconcile_free(struct reconcile *r)
{
	if (!r)
		return;
	plan_release(&r->plan);
	cJSON_Delete(r->lookup.job);
	cJSON_Delete(r->news);
	strmap_release(&r->refused, NULL);
	free(r->steps);
	free(r->key);
	free(r->namespace);
	free(r);
}

static void finish(struct reconcile *r, const char *result)
{
	struct reconciler *c = r->reconciler;

	metrics_add(c->o.metrics, METRIC_RECONCILES, 1, "controller=\"raycluster\",result=\"%s\"", result);
	metrics_observe(c->o.metrics, METRIC_RECONCILE_SECONDS, (double)(now_boottime_ns() - r->started_ns) / 1e9,
			"controller=\"raycluster\"");
	workqueue_done(c->o.queue, r->key);
	if (r->prev)
		r->prev->next = r->next;
	else
		c->reconciles = r->next;
	if (r->next)
		r->next->prev = r->prev;
	c->n_reconciles--;
	reconcile_free(r);
	c->o.on_finished(c->o.arg);
}

static void succeed(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	struct cluster_facts *facts = facts_of_cluster(&c->facts, r->key);
	int64_t again_ns = r->plan.requeue_ns > 0 ? MIN(r->plan.requeue_ns, RESYNC_NS) : RESYNC_NS;

	if (r->name_taken)
		again_ns = MIN(again_ns, 5 * NS_PER_SEC);
	/* The status still speaks of the failure. */
	if (facts && facts->failure_reason) {
		facts->failure_reason = NULL;
		again_ns = 0;
	}
	workqueue_forget(c->o.queue, r->key);
	workqueue_add_at(c->o.queue, r->key, now_boottime_ns() + again_ns);
	finish(r, r->plan.requeue_ns > 0 ? "requeue_after" : "success");
}

static void fail(struct reconcile *r, int64_t retry_after_ns, const struct err *err)
{
	struct reconciler *c = r->reconciler;
	int64_t delay = workqueue_retry(c->o.queue, r->key, now_boottime_ns(), retry_after_ns);
	char text[DURATION_TEXT_MAX];

	log_line(r->namespace_ends ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, "cluster %s: %s; again in %s", r->key, err_text(err),
		 duration_format(delay, text));
	metrics_add(c->o.metrics, METRIC_RECONCILE_ERRORS, 1, "controller=\"raycluster\"");
	finish(r, "error");
}

static void note_launcher(struct reconcile *r, const struct plan_op *op, bool under_way)
{
	struct namespace_facts *facts = op_is_launcher(op) ? facts_of_namespace(&r->reconciler->facts, r->namespace) : NULL;

	if (facts)
		facts->launcher_under_way = under_way;
}

/* Those that waited for it go on; or the first of them tries it. */
static void wake_launcher_waiters(struct reconcile *r)
{
	struct namespace_facts *facts = facts_of_namespace(&r->reconciler->facts, r->namespace);
	const struct reconciler_options *o = &r->reconciler->o;
	struct strmap_pos pos = { 0 };
	const char *key;
	void *value;

	if (!facts)
		return;
	while (strmap_next(&facts->launcher_waiters, &pos, &key, &value))
		workqueue_add(o->queue, key);
	strmap_release(&facts->launcher_waiters, NULL);
	o->on_ready(o->arg);
}

/* Becomes the condition ReplicaFailure. */
static void note_refusal(struct reconcile *r, const struct plan_op *op, const struct client_response *response)
{
	struct cluster_facts *facts = facts_of_cluster(&r->reconciler->facts, r->key);
	const char *node = op_label(op, "ray.io/node-type");
	bool head = node && strcmp(node, "head") == 0;

	if (!facts || r->trouble.code)
		return;
	if (op->kind == PLAN_CREATE)
		facts->failure_reason = head ? "FailedCreateHeadPod" : "FailedCreateWorkerPod";
	else
		facts->failure_reason = head ? "FailedDeleteHeadPod" : "FailedDeleteWorkerPod";
	snprintf(facts->failure_message, sizeof(facts->failure_message), "%s", err_text(&response->err));
}

static void take_answer(struct reconcile *r, const struct plan_op *op, struct client_response *response)
{
	struct reconciler *c = r->reconciler;
	struct cluster_facts *cluster = facts_of_cluster(&c->facts, r->key);
	struct namespace_facts *facts;

	if (cluster && (response->status / 100 == 2 || answer_is_taken(op, response)) && !op_is_kind(op, "Pod") &&
	    (op->kind == PLAN_APPLY || op->kind == PLAN_CREATE))
		facts_note_applied(cluster, op->body, now_boottime_ns() + APPLIED_NS);
	if (response->status / 100 == 2 && op->kind == PLAN_CREATE && (facts = facts_of_namespace(&c->facts, r->namespace)))
		facts->ends = false;
	if (response->status / 100 == 2) {
		if (op->kind == PLAN_DELETE && !json_str(response->object, "metadata.uid"))
			watches_learn_gone(c->o.watches, op->body); /* a Status: gone at once */
		else if (!json_str(response->object, "metadata.deletionTimestamp") || op->kind != PLAN_FINALIZERS)
			watches_learn(c->o.watches, TAKE_PTR(response->object)); /* else it is gone with its last finalizer */
		if (op_is_launcher(op) && (facts = facts_of_namespace(&c->facts, r->namespace)))
			facts->launcher_until_ns = now_boottime_ns() + LAUNCHER_NS;
	} else if (response->status == 404 && op->kind == PLAN_DELETE) {
		watches_learn_gone(c->o.watches, op->body);
	} else if (answer_is_taken(op, response) && op_is_kind(op, "Pod")) {
		r->name_taken = true;
	}
}

static void log_op(const struct reconcile *r, const struct plan_op *op, const struct client_response *response)
{
	const char *name = json_str(op->body, "metadata.name");
	enum log_level level = op->kind == PLAN_STATUS || op->kind == PLAN_EVENT ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	const char *note = json_str(op->body, "note");

	if (op->kind == PLAN_EVENT)
		log_line(LOG_LEVEL_INFO, "cluster %s: event %s: %s%s%s", r->key, json_str(op->body, "reason"),
			 note ? note : "", response->err.code ? " (not written: " : "",
			 response->err.code ? err_text(&response->err) : "");
	else
		log_line(level, "cluster %s: %s %s %s%s", r->key, op_name(op), json_str(op->body, "kind"),
			 name ? name : "", response->status == 409 ? " (exists already)" : "");
}

static void note_trouble(struct reconcile *r, int64_t retry_after_ns, const struct err *err)
{
	if (!r->trouble.code)
		r->trouble = *err;
	r->retry_after_ns = MAX(r->retry_after_ns, retry_after_ns);
}

/* A namespace that is going takes no Job, and must not wait for one. */
static void note_no_cleanup(struct reconcile *r, const struct err *err)
{
	struct cluster_facts *facts = facts_of_cluster(&r->reconciler->facts, r->key);

	if (facts)
		snprintf(facts->cleanup_refused, sizeof(facts->cleanup_refused), "%s", err_text(err));
}

/* Said once. It is no trouble of ours, and what is there goes without our doing. */
static void note_end_of_namespace(struct reconcile *r)
{
	struct namespace_facts *facts = facts_of_namespace(&r->reconciler->facts, r->namespace);

	if (facts && !facts->ends)
		log_info("cluster %s: its namespace is being deleted, nothing can be made in it any more", r->key);
	if (facts)
		facts->ends = true;
	r->namespace_ends = true;
}

/* One group that is refused (its quota is used up, its spec is wrong) is no reason to leave out the others. */
static void take_trouble(struct reconcile *r, const struct plan_op *op, const struct client_response *response)
{
	const char *group = op_label(op, "ray.io/group");
	bool refused = answer_is_refusal(op, response);

	if (client_namespace_ends(response))
		note_end_of_namespace(r);
	else if (refused)
		note_refusal(r, op, response);
	if (op_is_kind(op, "Job") && response->status / 100 == 4 && response->status != 409 && response->status != 429)
		note_no_cleanup(r, &response->err);
	if (!refused || op->kind != PLAN_CREATE || !group || strmap_put(&r->refused, group, r, NULL) < 0)
		r->stop = true;
	note_trouble(r, response->retry_after_ns, &response->err);
}

static void on_op_done(void *arg, struct client_response *response);

/* With the recorder a pod may break a quota, a range or a policy of its namespace. Then Ray comes first. */
static bool try_without_recorder(struct step *step, const struct client_response *response)
{
	const struct plan_op *op = step->op;
	const char *why = json_str(response->object, "message"), *name = json_str(op->body, "metadata.name");
	struct reconcile *r = step->reconcile;
	struct err err = { 0 };

	if (op->kind != PLAN_CREATE || !answer_is_refusal(op, response) || response->status >= 500 || client_namespace_ends(response))
		return false;
	plan_own_spec(op->body);
	if (!inject_undo(op->body, why ? why : err_text(&response->err)) ||
	    client_create(r->reconciler->o.client, op->body, pod_fields, on_op_done, step, &err) < 0)
		return false;
	log_warning("cluster %s: %s is refused, and tried without the recorder: %s", r->key, name, why ? why : err_text(&response->err));
	return true;
}

static void on_op_done(void *arg, struct client_response *response)
{
	struct step *step = arg;
	struct reconcile *r = step->reconcile;
	struct reconciler *c = r->reconciler;
	const struct plan_op *op = step->op;
	enum verdict verdict = answer_verdict(op, response);

	if (try_without_recorder(step, response))
		return;
	metrics_add(c->o.metrics, METRIC_OPERATIONS, 1, "operation=\"%s\",kind=\"%s\",result=\"%s\"", op_name(op),
		    json_str(op->body, "kind"), verdict == WENT_WELL ? "ok" : "error");
	r->in_flight--;
	c->n_writes--;
	note_launcher(r, op, false);
	take_answer(r, op, response);
	if (op_is_launcher(op))
		wake_launcher_waiters(r);
	if (verdict == WENT_WELL) {
		log_op(r, op, response);
		news_add(r->news, op, response->status);
	} else {
		take_trouble(r, op, response);
	}
	r->maybe_done |= verdict != WENT_WELL && response->maybe_done;
	run_next(r);
}

static int start_op(struct step *step, struct err *err)
{
	struct client *client = step->reconcile->reconciler->o.client;
	const struct plan_op *op = step->op;

	switch (op->kind) {
	case PLAN_APPLY:
		return client_apply(client, op->body, NULL, on_op_done, step, err);
	case PLAN_STATUS:
		return client_apply(client, op->body, "status", on_op_done, step, err);
	case PLAN_FINALIZERS:
		return client_merge(client, op->body, on_op_done, step, err);
	case PLAN_CREATE:
		return client_create(client, op->body, op_is_kind(op, "Pod") ? pod_fields : NULL, on_op_done, step, err);
	case PLAN_EVENT:
		return client_event(client, op->body, on_op_done, step, err);
	case PLAN_DELETE:
		return client_delete(client, op->body, (int)json_int(op->body, "gracePeriodSeconds", -1), on_op_done, step, err);
	}
	return err_set(err, EINVAL, "operation %d", (int)op->kind);
}

static void skip_refused(struct reconcile *r)
{
	for (; r->at < r->plan.n_ops; r->at++) {
		const struct plan_op *op = &r->plan.ops[r->at];
		const char *group = op->kind == PLAN_CREATE ? op_label(op, "ray.io/group") : NULL;

		if (!group || !strmap_get(&r->refused, group))
			return;
	}
}

/* In their order, each when the one before is answered; but creations that follow each other go together, and the status with them. */
static bool may_start_next(struct reconcile *r)
{
	const struct reconciler *c = r->reconciler;
	const struct plan_op *next;

	skip_refused(r);
	next = &r->plan.ops[r->at];
	if (r->stop || r->at >= r->plan.n_ops || !c->o.may_write(c->o.arg))
		return false;
	if (r->in_flight == 0)
		return true;
	return !r->cautious && next[-1].kind == PLAN_CREATE && (next->kind == PLAN_CREATE || next->kind == PLAN_STATUS);
}

static void start_next(struct reconcile *r)
{
	struct step *step = &r->steps[r->at];
	struct err err = { 0 };

	*step = (struct step){ .reconcile = r, .op = &r->plan.ops[r->at++] };
	if (start_op(step, &err) < 0) {
		err_wrap(&err, "%s", op_name(step->op));
		r->stop = true;
		note_trouble(r, 0, &err);
		return;
	}
	r->in_flight++;
	r->reconciler->n_writes++;
	note_launcher(r, step->op, true);
}

static void tell_news(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	const cJSON *cluster = r->news->child ? store_get(watches_store(c->o.watches, WATCH_CLUSTERS), r->key) : NULL, *item;

	if (!cluster)
		return;
	cJSON_ArrayForEach(item, r->news)
		crier_tell(c->o.crier, news_event(item, cluster, now_realtime_ns()));
	watches_drop_views(c->o.watches);
}

/* Of those that could go on, which has the fewest on their way. What has none goes on by itself. */
static struct reconcile *neediest(const struct reconciler *c)
{
	struct reconcile *found = NULL;

	for (struct reconcile *r = c->reconciles; r; r = r->next)
		if (r->in_flight > 0 && (!found || r->in_flight < found->in_flight) && may_start_next(r))
			found = r;
	return found;
}

/* A large cluster has all the places while it is alone, and no more than its share when it is not. */
static void share_out(struct reconciler *c)
{
	struct reconcile *r;

	while (c->n_writes < WRITES_MAX && (r = neediest(c)))
		start_next(r);
}

/* The reconcile may be over, and gone, afterwards. */
static void run_next(struct reconcile *r)
{
	while (r->in_flight == 0 && may_start_next(r))
		start_next(r);
	share_out(r->reconciler);
	if (r->in_flight > 0)
		return;
	if (r->maybe_done)
		informer_resync(watches_informer(r->reconciler->o.watches, WATCH_PODS));
	tell_news(r);
	if (r->trouble.code)
		fail(r, r->retry_after_ns, &r->trouble);
	else if (r->at >= r->plan.n_ops)
		succeed(r);
	else
		finish(r, "stopped");
}

/* --- Planning ------------------------------------------------------------------------------------------- */

/* It is being deleted, and stays for what it has in Redis. */
static bool is_held(const cJSON *cluster)
{
	return json_str(cluster, "metadata.deletionTimestamp") && redis_cleanup_is_held(cluster);
}

static int make_plan(struct reconcile *r, const cJSON *cluster, struct err *err)
{
	struct reconciler *c = r->reconciler;
	const struct namespace_facts *facts = facts_of_namespace(&c->facts, r->namespace);
	struct cluster_facts *own = facts_of_cluster(&c->facts, r->key);
	_cleanup_(observation_release) struct observation observation = { 0 };

	if (!facts || !own)
		return err_set(err, ENOMEM, "observing");
	struct plan_input in = {
		.cluster = cluster,
		.store_claim_trouble = facts->claim_trouble,
		.kernel_log_refused = facts->kernel_log_refused[0] ? facts->kernel_log_refused : NULL,
		.launcher_configmap_current = now_boottime_ns() < facts->launcher_until_ns,
		.policy = c->o.policy,
		.launcher = c->o.launcher,
		.launcher_len = c->o.launcher_len,
		.now_ns = now_realtime_ns(),
		.is_applied = facts_is_applied,
		.arg = own,
		.failure_reason = own->failure_reason,
		.failure_message = own->failure_message,
		.cleanup_job = r->lookup.job,
		.cleanup_refused = own->cleanup_refused[0] ? own->cleanup_refused : NULL,
	};
	r->cautious = own->failure_reason != NULL;
	int result = observe_cluster(c->o.watches, c->o.recorder, r->key, cluster, &observation, &in, err);
	return result < 0 ? result : plan_cluster(&in, &r->plan, err);
}

static void plan_and_run(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	const cJSON *cluster = store_get(watches_store(c->o.watches, WATCH_CLUSTERS), r->key);
	struct err err = { 0 };

	/* Gone or going: what it owns is the garbage collector's, unless it is held for what it has in Redis. */
	if (!cluster || (json_str(cluster, "metadata.deletionTimestamp") && !is_held(cluster))) {
		facts_forget_cluster(&c->facts, r->key);
		workqueue_forget(c->o.queue, r->key);
		finish(r, "success");
		return;
	}
	int rc = make_plan(r, cluster, &err);
	watches_drop_views(c->o.watches); /* the plan holds copies */
	if (rc < 0) {
		err_wrap(&err, "planning");
		fail(r, 0, &err);
		return;
	}
	log_debug("cluster %s: %zu operations", r->key, r->plan.n_ops);
	r->steps = calloc(r->plan.n_ops + 1, sizeof(*r->steps));
	if (!r->steps) {
		err_set(&err, ENOMEM, "planning");
		fail(r, 0, &err);
		return;
	}
	run_next(r);
}

static void on_looked_up(void *arg, int64_t retry_after_ns, const struct err *err)
{
	struct reconcile *r = arg;

	if (r->lookup.job_refused.code)
		note_no_cleanup(r, &r->lookup.job_refused);
	if (err)
		fail(r, retry_after_ns, err);
	else
		plan_and_run(r);
}

static void start_lookup(struct reconcile *r, struct namespace_facts *facts)
{
	struct reconciler *c = r->reconciler;
	const cJSON *cluster = store_get(watches_store(c->o.watches, WATCH_CLUSTERS), r->key);

	r->lookup = (struct lookup){ .client = c->o.client, .policy = c->o.policy, .namespace = r->namespace, .facts = facts,
				     .done = on_looked_up, .arg = r };
	if (is_held(cluster))
		redis_cleanup_name(cluster, r->lookup.job_name);
	lookup_start(&r->lookup);
}

static void observe(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	struct namespace_facts *facts = facts_of_namespace(&c->facts, r->namespace);
	int64_t now = now_boottime_ns();

	if (!facts) {
		fail(r, 0, &(struct err){ .code = ENOMEM, .text = "observing" });
	} else if (facts->launcher_under_way && now >= facts->launcher_until_ns) {
		/* Without memory for the key the time wakes it. */
		(void)strmap_put(&facts->launcher_waiters, r->key, c, NULL);
		workqueue_add_at(c->o.queue, r->key, now + LAUNCHER_WAIT_NS);
		finish(r, "requeue_after");
	} else {
		start_lookup(r, facts);
	}
}

static struct reconcile *reconcile_new(struct reconciler *c, const char *key)
{
	struct reconcile *r = calloc(1, sizeof(*r));
	const char *slash = strchr(key, '/');

	if (!r)
		return NULL;
	r->reconciler = c;
	r->key = strdup(key);
	r->namespace = slash ? strndup(key, (size_t)(slash - key)) : NULL;
	r->started_ns = now_boottime_ns();
	r->news = cJSON_CreateArray();
	if (!r->key || !r->namespace || !r->news) {
		reconcile_free(r);
		return NULL;
	}
	r->next = c->reconciles;
	if (r->next)
		r->next->prev = r;
	c->reconciles = r;
	c->n_reconciles++;
	return r;
}

void reconciler_start(struct reconciler *c, const char *key)
{
	struct reconcile *r = reconcile_new(c, key);

	if (r) {
		observe(r);
		return;
	}
	workqueue_retry(c->o.queue, key, now_boottime_ns(), NS_PER_SEC);
	workqueue_done(c->o.queue, key);
}

size_t reconciler_in_flight(const struct reconciler *c)
{
	return c->n_reconciles;
}

int reconciler_new(const struct reconciler_options *options, struct reconciler **ret_reconciler, struct err *err)
{
	struct reconciler *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ENOMEM, "reconciler");
	c->o = *options;
	*ret_reconciler = c;
	return 0;
}

void reconciler_free(struct reconciler *c)
{
	if (!c)
		return;
	while (c->reconciles) {
		struct reconcile *r = c->reconciles;
		c->reconciles = r->next;
		reconcile_free(r);
	}
	facts_release(&c->facts);
	free(c);
}
