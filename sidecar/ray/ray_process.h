/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes Ray's own processes in a container, and knows how they are connected:
 * `ray start --block` ends with exit code 1 as soon as a child of it did not end in
 * order, raylet ends when one of its agents ends, and every raylet ends without the
 * GCS. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/failure_class.h"

enum ray_process_kind {
	RAY_PROCESS_NONE,
	RAY_PROCESS_RAYLET,
	RAY_PROCESS_GCS_SERVER,
	RAY_PROCESS_DASHBOARD,
	RAY_PROCESS_DASHBOARD_AGENT,
	RAY_PROCESS_RUNTIME_ENV_AGENT,
	RAY_PROCESS_LOG_MONITOR,
	RAY_PROCESS_MONITOR, /* the autoscaler's */
	RAY_PROCESS_CLIENT_SERVER, /* of the Ray client, ray:// */
	RAY_PROCESS_JOB_SUPERVISOR,
	RAY_PROCESS_DRIVER, /* of a job */
	RAY_PROCESS_START, /* `ray start` itself */
	RAY_PROCESS_KINDS
};

/* The end of one of these processes. */
struct ray_process_end {
	enum ray_process_kind kind;
	pid_t pid; /* in the container's PID namespace; 0: not known */
	bool status_known; /* the launcher read the wait status; false: wait_status is 0 */
	int wait_status; /* as waitpid(2) gives it */
	int64_t started_ns; /* CLOCK_BOOTTIME; 0: not known */
	/* CLOCK_BOOTTIME; when no launcher watched it, the time when it was first missed */
	int64_t ended_ns;
};

/*
 * The kind of a process, by its name and command line as proc_parse_cmdline makes them. A driver
 * looks like any other Python program, so it is RAY_PROCESS_NONE.
 */
enum ray_process_kind ray_process_of(const char *name, const char *command);

/*
 * The kind of a process by the kernel's name for it, at most 15 bytes: "raylet", "ray::DashboardA".
 * RAY_PROCESS_NONE for other names.
 */
enum ray_process_kind ray_process_of_comm(const char *comm);

/*
 * The kind by the name that Ray gives it: "raylet", "log_monitor". RAY_PROCESS_NONE for other
 * names. text needs no final NUL.
 */
enum ray_process_kind ray_process_of_type(const char *text, size_t len);

/* The inverse: the name that Ray gives the kind, "dashboard_agent"; never NULL. */
const char *ray_process_type(enum ray_process_kind kind);
/* For sentences: "Ray's dashboard agent", "raylet". */
const char *ray_process_title(enum ray_process_kind kind);

/* Whether it is an agent of raylet, which ends with it. */
bool ray_process_is_agent(enum ray_process_kind kind);
/* Whether `ray start` is its parent, and ends when it does not end in order. */
bool ray_process_is_of_start(enum ray_process_kind kind);
/* Whether `ray start` takes such an end for an orderly one: exit code 0, SIGTERM, 15 or 143. */
bool ray_process_ended_in_order(int wait_status);

/* The class of a death whose first cause is a process of this kind. */
enum failure_class ray_process_class(enum ray_process_kind kind);

#define RAY_PROCESS_LOGS_MAX 3
/* The files below logs/ that say most about its end; the remaining names are NULL. */
void ray_process_logs(enum ray_process_kind kind,
		      const char *ret_names[static RAY_PROCESS_LOGS_MAX]);
