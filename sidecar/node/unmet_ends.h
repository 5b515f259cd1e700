/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the ends of containers that this sidecar never met: the OOM killer ended them before the
 * sidecar listened, or while it was being restarted, and the launcher ended with them. The node
 * agent has seen the end (lib/node_protocol.h). Nothing else is known of such a container but its
 * ID. Pure.
 *
 * The kernel log proves the class, by paths of cgroups, which the pod cannot choose:
 *
 *	"Tasks in PATH are going to be killed due to memory.oom.group set", where PATH is the
 *	container's own cgroup: the kernel killed each of its processes;
 *	"oom-kill:constraint=...,oom_memcg=PATH,task_memcg=...": whose limit was met, in the same
 *	report.
 *
 * A record that the OOM killer took the container's first process proves that it ended the
 * container, but not which memory ran out. If a process had sent the first process a SIGKILL
 * before, that may be what ended the container, and nothing is certain.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/failure_class.h"
#include "sidecar/kernel/kmsg_read.h"
#include "sidecar/node/node_signals.h"

#define UNMET_ENDS_MAX 4
/* How many containers that said hello are remembered; a further one replaces the oldest. */
#define UNMET_MET_MAX 16
#define UNMET_LINE_MAX 400

/* The OOM killer's records of a container, which has no launcher here. */
struct unmet_marks {
	char container_id[NODE_SIGNALS_ID_LEN + 1];
	/* CLOCK_BOOTTIME: when the OOM killer took its first process; 0: it did not */
	int64_t first_ns;
	unsigned int others; /* further processes that the OOM killer took */
	bool killed; /* a process sent its first process a SIGKILL */
};

/* Starts zeroed. */
struct unmet_ends {
	struct unmet_marks marks[UNMET_ENDS_MAX]; /* a ring */
	size_t n_marks; /* how many were ever added */
	char met[UNMET_MET_MAX][NODE_SIGNALS_ID_LEN + 1]; /* a ring */
	size_t n_met;
};

/* Notes a signal to a process of that container, whose launcher is not connected. */
void unmet_ends_note(struct unmet_ends *u, const char *container_id, const struct node_signal *s);
/*
 * Notes that the launcher of the container in that cgroup has said hello, so its end is reported as
 * any other.
 */
void unmet_ends_meet(struct unmet_ends *u, const char *cgroup);

/* The present time by the clocks of what is judged. */
struct unmet_clocks {
	int64_t boottime_ns, realtime_ns, log_us;
};

struct unmet_end {
	char container_id[NODE_SIGNALS_ID_LEN + 1];
	int64_t killed_ns; /* since 1970 */
	enum failure_class class;
	enum confidence confidence;
	int64_t limit; /* of the cgroup that ran out, bytes; -1: not known */
	bool first; /* the OOM killer is known to have taken the container's first process */
	unsigned int others;
	bool killed; /* as in struct unmet_marks */
	/* Lines of the kernel log, escaped, that prove the class; "": none. */
	char lines[2][UNMET_LINE_MAX];
};

/*
 * Lists the ends that are proved to be OOM kills, of UNMET_ENDS_MAX containers at most. log: the
 * lines that the node agent sent; pod_uid: NULL outside Kubernetes.
 */
size_t unmet_ends_find(const struct unmet_ends *u, const struct kmsg_log *log, const char *pod_uid,
		       const struct unmet_clocks *now,
		       struct unmet_end ret_ends[static UNMET_ENDS_MAX]);

/*
 * {"containerID", "endedAt", "class", "confidence", "cause", "memory": {"limitBytes"}, "evidence":
 * [{"source", "text"}],
 *  "missing": [{"what", "needs"}]}; cause is a clause that follows "the container was killed by the
 *  kernel: ".
 */
cJSON *unmet_end_to_json(const struct unmet_end *end);
