/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes Ray's own processes, and knows how they are connected. */
#include "sidecar/ray/ray_process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/exit_code.h"
#include "lib/macros.h"

#define COMM_MAX 15

/* clang-format off */
static const struct {
	const char *type, *title;
	enum failure_class class;
	enum {
		ALONE,
		AGENT, /* of raylet */
		OF_START, /* a child of `ray start` */
	} place;
	const char *logs[RAY_PROCESS_LOGS_MAX];
} kinds[] = {
	[RAY_PROCESS_NONE] = { "", "a process of Ray", FAILURE_RAY_PROCESS_FAILED, ALONE, { NULL } },
	[RAY_PROCESS_RAYLET] = { "raylet", "raylet", FAILURE_RAYLET_FAILED, OF_START,
		{ "raylet.err", "raylet.out" } },
	[RAY_PROCESS_GCS_SERVER] = { "gcs_server", "the GCS server", FAILURE_GCS_FAILED, OF_START,
		{ "gcs_server.err", "gcs_server.out" } },
	[RAY_PROCESS_DASHBOARD] = { "dashboard", "Ray's dashboard", FAILURE_RAY_PROCESS_FAILED, OF_START,
		{ "dashboard.err", "dashboard.log" } },
	[RAY_PROCESS_DASHBOARD_AGENT] = { "dashboard_agent", "Ray's dashboard agent",
		FAILURE_RAY_PROCESS_FAILED, AGENT,
		{ "dashboard_agent.err", "dashboard_agent.log", "raylet.out" } },
	[RAY_PROCESS_RUNTIME_ENV_AGENT] = { "runtime_env_agent", "Ray's runtime env agent",
		FAILURE_RAY_PROCESS_FAILED, AGENT,
		{ "runtime_env_agent.err", "runtime_env_agent.log", "raylet.out" } },
	[RAY_PROCESS_LOG_MONITOR] = { "log_monitor", "Ray's log monitor", FAILURE_RAY_PROCESS_FAILED,
		OF_START, { "log_monitor.err", "log_monitor.log" } },
	[RAY_PROCESS_MONITOR] = { "monitor", "Ray's autoscaler", FAILURE_RAY_PROCESS_FAILED, OF_START,
		{ "monitor.err", "monitor.log", "monitor.out" } },
	[RAY_PROCESS_CLIENT_SERVER] = { "ray_client_server", "Ray's client server",
		FAILURE_RAY_PROCESS_FAILED, OF_START,
		{ "ray_client_server.err", "ray_client_server.out" } },
	[RAY_PROCESS_JOB_SUPERVISOR] = { "job_supervisor", "the supervisor of a Ray job",
		FAILURE_RAY_PROCESS_FAILED, ALONE, { NULL } },
	[RAY_PROCESS_DRIVER] = { "driver", "the driver of a Ray job", FAILURE_RAY_JOB_FAILED, ALONE, { NULL } },
	[RAY_PROCESS_START] = { "ray start", "`ray start`", FAILURE_RAY_PROCESS_FAILED, ALONE, { NULL } },
};
/* clang-format on */

/*
 * The processes as Ray 2.x starts them. Releases before 2.9 do not set the titles of their agents.
 * The first rule that fits decides.
 */
static const struct {
	const char *name; /* the beginning of the process's name */
	const char *command; /* a text anywhere in the command line */
	enum ray_process_kind kind;
} rules[] = {
	{ "raylet", "/raylet", RAY_PROCESS_RAYLET },
	{ "gcs_server", "/gcs_server", RAY_PROCESS_GCS_SERVER },
	{ "ray::DashboardAgent", "", RAY_PROCESS_DASHBOARD_AGENT },
	{ "ray::RuntimeEnvAgent", "", RAY_PROCESS_RUNTIME_ENV_AGENT },
	{ "ray::JobSupervisor", "", RAY_PROCESS_JOB_SUPERVISOR },
	/* Its title in a method, which may stay when another method begins before that ends. */
	{ "ray::_ray_internal_job_actor_", "", RAY_PROCESS_JOB_SUPERVISOR },
	{ "python", "/ray/dashboard/dashboard.py", RAY_PROCESS_DASHBOARD },
	{ "python", "/ray/dashboard/agent.py", RAY_PROCESS_DASHBOARD_AGENT },
	{ "python", "/ray/_private/runtime_env/agent/main.py", RAY_PROCESS_RUNTIME_ENV_AGENT },
	{ "python", "/ray/_private/log_monitor.py", RAY_PROCESS_LOG_MONITOR },
	{ "python", "/ray/autoscaler/_private/monitor.py", RAY_PROCESS_MONITOR },
	{ "python", "/ray/autoscaler/v2/monitor.py", RAY_PROCESS_MONITOR },
	{ "python", "-m ray.util.client.server", RAY_PROCESS_CLIENT_SERVER },
	{ "python", "/ray start ", RAY_PROCESS_START },
};

enum ray_process_kind ray_process_of(const char *name, const char *command)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (strncmp(name, rules[i].name, strlen(rules[i].name)) == 0 &&
		    strstr(command, rules[i].command))
			return rules[i].kind;
	return RAY_PROCESS_NONE;
}

/* Finds no kind for "python3", because several of Ray's processes have that name. */
enum ray_process_kind ray_process_of_comm(const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (strcmp(rules[i].name, "python") != 0 &&
		    strlen(comm) == MIN(strlen(rules[i].name), (size_t)COMM_MAX) &&
		    strncmp(comm, rules[i].name, COMM_MAX) == 0)
			return rules[i].kind;
	return RAY_PROCESS_NONE;
}

enum ray_process_kind ray_process_of_type(const char *text, size_t len)
{
	for (size_t i = 1; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].type) == len && memcmp(kinds[i].type, text, len) == 0)
			return (enum ray_process_kind)i;
	return RAY_PROCESS_NONE;
}

const char *ray_process_type(enum ray_process_kind kind)
{
	return kinds[kind].type;
}

const char *ray_process_title(enum ray_process_kind kind)
{
	return kinds[kind].title;
}

bool ray_process_is_agent(enum ray_process_kind kind)
{
	return kinds[kind].place == AGENT;
}

bool ray_process_is_of_start(enum ray_process_kind kind)
{
	return kinds[kind].place == OF_START;
}

bool ray_process_ended_in_order(int wait_status)
{
	int code = WEXITSTATUS(wait_status);

	if (WIFSIGNALED(wait_status))
		return WTERMSIG(wait_status) == SIGTERM;
	return code == 0 || code == SIGTERM || code == EXIT_CODE_OF_SIGNAL(SIGTERM);
}

enum failure_class ray_process_class(enum ray_process_kind kind)
{
	return kinds[kind].class;
}

void ray_process_logs(enum ray_process_kind kind,
		      const char *ret_names[static RAY_PROCESS_LOGS_MAX])
{
	memcpy(ret_names, kinds[kind].logs, sizeof(kinds[kind].logs));
}
