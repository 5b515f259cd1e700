/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes how a container ended, or a process of a container that lives on; a report is made from
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/ray/ray_process_lines.h"
#include "sidecar/sample/limits.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/verdict/gap.h"
#include "sidecar/verdict/launcher_words.h"

/*
 * The end of a container, or of a process while its container lives on. Times are CLOCK_BOOTTIME.
 */
struct ending {
	bool container_lives; /* only a process died */
	bool status_known; /* the launcher reported the wait status */
	int wait_status;
	/* the container's own; NULL: its command was executed, as far as is known */
	const struct unstarted *unstarted;
	int64_t started_ns, ended_ns;
	struct memory after; /* the counters right after */
	bool after_known;
	struct limits limits; /* right after, zero when the launcher died too */
	bool limits_are_late; /* the container's filesystems did not answer */
	bool group_ended_by_us;
	bool pod_terminating;
	/* the request to stop; signal 0: there was none, as far as is known */
	struct stop_request asked;
	/*
	 * No sidecar was running then, and ended_ns is the last sign of life; NULL: a sidecar was
	 * running.
	 */
	const struct gap *gap;
	const struct crash_info *crash; /* from its core; NULL: there is none */
	const struct strbuf *backtrace; /* with crash */
	const char *still_running; /* as in the report */
	const struct strbuf *stacks;
	const char *core_needs; /* without crash: what a core would need; outlives the report */
	bool container_over; /* with crash and container_lives: the container has ended since */
	bool core_is_old; /* the core is from an earlier start of the container */
	bool core_is_unproved; /* nothing shows that its process was the container's */
	/* the process of the core's PID is older than the core, and lives on */
	bool core_pid_lives;
	/* With container_lives: the process of Ray's own that has ended; NULL: none. */
	const struct ray_process_end *process;
	/* the OOM killer's last visit that the container outlived; 0: none */
	int64_t process_oom_ns;
	/* it took a process of the container, and that has a report of its own */
	bool process_oom_reported;
	/*
	 * With container_lives: what Ray logged about the dead worker; NULL: only the kernel's
	 * counters show the death.
	 */
	const struct ray_finding *ray;
};
