/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which of Ray's own processes ended first, from their ends and from what Ray's logs say
 * about them. Pure.
 *
 * Theory of operation. The ends come in the order of their times. An orderly end (exit code 0,
 * SIGTERM) is no cause, because `ray start` goes on after it. But raylet also exits with 0 when one
 * of its agents has ended, and it kills its agents when it is asked to stop: raylet's last log
 * lines say which of the two happened. A raylet that lost the GCS logs that too; then the cause is
 * in another container. If the launcher reported no end, the log of `ray start` names the child
 * that ended, and that of the child says why it gave up.
 */
#pragma once

#include "lib/units.h"
#include "sidecar/verdict/observation.h"

/*
 * The longest time from the end of such a process to the end of the container. `ray start` looks
 * for ended processes once a second and then kills the others in turn, which takes 7 s on a busy
 * machine. While it is still starting Ray, it waits half a minute for a raylet that has ended.
 */
#define RAY_FOLLOWS_NS (60 * NS_PER_SEC)
/* The same after the end of the GCS server, for which Ray's processes wait 60 s at first. */
#define GCS_FOLLOWS_NS (RAY_FOLLOWS_NS + 60 * NS_PER_SEC)

enum ray_process_story {
	STORY_NONE,
	STORY_PROCESS, /* the process crashed, was killed, or exited with an error */
	/* an agent crashed, was killed, or exited with an error, and raylet ended because of it */
	STORY_AGENT,
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
	/* with STORY_AGENT: the core of an agent if nobody saw its end; NULL: there is none */
	const struct crash_info *crash;
};

/* The cause of the container's end at o->ended_ns. */
struct ray_process_cause ray_process_cause_of_end(const struct observation *o);

/* The cause of one process's end, o->process, while the container lives on. */
struct ray_process_cause ray_process_cause_of_process(const struct observation *o);

/*
 * How the process ended, by its wait status or by the log of `ray start`. If neither is known,
 * returns false and sets the signal to 0 and the code to -1.
 */
bool ray_process_cause_status(const struct ray_process_cause *c, int *ret_signal, int *ret_code);

/*
 * Whether no other explanation fits: the wait status of the process is known, no other process of
 * Ray's failed before it or at the same moment, and a SIGKILL that ended it did not come from the
 * kernel.
 */
bool ray_process_cause_is_proved(const struct observation *o, const struct ray_process_cause *c,
				 bool oom_ruled_out);

/*
 * Whether `ray start` logged that it found the process killed with SIGKILL. When `ray start` is
 * asked to stop, it kills the processes that do not end within a second itself, and does not log
 * that.
 */
bool ray_process_cause_was_found_dead(const struct observation *o,
				      const struct ray_process_cause *c);

/*
 * What raylet or the GCS server logged as it gave up before the container's end, without "Check
 * failed: "; NULL: nothing.
 */
const char *ray_process_gave_up(const struct observation *o, enum ray_process_kind kind);

/*
 * The process of Ray's own that the OOM killer most likely took when the counters rose: the first
 * that SIGKILL ended then, unless the launcher saw another process end before in that way, or in an
 * unknown way. Processes that are gone at the container's end prove nothing, because `ray start`
 * kills the rest. NULL: there is none.
 */
const struct ray_process_end *ray_process_oom_victim(const struct observation *o);
