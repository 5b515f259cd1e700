/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the pods of RayJobs' submitters. */
#include "operator/failure_controller/submitter_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/cache/pod_fields.h"
#include "operator/failures/owner.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"

/* An image that cannot be pulled is in the pod's status after a quarter of a minute. */
#define TICK_S 20
/* KubeRay's Job makes three pods at most, unless its user wants more. */
#define PODS_MAX "20"
#define NAME_MAX_LEN 253
/* A cluster's name is a label's value. */
#define LABEL_MAX 63
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
/* Jobs of a namespace that are looked at without a pause, and the pause after each further one. */
#define BURST 20
#define PACE_NS (NS_PER_SEC / 5)

struct pods_list {
	struct submitter_pods *pods;
	const char *namespace; /* whose turn it is; of pods->turns */
	struct owner owner;
};

/*
 * --- A pod -------------------------------------------------------------------------------------
 */

/*
 * Finds the cluster to which the pod submits: KubeRay gives it the address of the head's Service. A
 * Service that is gone had the name that KubeRay makes of the cluster's. Returns NULL if the
 * cluster is not known: whoever made the pod wrote the address.
 */
static const char *submitter_cluster(const struct watches *watches, const cJSON *pod,
				     char name[static NAME_MAX_LEN + 1])
{
	const cJSON *env =
		container_env(ray_container(json_get(pod, "spec")), "RAY_DASHBOARD_ADDRESS");
	const char *namespace = json_str_or(pod, "metadata.namespace", ""),
		   *address = json_str_or(env, "value", "");

	snprintf(name, NAME_MAX_LEN + 1, "%.*s", (int)strcspn(address, ".:"), address);
	const cJSON *service = watches_service(watches, namespace, name);
	if (service)
		return object_label(service, CLUSTER_LABEL);
	char *end = strstr(name, "-head-svc");
	if (!end)
		return NULL;
	*end = '\0';
	return *name && end - name <= LABEL_MAX && !name[strspn(name, LETTERS)] ? name : NULL;
}

/* Makes our copy of the pod like a Ray pod, so that it can be looked at like one. */
static void submitter_label(cJSON *pod, const char *cluster, const struct owner *owner)
{
	cJSON *metadata = json_get(pod, "metadata"), *labels = json_object_at(metadata, "labels");
	char text[OWNER_TEXT_MAX];

	json_set_str(labels, CLUSTER_LABEL, cluster);
	json_set_str(labels, "ray.io/node-type", POD_TYPE_SUBMITTER);
	json_set_str(json_object_at(metadata, "annotations"), OWNER_ANNOTATION,
		     owner_format(owner, text));
}

/*
 * --- Turns -------------------------------------------------------------------------------------
 */

static void due_free(void *jobs)
{
	strmap_release(jobs, NULL);
	free(jobs);
}

/* key: "namespace/name" of a Job */
static void due_add(struct submitter_pods *pods, const char *key)
{
	char namespace[NAME_MAX_LEN + 1];
	struct strmap *jobs;

	snprintf(namespace, sizeof(namespace), "%.*s", (int)strcspn(key, "/"), key);
	jobs = strmap_get_or_add(&pods->due, namespace, sizeof(*jobs));
	if (!jobs || strmap_put(jobs, key, pods, NULL) < 0 ||
	    workqueue_add(&pods->turns, namespace) < 0)
		pods->behind = true;
	event_active(pods->wake, 0, 0);
}

/* Takes one of the namespace's Jobs; NULL: none of them exists any more. */
static const cJSON *due_take(struct submitter_pods *pods, const char *namespace)
{
	struct strmap *jobs = strmap_get(&pods->due, namespace);
	struct strmap_pos pos = { 0 };
	const cJSON *job = NULL;
	const char *key;
	void *value;

	while (!job && jobs && strmap_next(jobs, &pos, &key, &value)) {
		job = store_peek(watches_store(pods->watches, WATCH_JOBS), key);
		strmap_remove(jobs, key);
	}
	return job;
}

static void turn_end(struct submitter_pods *pods, const char *namespace)
{
	struct strmap *jobs = strmap_get(&pods->due, namespace);

	if (jobs && jobs->n)
		workqueue_add(&pods->turns, namespace);
	else if (jobs)
		due_free(strmap_remove(&pods->due, namespace));
	workqueue_done(&pods->turns, namespace);
	event_active(pods->wake, 0, 0);
}

/*
 * --- The pods of a Job -------------------------------------------------------------------------
 */

static void on_submitter_pods(void *arg, struct client_response *response)
{
	_cleanup_free_ struct pods_list *list = arg;
	struct submitter_pods *pods = list->pods;
	char name[NAME_MAX_LEN + 1];
	cJSON *pod;

	cJSON_ArrayForEach(pod, json_get(response->object, "items")) {
		const char *cluster = submitter_cluster(pods->watches, pod, name);

		if (!cluster)
			continue;
		pod_shorten(pod, false);
		submitter_label(pod, cluster, &list->owner);
		failure_writer_see(pods->writer, pod, false);
	}
	if (response->err.code)
		log_warning_limited("cannot list the pods of a RayJob's submitter: %s",
				    err_text(&response->err));
	/*
	 * Pods that cannot be read stay so; otherwise a tenant could have all Jobs looked at for
	 * ever.
	 */
	pods->behind |=
		response->err.code &&
		!(response->status == 0 && IS_ONE_OF(response->err.code, EFBIG, E2BIG, EPROTO));
	turn_end(pods, list->namespace);
}

/* Returns false if nothing was asked. */
static bool submitter_pods_list(struct submitter_pods *pods, const char *namespace,
				const cJSON *job)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(2048);
	_cleanup_free_ struct pods_list *list = calloc(1, sizeof(*list));
	struct client_request request = { .method = "GET", .drop = free };

	if (!list || !owner_of_cluster(job, &list->owner) || list->owner.kind != OWNER_RAY_JOB)
		return false;
	list->pods = pods;
	list->namespace = namespace;
	resource_path(resource_find("v1", "Pod"), namespace, NULL, NULL, &path);
	/* Kubernetes before 1.27 has no batch.kubernetes.io/controller-uid; later ones set both. */
	strbuf_adds(&path, "?limit=" PODS_MAX "&labelSelector=controller-uid%3D");
	url_encode(json_str_or(job, "metadata.uid", ""), &path);
	request.path = strbuf_str(&path);
	if (client_start(pods->client, &request, on_submitter_pods, list, NULL, NULL) < 0) {
		pods->behind = true;
		return false;
	}
	TAKE_PTR(list);
	return true;
}

/*
 * --- All Jobs ----------------------------------------------------------------------------------
 */

static bool submitter_failed(const cJSON *job)
{
	return json_int(job, "status.failed", 0) > 0;
}

/* Services name the clusters. */
static bool submitter_pods_may_look(const struct submitter_pods *pods)
{
	return pods->may_write(pods->arg) &&
	       informer_synced(watches_informer(pods->watches, WATCH_SERVICES));
}

/* What is due waits while this replica may not look; the next tick goes on with it. */
static void submitter_pods_run(evutil_socket_t, short, void *arg)
{
	struct submitter_pods *pods = arg;
	int64_t now = now_boottime_ns(), wait;
	const char *namespace;

	if (!submitter_pods_may_look(pods))
		return;
	while (pods->turns.n_working < SUBMITTER_LISTS_MAX &&
	       (namespace = workqueue_get(&pods->turns, now))) {
		const cJSON *job = due_take(pods, namespace);

		if (!job || !submitter_pods_list(pods, namespace, job))
			turn_end(pods, namespace);
	}
	wait = workqueue_next_ns(&pods->turns) - now;
	if (pods->turns.n_working < SUBMITTER_LISTS_MAX && wait > 0)
		timer_after(pods->wake, wait);
}

static void submitter_pods_on_tick(evutil_socket_t, short, void *arg)
{
	struct submitter_pods *pods = arg;
	const struct store *jobs = watches_store(pods->watches, WATCH_JOBS);
	bool looks = submitter_pods_may_look(pods), behind = pods->behind;
	const char *key;
	void *entry;

	pods->behind = !looks;
	if (looks)
		strmap_each(&pods->waits, &key, &entry) {
			if (store_has(jobs, key))
				due_add(pods, key);
			else
				strmap_remove(&pods->waits, key);
		}
	if (looks && behind)
		strmap_each(&jobs->entries, &key, &entry)
			if (submitter_failed(store_entry_peek(jobs, entry)))
				due_add(pods, key);
	event_active(pods->wake, 0, 0);
}

void submitter_pods_see(struct submitter_pods *pods, const cJSON *job)
{
	_cleanup_free_ char *key = object_key(job);

	if (key && json_int(job, "status.active", 0) > json_int(job, "status.ready", 0))
		strmap_put(&pods->waits, key, pods, NULL);
	else if (key)
		strmap_remove(&pods->waits, key);
	if (key && submitter_failed(job) && submitter_pods_may_look(pods))
		due_add(pods, key);
	else if (submitter_failed(job))
		pods->behind = true;
}

int submitter_pods_start(struct submitter_pods *pods, struct event_base *base, struct err *err)
{
	workqueue_init(&pods->turns);
	pods->turns.pace_ns = PACE_NS;
	pods->turns.burst = BURST;
	pods->wake = evtimer_new(base, submitter_pods_run, pods);
	pods->tick = event_new(base, -1, EV_PERSIST, submitter_pods_on_tick, pods);
	if (!pods->wake || !pods->tick ||
	    event_add(pods->tick, &(struct timeval){ .tv_sec = TICK_S }) < 0)
		return err_set(err, ENOMEM, "submitters");
	return 0;
}

void submitter_pods_stop(struct submitter_pods *pods)
{
	event_drop(TAKE_PTR(pods->tick));
	event_drop(TAKE_PTR(pods->wake));
	strmap_release(&pods->due, due_free);
	strmap_release(&pods->waits, NULL);
	workqueue_release(&pods->turns);
}
