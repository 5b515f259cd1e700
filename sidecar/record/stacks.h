/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers who asks for the stacks of processes that live: `afterglow-sidecar stack`, which a person
 * runs beside the sidecar, or by kubectl exec in its container.
 *
 * Theory of operation. The question comes over a unix socket without a file, whose name has the uid
 * of the sidecar. Only a process of our user, or root, in our PID namespace is answered, so neither
 * another container nor the network can have processes stopped, unless the pod shares its PID
 * namespace; and STACKS_SPACING_NS apart at least. Connections are taken at the rate of
 * socket/listener.h, because every process of the pod's network namespace may connect. For one
 * process after the other, the launcher is ordered to write a dump (launch/tracer.h) to memory of
 * ours, and a confined child reads it.
 *
 * Question: "stack\n", or "stack PID|TEXT\n" for that process or those with TEXT in their names.
 * Answer: for each process "target PID NAME", then "failed WHY" or what unwind/living.h writes; at
 * last "end".
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/units.h"
#include "sidecar/sample/processes.h"
#include "sidecar/socket/channel.h"

#define STACKS_SOCKET_NAME \
	"afterglow-stacks" /* then "/UID/PID/TIME", which nobody else has taken; in the abstract namespace */
#define STACKS_SPACING_NS (2 * NS_PER_SEC) /* from the end of one answer to the next question */
#define STACKS_PROCESSES_MAX 64 /* in one answer */
#define STACKS_ARGUMENT_MAX 128 /* bytes */
#define STACKS_TEXT_MAX (512 << 10) /* bytes, of a process */
#define STACKS_TAKEN_PROCESSES_MAX 16 /* of one container, by stacks_take */
#define STACKS_TAKEN_WITHIN_NS (5 * NS_PER_SEC) /* no process is stopped later */
#define STACKS_UNREAD_MAX ((size_t)4 << 20) /* bytes; then whoever asked is let go */
/* bytes: of the dump, of the child that reads it (48 MiB), and of the answer */
#define STACKS_ROOM_MIN ((int64_t)64 << 20)

struct container;
struct stacks;

typedef void stacks_fn(struct container *c, const struct process *p, void *arg);

struct stacks_callbacks {
	/* Calls fn for each process of each container whose launcher is connected. */
	void (*each)(stacks_fn *fn, void *fn_arg, void *arg);
	/*
	 * Takes a part of what stacks_take was called for, whole lines. NULL: that was all; all: of
	 * all of its processes.
	 */
	void (*taken)(struct container *c, const char *text, size_t len, bool all);
	/*
	 * what is watched may be in our memory cgroup: nothing is read where little is left of it
	 */
	bool shares_memory;
	void *arg;
};

/* Listens. -EADDRINUSE: another process has taken the name. */
int stacks_new(struct event_base *base, const struct stacks_callbacks *callbacks,
	       struct stacks **ret_stacks, struct err *err);
void stacks_free(struct stacks *s);

/*
 * Answers, by taken(), as if somebody had asked for the processes of c alone, the largest first; or
 * only for the drivers of Ray jobs among them. Returns false if somebody is being answered, or s is
 * NULL.
 */
bool stacks_take(struct stacks *s, struct container *c, bool drivers);

/*
 * Takes the answer of c's launcher to an order of ours; ignores others. The descriptors stay the
 * caller's. s may be NULL.
 */
void stacks_dumped(struct stacks *s, const struct container *c, const struct launch_message *m,
		   const int *fds, size_t n_fds);

/* To be called before c is freed. s may be NULL. */
void stacks_forget(struct stacks *s, const struct container *c);
