/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a group's author says about Ray's size, as tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/raycluster/own_sizing.h"
#include "operator/raycluster/testing.h"

static void what_the_author_says_is_seen(void **state)
{
	static const struct {
		const char *container, *params;
		bool keeps_command, cpus, memory, unseen;
	} rows[] = {
		{ "{}", "{}", false, false, false, false },
		{ "{env: [{name: RAY_DEFAULT_OBJECT_STORE_MEMORY_PROPORTION, value: \"0.6\"}]}", "{}", false, false, true, false },
		{ "{env: [{name: RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES, valueFrom: {}}]}", "{}", false, false, true, false },
		{ "{env: [{name: RAY_OVERRIDE_RESOURCES, value: \"{}\"}]}", "{}", false, true, true, false },
		{ "{env: [{name: RAY_USE_MULTIPROCESSING_CPU_COUNT, value: \"1\"}]}", "{}", false, true, false, false },
		{ "{env: [{name: RAY_DEFAULT_MIN_SYSTEM_RESERVED_MEMORY_BYTES, value: \"1\"}]}", "{}", false, false, true, false },
		/*
		 * The monitor's variables size nothing, and a worker's own variables are not Ray's.
		 */
		{ "{env: [{name: RAY_memory_usage_threshold, value: \"0.9\"}, {name: MY_RAY_OVERRIDE_RESOURCES, value: x}]}", "{}",
		  false, false, false, false },
		{ "{envFrom: [{secretRef: {name: s3}}]}", "{}", false, false, false, true },
		{ "{envFrom: [{prefix: RA, secretRef: {name: s3}}]}", "{}", false, false, false, true },
		{ "{envFrom: [{prefix: RAY_DEFAULT_, secretRef: {name: s3}}]}", "{}", false, false, false, true },
		{ "{envFrom: [{prefix: AWS_, secretRef: {name: s3}}]}", "{}", false, false, false, false },
		{ "{command: [bash, -c], args: [\"ray start --head --num-cpus=4\"]}", "{}", false, true, true, false },
		{ "{command: [bash, -c, \"eval $KUBERAY_GEN_RAY_START_CMD --num-cpus=4\"]}", "{}", true, true, false, false },
		{ "{command: [bash, -c, \"eval $KUBERAY_GEN_RAY_START_CMD --object-store-memory=$STORE\"]}", "{}", true, false, true, false },
		{ "{command: [bash, -c, \"$KUBERAY_GEN_RAY_START_CMD\"]}", "{}", true, false, false, false },
		/* Only a command that asks for it gets what KubeRay makes of rayStartParams. */
		{ "{command: [/start.sh]}", "{}", true, true, true, false },
		{ "{command: [/prepare.sh]}", "{}", false, false, false, false },
		{ "{}", "{enable-resource-isolation: \"true\", system-reserved-memory: \"1000\"}", false, false, true, false },
		{ "{env: {a: b}, envFrom: 3, command: ray start, args: [[ray start], 7]}", "[]", false, false, false, false },
		{ "text", "{}", false, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *container = json_of(rows[i].container),
				     *params = json_of(rows[i].params);
		struct own_sizing own = own_sizing_of(container, params, rows[i].keeps_command);

		if (own.cpus != rows[i].cpus || own.memory != rows[i].memory ||
		    own.unseen != rows[i].unseen)
			fail_msg("row %zu: cpus %d, memory %d, unseen %d", i, own.cpus, own.memory,
				 own.unseen);
	}
}

static void an_annotation_keeps_the_command(void **state)
{
	_cleanup_json_ cJSON *yes = json_of("{" OVERWRITE_ANNOTATION ": \"True\"}"),
			     *no = json_of("{" OVERWRITE_ANNOTATION ": \"yes\"}");

	(void)state;
	assert_true(keeps_own_command(yes));
	assert_false(keeps_own_command(no) || keeps_own_command(NULL));
}

static void groups_that_ray_resizes_are_found_by_their_names(void **state)
{
	static const struct {
		const char *annotation;
		bool head, small;
	} rows[] = {
		{ NULL, false, false },
		{ "", false, false },
		{ "{\"groups\":{\"small\":{\"max-cpu\":\"4\"}}}", false, true },
		{ "{\"groups\":{\"headgroup\":{},\"big\":{}}}", true, false },
		{ "{\"groups\":{}}", false, false },
		/* Nobody can say which groups these name. */
		{ "{\"groups\":{\"small\"", true, true },
		{ "{\"groups\":[{}]}", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *annotations = cJSON_CreateObject();
		_cleanup_(resized_groups_release) struct resized_groups resized = { 0 };

		if (rows[i].annotation)
			json_set_str(annotations, "ray.io/ippr", rows[i].annotation);
		resized = resized_groups_of(annotations);
		if (resized_groups_have(&resized, "headgroup") != rows[i].head ||
		    resized_groups_have(&resized, "small") != rows[i].small)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_author_says_is_seen),
		cmocka_unit_test(an_annotation_keeps_the_command),
		cmocka_unit_test(groups_that_ray_resizes_are_found_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
