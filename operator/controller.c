/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RayClusters as they are meant to be.
 *
 * Theory of operation. The watches copy RayClusters, Ray pods, their services
 * and RayFailures. A change puts the cluster's key into the work queue; run()
 * takes keys out while the copies are whole, and the reconciler works on them,
 * several at a time. The recorder looks at every pod for deaths.
 */
#include "operator/controller.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/kube/workqueue.h"
#include "operator/crier.h"
#include "operator/herald.h"
#include "operator/injection/inject.h"
#include "operator/keeper.h"
#include "operator/kuberay_guard.h"
#include "operator/launcher_store.h"
#include "operator/missed_pods.h"
#include "operator/owners.h"
#include "operator/policy/policies.h"
#include "operator/poller.h"
#include "operator/reconcile.h"
#include "operator/recorder.h"
#include "operator/watches.h"
#include "operator/webhook/admission.h"
#include "operator/webhook/webhook.h"

/* One large cluster must not keep the others waiting, nor all of them the API server busy. */
#define RECONCILES_MAX 16
/* Events of a cluster come in bursts; and two operators that undo each other's work must not do so at full speed. */
#define PACE_NS (100 * NS_PER_MS)
/* A death is three or four looks: at it, at its evidence, at the empty place, at the new pod. They need not wait. */
#define BURST 5
/* After so long without work, what the work took goes back to the kernel. */
#define REST_S 2
#define KEY_MAX 512
/* After SIGTERM the API server may send reviews here until all have heard that our pod is no endpoint of the Service any more. */
#define CLOSE_AFTER_S 5

struct controller {
	struct controller_options o;
	struct watches *watches;
	struct owners *owners;
	struct policies *policies;
	struct recorder *recorder;
	struct herald *herald;
	struct keeper *keeper;
	struct crier *crier;
	struct missed_pods *missed;
	struct poller *poller;
	struct kuberay_guard *guard; /* NULL: we were not asked to manage clusters */
	struct reconciler *reconciler;
	struct admission *admission; /* NULL, as webhook: nobody asks */
	struct webhook *webhook;
	struct launcher_store *launcher_store; /* NULL: pods go without */
	struct workqueue queue;
	struct event *wake, *rest;
	bool stopping;
	int64_t stopping_ns;
	struct event *closing; /* the webhook is served until then */
	void (*on_closed)(void *arg);
	void *on_closed_arg;
	void (*on_idle)(void *arg);
	void *on_idle_arg;
};

/* --- Leadership ----------------------------------------------------------------------------------------- */

/* The one place that decides whether we may change the cluster. */
static bool may_write(void *arg)
{
	const struct controller *c = arg;

	return !c->stopping && (!c->o.is_leader || c->o.is_leader(c->o.arg));
}

/* Whether RayClusters are ours to manage. While they are KubeRay's the keys wait in the queue. */
static bool may_manage(void *arg)
{
	const struct controller *c = arg;

	return may_write(arg) && c->guard && kuberay_guard_allows(c->guard);
}

/* --- Changes become keys -------------------------------------------------------------------------------- */

static void wake(struct controller *c)
{
	event_active(c->wake, 0, 0);
}

static void enqueue(struct controller *c, const char *key)
{
	if (!c->o.manage_clusters || !store_has(watches_store(c->watches, WATCH_CLUSTERS), key))
		return;
	if (workqueue_add(&c->queue, key) < 0)
		log_error("cluster %s: out of memory, looked at later", key);
	wake(c);
}

static void on_written(void *arg, const char *key)
{
	enqueue(arg, key);
}

static void on_recorded(void *arg, const cJSON *failure)
{
	const struct controller *c = arg;

	herald_tell(c->herald, failure);
}

static void on_policy(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct controller *c = arg;

	policies_see(c->policies, WATCH_POLICIES, change, before, after);
}

static void on_cluster_policy(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct controller *c = arg;

	policies_see(c->policies, WATCH_CLUSTER_POLICIES, change, before, after);
}

static void on_namespace(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct controller *c = arg;

	policies_see(c->policies, WATCH_NAMESPACES, change, before, after);
}

static void on_cluster(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	struct controller *c = arg;
	_cleanup_free_ char *key = object_key(after ? after : before);

	policies_see(c->policies, WATCH_CLUSTERS, change, before, after);
	launcher_store_see_cluster(c->launcher_store, before, after);
	if (change == STORE_REMOVED)
		owners_cluster_gone(c->owners, before, now_boottime_ns());
	else if (key)
		enqueue(c, key);
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
	struct controller *c = arg;
	_cleanup_free_ char *key = object_key(after ? after : before);

	keeper_see(c->keeper, change, before, after);
	if (change != STORE_ADDED || !key)
		return;
	recorder_written(c->recorder, key);
	enqueue_owner(c, after);
}

static void on_pod(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	struct controller *c = arg;

	policies_see(c->policies, WATCH_PODS, change, before, after);
	recorder_see(c->recorder, after ? after : before, !after);
	poller_see(c->poller, after ? after : before, !after);
	if (c->admission && after)
		admission_see_pod(c->admission, change == STORE_ADDED, after);
	launcher_store_see_pod(c->launcher_store, before, after);
	missed_pods_see(c->missed, after ? after : before, !after);
	missed_pods_tell(c->missed, now_boottime_ns());
	on_owned(c, change, before, after);
}

static bool may_start(struct controller *c)
{
	return may_manage(c) && reconciler_in_flight(c->reconciler) < RECONCILES_MAX && watches_synced(c->watches);
}

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct controller *c = arg;
	const char *key;

	(void)fd;
	(void)what;
	while (may_start(c) && (key = workqueue_get(&c->queue, now_boottime_ns())))
		reconciler_start(c->reconciler, key);
	int64_t next = workqueue_next_ns(&c->queue);
	if (next <= 0 || !may_start(c))
		return; /* the end of a reconcile, or of a list, wakes us */
	int64_t delay = MAX(next - now_boottime_ns(), NS_PER_MS);
	event_add(c->wake, &(struct timeval){ delay / NS_PER_SEC, delay % NS_PER_SEC / 1000 });
}

/* --- Life ----------------------------------------------------------------------------------------------- */

static void check_idle(struct controller *c)
{
	if (c->stopping && reconciler_in_flight(c->reconciler) == 0 && recorder_in_flight(c->recorder) == 0 && c->on_idle)
		TAKE_PTR(c->on_idle)(c->on_idle_arg);
}

static void on_rest(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	malloc_trim(0);
}

static void on_ready(void *arg)
{
	wake(arg);
}

static void on_finished(void *arg)
{
	struct controller *c = arg;

	event_add(c->rest, &(struct timeval){ .tv_sec = REST_S });
	wake(c);
	check_idle(c);
}

static void on_state(void *arg)
{
	struct controller *c = arg;

	wake(c);
	recorder_wake(c->recorder);
	/* Of a pod that was listed before its cluster. */
	missed_pods_tell(c->missed, now_boottime_ns());
}

static int new_watches(struct controller *c, struct err *err)
{
	struct watches_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.namespace = c->o.namespace,
		.admission = *c->o.webhook.address != '\0',
		.clusters_may_lack = !c->o.manage_clusters,
		.on_change = { [WATCH_CLUSTERS] = on_cluster,
			       [WATCH_PODS] = on_pod,
			       [WATCH_SERVICES] = on_owned,
			       [WATCH_FAILURES] = on_failure,
			       [WATCH_POLICIES] = on_policy,
			       [WATCH_CLUSTER_POLICIES] = on_cluster_policy,
			       [WATCH_NAMESPACES] = on_namespace },
		.on_state = on_state,
		.arg = c,
	};

	return watches_new(&options, &c->watches, err);
}

static int new_policies(struct controller *c, struct err *err)
{
	struct policies_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.watches = c->watches,
		.policy = c->o.policy,
		.retention = c->o.retention,
		.may_write = may_write,
		.arg = c,
	};

	return policies_new(&options, &c->policies, err);
}

static struct retention retention_of(void *arg, const char *namespace)
{
	const struct controller *c = arg;

	return policies_retention(c->policies, namespace);
}

static bool knows_policies(void *arg)
{
	const struct controller *c = arg;

	return watches_know_policies(c->watches);
}

static int new_keeper(struct controller *c, struct err *err)
{
	struct keeper_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.failures = watches_informer(c->watches, WATCH_FAILURES),
		.metrics = c->o.metrics,
		.retention = retention_of,
		.may_decide = knows_policies,
		.may_write = may_write,
		.arg = c,
	};

	return keeper_new(&options, &c->keeper, err);
}

/* For a look: a list of pods asks for all their clusters in one callback. */
static const cJSON *find_cluster(void *arg, const char *key)
{
	const struct controller *c = arg;

	return store_peek(watches_store(c->watches, WATCH_CLUSTERS), key);
}

static int new_owners(struct controller *c, struct err *err)
{
	struct owners_options options = { .client = c->o.client, .find_cluster = find_cluster, .arg = c };

	return owners_new(&options, &c->owners, err);
}

/* What a RayPolicy would not keep is not written, so policies come first. */
static bool may_record(void *arg)
{
	const struct controller *c = arg;

	return may_write(arg) && watches_policies_settled(c->watches);
}

static int new_recorder(struct controller *c, struct err *err)
{
	struct recorder_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.known = watches_informer(c->watches, WATCH_FAILURES),
		.metrics = c->o.metrics,
		.owners = c->owners,
		.may_write = may_record,
		.wanted = keeper_wants,
		.wanted_arg = c->keeper,
		.on_recorded = on_recorded,
		.on_written = on_written,
		.arg = c,
	};

	return recorder_new(&options, &c->recorder, err);
}

static void tell_missed(void *arg, cJSON *event)
{
	const struct controller *c = arg;

	crier_tell(c->crier, event);
}

/* As the namespaceSelector of the chart's webhook has it. */
static bool is_excluded(void *arg, const char *namespace)
{
	const struct controller *c = arg;
	const cJSON *object = store_get(watches_store(c->watches, WATCH_NAMESPACES), namespace);
	const char *word = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.labels"), INJECT_ANNOTATION));

	return word && (strcmp(word, "false") == 0 || strcmp(word, "disabled") == 0);
}

static int new_missed(struct controller *c, struct err *err)
{
	struct missed_pods_options options = {
		.metrics = c->o.metrics,
		.is_excluded = is_excluded,
		.find_cluster = find_cluster,
		.may_tell = may_write,
		.tell = tell_missed,
		.arg = c,
	};

	return missed_pods_new(&options, &c->missed, err);
}

static int new_poller(struct controller *c, struct err *err)
{
	struct poller_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.pods = watches_informer(c->watches, WATCH_PODS),
		.failures = watches_informer(c->watches, WATCH_FAILURES),
		.recorder = c->recorder,
		.metrics = c->o.metrics,
		.may_write = may_write,
		.arg = c,
	};

	return poller_new(&options, &c->poller, err);
}

static bool is_whole(void *arg)
{
	const struct controller *c = arg;

	return informer_synced(watches_informer(c->watches, WATCH_PODS)) &&
	       informer_synced(watches_informer(c->watches, WATCH_CLUSTERS));
}

static void on_settled(void *arg, const char *namespace)
{
	const struct controller *c = arg;

	reconciler_launchers_settled(c->reconciler, namespace);
}

static int new_launcher_store(struct controller *c, struct err *err)
{
	struct launcher_store_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.launchers = c->o.launchers,
		.metrics = c->o.metrics,
		.may_write = may_write,
		.is_whole = is_whole,
		.on_settled = on_settled,
		.arg = c,
	};

	/* Without a sidecar no pod gets a launcher. */
	if (!c->o.launchers || !c->o.policy->sidecar_image)
		return 0;
	return launcher_store_new(&options, &c->launcher_store, err);
}

static int new_reconciler(struct controller *c, struct err *err)
{
	struct reconciler_options options = {
		.client = c->o.client,
		.watches = c->watches,
		.recorder = c->recorder,
		.crier = c->crier,
		.queue = &c->queue,
		.policies = c->policies,
		.launchers = c->o.launchers,
		.launcher_store = c->launcher_store,
		.metrics = c->o.metrics,
		.may_write = may_manage,
		.on_ready = on_ready,
		.on_finished = on_finished,
		.arg = c,
	};

	return reconciler_new(&options, &c->reconciler, err);
}

static void on_webhook_since(void *arg, int64_t since_ns)
{
	struct controller *c = arg;

	missed_pods_webhook_since(c->missed, since_ns);
	missed_pods_tell(c->missed, now_boottime_ns());
}

static int new_webhook(struct controller *c, struct err *err)
{
	struct admission_options admission = {
		.watches = c->watches,
		.policies = c->policies,
		.metrics = c->o.metrics,
		.launchers = c->o.launchers,
	};
	struct webhook_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.metrics = c->o.metrics,
		.address = c->o.webhook.address,
		.namespace = c->o.webhook.namespace,
		.service = c->o.webhook.service,
		.secret = c->o.webhook.secret,
		.configuration = c->o.webhook.configuration,
		.external = c->o.webhook.external,
		.may_write = may_write,
		.on_since = on_webhook_since,
		.arg = c,
	};
	int r;

	if (!*c->o.webhook.address)
		return 0;
	r = admission_new(&admission, &c->admission, err);
	if (r < 0)
		return r;
	options.admission = c->admission;
	return webhook_new(&options, &c->webhook, err);
}

static int new_guard(struct controller *c, struct err *err)
{
	struct kuberay_guard_options options = {
		.base = c->o.base,
		.client = c->o.client,
		.crier = c->crier,
		.namespace = c->o.namespace,
		.on_change = on_ready,
		.arg = c,
	};

	return c->o.manage_clusters ? kuberay_guard_new(&options, &c->guard, err) : 0;
}

static void on_closing(evutil_socket_t fd, short what, void *arg)
{
	struct controller *c = arg;

	(void)fd;
	(void)what;
	webhook_stop(c->webhook, c->on_closed, c->on_closed_arg);
}

static void on_waited(void *arg, int64_t ns)
{
	const struct controller *c = arg;

	metrics_observe(c->o.metrics, METRIC_QUEUE_WAIT, (double)ns / 1e9, "name=\"raycluster\"");
}

static void on_worked(void *arg, int64_t ns)
{
	const struct controller *c = arg;

	metrics_observe(c->o.metrics, METRIC_QUEUE_WORK, (double)ns / 1e9, "name=\"raycluster\"");
}

int controller_new(const struct controller_options *options, struct controller **ret_controller, struct err *err)
{
	struct controller *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ENOMEM, "controller");
	c->o = *options;
	workqueue_init(&c->queue);
	c->queue.clock = now_boottime_ns;
	c->queue.on_waited = on_waited;
	c->queue.on_worked = on_worked;
	c->queue.arg = c;
	c->queue.pace_ns = PACE_NS;
	c->queue.burst = BURST;
	c->wake = evtimer_new(options->base, run, c);
	c->rest = evtimer_new(options->base, on_rest, c);
	c->closing = evtimer_new(options->base, on_closing, c);
	struct crier_options crier = { .base = c->o.base, .client = c->o.client, .may_write = may_write, .arg = c };
	int r = c->wake && c->rest && c->closing ? new_watches(c, err) : err_set(err, ENOMEM, "controller");
	if (r == 0)
		r = new_policies(c, err);
	if (r == 0)
		r = new_keeper(c, err);
	if (r == 0)
		r = herald_new(c->o.client, c->watches, &c->herald, err);
	if (r == 0)
		r = new_owners(c, err);
	if (r == 0)
		r = new_recorder(c, err);
	if (r == 0)
		r = new_poller(c, err);
	if (r == 0)
		r = crier_new(&crier, &c->crier, err);
	if (r == 0)
		r = new_guard(c, err);
	if (r == 0)
		r = new_launcher_store(c, err);
	if (r == 0)
		r = new_missed(c, err);
	if (r == 0)
		r = new_reconciler(c, err);
	if (r == 0)
		r = new_webhook(c, err);
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
	webhook_free(c->webhook);
	reconciler_free(c->reconciler);
	kuberay_guard_free(c->guard);
	launcher_store_free(c->launcher_store);
	crier_free(c->crier);
	missed_pods_free(c->missed);
	poller_free(c->poller);
	watches_free(c->watches);
	policies_free(c->policies);
	recorder_free(c->recorder);
	owners_free(c->owners);
	herald_free(c->herald);
	keeper_free(c->keeper);
	admission_free(c->admission);
	if (c->wake)
		event_free(c->wake);
	if (c->rest)
		event_free(c->rest);
	if (c->closing)
		event_free(c->closing);
	workqueue_release(&c->queue);
	free(c);
}

struct policies *controller_policies(const struct controller *c)
{
	return c->policies;
}

void controller_start(struct controller *c)
{
	watches_start(c->watches);
	if (c->webhook)
		webhook_look(c->webhook);
	if (c->guard)
		kuberay_guard_start(c->guard);
}

void controller_begin(struct controller *c)
{
	recorder_begin(c->recorder);
	if (c->webhook)
		webhook_look(c->webhook);
	launcher_store_begin(c->launcher_store);
	policies_begin(c->policies);
	missed_pods_tell(c->missed, now_boottime_ns());
	wake(c);
}

void controller_stop(struct controller *c, void (*on_idle)(void *arg), void *arg)
{
	c->stopping = true;
	c->stopping_ns = now_boottime_ns();
	c->on_idle = on_idle;
	c->on_idle_arg = arg;
	check_idle(c);
}

void controller_close(struct controller *c, void (*on_closed)(void *arg), void *arg)
{
	int64_t left = MAX(c->stopping_ns + CLOSE_AFTER_S * NS_PER_SEC - now_boottime_ns(), 0);
	const struct timeval delay = { left / NS_PER_SEC, left % NS_PER_SEC / 1000 };

	c->on_closed = on_closed;
	c->on_closed_arg = arg;
	if (c->webhook && event_add(c->closing, &delay) == 0)
		return;
	on_closed(arg);
}

bool controller_ready(void *controller, struct strbuf *out)
{
	const struct controller *c = controller;
	bool ready = watches_ready(c->watches, out);

	if (c->guard)
		kuberay_guard_explain(c->guard, out);
	return (!c->webhook || webhook_ready(c->webhook, out)) && ready;
}

void controller_metrics(void *controller, struct strbuf *out)
{
	struct controller *c = controller;
	struct metrics *m = c->o.metrics;

	watches_metrics(c->watches, m);
	metrics_set(m, METRIC_MANAGES, c->guard && kuberay_guard_allows(c->guard), "%s", "");
	metrics_set(m, METRIC_QUEUE_DEPTH, (double)c->queue.n_ready, "name=\"raycluster\"");
	metrics_set(m, METRIC_QUEUE_ADDS, (double)c->queue.adds, "name=\"raycluster\"");
	metrics_set(m, METRIC_THROTTLED, (double)client_throttled(c->o.client), "%s", "");
	metrics_set(m, METRIC_QUEUE_RETRIES, (double)c->queue.retries, "name=\"raycluster\"");
	metrics_set(m, METRIC_FAILURES_PENDING, (double)recorder_n_pending(c->recorder), "%s", "");
	poller_metrics(c->poller);
	missed_pods_metrics(c->missed);
	metrics_render(m, out);
}
