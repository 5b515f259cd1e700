/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a container when its kernel log is asked about a death. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/kernel/oom_kills.h"

/* A process that was seen in the container. */
struct kernel_suspect {
	const char *name; /* the name that a person uses for it: "ray::leak", "python3 leak.py" */
	int64_t rss; /* bytes, in the last sample */
	pid_t pid; /* in the node's PID namespace, 0 unknown */
};

/*
 * Whether comm, which the kernel cuts to 15 bytes, names this process. The kernel calls "python3
 * leak.py" just "python3".
 */
bool kernel_suspect_is_named(const struct kernel_suspect *s, const char *comm);

struct kernel_question {
	struct oom_self self;
	/* the log comes from the node agent, so each crash in it is of a process of the pod */
	bool own_lines;
	/* foreign processes share its cgroup, so only known processes count as its own */
	bool shared;
	/* in the node's PID namespace, 0 unknown; if it is known, the suspects' PIDs are, too */
	pid_t command;
	pid_t launcher; /* the same for the command's parent, with which the container ends */
	/*
	 * Start of the container: a kill of its command counts from here on, even if reports were
	 * made since.
	 */
	int64_t begin_us;
	/* the newest record before anything had happened, by the kernel's clock; -1 unknown */
	int64_t since_us;
	/* From here on lines without a cgroup count; older lines are from before the sidecar. */
	int64_t named_since_us;
	int64_t ended_us; /* the time of the death by the same clock, or slightly earlier */
	const struct kernel_suspect *suspects;
	size_t n_suspects;
};
