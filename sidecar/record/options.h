/* SPDX-License-Identifier: Apache-2.0 */
/* What the sidecar is told: by the command line, and by the pod's environment. */
#ifndef AFTERGLOW_SIDECAR_RECORD_OPTIONS_H
#define AFTERGLOW_SIDECAR_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/crash/crashes.h"
#include "sidecar/kernel/kernel_log.h"
#include "sidecar/record/hooks.h"
#include "sidecar/report/report.h"
#include "sidecar/spool/ship_plan.h"
#include "sidecar/spool/spool.h"

#define DEFAULT_SOCKET "/afterglow/run/afterglow.sock"
#define DEFAULT_SPOOL "/afterglow/spool"
#define DEFAULT_CREDENTIALS "/afterglow/credentials"
#define DEFAULT_WARN_AT 0.8
#define DEFAULT_GRACE_S 25
#define DEFAULT_RECONNECT_S 15
#define COLLECT_PATTERNS_MAX 16

/* After which end of the last container the sidecar ends, too. */
enum leave_after { LEAVE_AFTER_NONE, LEAVE_AFTER_SUCCESS, LEAVE_AFTER_ANY };

struct record_options {
	const char *socket_path;
	const char *node_socket; /* where the node agent connects, NULL: nowhere. Nobody else of the pod may reach its directory */
	struct store_options store; /* where bundles end up; url NULL: they stay in the spool */
	const char *store_name; /* what reports call the store ("pvc:ray-failures"), NULL: its path or URL */
	const char *spool; /* where bundles are written first, and what survives the sidecar; NULL: nothing does */
	const char *spool_fallback; /* in memory: bundles go there on their way while the spool cannot be written; NULL: nowhere */
	const char *bundles; /* without a spool: where bundles are written first, NULL: a store that is a directory */
	struct spool_limits spool_limits;
	struct quota retention; /* of a directory store, for this cluster's part of it; all 0: it is left alone */
	const char *ship_program; /* NULL: afterglow-ship beside this program */
	double warn_at; /* fraction of the limit, 0 to 1, at which snapshots begin */
	int64_t disk_limit; /* ephemeral-storage limit of the Ray container, bytes; 0: none, or not known */
	const char *own_memcg; /* the directory of the container's memory cgroup, if it was made for it just now; else NULL */
	bool oom_group; /* on cgroup v1, end the container when the OOM killer took one process */
	struct kernel_log_options kernel_log;
	const char *collect[COLLECT_PATTERNS_MAX + 1]; /* files of the container that go into its bundles; ends with NULL */
	struct hook_options hooks;
	enum cores_mode cores; /* what is kept of the cores of its processes */
	int hold_s; /* keep a container that failed this long, 0: not at all */
	bool record_success; /* make a record of exit code 0 too */
	enum leave_after leave_after; /* whether it ends by itself, as a pod that is not restarted can end only with all containers */
	int grace_s; /* after SIGTERM, how long to ship what is not in the store */
	int reconnect_s; /* how long to wait for the launchers of a sidecar before this one */
	const char *http; /* http_address_valid, NULL: no HTTP */
	int report_fd; /* where text reports go: 1 in a pod, 2 under exec */
	bool events; /* JSON lines of what happens, on report_fd */
	bool say_reports; /* reports also on the stderr of the container they are about */
	struct identity id; /* container is NULL: it comes with each launcher */
};

/* The directory that bundles are written to first; NULL: they are not written. */
const char *record_options_bundles(const struct record_options *o);
/* Whether they are to be brought from there to a store. */
bool record_options_ships(const struct record_options *o);
/* What reports call the place where bundles end up; their path follows. */
const char *record_options_store_name(const struct record_options *o);

#endif
