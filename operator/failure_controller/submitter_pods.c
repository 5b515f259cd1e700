/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the pods of RayJobs' submitters. */
#include "operator/failure_controller/submitter_pods.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/log.h"
#include "operator/failures/owner.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"

/* An image that cannot be pulled is in the pod's status after a quarter of a minute. */
#define TICK_S 20
/* KubeRay's Job makes three pods at most, unless its user wants more. */
#define PODS_MAX "20"
#define NAME_MAX_LEN 253

struct pods_list {
	struct submitter_pods *pods;
	struct owner owner;
};

/* --- A pod ------------------------------------------------------------------------------------- */

/*
 * Finds the cluster to which the pod submits: KubeRay gives it the address of the head's Service. A
 * Service that is gone had the name that KubeRay makes of the cluster's. Returns NULL if the
 * cluster is not known.
 */
static const char *submitter_cluster(const struct watches *watches, const cJSON *pod,
				     char name[static NAME_MAX_LEN + 1])
{
	const cJSON *env = container_env(ray_container(json_get(pod, "spec")), "RAY_DASHBOARD_ADDRESS");
	const char *namespace = json_str_or(pod, "metadata.namespace", ""), *address = json_str_or(env, "value", "");
	const cJSON *service;
	char *end;

	snprintf(name, NAME_MAX_LEN + 1, "%.*s", (int)strcspn(address, ".:"), address);
	service = watches_service(watches, namespace, name);
	if (service)
		return object_label(service, CLUSTER_LABEL);
	end = strstr(name, "-head-svc");
	if (end)
		*end = '\0';
	return end && end > name ? name : NULL;
}

/* Makes our copy of the pod like a Ray pod, so that it can be looked at like one. */
static void submitter_label(cJSON *pod, const char *cluster, const struct owner *owner)
{
	cJSON *metadata = json_get(pod, "metadata"), *labels = json_object_at(metadata, "labels");
	char text[OWNER_TEXT_MAX];

	json_set_str(labels, CLUSTER_LABEL, cluster);
	json_set_str(labels, "ray.io/node-type", POD_TYPE_SUBMITTER);
	json_set_str(json_object_at(metadata, "annotations"), OWNER_ANNOTATION, owner_format(owner, text));
}

/* --- The pods of a Job ------------------------------------------------------------------------- */

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
		submitter_label(pod, cluster, &list->owner);
		failure_writer_see(pods->writer, pod, false);
	}
	if (response->err.code)
		log_warning_limited("cannot list the pods of a RayJob's submitter: %s", err_text(&response->err));
	/* Pods that cannot be read stay so; otherwise a tenant could have all Jobs looked at for ever. */
	pods->behind |= response->err.code && !(response->status == 0 && IS_ONE_OF(response->err.code, EFBIG, E2BIG, EPROTO));
}

static void submitter_pods_list(struct submitter_pods *pods, const cJSON *job)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(2048);
	_cleanup_free_ struct pods_list *list = calloc(1, sizeof(*list));
	struct client_request request = { .method = "GET", .drop = free };

	if (!list || !owner_of_cluster(job, &list->owner) || list->owner.kind != OWNER_RAY_JOB)
		return;
	list->pods = pods;
	resource_path(resource_find("v1", "Pod"), json_str(job, "metadata.namespace"), NULL, NULL, &path);
	strbuf_adds(&path, "?limit=" PODS_MAX "&labelSelector=batch.kubernetes.io%2Fcontroller-uid%3D");
	url_encode(json_str_or(job, "metadata.uid", ""), &path);
	request.path = strbuf_str(&path);
	if (client_start(pods->client, &request, on_submitter_pods, list, NULL, NULL) == 0)
		TAKE_PTR(list);
	else
		pods->behind = true;
}

/* --- All Jobs ---------------------------------------------------------------------------------- */

static bool submitter_failed(const cJSON *job)
{
	return json_int(job, "status.failed", 0) > 0;
}

static bool submitter_waits(const cJSON *job)
{
	return json_int(job, "status.active", 0) > json_int(job, "status.ready", 0);
}

/* Services name the clusters. */
static bool submitter_pods_may_look(const struct submitter_pods *pods)
{
	return pods->may_write(pods->arg) && informer_synced(watches_informer(pods->watches, WATCH_SERVICES));
}

static void submitter_pods_on_tick(evutil_socket_t, short, void *arg)
{
	struct submitter_pods *pods = arg;
	const struct store *jobs = watches_store(pods->watches, WATCH_JOBS);
	bool looks = submitter_pods_may_look(pods), behind = pods->behind;
	void *entry;

	pods->behind = !looks;
	strmap_each(&jobs->entries, NULL, &entry) {
		const cJSON *job = looks ? store_entry_peek(jobs, entry) : NULL;

		if (submitter_waits(job) || (behind && submitter_failed(job)))
			submitter_pods_list(pods, job);
	}
}

void submitter_pods_see(struct submitter_pods *pods, const cJSON *job)
{
	if (submitter_failed(job) && submitter_pods_may_look(pods))
		submitter_pods_list(pods, job);
	else if (submitter_failed(job))
		pods->behind = true;
}

int submitter_pods_start(struct submitter_pods *pods, struct event_base *base, struct err *err)
{
	pods->tick = event_new(base, -1, EV_PERSIST, submitter_pods_on_tick, pods);
	if (!pods->tick || event_add(pods->tick, &(struct timeval){ .tv_sec = TICK_S }) < 0)
		return err_set(err, ENOMEM, "submitters");
	return 0;
}

void submitter_pods_stop(struct submitter_pods *pods)
{
	if (pods->tick)
		event_free(TAKE_PTR(pods->tick));
}
