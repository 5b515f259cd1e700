/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of how large a RayCluster may be: each bound, the text that names it, and that the CRD has
 * the same bound.
 */
#include "operator/raycluster/bounds.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "operator/kube/yaml.h"
#include "operator/podspec/notes.h"
#include "operator/raycluster/testing.h"

#define CRD "charts/afterglow/files/crds/ray.io_rayclusters.yaml"

static cJSON *group_of(cJSON *cluster)
{
	return cJSON_GetArrayItem(json_get(cluster, "spec.workerGroupSpecs"), 0);
}

static void add_groups(cJSON *cluster, int64_t n)
{
	cJSON *groups = json_get(cluster, "spec.workerGroupSpecs");

	while (cJSON_GetArraySize(groups) < (int)n)
		json_append(groups, cJSON_CreateObject());
}

static void set_hosts(cJSON *cluster, int64_t n)
{
	json_set_int(group_of(cluster), "replicas", 1);
	json_set_int(group_of(cluster), "minReplicas", 0);
	json_set_int(group_of(cluster), "numOfHosts", n);
}

static void set_replicas(cJSON *cluster, int64_t n)
{
	json_set_int(group_of(cluster), "replicas", n);
	json_set_int(group_of(cluster), "maxReplicas", INT32_MAX);
}

static void set_least(cJSON *cluster, int64_t n)
{
	json_set_int(group_of(cluster), "minReplicas", n);
	json_set_int(group_of(cluster), "maxReplicas", INT32_MAX);
}

static void fill_object(cJSON *object, int64_t n)
{
	char name[32];

	for (int64_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%" PRId64, i);
		cJSON_AddStringToObject(object, name, "v");
	}
}

static void add_labels(cJSON *cluster, int64_t n)
{
	json_set(group_of(cluster), "labels", cJSON_CreateObject());
	fill_object(json_get(group_of(cluster), "labels"), n);
}

static void add_params(cJSON *cluster, int64_t n)
{
	cJSON *head = json_get(cluster, "spec.headGroupSpec");

	json_set(head, "rayStartParams", cJSON_CreateObject());
	fill_object(json_get(head, "rayStartParams"), n);
}

static void add_annotations(cJSON *cluster, int64_t n)
{
	json_set(json_get(cluster, "metadata"), "annotations", cJSON_CreateObject());
	fill_object(json_get(cluster, "metadata.annotations"), n);
}

static void add_service_annotations(cJSON *cluster, int64_t n)
{
	fill_object(json_object_at(json_get(cluster, "spec"), "headServiceAnnotations"), n);
}

static cJSON *head_service_of(cJSON *cluster)
{
	return json_object_at(json_get(cluster, "spec.headGroupSpec"), "headService");
}

static void add_service_labels(cJSON *cluster, int64_t n)
{
	fill_object(json_object_at(json_object_at(head_service_of(cluster), "metadata"), "labels"),
		    n);
}

static void add_service_ports(cJSON *cluster, int64_t n)
{
	cJSON *spec = json_object_at(head_service_of(cluster), "spec");

	for (int64_t i = 0; i < n; i++)
		json_append(json_array_at(spec, "ports"), cJSON_CreateObject());
}

static void add_credential(cJSON *cluster, int64_t n)
{
	cJSON *options = json_object_at(json_get(cluster, "spec"), "gcsFaultToleranceOptions");

	fill_object(json_object_at(options, "redisPassword"), n);
}

static void add_limits(cJSON *cluster, int64_t n)
{
	cJSON *containers = json_get(cluster, "spec.headGroupSpec.template.spec.containers");
	cJSON *resources = json_object_at(cJSON_GetArrayItem(containers, 0), "resources");

	json_set(resources, "limits", cJSON_CreateObject());
	fill_object(json_get(resources, "limits"), n);
}

static void add_env(cJSON *cluster, int64_t n)
{
	cJSON *containers = json_get(cluster, "spec.headGroupSpec.template.spec.containers"),
	      *env = cJSON_CreateArray();

	for (int64_t i = 0; i < n; i++)
		json_append(env, cJSON_CreateObject());
	json_set(cJSON_GetArrayItem(containers, 0), "env", env);
}

static int64_t values_below(const cJSON *value)
{
	int64_t n = 0;

	json_each(item, value)
		n += 1 + values_below(item);
	return n;
}

/* Makes the spec have so many values. */
static void add_values(cJSON *cluster, int64_t n)
{
	cJSON *spec = json_get(cluster, "spec"), *head = json_get(spec, "headGroupSpec");
	cJSON *args = json_array_at(
		cJSON_GetArrayItem(json_get(head, "template.spec.containers"), 0), "args");

	for (int64_t more = n - 1 - values_below(spec); more > 0; more--)
		json_append(args, cJSON_CreateNumber(1));
}

static void each_bound_holds_and_is_named_with_its_field(void **state)
{
	static const struct {
		void (*grow)(cJSON *cluster, int64_t n);
		int64_t most;
		const char *words;
	} rows[] = {
		{ add_groups, BOUND_GROUPS,
		  "spec.workerGroupSpecs has 501 members, at most 500 are allowed" },
		{ set_hosts, BOUND_HOSTS,
		  "spec.workerGroupSpecs[0].numOfHosts is 4097, at most 4096 are allowed" },
		{ set_least, BOUND_PODS,
		  "spec.workerGroupSpecs[0].minReplicas is 20001, at most 20000 are allowed" },
		{ set_replicas, BOUND_PODS,
		  "spec.workerGroupSpecs[0].replicas is 20001, at most 20000 are allowed" },
		{ add_labels, BOUND_MEMBERS,
		  "spec.workerGroupSpecs[0].labels has 1001 members, at most 1000 are allowed" },
		{ add_params, BOUND_MEMBERS,
		  "spec.headGroupSpec.rayStartParams has 1001 members, at most 1000 are allowed" },
		{ add_annotations, BOUND_MEMBERS,
		  "metadata.annotations has 1001 members, at most 1000 are allowed" },
		{ add_service_annotations, BOUND_MEMBERS,
		  "spec.headServiceAnnotations has 1001 members, at most 1000 are allowed" },
		{ add_service_labels, BOUND_MEMBERS,
		  "spec.headGroupSpec.headService.metadata.labels has 1001 members, at most 1000 are allowed" },
		{ add_service_ports, BOUND_MEMBERS,
		  "spec.headGroupSpec.headService.spec.ports has 1001 members, at most 1000 are allowed" },
		{ add_credential, BOUND_MEMBERS,
		  "spec.gcsFaultToleranceOptions.redisPassword has 1001 members, at most 1000 are allowed" },
		{ add_limits, BOUND_MEMBERS,
		  "spec.headGroupSpec.template.spec.containers[0].resources.limits has 1001 members, at most 1000 are allowed" },
		{ add_values, BOUND_VALUES,
		  "RayCluster.spec has 50001 JSON values, at most 50000 are allowed" },
		{ add_env, BOUND_MEMBERS,
		  "spec.headGroupSpec.template.spec.containers[0].env has 1001 members, at most 1000 are allowed" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int64_t more = 0; more < 2; more++) {
			_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"),
					     *notes = cJSON_CreateArray();

			while (cJSON_GetArraySize(json_get(cluster, "spec.workerGroupSpecs")) > 1)
				cJSON_DeleteItemFromArray(
					json_get(cluster, "spec.workerGroupSpecs"), 1);
			rows[i].grow(cluster, rows[i].most + more);
			bool within = bounds_check(cluster, notes);
			_cleanup_free_ char *text = notes_text(notes, NOTE_SPEC_VALID);
			if (within != !more || (more && strcmp(text, rows[i].words) != 0))
				fail_msg("%s: %d more: %s", rows[i].words, (int)more, text);
		}
}

static void the_product_counts_and_no_number_overflows(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *notes = cJSON_CreateArray();
	(void)state;

	set_replicas(cluster, 100);
	json_set_int(group_of(cluster), "numOfHosts", 4000);
	assert_false(bounds_check(cluster, notes));
	_cleanup_free_ char *text = notes_text(notes, NOTE_SPEC_VALID);
	assert_non_null(
		strstr(text, "spec.workerGroupSpecs: replicas times numOfHosts make 40000"));
	json_set_int(group_of(cluster), "replicas", INT64_MAX);
	json_set_int(group_of(cluster), "maxReplicas", INT64_MAX);
	json_set_int(group_of(cluster), "numOfHosts", INT64_MAX);
	assert_false(bounds_check(cluster, notes));
	json_set_int(group_of(cluster), "replicas", INT64_MIN);
	json_set_int(group_of(cluster), "maxReplicas", INT64_MIN);
	json_set_int(group_of(cluster), "numOfHosts", INT64_MIN);
	assert_true(bounds_check(cluster, notes)); /* a negative number is refused elsewhere */
}

static cJSON *load_crd(void)
{
	static char text[1 << 20];
	FILE *file = fopen(CRD, "r");
	struct err err = { 0 };
	cJSON *crd = NULL;

	assert_non_null(file);
	size_t len = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (yaml_to_json(text, len, &crd, &err) < 0)
		fail_msg("%s", err_text(&err));
	return crd;
}

static void the_crd_has_the_same_bounds(void **state)
{
	_cleanup_json_ cJSON *crd = load_crd();
	const cJSON *spec = json_get(cJSON_GetArrayItem(json_get(crd, "spec.versions"), 0),
				     "schema.openAPIV3Schema.properties.spec.properties");
	const cJSON *groups = json_get(spec, "workerGroupSpecs"),
		    *group = json_get(groups, "items.properties");
	(void)state;

	assert_int_equal(json_int(groups, "maxItems", -1), BOUND_GROUPS);
	assert_int_equal(json_int(spec, "headServiceAnnotations.maxProperties", -1), BOUND_MEMBERS);
	assert_int_equal(json_int(group, "replicas.maximum", -1), BOUND_PODS);
	assert_int_equal(json_int(group, "minReplicas.maximum", -1), BOUND_PODS);
	assert_int_equal(json_int(group, "maxReplicas.maximum", -1), INT32_MAX);
	assert_int_equal(json_int(group, "numOfHosts.maximum", -1), BOUND_HOSTS);
	assert_int_equal(json_int(group, "scaleStrategy.properties.workersToDelete.maxItems", -1),
			 BOUND_TO_DELETE);
	for (int head = 0; head < 2; head++) {
		const cJSON *of = head ? json_get(spec, "headGroupSpec.properties") : group;

		assert_int_equal(json_int(of, "rayStartParams.maxProperties", -1), BOUND_MEMBERS);
		assert_int_equal(json_int(of, "resources.maxProperties", -1), BOUND_MEMBERS);
		assert_int_equal(json_int(of, "labels.maxProperties", -1), BOUND_MEMBERS);
		assert_int_equal(
			json_int(of, "template.properties.spec.properties.containers.maxItems", -1),
			BOUND_MEMBERS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bound_holds_and_is_named_with_its_field),
		cmocka_unit_test(the_product_counts_and_no_number_overflows),
		cmocka_unit_test(the_crd_has_the_same_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
