/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which objects of a cluster are read before it is planned. */
#include "operator/cluster_controller/wanted_objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "operator/kube/object.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/testing.h"

static void assert_wanted(const cJSON *cluster, const char *ingress, const char *claim)
{
	struct namespace_lookup lookup = { 0 };

	wanted_objects(cluster, NULL, &lookup);
	assert_string_equal(lookup.objects[LOOKUP_INGRESS].name, ingress);
	assert_string_equal(lookup.objects[LOOKUP_GCS_CLAIM].name, claim);
	if (!lookup.objects[LOOKUP_SERVICE].name[0])
		assert_string_equal(lookup.objects[LOOKUP_HEADLESS].name, "");
}

static void an_ingress_and_a_claim_are_looked_for_where_the_cluster_has_them(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml");
	(void)state;

	assert_wanted(cluster, "", "");
	json_set(json_get(cluster, "spec.headGroupSpec"), "enableIngress", cJSON_CreateTrue());
	json_set(json_get(cluster, "spec"), "gcsFaultToleranceOptions",
		 json_of("{backend: rocksdb}"));
	assert_wanted(cluster, "demo-head-ingress", "demo-gcs-pvc");
}

static void both_services_are_looked_for_until_they_are_known_to_be_foreign(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"),
			     *foreign = object_new("v1", "Service", "ml", "demo-head-svc");
	struct namespace_lookup lookup = { 0 }, again = { 0 };
	struct known_state known = { 0 };
	struct known_cluster *own = known_state_of_cluster(&known, "ray/demo");
	(void)state;

	json_set_int(json_get(cluster, "spec.workerGroupSpecs")->child, "numOfHosts", 2);
	wanted_objects(cluster, own, &lookup);
	assert_string_equal(lookup.objects[LOOKUP_SERVICE].name, "demo-head-svc");
	assert_string_equal(lookup.objects[LOOKUP_HEADLESS].name, "demo-headless");
	known_state_note_applied(own, foreign, INT64_MAX);
	wanted_objects(cluster, own, &again);
	assert_string_equal(again.objects[LOOKUP_SERVICE].name, "");
	known_state_release(&known);
}

/* Otherwise a change of the account would bind it to a role that is known to be another's. */
static void the_role_is_looked_for_each_time_that_a_binding_is_to_be_made(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *role = autoscaler_role(cluster),
			     *binding = NULL;
	struct namespace_lookup first = { 0 }, again = { 0 }, bound = { 0 };
	struct known_state known = { 0 };
	struct known_cluster *own = known_state_of_cluster(&known, "ray/demo");
	(void)state;

	wanted_objects(cluster, own, &first);
	assert_string_equal(first.objects[LOOKUP_ROLE].name, "");
	json_set(json_get(cluster, "spec"), "enableInTreeAutoscaling", cJSON_CreateTrue());
	known_state_note_applied(own, role, INT64_MAX);
	wanted_objects(cluster, own, &again);
	for (size_t i = LOOKUP_ACCOUNT; i <= LOOKUP_BINDING; i++)
		assert_string_equal(again.objects[i].name, "demo");
	binding = autoscaler_binding(cluster);
	known_state_note_applied(own, binding, INT64_MAX);
	wanted_objects(cluster, own, &bound);
	assert_string_equal(bound.objects[LOOKUP_ROLE].name, "");
	known_state_release(&known);
}

static void of_a_cluster_that_is_too_large_nothing_is_looked_for(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml");
	cJSON *annotations = json_object_at(json_get(cluster, "metadata"), "annotations");
	char name[32];
	(void)state;

	json_set(json_get(cluster, "spec.headGroupSpec"), "enableIngress", cJSON_CreateTrue());
	while (cJSON_GetArraySize(annotations) <= BOUND_MEMBERS) {
		snprintf(name, sizeof(name), "k%d", cJSON_GetArraySize(annotations));
		json_set_str(annotations, name, "v");
	}
	assert_wanted(cluster, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ingress_and_a_claim_are_looked_for_where_the_cluster_has_them),
		cmocka_unit_test(both_services_are_looked_for_until_they_are_known_to_be_foreign),
		cmocka_unit_test(the_role_is_looked_for_each_time_that_a_binding_is_to_be_made),
		cmocka_unit_test(of_a_cluster_that_is_too_large_nothing_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
