/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts pods that die, are replaced, and die again, and decides when the next may be
 * created. The deaths come from the recorded RayFailures, so each replica finds the
 * same result, even after a restart of the operator. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

/* Older deaths do not count. */
#define CRASH_LOOP_WINDOW_NS (3600 * NS_PER_SEC)

/* A death that was not requested, from its RayFailure. */
struct crash {
	const char *group; /* HEAD_GROUP_NAME for the head's */
	int64_t at_ns; /* when it was recorded, by the API server's clock */
	int64_t made_ns; /* when its pod was made, by the same clock; 0: not known */
	const char *class; /* static; NULL: not known */
	char failure[254]; /* the RayFailure's name */
};

struct crash_loop {
	unsigned n; /* within the window */
	int64_t next_ns; /* before then no pod is to be made; 0: at once */
	const struct crash *last; /* NULL: none */
};

/*
 * Counts for the head: each of its deaths counts, including the deaths of a container that the
 * kubelet restarted.
 */
struct crash_loop crash_loop_of_head(const struct crash *crashes, size_t n, int64_t now_ns);

/*
 * For a worker group: consecutive deaths count, each of a pod that replaced the previous pod and
 * died young. Ten workers that die together count as one death, and workers that die after a day's
 * work do not count. Ten minutes after the time from which the next pod may be created, the loop is
 * over, unless that pod died too.
 */
struct crash_loop crash_loop_of_group(const struct crash *crashes, size_t n, const char *group,
				      int64_t now_ns);

/* Returns whether there are too many to go on at once. */
bool crash_loop_is(const struct crash_loop *loop);
