/* SPDX-License-Identifier: Apache-2.0 */
/* What the ends of the container's other processes show, as the launcher read them. Pure. */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/* On a busy machine a victim may take so long to give its memory back, before it ends. */
#define OOM_DIES_WITHIN_NS (15 * NS_PER_SEC)

/*
 * The first of these n processes that SIGKILL ended when the OOM killer came, at kill_ns; NULL:
 * none.
 */
const struct watched_end *watched_ends_killed_at(const struct watched_end *ends, size_t n,
						 int64_t kill_ns);

/*
 * The process of the container that SIGKILL ended when a kill was counted in a cgroup that others
 * share, or, outside of Ray, that ended then in an unknown way and had held more than half of the
 * limit: most likely the OOM killer took this one. NULL: there is none, or the kernel log or the
 * node agent knows better.
 */
const struct watched_end *watched_ends_oom_victim(const struct observation *o);

/* Whether a signal ended the process which follows a fault of its own. */
bool watched_end_is_crash(const struct watched_end *e);

/* The same, shortly before the container ended, of which it may be the reason. */
bool watched_end_is_crash_before(const struct watched_end *e, int64_t ended_ns);

/*
 * Adds those that a signal ended shortly before the container or after it, the latest first; and
 * what is missing if one's status could not be read.
 */
void watched_ends_evidence(const struct observation *o, struct verdict *v);
