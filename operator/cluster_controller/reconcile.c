/* SPDX-License-Identifier: Apache-2.0 */
/* Reconciles one cluster at a time: gathers its state, makes a plan, carries it out. */
#include "operator/cluster_controller/reconcile.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/cluster_controller/cluster_lookup.h"
#include "operator/cluster_controller/gather_state.h"
#include "operator/cluster_controller/known_state.h"
#include "operator/cluster_controller/op_result.h"
#include "operator/cluster_controller/write_shares.h"
#include "operator/raycluster/news.h"
#include "operator/raycluster/pod_state.h"

/* A safety net: every cluster is reconciled this often even without events. */
#define RESYNC_NS (600 * NS_PER_SEC)
/*
 * Pods are created when the launcher is available to them, or cannot be. The answer wakes the
 * clusters that wait; this wakes them otherwise.
 */
#define LAUNCHER_WAIT_NS NS_PER_SEC
/*
 * For so long a cluster's other objects (roles, ingress, secret) are assumed to exist. It is a
 * little less than RESYNC_NS, because each reconcile renews it.
 */
#define APPLIED_NS (RESYNC_NS - 10 * NS_PER_SEC)
/*
 * How many creations repeat the name of a creation whose answer was lost. Further pods get new
 * names.
 */
#define UNANSWERED_MAX 64

struct reconciler {
	struct reconciler_options o;
	struct known_state known;
	struct executor executor;
	struct write_shares shares; /* shared by all reconciles */
	LIST_HEAD(, reconcile) reconciles;
};

struct reconcile {
	struct reconciler *reconciler;
	LIST_ENTRY(reconcile) link;
	char *key; /* "namespace/name" */
	char *namespace;
	struct cluster_lookup lookup; /* the facts that the plan needs */
	struct execution execution; /* of the plan */
	struct write_share share;
	int64_t started_ns;
};

/*
 * --- Ends
 * -----------------------------------------------------------------------------------------------
 */

static void reconcile_free(struct reconcile *r)
{
	if (!r)
		return;
	execution_release(&r->execution);
	cluster_lookup_release(&r->lookup);
	free(r->key);
	free(r->namespace);
	free(r);
}

static void reconcile_finish(struct reconcile *r, const char *result)
{
	struct reconciler *c = r->reconciler;

	metrics_add(c->executor.metrics, METRIC_RECONCILES, 1,
		    "controller=\"raycluster\",result=\"%s\"", result);
	metrics_observe(c->executor.metrics, METRIC_RECONCILE_SECONDS,
			(double)(now_boottime_ns() - r->started_ns) / 1e9,
			"controller=\"raycluster\"");
	workqueue_done(c->o.queue, r->key);
	known_state_unuse(&c->known, r->namespace);
	LIST_REMOVE(r, link);
	write_shares_leave(&c->shares, &r->share);
	reconcile_free(r);
	c->o.on_finished(c->o.arg);
}

static void reconcile_succeed(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	struct known_cluster *known = known_state_of_cluster(&c->known, r->key);
	int64_t again_ns = r->execution.plan.requeue_ns > 0 ?
				   MIN(r->execution.plan.requeue_ns, RESYNC_NS) :
				   RESYNC_NS;

	/* An event has it looked at before, and then the look that was planned is forgotten. */
	if (known && known->taken_until_ns > now_boottime_ns())
		again_ns = MIN(again_ns, known->taken_until_ns - now_boottime_ns());
	if (known && expectations_next(&known->expected))
		again_ns = 0;
	/* The status still reports an earlier failure. */
	if (known && known->failure_reason) {
		known->failure_reason = NULL;
		again_ns = 0;
	}
	workqueue_forget(c->o.queue, r->key);
	workqueue_add_at(c->o.queue, r->key, now_boottime_ns() + again_ns);
	reconcile_finish(r, r->execution.plan.requeue_ns > 0 ? "requeue_after" : "success");
}

static void reconcile_fail(struct reconcile *r, int64_t retry_after_ns, const struct err *err)
{
	struct reconciler *c = r->reconciler;
	int64_t delay = workqueue_retry(c->o.queue, r->key, now_boottime_ns(), retry_after_ns);

	log_line(r->execution.namespace_ends ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
		 "cluster %s: %s; again in %s", r->key, err_text(err), DURATION_TEXT(delay));
	metrics_add(c->executor.metrics, METRIC_RECONCILE_ERRORS, 1, "controller=\"raycluster\"");
	reconcile_finish(r, "error");
}

/* We may not write any more. The key is kept for the time when we may again. */
static void reconcile_stop(struct reconcile *r)
{
	if (workqueue_add(r->reconciler->o.queue, r->key) < 0)
		log_error("cluster %s: out of memory; it will be looked at later", r->key);
	reconcile_finish(r, "stopped");
}

static void tell_news(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	const cJSON *cluster =
		r->execution.news->child ?
			store_get(watches_store(c->executor.watches, WATCH_CLUSTERS), r->key) :
			NULL;

	if (!cluster)
		return;
	json_each(item, r->execution.news)
		event_recorder_emit(c->executor.recorder,
				    news_event(item, cluster, now_realtime_ns()), EVENT_COUNTED);
	watches_drop_views(c->executor.watches);
}

/*
 * --- The plan's operations
 * ------------------------------------------------------------------------------
 */

/* Runs the next operation. Afterwards the reconcile may be over and freed. */
static void run_next(void *arg)
{
	struct reconcile *r = arg;
	struct execution *x = &r->execution;

	while (x->in_flight == 0 && execution_may_start(x))
		execution_start(x);
	write_shares_give(&r->reconciler->shares);
	if (x->in_flight > 0)
		return;
	tell_news(r);
	if (x->trouble.code)
		reconcile_fail(r, x->retry_after_ns, &x->trouble);
	else if (x->at >= x->plan.n_ops)
		reconcile_succeed(r);
	else
		reconcile_stop(r);
}

/*
 * --- Planning
 * -------------------------------------------------------------------------------------------
 */

static int make_plan(struct reconcile *r, const cJSON *cluster, struct err *err)
{
	struct reconciler *c = r->reconciler;
	struct known_namespace *known = known_state_of_namespace(&c->known, r->namespace);
	const struct known_claim *claim =
		known && r->lookup.policy.store.claim ?
			known_state_of_claim(known, r->lookup.policy.store.claim) :
			NULL;
	struct known_cluster *own = known_state_of_cluster(&c->known, r->key);
	const struct lookup_object *found = r->lookup.namespaces.objects;
	_cleanup_(cluster_state_release) struct cluster_state observation = { 0 };
	struct unanswered_create unanswered[UNANSWERED_MAX];

	if (!known || !own || (r->lookup.policy.store.claim && !claim))
		return err_set(err, ENOMEM, "observing");
	struct plan_input in = {
		.cluster = cluster,
		.store_claim_trouble = claim ? claim->trouble : NULL,
		.kernel_log_refused =
			known->kernel_log_refused[0] ? known->kernel_log_refused : NULL,
		.policy = &r->lookup.policy,
		.policy_origin = r->lookup.policy_origin,
		.launchers = c->o.launchers,
		.now_ns = now_realtime_ns(),
		.is_applied = known_state_is_applied,
		.arg = own,
		.failure_reason = own->failure_reason,
		.failure_message = own->failure_message,
		.unanswered = unanswered,
		.n_unanswered = expectations_unanswered(&own->expected, now_boottime_ns(),
							unanswered, UNANSWERED_MAX),
		.cleanup_job = found[LOOKUP_JOB].object,
		.ingress = found[LOOKUP_INGRESS].object,
		.ingress_refused = found[LOOKUP_INGRESS].refused.code != 0,
		.gcs_claim = found[LOOKUP_GCS_CLAIM].object,
		.service = found[LOOKUP_SERVICE].object,
		.headless = found[LOOKUP_HEADLESS].object,
		.serve = found[LOOKUP_SERVE].object,
		.account = found[LOOKUP_ACCOUNT].object,
		.role = found[LOOKUP_ROLE].object,
		.role_refused = found[LOOKUP_ROLE].refused.code != 0,
		.binding = found[LOOKUP_BINDING].object,
		.cleanup_refused = own->cleanup_refused[0] ? own->cleanup_refused : NULL,
	};
	r->execution.cautious = own->failure_reason != NULL;
	int result = gather_state(c->executor.watches, c->o.writer, c->o.poller, r->key, cluster,
				  &observation, &in, err);
	return result < 0 ? result : plan_cluster(&in, &r->execution.plan, err);
}

static bool creates_pods(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_ops; i++)
		if (plan->ops[i].kind == PLAN_CREATE && op_is_kind(&plan->ops[i], "Pod"))
			return true;
	return false;
}

/*
 * When a leader creates pods for a cluster for the first time, the watch may not have shown yet
 * what the previous leader created. Returns true if the pods are listed first; then the cluster is
 * planned again.
 */
static bool must_list(struct reconcile *r)
{
	struct known_cluster *own = known_state_of_cluster(&r->reconciler->known, r->key);

	if (!own || own->listed_term == r->reconciler->known.term ||
	    !creates_pods(&r->execution.plan))
		return false;
	plan_release(&r->execution.plan);
	cluster_lookup_list_pods(&r->lookup);
	return true;
}

static void plan_and_run(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	const cJSON *cluster =
		store_get(watches_store(c->executor.watches, WATCH_CLUSTERS), r->key);
	struct err err = { 0 };

	/*
	 * The cluster is deleted, or is being deleted. The garbage collector removes its objects,
	 * unless a finalizer keeps the cluster for its data in Redis.
	 */
	if (!cluster ||
	    (json_str(cluster, "metadata.deletionTimestamp") && !cluster_lookup_is_held(cluster))) {
		known_state_forget_cluster(&c->known, r->key);
		workqueue_forget(c->o.queue, r->key);
		reconcile_finish(r, "success");
		return;
	}
	int rc = make_plan(r, cluster, &err);
	watches_drop_views(c->executor.watches); /* the plan has copies of what it needs */
	if (rc < 0) {
		err_wrap(&err, "planning");
		reconcile_fail(r, 0, &err);
		return;
	}
	log_debug("cluster %s: %zu operations", r->key, r->execution.plan.n_ops);
	if (must_list(r))
		return;
	if (execution_prepare(&r->execution, &err) < 0) {
		reconcile_fail(r, 0, &err);
		return;
	}
	run_next(r);
}

static void on_looked_up(void *arg, bool again, int64_t retry_after_ns, const struct err *err)
{
	struct reconcile *r = arg;

	if (err) {
		reconcile_fail(r, retry_after_ns, err);
	} else if (again) {
		workqueue_add_at(r->reconciler->o.queue, r->key, now_boottime_ns());
		reconcile_finish(r, "requeue_after");
	} else {
		plan_and_run(r);
	}
}

static bool reconcile_may_write(void *arg)
{
	const struct reconcile *r = arg;

	return r->reconciler->executor.may_write(r->reconciler->executor.arg, r->namespace);
}

static void reconcile_observe(struct reconcile *r)
{
	struct reconciler *c = r->reconciler;
	struct known_namespace *known = known_state_of_namespace(&c->known, r->namespace);

	if (!known) {
		reconcile_fail(r, 0, &(struct err){ .code = ENOMEM, .text = "observing" });
	} else if (!launcher_store_settled(c->o.launcher_store, r->namespace)) {
		/* If there is no memory for the key, the timer wakes the cluster. */
		(void)strmap_put(&known->launcher_waiters, r->key, c, NULL);
		workqueue_add_at(c->o.queue, r->key, now_boottime_ns() + LAUNCHER_WAIT_NS);
		reconcile_finish(r, "requeue_after");
	} else {
		cluster_lookup_start(&r->lookup);
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
	r->lookup = (struct cluster_lookup){ .client = c->executor.client,
					     .watches = c->executor.watches,
					     .policies = c->o.policies,
					     .known = &c->known,
					     .key = r->key,
					     .namespace = r->namespace,
					     .may_write = reconcile_may_write,
					     .done = on_looked_up,
					     .arg = r };
	r->execution = (struct execution){ .executor = &c->executor,
					   .key = r->key,
					   .namespace = r->namespace,
					   .answered = run_next,
					   .arg = r,
					   .news = cJSON_CreateArray() };
	if (!r->key || !r->namespace || !r->execution.news ||
	    !known_state_use(&c->known, r->namespace)) {
		reconcile_free(r);
		return NULL;
	}
	LIST_INSERT_HEAD(&c->reconciles, r, link);
	write_shares_join(&c->shares, &r->share, &r->execution);
	return r;
}

void reconciler_start(struct reconciler *c, const char *key)
{
	struct reconcile *r = reconcile_new(c, key);

	if (r) {
		reconcile_observe(r);
		return;
	}
	workqueue_retry(c->o.queue, key, now_boottime_ns(), NS_PER_SEC);
	workqueue_done(c->o.queue, key);
}

void reconciler_launchers_settled(struct reconciler *c, const char *namespace)
{
	struct known_namespace *known = known_state_use(&c->known, namespace);
	const char *key;
	void *value;

	if (!known)
		return;
	strmap_each(&known->launcher_waiters, &key, &value)
		workqueue_add(c->o.queue, key);
	if (known->launcher_waiters.n)
		c->o.on_ready(c->o.arg);
	strmap_release(&known->launcher_waiters, NULL);
	known_state_unuse(&c->known, namespace);
}

void reconciler_begin(struct reconciler *c)
{
	c->known.term++;
}

void reconciler_pod_left(struct reconciler *c, const cJSON *pod)
{
	char key[512];

	if (c->executor.learns_gone || json_str(pod, "metadata.deletionTimestamp") ||
	    !c->executor.may_write(c->executor.arg, json_str(pod, "metadata.namespace")) ||
	    !pod_cluster_key(pod, key, sizeof(key)))
		return;
	const cJSON *cluster = store_get(watches_store(c->executor.watches, WATCH_CLUSTERS), key);
	if (!cluster || json_str(cluster, "metadata.deletionTimestamp") ||
	    !pod_is_owned(pod, json_str(cluster, "metadata.uid")))
		return;
	struct known_cluster *own = known_state_of_cluster(&c->known, key);
	if (own)
		expectations_ask(&own->expected, json_str(pod, "metadata.name"), NULL);
}

size_t reconciler_in_flight(const struct reconciler *c)
{
	return c->shares.n;
}

int reconciler_new(const struct reconciler_options *options, struct reconciler **ret_reconciler,
		   struct err *err)
{
	struct reconciler *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ENOMEM, "reconciler");
	c->o = *options;
	c->known.term = 1;
	c->executor = options->executor;
	c->executor.known = &c->known;
	c->executor.applied_ns = APPLIED_NS;
	c->shares.executor = &c->executor;
	*ret_reconciler = c;
	return 0;
}

void reconciler_free(struct reconciler *c)
{
	if (!c)
		return;
	for (struct reconcile *r; (r = LIST_FIRST(&c->reconciles));) {
		LIST_REMOVE(r, link);
		reconcile_free(r);
	}
	known_state_release(&c->known);
	free(c);
}
