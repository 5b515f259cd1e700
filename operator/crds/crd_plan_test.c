/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is done with an installed CRD. */
#include "operator/crds/crd_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"

/* NULL: the label or annotation is missing. */
static cJSON *crd(const char *chart, const char *version, const char *digest)
{
	cJSON *object = cJSON_CreateObject(), *metadata = json_object_at(object, "metadata");

	json_set_str(metadata, "name", "rayfailures.afterglow.dev");
	json_set_str(metadata, "resourceVersion", "7");
	if (chart)
		json_set_str(json_object_at(metadata, "labels"), "helm.sh/chart", chart);
	if (version)
		json_set_str(json_object_at(metadata, "labels"), "app.kubernetes.io/version",
			     version);
	json_set_str(json_object_at(metadata, "annotations"), "meta.helm.sh/release-name", "other");
	if (digest)
		json_set_str(json_object_at(metadata, "annotations"), "afterglow.dev/spec-sha256",
			     digest);
	json_set_str(json_object_at(json_object_at(object, "spec"), "names"), "plural",
		     "rayfailures");
	json_append(json_array_at(json_object_at(object, "spec"), "versions"),
		    cJSON_CreateString(digest ? digest : "-"));
	json_set_str(json_object_at(json_object_at(object, "spec"), "conversion"), "strategy",
		     "None");
	return object;
}

static void an_older_or_changed_crd_of_the_chart_is_upgraded_and_no_other(void **state)
{
	static const struct {
		const char *chart, *version, *digest;
		enum crd_step step;
	} rows[] = {
		{ "afterglow-0.2.0", "0.2.0", "a", CRD_UPGRADE },
		{ "afterglow-0.2.0", "0.2.0", NULL,
		  CRD_UPGRADE }, /* from a chart that did not write the digest yet */
		{ "afterglow-0.1.9", "0.1.9", "a", CRD_UPGRADE },
		{ "afterglow-0.1.10", "0.1.10", "w", CRD_EQUAL },
		{ "afterglow-0.2.0-rc.1", "0.2.0-rc.1", "a", CRD_UPGRADE },
		{ "afterglow-0.2.1", "0.2.1", "a", CRD_NEWER },
		{ "afterglow-0.10.0", "0.10.0", "a", CRD_NEWER },
		{ "afterglow-1.0.0", "1.0.0-rc.1", "w", CRD_NEWER },
		{ "afterglow-x", "999999999.0.0", "a", CRD_NEWER },
		{ "afterglow-x", "0.3.0+build.1", "a", CRD_NEWER },
		/*
		 * A version without three numbers of at most nine digits counts as 0.0.0, as in the
		 * chart.
		 */
		{ "afterglow-x", "99999999999999999999.0.0", "a", CRD_UPGRADE },
		{ "afterglow-x", "1000000000.0.0", "a", CRD_UPGRADE },
		{ "afterglow-x", "9.9.1000000000", "a", CRD_UPGRADE },
		{ "afterglow-x", "09.9.9", "a", CRD_UPGRADE },
		{ "afterglow-x", "9.9.9a", "a", CRD_UPGRADE },
		{ "afterglow-x", "9.9.9_", "a", CRD_UPGRADE },
		{ "afterglow-x", "9.9.", "a", CRD_UPGRADE },
		{ "afterglow-x", "9.9", "a", CRD_UPGRADE },
		{ "afterglow-x", "9", "a", CRD_UPGRADE },
		{ "afterglow-x", "", "a", CRD_UPGRADE },
		{ "afterglow-x", "main-abc123", "a", CRD_UPGRADE },
		{ "afterglow-x", "v9.9.9", "a", CRD_UPGRADE },
		{ "afterglow-x", "0..9", "a", CRD_UPGRADE },
		{ "afterglow-x", "0.-1.9", "a", CRD_UPGRADE },
		{ "afterglow-x", NULL, "a", CRD_UPGRADE },
		{ "kuberay-operator-1.6.2", "0.1.0", "a", CRD_FOREIGN },
		{ "afterglow", "0.1.0", "w", CRD_FOREIGN },
		{ NULL, "0.1.0", "w", CRD_FOREIGN },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_json_ cJSON *live = crd(rows[i].chart, rows[i].version, rows[i].digest);
		_cleanup_json_ cJSON *wanted = crd("afterglow-0.2.0", "0.2.0", "w");

		if (crd_plan(live, wanted) != rows[i].step)
			fail_msg("row %zu: step %d", i, (int)crd_plan(live, wanted));
	}
}

static void a_chart_without_a_version_is_older_than_any(void **state)
{
	_cleanup_json_ cJSON *wanted = crd("afterglow-0.2.0", "main-abc123", "w");
	_cleanup_json_ cJSON *live = crd("afterglow-0.2.0", "0.0.1", "a"),
			     *alike = crd("afterglow-0.2.0", "main-def456", "a");
	(void)state;

	assert_int_equal(crd_plan(live, wanted), CRD_NEWER);
	assert_int_equal(crd_plan(alike, wanted), CRD_UPGRADE);
}

static void a_crd_whose_owner_put_older_versions_back_is_upgraded_though_the_digest_stayed(void **state)
{
	_cleanup_json_ cJSON *wanted = crd("afterglow-0.2.0", "0.2.0", "w"),
			     *live = crd("afterglow-0.2.0", "0.2.0", "w");
	(void)state;

	assert_int_equal(crd_plan(live, wanted), CRD_EQUAL);
	cJSON_ReplaceItemInArray(json_get(live, "spec.versions"), 0, cJSON_CreateString("older"));
	assert_int_equal(crd_plan(live, wanted), CRD_UPGRADE);
	cJSON_DeleteItemFromObject(json_get(live, "spec"), "versions");
	assert_int_equal(crd_plan(live, wanted), CRD_UPGRADE);
}

static void a_crd_without_metadata_is_somebody_elses(void **state)
{
	_cleanup_json_ cJSON *wanted = crd("afterglow-0.2.0", "0.2.0", "w"),
			     *live = cJSON_CreateObject();
	(void)state;

	assert_int_equal(crd_plan(live, wanted), CRD_FOREIGN);
	assert_int_equal(crd_plan(NULL, wanted), CRD_FOREIGN);
}

static void the_patch_has_versions_names_and_marks_and_leaves_the_owner_alone(void **state)
{
	_cleanup_json_ cJSON *live = crd("afterglow-0.1.0", "0.1.0", "a"),
			     *wanted = crd("afterglow-0.2.0", "0.2.0", "w");
	_cleanup_json_ cJSON *patch = crd_patch(live, wanted);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(patch);
	(void)state;

	assert_string_equal(
		text,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
		"\"namespace\":null,\"name\":\"rayfailures.afterglow.dev\",\"resourceVersion\":\"7\","
		"\"labels\":{\"helm.sh/chart\":\"afterglow-0.2.0\",\"app.kubernetes.io/version\":\"0.2.0\"},"
		"\"annotations\":{\"afterglow.dev/spec-sha256\":\"w\"}},"
		"\"spec\":{\"names\":{\"plural\":\"rayfailures\"},\"versions\":[\"w\"]}}");
}

static void names_that_are_no_longer_wanted_are_removed(void **state)
{
	_cleanup_json_ cJSON *live = crd("afterglow-0.1.0", "0.1.0", "a"),
			     *wanted = crd("afterglow-0.2.0", "0.2.0", "w");
	(void)state;

	json_append(json_array_at(json_get(live, "spec.names"), "shortNames"),
		    cJSON_CreateString("rf"));
	_cleanup_json_ cJSON *patch = crd_patch(live, wanted);
	assert_true(cJSON_IsNull(json_get(patch, "spec.names.shortNames")));
	assert_string_equal(json_str(patch, "spec.names.plural"), "rayfailures");
}

static void own_fields(cJSON *object, const char *manager)
{
	cJSON *owner = cJSON_CreateObject();

	json_set_str(owner, "manager", manager);
	json_set_str(owner, "operation", "Update");
	json_append(json_array_at(json_get(object, "metadata"), "managedFields"), owner);
}

static void what_we_own_is_given_up_and_others_keep_theirs(void **state)
{
	_cleanup_json_ cJSON *live = crd("afterglow-0.2.0", "0.2.0", "w"), *patch = NULL,
			     *none = NULL;
	(void)state;

	assert_int_equal(crd_disown(live, &none), 0);
	assert_null(none);
	own_fields(live, "helm");
	own_fields(live, "afterglow-not-we");
	assert_int_equal(crd_disown(live, &none), 0);
	assert_null(none);
	own_fields(live, "afterglow");
	own_fields(live, "kube-apiserver");
	assert_int_equal(crd_disown(live, &patch), 0);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(patch);
	assert_string_equal(
		text,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
		"\"namespace\":null,\"name\":\"rayfailures.afterglow.dev\",\"resourceVersion\":\"7\","
		"\"managedFields\":[{\"manager\":\"helm\",\"operation\":\"Update\"},"
		"{\"manager\":\"afterglow-not-we\",\"operation\":\"Update\"},"
		"{\"manager\":\"kube-apiserver\",\"operation\":\"Update\"}]}}");
}

static void whoever_changed_the_versions_by_hand_is_named(void **state)
{
	static const struct {
		const char *manager, *field, *expected;
		bool labels; /* it also wrote the chart's label */
	} rows[] = {
		{ "helm", "f:versions", NULL, false },
		{ "afterglow", "f:versions", NULL, false },
		{ "kube-apiserver", "f:versions", NULL, false },
		{ "kubectl-patch", "f:conversion", NULL, false },
		{ "kubectl-patch", "f:versions", "kubectl-patch", false },
		{ "helm-of-somebody", "f:versions", "helm-of-somebody", false },
		/* Flux, and Terraform's provider for Helm */
		{ "helm-controller", "f:versions", NULL, true },
		{ "terraform-provider-helm_v2.17.0_x5", "f:versions", NULL, true },
	};
	_cleanup_json_ cJSON *none = crd("afterglow-0.2.0", "0.2.0", "a");
	(void)state;

	assert_null(crd_changed_by(none));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *live = crd("afterglow-0.2.0", "0.2.0", "a");
		const char *changed_by;

		own_fields(live, "helm");
		own_fields(live, rows[i].manager);
		cJSON *owner = cJSON_GetArrayItem(json_get(live, "metadata.managedFields"), 1);
		cJSON *fields = json_object_at(json_object_at(owner, "fieldsV1"), "f:spec");
		json_object_at(fields, rows[i].field);
		fields = json_object_at(json_object_at(json_get(owner, "fieldsV1"), "f:metadata"),
					"f:labels");
		json_object_at(fields, rows[i].labels ? "f:helm.sh/chart" : "f:app");
		changed_by = crd_changed_by(live);
		if (rows[i].expected)
			assert_string_equal(changed_by, rows[i].expected);
		else
			assert_null(changed_by);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_older_or_changed_crd_of_the_chart_is_upgraded_and_no_other),
		cmocka_unit_test(a_chart_without_a_version_is_older_than_any),
		cmocka_unit_test(
			a_crd_whose_owner_put_older_versions_back_is_upgraded_though_the_digest_stayed),
		cmocka_unit_test(a_crd_without_metadata_is_somebody_elses),
		cmocka_unit_test(the_patch_has_versions_names_and_marks_and_leaves_the_owner_alone),
		cmocka_unit_test(names_that_are_no_longer_wanted_are_removed),
		cmocka_unit_test(what_we_own_is_given_up_and_others_keep_theirs),
		cmocka_unit_test(whoever_changed_the_versions_by_hand_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
