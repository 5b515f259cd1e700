/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of when a Ray pod is ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/testing.h"

#define CONTAINERS "containers: [{name: ray}, {name: proxy}, {name: afterglow}]"

static cJSON *pod_of(const char *spec, const char *statuses, const char *conditions)
{
	char text[1024];

	snprintf(text, sizeof(text), "spec: {%s}\nstatus: {phase: Running, %s, conditions: [%s]}",
		 spec, statuses, conditions);
	return json_of(text);
}

#define STATUSES(ray, proxy, sidecar)                                                                     \
	"containerStatuses: [{name: afterglow, ready: " sidecar "}, {name: proxy, ready: " proxy "}, {name: ray, ready: " ray "}]"
#define READY "{type: Ready, status: \"True\"}"
#define UNREADY "{type: Ready, status: \"False\", reason: ContainersNotReady}"
#define GATE CONTAINERS ", readinessGates: [{conditionType: lb}]"
#define NATIVE CONTAINERS ", initContainers: [{name: setup}, {name: mesh, restartPolicy: Always}]"
#define MESH(ready) STATUSES("true", "true", "false") ", initContainerStatuses: [{name: mesh, ready: " ready "}]"

static void a_pod_is_ready_as_the_kubelet_says_but_for_the_sidecar(void **state)
{
	static const struct {
		const char *spec, *statuses, *conditions;
		bool ready;
	} rows[] = {
		{ CONTAINERS, STATUSES("true", "true", "true"), READY, true },
		{ CONTAINERS, STATUSES("true", "false", "true"), UNREADY, false },
		{ CONTAINERS, STATUSES("false", "true", "true"), UNREADY, false },
		/* A sidecar that is not ready does not make the cluster unready. */
		{ CONTAINERS, STATUSES("true", "true", "false"), UNREADY, true },
		{ CONTAINERS, STATUSES("true", "false", "false"), UNREADY, false },
		/*
		 * The node is lost: its containers were ready, and there is no newer information.
		 */
		{ CONTAINERS, STATUSES("true", "true", "true"), UNREADY, false },
		{ GATE, STATUSES("true", "true", "true"), "{type: Ready, status: \"False\", reason: ReadinessGatesNotReady}", false },
		{ GATE, STATUSES("true", "true", "false"), UNREADY, false },
		{ GATE, STATUSES("true", "true", "false"), UNREADY ", {type: lb, status: \"True\"}", true },
		{ NATIVE, MESH("false"), UNREADY, false },
		{ NATIVE, MESH("true"), UNREADY, true },
		/* The kubelet has reported nothing yet. */
		{ CONTAINERS, STATUSES("true", "true", "true"), "", true },
		{ CONTAINERS, STATUSES("true", "false", "true"), "", false },
		{ CONTAINERS, "containerStatuses: 7", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod =
			pod_of(rows[i].spec, rows[i].statuses, rows[i].conditions);

		if (pod_is_ready(pod) != rows[i].ready)
			fail_msg("row %zu", i);
	}
}

static void what_keeps_a_pod_from_being_ready_is_never_the_sidecar(void **state)
{
	_cleanup_json_ cJSON *one = pod_of(CONTAINERS, STATUSES("true", "false", "false"), UNREADY);
	_cleanup_json_ cJSON *none = pod_of(CONTAINERS, STATUSES("true", "true", "false"), UNREADY);

	(void)state;
	assert_string_equal(json_str(pod_unready_container(one), "name"), "proxy");
	assert_null(pod_unready_container(none));
}

/*
 * A copy of a pod has no commands, so names and the annotation tell; a mesh's proxy may be the
 * first container.
 */
static void rays_container_of_a_copy_is_told_by_its_name(void **state)
{
	static const struct {
		const char *pod, *name;
	} rows[] = {
		{ "spec: {containers: [{name: proxy}, {name: ray-worker}, {name: afterglow}]}", "ray-worker" },
		{ "spec: {containers: [{name: ray-head}, {name: autoscaler}]}", "ray-head" },
		{ "metadata: {annotations: {afterglow.dev/ray-container: ml}}\nspec: {containers: [{name: proxy}, {name: ml}]}", "ml" },
		{ "metadata: {annotations: {afterglow.dev/ray-container: gone}}\nspec: {containers: [{name: ml}, {name: afterglow}]}", "ml" },
		{ "spec: {containers: [{name: ml}, {name: afterglow}]}", "ml" },
		{ "spec: {containers: []}", NULL },
		{ "spec: {containers: [7, {name: [a]}, text]}", NULL },
		{ "{}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = json_of(rows[i].pod);
		const char *name = pod_ray_container_name(pod);

		if (!name != !rows[i].name || (name && strcmp(name, rows[i].name) != 0))
			fail_msg("row %zu: %s", i, name ? name : "none");
	}
}

static void the_end_of_rays_container_counts_behind_a_proxy_too(void **state)
{
	static const char text[] =
		"spec: {restartPolicy: Never, containers: [{name: proxy}, {name: ray-worker}]}\nstatus: {phase: Running, "
		"containerStatuses: [{name: proxy, state: {running: {}}}, {name: ray-worker, state: {terminated: {exitCode: 1}}}]}";
	_cleanup_json_ cJSON *pod = json_of(text);

	(void)state;
	assert_true(pod_is_dead(pod));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_is_ready_as_the_kubelet_says_but_for_the_sidecar),
		cmocka_unit_test(what_keeps_a_pod_from_being_ready_is_never_the_sidecar),
		cmocka_unit_test(rays_container_of_a_copy_is_told_by_its_name),
		cmocka_unit_test(the_end_of_rays_container_counts_behind_a_proxy_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
