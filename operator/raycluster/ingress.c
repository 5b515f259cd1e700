/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the Ingress to the head's dashboard. */
#include "operator/raycluster/ingress.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/names.h"

#define HEAD "spec.headGroupSpec"
#define CLASS "kubernetes.io/ingress.class"
#define DASHBOARD_PORT 8265
#define NAME_MAX_BYTES 300

/*
 * The cluster's own annotations configure the ingress controller, except the one that kubectl
 * writes for itself.
 */
static void add_metadata(const cJSON *cluster, cJSON *metadata)
{
	const char *name = json_str(cluster, "metadata.name");
	cJSON *labels = json_object_at(metadata, "labels");
	char identifier[NAME_MAX_BYTES];

	snprintf(identifier, sizeof(identifier), "%s-head", name);
	json_set_str(labels, "ray.io/cluster", name);
	json_set_str(labels, "ray.io/identifier", identifier);
	json_set_str(labels, "app.kubernetes.io/name", "kuberay");
	json_set_str(labels, "app.kubernetes.io/created-by", "kuberay-operator");
	json_each(item, json_get(cluster, "metadata.annotations"))
		if (cJSON_IsString(item) && strcmp(item->string, CLASS) != 0 &&
		    strncmp(item->string, "kubectl.", 8) != 0)
			json_set_str(json_object_at(metadata, "annotations"), item->string,
				     item->valuestring);
	json_set(metadata, "ownerReferences", owner_references(cluster));
}

static int64_t dashboard_port(const cJSON *cluster)
{
	const cJSON *head = json_get(cluster, HEAD),
		    *ray = ray_container(json_get(head, "template.spec"));
	int64_t of_container = json_int(json_find(json_get(ray, "ports"), "name", "dashboard"),
					"containerPort", DASHBOARD_PORT);

	return json_int(json_find(json_get(head, "headService.spec.ports"), "name", "dashboard"),
			"port", of_container);
}

static void add_path(const cJSON *cluster, const cJSON *options, cJSON *rule)
{
	const char *path = json_str_or(options, "path", "/"),
		   *type = json_str_or(options, "pathType", "Prefix");
	_cleanup_free_ char *service_name = head_service_name(cluster);
	cJSON *entry = cJSON_CreateObject(), *service;

	json_set_str(entry, "path", path);
	json_set_str(entry, "pathType", type);
	service = json_object_at(json_object_at(entry, "backend"), "service");
	json_set_str(service, "name", service_name);
	json_set_int(json_object_at(service, "port"), "number", dashboard_port(cluster));
	json_append(json_array_at(json_object_at(rule, "http"), "paths"), entry);
}

cJSON *ingress_build(const cJSON *cluster)
{
	const cJSON *options = json_get(cluster, HEAD ".ingressOptions"),
		    *tls = json_get(options, "tls");
	const char *class = object_annotation(cluster, CLASS);
	char name[NAME_MAX_BYTES], cut[CUT_NAME_MAX];

	if (!json_bool(cluster, HEAD ".enableIngress", false))
		return NULL;
	options = cJSON_IsObject(options) ? options : NULL;
	snprintf(name, sizeof(name), "%s-head-ingress", json_str(cluster, "metadata.name"));
	cJSON *ingress = object_new("networking.k8s.io/v1", "Ingress",
				    json_str(cluster, "metadata.namespace"), cut_name(name, cut));
	add_metadata(cluster, json_get(ingress, "metadata"));
	cJSON *spec = json_object_at(ingress, "spec");
	if (class)
		json_set_str(spec, "ingressClassName", class);
	cJSON *rule = cJSON_CreateObject();
	if (json_str(options, "host"))
		json_set_str(rule, "host", json_str(options, "host"));
	add_path(cluster, options, rule);
	json_append(json_array_at(spec, "rules"), rule);
	if (cJSON_IsArray(tls) && tls->child)
		json_set(spec, "tls", cJSON_Duplicate(tls, true));
	return ingress;
}
