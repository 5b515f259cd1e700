/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is a failure as values. The renderers write it in several formats. They are pure:
 * a report comes in, a text goes out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/ray/ray_error.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/large_process.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"
#include "sidecar/sample/ray_node.h"
#include "sidecar/sample/vm_events.h"
#include "sidecar/verdict/signature.h"
#include "sidecar/verdict/trend.h"
#include "sidecar/verdict/verdict.h"

#define REPORT_TOP_MAX 10
#define REPORT_DIRECTORY_MAX 1024
#define REPORT_TEXT_MAX (64 * 1024)
#define REPORT_JSON_MAX (256 * 1024)

/* Which pod this is; NULL for what does not apply outside Kubernetes. Owned by the caller. */
struct identity {
	const char *namespace, *cluster, *pod, *pod_uid, *node;
	const char *container;
	const char *
		/*
		 * signs what the operator reads (lib/digest/report_mac.h); NULL: nothing is signed
		 */
		report_key;
};

/*
 * What happened to this bundle and to earlier bundles. If all members are zero, there is nothing to
 * report.
 */
struct keeping {
	/* how often this crash has happened in its loop, including this time; 0: not counted */
	uint64_t repeats;
	int64_t repeats_since_unix_ns;
	bool report_only; /* its bundle holds nothing else */
	/* of earlier failures, for lack of room, since the last report */
	uint64_t dropped_cores, dropped_files, dropped_bundles;
	bool spooled; /* the bundle has not been shipped yet to the place that `bundle` names */
	bool alike_only; /* repeats counts ends that look alike; their causes are not known */
};

struct report {
	struct identity id;
	struct verdict verdict;
	char signature
		[SIGNATURE_MAX]; /* sidecar/verdict/signature.h; "": there is none, for example for a snapshot */
	/* of `afterglow run`: there is no container, no pod and no kubelet to speak of */
	bool of_command;
	bool left_behind; /* the same, and the command had ended before */
	bool of_slurm; /* the same in a job of Slurm, which sets the limit */
	bool container_lives; /* only a process of it has ended, at ended_unix_ns */
	int64_t started_unix_ns, ended_unix_ns; /* 0: unknown */
	struct memory memory; /* the sample that tells most of the death; peak from the counters */
	/* usage, limit and peak in it are of a cgroup that holds processes of others too */
	bool memory_shared;
	/* usage, limit and peak in it are of a cgroup that holds only some of the processes */
	bool memory_of_part;
	/* its age at the death; -1: there is none; less: it was taken so long after the death */
	int64_t sample_age_ns;
	uint32_t n_processes; /* in the container at that sample */
	struct process top[REPORT_TOP_MAX];
	size_t n_top;
	struct components components; /* all processes at that sample, by what they are */
	struct ray_node node;
	struct trend trend; /* of top[0] */
	struct large_process large; /* of top[0]; pid 0: nothing is known */
	int64_t large_age_ns; /* from the start of that process to the end; 0: not known */
	struct zombies zombies; /* in the container at that sample */
	struct machine_memory machine; /* at that sample */
	/* for how long before the end memory.high had slowed the container down */
	int64_t slowed_ns;
	double warn_at; /* fraction of the limit at which snapshots began, 0: none */
	/* bytes of shared memory when the container started; -1: not known */
	int64_t shmem_at_start;
	char diagnosis[512], advice[384]; /* "" when there is no evidence for one */
	struct crash_info crash; /* what the core of this failure shows */
	const struct strbuf
		*backtrace; /* the backtrace of that core; "" or NULL: there is none yet */
	const char *still_running; /* what was asked to stop and went on; NULL: nothing is known */
	const struct strbuf *stacks; /* with it: stacks.txt */
	char last_lines
		[4096]; /* of the logs of Ray's process that ended first, each "FILE: LINE\n"; "" none */
	struct ray_error
		error; /* Ray's exception that ended a driver; its name is "" if there is none */
	bool backtrace_kept; /* its bundle has that backtrace. Not part of the report */
	char directory
		[REPORT_DIRECTORY_MAX]; /* where its bundle is now, from our root; "": nowhere. Not part of the report */
	char bundle[512]; /* "pvc:claim/ns/...", a path; "" when nothing was kept */
	/*
	 * path below the store for its core; NULL: the core goes into the bundle. Owned by the
	 * caller
	 */
	const char *cores_prefix;
	struct keeping keeping;
};

/*
 * The moment that the report's times refer to: the container's end, or the death of a process if
 * the container lives on.
 */
static inline const char *report_what_ended(const struct report *r)
{
	return r->verdict.exit_code < 0 ? "the death" : "the end";
}

/*
 * Whether the kernel, the kubelet and Ray count the memory of the last sample so differently that a
 * reader should see it.
 */
static inline bool report_counts_differ(const struct report *r)
{
	const struct memory *m = &r->memory;

	return !r->memory_shared && m->usage > 0 && memory_ray(m) >= 0 &&
	       m->usage - memory_ray(m) >= m->usage / 100;
}

/*
 * Leaves our launcher out of the processes and their number: what it holds is nobody's question.
 * One of that name that holds more than a launcher does is none of ours, and stays.
 */
#define REPORT_LAUNCHER_OWN_MAX ((int64_t)4 << 20)
void report_leave_out_launcher(struct report *r);

/*
 * The report's cores_prefix, if its core goes there. NULL: the core is in the bundle, or there is
 * no core.
 */
const char *report_cores_prefix(const struct report *r);
/*
 * Writes "below _cores of the same store, if one is kept" if the core goes to cores_prefix, else
 * "". Returns text.
 */
#define REPORT_LINE_MAX 256
const char *report_core_place(const struct report *r, char text[static REPORT_LINE_MAX]);

/*
 * Writes "the 14th time since 2026-11-21 01:29:06 UTC" and what that means for the bundle; "" when
 * the crash happened for the first time. Returns text.
 */
const char *report_repeats(const struct keeping *k, char text[static REPORT_LINE_MAX]);
/*
 * Writes "2 cores, 1 bundle of earlier failures, for want of room"; "" when nothing was dropped.
 * Returns text.
 */
const char *report_dropped(const struct keeping *k, char text[static REPORT_LINE_MAX]);

/* Writes report.json, with the fields of docs/report.schema.json. */
void report_to_json(const struct report *r, struct strbuf *out);

/* Writes report.txt, with at most 100 columns except for the path of the bundle. */
void report_to_text(const struct report *r, struct strbuf *out);

/* Adds when the sample was taken: ", 11 ms before the end", ", 2.1 s after the death". */
void report_add_age(const struct report *r, struct strbuf *out);

/*
 * Writes what a user reads at once: two lines if all that is known is that a command ended with a
 * code of its own, perhaps after it had stopped its Ray, else the text.
 */
void report_to_notice(const struct report *r, struct strbuf *out);

/*
 * Writes the table of processes alone. Each line but the first begins with indent. Long names are
 * cut at the 100th column.
 */
void report_process_table(const struct process *top, size_t n, const char *indent,
			  struct strbuf *out);

/*
 * Writes the termination message: text for people, then a line "#afterglow/1 JSON"
 * that the operator reads. It has at most max bytes; the JSON line is kept whole and
 * the text is cut. final is false for a snapshot of a container that still runs,
 * which has no class and no end.
 */
#define TERMINATION_MESSAGE_MAX 4096 /* the kubelet's own limit per container */
void report_to_termination_message(const struct report *r, bool final, size_t max,
				   struct strbuf *out);

/*
 * Returns the JSON of a final termination message alone, in at most max bytes, with as many
 * processes as fit. The caller frees it. NULL: it does not fit, or there is no memory.
 */
char *report_summary(const struct report *r, size_t max);
