/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the head service. */
#include "operator/raycluster/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"
#include "lib/strmap.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/start_params.h"

#define DEFAULT_METRICS_PORT 8080
/* Members of an existing object. Ours have at most twice BOUND_MEMBERS, and a few. */
#define COMPARED_MAX (4 * BOUND_MEMBERS)

static const struct {
	const char *name;
	int port;
} default_ports[] = {
	{ "client", 10001 },   { "gcs-server", 6379 },
	{ "dashboard", 8265 }, { "metrics", 0 /* metrics_port */ },
	{ "serve", 8000 },
};

/* names: those of the ports. To look each of a thousand up in the list would take too long. */
static void add_port(cJSON *ports, struct strmap *names, const char *name, int64_t number)
{
	if (strmap_get(names, name))
		return;
	cJSON *port = json_named_new(name);
	json_set_int(port, "port", number);
	json_set_int(port, "targetPort", number);
	json_set_str(port, "protocol", "TCP");
	json_set_str(port, "appProtocol", "tcp");
	json_append(ports, port);
	if (strmap_put(names, name, ports, NULL) < 0)
		oom_note();
}

int64_t metrics_port(const cJSON *start_params)
{
	return start_param_port(start_params, "metrics-export-port", DEFAULT_METRICS_PORT);
}

static void add_container_port(cJSON *ports, struct strmap *names, const cJSON *port)
{
	const char *own = json_str(port, "name");
	int64_t number = json_int(port, "containerPort", 0);
	char name[32];

	snprintf(name, sizeof(name), "%" PRId64 "-port", number);
	add_port(ports, names, own ? own : name, number);
}

/* Adds the head's own ports, or the usual ones if it has none, and always the port of metrics. */
static void add_ports(cJSON *ports, const cJSON *cluster)
{
	const cJSON *head = json_get(cluster, "spec.headGroupSpec"), *own;
	struct strmap names = STRMAP_INIT;

	json_each(port, ports)
		if (strmap_put(&names, json_str_or(port, "name", ""), ports, NULL) < 0)
			oom_note();
	own = json_get(ray_container(json_get(head, "template.spec")), "ports");
	json_each(port, own)
		add_container_port(ports, &names, port);
	for (size_t i = 0; i < ARRAY_SIZE(default_ports); i++)
		if (!default_ports[i].port)
			add_port(ports, &names, default_ports[i].name,
				 metrics_port(json_get(head, "rayStartParams")));
		else if (!cJSON_GetArraySize(own))
			add_port(ports, &names, default_ports[i].name, default_ports[i].port);
	strmap_release(&names, NULL);
}

/* The group's labels have precedence over the template's, as in the pod. */
static const char *head_label(const cJSON *cluster, const char *name, const char *fallback)
{
	static const char *const paths[] = { "labels", "template.metadata.labels" };
	const cJSON *head = json_get(cluster, "spec.headGroupSpec");

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *own = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(json_get(head, paths[i]), name));

		if (own)
			return own;
	}
	return fallback;
}

/*
 * Adds the labels of the service's selector. If the user has set other values for them on the head
 * pod, those are used.
 */
static void service_add_labels(cJSON *labels, const cJSON *cluster)
{
	const char *name = json_str(cluster, "metadata.name");
	char identifier[64];

	snprintf(identifier, sizeof(identifier), "%s-head", name);
	json_set_str(labels, "ray.io/cluster", name);
	json_set_str(labels, "ray.io/node-type", "head");
	json_set_str(labels, "ray.io/identifier",
		     head_label(cluster, "ray.io/identifier", identifier));
	json_set_str(labels, "app.kubernetes.io/name",
		     head_label(cluster, "app.kubernetes.io/name", "kuberay"));
	json_set_str(labels, "app.kubernetes.io/created-by",
		     head_label(cluster, "app.kubernetes.io/created-by", "kuberay-operator"));
}

static void merge_strings(cJSON *into, const cJSON *from)
{
	json_each(item, from)
		if (cJSON_IsString(item))
			json_set_str(into, item->string, item->valuestring);
}

static void add_type(cJSON *spec, const cJSON *cluster)
{
	const char *type = json_str(cluster, "spec.headGroupSpec.serviceType");

	type = type && *type ? type : "ClusterIP";
	if (json_get(spec, "type"))
		type = json_str(spec, "type");
	else
		json_set_str(spec, "type", type);
	/* A user's own service may have ports with other targets, which needs an IP address. */
	if (!json_get(cluster, "spec.headGroupSpec.headService") && type &&
	    strcmp(type, "ClusterIP") == 0)
		json_set_str(spec, "clusterIP", "None");
	/*
	 * The service includes a head that is not ready: workers must reach its GCS before its
	 * dashboard makes it ready.
	 */
	if (!json_get(spec, "publishNotReadyAddresses"))
		json_set(spec, "publishNotReadyAddresses", cJSON_CreateTrue());
}

cJSON *service_build(const cJSON *cluster)
{
	const cJSON *own = json_get(cluster, "spec.headGroupSpec.headService"),
		    *own_spec = json_get(own, "spec");
	_cleanup_free_ char *name = head_service_name(cluster);

	if (!name)
		return NULL;
	cJSON *service = object_new("v1", "Service", json_str(cluster, "metadata.namespace"), name);
	cJSON *metadata = json_get(service, "metadata");
	merge_strings(json_object_at(metadata, "labels"), json_get(own, "metadata.labels"));
	service_add_labels(json_get(metadata, "labels"), cluster);
	cJSON *annotations = json_object_at(metadata, "annotations");
	merge_strings(annotations, json_get(own, "metadata.annotations"));
	merge_strings(annotations, json_get(cluster, "spec.headServiceAnnotations"));
	if (annotations && !annotations->child)
		cJSON_DeleteItemFromObjectCaseSensitive(metadata, "annotations");
	json_set(metadata, "ownerReferences", owner_references(cluster));
	json_set(service, "spec",
		 cJSON_IsObject(own_spec) ? cJSON_Duplicate(own_spec, true) : cJSON_CreateObject());
	cJSON *spec = json_get(service, "spec");
	json_set(spec, "selector", cJSON_CreateObject());
	service_add_labels(json_get(spec, "selector"), cluster);
	add_ports(json_array_at(spec, "ports"), cluster);
	add_type(spec, cluster);
	return service;
}

cJSON *headless_service_build(const cJSON *cluster)
{
	const char *name = json_str(cluster, "metadata.name");
	_cleanup_free_ char *own_name = headless_service_name(cluster);

	cJSON *service =
		object_new("v1", "Service", json_str(cluster, "metadata.namespace"), own_name);
	cJSON *labels = json_object_at(json_get(service, "metadata"), "labels");
	json_set_str(labels, "ray.io/headless-worker-svc", name);
	json_set_str(labels, "ray.io/cluster", name);
	json_set(json_get(service, "metadata"), "ownerReferences", owner_references(cluster));
	cJSON *spec = json_object_at(service, "spec");
	json_set_str(spec, "type", "ClusterIP");
	json_set_str(spec, "clusterIP", "None");
	json_set(spec, "publishNotReadyAddresses", cJSON_CreateTrue());
	cJSON *selector = json_object_at(spec, "selector");
	json_set_str(selector, "ray.io/cluster", name);
	json_set_str(selector, "ray.io/node-type", "worker");
	return service;
}

bool headless_service_wanted(const cJSON *cluster)
{
	json_each(group, json_get(cluster, "spec.workerGroupSpecs"))
		if (json_int(group, "numOfHosts", 1) > 1)
			return true;
	return false;
}

cJSON *service_foreign(const cJSON *cluster, const char *name)
{
	return object_new("v1", "Service", json_str(cluster, "metadata.namespace"), name);
}

static void copy_serving_ports(cJSON *ports, const cJSON *cluster)
{
	_cleanup_json_ cJSON *all = cJSON_CreateArray();

	add_ports(all, cluster);
	json_each(port, all) {
		const char *name = json_str(port, "name");

		if (!name || (strcmp(name, "serve") != 0 && strncmp(name, "serve-", 6) != 0))
			continue;
		cJSON *copy = json_named_new(name);
		json_set_int(copy, "port", json_int(port, "port", 0));
		json_append(ports, copy);
	}
}

cJSON *serve_service_build(const cJSON *cluster)
{
	const char *name = json_str(cluster, "metadata.name"),
		   *type = json_str(cluster, "spec.headGroupSpec.serviceType");
	const char *wanted = object_annotation(cluster, "ray.io/enable-serve-service");
	_cleanup_json_ cJSON *ports = cJSON_CreateArray();
	char own_name[300];

	if (!wanted || strcmp(wanted, "true") != 0)
		return NULL;
	copy_serving_ports(ports, cluster);
	if (!ports || !ports->child)
		return NULL;
	snprintf(own_name, sizeof(own_name), "%s-serve-svc", name);
	cJSON *service =
		object_new("v1", "Service", json_str(cluster, "metadata.namespace"), own_name);
	cJSON *labels = json_object_at(json_get(service, "metadata"), "labels");
	json_set_str(labels, "ray.io/originated-from-cr-name", name);
	json_set_str(labels, "ray.io/originated-from-crd", "RayCluster");
	snprintf(own_name, sizeof(own_name), "%s-serve", name);
	json_set_str(labels, "ray.io/serve", own_name);
	json_set(json_get(service, "metadata"), "ownerReferences", owner_references(cluster));
	cJSON *spec = json_object_at(service, "spec");
	json_set_str(spec, "type", type && *type ? type : "ClusterIP");
	json_set_str(json_object_at(spec, "selector"), "ray.io/cluster", name);
	json_set(spec, "ports", TAKE_PTR(ports));
	return service;
}

bool object_covers(const cJSON *have, const cJSON *want)
{
	if (cJSON_IsObject(want)) {
		/* To look each member up would take seconds if others added tens of thousands. */
		if (cJSON_GetArraySize(have) > COMPARED_MAX)
			return false;
		json_each(item, want)
			if (!object_covers(cJSON_GetObjectItemCaseSensitive(have, item->string),
					   item))
				return false;
		return cJSON_IsObject(have);
	}
	if (!cJSON_IsArray(want))
		return have && cJSON_Compare(have, want, true);
	if (!cJSON_IsArray(have) || cJSON_GetArraySize(have) != cJSON_GetArraySize(want))
		return false;
	const cJSON *other = have->child;
	json_each(item, want) {
		if (!object_covers(other, item))
			return false;
		other = other->next;
	}
	return true;
}
