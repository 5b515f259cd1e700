/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the names and groups of a RayCluster. */
#include "operator/raycluster/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/digest/sha256.h"
#include "lib/json.h"
#include "lib/strbuf.h"

#define PREFIX_MAX 50
#define SUFFIX_LEN 5

/* Kubernetes uses these characters for generated names: without vowels they form no words. */
static const char suffix_alphabet[] = "bcdfghjklmnpqrstvwxz2456789";

const char *ray_node_name(enum ray_node node)
{
	return node == RAY_HEAD ? "head" : "worker";
}

const char *group_name(enum ray_node node, const cJSON *group)
{
	return node == RAY_HEAD ? HEAD_GROUP_NAME : json_str_or(group, "groupName", "");
}

void pod_name(const cJSON *cluster, enum ray_node node, const char *group, const char *seed,
	      unsigned n, char ret_name[static POD_NAME_MAX])
{
	const char *name = json_str(cluster, "metadata.name"),
		   *uid = json_str_or(cluster, "metadata.uid", "");
	char text[512], prefix[PREFIX_MAX + 1];
	unsigned char digest[SHA256_BYTES];

	/* The name is cut so that the rest fits into 63 characters. */
	snprintf(prefix, sizeof(prefix), node == RAY_HEAD ? "%s" : "%s-%s", name ? name : "",
		 group);
	snprintf(text, sizeof(text), "%.64s/%.64s/%s/%.64s/%u", uid, seed ? seed : "",
		 ray_node_name(node), group, n);
	sha256_bytes(text, strlen(text), digest);
	size_t len =
		(size_t)snprintf(ret_name, POD_NAME_MAX, "%s-%s-", prefix, ray_node_name(node));
	for (size_t i = 0; i < len; i++)
		ret_name[i] = (char)tolower((unsigned char)ret_name[i]);
	for (size_t i = 0; i < SUFFIX_LEN; i++)
		ret_name[len + i] = suffix_alphabet[digest[i] % (sizeof(suffix_alphabet) - 1)];
	ret_name[len + SUFFIX_LEN] = '\0';
}

const char *cut_name(const char *name, char buf[static CUT_NAME_MAX])
{
	size_t len = name ? strlen(name) : 0;

	snprintf(buf, CUT_NAME_MAX, "%s",
		 len < CUT_NAME_MAX ? (name ? name : "") : name + len - (CUT_NAME_MAX - 1));
	if (*buf && !isalpha((unsigned char)*buf))
		*buf = 'r';
	return buf;
}

char *head_service_name(const cJSON *cluster)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(512);
	const char *own = json_str(cluster, "spec.headGroupSpec.headService.metadata.name");

	if (own && *own)
		strbuf_adds(&sb, own);
	else
		strbuf_addf(&sb, "%s-head-svc", json_str(cluster, "metadata.name"));
	return strbuf_detach(&sb);
}

char *headless_service_name(const cJSON *cluster)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(512);

	strbuf_addf(&sb, "%s-headless", json_str(cluster, "metadata.name"));
	return strbuf_detach(&sb);
}

char *head_fqdn(const cJSON *cluster, const struct policy *policy)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1024);
	_cleanup_free_ char *service = head_service_name(cluster);

	if (!service)
		return NULL;
	strbuf_addf(&sb, "%s.%s.svc.%s", service, json_str(cluster, "metadata.namespace"),
		    policy->cluster_domain);
	return strbuf_detach(&sb);
}

const char *head_gcs_port(const cJSON *cluster)
{
	const char *port = json_str(cluster, "spec.headGroupSpec.rayStartParams.port");

	return port && *port ? port : HEAD_GCS_PORT;
}

cJSON *owner_references(const cJSON *cluster)
{
	cJSON *array = cJSON_CreateArray(), *ref = cJSON_CreateObject();

	json_set_str(ref, "apiVersion", "ray.io/v1");
	json_set_str(ref, "kind", "RayCluster");
	json_set_str(ref, "name", json_str(cluster, "metadata.name"));
	json_set_str(ref, "uid", json_str(cluster, "metadata.uid"));
	json_set(ref, "controller", cJSON_CreateTrue());
	json_set(ref, "blockOwnerDeletion", cJSON_CreateTrue());
	json_append(array, ref);
	return array;
}
