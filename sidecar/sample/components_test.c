/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of grouping processes: the names are those of Ray 2.60. */
#include "sidecar/sample/components.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "sidecar/sample/components_testing.h"

static const struct {
	const char *name, *command;
	enum component_kind kind;
	const char *label;
} rows[] = {
	{ "raylet", "/x/ray/core/src/ray/raylet/raylet --raylet_socket_name=/tmp", COMPONENT_RAYLET, "raylet" },
	{ "gcs_server", "/x/gcs_server --log_dir=", COMPONENT_GCS, "gcs_server" },
	{ "ray::load", "ray::load", COMPONENT_TASK, "ray::load" },
	{ "ray::Trainer", "ray::Trainer", COMPONENT_TASK, "ray::Trainer" },
	{ "ray::Trainer.fit", "ray::Trainer.fit", COMPONENT_TASK, "ray::Trainer" },
	{ "ray::main.<locals>.load", "", COMPONENT_TASK, "ray::main.<locals>.load" },
	{ "ray::a.b.c", "", COMPONENT_TASK, "ray::a.b.c" },
	{ "ray::.x", "", COMPONENT_TASK, "ray::.x" },
	{ "ray::", "", COMPONENT_TASK, "ray::" },
	{ "ray::IDLE", "ray::IDLE", COMPONENT_IDLE, "ray::IDLE" },
	{ "ray::IDLE_SpillWorker", "", COMPONENT_HELPER, "Ray's object spilling" },
	{ "ray::IDLE_RestoreWorker", "", COMPONENT_HELPER, "Ray's object spilling" },
	{ "ray::JobSupervisor", "", COMPONENT_JOB_SUPERVISOR, "ray::JobSupervisor" },
	{ "ray::JobSupervisor.run", "", COMPONENT_JOB_SUPERVISOR, "ray::JobSupervisor" },
	{ "ray::_ray_internal_job_actor_httpmode-kqsdg:Job", "", COMPONENT_JOB_SUPERVISOR,
	  "ray::JobSupervisor" },
	{ "ray::ProxyActor.ready", "", COMPONENT_HELPER, "ray::ProxyActor" },
	{ "ray::ProxyActorOfMine", "", COMPONENT_TASK, "ray::ProxyActorOfMine" },
	{ "ray::IDLEr", "", COMPONENT_TASK, "ray::IDLEr" },
	{ "ray::SPILL_SpillWorker", "", COMPONENT_HELPER, "Ray's object spilling" },
	{ "ray::DashboardAgent", "", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "ray::RuntimeEnvAgent", "", COMPONENT_HELPER, "Ray's helpers" },
	{ "ray-dashboard-JobHead-0", "ray-dashboard-JobHead-0 (/usr/bin/python3 -c", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "python3 dashboard.py", "/usr/bin/python3 /x/ray/dashboard/dashboard.py --host=", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "python3", "/usr/bin/python3 -c from multiprocessing.forkserver import main; main(25, 27, ['ray', 'ray.dashboard.sub",
	  COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "python3 log_monitor.py", "/usr/bin/python3 -u /x/ray/_private/log_monitor.py", COMPONENT_HELPER, "Ray's helpers" },
	{ "python3 monitor.py", "/usr/bin/python3 -u /x/ray/autoscaler/v2/monitor.py", COMPONENT_HELPER, "Ray's helpers" },
	{ "python3 monitor.py", "python3 monitor.py", COMPONENT_DRIVER, "python3 monitor.py" },
	{ "python3 ray", "/usr/bin/python3 /usr/local/bin/ray start --head --block", COMPONENT_HELPER, "Ray's helpers" },
	{ "python3 ray.util.client.server", "/usr/bin/python3 -m ray.util.client.server --address", COMPONENT_HELPER, "Ray's helpers" },
	{ "python3 train.py", "python3 train.py", COMPONENT_DRIVER, "python3 train.py" },
	{ "python3", "/usr/bin/python3 -c from multiprocessing.resource_tracker import main", COMPONENT_OTHER, "python resource_tracker" },
	{ "afterglow-launch", "/afterglow/bin/afterglow-launch --name x", COMPONENT_HELPER, "afterglow-launch" },
	{ "bash", "bash -c sleep", COMPONENT_OTHER, "bash" },
	{ "raylet2", "", COMPONENT_OTHER, "raylet2" },
	{ "", "", COMPONENT_OTHER, "" },
};

static void a_process_is_known_by_its_name_and_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char label[PROCESS_NAME_MAX];
		enum component_kind kind = component_of(rows[i].name, rows[i].command, label);

		if (kind != rows[i].kind || strcmp(label, rows[i].label) != 0)
			fail_msg("%s: %s \"%s\"", rows[i].name, component_kind_name(kind), label);
	}
}

static void copies_are_one_line_with_sum_and_largest(void **state)
{
	struct components c = { 0 };
	int64_t total;
	(void)state;

	components_add(&c, "raylet", "", 5);
	components_add(&c, "ray::load", "", 10);
	components_add(&c, "ray::load", "", 30);
	components_add(&c, "ray::A.one", "", 7);
	components_add(&c, "ray::A.two", "", 8);
	components_sort(&c);
	assert_int_equal(c.n, 3);
	assert_string_equal(c.list[0].name, "ray::load");
	assert_int_equal(c.list[0].count, 2);
	assert_int_equal(c.list[0].own, 40);
	assert_int_equal(c.list[0].largest, 30);
	assert_string_equal(c.list[1].name, "ray::A");
	assert_int_equal(components_of_kind(&c, COMPONENT_TASK, &total), 4);
	assert_int_equal(total, 55);
	assert_int_equal(components_of_kind(&c, COMPONENT_GCS, NULL), 0);
}

static void a_flood_of_names_neither_hides_the_large_nor_loses_count(void **state)
{
	struct components c = { 0 };
	int64_t total = 0;
	uint32_t count = 0;
	(void)state;

	for (int i = 0; i < 1000; i++) {
		char name[PROCESS_NAME_MAX];

		snprintf(name, sizeof(name), "p%d", i);
		components_add(&c, name, "", i == 700 ? 1000000 : i);
	}
	components_add(&c, "forged", "", -5);
	components_sort(&c);
	for (size_t i = 0; i < c.n; i++) {
		count += c.list[i].count;
		total += c.list[i].own;
	}
	assert_int_equal(c.n, COMPONENTS_MAX);
	assert_string_equal(c.list[0].name, "p700");
	assert_string_equal(c.list[1].name, "p999");
	assert_int_equal(count + c.rest_count, 1001);
	assert_int_equal(total + c.rest_own, 999 * 1000 / 2 - 700 + 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_known_by_its_name_and_command),
		cmocka_unit_test(copies_are_one_line_with_sum_and_largest),
		cmocka_unit_test(a_flood_of_names_neither_hides_the_large_nor_loses_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
