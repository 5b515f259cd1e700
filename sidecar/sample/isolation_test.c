/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the names of the cgroups of Ray's resource isolation, and of what Ray logs about them.
 * The lines are those of Ray 2.60's raylet.
 */
#include "sidecar/sample/isolation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "sidecar/ray/ray_lines.h"

static void rays_cgroups_are_known_by_their_names(void **state)
{
	static const struct {
		const char *path;
		enum isolation_part part;
	} rows[] = {
		{ "/sys/fs/cgroup/ray-node_0a1b2c", ISOLATION_NODE },
		{ "/sys/fs/cgroup/ray-node_0a1b2c/system", ISOLATION_SYSTEM },
		{ "/sys/fs/cgroup/ray-node_0a1b2c/system/leaf", ISOLATION_SYSTEM },
		{ "/../cri-containerd-1.scope/ray-node_0a1b2c/user", ISOLATION_USER },
		{ "/ray-node_0a1b2c/user/workers", ISOLATION_WORKERS },
		{ "/ray-node_0a1b2c/user/non-ray", ISOLATION_NON_RAY },
		{ "/ray_node_0a1b2c/application/leaf", ISOLATION_USER }, /* Ray 2.51 */
		{ "/ray_node_0a1b2c/application", ISOLATION_USER },
		{ "/ray_node_", ISOLATION_NONE },
		{ "/", ISOLATION_NONE },
		{ "", ISOLATION_NONE },
		{ "/system", ISOLATION_NONE },
		{ "/user.slice/user", ISOLATION_NONE },
		{ "/ray-node_", ISOLATION_NONE },
		{ "/ray-node_/user", ISOLATION_NONE },
		{ "/my_ray-node_1/user", ISOLATION_NONE },
		{ "/ray-node_1/users", ISOLATION_NONE },
		{ "/ray-node_1/user/workers/mine", ISOLATION_NONE },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (isolation_part_of(rows[i].path) != rows[i].part)
			fail_msg("%s: %d", rows[i].path, isolation_part_of(rows[i].path));
}

static void each_part_has_a_name_and_says_who_is_in_it(void **state)
{
	(void)state;
	for (enum isolation_part part = ISOLATION_NODE; part <= ISOLATION_NON_RAY; part++) {
		assert_true(isolation_name(part)[0] != '\0');
		assert_true(isolation_holds(part)[0] != '\0');
	}
	assert_string_equal(isolation_name(ISOLATION_NONE), "");
	assert_non_null(
		strstr(isolation_advice(ISOLATION_SYSTEM), "higher --system-reserved-memory"));
	assert_non_null(
		strstr(isolation_advice(ISOLATION_WORKERS), "lower --system-reserved-memory"));
	assert_null(isolation_advice(ISOLATION_NODE));
}

static void what_raylet_says_of_the_isolation_is_understood(void **state)
{
	static const struct {
		const char *line, *part; /* NULL: nothing */
	} rows[] = {
		{ "[2026-11-22 05:00:00,123 E 40 60] (raylet) threshold_memory_monitor.cc:112: System slice memory usage 620756992 bytes "
		  "has exceeded the reserved system memory of 524288000 bytes. This can prevent Ray from being able to provide the "
		  "proper protection to critical system processes and can lead to node deaths and significant loss of progress.",
		  "Ray's own processes used more than the memory reserved" },
		{ "[..] (raylet) threshold_memory_monitor.cc:90: Failed to take user and system slice memory snapshot due to: x. The "
		  "threshold memory monitor will not be able to provide resource isolation protection.",
		  "did not protect" },
		{ "Failed to start CgroupManager due to Invalid: Failed to initialize resource isolation because required controllers are "
		  "not available in the cgroup /sys/fs/cgroup.",
		  "could not make the cgroups" },
		{ "Failed to move process 77 into cgroup /a because the cgroup was not found. If resource isolation is enabled, Ray's cgroup "
		  "hierarchy must not be modified while Ray is running.",
		  "somebody else changed the cgroups" },
		{ "System slice memory usage 5 bytes is fine", NULL },
		{ "consider enabling resource isolation via --enable-resource-isolation to prevent node deaths", NULL },
		{ "", NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *remark = isolation_remark(rows[i].line, strlen(rows[i].line));

		assert_int_equal(remark != NULL, rows[i].part != NULL);
		if (remark)
			assert_non_null(strstr(remark, rows[i].part));
	}
}

static void a_record_of_raylet_out_about_it_is_an_event(void **state)
{
	static const char record[] =
		"[2026-11-22 05:00:00,123 E 40 60] (raylet) threshold_memory_monitor.cc:112: System slice memory usage "
		"620756992 bytes has exceeded the reserved system memory of 524288000 bytes. This can lead to node deaths.\n";
	struct ray_event e;
	(void)state;

	assert_true(ray_record_parse(record, sizeof(record) - 1, &e));
	assert_int_equal(e.kind, RAY_ISOLATION);
	assert_non_null(strstr(e.detail, "(--system-reserved-memory)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rays_cgroups_are_known_by_their_names),
		cmocka_unit_test(each_part_has_a_name_and_says_who_is_in_it),
		cmocka_unit_test(a_record_of_raylet_out_about_it_is_an_event),
		cmocka_unit_test(what_raylet_says_of_the_isolation_is_understood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
