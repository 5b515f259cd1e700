/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the sidecar, from its command line and the pod's environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/crash/crashes.h"
#include "sidecar/ending/hooks.h"
#include "sidecar/kernel/kernel_log.h"
#include "sidecar/report/report.h"
#include "sidecar/spool/ship_plan.h"
#include "sidecar/spool/spool.h"

#define DEFAULT_SOCKET "/afterglow/run/afterglow.sock"
#define DEFAULT_SPOOL "/afterglow/spool"
#define DEFAULT_CREDENTIALS "/afterglow/credentials"
#define DEFAULT_WARN_AT 0.8 /* of the memory limit */
#define DEFAULT_GRACE_S 25 /* seconds */
#define DEFAULT_RECONNECT_S 15 /* seconds */
#define COLLECT_PATTERNS_MAX 16

/*
 * Whether the sidecar exits after the last container has ended: never, after a success, or always.
 */
enum leave_after { LEAVE_AFTER_NONE, LEAVE_AFTER_SUCCESS, LEAVE_AFTER_ANY };

struct record_options {
	const char *socket_path;
	/*
	 * The socket to which the node agent connects; NULL: none. No other container may reach its
	 * directory.
	 */
	const char *node_socket;
	/* the store to which bundles are shipped; url NULL: they stay in the spool */
	struct store_options store;
	const char *
		store_name; /* the store's name in reports ("pvc:ray-failures"); NULL: its path or URL */
	/*
	 * The directory to which bundles are written first, and which has what survives the
	 * sidecar; NULL: none.
	 */
	const char *spool;
	/*
	 * A directory in memory through which bundles are shipped while the spool cannot be
	 * written; NULL: none.
	 */
	const char *spool_fallback;
	/*
	 * Without a spool: the directory to which bundles are written first; NULL: that of a
	 * directory store.
	 */
	const char *bundles;
	struct spool_limits spool_limits;
	/* limits of this cluster's part of a directory store; all 0: none */
	struct quota retention;
	const char *ship_program; /* NULL: afterglow-ship beside this program */
	double warn_at; /* fraction of the limit, 0 to 1, at which snapshots begin */
	/* ephemeral-storage limit of the Ray container, bytes; 0: none, or not known */
	int64_t disk_limit;
	/*
	 * The only launcher is a child of ours, which connects once: its connection is not dropped
	 * because it says nothing for a while.
	 */
	bool own_launcher;
	/*
	 * The command had ended well before this sidecar began, and Ray, which it left behind, goes
	 * on: the processes that the sidecar before knew, as one of them may end before it is seen
	 * again. Else NULL.
	 */
	const struct process_watch *left_behind;
	/*
	 * Under exec, when the command has left Ray behind: returns whether another process watches
	 * what is left from now on. launcher_fd is the connection to the launcher. NULL: nobody
	 * would.
	 */
	bool (*hand_over)(int launcher_fd, const struct process_watch *left, void *arg);
	void *hand_over_arg;
	bool slurm; /* under exec: in a job of Slurm */
	/*
	 * The directory of the container's memory cgroup, if it was just made for the container;
	 * else NULL.
	 */
	const char *own_memcg;
	/* on cgroup v1: end the container when the OOM killer has killed one of its processes */
	bool oom_group;
	struct kernel_log_options kernel_log;
	/* patterns of files that go into bundles; NULL at the end */
	const char *collect[COLLECT_PATTERNS_MAX + 1];
	struct hook_options hooks;
	enum cores_mode cores; /* how much is kept of the cores of the container's processes */
	int hold_s; /* seconds for which a container that failed is kept, 0: it is not */
	bool record_success; /* also record an end with exit code 0 */
	/* a pod that is not restarted ends only when all its containers have */
	enum leave_after leave_after;
	int stacks_at_stop_s; /* from a request to stop to the stacks of what still runs; 0: none */
	/*
	 * After a driver has stood in the same wait of Ray's for so long: the stacks of all; 0:
	 * none, and no driver is looked at.
	 */
	int stacks_at_wait_s;
	/* "PORT/PATH" of the liveness probe: take them when it fails; NULL: it is not asked */
	const char *stacks_at_probe;
	bool stacks_at_threshold; /* take them when memory has risen above warn_at */
	int grace_s; /* seconds to ship the spool's bundles after SIGTERM */
	int reconnect_s; /* seconds to wait until the launchers of a previous sidecar reconnect */
	const char *http; /* the address to serve HTTP on (lib/listen_address.h), NULL: none */
	int report_fd; /* the descriptor for reports as text: 1 in a pod, 2 under exec */
	bool events; /* write events as lines of JSON to report_fd */
	bool say_reports; /* also print each report on the stderr of its container */
	struct identity id; /* container is NULL: each launcher sends its name */
};

/* The directory to which bundles are written first; NULL: they are not written. */
const char *record_options_bundles(const struct record_options *o);
/* Whether bundles are shipped from there to a store. */
bool record_options_ships(const struct record_options *o);
/* The beginning of a bundle's place in reports; the bundle's path follows. */
const char *record_options_store_name(const struct record_options *o);
