/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a Ray pod from its group's template. */
#include "operator/raycluster/pod_template.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/strmap.h"
#include "operator/injection/recording.h"
#include "operator/podspec/pod_spec.h"
#include "operator/podspec/quantity.h"
#include "operator/raycluster/auth.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/memory.h"
#include "operator/raycluster/pod_labels.h"
#include "operator/raycluster/probes.h"
#include "operator/raycluster/service.h"
#include "operator/raycluster/start_params.h"
#include "operator/raycluster/upgrade.h"

#define ARGS_MAX 131072 /* MAX_ARG_STRLEN of Linux: one argument may not be longer */

/* names: the labels that are there. To look for each of a thousand would take too long. */
static void set_own_labels(cJSON *labels, struct strmap *names, const cJSON *own)
{
	json_each(label, own) {
		cJSON *item = strmap_get(names, label->string);

		if (!cJSON_IsString(label) || pod_label_is_ours(label->string))
			continue;
		if (item) {
			if (!cJSON_SetValuestring(item, label->valuestring))
				oom_note();
			continue;
		}
		item = cJSON_AddStringToObject(labels, label->string, label->valuestring);
		if (!item || strmap_put(names, label->string, item, NULL) < 0)
			oom_note();
	}
}

static void add_own_labels(cJSON *labels, const cJSON *group)
{
	struct strmap names = STRMAP_INIT;
	cJSON *label;

	cJSON_ArrayForEach(label, labels)
		if (strmap_put(&names, label->string, label, NULL) < 0)
			oom_note();
	set_own_labels(labels, &names, json_get(group, "template.metadata.labels"));
	set_own_labels(labels, &names, json_get(group, "labels"));
	strmap_release(&names, NULL);
}

/*
 * Adds the group's labels, those of Ray and those of the pod. They have precedence over the
 * template's.
 */
static void pod_template_add_labels(const struct pod_request *req, cJSON *metadata)
{
	const char *cluster = json_str(req->cluster, "metadata.name"),
		   *node = ray_node_name(req->node);
	cJSON *labels = json_object_at(metadata, "labels");
	char identifier[64];

	snprintf(identifier, sizeof(identifier), "%s-%s", cluster, node);
	json_set_str(labels, "ray.io/is-ray-node", "yes");
	json_set_str(labels, "ray.io/cluster", cluster);
	json_set_str(labels, "ray.io/node-type", node);
	json_set_str(labels, "ray.io/group", group_name(req->node, req->group));
	json_set_str(labels, "ray.io/identifier", identifier);
	json_set_str(labels, "app.kubernetes.io/name", "kuberay");
	json_set_str(labels, "app.kubernetes.io/created-by", "kuberay-operator");
	add_own_labels(labels, req->group);
}

static bool keeps_command(const struct pod_request *req)
{
	return keeps_own_command(json_get(req->cluster, "metadata.annotations")) ||
	       keeps_own_command(json_get(req->group, "template.metadata.annotations"));
}

static void add_annotations(const struct pod_request *req, cJSON *metadata)
{
	const cJSON *own = json_get(req->group, "template.metadata.annotations");
	char hash[UPGRADE_HASH_MAX];

	if (cJSON_IsObject(own))
		json_set(metadata, "annotations", cJSON_Duplicate(own, true));
	if (!req->hash)
		upgrade_hash(req->cluster, hash);
	upgrade_annotate(json_object_at(metadata, "annotations"), req->hash ? req->hash : hash);
	/* The template must not claim other policies than those that apply. */
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(metadata, "annotations"),
						POLICY_ANNOTATION);
	if (req->policy_origin)
		json_set_str(json_object_at(metadata, "annotations"), POLICY_ANNOTATION,
			     req->policy_origin);
	pod_annotate_ray_container(
		json_get(metadata, "annotations"),
		json_str(ray_container(json_get(req->group, "template.spec")), "name"));
	if (keeps_own_command(json_get(req->cluster, "metadata.annotations")))
		json_set_str(json_object_at(metadata, "annotations"), OVERWRITE_ANNOTATION, "true");
}

static cJSON *metadata_new(const struct pod_request *req)
{
	cJSON *metadata = cJSON_CreateObject();

	json_set_str(metadata, "namespace", json_str(req->cluster, "metadata.namespace"));
	pod_template_add_labels(req, metadata);
	add_annotations(req, metadata);
	json_set(metadata, "ownerReferences", owner_references(req->cluster));
	return metadata;
}

static void add_joined(struct strbuf *sb, const cJSON *words)
{
	json_each(word, words)
		if (cJSON_IsString(word))
			strbuf_addf(sb, " %s ", word->valuestring);
}

/* Runs the user's command first, then ours. A command that starts Ray itself is not changed. */
static int pod_template_set_command(const struct pod_request *req, cJSON *container,
				    const char *start, struct err *err)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(ARGS_MAX);

	if (keeps_command(req))
		return 0;
	add_joined(&sb, json_get(container, "command"));
	add_joined(&sb, json_get(container, "args"));
	if (strstr(strbuf_str(&sb), "ray start"))
		return 0;
	strbuf_addf(&sb, "%s" RAY_ULIMIT_COMMAND "%s", sb.len ? " && " : "", start);
	if (strbuf_failed(&sb))
		return err_set(err, E2BIG, "the command of group %s",
			       group_name(req->node, req->group));
	container_set_shell(container, req->policy->login_shell);
	cJSON *args = cJSON_CreateArray();
	json_append_str(args, strbuf_str(&sb));
	json_set(container, "args", args);
	return 0;
}

static void add_address_env(cJSON *container, const char *fqdn)
{
	char service[256];

	snprintf(service, sizeof(service), "%.*s", (int)strcspn(fqdn, "."), fqdn);
	container_env_default(container, "FQ_RAY_IP", fqdn);
	container_env_default(container, "RAY_IP", service);
}

static void add_env(const struct pod_request *req, cJSON *container, const char *fqdn,
		    const char *start)
{
	const char *port = head_gcs_port(req->cluster);
	char address[512];

	if (req->node == RAY_WORKER)
		add_address_env(container, fqdn);
	container_env_field_default(container, "RAY_CLUSTER_NAME",
				    "metadata.labels['ray.io/cluster']");
	container_env_field_default(container, "RAY_CLUSTER_NAMESPACE", "metadata.namespace");
	container_env_field_default(container, "RAY_CLOUD_INSTANCE_ID", "metadata.name");
	container_env_field_default(container, "RAY_NODE_TYPE_NAME",
				    "metadata.labels['ray.io/group']");
	container_env_default(container, RAY_START_VARIABLE, start);
	container_env_default(container, "RAY_PORT", port);
	snprintf(address, sizeof(address), "%s:%s", req->node == RAY_HEAD ? "127.0.0.1" : fqdn,
		 port);
	container_env_default(container, "RAY_ADDRESS", address);
	container_env_default(container, "RAY_USAGE_STATS_KUBERAY_IN_USE", "1");
	if (req->node == RAY_HEAD)
		container_env_default(container, "RAY_USAGE_STATS_EXTRA_TAGS",
				      "kuberay_crd=RayCluster");
	container_env_default(container, "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1");
}

/* Prometheus finds Ray's metrics by the port's name. */
static void add_metrics_port(cJSON *container, const cJSON *params)
{
	cJSON *ports = json_array_at(container, "ports"), *port;

	if (json_find(ports, "name", "metrics"))
		return;
	port = json_named_new("metrics");
	json_set_int(port, "containerPort", metrics_port(params));
	json_append(ports, port);
}

static void add_shm(cJSON *pod_spec, cJSON *container, const cJSON *params, int64_t size)
{
	const cJSON *request = json_get(container, "resources.requests.memory");
	char text[QUANTITY_TEXT_MAX];

	if (json_member(params, "plasma-directory") ||
	    json_find(json_get(container, "volumeMounts"), "mountPath", "/dev/shm"))
		return;
	cJSON *volume = json_named_new("shared-mem"),
	      *empty_dir = json_object_at(volume, "emptyDir");
	json_set_str(empty_dir, "medium", "Memory");
	if (size)
		json_set_str(empty_dir, "sizeLimit", quantity_format_bytes(size, text));
	else if (request) /* there is no limit to take it from */
		json_set(empty_dir, "sizeLimit", cJSON_Duplicate(request, true));
	pod_volume_default(pod_spec, volume);
	container_mount_default(container, "shared-mem", "/dev/shm", false);
}

static bool is_head_only(const struct pod_request *req)
{
	return cJSON_GetArraySize(json_get(req->cluster, "spec.workerGroupSpecs")) == 0;
}

/*
 * Variables that only envFrom brings are not seen here: budgets are what a cluster of ours has by
 * default.
 */
static struct memory_request memory_request_of(const struct pod_request *req,
					       const cJSON *container)
{
	struct own_sizing own = own_sizing_of(container, json_get(req->group, "rayStartParams"),
					      keeps_command(req));
	_cleanup_(resized_groups_release) struct resized_groups computed = { 0 };
	const char *group = group_name(req->node, req->group);

	if (!req->resized)
		computed = resized_groups_of(json_get(req->cluster, "metadata.annotations"));
	bool is_resized = resized_groups_have(req->resized ? req->resized : &computed, group);

	return (struct memory_request){ .node = req->node,
					.group = group,
					.policy = req->policy,
					.keeps_cpus = is_head_only(req) || own.cpus || is_resized,
					.keeps_memory = own.memory || is_resized };
}

static void pod_template_add_sidecar(const struct pod_request *req, cJSON *pod_spec, cJSON *notes)
{
	const struct recording_request recording = {
		.namespace = json_str(req->cluster, "metadata.namespace"),
		.cluster = json_str(req->cluster, "metadata.name"),
		.group = group_name(req->node, req->group),
		.cluster_annotations = json_get(req->cluster, "metadata.annotations"),
		.pod_annotations = json_get(req->group, "template.metadata.annotations"),
		.wait_port = req->node == RAY_WORKER ? head_gcs_port(req->cluster) : NULL,
		.policy = req->policy,
		.store_claim_trouble = req->store_claim_trouble,
		.kernel_log_refused = req->kernel_log_refused,
		.launchers = req->launchers,
	};

	recording_apply(pod_spec, &recording, notes);
}

static void add_init_env(cJSON *pod_spec, const char *fqdn)
{
	cJSON *container;

	cJSON_ArrayForEach(container, json_get(pod_spec, "initContainers"))
		add_address_env(container, fqdn);
}

static int build_spec(const struct pod_request *req, cJSON *pod, cJSON *notes, struct err *err)
{
	_cleanup_strbuf_ struct strbuf address = STRBUF_INIT(1024);
	_cleanup_free_ char *fqdn = head_fqdn(req->cluster, req->policy), *start = NULL;
	cJSON *pod_spec = json_get(pod, "spec"), *container = ray_container(pod_spec);
	_cleanup_json_ cJSON *params = NULL;
	int r = start_params_from_group(req->group, &params, err);

	if (r < 0)
		return r;
	if (!fqdn)
		return err_set(err, ENOMEM, "pod");
	strbuf_addf(&address, "%s:%s", fqdn, head_gcs_port(req->cluster));
	struct memory_request memory = memory_request_of(req, container);
	int64_t shm = memory_apply_by_mode(pod_spec, params, &memory, notes);
	autoscaler_apply(req->cluster, req->node, req->policy, pod_spec, params);
	gcs_ft_apply(req->cluster, req->node, pod, params);
	auth_apply(req->cluster, pod_spec);
	start_params_add_defaults(params, req->node, json_get(container, "resources"),
				  strbuf_str(&address));
	start = start_params_command(params, req->node);
	if (!start)
		return err_set(err, E2BIG, "the rayStartParams of group %s",
			       group_name(req->node, req->group));
	r = pod_template_set_command(req, container, start, err);
	if (r < 0)
		return r;
	add_env(req, container, fqdn, start);
	add_init_env(pod_spec, fqdn);
	add_metrics_port(container, params);
	probes_add(container, params, req->node, json_str(req->cluster, "spec.rayVersion"));
	add_shm(pod_spec, container, params, shm);
	pod_template_add_sidecar(req, pod_spec, notes);
	return 0;
}

int pod_build(const struct pod_request *req, cJSON **ret_pod, cJSON *notes, struct err *err)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *pod = cJSON_CreateObject();

	json_set_str(pod, "apiVersion", "v1");
	json_set_str(pod, "kind", "Pod");
	json_set(pod, "metadata", metadata_new(req));
	json_set(pod, "spec", cJSON_Duplicate(json_get(req->group, "template.spec"), true));
	if (!ray_container(json_get(pod, "spec")))
		return err_set(err, ENOMEM, "pod");
	int r = build_spec(req, pod, notes, err);
	if (r < 0)
		return r;
	if (oom_count() != lost)
		return err_set(err, ENOMEM, "pod");
	*ret_pod = TAKE_PTR(pod);
	return 0;
}
