/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From evidence to verdict. Pure: everything that was observed comes in as
 * values, class, confidence, sentence and the list of evidence go out.
 *
 * Order of belief: the kernel's counters (oom_group_kill, oom_kill), its log where it can be read (which also tells whose
 * memory ran out), then the wait status, then how full the memory was; where none of them tells, the verdict is Unknown and
 * says what is missing. oom_verdict says whether the OOM killer came, oom_victim whether that is what ended the container,
 * oom_cause whose memory ran out. A verdict is certain only if no other story fits what was seen.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_CLASSIFY_H
#define AFTERGLOW_SIDECAR_VERDICT_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/failure_class.h"
#include "lib/macros.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/kernel/kernel_evidence.h"
#include "sidecar/ray/gpu_lines.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/ray/ray_process_lines.h"
#include "sidecar/sample/limits.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/verdict/cgroup_limit.h"
#include "sidecar/verdict/gap.h"
#include "sidecar/verdict/node_signal.h"
#include "sidecar/verdict/stop_request.h"
#include "sidecar/verdict/unstarted.h"

/* What is known of one death, or of a process that died while the container lives on. */
struct observation {
	const char *container; /* "ray-worker" */
	const char *pod; /* NULL outside Kubernetes */
	const char *victim; /* name of the process the OOM killer took, NULL: unknown */
	int victim_pid; /* with victim */
	int64_t victim_rss; /* bytes resident before, 0 unknown */
	bool container_lives; /* one process died, the container did not */
	bool status_known; /* false: the launcher died with the container and could not tell */
	int wait_status; /* as waitpid(2) gives it */
	const struct unstarted *unstarted; /* why its command was never executed; NULL: it was, or the launcher did not say */
	int64_t ran_ns; /* start to end */
	int cgroup_version; /* 0: its memory cgroup could not be read at all */
	bool cgroup_shared; /* foreign processes share that cgroup: a kill that it counts may be one of theirs */
	/*
	 * What of the container's memory the counters do not show, as a noun phrase ("the OOM kills of a cgroup below that
	 * was removed"); static text. NULL: they show all of it. While it is set, nothing rules the OOM killer out.
	 */
	const char *cgroup_unseen;
	const struct cgroup_limit *cgroup_limit; /* the cgroup whose limit was met; NULL: the container's own, or not known */
	const struct cgroup_limit *isolation; /* the user processes' cgroup in Ray's resource isolation; NULL: there is none */
	const char *isolation_said; /* what raylet said of it shortly before; NULL: nothing */
	struct memory before; /* the counters as they were when nothing had happened yet */
	struct memory after; /* read right after the death */
	bool after_known; /* false: the cgroup was gone already */
	struct memory last; /* the last sample before the death, usage -1 when there was none */
	int64_t last_age_ns; /* its age at the death */
	int64_t peak_met_age_ns; /* since the first sample whose peak was at the own limit until the death; -1: none was */
	/* The counters' latest reading while the command still lived, absent when there was none; no group kill that it died of. */
	struct memory latest;
	int64_t latest_age_ns; /* its age at the death */
	int command_pid; /* as the container's /proc numbers it, like victim_pid; 0 unknown */
	int64_t command_rss; /* bytes resident of the command in the last sample, 0 unknown or small */
	uint32_t processes; /* in the last sample, the launcher among them; 0 unknown */
	bool others_ended; /* other processes of the last sample are gone as well, or nobody could look */
	int64_t oom_age_ns; /* time between the OOM killer's visit, as seen by the sampler, and the death; -1: none seen */
	int64_t oom_span_ns; /* it came more than once: the time from that visit to its latest one */
	bool group_unsurvived; /* samples showed a kill of the whole group, and then no command that survived it */
	bool group_ended_by_us; /* --oom-group: we ended the container after the OOM killer took one process */
	bool pod_terminating; /* the sidecar was asked to stop before the container ended */
	struct stop_request asked; /* the launcher was; signal 0: not, as far as is known */
	const struct ray_said *ray; /* what Ray says of the worker that died, or said last before the end; NULL: nothing */
	bool ray_seen; /* a sample has the process that Ray names in ray */
	struct kernel_evidence kernel; /* what the kernel log says */
	struct limits limits_before, limits; /* when nothing had happened, and right after the death */
	const struct gap *gap; /* no sidecar ran when it ended; NULL: one did */
	const struct crash_info *crash; /* the core of the process that died, or that ended the container; NULL: none */
	const char *core_needs; /* without one, what would be needed; NULL: not known */
	bool container_over; /* with container_lives: it lived on then, and has ended meanwhile */
	bool core_is_old; /* it was written before this start of the container */
	int64_t ended_ns; /* CLOCK_BOOTTIME, as the times of what follows */
	const struct ray_process_end *ends; /* of Ray's own processes, in the order of their times */
	size_t n_ends;
	const struct ray_process_words *process_words; /* what Ray says of them; NULL: nothing */
	bool ray_start; /* `ray start` ran until the end */
	const struct ray_process_end *process; /* with container_lives: the one of ends that this is about; NULL: none */
	int64_t process_oom_ns; /* when the OOM killer took a process that the container outlived, the last one; 0: never */
	bool has_raylet; /* the container is a Ray node: what ends a worker does not end it */
	const struct gpu_said *gpu_said; /* what its programs logged about CUDA and NCCL right before the end; NULL: nothing */
	pid_t launcher_pid; /* as command_pid; 0 unknown */
	const struct node_signal *signals; /* what the node agent saw of the container, in the order it came; NULL: nothing */
	size_t n_signals;
	const char *spilled; /* how much Ray had spilled to a disk that was full or soon to be; NULL: not so */
};

#define EVIDENCE_MAX 8
#define MISSING_MAX 8
#define EVIDENCE_TEXT_MAX 200

struct evidence {
	const char *source; /* "memory.events", "wait status", ...: static text */
	char text[EVIDENCE_TEXT_MAX];
};

struct missing {
	const char *what, *needs; /* static texts, or those of the observation */
};

/* The process that ended first. */
struct verdict_process {
	char name[48]; /* of Ray's own as Ray calls it: "raylet"; "": not known */
	int pid; /* in the container's PID namespace; 0: not known */
	int signal; /* 0: none */
	int exit_code; /* -1: a signal ended it, or it is not known */
};

struct verdict {
	enum failure_class class;
	enum confidence confidence;
	int exit_code; /* as a shell counts: 128+N after signal N; -1 unknown */
	int signal; /* 0: none */
	int64_t limit; /* of an OOM kill: the memory limit that ran out, bytes; 0: not known, or the container's own */
	struct verdict_process process; /* the process that ended first */
	enum isolation_part isolation; /* with limit: that of a part of Ray's resource isolation */
	char sentence[320];
	struct evidence evidence[EVIDENCE_MAX];
	unsigned int n_evidence;
	struct missing missing[MISSING_MAX];
	unsigned int n_missing;
};

/* Add a line; what does not fit any more is dropped. */
void verdict_add_evidence(struct verdict *v, const char *source, const char *fmt, ...) _printf_(3, 4);
void verdict_add_missing(struct verdict *v, const char *what, const char *needs);

void classify(const struct observation *o, struct verdict *ret_verdict);

#endif
