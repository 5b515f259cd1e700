/* SPDX-License-Identifier: Apache-2.0 */
/* The observations of a death: the values from which a verdict is made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/crash/crash_info.h"
#include "sidecar/kernel/kernel_evidence.h"
#include "sidecar/ray/gpu_lines.h"
#include "sidecar/ray/ray_last_lines.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/ray/ray_process_lines.h"
#include "sidecar/sample/limits.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"
#include "sidecar/verdict/cgroup_limit.h"
#include "sidecar/verdict/gap.h"
#include "sidecar/verdict/launcher_words.h"
#include "sidecar/verdict/node_signal.h"

/*
 * What is known of the death of a container, or of a process that died while its container lives
 * on.
 */
struct observation {
	const char *container; /* "ray-worker" */
	const char *pod; /* NULL outside Kubernetes */
	const char *victim; /* name of the process that the OOM killer took, NULL: unknown */
	/*
	 * its PID, or that of a process which is gone but has perhaps not used that memory; 0
	 * unknown
	 */
	int victim_pid;
	int64_t victim_rss; /* bytes resident before, 0 unknown */
	bool container_lives; /* one process died, the container did not */
	/* false: the launcher ended with the container and reported no wait status */
	bool status_known;
	int wait_status; /* as waitpid(2) gives it */
	/*
	 * Why the command was never executed; NULL: it was executed, or the launcher reported
	 * nothing.
	 */
	const struct unstarted *unstarted;
	int64_t ran_ns; /* start to end */
	int cgroup_version; /* 0: its memory cgroup could not be read at all */
	/*
	 * Foreign processes share that cgroup, so an OOM kill that it counts may have taken a
	 * process of theirs.
	 */
	bool cgroup_shared;
	/*
	 * The part of the container's memory that the counters do not show, as a noun phrase ("the
	 * OOM kills of a cgroup below that was removed"); static text. NULL: they show everything.
	 * While it is set, nothing rules the OOM killer out.
	 */
	const char *cgroup_unseen;
	/* the cgroup whose limit was met; NULL: the container's own, or not known */
	const struct cgroup_limit *cgroup_limit;
	/* the user processes' cgroup in Ray's resource isolation; NULL: there is none */
	const struct cgroup_limit *isolation;
	/* what raylet logged about resource isolation shortly before the death; NULL: nothing */
	const char *isolation_logged;
	struct memory before; /* the counters as they were before anything had happened */
	struct memory after; /* read right after the death */
	bool after_known; /* false: the cgroup was gone already */
	struct memory last; /* the last sample before the death, usage -1 when there was none */
	int64_t last_age_ns; /* its age at the death */
	/* since the first sample whose peak was at the own limit until the death; -1: none was */
	int64_t peak_met_age_ns;
	int64_t least_usage; /* bytes in the samples since then until the OOM kill; 0: not known */
	/*
	 * The latest reading of the counters while the command still lived; absent if there was
	 * none. It does not include a group kill that ended the command.
	 */
	struct memory latest;
	int64_t latest_age_ns; /* its age at the death */
	int command_pid; /* as the container's /proc numbers it, like victim_pid; 0 unknown */
	/* bytes resident of the command in the last sample, 0 unknown or small */
	int64_t command_rss;
	uint32_t processes; /* in the last sample, the launcher among them; 0 unknown */
	struct zombies zombies; /* in the last sample */
	/* Other processes of the last sample have ended too, or the sidecar could not look. */
	bool others_ended;
	/*
	 * time between the OOM killer's visit, as seen by the sampler, and the death; -1: none seen
	 */
	int64_t oom_age_ns;
	int64_t oom_span_ns; /* if it came more than once: the time from that visit to the latest */
	/* samples showed a kill of the whole group, and no command that survived it */
	bool group_unsurvived;
	/* --oom-group: we ended the container after the OOM killer took one process */
	bool group_ended_by_us;
	bool pod_terminating; /* the sidecar was asked to stop before the container ended */
	/* How the launcher was asked to stop; signal 0: it was not, as far as is known. */
	struct stop_request asked;
	/*
	 * What Ray's logs say about the worker that died, or their last words before the end; NULL:
	 * nothing.
	 */
	const struct ray_finding *ray;
	/*
	 * How the worker ended that ray names, as the launcher read it. worker_ended: the launcher
	 * saw its end; worker_status: as waitpid(2) gives it, -1: not known.
	 */
	bool worker_ended;
	int worker_status;
	bool ray_seen; /* a sample shows the process that ray names */
	struct kernel_evidence kernel; /* what the kernel log says */
	/* before anything had happened, and right after the death */
	struct limits limits_before, limits;
	/* The time without a sidecar in which the container ended; NULL: a sidecar was running. */
	const struct gap *gap;
	/* From the core of the process that died or ended the container; NULL: there is no core. */
	const struct crash_info *crash;
	/* what would be needed for a core, if there is none; NULL: not known */
	const char *core_needs;
	/* With container_lives: the container outlived the process, but has ended since. */
	bool container_over;
	bool core_is_old; /* the core was written before this start of the container */
	/*
	 * There is no container of its own, and neither a sample nor a wait status shows that its
	 * process was below the launcher.
	 */
	bool core_is_unproved;
	bool core_pid_lives; /* the process of its PID is older than the core, and lives on */
	int64_t ended_ns; /* CLOCK_BOOTTIME, as the times of what follows */
	/* the ends of Ray's own processes, in the order of their times */
	const struct ray_process_end *ends;
	size_t n_ends;
	const struct watched_end *watched_ends; /* of other processes, in any order; NULL: none */
	size_t n_watched_ends;
	/* the latest end of such a process whose status could not be read; pid 0: none */
	struct watched_end unread_end;
	/* bytes that it held when it was seen last before the kill; 0: not known */
	int64_t unread_held;
	/* what Ray's logs say about them; NULL: nothing */
	const struct ray_process_words *process_words;
	bool ray_start; /* `ray start` ran until the end */
	/* With container_lives: the element of ends that the verdict is about; NULL: none. */
	const struct ray_process_end *process;
	/* When the OOM killer last took a process that the container outlived; 0: never. */
	int64_t process_oom_ns;
	/* that process was the container's, and has a report of its own */
	bool process_oom_reported;
	bool has_raylet; /* the container is a Ray node, so the end of a worker does not end it */
	/*
	 * What the container's programs logged about CUDA and NCCL right before the end; NULL:
	 * nothing.
	 */
	const struct gpu_error *gpu_error;
	char exception[RAY_LAST_LINE_MAX]; /* the last line of a driver's traceback; "": none */
	pid_t launcher_pid; /* numbered like command_pid; 0 unknown */
	/*
	 * The signals to the container that the node agent saw, in the order of their arrival;
	 * NULL: none.
	 */
	const struct node_signal *signals;
	size_t n_signals;
	/*
	 * How much Ray had spilled to a disk that was full or nearly full; NULL: the disk was not.
	 */
	const char *spilled;
};
