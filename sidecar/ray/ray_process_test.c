/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/ray/ray_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "sidecar/sample/proc_parse.h"

#define RAY "/usr/local/lib/python3.11/dist-packages/ray/"

/* Command lines of the head of Ray 2.60 as recorded, shortened. Blanks stand for NULs. */
static const struct {
	const char *cmdline;
	enum ray_process_kind kind;
} recorded[] = {
	{ RAY "core/src/ray/gcs/gcs_server --log_dir=/tmp/ray/session_2026/logs", RAY_PROCESS_GCS_SERVER },
	{ RAY "core/src/ray/raylet/raylet --raylet_socket_name=/tmp/ray/session_2026/sockets/raylet", RAY_PROCESS_RAYLET },
	{ "/usr/bin/python3 -u " RAY "autoscaler/v2/monitor.py --logs-dir=/tmp/ray/session_2026/logs", RAY_PROCESS_MONITOR },
	{ "/usr/bin/python3 -u " RAY "autoscaler/_private/monitor.py --logs-dir=/tmp/ray/logs", RAY_PROCESS_MONITOR },
	{ "/usr/bin/python3 -m ray.util.client.server --address=10.246.0.76:6379", RAY_PROCESS_CLIENT_SERVER },
	{ "/usr/bin/python3 " RAY "dashboard/dashboard.py --host=0.0.0.0 --port=8265", RAY_PROCESS_DASHBOARD },
	{ "/usr/bin/python3 -u " RAY "_private/log_monitor.py --session-dir=/tmp/ray", RAY_PROCESS_LOG_MONITOR },
	{ "ray::DashboardAgent", RAY_PROCESS_DASHBOARD_AGENT },
	{ "ray::RuntimeEnvAgent", RAY_PROCESS_RUNTIME_ENV_AGENT },
	{ "/usr/bin/python3 -u " RAY "dashboard/agent.py --node-ip-address=10.0.0.1", RAY_PROCESS_DASHBOARD_AGENT },
	{ "ray::JobSupervisor", RAY_PROCESS_JOB_SUPERVISOR },
	{ "ray::JobSupervisor.run", RAY_PROCESS_JOB_SUPERVISOR },
	{ "ray::_ray_internal_job_actor_httpmode-kqsdg:Job", RAY_PROCESS_JOB_SUPERVISOR },
	{ "/usr/bin/python3 /usr/local/bin/ray start --head --block", RAY_PROCESS_START },
	{ "ray-dashboard-JobHead-0 (/usr/bin/python3 -c x)", RAY_PROCESS_NONE },
	{ "/usr/bin/python3 -c from multiprocessing.forkserver import main", RAY_PROCESS_NONE },
	{ "ray::leak", RAY_PROCESS_NONE },
	{ "ray::IDLE", RAY_PROCESS_NONE },
	{ "/usr/bin/python3 train.py --log /ray/dashboard", RAY_PROCESS_NONE },
	{ "/bin/sh -c raylet", RAY_PROCESS_NONE },
	/* Any process may have this name; Ray starts raylet by its path. */
	{ "raylet", RAY_PROCESS_NONE },
	{ "tail -f /tmp/ray/session_latest/logs/raylet.out", RAY_PROCESS_NONE },
};

static void the_processes_of_a_head_are_known_by_their_command_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		char name[PROCESS_NAME_MAX] = "", command[PROCESS_COMMAND_MAX] = "", data[256];
		size_t len = strlen(recorded[i].cmdline) + 1;

		memcpy(data, recorded[i].cmdline, len);
		/* A title is a single argument. */
		for (size_t n = 0;
		     strncmp(data, "ray::", 5) != 0 && strncmp(data, "ray-", 4) != 0 && n < len;
		     n++)
			if (data[n] == ' ')
				data[n] = '\0';
		assert_true(proc_parse_cmdline(data, len, name, command));
		if (ray_process_of(name, command) != recorded[i].kind)
			fail_msg("%s (%s) is kind %d", name, command,
				 (int)ray_process_of(name, command));
	}
}

static void every_kind_has_the_name_that_ray_gives_it(void **state)
{
	(void)state;
	for (enum ray_process_kind kind = RAY_PROCESS_RAYLET; kind < RAY_PROCESS_KINDS; kind++) {
		const char *type = ray_process_type(kind);

		assert_int_equal(ray_process_of_type(type, strlen(type)), kind);
		assert_true(strlen(ray_process_title(kind)) > 0);
	}
	assert_int_equal(ray_process_of_type("raylet [exit", 6), RAY_PROCESS_RAYLET);
	assert_int_equal(ray_process_of_type("raylets", 7), RAY_PROCESS_NONE);
	assert_int_equal(ray_process_of_type("", 0), RAY_PROCESS_NONE);
}

static void a_process_is_known_by_the_fifteen_bytes_that_the_kernel_keeps(void **state)
{
	(void)state;
	assert_int_equal(ray_process_of_comm("raylet"), RAY_PROCESS_RAYLET);
	assert_int_equal(ray_process_of_comm("gcs_server"), RAY_PROCESS_GCS_SERVER);
	assert_int_equal(ray_process_of_comm("ray::DashboardA"), RAY_PROCESS_DASHBOARD_AGENT);
	assert_int_equal(ray_process_of_comm("ray::RuntimeEnv"), RAY_PROCESS_RUNTIME_ENV_AGENT);
	assert_int_equal(ray_process_of_comm("ray::Dashboard"), RAY_PROCESS_NONE);
	assert_int_equal(ray_process_of_comm("raylets"), RAY_PROCESS_NONE);
	assert_int_equal(ray_process_of_comm("python3"), RAY_PROCESS_NONE);
	assert_int_equal(ray_process_of_comm("python"), RAY_PROCESS_NONE);
	assert_int_equal(ray_process_of_comm(""), RAY_PROCESS_NONE);
}

static void an_end_in_order_is_what_ray_start_takes_for_one(void **state)
{
	(void)state;
	assert_true(ray_process_ended_in_order(0));
	assert_true(ray_process_ended_in_order(15));
	assert_true(ray_process_ended_in_order(15 << 8));
	assert_true(ray_process_ended_in_order(143 << 8));
	assert_false(ray_process_ended_in_order(9));
	assert_false(ray_process_ended_in_order(139));
	assert_false(ray_process_ended_in_order(1 << 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_processes_of_a_head_are_known_by_their_command_lines),
		cmocka_unit_test(every_kind_has_the_name_that_ray_gives_it),
		cmocka_unit_test(a_process_is_known_by_the_fifteen_bytes_that_the_kernel_keeps),
		cmocka_unit_test(an_end_in_order_is_what_ray_start_takes_for_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
