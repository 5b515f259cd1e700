/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether an OOM kill in a container is what ended the container. Pure.
 *
 * The kernel's counters say that a process of the container was taken, but not which process. The
 * OOM killer ended the container only if it took the command itself or all processes. If it took a
 * child of the command and the command then ends by SIGKILL, anybody may have sent that SIGKILL.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom.h"
#include "sidecar/verdict/verdict.h"

enum oom_victim {
	OOM_VICTIM_UNKNOWN,
	/*
	 * The whole cgroup; or one process, and the launcher killed the rest; or the launcher, with
	 * which the rest ends.
	 */
	OOM_VICTIM_ALL,
	OOM_VICTIM_COMMAND,
	OOM_VICTIM_LIKELY_COMMAND,
	OOM_VICTIM_LIKELY_OTHER,
	OOM_VICTIM_OTHER,
};

/* Which processes were taken. k: what the kernel log says about these kills; NULL: nothing. */
enum oom_victim oom_victim(const struct observation *o, const struct kernel_evidence *k);

/* Nanoseconds that passed at least between the latest kill and the end; 0: perhaps none. */
int64_t oom_victim_age_ns(const struct observation *o, const struct kernel_evidence *k);

/* Nanoseconds between the latest OOM kill that the sampler saw and the end; -1: it saw none. */
int64_t oom_latest_age_ns(const struct observation *o);

/*
 * Whether a signal ended the command and the kernel log, which names the victims of the OOM killer,
 * does not name the command.
 */
bool oom_log_spares_command(const struct observation *o);

/*
 * The number of OOM kills that the counters gained after the last reading while the command lived.
 */
int64_t oom_kills_at_the_end(const struct observation *o);

/*
 * The number of kills of the whole group that the command did not survive, however long it took to
 * free its memory.
 */
int64_t oom_groups_at_the_end(const struct observation *o);

/*
 * Whether the OOM killer took a process, perhaps the container's, in a cgroup that others share,
 * shortly before the end.
 */
bool oom_is_possible(const struct observation *o);

/*
 * Decides whether OOM kills in the container explain its end, which was not an exit with code 0.
 * oom: what counters and log say about the kills. Returns OOM_PROVED or OOM_PROBABLE if the kills
 * explain the end, OOM_BEFORE if something else most likely ended the container. Adds evidence and
 * what is missing to v; the caller has set v's signal and exit code.
 */
enum oom oom_explains(const struct observation *o, enum oom oom, const struct kernel_evidence *k,
		      struct verdict *v);
