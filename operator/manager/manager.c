/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RayClusters in the state that their specs ask for.
 *
 * Theory of operation. The watches copy RayClusters, Ray pods, their services
 * and RayFailures. A change puts the cluster's key into the work queue; run()
 * takes keys out while the copies are whole, and the reconciler works on them,
 * several at a time. The failure writer looks at every pod for deaths.
 */
#include "operator/manager/manager.h"

#include <errno.h>
#include <malloc.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/manager/kuberay_lease.h"
#include "operator/manager/parts.h"

/*
 * One large cluster must not keep the others waiting, and all of them together must not overload
 * the API server.
 */
#define RECONCILES_MAX 16
/*
 * Of one namespace, unless the operator has only one. The plan of a large cluster is carried out
 * for minutes, and others do not wait for it.
 */
#define RECONCILES_OF_NAMESPACE_MAX 12
/*
 * Events of a cluster come in bursts. And if two operators undo each other's work, they should not
 * do so at full speed.
 */
#define PACE_NS (100 * NS_PER_MS)
/*
 * A death causes three or four reconciles: for the death, its evidence, the missing pod, and the
 * new pod. These need not wait.
 */
#define BURST 5
/* After this time without work, freed memory is returned to the kernel. */
#define REST_S 2
/*
 * After SIGTERM the API server may send reviews here until all its parts know that our pod has left
 * the Service.
 */
#define CLOSE_AFTER_S 5

struct manager {
	struct manager_options o;
	struct parts parts;
	struct workqueue queue;
	struct event *wake, *rest;
	bool stopping;
	int64_t stopping_ns;
	struct event *closing; /* the webhook is served until this fires */
	void (*on_closed)(void *arg);
	void *on_closed_arg;
	void (*on_idle)(void *arg);
	void *on_idle_arg;
};

/* --- Leadership ------------------------------------------------------------------------------ */

/* Only this function decides whether we may change the cluster. */
static bool manager_may_write(void *arg)
{
	const struct manager *c = arg;

	return !c->stopping && (!c->o.is_leader || c->o.is_leader(c->o.arg));
}

/*
 * --- Changes become keys
 * --------------------------------------------------------------------------------
 */

static void manager_wake(void *arg)
{
	struct manager *c = arg;

	event_active(c->wake, 0, 0);
}

static void manager_on_cluster(void *arg, const char *key)
{
	struct manager *c = arg;

	if (!c->o.config.manage_clusters ||
	    !store_has(watches_store(c->parts.watches, WATCH_CLUSTERS), key))
		return;
	if (workqueue_add(&c->queue, key) < 0)
		log_error("cluster %s: out of memory; it will be looked at later", key);
	manager_wake(c);
}

static bool manager_may_start(struct manager *c)
{
	return parts_may_manage(&c->parts, NULL) &&
	       reconciler_in_flight(c->parts.reconciler) < RECONCILES_MAX &&
	       watches_synced(c->parts.watches);
}

/* A key of a namespace that KubeRay serves waits until the guard has looked again. */
static void start_or_defer(struct manager *c, const char *key)
{
	char namespace[KUBERAY_NAMESPACE_MAX];

	snprintf(namespace, sizeof(namespace), "%.*s", (int)strcspn(key, "/"), key);
	if (parts_may_manage(&c->parts, namespace)) {
		reconciler_start(c->parts.reconciler, key);
		return;
	}
	workqueue_add_at(&c->queue, key, now_boottime_ns() + KUBERAY_LOOK_NS);
	workqueue_done(&c->queue, key);
}

static void manager_run(evutil_socket_t, short, void *arg)
{
	struct manager *c = arg;
	const char *key;

	while (manager_may_start(c) && (key = workqueue_get(&c->queue, now_boottime_ns())))
		start_or_defer(c, key);
	int64_t next = workqueue_next_ns(&c->queue);
	if (next <= 0 || !manager_may_start(c))
		return; /* the end of a reconcile, or of a list, wakes us */
	timer_after(c->wake, next - now_boottime_ns());
}

/*
 * --- Life
 * -----------------------------------------------------------------------------------------------
 */

static void check_idle(struct manager *c)
{
	if (c->stopping && c->on_idle && reconciler_in_flight(c->parts.reconciler) == 0 &&
	    failure_writer_in_flight(c->parts.writer) == 0 &&
	    incident_writer_in_flight(c->parts.incidents) == 0)
		TAKE_PTR(c->on_idle)(c->on_idle_arg);
}

static void on_rest(evutil_socket_t, short, void *)
{
	malloc_trim(0);
}

static void manager_on_finished(void *arg)
{
	struct manager *c = arg;

	event_add(c->rest, &(struct timeval){ .tv_sec = REST_S });
	manager_wake(c);
	check_idle(c);
}

static void on_closing(evutil_socket_t, short, void *arg)
{
	struct manager *c = arg;

	webhook_stop(c->parts.webhook, c->on_closed, c->on_closed_arg);
}

static void on_waited(void *arg, int64_t ns)
{
	const struct manager *c = arg;

	metrics_observe(c->o.metrics, METRIC_QUEUE_WAIT, (double)ns / 1e9, "name=\"raycluster\"");
}

static void on_worked(void *arg, int64_t ns)
{
	const struct manager *c = arg;

	metrics_observe(c->o.metrics, METRIC_QUEUE_WORK, (double)ns / 1e9, "name=\"raycluster\"");
}

int manager_new(const struct manager_options *options, struct manager **ret_manager,
		struct err *err)
{
	struct manager *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ENOMEM, "controller");
	c->o = *options;
	workqueue_init(&c->queue);
	c->queue.most = options->config.namespace ? 0 : RECONCILES_OF_NAMESPACE_MAX;
	c->queue.clock = now_boottime_ns;
	c->queue.on_waited = on_waited;
	c->queue.on_worked = on_worked;
	c->queue.arg = c;
	c->queue.pace_ns = PACE_NS;
	c->queue.burst = BURST;
	c->wake = evtimer_new(options->base, manager_run, c);
	c->rest = evtimer_new(options->base, on_rest, c);
	c->closing = evtimer_new(options->base, on_closing, c);
	const struct parts_options parts = {
		.settings = &c->o,
		.queue = &c->queue,
		.may_write = manager_may_write,
		.on_cluster = manager_on_cluster,
		.on_ready = manager_wake,
		.on_finished = manager_on_finished,
		.arg = c,
	};
	int r = c->wake && c->rest && c->closing ? parts_init(&c->parts, &parts, err) :
						   err_set(err, ENOMEM, "controller");
	if (r < 0) {
		manager_free(c);
		return r;
	}
	*ret_manager = c;
	return 0;
}

void manager_free(struct manager *c)
{
	if (!c)
		return;
	parts_release(&c->parts);
	event_drop(c->wake);
	event_drop(c->rest);
	event_drop(c->closing);
	workqueue_release(&c->queue);
	free(c);
}

void manager_start(struct manager *c)
{
	watches_start(c->parts.watches);
	if (c->parts.webhook)
		webhook_look(c->parts.webhook);
	if (c->parts.guard)
		kuberay_guard_start(c->parts.guard);
}

void manager_begin(struct manager *c)
{
	reconciler_begin(c->parts.reconciler);
	failure_writer_begin(c->parts.writer);
	incident_writer_wake(c->parts.incidents);
	if (c->parts.webhook)
		webhook_look(c->parts.webhook);
	launcher_store_begin(c->parts.launcher_store);
	policies_begin(c->parts.policies);
	missed_pods_tell(c->parts.missed, now_boottime_ns());
	manager_wake(c);
}

void manager_stop(struct manager *c, void (*on_idle)(void *arg), void *arg)
{
	c->stopping = true;
	c->stopping_ns = now_boottime_ns();
	c->on_idle = on_idle;
	c->on_idle_arg = arg;
	check_idle(c);
}

void manager_close(struct manager *c, void (*on_closed)(void *arg), void *arg)
{
	c->on_closed = on_closed;
	c->on_closed_arg = arg;
	if (!c->parts.webhook ||
	    timer_after(c->closing,
			c->stopping_ns + CLOSE_AFTER_S * NS_PER_SEC - now_boottime_ns()) < 0)
		on_closed(arg);
}

bool manager_ready(void *manager, struct strbuf *out)
{
	const struct manager *c = manager;
	bool ready = watches_ready(c->parts.watches, out);

	if (c->parts.guard)
		kuberay_guard_explain(c->parts.guard, out);
	return (!c->parts.webhook || webhook_ready(c->parts.webhook, out)) && ready;
}

void manager_metrics(void *manager, struct strbuf *out)
{
	struct manager *c = manager;
	struct metrics *m = c->o.metrics;

	watches_metrics(c->parts.watches, m);
	metrics_set(m, METRIC_MANAGES, c->parts.guard && kuberay_guard_allows(c->parts.guard, NULL),
		    "%s", "");
	metrics_set(m, METRIC_QUEUE_DEPTH, (double)c->queue.n_ready, "name=\"raycluster\"");
	metrics_set(m, METRIC_QUEUE_ADDS, (double)c->queue.adds, "name=\"raycluster\"");
	metrics_set(m, METRIC_QUEUE_RETRIES, (double)c->queue.retries, "name=\"raycluster\"");
	failure_writer_metrics(c->parts.writer);
	sidecar_poller_metrics(c->parts.poller);
	missed_pods_metrics(c->parts.missed);
	metrics_render(m, out);
}
