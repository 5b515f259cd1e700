/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and answers an AdmissionReview (admission.k8s.io/v1). */
#include "operator/webhook/admission_review.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/printable.h"
#include "operator/webhook/json_patch.h"

#define UID_MAX 128

static bool is_review(const cJSON *review)
{
	return json_is(review, "kind", "AdmissionReview") &&
	       json_is(review, "apiVersion", "admission.k8s.io/v1");
}

int admission_request_read(const cJSON *review, struct admission_request *ret_request,
			   struct err *err)
{
	const cJSON *request = json_get(review, "request");
	const char *operation = json_str_or(request, "operation", "");
	struct admission_request r = {
		.uid = json_str_or(request, "uid", ""),
		.kind = json_str_or(request, "kind.kind", ""),
		.namespace = json_str_or(request, "namespace", ""),
		.name = json_str_or(request, "name", ""),
		.user = json_str_or(request, "userInfo.username", ""),
		.update = strcmp(operation, "UPDATE") == 0,
		.dry_run = json_bool(request, "dryRun", false),
		.object = json_get(request, "object"),
		.old_object = json_get(request, "oldObject"),
	};

	if (!is_review(review))
		return err_set(err, EPROTO,
			       "this is not an AdmissionReview of admission.k8s.io/v1");
	if (!*r.uid || strlen(r.uid) > UID_MAX)
		return err_set(err, EPROTO, "request.uid must be a string of 1 to %d bytes",
			       UID_MAX);
	if (!r.update && strcmp(operation, "CREATE") != 0)
		return err_set(err, EPROTO, "request.operation must be CREATE or UPDATE, not %.20s",
			       operation);
	if (!cJSON_IsObject(r.object))
		return err_set(err, EPROTO, "request.object must be an object");
	if (!r.update || !cJSON_IsObject(r.old_object))
		r.old_object = NULL;
	*ret_request = r;
	return 0;
}

/* Returns NULL if there is no change, or no memory. The caller frees the result. */
static char *patch_base64(const struct admission_request *request, const cJSON *after)
{
	_cleanup_json_ cJSON *patch = NULL;
	_cleanup_free_ char *text = NULL;
	struct err err = { 0 };

	if (json_patch_diff(request->object, after, &patch, &err) < 0) {
		log_warning("%s %s/%s is admitted unchanged: %s", request->kind, request->namespace,
			    request->name, err_text(&err));
		return NULL;
	}
	text = patch->child ? cJSON_PrintUnformatted(patch) : NULL;
	return text ? base64_text(text, strlen(text)) : NULL;
}

/*
 * The API server writes warnings into an HTTP header, one line each, and refuses control
 * characters.
 */
static void admission_review_add_warnings(cJSON *response, const cJSON *warnings)
{
	char line[ADMISSION_WARNING_MAX];
	int n = 0;

	json_each(warning, warnings) {
		if (!cJSON_IsString(warning) || n++ >= ADMISSION_WARNINGS_MAX)
			continue;
		copy_printable(line, sizeof(line), warning->valuestring,
			       strlen(warning->valuestring));
		json_append(json_array_at(response, "warnings"), cJSON_CreateString(line));
	}
}

void admission_answer(const struct admission_request *request, const cJSON *after,
		      const cJSON *warnings, struct strbuf *out)
{
	_cleanup_json_ cJSON *review = cJSON_CreateObject();
	_cleanup_free_ char *patch = after ? patch_base64(request, after) : NULL, *text = NULL;

	json_set_str(review, "apiVersion", "admission.k8s.io/v1");
	json_set_str(review, "kind", "AdmissionReview");
	cJSON *response = json_object_at(review, "response");
	json_set_str(response, "uid", request->uid);
	json_set(response, "allowed", cJSON_CreateTrue());
	if (patch) {
		json_set_str(response, "patchType", "JSONPatch");
		json_set_str(response, "patch", patch);
	}
	admission_review_add_warnings(response, warnings);
	text = cJSON_PrintUnformatted(review);
	if (text)
		strbuf_adds(out, text);
}
