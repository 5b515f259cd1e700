/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of finding the owner of a Ray pod, with clusters as KubeRay makes them and with hostile
 * ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "operator/failures/failures.h"
#include "operator/failures/owner.h"
#include "operator/testing.h"

#define UID "11111111-2222-3333-4444-555555555555"
#define REFERENCE(kind, version, controller) \
	"ownerReferences: [{apiVersion: " version ", kind: " kind ", name: of-reference, uid: " UID ", controller: " controller "}]"
#define LABELS(kind) "labels: {ray.io/originated-from-crd: " kind ", ray.io/originated-from-cr-name: of-labels}"
#define N50 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define N63 N50 "nnnnnnnnnnnnn"
#define N250 N50 N50 N50 N50 N50

static void an_owner_is_the_controller_or_what_the_labels_say_or_the_cluster_itself(void **state)
{
	static const struct {
		const char *metadata, *text, *uid, *cron_job; /* text NULL: there is no owner */
	} rows[] = {
		{ "name: demo, uid: " UID, "RayCluster/demo", UID, "" },
		{ "name: demo, " REFERENCE("RayJob", "ray.io/v1", "true"), "RayJob/of-reference", UID, "" },
		{ "name: demo, " REFERENCE("RayService", "ray.io/v1", "true"), "RayService/of-reference", UID, "" },
		{ "name: demo, " REFERENCE("RayJob", "ray.io/v1", "true") ", " LABELS("RayJob"), "RayJob/of-reference", UID, "" },
		{ "name: demo, " LABELS("RayJob"), "RayJob/of-labels", "", "" },
		{ "name: demo, " LABELS("RayService"), "RayService/of-labels", "", "" },
		/* A reference that is no owner's, or whose kind is not KubeRay's. */
		{ "name: demo, " REFERENCE("RayJob", "ray.io/v1", "false"), "RayCluster/demo", "", "" },
		{ "name: demo, " REFERENCE("Application", "argoproj.io/v1", "true"), "RayCluster/demo", "", "" },
		{ "name: demo, " REFERENCE("RayJob", "evil.example/v1", "true"), "RayCluster/demo", "", "" },
		{ "name: demo, " REFERENCE("RayCluster", "ray.io/v1", "true"), "RayCluster/demo", "", "" },
		/* The RayJob of a RayCronJob. */
		{ "name: demo, " REFERENCE("RayJob", "ray.io/v1", "true") ", labels: {ray.io/cronjob-name: nightly}",
		  "RayJob/of-reference", UID, "nightly" },
		{ "name: demo, labels: {ray.io/cronjob-name: nightly}", "RayCluster/demo", "", "" },
		{ "name: demo, " REFERENCE("RayJob", "ray.io/v1", "true") ", labels: {ray.io/cronjob-name: 'no name'}",
		  "RayJob/of-reference", UID, "" },
		/* Hostile values. */
		{ "name: demo, labels: {ray.io/originated-from-crd: RayJob}", "RayCluster/demo", "", "" },
		{ "name: demo, labels: {ray.io/originated-from-crd: Pod, ray.io/originated-from-cr-name: x}", "RayCluster/demo", "", "" },
		{ "name: demo, labels: {ray.io/originated-from-crd: RayJob, ray.io/originated-from-cr-name: '../x'}", "RayCluster/demo", "", "" },
		{ "name: demo, labels: 5, ownerReferences: {a: b}", "RayCluster/demo", "", "" },
		{ "name: demo, ownerReferences: [7, {}, {controller: true, kind: 3, apiVersion: ray.io/v1}]", "RayCluster/demo", "", "" },
		{ "name: demo, uid: 'x\\\"y'", "RayCluster/demo", "", "" },
		{ "name: " N250 "nnnn", NULL, "", "" },
		{ "name: UPPER", NULL, "", "" },
		{ "labels: {a: b}", NULL, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char yaml[2048], text[OWNER_TEXT_MAX];
		struct owner owner;

		snprintf(yaml, sizeof(yaml), "metadata: {%s}\n", rows[i].metadata);
		_cleanup_json_ cJSON *cluster = json_of(yaml);
		if (owner_of_cluster(cluster, &owner) != (rows[i].text != NULL))
			fail_msg("row %zu", i);
		if (!rows[i].text)
			continue;
		if (strcmp(owner_format(&owner, text), rows[i].text) != 0 ||
		    strcmp(owner.uid, rows[i].uid) != 0 ||
		    strcmp(owner.cron_job, rows[i].cron_job) != 0)
			fail_msg("row %zu: %s, uid %s, cron job %s", i, text, owner.uid,
				 owner.cron_job);
	}
}

static void an_annotation_names_an_owner_or_nothing(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{ "RayJob/train", true }, { "RayService/a.b-c", true }, { "RayCluster/x", true }, { "RayCronJob/" N250, true },
		{ NULL, false }, { "", false }, { "/", false }, { "RayJob", false }, { "RayJob/", false }, { "Pod/x", false },
		{ "rayjob/x", false }, { "RayJob/a/b", false }, { "RayJob/-x", false }, { "RayJob/x.", false }, { "RayJob/a b", false },
		{ "RayJob/\x1b[2J", false }, { "RayJob/" N250 "nnnn", false }, { "RayJo", false }, { "RayJobs/x", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[OWNER_TEXT_MAX];
		struct owner owner;

		if (owner_parse(rows[i].text, &owner) != rows[i].good)
			fail_msg("row %zu: %s", i, rows[i].text ? rows[i].text : "NULL");
		if (rows[i].good)
			assert_string_equal(owner_format(&owner, text), rows[i].text);
	}
}

static const char *label(const cJSON *failure, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(failure, "metadata.labels"), name));
}

static void a_failure_has_its_owner_in_its_spec_and_in_labels_that_are_short_enough(void **state)
{
	_cleanup_json_ cJSON *failure =
		json_of("metadata: {labels: {a: b}}\nspec: {class: Killed}\n");
	struct owner owner = { .kind = OWNER_RAY_JOB,
			       .name = "train",
			       .uid = UID,
			       .cron_job = "nightly" },
		     read;

	(void)state;
	assert_false(owner_get(failure, &read));
	owner_set(&owner, failure);
	assert_string_equal(json_str(failure, "spec.owner.kind"), "RayJob");
	assert_string_equal(json_str(failure, "spec.owner.name"), "train");
	assert_string_equal(json_str(failure, "spec.owner.uid"), UID);
	assert_string_equal(json_str(failure, "spec.owner.cronJob"), "nightly");
	assert_string_equal(json_str(failure, "spec.ownerText"), "RayJob/train");
	assert_string_equal(label(failure, OWNER_KIND_LABEL), "RayJob");
	assert_string_equal(label(failure, OWNER_NAME_LABEL), "train");
	assert_string_equal(label(failure, "a"), "b");
	assert_true(owner_get(failure, &read));
	assert_memory_equal(&read, &owner, sizeof(read));
}

static void a_name_too_long_for_a_label_stands_in_the_spec_alone(void **state)
{
	static const struct {
		const char *name;
		bool has_label;
	} rows[] = { { N63, true }, { N63 "n", false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *failure = json_of("metadata: {}\nspec: {}\n");
		struct owner owner = { .kind = OWNER_RAY_SERVICE };

		snprintf(owner.name, sizeof(owner.name), "%s", rows[i].name);
		owner_set(&owner, failure);
		assert_string_equal(json_str(failure, "spec.owner.name"), rows[i].name);
		assert_string_equal(label(failure, OWNER_KIND_LABEL), "RayService");
		assert_int_equal(label(failure, OWNER_NAME_LABEL) != NULL, rows[i].has_label);
	}
}

static void a_submission_is_that_of_the_attempt_that_had_this_cluster(void **state)
{
	static const struct {
		const char *job, *id;
	} rows[] = {
		{ "status: {jobId: train-x7, rayClusterName: train-abc}", "train-x7" },
		{ "status: {jobId: 'My run (2)', rayClusterName: train-abc}", "My run (2)" },
		/* The job is tried again, in another cluster. */
		{ "status: {jobId: train-y8, rayClusterName: train-def}", NULL },
		{ "status: {jobId: '', rayClusterName: train-abc}", NULL },
		{ "status: {rayClusterName: train-abc}", NULL },
		{ "status: {jobId: train-x7}", NULL },
		{ "status: {jobId: [1], rayClusterName: train-abc}", NULL },
		{ "status: {jobId: \"a\\nb\", rayClusterName: train-abc}", NULL },
		{ "status: {jobId: " N250 "nnnn, rayClusterName: train-abc}", NULL },
		{ "{}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *job = json_of(rows[i].job);
		char id[OWNER_SUBMISSION_MAX + 1] = "untouched";

		if (owner_submission_of(job, "train-abc", id) != (rows[i].id != NULL))
			fail_msg("row %zu", i);
		assert_string_equal(id, rows[i].id ? rows[i].id : "untouched");
	}
}

static void a_dead_pod_names_its_owner_by_its_annotation(void **state)
{
	static const struct {
		const char *annotation, *text;
	} rows[] = { { "RayJob/train", "RayJob/train" }, { "Nobody", NULL }, { "[5]", NULL } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ray_failures failures = { 0 };
		char text[OWNER_TEXT_MAX], yaml[1024];

		snprintf(
			yaml, sizeof(yaml),
			"metadata: {name: p, namespace: ml, uid: u, labels: {ray.io/cluster: train-abc}, "
			"annotations: {afterglow.dev/owner: %s}}\n"
			"status: {containerStatuses: [{name: ray-worker, state: {terminated: {exitCode: 139}}}]}\n",
			rows[i].annotation);
		_cleanup_json_ cJSON *pod = json_of(yaml);
		assert_int_equal(failures_from_pod(pod, 0, &failures, NULL), 0);
		const struct owner *owner = failures.list[0]->owner;
		assert_int_equal(owner != NULL, rows[i].text != NULL);
		if (owner)
			assert_string_equal(owner_format(owner, text), rows[i].text);
		ray_failures_release(&failures);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_is_the_controller_or_what_the_labels_say_or_the_cluster_itself),
		cmocka_unit_test(an_annotation_names_an_owner_or_nothing),
		cmocka_unit_test(a_failure_has_its_owner_in_its_spec_and_in_labels_that_are_short_enough),
		cmocka_unit_test(a_name_too_long_for_a_label_stands_in_the_spec_alone),
		cmocka_unit_test(a_submission_is_that_of_the_attempt_that_had_this_cluster),
		cmocka_unit_test(a_dead_pod_names_its_owner_by_its_annotation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
