/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the basic form of a Kubernetes object, reads what each has, and computes a hash of text. */
#include "operator/kube/object.h"

#include "lib/digest/sha256.h"
#include "lib/json.h"

cJSON *object_new(const char *api_version, const char *kind, const char *ns, const char *name)
{
	cJSON *object = cJSON_CreateObject(), *metadata;

	json_set_str(object, "apiVersion", api_version);
	json_set_str(object, "kind", kind);
	metadata = json_object_at(object, "metadata");
	json_set_str(metadata, "namespace", ns);
	json_set_str(metadata, "name", name);
	return object;
}

const char *object_annotation(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.annotations"), name));
}

const char *object_label(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.labels"), name));
}

bool object_condition_is_true(const cJSON *object, const char *type)
{
	return json_is(json_find(json_get(object, "status.conditions"), "type", type), "status", "True");
}

void sha256_hex(const char *text, size_t len, size_t n, char *ret_hex)
{
	char whole[SHA256_TEXT_MAX];

	sha256_text(text, len, whole);
	snprintf(ret_hex, n + 1, "%s", whole);
}
