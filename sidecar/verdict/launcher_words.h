/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about an end that only the launcher knows and reports. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/launch/protocol.h"
#include "sidecar/sample/proc_parse.h"

/* A request to stop, by a signal to the launcher. */
struct stop_request {
	int signal; /* SIGTERM, SIGINT or SIGQUIT; 0: there was no request, as far as is known */
	/*
	 * in the container's PID namespace; 0: a process outside of it, such as the container
	 * runtime
	 */
	pid_t sender;
	char sender_name[16]; /* by the kernel; "": not known */
	int64_t at_ns; /* CLOCK_BOOTTIME */
};

/* The end of a process that the launcher watched. */
struct watched_end {
	pid_t pid; /* in the container's PID namespace; 0: a free place */
	bool status_known;
	int wait_status; /* as waitpid(2) gives it */
	int64_t ended_ns; /* CLOCK_BOOTTIME */
	bool worker; /* one of Ray's workers: raylet logs how they end */
	bool told; /* in a report of its own, or with its core */
	char name[PROCESS_NAME_MAX]; /* "": not known, as a previous sidecar had it watched */
};

/* A command that was never executed. */
struct unstarted {
	int error; /* errno of execve(2) */
	bool there; /* a file of that name exists, so ENOENT means its interpreter or loader */
	char command[LAUNCH_COMMAND_MAX + 1]; /* printable */
};
