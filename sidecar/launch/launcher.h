/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the launcher: the command, the connection to the sidecar, and how long the launcher
 * stays.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/launch/clock.h"
#include "sidecar/launch/command.h"
#include "sidecar/launch/cores.h"
#include "sidecar/launch/forwarding.h"
#include "sidecar/launch/hooks.h"
#include "sidecar/launch/options.h"
#include "sidecar/launch/speaker.h"
#include "sidecar/launch/stop_signal.h"
#include "sidecar/launch/watched.h"

#define LINGER_NS (2 * NS_PER_SEC) /* wait for "done" after the command ended */

struct launcher {
	const struct options *options;
	int signal_fd;
	int socket_fd; /* -1 while not connected */
	int cgroup_fd, cgroup_version; /* of own_cgroup_open, at our start */
	pid_t command;
	const struct command_report
		*report; /* written by the child before it runs the command; NULL: not known */
	int64_t started_ns;
	int64_t retry_at_ns;
	bool met; /* a sidecar was connected */
	bool refused; /* a process other than the sidecar listened on its socket */
	/* The command has ended, and no sidecar has received that, but one may yet. */
	bool awaiting;
	bool queue_full; /* a sidecar listened at the last try, but took no more connections */
	bool ended;
	int wait_status;
	int64_t ended_ns;
	int64_t tell_until_ns; /* until when to try to tell a sidecar that lives of the end */
	int64_t linger_until_ns;
	int64_t release_ns; /* when --release asked it to end; 0: it did not */
	bool held; /* the sidecar ordered a hold, so the wait goes on without a sidecar */
	struct hooks hooks;
	struct cores cores;
	struct watched watched;
	struct forwarding forwarding; /* of signals to the command */
	struct stop_signal stop; /* the container was asked to stop */
	struct speaker speaker;
	const sigset_t *original_mask;
	/* the sidecar ordered a kill, so orphans that become our children are killed too */
	bool killing;
	bool released; /* the sidecar ordered "done", or there is no sidecar to wait for */
};

/*
 * Says hello on a new connection to a sidecar, which is dropped if that fails, and all that a new
 * sidecar has to know.
 */
void launcher_greet(struct launcher *l);

/* The sidecar's orders (orders.c) */

/*
 * Ends the connection. If the command has ended and a sidecar was told of that, the launcher does
 * not wait for the sidecar any longer.
 */
void launcher_disconnect(struct launcher *l);

/*
 * Carries out one order. The loop does so once in each round, so that a flood of orders does not
 * delay signals and reaping.
 */
void launcher_read_order(struct launcher *l);

/* After the order to kill: kills the orphans that have become our children. */
void launcher_kill_children(const struct launcher *l);
