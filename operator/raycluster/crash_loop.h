/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that die, are made anew, and die again: how often, and when the next may
 * be made. The deaths come from the RayFailures on record, so what is found out
 * is the same whoever asks, also after a restart of the operator. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_CRASH_LOOP_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_CRASH_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

/* Older deaths do not count. */
#define CRASH_LOOP_WINDOW_NS (3600 * NS_PER_SEC)

/* A death by itself, as its RayFailure tells. */
struct crash {
	const char *group;   /* HEAD_GROUP_NAME for the head's */
	int64_t at_ns;	     /* when it was recorded, by the API server's clock */
	int64_t made_ns;     /* when its pod was made, by the same clock; 0: not known */
	const char *class;   /* NULL: not known */
	const char *failure; /* the RayFailure's name */
};

struct crash_loop {
	unsigned n;		  /* within the window */
	int64_t next_ns;	  /* before then no pod is to be made; 0: at once */
	const struct crash *last; /* NULL: none */
};

/* Of the head: each of its deaths counts, also of a container that the kubelet started again. */
struct crash_loop crash_loop_of_head(const struct crash *crashes, size_t n, int64_t now_ns);

/*
 * Of a worker group: deaths in a row count, each of a pod that was made for the one before and died young. Ten
 * workers that die together are one death; those that die after a day's work none. Ten minutes after the next might
 * be made it is over, unless that one died too.
 */
struct crash_loop crash_loop_of_group(const struct crash *crashes, size_t n, const char *group, int64_t now_ns);

/* Whether there are too many to go on at once. */
bool crash_loop_is(const struct crash_loop *loop);

#endif
