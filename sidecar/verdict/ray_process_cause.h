/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of Ray's own processes ended first, from their ends and Ray's words about them. Pure.
 *
 * Theory of operation. The ends come in the order of their times. An end in order (exit code 0, SIGTERM) begins
 * nothing, for `ray start` goes on after it; but raylet exits with 0 as well when an agent of it has ended, and kills
 * its agents when it is asked to stop. Which of the two it was, raylet's own last words tell. A raylet that ends because
 * it lost the GCS says so too: then the cause is not here. Without the launcher's word, `ray start` names its child.
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
	STORY_PROCESS, /* that process ended in disorder */
	STORY_AGENT, /* an agent did, and raylet went with it */
	STORY_GCS_LOST, /* raylet ended for want of the GCS */
	STORY_STOPPED, /* raylet was asked to stop */
	STORY_RAYLET_EXITED, /* with exit code 0, and nothing tells why */
};

struct ray_process_cause {
	enum ray_process_story story;
	enum ray_process_kind kind;
	const struct ray_process_end *end; /* NULL: only Ray's words tell */
	const struct ray_process_end *raylet; /* of an agent: raylet's end; NULL: not seen */
	const struct ray_process_word *word; /* of Ray about it; NULL: none */
};

/* Of the container's end, at o->ended_ns. */
struct ray_process_cause ray_process_cause_of_end(const struct observation *o);

/* Of one process's end while the container lives: o->process. */
struct ray_process_cause ray_process_cause_of_process(const struct observation *o);

/* How it ended: wait status, or what `ray start` says of it. False, with 0 and -1: nothing tells. */
bool ray_process_cause_status(const struct ray_process_cause *c, int *ret_signal, int *ret_code);

/*
 * Nothing else fits: its status was read, no other of Ray's processes ended in disorder before it or in the same
 * moment, and a SIGKILL was not the kernel's.
 */
bool ray_process_cause_is_proved(const struct observation *o, const struct ray_process_cause *c, bool oom_ruled_out);

#endif
