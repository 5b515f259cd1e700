/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the kinds that the operator follows. */
#include "operator/cache/watches.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/cache/pod_fields.h"
#include "operator/kube/object.h"
#include "operator/kube/projection.h"

/* Watches end every few minutes at the latest, so silence for this long means that none works. */
#define SILENCE_NS (600 * NS_PER_SEC)

/*
 * What the copies of a kind may take (store.h). A RayCluster takes 2 to 10 kB, the metadata of a
 * RayFailure 1 kB. During a relist there are two copies of the kind. Of pods, which usually take
 * less than 1 kB, only what is above PODS_BYTES_FREE counts, and those without room are shortened:
 * the manager would make anew those that it does not see. Readers have the trees of all pods of a
 * cluster at a time, which take up to 18 times as much.
 */
#define CLUSTERS_BYTES_MAX ((size_t)64 << 20)
#define FAILURES_BYTES_MAX ((size_t)32 << 20)
#define PODS_BYTES_MAX ((size_t)16 << 20)
#define PODS_BYTES_FREE ((size_t)2 << 10)
#define OTHERS_BYTES_MAX ((size_t)8 << 20)

struct watch {
	struct watches *watches;
	enum watch_kind kind;
	struct informer *informer;
	int logged_status; /* the failure that was logged last; -1: none */
	bool wanted;
};

struct watches {
	struct watches_options o;
	struct watch kinds[WATCH_KIND_COUNT];
};

bool cluster_key(const cJSON *object, char *buf, size_t size)
{
	const char *namespace = json_str(object, "metadata.namespace"),
		   *cluster = object_label(object, CLUSTER_LABEL);

	return namespace && cluster && snprintf(buf, size, "%s/%s", namespace, cluster) < (int)size;
}

bool pod_cluster_key(const cJSON *pod, char *buf, size_t size)
{
	const cJSON *owner = object_controller(pod);
	const char *namespace = json_str(pod, "metadata.namespace"),
		   *name = json_str(owner, "name");

	if (namespace && name && json_is(owner, "kind", "RayCluster"))
		return snprintf(buf, size, "%s/%s", namespace, name) < (int)size;
	return cluster_key(pod, buf, size);
}

bool namespace_key(const cJSON *object, char *buf, size_t size)
{
	const char *namespace = json_str(object, "metadata.namespace");

	return namespace && snprintf(buf, size, "%s", namespace) < (int)size;
}

bool group_key(const cJSON *object, char *buf, size_t size)
{
	const char *group = object_label(object, "ray.io/group");

	if (!cluster_key(object, buf, size))
		return false;
	size_t len = strlen(buf);
	return group && snprintf(buf + len, size - len, "/%s", group) < (int)(size - len);
}

static void on_change(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const struct watch *watch = arg;
	const struct watches_options *o = &watch->watches->o;

	if (o->on_change)
		o->on_change(o->arg, watch->kind, change, before, after);
}

/* This is done only when the state changes: otherwise two kinds would go on waking each other. */
static void poke_others(const struct watch *watch)
{
	for (size_t i = 0; i < WATCH_KIND_COUNT; i++)
		if (i != watch->kind && watch->watches->kinds[i].wanted)
			informer_poke(watch->watches->kinds[i].informer);
}

/* Returns whether the kind can be missing: its CRD is not installed, or we may not read it. */
static bool is_done_without(const struct watch *watch)
{
	int status = informer_reflector(watch->informer)->last_status;

	return watch->kind >= WATCH_POLICIES && !informer_synced(watch->informer) &&
	       (status == 403 || status == 404);
}

static void tell_trouble(const struct watch *watch)
{
	const char *plural = informer_resource(watch->informer)->plural;
	int status = informer_reflector(watch->informer)->last_status;

	if (is_done_without(watch))
		log_info(
			"%s: the operator works without them, because %s; it tries again from time to time",
			plural,
			status == 403 ? "it may not list them" : "their CRD is not installed");
	else
		log_warning(
			"%s: %s%s", plural, informer_trouble(watch->informer),
			status == 404 ?
				" (is its CRD installed? The operator tries again from time to time)" :
				"");
}

/* Logs each trouble once, and its end. */
static void watches_on_state(void *arg, struct informer *informer)
{
	struct watch *watch = arg;
	const struct reflector *reflector = informer_reflector(informer);
	const char *plural = informer_resource(informer)->plural;
	bool trouble = *informer_trouble(informer);

	if (trouble && reflector->state != REFLECTOR_WATCHING &&
	    watch->logged_status != reflector->last_status) {
		tell_trouble(watch);
		watch->logged_status = reflector->last_status;
	} else if (!trouble && watch->logged_status != -1) {
		log_info("%s: recovered", plural);
		watch->logged_status = -1;
		poke_others(watch);
	}
	watch->watches->o.on_state(watch->watches->o.arg);
}

/* A tenant who may write an object can cause this log line at any rate, so it is limited. */
static void watches_on_unreadable(void *, struct informer *informer, const char *key,
				  const char *reason)
{
	bool shortened = informer_store(informer)->shorten;

	log_warning_limited("%s %s is %s%s", informer_resource(informer)->kind, key,
			    shortened ?
				    "kept without its details: it has very many containers, or " :
				    "left out, the others are served: ",
			    reason);
}

/* Of a namespace only its labels are read. */
static const char *const namespace_fields[] = {
	"apiVersion",	   "kind", "metadata.name", "metadata.uid", "metadata.resourceVersion",
	"metadata.labels", NULL,
};

/* clang-format off */
/* Tenants may give RayFailures other labels and annotations; no copy keeps those. */
static const char *const failure_fields[] = {
	PROJECTION_IDENTITY, "metadata.creationTimestamp",
	"metadata.labels.ray.io/cluster", "metadata.labels.ray.io/group",
	"metadata.labels.ray.io/node-type", "metadata.labels.afterglow.dev/class",
	"metadata.labels.afterglow.dev/incident", "metadata.annotations.afterglow.dev/caused-by",
	"metadata.annotations.afterglow.dev/consequences",
	"metadata.annotations.afterglow.dev/ended-at", "metadata.annotations.afterglow.dev/facts",
	"metadata.annotations.afterglow.dev/more-ends",
	"metadata.annotations.afterglow.dev/pod-created-at",
	"metadata.annotations.afterglow.dev/pod-deleted", NULL,
};

/* The fields that submitter.h reads. */
static const char *const job_fields[] = {
	PROJECTION_IDENTITY, "metadata.labels", "metadata.ownerReferences",
	"status.active",     "status.ready",	"status.failed",	    NULL,
};
/* clang-format on */

/* The fields that store_claim.h reads. */
static const char *const claim_fields[] = {
	PROJECTION_IDENTITY,
	"metadata.creationTimestamp",
	"metadata.deletionTimestamp",
	"metadata.annotations.volume.kubernetes.io/*",
	"metadata.annotations.volume.beta.kubernetes.io/*",
	"spec.storageClassName",
	"status.phase",
	NULL,
};

/* The fields that qos.h reads. */
static const char *const limit_range_fields[] = {
	PROJECTION_IDENTITY,
	"spec.limits.type",
	"spec.limits.min",
	"spec.limits.max",
	"spec.limits.maxLimitRequestRatio",
	NULL,
};

static int new_informers(struct watches *w, struct err *err)
{
	const struct informer_options options[WATCH_KIND_COUNT] = {
		[WATCH_CLUSTERS] = { .resource = resource_find("ray.io/v1", "RayCluster"),
				     .bytes_max = CLUSTERS_BYTES_MAX,
				     .keep_remnants = true },
		[WATCH_PODS] = { .resource = resource_find("v1", "Pod"),
				 .bytes_max = PODS_BYTES_MAX,
				 .bytes_free = PODS_BYTES_FREE,
				 .shorten = pod_shorten,
				 .label_selector = "ray.io/is-ray-node=yes",
				 .prefers_pages = true,
				 .index_fn = pod_cluster_key,
				 .fields = pod_fields },
		[WATCH_SERVICES] = { .resource = resource_find("v1", "Service"),
				     .bytes_max = OTHERS_BYTES_MAX,
				     .label_selector = CLUSTER_LABEL },
		[WATCH_FAILURES] = { .resource =
					     resource_find("afterglow.dev/v1alpha1", "RayFailure"),
				     .bytes_max = FAILURES_BYTES_MAX,
				     .metadata_only = true,
				     .index_fn = group_key,
				     .fields = failure_fields },
		[WATCH_POLICIES] = { .resource =
					     resource_find("afterglow.dev/v1alpha1", "RayPolicy"),
				     .bytes_max = OTHERS_BYTES_MAX },
		[WATCH_CLUSTER_POLICIES] = { .resource = resource_find("afterglow.dev/v1alpha1",
								       "ClusterRayPolicy") },
		[WATCH_NAMESPACES] = { .resource = resource_find("v1", "Namespace"),
				       .metadata_only = true,
				       .fields = namespace_fields },
		[WATCH_JOBS] = { .resource = resource_find("batch/v1", "Job"),
				 .bytes_max = OTHERS_BYTES_MAX,
				 .label_selector = "ray.io/originated-from-crd=RayJob",
				 .fields = job_fields },
		[WATCH_CLAIMS] = { .resource = resource_find("v1", "PersistentVolumeClaim"),
				   .bytes_max = OTHERS_BYTES_MAX,
				   .fields = claim_fields },
		[WATCH_LIMIT_RANGES] = { .resource = resource_find("v1", "LimitRange"),
					 .bytes_max = OTHERS_BYTES_MAX,
					 .index_fn = namespace_key,
					 .fields = limit_range_fields },
	};

	for (size_t i = 0; i < WATCH_KIND_COUNT; i++) {
		struct informer_options o = options[i];
		o.namespace = resource_is_cluster_wide(o.resource) ? NULL : w->o.namespace;
		o.on_state = watches_on_state;
		o.on_change = on_change;
		o.on_unreadable = watches_on_unreadable;
		o.arg = &w->kinds[i];
		w->kinds[i] = (struct watch){ .watches = w,
					      .kind = (enum watch_kind)i,
					      .logged_status = -1,
					      .wanted = i < WATCH_CLAIMS || w->o.admission };
		int r = informer_new(w->o.base, w->o.client, &o, &w->kinds[i].informer, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int watches_new(const struct watches_options *options, struct watches **ret_watches,
		struct err *err)
{
	struct watches *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, ENOMEM, "watches");
	w->o = *options;
	int r = new_informers(w, err);
	if (r < 0) {
		watches_free(w);
		return r;
	}
	*ret_watches = w;
	return 0;
}

void watches_free(struct watches *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < WATCH_KIND_COUNT; i++)
		informer_free(w->kinds[i].informer);
	free(w);
}

void watches_start(struct watches *w)
{
	for (size_t i = 0; i < WATCH_KIND_COUNT; i++)
		if (w->kinds[i].wanted)
			informer_resync(w->kinds[i].informer);
}

struct informer *watches_informer(const struct watches *w, enum watch_kind kind)
{
	return w->kinds[kind].informer;
}

const struct store *watches_store(const struct watches *w, enum watch_kind kind)
{
	return informer_store(w->kinds[kind].informer);
}

const cJSON *watches_service(const struct watches *w, const char *namespace, const char *name)
{
	char key[512];

	if (!name || snprintf(key, sizeof(key), "%s/%s", namespace, name) >= (int)sizeof(key))
		return NULL;
	return store_get(watches_store(w, WATCH_SERVICES), key);
}

void watches_drop_views(struct watches *w)
{
	for (size_t i = 0; i < WATCH_KIND_COUNT; i++)
		informer_drop_views(w->kinds[i].informer);
}

/*
 * Returns whether RayFailures are known. Without them the operator could not recognise a pod that
 * fails again and again, and would not delay its replacement.
 */
static bool knows_failures(const struct watches *w)
{
	const struct informer *failures = w->kinds[WATCH_FAILURES].informer;
	int status = informer_reflector(failures)->last_status;

	/*
	 * Clusters have to run even if there is no CRD, no permission, or a failing server. Other
	 * errors lead to another kind of list.
	 */
	return informer_synced(failures) || status == 403 || status == 404 || status >= 500;
}

/* Trouble with policies does not hold up the operator: the last known policies hold, or none. */
static bool may_go_on(const struct watch *watch)
{
	return informer_synced(watch->informer) || is_done_without(watch) ||
	       informer_reflector(watch->informer)->last_status >= 500;
}

bool watches_know_policies(const struct watches *w)
{
	for (size_t i = WATCH_POLICIES; i <= WATCH_NAMESPACES; i++)
		if (!informer_synced(w->kinds[i].informer) && !is_done_without(&w->kinds[i]))
			return false;
	return true;
}

bool watches_policies_settled(const struct watches *w)
{
	for (size_t i = WATCH_POLICIES; i <= WATCH_NAMESPACES; i++)
		if (!may_go_on(&w->kinds[i]))
			return false;
	return true;
}

bool watches_synced(const struct watches *w)
{
	return watches_policies_settled(w) && informer_synced(w->kinds[WATCH_CLUSTERS].informer) &&
	       informer_synced(w->kinds[WATCH_PODS].informer) &&
	       informer_synced(w->kinds[WATCH_SERVICES].informer) && knows_failures(w);
}

void watches_learn(struct watches *w, cJSON *object)
{
	static const enum watch_kind kinds[] = { WATCH_CLUSTERS, WATCH_PODS, WATCH_SERVICES };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (resource_of(object) == informer_resource(w->kinds[kinds[i]].informer)) {
			informer_learn(w->kinds[kinds[i]].informer, object);
			return;
		}
	cJSON_Delete(object);
}

void watches_learn_gone(struct watches *w, const cJSON *body)
{
	_cleanup_free_ char *key = object_key(body);

	if (key && resource_of(body) == informer_resource(w->kinds[WATCH_PODS].informer))
		informer_learn_gone(w->kinds[WATCH_PODS].informer, key,
				    json_str(body, "metadata.uid"));
}

/* Returns whether the operator can go on without the kind. */
static bool may_lack(const struct watches *w, enum watch_kind kind)
{
	const struct informer *informer = w->kinds[kind].informer;

	return kind == WATCH_CLUSTERS && w->o.clusters_may_lack && !informer_synced(informer) &&
	       informer_reflector(informer)->last_status == 404;
}

bool watches_ready(const struct watches *w, struct strbuf *out)
{
	bool ready = true;

	for (size_t i = 0; i < WATCH_KIND_COUNT; i++) {
		const struct watch *watch = &w->kinds[i];
		const struct informer *informer = watch->informer;
		bool synced = informer_synced(informer) || is_done_without(watch);
		bool silent =
			informer_synced(informer) &&
			now_boottime_ns() - informer_reflector(informer)->alive_ns >= SILENCE_NS;
		if (!watch->wanted)
			continue;
		strbuf_addf(out, "%s: %s%s%s\n", informer_resource(informer)->plural,
			    silent ? "synced, but nothing was received for a long time" :
			    is_done_without(watch) ? "none" :
			    synced		   ? "synced" :
						     "not synced",
			    *informer_trouble(informer) ? ": " : "", informer_trouble(informer));
		ready = ready && ((synced && !silent) || may_lack(w, (enum watch_kind)i));
	}
	return ready;
}

void watches_metrics(const struct watches *w, struct metrics *m)
{
	int64_t now = now_boottime_ns();

	for (size_t i = 0; i < WATCH_KIND_COUNT; i++) {
		const struct informer *informer = w->kinds[i].informer;
		const struct reflector *r = informer_reflector(informer);
		if (!w->kinds[i].wanted)
			continue;
		const char *plural = informer_resource(informer)->plural;
		metrics_set(m, METRIC_WATCH_SYNCED, r->synced, "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_OBJECTS, (double)informer_store(informer)->entries.n,
			    "resource=\"%s\"", plural);
		if (informer_store(informer)->bytes_max)
			metrics_set(m, METRIC_WATCH_BYTES,
				    (double)informer_store(informer)->bytes.n, "resource=\"%s\"",
				    plural);
		metrics_set(m, METRIC_WATCH_LISTS, (double)r->lists, "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_UNKNOWN, (double)informer_unknown_events(informer),
			    "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_UNREADABLE, (double)informer_unreadable(informer),
			    "resource=\"%s\"", plural);
		metrics_set(m, METRIC_WATCH_WATCHES, (double)r->watches, "resource=\"%s\"", plural);
		if (r->alive_ns)
			metrics_set(m, METRIC_WATCH_AGE, (double)(now - r->alive_ns) / 1e9,
				    "resource=\"%s\"", plural);
	}
}
