/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the basic form of a Kubernetes object, reads what each has, and computes a hash of text. */
#include "operator/kube/object.h"

#include <stdio.h>
#include <string.h>

#include "lib/digest/sha256.h"
#include "lib/json.h"
#include "lib/units.h"
#include "lib/utf8.h"

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
	return json_member(json_get(object, "metadata.annotations"), name);
}

const char *object_label(const cJSON *object, const char *name)
{
	return json_member(json_get(object, "metadata.labels"), name);
}

const cJSON *object_controller(const cJSON *object)
{
	json_each(owner, json_get(object, "metadata.ownerReferences"))
		if (json_bool(owner, "controller", false))
			return owner;
	return NULL;
}

bool object_condition_is_true(const cJSON *object, const char *type)
{
	return json_is(json_find(json_get(object, "status.conditions"), "type", type), "status",
		       "True");
}

const char *object_seconds(int64_t ns, char buf[static OBJECT_SECONDS_MAX])
{
	char text[TIME_TEXT_MAX];

	time_format(ns, text);
	snprintf(buf, OBJECT_SECONDS_MAX, "%.*sZ", (int)strcspn(text, ".Z"), text);
	return buf;
}

cJSON *object_condition_new(const cJSON *old_status, const char *type, bool status,
			    const char *reason, const char *message, int64_t generation,
			    int64_t now_ns)
{
	const cJSON *was = json_find(json_get(old_status, "conditions"), "type", type);
	const char *text = status ? "True" : "False";
	const char *since =
		json_is(was, "status", text) ? json_str(was, "lastTransitionTime") : NULL;
	cJSON *condition = cJSON_CreateObject();
	char now[OBJECT_SECONDS_MAX];

	json_set_str(condition, "type", type);
	json_set_str(condition, "status", text);
	json_set_str(condition, "reason", reason);
	json_set_str(condition, "message", message);
	if (json_str(condition, "message"))
		utf8_mend(json_get(condition, "message")->valuestring);
	json_set_str(condition, "lastTransitionTime", since ? since : object_seconds(now_ns, now));
	json_set_int(condition, "observedGeneration", generation);
	return condition;
}

void sha256_hex(const char *text, size_t len, size_t n, char *ret_hex)
{
	char whole[SHA256_TEXT_MAX];

	sha256_text(text, len, whole);
	snprintf(ret_hex, n + 1, "%s", whole);
}
