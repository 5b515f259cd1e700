/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder is told: by the command line, and by the pod's environment. */
#ifndef AFTERGLOW_SIDECAR_RECORD_OPTIONS_H
#define AFTERGLOW_SIDECAR_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/crash/crashes.h"
#include "sidecar/kernel/kernel_log.h"
#include "sidecar/record/hooks.h"
#include "sidecar/report/report.h"

#define DEFAULT_SOCKET "/afterglow/run/afterglow.sock"
#define DEFAULT_SPOOL "/afterglow/spool"
#define DEFAULT_WARN_AT 0.8
#define DEFAULT_GRACE_S 25
#define DEFAULT_RECONNECT_S 15
#define COLLECT_PATTERNS_MAX 16

struct recorder_options {
	const char *socket_path;
	const char *store; /* directory of the bundles, NULL: the spool only */
	const char *store_name; /* what reports call the store ("pvc:ray-failures"), NULL: its path */
	const char *spool; /* where bundles go when the store fails, NULL: nowhere */
	double warn_at; /* fraction of the limit, 0 to 1, at which snapshots begin */
	bool oom_group; /* on cgroup v1, end the container when the OOM killer took one process */
	struct kernel_log_options kernel_log;
	const char *collect[COLLECT_PATTERNS_MAX + 1]; /* files of the container that go into its bundles; ends with NULL */
	struct hook_options hooks;
	enum cores_mode cores; /* what is kept of the cores of its processes */
	int hold_s; /* keep a container that failed this long, 0: not at all */
	bool record_success; /* make a record of exit code 0 too */
	int grace_s; /* after SIGTERM, how long to wait for the containers to end */
	int reconnect_s; /* how long to wait for the launchers of a recorder before this one */
	const char *http; /* http_address_valid, NULL: no HTTP */
	int report_fd; /* where text reports go: 1 in a pod, 2 under exec */
	bool events; /* JSON lines of what happens, on report_fd */
	bool say_reports; /* reports also on the stderr of the container they are about */
	struct identity id; /* container is NULL: it comes with each launcher */
};

#endif
