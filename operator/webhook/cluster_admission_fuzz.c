/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: {"old", "object", "user", "mode"} as a request. Every answer must keep the promises
 * of cluster_admission.h: a second pass and a repeated write change nothing, and dropped values
 * come back.
 */
#include "operator/webhook/cluster_admission.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "operator/webhook/json_patch.h"
#include "operator/webhook/memory_advice.h"
#include "operator/webhook/memory_record.h"
#include "operator/webhook/warnings.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cluster_admission admit_cluster(const cJSON *old, const cJSON *object,
					      const char *user, const struct policy *policy,
					      enum memory_mode mode)
{
	struct cluster_request req = { .old = old, .object = object, .user = user };
	struct cluster_admission admission = { 0 };
	struct policy by_mode = *policy;
	const cJSON *warning;

	by_mode.memory.mode = mode;
	CHECK(cluster_admit(&req, &by_mode, &admission, NULL) == 0);
	CHECK(cJSON_GetArraySize(admission.warnings) <= WARNINGS_MAX);
	cJSON_ArrayForEach(warning, admission.warnings)
		CHECK(cJSON_IsString(warning) && strlen(warning->valuestring) <= WARNING_TEXT_MAX);
	return admission;
}

/*
 * Checks that the object is stable: writing it again changes nothing, and after a CREATE neither
 * does a second pass.
 */
static void check_settled(const cJSON *old, const cJSON *stands, const char *user,
			  const struct policy *policy)
{
	struct cluster_admission again =
		admit_cluster(old, stands, user, policy, MEMORY_MODE_APPLY);
	struct cluster_admission update =
		admit_cluster(stands, stands, user, policy, MEMORY_MODE_APPLY);

	CHECK(!again.object && !update.object);
	cluster_admission_release(&again);
	cluster_admission_release(&update);
}

static bool has_record(const cJSON *object)
{
	return cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.annotations"),
						RECORD_ANNOTATION);
}

/*
 * cJSON_Compare finds an object with two members of one name different from its copy. The API
 * server sends no such object.
 */
static bool is_same(const cJSON *a, const cJSON *b)
{
	_cleanup_json_ cJSON *patch = NULL;

	return json_patch_diff(a, b, &patch, NULL) == -E2BIG || !patch->child;
}

/* The annotation wins over the mode. */
static bool is_annotated_apply(const cJSON *object)
{
	const cJSON *annotations = json_get(object, "metadata.annotations");
	const char *text = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(annotations, MEMORY_ANNOTATION));

	return text && strcasecmp(text, "apply") == 0;
}

static void check_create(const cJSON *object, const char *user, const struct policy *policy)
{
	struct cluster_admission create = admit_cluster(NULL, object, user, policy,
							MEMORY_MODE_APPLY),
				 back;

	if (create.object)
		check_settled(NULL, create.object, user, policy);
	if (create.object && !has_record(object)) {
		back = admit_cluster(create.object, object, user, policy, MEMORY_MODE_APPLY);
		CHECK(back.object && is_same(back.object, create.object));
		cluster_admission_release(&back);
	}
	cluster_admission_release(&create);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(policy_release) struct policy policy = { 0 };
	struct cluster_admission admission;
	_cleanup_json_ cJSON *input = NULL;
	const char *user;

	if (json_parse((const char *)data, size, &input, NULL) < 0)
		return 0;
	CHECK(policy_init(&policy, NULL) == 0);
	policy.memory.worker_memory_limit =
		json_bool(input, "limited", false) ? (int64_t)2 << 30 : 0;
	policy.memory.usage_threshold = json_bool(input, "monitored", false) ? 0.8 : 0;
	user = json_str(input, "user");
	admission = admit_cluster(NULL, json_get(input, "object"), user, &policy, MEMORY_MODE_WARN);
	CHECK(!admission.object || is_annotated_apply(json_get(input, "object")));
	cluster_admission_release(&admission);
	admission = admit_cluster(json_get(input, "old"), json_get(input, "object"), user, &policy,
				  MEMORY_MODE_APPLY);
	if (admission.object)
		check_settled(json_get(input, "old"), admission.object, user, &policy);
	cluster_admission_release(&admission);
	check_create(json_get(input, "object"), user, &policy);
	return 0;
}
