/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container whose launcher has connected to the sidecar. It is sampled until it
 * ends, and then reported.
 *
 * Life: a connection is accepted (container_new). Its first message, hello,
 * brings the descriptors, and sampling begins. The end comes as an exit message,
 * or as end-of-file if the launcher died with its container. done() is called
 * once, when the report is written and the object may be freed.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "sidecar/ending/options.h"
#include "sidecar/keeping/journal.h"
#include "sidecar/keeping/keeper.h"
#include "sidecar/node/node_message.h"
#include "sidecar/watch/observer.h"

struct container;

enum container_admission {
	CONTAINER_REFUSED,
	CONTAINER_PUT_OFF, /* container_greet_again asks again */
	CONTAINER_ADMITTED,
};

struct container_callbacks {
	/* The launcher has sent hello. A refused launcher is let go. NULL: all are admitted. */
	enum container_admission (*admits)(struct container *c, const struct launch_message *hello,
					   void *arg);
	/*
	 * Returns the history to continue for that life; the container takes it. NULL: the
	 * container keeps a history in memory.
	 */
	struct history *(*history)(struct container *c, const struct life *life, void *arg);
	/* Remembers which cores were processed already; owned by the sidecar. */
	struct taken *taken;
	struct core_stats *core_stats; /* counts the outcomes of all cores */
	const struct strbuf *node_syslog; /* lines of the node's syslog */
	const struct kmsg_log *node_log; /* lines of the kernel log that the node agent sent */
	/* The launcher has sent hello. */
	void (*attached)(struct container *c, void *arg);
	/* A report was written; text is the whole report.txt. */
	void (*reported)(struct container *c, const struct failure *f, const char *text, void *arg);
	/*
	 * Its launcher has answered container_dump. The descriptors stay the caller's. NULL: nobody
	 * asks.
	 */
	void (*dumped)(struct container *c, const struct launch_message *m, const int *fds,
		       size_t n_fds, void *arg);
	/*
	 * It may end soon, or its drivers are to be looked at: returns whether its stacks, or
	 * theirs, will come (stacks_take).
	 */
	bool (*hangs)(struct container *c, bool drivers, void *arg);
	/*
	 * The container is over: no report will follow. The callee frees c. Called from the event
	 * loop only.
	 */
	void (*done)(struct container *c, void *arg);
	void *arg;
};

/*
 * Takes fd, the accepted connection. options and keeper must outlive the container. Returns NULL
 * with err set on failure.
 */
struct container *container_new(struct event_base *base, int fd,
				const struct record_options *options, struct keeper *keeper,
				const struct container_callbacks *callbacks, struct err *err);
void container_free(struct container *c);

/*
 * Whether its launcher has not sent hello, or has closed the connection although, by the pidfd that
 * it sent, it is alive. Such a one makes room for others, even if its cores are still being packed.
 */
bool container_is_silent(const struct container *c);

/*
 * Whether its launcher has sent hello, lives as far as is known, and has not closed the connection.
 */
bool container_is_connected(const struct container *c);

/*
 * Whether it is known to have ended. A container that did not reconnect in time is not known to
 * have ended.
 */
bool container_is_over(const struct container *c);

/* Whether it has ended and the report of its end is being made. */
bool container_is_judging(const struct container *c);

/* Whether it ended with exit code 0. */
bool container_succeeded(const struct container *c);

/* The name the launcher gave, "" before hello. */
const char *container_name(const struct container *c);
/* Identifies one start of the container: CLOCK_BOOTTIME of its launcher's start, 0 before hello. */
int64_t container_started_ns(const struct container *c);

/* Whether it continues a history from before its launcher connected. */
bool container_resumed(const struct container *c);

/* Its observer, NULL before hello. */
const struct observer *container_observer(const struct container *c);

/*
 * Whether reports of it are being made or written, or its termination message. It must not be freed
 * then: while the event loop turns, that would wait for the message.
 */
bool container_publishes(const struct container *c);

/* To be called when what its hello was put off for may be over. */
void container_greet_again(struct container *c);

/*
 * Reports the deaths of workers that have waited for their cores long enough; to be called after
 * each sample, and with INT64_MAX at the container's end and before one that is not over is freed.
 * It may publish then.
 */
void container_workers_due(struct container *c, int64_t now_ns);
/* Whether a core of the container is being unwound, compressed, or received from the node agent. */
bool container_keeps_core(const struct container *c);

/*
 * Whether container_id is the container runtime's name for it; the names of its cgroups show that.
 */
bool container_has_id(const struct container *c, const char *container_id);
/* To be called when the node agent has seen a signal to a process of the container. */
void container_node_signal(struct container *c, const struct node_signal *s);
/*
 * The node agent sees such signals until until_ns (CLOCK_BOOTTIME). So the report of an end by a
 * signal may wait a moment for its message.
 */
void container_node_watches(struct container *c, int64_t until_ns);
/*
 * To be called when a process of the container is dumping core and the node agent offers the core.
 * Returns 0 if the core is wanted, else -EBUSY, -ENOTSUP or -ESRCH.
 */
int container_offer_core(const struct container *c, struct err *err);
/* Reads that core from fd, which may be any kind of file, into file. Takes file. */
void container_node_core(struct container *c, const struct node_message *offer, int fd, int file,
			 uint64_t room);

/* Prints text on the container's stderr if its launcher is connected. */
void container_say(struct container *c, const char *text);

/*
 * Orders a dump of a process from its launcher (launch/tracer.h) into a file; dumped() follows, if
 * the launcher knows how.
 */
int container_dump(const struct container *c, int id, pid_t pid, int dump_fd);

/*
 * Takes a part of what hangs() asked for (record/stacks.h), whole lines. NULL: nothing follows;
 * all: no process was left out.
 */
void container_take_stacks(struct container *c, const char *text, size_t len, bool all);

/*
 * The pod is terminating: from now on an end by SIGTERM or SIGKILL counts as part of that. What
 * fills the disk goes into the termination message at once.
 */
void container_pod_terminating(struct container *c);
