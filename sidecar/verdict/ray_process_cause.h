/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which of Ray's own processes ended first, from their ends and from Ray's logs about them. Pure.
 *
 * Theory of operation. The ends come in the order of their times. An orderly end (exit code 0, SIGTERM) is no cause, because
 * `ray start` goes on after it. But raylet also exits with 0 when one of its agents has ended, and it kills its agents when it
 * is asked to stop: raylet's last log lines say which of the two happened. A raylet that lost the GCS logs that as well; then
 * the cause is in another container. Where the launcher reported no end, the log of `ray start` names its child.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_RAY_PROCESS_CAUSE_H
#define AFTERGLOW_SIDECAR_VERDICT_RAY_PROCESS_CAUSE_H

#include "lib/units.h"
#include "sidecar/verdict/classify.h"

/*
 * `ray start` looks once a second and then kills the rest one by one: 7 s where the machine is busy. While it still starts Ray
 * it waits half a minute for a raylet that is gone.
 */
#define RAY_FOLLOWS_NS (60 * NS_PER_SEC)

enum ray_process_story {
	STORY_NONE,
	STORY_PROCESS, /* the process crashed, was killed, or exited with an error */
	STORY_AGENT, /* an agent did so, and raylet ended because of it */
	STORY_GCS_LOST, /* raylet ended because it lost the GCS */
	STORY_STOPPED, /* raylet was asked to stop */
	STORY_RAYLET_EXITED, /* raylet exited with 0, and nothing says why */
};

struct ray_process_cause {
	enum ray_process_story story;
	enum ray_process_kind kind;
	const struct ray_process_end *end; /* NULL: only Ray's logs say so */
	const struct ray_process_end *raylet; /* with STORY_AGENT: raylet's end; NULL: not seen */
	const struct ray_process_word *word; /* Ray's log line about it; NULL: none */
	const struct crash_info *crash; /* with STORY_AGENT: of an agent whose end nobody saw; NULL: there is none */
};

/* The cause of the container's end at o->ended_ns. */
struct ray_process_cause ray_process_cause_of_end(const struct observation *o);

/* The cause of one process's end, o->process, while the container lives on. */
struct ray_process_cause ray_process_cause_of_process(const struct observation *o);

/* How it ended, by its wait status or by the log of `ray start`. False, with 0 and -1: neither is known. */
bool ray_process_cause_status(const struct ray_process_cause *c, int *ret_signal, int *ret_code);

/*
 * Whether nothing else fits: its wait status is known, no other of Ray's processes failed before it or at the same moment, and
 * the kernel did not send its SIGKILL.
 */
bool ray_process_cause_is_proved(const struct observation *o, const struct ray_process_cause *c, bool oom_ruled_out);

/*
 * Whether the log of `ray start` says that it found that process killed with SIGKILL. Asked to stop, `ray start` itself kills what does
 * not end within a second, and has no word for that.
 */
bool ray_process_cause_was_found_dead(const struct observation *o, const struct ray_process_cause *c);

/*
 * The process of Ray's own that the OOM killer most likely took, when the counters rose: the first that failed then, by SIGKILL.
 * The processes that are gone at the container's end do not tell, because `ray start` kills the rest. NULL: there is none.
 */
const struct ray_process_end *ray_process_oom_victim(const struct observation *o);

#endif
