/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the kinds of objects that the operator uses. */
#include "operator/kube/resource.h"

#include <ctype.h>
#include <string.h>

#include "lib/json.h"

static const struct resource resources[] = {
	{ "v1", "Pod", "pods" },
	{ "v1", "Service", "services" },
	{ "v1", "Namespace", "namespaces" },
	{ "v1", "ConfigMap", "configmaps" },
	{ "v1", "Secret", "secrets" },
	{ "v1", "ServiceAccount", "serviceaccounts" },
	{ "v1", "PersistentVolumeClaim", "persistentvolumeclaims" },
	{ "v1", "LimitRange", "limitranges" },
	{ "batch/v1", "Job", "jobs" },
	{ "networking.k8s.io/v1", "Ingress", "ingresses" },
	{ "rbac.authorization.k8s.io/v1", "Role", "roles" },
	{ "rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings" },
	{ "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
	  "mutatingwebhookconfigurations" },
	{ "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions" },
	{ "coordination.k8s.io/v1", "Lease", "leases" },
	{ "events.k8s.io/v1", "Event", "events" },
	{ "ray.io/v1", "RayCluster", "rayclusters" },
	{ "ray.io/v1", "RayJob", "rayjobs" },
	{ "afterglow.dev/v1alpha1", "RayFailure", "rayfailures" },
	{ "afterglow.dev/v1alpha1", "RayPolicy", "raypolicies" },
	{ "afterglow.dev/v1alpha1", "ClusterRayPolicy", "clusterraypolicies" },
};

const struct resource *resource_find(const char *api_version, const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
		if (api_version && kind && strcmp(resources[i].kind, kind) == 0 &&
		    strcmp(resources[i].api_version, api_version) == 0)
			return &resources[i];
	return NULL;
}

bool resource_is_cluster_wide(const struct resource *resource)
{
	return TEXT_IS_ONE_OF(resource->kind, "Namespace", "ClusterRayPolicy",
			      "CustomResourceDefinition");
}

const struct resource *resource_of(const cJSON *object)
{
	return resource_find(json_str(object, "apiVersion"), json_str(object, "kind"));
}

void url_encode(const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			strbuf_addc(out, *text);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*text);
	}
}

void resource_path(const struct resource *resource, const char *namespace, const char *name,
		   const char *subresource, struct strbuf *out)
{
	strbuf_addf(out, "%s/%s", strchr(resource->api_version, '/') ? "/apis" : "/api",
		    resource->api_version);
	if (namespace && *namespace) {
		strbuf_adds(out, "/namespaces/");
		url_encode(namespace, out);
	}
	strbuf_addf(out, "/%s", resource->plural);
	if (name) {
		strbuf_addc(out, '/');
		url_encode(name, out);
	}
	if (subresource)
		strbuf_addf(out, "/%s", subresource);
}
