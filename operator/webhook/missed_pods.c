/* SPDX-License-Identifier: Apache-2.0 */
/* Reports Ray pods without the sidecar. */
#include "operator/webhook/missed_pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/cache/store.h"
#include "operator/cache/watches.h"
#include "operator/kube/event.h"
#include "operator/kube/event_filter.h"
#include "operator/webhook/missing_sidecar.h"

#define PODS_MAX 100000
#define KEY_MAX 600
#define AGAIN_NS (3600 * NS_PER_SEC)

struct pod {
	enum missing_sidecar reason;
	int64_t created_ns; /* 0: unknown */
	bool unreported;
	char cluster[KEY_MAX]; /* "namespace/name"; "": none */
};

struct missed_pods {
	struct missed_pods_options o;
	struct strmap pods; /* "namespace/name" -> struct pod, only for pods without the sidecar */
	struct event_filter emitted; /* keys are "namespace/cluster REASON" */
	size_t n_unreported;
	int64_t tell_at_ns; /* boottime: earlier, missed_pods_tell does nothing */
};

int missed_pods_new(const struct missed_pods_options *options, struct missed_pods **ret_missed,
		    struct err *err)
{
	struct missed_pods *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(err, ENOMEM, "missed pods");
	m->o = *options;
	*ret_missed = m;
	return 0;
}

void missed_pods_free(struct missed_pods *m)
{
	if (!m)
		return;
	strmap_release(&m->pods, free);
	event_filter_release(&m->emitted);
	free(m);
}

static void set_unreported(struct missed_pods *m, struct pod *pod, bool unreported)
{
	m->n_unreported += (size_t)unreported;
	m->n_unreported -= (size_t)pod->unreported;
	pod->unreported = unreported;
}

void missed_pods_webhook_since(struct missed_pods *m, int64_t webhook_since_ns)
{
	void *value;

	m->o.webhook_since_ns = webhook_since_ns;
	strmap_each(&m->pods, NULL, &value) {
		struct pod *pod = value;
		bool older = webhook_since_ns <= 0 || pod->created_ns <= webhook_since_ns;

		if (pod->reason != MISSING_MISSED && pod->reason != MISSING_BEFORE_INSTALL)
			continue;
		if (!older && pod->reason == MISSING_BEFORE_INSTALL && *pod->cluster)
			set_unreported(m, pod, true);
		else if (older)
			set_unreported(m, pod, false);
		pod->reason = older ? MISSING_BEFORE_INSTALL : MISSING_MISSED;
	}
}

static void missed_pods_forget(struct missed_pods *m, const char *key)
{
	struct pod *pod = strmap_remove(&m->pods, key);

	if (pod)
		set_unreported(m, pod, false);
	free(pod);
}

static struct pod *missed_pods_get_or_add(struct missed_pods *m, const char *key)
{
	struct pod *pod = m->pods.n < PODS_MAX ? strmap_get_or_add(&m->pods, key, sizeof(*pod)) :
						 strmap_get(&m->pods, key);

	if (pod)
		return pod;
	log_warning_limited(
		"pod %s has no sidecar and is not counted: %zu pods are counted already", key,
		m->pods.n);
	return NULL;
}

/*
 * Finds the reason. This parses the cluster, which is acceptable because most pods have the
 * sidecar.
 */
static enum missing_sidecar missed_pods_reason_of(const struct missed_pods *m, const cJSON *object,
						  const char *cluster)
{
	enum missing_sidecar reason =
		missing_sidecar_of(object, NULL, false, m->o.webhook_since_ns);
	const char *namespace = json_str(object, "metadata.namespace");

	if (reason != MISSING_MISSED && reason != MISSING_BEFORE_INSTALL)
		return reason;
	bool excluded = namespace && m->o.is_excluded && m->o.is_excluded(m->o.arg, namespace);
	return missing_sidecar_of(object, *cluster ? m->o.find_cluster(m->o.arg, cluster) : NULL,
				  excluded, m->o.webhook_since_ns);
}

static void missed_pods_note(struct missed_pods *m, const char *key, const cJSON *object,
			     const char *cluster, enum missing_sidecar reason)
{
	struct pod *pod = missed_pods_get_or_add(m, key);

	if (!pod)
		return;
	/*
	 * A pod without a cluster has no object for an Event. It would be looked at again with each
	 * change of another pod.
	 */
	if (reason != pod->reason)
		set_unreported(m, pod, reason == MISSING_MISSED && *cluster);
	pod->reason = reason;
	snprintf(pod->cluster, sizeof(pod->cluster), "%s", cluster);
	if (!json_time(object, "metadata.creationTimestamp", &pod->created_ns))
		pod->created_ns = 0;
}

/*
 * Nothing of a finished pod can fail any more. Its object stays, for example until its RayJob is
 * deleted.
 */
static bool has_finished(const cJSON *pod)
{
	return TEXT_IS_ONE_OF(json_str(pod, "status.phase"), "Succeeded", "Failed");
}

void missed_pods_see(struct missed_pods *m, const cJSON *object, bool gone)
{
	_cleanup_free_ char *key = object_key(object);
	enum missing_sidecar reason = MISSING_NOTHING;
	char cluster[KEY_MAX] = "";

	if (!key)
		return;
	if (!gone && !has_finished(object)) {
		if (!cluster_key(object, cluster, sizeof(cluster)))
			cluster[0] = '\0';
		reason = missed_pods_reason_of(m, object, cluster);
	}
	if (reason == MISSING_NOTHING)
		missed_pods_forget(m, key);
	else
		missed_pods_note(m, key, object, cluster, reason);
}

/*
 * --- Events
 * -----------------------------------------------------------------------------------------------
 */

static void missed_pods_notify(struct missed_pods *m, const char *key, const cJSON *cluster)
{
	const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
	int ns_len = slash ? (int)(slash - key) : 0;
	char text[1024];

	snprintf(
		text, sizeof(text),
		"Pod %.253s runs without the Afterglow sidecar: when it was made, the API server did not ask "
		"Afterglow's webhook, or got no answer in time. Ray runs as without Afterglow, and what dies in this pod has no "
		"report. Check that the operator's pods are ready and that kubectl get mutatingwebhookconfigurations lists "
		"Afterglow's; a pod that is made anew gets the sidecar: kubectl delete pod -n %.*s %.253s. All such pods: metric "
		"afterglow_pods_without_sidecar{reason=\"Missed\"}",
		name, ns_len, key, name);
	m->o.tell(m->o.arg,
		  event_warning(cluster, "SidecarMissing", "Inject", text, now_realtime_ns()));
}

void missed_pods_tell(struct missed_pods *m, int64_t now_ns)
{
	const char *key;
	void *value;

	if (m->n_unreported == 0 || now_ns < m->tell_at_ns || !m->o.may_tell(m->o.arg))
		return;
	/*
	 * Pods of a cluster that does not exist stay unreported: they must not cost time with each
	 * change.
	 */
	m->tell_at_ns = now_ns + (int64_t)(m->pods.n / 8) * NS_PER_MS;
	strmap_each(&m->pods, &key, &value) {
		struct pod *pod = value;
		const cJSON *cluster = NULL;
		char once[KEY_MAX + 32];

		if (!pod->unreported)
			continue;
		snprintf(once, sizeof(once), "%s %s", pod->cluster,
			 missing_sidecar_name(pod->reason));
		/* The Event needs the cluster's uid. The watch of clusters may be late. */
		if (!event_filter_lately(&m->emitted, once, now_ns) &&
		    !(cluster = m->o.find_cluster(m->o.arg, pod->cluster)))
			continue;
		if (cluster && event_filter_is_time(&m->emitted, once, now_ns, AGAIN_NS))
			missed_pods_notify(m, key, cluster);
		set_unreported(m, pod, false);
	}
}

/*
 * --- The metric
 * --------------------------------------------------------------------------------------------
 */

struct count {
	size_t of[MISSING_COUNT];
};

static struct count *missed_pods_count_of(struct strmap *namespaces, const char *key,
					  struct count *other)
{
	size_t len = strcspn(key, "/");
	char namespace[256];

	if (len >= sizeof(namespace))
		return other;
	snprintf(namespace, sizeof(namespace), "%.*s", (int)len, key);
	struct count *count = namespaces->n < MISSED_PODS_NAMESPACES_MAX ?
				      strmap_get_or_add(namespaces, namespace, sizeof(*count)) :
				      strmap_get(namespaces, namespace);
	return count ? count : other;
}

static void set_metric(const struct missed_pods *m, const char *namespace,
		       const struct count *count)
{
	for (size_t i = MISSING_NOTHING + 1; i < MISSING_COUNT; i++)
		if (count->of[i])
			metrics_set(m->o.metrics, METRIC_WITHOUT_SIDECAR, (double)count->of[i],
				    "namespace=\"%s\",reason=\"%s\"", namespace,
				    missing_sidecar_name((enum missing_sidecar)i));
}

void missed_pods_metrics(const struct missed_pods *m)
{
	struct strmap namespaces = STRMAP_INIT;
	struct count other = { 0 };
	const char *key;
	void *value;

	strmap_each(&m->pods, &key, &value)
		missed_pods_count_of(&namespaces, key, &other)
			->of[((const struct pod *)value)->reason]++;
	metrics_forget(m->o.metrics, METRIC_WITHOUT_SIDECAR);
	strmap_each(&namespaces, &key, &value)
		set_metric(m, key, value);
	set_metric(m, MISSED_PODS_OTHER, &other);
	strmap_release(&namespaces, free);
}
