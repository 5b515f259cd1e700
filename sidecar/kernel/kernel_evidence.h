/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel log says of one death. Pure: the log and what is known of the
 * container come in, the findings for the classifier and the lines worth
 * keeping go out.
 */
#ifndef AFTERGLOW_SIDECAR_KERNEL_KERNEL_EVIDENCE_H
#define AFTERGLOW_SIDECAR_KERNEL_KERNEL_EVIDENCE_H

#include <sys/types.h>

#include "lib/strbuf.h"
#include "sidecar/kernel/gpu_faults.h"
#include "sidecar/kernel/oom_kills.h"

#define KERNEL_LINE_MAX 200
/* kernel.log: the whole report of our OOM kill, else this many lines of the end. */
#define KERNEL_TAIL_LINES 200
#define KERNEL_EXCERPT_MAX (256 * 1024)

/* Whether the command itself was taken; only PIDs tell, where the log's are known to be the container's. */
enum kernel_victim { KERNEL_VICTIM_UNTOLD, KERNEL_VICTIM_COMMAND, KERNEL_VICTIM_OTHER };

struct kernel_evidence {
	const char *needs; /* static: what it would take to read the log; NULL: it was read */
	bool oom; /* it tells of an OOM kill of ours */
	bool by_cgroup; /* known by its cgroup or PID; else by name, size and time, which makes it likely only */
	enum kernel_victim victim; /* with by_cgroup: of all kills of ours */
	enum oom_where where; /* whose memory ran out */
	int64_t age_ns; /* between the kill and the death, at least; -1 unknown */
	int64_t limit; /* of the cgroup that ran out, bytes; -1 unknown */
	unsigned int kills; /* OOM kills of ours since the last report, with by_cgroup; else 1 */
	unsigned int killed; /* processes in them */
	unsigned int others; /* of a shared cgroup: processes in it that were taken and are not known to be ours */
	bool rules_out; /* it reaches back far enough, lacks nothing, and would name the command's PID if that had been taken */
	pid_t pid; /* in the node's PID namespace */
	char name[KERNEL_LINE_MAX]; /* the victim; this and what follows is escaped */
	char memcg[KERNEL_LINE_MAX]; /* that ran out, "" unknown */
	char below[KERNEL_LINE_MAX]; /* with where CONTAINER: it stands so below the container's, "ray_node_1/user"; "" it is that one */
	bool elsewhere; /* with where CONTAINER: it is the victim's, and not the container's nor below it */
	char line[KERNEL_LINE_MAX]; /* "Memory cgroup out of memory: Killed process ..." */
	char crash[KERNEL_LINE_MAX]; /* "x[1]: segfault at ..." of a process of ours, "" none */
	struct gpu_evidence gpu;
};

#define KERNEL_EVIDENCE_ABSENT ((struct kernel_evidence){ .needs = "", .age_ns = -1, .limit = -1 })

/* A process that was seen in the container. */
struct kernel_suspect {
	const char *name; /* as a person knows it: "ray::leak", "python3 leak.py" */
	int64_t rss; /* bytes, at the last look */
	pid_t pid; /* in the node's PID namespace, 0 unknown */
};

/* Whether the kernel's name, cut to 15 bytes, is that of the process. "python3 leak.py" is "python3" to the kernel. */
bool kernel_suspect_is_named(const struct kernel_suspect *s, const char *comm);

struct kernel_question {
	struct oom_self self;
	bool shared; /* its cgroup holds others' processes too: only those that are known are its own */
	pid_t command; /* in the node's PID namespace, 0 unknown; then those of the suspects are known as well */
	int64_t begin_us; /* start of the container: the kill of its command counts from here on, whatever was told since */
	int64_t since_us; /* newest record when nothing had happened, by the kernel's clock; -1 unknown */
	int64_t named_since_us; /* a line that names no cgroup counts only from here on: what was in the log before we came is others' */
	int64_t ended_us; /* the death, by the same clock or little before */
	const struct kernel_suspect *suspects;
	size_t n_suspects;
};

/* excerpt gets the lines for kernel.log. */
void kernel_evidence_find(const struct kmsg_log *log, const struct kernel_question *q, struct kernel_evidence *ret_evidence,
			  struct strbuf *excerpt);

#endif
