/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a RayFailure so that it fits a CRD that is older than the operator. */
#include "operator/failures/older_crd.h"

#include <stdio.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/macros.h"

#define VERDICT_MAX 1024 /* as in the CRD */
#define NAME_MAX_LEN 64

/*
 * Copies the member of spec: "evidence" for "spec.evidence[0].source". Returns false if the path is
 * outside spec.
 */
static bool member_of(const char *field, char ret_name[static NAME_MAX_LEN])
{
	if (!field || strncmp(field, "spec.", 5) != 0)
		return false;
	field += 5;
	size_t len = strcspn(field, ".[");
	if (len == 0 || len >= NAME_MAX_LEN)
		return false;
	snprintf(ret_name, NAME_MAX_LEN, "%.*s", (int)len, field);
	return true;
}

static bool reduce_class(cJSON *spec)
{
	const char *class = json_str(spec, "class"), *verdict = json_str(spec, "verdict"),
		   *unknown = failure_class_name(FAILURE_UNKNOWN);
	char text[VERDICT_MAX];

	if (!class || strcmp(class, unknown) == 0)
		return false;
	snprintf(text, sizeof(text), "[%.60s] %s", class, verdict ? verdict : "");
	json_set_str(spec, "verdict", text);
	json_set_str(spec, "class", unknown);
	return true;
}

static bool reduce_member(cJSON *spec, const char *name)
{
	const char *confidence = json_str(spec, "confidence"),
		   *unknown = confidence_name(CONFIDENCE_UNKNOWN);

	if (strcmp(name, "class") == 0)
		return reduce_class(spec);
	if (strcmp(name, "confidence") == 0 && confidence && strcmp(confidence, unknown) != 0) {
		json_set_str(spec, "confidence", unknown);
		return true;
	}
	/* A RayFailure needs these members. */
	if (TEXT_IS_ONE_OF(name, "confidence", "pod", "container", "verdict") ||
	    !json_get(spec, name))
		return false;
	cJSON_DeleteItemFromObjectCaseSensitive(spec, name);
	return true;
}

bool older_crd_reduce(cJSON *failure, const cJSON *status, char ret_what[static OLDER_CRD_TEXT_MAX])
{
	cJSON *spec = json_get(failure, "spec");
	char name[NAME_MAX_LEN];
	size_t len = 0;

	ret_what[0] = '\0';
	json_each(cause, json_get(status, "details.causes")) {
		if (!member_of(json_str(cause, "field"), name) || !reduce_member(spec, name))
			continue;
		len += (size_t)snprintf(ret_what + len, OLDER_CRD_TEXT_MAX - len, "%s%s",
					len ? ", " : "", name);
		len = MIN(len, (size_t)OLDER_CRD_TEXT_MAX - 1);
	}
	return len > 0;
}
