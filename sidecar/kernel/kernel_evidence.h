/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what a kernel log says about a death. Pure: the log and what is known of the
 * container come in; the findings for the classifier and the lines to keep go out.
 */
#pragma once

#include <sys/types.h>

#include "lib/strbuf.h"
#include "sidecar/kernel/gpu_faults.h"
#include "sidecar/kernel/kernel_question.h"

#define KERNEL_LINE_MAX 200
/*
 * kernel.log has the whole report of our OOM kill; if there is none, it has the last
 * KERNEL_TAIL_LINES lines.
 */
#define KERNEL_TAIL_LINES 200
#define KERNEL_EXCERPT_MAX (256 * 1024)

/*
 * Which process the OOM killer took. Only PIDs decide that, and only where the log's can be mapped
 * to the container's.
 */
enum kernel_victim { KERNEL_VICTIM_UNKNOWN, KERNEL_VICTIM_COMMAND, KERNEL_VICTIM_OTHER };

struct kernel_evidence {
	const char *needs; /* what is needed to read the log, static text; NULL: it was read */
	bool oom; /* the log has an OOM kill in the container */
	/*
	 * Its cgroup or PID is the container's; if false, only name, size and time match, which
	 * makes it likely.
	 */
	bool by_cgroup;
	bool by_pid; /* with by_cgroup: the record names the PID of a process of the container */
	enum kernel_victim victim; /* with by_cgroup: over all kills in the container */
	/* with victim COMMAND: it was killed with its whole cgroup, or with a cgroup above */
	bool group;
	bool took_launcher; /* with by_cgroup: the launcher was among the victims */
	enum oom_where where; /* which memory ran out */
	int64_t age_ns; /* the least time between the kill and the death; -1 unknown */
	int64_t limit; /* of the cgroup that ran out, bytes; -1 unknown */
	/* OOM kills in the container since the last report, with by_cgroup; else 1 */
	unsigned int kills;
	unsigned int killed; /* the number of processes that these kills took */
	/*
	 * The number of processes in the kernel's table of that kill, which has all processes under
	 * the limit; 0: there is no table.
	 */
	unsigned int table;
	/*
	 * With a shared cgroup, and PIDs that can be mapped to those of the log: processes taken in
	 * it that are not known to be ours.
	 */
	unsigned int others;
	/* OOM kills shortly before the death that name no cgroup and no PID known to be ours. */
	unsigned int foreign;
	bool whole; /* the log reaches back far enough, and has no gap */
	bool rules_out; /* it is whole, and would name the command's PID */
	pid_t pid; /* in the node's PID namespace */
	int64_t rss; /* bytes that the victim held; -1 unknown */
	char name[KERNEL_LINE_MAX]; /* the victim's name; all texts here are escaped */
	char memcg[KERNEL_LINE_MAX]; /* the cgroup that ran out, "" unknown */
	char below
		[KERNEL_LINE_MAX]; /* with OOM_WHERE_CONTAINER: memcg's path below the container's, "ray-node_1/user"; "": the same */
	/*
	 * with OOM_WHERE_CONTAINER: memcg is the victim's cgroup, which is not below the
	 * container's
	 */
	bool elsewhere;
	char line[KERNEL_LINE_MAX]; /* "Memory cgroup out of memory: Killed process ..." */
	char crash
		[KERNEL_LINE_MAX]; /* "x[1]: segfault at ..." of a process of the container, "" none */
	/* if false, only name and time match, or its pod: it may be of a process elsewhere */
	bool crash_by_pid;
	struct gpu_evidence gpu;
};

#define KERNEL_EVIDENCE_ABSENT \
	((struct kernel_evidence){ .needs = "", .age_ns = -1, .limit = -1, .rss = -1 })

/* Answers the question from the log. Appends the lines for kernel.log to excerpt. */
void kernel_evidence_find(const struct kmsg_log *log, const struct kernel_question *q,
			  struct kernel_evidence *ret_evidence, struct strbuf *excerpt);
