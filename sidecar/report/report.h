/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure as values, and the formats in which it is written. The renderers are pure:
 * a report comes in, a text goes out.
 */
#ifndef AFTERGLOW_SIDECAR_REPORT_REPORT_H
#define AFTERGLOW_SIDECAR_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/processes.h"
#include "sidecar/sample/ray_node.h"
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
};

/* What happened to this bundle and to earlier bundles. All zero: nothing to report. */
struct keeping {
	uint64_t repeats; /* how often this crash has come in its loop, with this one; 0: not counted */
	int64_t repeats_since_unix_ns;
	bool report_only; /* its bundle holds nothing else */
	uint64_t dropped_cores, dropped_files, dropped_bundles; /* of earlier failures, for want of room, and not told before */
	bool spooled; /* the bundle is still to be brought to the place that it names */
	bool alike_only; /* repeats counts ends that look alike: nothing is known of their causes */
};

struct report {
	struct identity id;
	struct verdict verdict;
	char signature[SIGNATURE_MAX]; /* sidecar/verdict/signature.h; "": there is none, as of a snapshot */
	bool container_lives; /* only a process of it has ended, which ended_unix_ns is the time of */
	int64_t started_unix_ns, ended_unix_ns; /* 0: unknown */
	struct memory memory; /* the last sample before the death; peak from the counters */
	int64_t sample_age_ns; /* its age at the death, -1: there is no sample */
	uint32_t n_processes; /* in the container at that sample */
	struct process top[REPORT_TOP_MAX];
	size_t n_top;
	struct components components; /* all processes at that sample, by what they are */
	struct ray_node node;
	struct trend trend; /* of top[0] */
	double warn_at; /* fraction of the limit at which snapshots began, 0: none */
	int64_t shmem_at_start; /* bytes there already when the container began; -1: not known */
	char diagnosis[512], advice[384]; /* "" when there is no evidence for one */
	struct crash_info crash; /* the core that goes with it */
	const struct strbuf *backtrace; /* of that, "" or NULL when there is none yet */
	char last_lines[1024]; /* of the logs of Ray's process that ended first, each "FILE: LINE\n"; "" none */
	char directory[REPORT_DIRECTORY_MAX]; /* where its bundle is for now, from our root; "": nowhere. Not part of the report */
	char bundle[512]; /* "pvc:claim/ns/...", a path; "" when nothing was kept */
	const char *cores_prefix; /* path below the store where its core goes, NULL: into the bundle. Owned by the caller */
	struct keeping keeping;
};

/* What times are told against: the container may live on, then only a process of it died. */
static inline const char *report_what_ended(const struct report *r)
{
	return r->verdict.exit_code < 0 ? "the death" : "the end";
}

/* "below _cores of the same store, if one is kept", for a crash whose core goes there; "" for any other. */
#define REPORT_LINE_MAX 256
const char *report_core_place(const struct report *r, char text[static REPORT_LINE_MAX]);

/* "the 14th time since 2026-11-21 01:29:06 UTC", and what follows for the bundle; "" when it is the first time. */
const char *report_repeats(const struct keeping *k, char text[static REPORT_LINE_MAX]);
/* "2 cores, 1 bundle of earlier failures, for want of room"; "" when nothing was dropped. */
const char *report_dropped(const struct keeping *k, char text[static REPORT_LINE_MAX]);

/* report.json: the fields are those of docs/report.schema.json. */
void report_to_json(const struct report *r, struct strbuf *out);

/* report.txt, with at most 100 columns except for the path of the bundle. */
void report_to_text(const struct report *r, struct strbuf *out);

/* The table of processes alone, each line but the first after indent. Long names are cut at the 100th column. */
void report_process_table(const struct process *top, size_t n, const char *indent, struct strbuf *out);

/*
 * The termination message: text for people, then one line "#afterglow/1 JSON"
 * that the operator reads. At most max bytes: the JSON line is kept whole at
 * the cost of the text. final: false for a snapshot of a container that still
 * runs (no class, no end).
 */
#define TERMINATION_MESSAGE_MAX 4096 /* the kubelet's own limit per container */
#define TERMINATION_MARK "#afterglow/1 "
void report_to_termination_message(const struct report *r, bool final, size_t max, struct strbuf *out);

/* That JSON alone (final), with as many processes as fit. The caller frees it; NULL: it does not fit, or no memory. */
char *report_summary(const struct report *r, size_t max);

#endif
