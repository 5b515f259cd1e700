/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether an OOM kill in a container is what ended the container. Pure.
 *
 * The kernel's counters tell that a process of the container was taken, not which one. Only when it was the command
 * itself, or all of them, did the OOM killer end the container; a command that ends by SIGKILL after one of its
 * children was taken may have been killed by anybody.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_OOM_VICTIM_H
#define AFTERGLOW_SIDECAR_VERDICT_OOM_VICTIM_H

#include "sidecar/verdict/oom_verdict.h"

enum oom_victim {
	OOM_VICTIM_UNTOLD,
	OOM_VICTIM_ALL, /* the whole cgroup; or one process, and the launcher killed the rest */
	OOM_VICTIM_COMMAND,
	OOM_VICTIM_LIKELY_COMMAND,
	OOM_VICTIM_LIKELY_OTHER,
	OOM_VICTIM_OTHER,
};

/* k: what the kernel log says of these kills, NULL: nothing. */
enum oom_victim oom_victim(const struct observation *o, const struct kernel_evidence *k);

/* Nanoseconds that are known to have passed from the latest kill to the end; 0: perhaps none. */
int64_t oom_victim_age_ns(const struct observation *o, const struct kernel_evidence *k);

/* Between the OOM killer's latest visit that the sampler saw and the end; -1: it saw none. */
int64_t oom_latest_age_ns(const struct observation *o);

/* Whether a signal ended the command, and the kernel log, which would name it as a victim of the OOM killer, does not. */
bool oom_log_spares_command(const struct observation *o);

/* The number of OOM kills that the counters gained after the last reading while the command lived. */
int64_t oom_kills_at_the_end(const struct observation *o);

/* Kills of the whole group that the command did not survive, however long it took to give its memory back. */
int64_t oom_groups_at_the_end(const struct observation *o);

/* In a cgroup of several owners, a process was taken shortly before the end: perhaps one of ours. */
bool oom_is_possible(const struct observation *o);

/*
 * oom: what counters and log say about kills in the container, which ended, and not with exit code 0. Returns whether the kills
 * explain that end: OOM_PROVED or OOM_PROBABLE if they do, OOM_BEFORE if something else most likely ended it. Adds evidence and
 * what is missing to v, whose signal and exit code the caller has set.
 */
enum oom oom_explains(const struct observation *o, enum oom oom, const struct kernel_evidence *k, struct verdict *v);

#endif
