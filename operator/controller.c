/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RayClusters as they are meant to be.
 *
 * Theory of operation. Four informers copy RayClusters, Ray pods, their
 * services and RayFailures. A change puts the cluster's key into the work
 * queue; run() takes keys out while the copies are whole. One key is one
 * struct reconcile: learn about the namespace (is the store's claim there?),
 * plan, then the plan's operations one after the other, each when the last is
 * answered. Answers go into the copies at once, so that the next plan knows of
 * them before the watch does.
 *
 * A write whose answer was lost may have been done: the pods are then listed
 * anew, and until that list is there nothing is planned.
 */
#include "operator/controller.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/kube/informer.h"
#include "operator/kube/workqueue.h"
#include "operator/pod_fields.h"
#include "operator/raycluster/plan.h"
#include "operator/recorder.h"

/* One large cluster must not keep the others waiting, nor all of them the API server busy. */
#define RECONCILES_MAX 16
/* Events of a cluster come in bursts; and two operators that undo each other's work must not do so at full speed. */
#define PACE_NS (100 * NS_PER_MS)
/* Belt and braces: every cluster is looked at so often, events or not. */
#define RESYNC_NS (600 * NS_PER_SEC)
/* How long is believed what is not watched: claims, and that the launcher's ConfigMap is still there. */
#define CLAIM_PRESENT_NS (60 * NS_PER_SEC)
#define CLAIM_ABSENT_NS (10 * NS_PER_SEC)
#define LAUNCHER_NS (300 * NS_PER_SEC)
#define CLUSTER_LABEL "ray.io/cluster"
#define KEY_MAX 512

enum kind { CLUSTERS, PODS, SERVICES, FAILURES, KIND_COUNT };

/* What is known of a namespace without a watch. */
struct namespace_facts {
	bool claim_exists;
	int64_t claim_until_ns; /* 0: not known */
	int64_t launcher_until_ns;
};

struct controller {
	struct controller_options o;
	struct informer *informers[KIND_COUNT];
	int told_status[KIND_COUNT]; /* the failure that the log has heard of; -1: none */
	struct recorder *recorder;
	struct workqueue queue;
	struct event *wake;
	struct strmap namespaces; /* name -> struct namespace_facts */
	struct reconcile *reconciles;
	size_t n_reconciles;
	bool stopping;
	void (*on_idle)(void *arg);
	void *on_idle_arg;
};

struct reconcile {
	struct controller *controller;
	struct reconcile *next, *prev;
	char *key; /* "namespace/name" */
	char *namespace;
	struct plan plan;
	size_t at; /* the operation that runs */
	int64_t started_ns;
	bool name_taken; /* a pod of that name existed: look again soon */
};

/* --- Leadership ----------------------------------------------------------------------------------------- */

/* The one place that decides whether we may change the cluster. */
static bool may_write(void *arg)
{
	const struct controller *c = arg;

	return !c->stopping && (!c->o.is_leader || c->o.is_leader(c->o.arg));
}

/* --- Changes become keys -------------------------------------------------------------------------------- */

static void wake(struct controller *c)
{
	event_active(c->wake, 0, 0);
}

/* "namespace/cluster" by the label; false without one. */
static bool cluster_key(const cJSON *object, char *buf, size_t size)
{
	const cJSON *label = cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.labels"), CLUSTER_LABEL);
	const char *namespace = json_str(object, "metadata.namespace");

	return namespace && cJSON_IsString(label) &&
	       snprintf(buf, size, "%s/%s", namespace, label->valuestring) < (int)size;
}

static void enqueue(struct controller *c, const char *key)
{
	if (!c->o.manage_clusters || !store_has(informer_store(c->informers[CLUSTERS]), key))
		return;
	if (workqueue_add(&c->queue, key) < 0)
		log_error("cluster %s: out of memory, looked at later", key);
	wake(c);
}

static void on_written(void *arg, const char *key)
{
	enqueue(arg, key);
}

static void on_cluster(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	_cleanup_free_ char *key = object_key(after ? after : before);

	if (change != STORE_REMOVED && key)
		enqueue(arg, key);
}

/* The cluster before and after: a label may have changed. */
static void enqueue_owner(struct controller *c, const cJSON *object)
{
	char key[KEY_MAX];

	if (object && cluster_key(object, key, sizeof(key)))
		enqueue(c, key);
}

static void on_owned(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	(void)change;
	enqueue_owner(arg, before);
	enqueue_owner(arg, after);
}

/* Also one that another replica wrote: then we need not. */
static void on_failure(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct controller *c = arg;
	_cleanup_free_ char *key = object_key(after ? after : before);

	if (change == STORE_ADDED && key)
		recorder_written(c->recorder, key);
}

static void on_pod(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	struct controller *c = arg;

	recorder_see(c->recorder, after ? after : before);
	on_owned(c, change, before, after);
}

/* --- Execution ------------------------------------------------------------------------------------------ */

static void run_next(struct reconcile *r);

static void reconcile_free(struct reconcile *r)
{
	if (!r)
		return;
	plan_release(&r->plan);
	free(r->key);
	free(r->namespace);
	free(r);
}

static void check_idle(struct controller *c)
{
	if (c->stopping && c->n_reconciles == 0 && recorder_in_flight(c->recorder) == 0 && c->on_idle)
		TAKE_PTR(c->on_idle)(c->on_idle_arg);
}

static void finish(struct reconcile *r, const char *result)
{
	struct controller *c = r->controller;

	metrics_add(c->o.metrics, METRIC_RECONCILES, 1, "controller=\"raycluster\",result=\"%s\"", result);
	metrics_add(c->o.metrics, METRIC_RECONCILE_SECONDS_SUM, (double)(now_boottime_ns() - r->started_ns) / 1e9,
		    "controller=\"raycluster\"");
	metrics_add(c->o.metrics, METRIC_RECONCILE_SECONDS_COUNT, 1, "controller=\"raycluster\"");
	workqueue_done(&c->queue, r->key);
	if (r->prev)
		r->prev->next = r->next;
	else
		c->reconciles = r->next;
	if (r->next)
		r->next->prev = r->prev;
	c->n_reconciles--;
	reconcile_free(r);
	wake(c);
	check_idle(c);
}

static void succeed(struct reconcile *r)
{
	struct controller *c = r->controller;
	int64_t again_ns = r->plan.requeue_ns > 0 ? MIN(r->plan.requeue_ns, RESYNC_NS) : RESYNC_NS;

	if (r->name_taken)
		again_ns = MIN(again_ns, 5 * NS_PER_SEC);
	workqueue_forget(&c->queue, r->key);
	workqueue_add_at(&c->queue, r->key, now_boottime_ns() + again_ns);
	finish(r, r->plan.requeue_ns > 0 ? "requeue_after" : "success");
}

static void fail(struct reconcile *r, int64_t retry_after_ns, const struct err *err)
{
	struct controller *c = r->controller;
	int64_t delay = workqueue_retry(&c->queue, r->key, now_boottime_ns(), retry_after_ns);
	char text[DURATION_TEXT_MAX];

	log_warning("cluster %s: %s; again in %s", r->key, err_text(err), duration_format(delay, text));
	metrics_add(c->o.metrics, METRIC_RECONCILE_ERRORS, 1, "controller=\"raycluster\"");
	finish(r, "error");
}

static const char *op_name(enum plan_op_kind kind)
{
	static const char *const names[] = { "apply", "create", "delete", "status", "event" };

	return (size_t)kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

/* The answer to a write is put into the copy of its kind. */
static void learn(struct controller *c, cJSON *object)
{
	static const enum kind kinds[] = { CLUSTERS, PODS, SERVICES };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (resource_of(object) == informer_resource(c->informers[kinds[i]])) {
			informer_learn(c->informers[kinds[i]], object);
			return;
		}
	cJSON_Delete(object);
}

static void learn_gone(struct controller *c, const cJSON *body)
{
	_cleanup_free_ char *key = object_key(body);

	if (key && resource_of(body) == informer_resource(c->informers[PODS]))
		informer_learn_gone(c->informers[PODS], key, json_str(body, "metadata.uid"));
}

static bool is_launcher(const cJSON *body)
{
	const char *kind = json_str(body, "kind"), *name = json_str(body, "metadata.name");

	return kind && name && strcmp(kind, "ConfigMap") == 0 && strcmp(name, PLAN_LAUNCHER_CONFIGMAP) == 0;
}

static struct namespace_facts *facts_of(struct controller *c, const char *namespace)
{
	struct namespace_facts *facts = strmap_get(&c->namespaces, namespace);

	if (facts)
		return facts;
	facts = calloc(1, sizeof(*facts));
	if (facts && strmap_put(&c->namespaces, namespace, facts, NULL) < 0)
		free(TAKE_PTR(facts));
	return facts;
}

/* What an answer means for the plan. */
enum verdict { WENT_WELL, WENT_WRONG, MUST_REPLAN };

static enum verdict judge(const struct plan_op *op, const struct client_response *response)
{
	if (response->status / 100 == 2 || op->kind == PLAN_EVENT)
		return WENT_WELL;
	if (response->status == 409 && op->kind == PLAN_CREATE && strcmp(response->reason, "AlreadyExists") == 0)
		return WENT_WELL;
	if (response->status == 404 && (op->kind == PLAN_DELETE || op->kind == PLAN_STATUS))
		return WENT_WELL;
	if (response->status == 409)
		return MUST_REPLAN;
	return WENT_WRONG;
}

static void take_answer(struct reconcile *r, const struct plan_op *op, struct client_response *response)
{
	struct controller *c = r->controller;
	struct namespace_facts *facts;

	if (response->status / 100 == 2) {
		if (op->kind == PLAN_DELETE && !json_str(response->object, "metadata.uid"))
			learn_gone(c, op->body); /* a Status: gone at once */
		else
			learn(c, TAKE_PTR(response->object));
		if (is_launcher(op->body) && (facts = facts_of(c, r->namespace)))
			facts->launcher_until_ns = now_boottime_ns() + LAUNCHER_NS;
	} else if (response->status == 404 && op->kind == PLAN_DELETE) {
		learn_gone(c, op->body);
	} else if (response->status == 409 && op->kind == PLAN_CREATE) {
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
		log_line(level, "cluster %s: %s %s %s%s", r->key, op_name(op->kind), json_str(op->body, "kind"),
			 name ? name : "", response->status == 409 ? " (exists already)" : "");
}

static void on_op_done(void *arg, struct client_response *response)
{
	struct reconcile *r = arg;
	struct controller *c = r->controller;
	const struct plan_op *op = &r->plan.ops[r->at];
	enum verdict verdict = judge(op, response);

	metrics_add(c->o.metrics, METRIC_OPERATIONS, 1, "operation=\"%s\",kind=\"%s\",result=\"%s\"", op_name(op->kind),
		    json_str(op->body, "kind"), verdict == WENT_WELL ? "ok" : "error");
	take_answer(r, op, response);
	if (verdict == WENT_WELL) {
		log_op(r, op, response);
		r->at++;
		run_next(r);
		return;
	}
	if (response->maybe_done)
		informer_resync(c->informers[PODS]);
	fail(r, response->retry_after_ns, &response->err);
}

static int start_op(struct reconcile *r, const struct plan_op *op, struct err *err)
{
	struct client *client = r->controller->o.client;

	switch (op->kind) {
	case PLAN_APPLY:
		return client_apply(client, op->body, NULL, on_op_done, r, err);
	case PLAN_STATUS:
		return client_apply(client, op->body, "status", on_op_done, r, err);
	case PLAN_CREATE:
	case PLAN_EVENT:
		return client_create(client, op->body, on_op_done, r, err);
	case PLAN_DELETE:
		return client_delete(client, op->body, -1, on_op_done, r, err);
	}
	return err_set(err, EINVAL, "operation %d", (int)op->kind);
}

static void run_next(struct reconcile *r)
{
	struct err err = { 0 };

	if (r->at >= r->plan.n_ops) {
		succeed(r);
	} else if (!may_write(r->controller)) {
		finish(r, "stopped");
	} else if (start_op(r, &r->plan.ops[r->at], &err) < 0) {
		err_wrap(&err, "%s", op_name(r->plan.ops[r->at].kind));
		fail(r, 0, &err);
	}
}

/* --- Planning ------------------------------------------------------------------------------------------- */

/* The pods of the cluster, and which of them must be kept for their evidence. Freed by the caller. */
static int collect_pods(const struct controller *c, const char *key, const cJSON ***ret_pods, bool **ret_pending,
			size_t *ret_n)
{
	const struct store *store = informer_store(c->informers[PODS]);
	const struct store_entry *entry;
	size_t n = 0;

	for (entry = NULL; (entry = store_index_next(store, key, entry));)
		n++;
	*ret_pods = calloc(n + 1, sizeof(**ret_pods));
	*ret_pending = calloc(n + 1, sizeof(**ret_pending));
	if (!*ret_pods || !*ret_pending)
		return -ENOMEM;
	*ret_n = n;
	n = 0;
	for (entry = NULL; (entry = store_index_next(store, key, entry)); n++) {
		(*ret_pods)[n] = store_entry_object(store, entry);
		(*ret_pending)[n] = recorder_pending(c->recorder, (*ret_pods)[n]);
	}
	return 0;
}

static const cJSON *find_service(const struct controller *c, const char *namespace, const cJSON *cluster)
{
	_cleanup_free_ char *name = plan_service_name(cluster);
	char key[KEY_MAX];

	if (!name || snprintf(key, sizeof(key), "%s/%s", namespace, name) >= (int)sizeof(key))
		return NULL;
	return store_get(informer_store(c->informers[SERVICES]), key);
}

static int make_plan(struct reconcile *r, const cJSON *cluster, struct err *err)
{
	struct controller *c = r->controller;
	const struct namespace_facts *facts = facts_of(c, r->namespace);
	_cleanup_free_ const cJSON **pods = NULL;
	_cleanup_free_ bool *pending = NULL;
	size_t n_pods = 0;

	if (!facts || collect_pods(c, r->key, &pods, &pending, &n_pods) < 0)
		return err_set(err, ENOMEM, "observing");
	struct plan_input in = {
		.cluster = cluster,
		.pods = pods,
		.n_pods = n_pods,
		.service = find_service(c, r->namespace, cluster),
		.store_claim_exists = facts->claim_exists,
		.launcher_configmap_current = now_boottime_ns() < facts->launcher_until_ns,
		.policy = c->o.policy,
		.launcher = c->o.launcher,
		.launcher_len = c->o.launcher_len,
		.now_ns = now_realtime_ns(),
		.evidence_pending = pending,
	};
	return plan_cluster(&in, &r->plan, err);
}

static void plan_and_run(struct reconcile *r)
{
	struct controller *c = r->controller;
	const cJSON *cluster = store_get(informer_store(c->informers[CLUSTERS]), r->key);
	struct err err = { 0 };

	/* Gone or going: what it owns is the garbage collector's. */
	if (!cluster || json_str(cluster, "metadata.deletionTimestamp")) {
		workqueue_forget(&c->queue, r->key);
		finish(r, "success");
		return;
	}
	if (make_plan(r, cluster, &err) < 0) {
		err_wrap(&err, "planning");
		fail(r, 0, &err);
		return;
	}
	log_debug("cluster %s: %zu operations", r->key, r->plan.n_ops);
	run_next(r);
}

static void on_claim(void *arg, struct client_response *response)
{
	struct reconcile *r = arg;
	struct controller *c = r->controller;
	struct namespace_facts *facts = facts_of(c, r->namespace);
	bool exists = response->status == 200 && !json_str(response->object, "metadata.deletionTimestamp");

	if (!facts || (!exists && response->status != 200 && response->status != 403 && response->status != 404)) {
		fail(r, response->retry_after_ns, &response->err);
		return;
	}
	if (response->status == 403)
		log_warning("cluster %s: counts as absent: %s", r->key, err_text(&response->err));
	facts->claim_exists = exists;
	facts->claim_until_ns = now_boottime_ns() + (exists ? CLAIM_PRESENT_NS : CLAIM_ABSENT_NS);
	plan_and_run(r);
}

static void observe(struct reconcile *r)
{
	struct controller *c = r->controller;
	const char *claim = c->o.policy->store_claim;
	const struct namespace_facts *facts = facts_of(c, r->namespace);
	struct err err = { 0 };

	if (!claim || (facts && now_boottime_ns() < facts->claim_until_ns))
		plan_and_run(r);
	else if (client_get(c->o.client, resource_find("v1", "PersistentVolumeClaim"), r->namespace, claim, on_claim, r,
			    &err) < 0)
		fail(r, 0, &err);
}

static struct reconcile *reconcile_new(struct controller *c, const char *key)
{
	struct reconcile *r = calloc(1, sizeof(*r));
	const char *slash = strchr(key, '/');

	if (!r)
		return NULL;
	r->controller = c;
	r->key = strdup(key);
	r->namespace = slash ? strndup(key, (size_t)(slash - key)) : NULL;
	r->started_ns = now_boottime_ns();
	if (!r->key || !r->namespace) {
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

static bool may_start(struct controller *c)
{
	return may_write(c) && c->n_reconciles < RECONCILES_MAX && informer_synced(c->informers[CLUSTERS]) &&
	       informer_synced(c->informers[PODS]) && informer_synced(c->informers[SERVICES]);
}

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct controller *c = arg;
	const char *key;

	(void)fd;
	(void)what;
	while (may_start(c) && (key = workqueue_get(&c->queue, now_boottime_ns()))) {
		struct reconcile *r = reconcile_new(c, key);
		if (r) {
			observe(r);
		} else {
			workqueue_retry(&c->queue, key, now_boottime_ns(), NS_PER_SEC);
			workqueue_done(&c->queue, key);
		}
	}
	int64_t next = workqueue_next_ns(&c->queue);
	if (next <= 0 || !may_start(c))
		return; /* the end of a reconcile, or of a list, wakes us */
	int64_t delay = MAX(next - now_boottime_ns(), NS_PER_MS);
	event_add(c->wake, &(struct timeval){ delay / NS_PER_SEC, delay % NS_PER_SEC / 1000 });
}

/* --- Life ----------------------------------------------------------------------------------------------- */

/* Says each trouble once, and its end. */
static void on_state(void *arg, struct informer *informer)
{
	struct controller *c = arg;
	const struct reflector *reflector = informer_reflector(informer);
	const char *plural = informer_resource(informer)->plural;
	size_t kind = 0;

	while (kind < KIND_COUNT && c->informers[kind] != informer)
		kind++;
	if (kind == KIND_COUNT)
		return;
	bool trouble = *informer_trouble(informer);
	if (trouble && reflector->state != REFLECTOR_WATCHING && c->told_status[kind] != reflector->last_status) {
		log_warning("%s: %s%s", plural, informer_trouble(informer),
			    reflector->last_status == 404 ? " (is its CRD installed? asked for again from time to time)" : "");
		c->told_status[kind] = reflector->last_status;
	} else if (!trouble && c->told_status[kind] != -1) {
		log_info("%s: in order again", plural);
		c->told_status[kind] = -1;
		/* Only now, at the change: two kinds that poke each other in turn would never rest. */
		for (size_t i = 0; i < KIND_COUNT; i++)
			if (i != kind)
				informer_poke(c->informers[i]);
	}
	wake(c);
	recorder_wake(c->recorder);
}

static int new_informers(struct controller *c, struct err *err)
{
	const struct informer_options options[KIND_COUNT] = {
		[CLUSTERS] = { .resource = resource_find("ray.io/v1", "RayCluster"), .on_change = on_cluster },
		[PODS] = { .resource = resource_find("v1", "Pod"),
			   .label_selector = "ray.io/is-ray-node=yes",
			   .index_fn = cluster_key,
			   .fields = pod_fields,
			   .on_change = on_pod },
		[SERVICES] = { .resource = resource_find("v1", "Service"),
			       .label_selector = CLUSTER_LABEL,
			       .on_change = on_owned },
		[FAILURES] = { .resource = resource_find("afterglow.dev/v1alpha1", "RayFailure"),
			       .metadata_only = true,
				.on_change = on_failure },
	};

	for (size_t i = 0; i < KIND_COUNT; i++) {
		struct informer_options o = options[i];
		o.namespace = c->o.namespace;
		o.on_state = on_state;
		o.arg = c;
		int r = informer_new(c->o.base, c->o.client, &o, &c->informers[i], err);
		if (r < 0)
			return r;
		c->told_status[i] = -1;
	}
	return 0;
}

int controller_new(const struct controller_options *options, struct controller **ret_controller, struct err *err)
{
	struct controller *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ENOMEM, "controller");
	c->o = *options;
	workqueue_init(&c->queue);
	c->queue.pace_ns = PACE_NS;
	c->wake = evtimer_new(options->base, run, c);
	int r = c->wake ? new_informers(c, err) : err_set(err, ENOMEM, "controller");
	if (r == 0) {
		struct recorder_options recorder = {
			.base = options->base,
			.client = options->client,
			.known = c->informers[FAILURES],
			.metrics = options->metrics,
			.may_write = may_write,
			.on_written = on_written,
			.arg = c,
		};
		r = recorder_new(&recorder, &c->recorder, err);
	}
	if (r < 0) {
		controller_free(c);
		return r;
	}
	*ret_controller = c;
	return 0;
}

void controller_free(struct controller *c)
{
	if (!c)
		return;
	while (c->reconciles) {
		struct reconcile *r = c->reconciles;
		c->reconciles = r->next;
		reconcile_free(r);
	}
	for (size_t i = 0; i < KIND_COUNT; i++)
		informer_free(c->informers[i]);
	recorder_free(c->recorder);
	if (c->wake)
		event_free(c->wake);
	strmap_release(&c->namespaces, free);
	workqueue_release(&c->queue);
	free(c);
}

void controller_start(struct controller *c)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		informer_resync(c->informers[i]);
}

void controller_begin(struct controller *c)
{
	recorder_begin(c->recorder);
	wake(c);
}

void controller_stop(struct controller *c, void (*on_idle)(void *arg), void *arg)
{
	c->stopping = true;
	c->on_idle = on_idle;
	c->on_idle_arg = arg;
	check_idle(c);
}

bool controller_ready(void *controller, struct strbuf *out)
{
	const struct controller *c = controller;
	bool ready = true;

	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct informer *informer = c->informers[i];
		bool synced = informer_synced(informer);
		strbuf_addf(out, "%s: %s%s%s\n", informer_resource(informer)->plural, synced ? "synced" : "not synced",
			    *informer_trouble(informer) ? ": " : "", informer_trouble(informer));
		ready = ready && synced;
	}
	return ready;
}

void controller_metrics(void *controller, struct strbuf *out)
{
	struct controller *c = controller;
	struct metrics *m = c->o.metrics;
	int64_t now = now_boottime_ns();

	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct informer *informer = c->informers[i];
		const struct reflector *r = informer_reflector(informer);
		const char *plural = informer_resource(informer)->plural;
		metrics_set(m, METRIC_WATCH_SYNCED, r->synced, "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_OBJECTS, (double)informer_store(informer)->entries.n, "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_LISTS, (double)r->lists, "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_WATCHES, (double)r->watches, "resource=\"%s\"", plural);
		if (r->alive_ns)
			metrics_set(m, METRIC_WATCH_AGE, (double)(now - r->alive_ns) / 1e9, "resource=\"%s\"", plural);
	}
	metrics_set(m, METRIC_QUEUE_DEPTH, (double)c->queue.n_ready, "name=\"raycluster\"");
	metrics_set(m, METRIC_QUEUE_ADDS, (double)c->queue.adds, "name=\"raycluster\"");
	metrics_set(m, METRIC_QUEUE_RETRIES, (double)c->queue.retries, "name=\"raycluster\"");
	metrics_set(m, METRIC_FAILURES_PENDING, (double)recorder_n_pending(c->recorder), "%s", "");
	metrics_render(m, out);
}
