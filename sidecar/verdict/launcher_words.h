/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about an end that only the launcher knows and reports. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_LAUNCHER_WORDS_H
#define AFTERGLOW_SIDECAR_VERDICT_LAUNCHER_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/launch/protocol.h"

/* A request to stop, by a signal to the launcher. */
struct stop_request {
	int signal; /* SIGTERM, SIGINT or SIGQUIT; 0: there was no request, as far as is known */
	/*
	 * in the container's PID namespace; 0: a process outside of it, such as the container
	 * runtime
	 */
	pid_t sender;
	int64_t at_ns; /* CLOCK_BOOTTIME */
};

/* A command that was never executed. */
struct unstarted {
	int error; /* errno of execve(2) */
	bool there; /* a file of that name exists, so ENOENT means its interpreter or loader */
	char command[LAUNCH_COMMAND_MAX + 1]; /* printable */
};

#endif
