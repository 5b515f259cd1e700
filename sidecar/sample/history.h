/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the history of one life of a container in a ring that survives the sidecar: its
 * samples (all of the last seconds, and one for each second of the minutes before)
 * and how far the sidecar has come with it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/proc_parse.h"

#define SAMPLE_TOP 5

struct sample {
	int64_t at_ns; /* CLOCK_BOOTTIME */
	struct memory memory;
	uint32_t n_processes; /* of the container */
	uint32_t n_top;
	struct {
		pid_t pid;
		int64_t rss, shared;
		char name[PROCESS_NAME_MAX];
	} top[SAMPLE_TOP]; /* largest RSS-SHR first */
};

#define LIFE_NAME_MAX 64
#define LIFE_BOOT_ID_MAX 40
#define LIFE_PATH_MAX 1024

enum life_phase {
	LIFE_RUNS = 1,
	LIFE_ENDED, /* it has ended, and there is no report yet */
	LIFE_REPORTING, /* the bundle is being written; it is complete if its directory exists */
	LIFE_REPORTED,
};

#define LIFE_RAY_WATCHED_MAX 32
#define LIFE_RAY_ENDS_MAX 16

/*
 * Ray's own processes: those that are watched, and the ends that may explain the container's. Kinds
 * are those of ray_process.h.
 */
struct life_ray {
	int32_t n_watched, n_ends;
	struct {
		uint64_t start; /* clock ticks since boot */
		int64_t gone_ns;
		int32_t pid, kind, looks, unwatched;
	} watched[LIFE_RAY_WATCHED_MAX];
	struct {
		int64_t ended_ns;
		int32_t pid, kind, status_known, wait_status;
	} ends[LIFE_RAY_ENDS_MAX];
	int64_t reported_ns, vital_ns; /* as in struct process_watch */
	/* the time of the OOM kill of a process that was reported last; 0: none was reported */
	int64_t oom_ns;
};

/*
 * Where in the termination log our last message stands; begin is how much the container had written
 * before.
 */
struct message_place {
	int64_t begin, end;
};

/* The next sidecar needs this besides the samples. Times are CLOCK_BOOTTIME. */
struct life {
	/* The identity of this life: */
	char name[LIFE_NAME_MAX];
	char boot_id[LIFE_BOOT_ID_MAX];
	int64_t started_ns;
	int64_t unix_offset_ns; /* CLOCK_REALTIME minus CLOCK_BOOTTIME */
	int32_t launcher;
	int32_t command_pid; /* its PID in the container's /proc, 0 unknown */
	int32_t command; /* its PID as the kernel log has it, 0 unknown */
	int32_t cgroup_version; /* 0: not found */
	int32_t cgroup_shared; /* foreign processes are in that cgroup, too */
	char cgroup[LIFE_PATH_MAX]; /* as the kernel log has it, "" unknown */
	int32_t log_shared; /* OOM kills of foreign processes have that cgroup's name, too */
	int64_t log_since_us; /* older records of the kernel log were processed already */
	/* The counters are compared with these: */
	struct memory baseline;
	int64_t shmem_at_start;
	/* The OOM kill that was not reported yet: */
	int64_t oom_seen_ns; /* 0: none */
	int64_t oom_last_ns; /* its latest visit since */
	int32_t victim_pid;
	int64_t victim_rss;
	char victim[PROCESS_NAME_MAX];
	struct life_ray ray;
	int32_t group_ended_by_us, pod_terminating;
	/* the signal that asked it to stop (0: none), and the PID of its sender */
	int32_t asked_signal, asked_by;
	int64_t asked_ns;
	struct message_place message;
	/* How far the sidecar has come: */
	int32_t phase;
	char bundle
		[LIFE_PATH_MAX]; /* its directory, from LIFE_REPORTING on; "": it could not be kept */
	/*
	 * These are set from LIFE_ENDED on. With LIFE_REPORTING and ended_ns 0, a process died and
	 * the container lives.
	 */
	int64_t ended_ns;
	/* the time without a sidecar in which it ended; 0: a sidecar saw the end */
	int64_t lost_from_unix_ns, lost_until_unix_ns;
	int32_t status_known, wait_status, after_known;
	struct memory after;
};

struct history;

struct history *history_new(void); /* a history in memory only; NULL: there is no memory */
/*
 * Creates a history in a file that does not exist, with its first life record. NULL with err set on
 * failure.
 */
struct history *history_create(int dirfd, const char *file, const struct life *life,
			       struct err *err);
/*
 * Opens the history of a previous sidecar. The result is well-formed, whatever the file contains.
 */
struct history *history_open(int dirfd, const char *file, struct err *err);
/*
 * Waits until the disk has it as it is now, as far as the disk can do that. For a child: it may
 * take long.
 */
void history_sync(const struct history *h);
/* Frees the history. Its file stays. */
void history_free(struct history *h);

/* The life record as it was set last; all zero after history_new. */
const struct life *history_life(const struct history *h);
void history_set_life(struct history *h, const struct life *life);

void history_add(struct history *h, const struct sample *s);

/* Calls fn for each sample, oldest first. */
void history_each(const struct history *h, void (*fn)(const struct sample *s, void *arg),
		  void *arg);

/* The newest sample, NULL while there is none. Valid until the next history_add. */
const struct sample *history_last(const struct history *h);
