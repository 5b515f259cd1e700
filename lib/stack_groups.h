/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts equal stacks of sidecars' answers (sidecar/record/stacks.h) together and writes them: the
 * main threads first, the stack that the fewest have before the others, then the other threads.
 * Pure. The answers may be hostile.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

#define GROUP_THREADS_MAX 65536 /* further threads are only counted */
#define GROUP_NOTES_MAX 16384 /* further notes are only counted */

/* This stands in place of an answer that has no process, if somebody asked for all of them. */
#define STACKS_NOBODY \
	"no process is watched there, as when its container has ended or is held after a failure"

struct stack_groups;

/* Returns NULL if there is no memory. */
struct stack_groups *stack_groups_new(void);
void stack_groups_free(struct stack_groups *g);

/* Where the processes of an answer run; NULL: not known. */
struct stack_place {
	const char *pod, *node;
};

/*
 * Takes one answer, or several in a row. Changes it; it and the texts of place (NULL: here) have to
 * outlive g.
 */
void stack_groups_add(struct stack_groups *g, const struct stack_place *place, char *answer);

/* How many processes are in the answers. */
size_t stack_groups_processes(const struct stack_groups *g);

/*
 * Appends to out where the main threads are: "train.py (PID 12) at train.py:88 in wait; 3 like
 * raylet (PID 7) at epoll_wait (libc.so.6)". The innermost frame of Python is named, else of native
 * code. After STACK_MAIN_ENOUGH bytes, or three places, follows "others". Returns how many main
 * threads there are. Nothing can be added to g afterwards.
 */
#define STACK_MAIN_ENOUGH 60
#define STACK_MAIN_MAX 280
size_t stack_groups_main(struct stack_groups *g, struct strbuf *out);

/*
 * Appends where a main thread is in a call of Ray's core, such as ray.get, ray.wait, ray.put and
 * PlacementGroup.wait: "train.py (PID 12) at train.py:88 in main", which is the line of the caller.
 * If several main threads are in such a call, the one with the lowest PID counts; if none is,
 * nothing is appended.
 */
void stack_groups_ray_call(const struct stack_groups *g, struct strbuf *out);

/*
 * Write all that was taken, for people or as JSON (docs/hangs.md), which the caller owns. Nothing
 * can be added afterwards.
 */
void stack_groups_write(struct stack_groups *g, struct strbuf *out);
cJSON *stack_groups_json(struct stack_groups *g);
