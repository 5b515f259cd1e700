/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the body of a request about a pod. Besides "request" it may have "cluster", the
 * pod's RayCluster, and "options" (remote, claim, kernelLog, refused: booleans). The patch must
 * keep the promises of pod_admission.h: a second pass over the patched pod changes nothing, and
 * only the places that launcher and sidecar need are changed.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/injection/inject.h"
#include "operator/podspec/pod_spec.h"
#include "operator/webhook/admission_review.h"
#include "operator/webhook/json_patch.h"
#include "operator/webhook/pod_admission.h"
#include "operator/webhook/review_outline.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())
#define TOKEN_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The API server sends no object with two members of the same name, and a patch cannot distinguish
 * them.
 */
static bool has_namesakes(const cJSON *json)
{
	const cJSON *item, *other;

	cJSON_ArrayForEach(item, json) {
		if (has_namesakes(item))
			return true;
		for (other = cJSON_IsObject(json) ? item->next : NULL; other; other = other->next)
			if (strcmp(item->string, other->string) == 0)
				return true;
	}
	return false;
}

/* --- Applying a patch, as an API server does ------------------------------------------------- */

/* Takes the first token of a JSON Pointer. */
static const char *next_token(const char *path, char token[static TOKEN_MAX])
{
	size_t n = 0;

	CHECK(*path++ == '/');
	for (; *path && *path != '/'; path++, n++) {
		CHECK(n < TOKEN_MAX - 1);
		token[n] = *path;
		if (*path == '~')
			token[n] = *++path == '1' ? '/' : '~';
	}
	token[n] = '\0';
	return path;
}

static cJSON *child(const cJSON *json, const char *token)
{
	return cJSON_IsArray(json) ? cJSON_GetArrayItem(json, (int)strtol(token, NULL, 10)) :
				     cJSON_GetObjectItemCaseSensitive(json, token);
}

static void apply_operation(cJSON *json, const cJSON *operation)
{
	const char *path = json_str(operation, "path"), *op = json_str(operation, "op");
	cJSON *value = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(operation, "value"), true);
	char token[TOKEN_MAX];

	for (path = next_token(path, token); *path; path = next_token(path, token))
		json = child(json, token);
	if (strcmp(op, "add") == 0 && cJSON_IsArray(json)) {
		CHECK(strcmp(token, "-") == 0);
		json_append(json, value);
	} else if (strcmp(op, "add") == 0) {
		CHECK(cJSON_IsObject(json) && !child(json, token));
		json_set(json, token, value);
	} else if (strcmp(op, "replace") == 0) {
		CHECK(child(json, token));
		if (cJSON_IsArray(json))
			cJSON_ReplaceItemInArray(json, (int)strtol(token, NULL, 10), value);
		else
			json_set(json, token, value);
	} else {
		CHECK(strcmp(op, "remove") == 0 && child(json, token) && !value);
		cJSON_Delete(cJSON_DetachItemViaPointer(json, child(json, token)));
	}
}

/*
 * --- What the patch may do
 * ------------------------------------------------------------------------------------
 */

static bool is_below(const char *path, const char *place)
{
	size_t len = strlen(place);

	return strncmp(path, place, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Returns the path within Ray's container, such as "/command"; "" if it is another place. */
static const char *within_ray(const cJSON *pod, const char *path)
{
	const cJSON *ray = pod_ray_container(json_get(pod, "spec"),
					     json_get(pod, "metadata.annotations")),
		    *container;
	char place[64];
	int index = 0;

	cJSON_ArrayForEach(container, json_get(pod, "spec.containers")) {
		if (container == ray)
			break;
		index++;
	}
	snprintf(place, sizeof(place), "/spec/containers/%d", index);
	return ray && is_below(path, place) ? path + strlen(place) : "";
}

/* The command of the Ray container moves into args, so its list may get shorter. */
static void check_operation(const cJSON *pod, const cJSON *operation)
{
	static const char *const places[] = { "/metadata/annotations", "/spec/volumes",
					      "/spec/imagePullSecrets", "/spec/serviceAccountName",
					      "/spec/containers/-" };
	const char *path = json_str(operation, "path"), *op = json_str(operation, "op"),
		   *rays = within_ray(pod, path);
	bool found = is_below(rays, "/command") || is_below(rays, "/args") ||
		     is_below(rays, "/volumeMounts");

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		found = found || is_below(path, places[i]);
	CHECK(found);
	CHECK(strcmp(op, "add") == 0 || strcmp(op, "replace") == 0 ||
	      (strcmp(op, "remove") == 0 && is_below(rays, "/command")));
}

static void check_second_pass(const cJSON *pod, const struct pod_admission *in)
{
	_cleanup_json_ cJSON *again = NULL, *patch = NULL;
	const char *reason;

	CHECK(pod_admit(pod, in, &again, &reason, NULL) == 0);
	CHECK(!again || (json_patch_diff(pod, again, &patch, NULL) == 0 && !patch->child));
	CHECK(!again == (inject_is_done(json_get(pod, "spec")) || strcmp(reason, "OptedOut") == 0));
}

static void check_change(const cJSON *pod, const cJSON *changed, const struct pod_admission *in)
{
	_cleanup_json_ cJSON *patch = NULL, *patched = cJSON_Duplicate(pod, true),
			     *difference = NULL;
	const char *name =
		json_str(cJSON_GetArrayItem(json_get(pod, "spec.containers"), 0), "name");
	const cJSON *operation;
	int r = json_patch_diff(pod, changed, &patch, NULL);

	CHECK(strcmp(json_str(cJSON_GetArrayItem(json_get(changed, "spec.containers"), 0), "name"),
		     name) == 0);
	if (r == -E2BIG)
		return;
	CHECK(r == 0);
	cJSON_ArrayForEach(operation, patch) {
		check_operation(pod, operation);
		apply_operation(patched, operation);
	}
	CHECK(json_patch_diff(changed, patched, &difference, NULL) == 0 && !difference->child);
	check_second_pass(patched, in);
}

static void check_answer(const struct admission_request *request, const cJSON *changed)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *json = NULL;

	admission_answer(request, changed, NULL, &answer);
	CHECK(json_parse(strbuf_str(&answer), answer.len, &json, NULL) == 0 &&
	      json_bool(json, "response.allowed", false));
}

static void admit_review(const struct admission_request *request, const cJSON *review,
			 const cJSON *options, const struct policy *policy)
{
	static const struct launchers launchers = {
		.of = { { .machine = "x86_64", .file = "afterglow-launch", .sha256 = "00", .key = "launch-x86_64-0011223344556677" } },
		.n = 1,
	};
	const struct pod_admission in = {
		.namespace = request->namespace,
		.cluster = json_get(review, "cluster"),
		.policy = policy,
		.policy_origin = json_str(options, "origin"),
		.store_claim_trouble = json_bool(options, "claim", false) ? NULL : "is not there",
		.kernel_log_refused = json_bool(options, "kernelLog", false) ? NULL : "for a reason",
		.launchers = &launchers,
		.absence = json_bool(options, "refused", false) ? POD_ABSENCE_REFUSED : POD_ABSENCE_NONE,
	};
	_cleanup_json_ cJSON *changed = NULL;
	const char *reason;

	if (!pod_admission_concerns(request->object))
		return;
	CHECK(pod_admit(request->object, &in, &changed, &reason, NULL) == 0 &&
	      strlen(reason) <= 20);
	CHECK(*reason || inject_is_done(json_get(changed, "spec")));
	if (changed)
		check_change(request->object, changed, &in);
	check_answer(request, changed);
}

/* What the outline has, the review has, too. */
static void check_outline(const uint8_t *data, size_t size, const struct admission_request *request)
{
	_cleanup_json_ cJSON *outline = NULL, *declined = NULL;
	const char *uid, *namespace;

	if (review_outline((const char *)data, size, &outline, NULL) < 0)
		return;
	uid = json_str(outline, "request.uid");
	namespace = json_str(outline, "request.namespace");
	CHECK(!uid || strcmp(uid, request->uid) == 0);
	CHECK(!namespace || strcmp(namespace, request->namespace) == 0);
	declined = pod_decline(json_get(outline, "request.object"), "TooLarge");
	if (declined)
		check_answer(request, declined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(policy_release) struct policy policy = { 0 };
	_cleanup_json_ cJSON *review = NULL;
	struct admission_request request;
	const cJSON *options;

	if (json_parse((const char *)data, size, &review, NULL) < 0 ||
	    admission_request_read(review, &request, NULL) < 0 || has_namesakes(review))
		return 0;
	check_outline(data, size, &request);
	CHECK(policy_init(&policy, NULL) == 0);
	options = json_get(review, "options");
	CHECK(policy_set_string(&policy.sidecar_image, "registry/afterglow:1", NULL) == 0 &&
	      policy_set_string(json_bool(options, "remote", false) ? &policy.store.url :
								      &policy.store.claim,
				"s3://bucket", NULL) == 0 &&
	      policy_set_string(&policy.store.s3_role_arn, "arn:aws:iam::1:role/r", NULL) == 0);
	policy.recording.kernel_log = json_bool(options, "kernelLog", false);
	policy.sidecar_pull_secrets = cJSON_Parse("[\"registry\"]");
	admit_review(&request, review, options, &policy);
	return 0;
}
