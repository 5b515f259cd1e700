/* SPDX-License-Identifier: Apache-2.0 */
/* Connects the parts of a controller. */
#include "operator/manager/parts.h"

#include <string.h>

#include "lib/units.h"
#include "operator/injection/inject_annotations.h"
#include "operator/kube/object.h"

/* --- Questions of the parts to the controller ------------------------------------------------ */

bool parts_may_write(void *arg)
{
	const struct parts *p = arg;

	return p->o.may_write(p->o.arg);
}

bool parts_may_manage(void *arg, const char *namespace)
{
	const struct parts *p = arg;

	return p->o.may_write(p->o.arg) && p->guard && kuberay_guard_allows(p->guard, namespace);
}

static void parts_on_ready(void *arg)
{
	const struct parts *p = arg;

	p->o.on_ready(p->o.arg);
}

static void parts_on_finished(void *arg)
{
	const struct parts *p = arg;

	p->o.on_finished(p->o.arg);
}

/*
 * --- Each part
 * -----------------------------------------------------------------------------------------------
 */

static int new_watches(struct parts *p, struct err *err)
{
	struct watches_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.namespace = p->o.settings->config.namespace,
		.admission = *p->o.settings->config.webhook_address != '\0',
		.clusters_may_lack = !p->o.settings->config.manage_clusters,
	};

	parts_see_changes(p, &options);
	return watches_new(&options, &p->watches, err);
}

static int new_policies(struct parts *p, struct err *err)
{
	struct policies_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.watches = p->watches,
		.policy = p->o.settings->policy,
		.retention = p->o.settings->config.retention,
		.may_write = parts_may_write,
		.arg = p,
	};

	return policies_new(&options, &p->policies, err);
}

static struct retention retention_of(void *arg, const char *namespace)
{
	const struct parts *p = arg;

	return policies_retention(p->policies, namespace);
}

static bool knows_policies(void *arg)
{
	const struct parts *p = arg;

	return watches_know_policies(p->watches);
}

static int new_failure_gc(struct parts *p, struct err *err)
{
	struct failure_gc_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.failures = watches_informer(p->watches, WATCH_FAILURES),
		.metrics = p->o.settings->metrics,
		.retention = retention_of,
		.may_decide = knows_policies,
		.may_write = parts_may_write,
		.arg = p,
	};

	return failure_gc_new(&options, &p->gc, err);
}

const cJSON *parts_find_cluster(void *arg, const char *key)
{
	const struct parts *p = arg;

	return store_peek(watches_store(p->watches, WATCH_CLUSTERS), key);
}

static int new_owners(struct parts *p, struct err *err)
{
	struct failure_owners_options options = { .client = p->o.settings->client,
						  .find_cluster = parts_find_cluster,
						  .arg = p };

	return failure_owners_new(&options, &p->owners, err);
}

static bool cluster_is_gone(void *arg, const char *key)
{
	const struct parts *p = arg;

	return failure_owners_is_gone(p->owners, key, now_boottime_ns());
}

static int new_inquiries(struct parts *p, struct err *err)
{
	struct inquiries_options options = {
		.client = p->o.settings->client,
		.find_cluster = parts_find_cluster,
		.cluster_is_gone = cluster_is_gone,
		.arg = p,
	};

	return inquiries_new(&options, &p->inquiries, err);
}

static int new_event_recorder(struct parts *p, struct err *err)
{
	struct event_recorder_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.may_write = parts_may_write,
		.arg = p,
	};

	return event_recorder_new(&options, &p->recorder, err);
}

static int new_incidents(struct parts *p, struct err *err)
{
	struct incident_writer_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.failures = watches_informer(p->watches, WATCH_FAILURES),
		.failure_events = { .recorder = p->recorder,
				    .find_cluster = parts_find_cluster,
				    .arg = p },
		.may_write = parts_may_write,
		.on_idle = parts_on_finished,
		.arg = p,
	};

	return incident_writer_new(&options, &p->incidents, err);
}

static void tell_missed(void *arg, cJSON *event)
{
	const struct parts *p = arg;

	event_recorder_emit(p->recorder, event, EVENT_COUNTED);
}

/* The rule is the same as in the namespaceSelector of the chart's webhook. */
static bool is_excluded(void *arg, const char *namespace)
{
	const struct parts *p = arg;
	const cJSON *object = store_get(watches_store(p->watches, WATCH_NAMESPACES), namespace);
	const char *word = object_label(object, INJECT_ANNOTATION);

	return word && (strcmp(word, "false") == 0 || strcmp(word, "disabled") == 0);
}

static int new_missed(struct parts *p, struct err *err)
{
	struct missed_pods_options options = {
		.metrics = p->o.settings->metrics,
		.is_excluded = is_excluded,
		.find_cluster = parts_find_cluster,
		.may_tell = parts_may_write,
		.tell = tell_missed,
		.arg = p,
	};

	return missed_pods_new(&options, &p->missed, err);
}

static int new_submitters(struct parts *p, struct err *err)
{
	p->submitters = (struct submitter_pods){
		.client = p->o.settings->client,
		.watches = p->watches,
		.writer = p->writer,
		.may_write = parts_may_write,
		.arg = p,
	};
	return submitter_pods_start(&p->submitters, p->o.settings->base, err);
}

static void on_growing(void *arg, const cJSON *pod)
{
	const struct parts *p = arg;
	char key[512];

	if (cluster_key(pod, key, sizeof(key)))
		p->o.on_cluster(p->o.arg, key);
}

static int new_poller(struct parts *p, struct err *err)
{
	struct sidecar_poller_options options = {
		.base = p->o.settings->base,
		.pods = watches_informer(p->watches, WATCH_PODS),
		.sinks = { .failures = watches_informer(p->watches, WATCH_FAILURES),
			   .clusters = watches_informer(p->watches, WATCH_CLUSTERS),
			   .recorder = p->recorder,
			   .writer = p->writer,
			   .metrics = p->o.settings->metrics,
			   .on_growing = on_growing,
			   .arg = p },
		.may_write = parts_may_write,
		.arg = p,
	};

	return sidecar_poller_new(&options, &p->poller, err);
}

static bool parts_is_whole(void *arg)
{
	const struct parts *p = arg;

	return informer_synced(watches_informer(p->watches, WATCH_PODS)) &&
	       informer_synced(watches_informer(p->watches, WATCH_CLUSTERS));
}

static void on_settled(void *arg, const char *namespace)
{
	const struct parts *p = arg;

	reconciler_launchers_settled(p->reconciler, namespace);
}

static int new_launcher_store(struct parts *p, struct err *err)
{
	struct memory_keeper_options keeper = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.metrics = p->o.settings->metrics,
		.may_write = parts_may_write,
		.arg = p,
	};
	struct launcher_store_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.launchers = p->o.settings->launchers,
		.metrics = p->o.settings->metrics,
		.may_write = parts_may_write,
		.is_whole = parts_is_whole,
		.on_settled = on_settled,
		.arg = p,
	};

	/*
	 * A pod gets the launcher together with the sidecar, from the webhook or because we make
	 * the pod.
	 */
	if (!p->o.settings->launchers || !p->o.settings->policy->sidecar_image ||
	    !(p->o.settings->config.manage_clusters || *p->o.settings->config.webhook_address))
		return 0;
	int r = memory_keeper_new(&keeper, &p->memory_keeper, err);
	return r < 0 ? r : launcher_store_new(&options, &p->launcher_store, err);
}

static int new_reconciler(struct parts *p, struct err *err)
{
	struct reconciler_options options = {
		.executor = { .client = p->o.settings->client,
			      .watches = p->watches,
			      .metrics = p->o.settings->metrics,
			      .recorder = p->recorder,
			      .may_write = parts_may_manage,
			      .arg = p },
		.writer = p->writer,
		.poller = p->poller,
		.queue = p->o.queue,
		.policies = p->policies,
		.launchers = p->o.settings->launchers,
		.launcher_store = p->launcher_store,
		.on_ready = parts_on_ready,
		.on_finished = parts_on_finished,
		.arg = p,
	};

	return reconciler_new(&options, &p->reconciler, err);
}

static void on_webhook_since(void *arg, int64_t since_ns)
{
	struct parts *p = arg;

	/* Without an image of the sidecar, the webhook is asked about RayClusters only. */
	if (!p->o.settings->policy->sidecar_image)
		return;
	missed_pods_webhook_since(p->missed, since_ns);
	missed_pods_tell(p->missed, now_boottime_ns());
}

static int new_webhook(struct parts *p, struct err *err)
{
	struct admission_options admission = {
		.watches = p->watches,
		.policies = p->policies,
		.metrics = p->o.settings->metrics,
		.launchers = p->o.settings->launchers,
	};
	struct webhook_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.metrics = p->o.settings->metrics,
		.address = p->o.settings->config.webhook_address,
		.certificates = p->o.settings->config.certificates,
		.may_write = parts_may_write,
		.on_since = on_webhook_since,
		.arg = p,
	};

	if (!*p->o.settings->config.webhook_address)
		return 0;
	int r = admission_new(&admission, &p->admission, err);
	if (r < 0)
		return r;
	options.admission = p->admission;
	return webhook_new(&options, &p->webhook, err);
}

static int new_guard(struct parts *p, struct err *err)
{
	struct kuberay_guard_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.recorder = p->recorder,
		.own_namespace = p->o.settings->own_namespace,
		.namespace = p->o.settings->config.namespace,
		.kuberay_namespaces = p->o.settings->config.kuberay_namespaces,
		.watches = p->watches,
		.on_change = parts_on_ready,
		.arg = p,
	};

	return p->o.settings->config.manage_clusters ? kuberay_guard_new(&options, &p->guard, err) :
						       0;
}

/*
 * --- All of them
 * ------------------------------------------------------------------------------------------
 */

int parts_init(struct parts *p, const struct parts_options *options, struct err *err)
{
	/* Each part may use those before it. */
	static int (*const news[])(struct parts *p, struct err *err) = {
		new_watches,	new_policies,	new_failure_gc, new_event_recorder,
		new_incidents,	new_owners,	new_inquiries,	parts_new_failure_writer,
		new_submitters, new_poller,	new_guard,	new_launcher_store,
		new_missed,	new_reconciler, new_webhook,
	};

	*p = (struct parts){ .o = *options };
	for (size_t i = 0; i < ARRAY_SIZE(news); i++) {
		int r = news[i](p, err);

		if (r < 0) {
			parts_release(p);
			return r;
		}
	}
	return 0;
}

void parts_release(struct parts *p)
{
	webhook_free(p->webhook);
	reconciler_free(p->reconciler);
	kuberay_guard_free(p->guard);
	launcher_store_free(p->launcher_store);
	memory_keeper_free(p->memory_keeper);
	missed_pods_free(p->missed);
	sidecar_poller_free(p->poller);
	submitter_pods_stop(&p->submitters);
	watches_free(p->watches);
	policies_free(p->policies);
	failure_writer_free(p->writer);
	failure_owners_free(p->owners);
	inquiries_free(p->inquiries);
	incident_writer_free(p->incidents);
	event_recorder_free(p->recorder);
	failure_gc_free(p->gc);
	admission_free(p->admission);
	*p = (struct parts){ 0 };
}
