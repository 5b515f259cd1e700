/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One container that a launcher has opened to us: sampled until it ends, then
 * reported.
 *
 * Life: a connection is accepted (container_new); its first message, hello,
 * brings the descriptors and sampling begins; the end comes as an exit message,
 * or as end-of-file when the launcher died with its container. done() is called
 * once, when the report is written and the object may be freed.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_CONTAINER_H
#define AFTERGLOW_SIDECAR_RECORD_CONTAINER_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "sidecar/node/node_message.h"
#include "sidecar/record/journal.h"
#include "sidecar/record/keeper.h"
#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"

struct container;

struct container_callbacks {
	/* For that life, the history to go on with; the container takes it. NULL: one in memory. */
	struct history *(*history)(struct container *c, const struct life *life, void *arg);
	/* Which cores were dealt with; the sidecar's. */
	struct taken *taken;
	struct core_stats *core_stats; /* and what became of all */
	const struct strbuf *node_syslog; /* and those of the node's syslog */
	const struct kmsg_log *node_log; /* the kernel's lines that the node agent brought */
	/* A launcher said hello. */
	void (*attached)(struct container *c, void *arg);
	/* A report was written; text is the whole report.txt. */
	void (*reported)(struct container *c, const struct failure *f, const char *text, void *arg);
	/* Over: nothing more will come. The callee frees c; it is called from the event loop alone. */
	void (*done)(struct container *c, void *arg);
	void *arg;
};

/* Takes fd, the accepted connection. options and keeper must outlive the container. NULL with err set on failure. */
struct container *container_new(struct event_base *base, int fd, const struct record_options *options, struct keeper *keeper,
				const struct container_callbacks *callbacks, struct err *err);
void container_free(struct container *c);

/* Its launcher has not said hello, or has closed the connection and lives, or so says the pidfd that it sent. */
bool container_is_silent(const struct container *c);

/* It has ended, as far as is known: not when it was only waited for in vain. */
bool container_is_over(const struct container *c);

/* Whether it ended with exit code 0. */
bool container_succeeded(const struct container *c);

/* The name the launcher gave, "" before hello. */
const char *container_name(const struct container *c);
/* Identifies one start of the container: CLOCK_BOOTTIME of its launcher's start, 0 before hello. */
int64_t container_started_ns(const struct container *c);

/* Whether it goes on with what was seen before its launcher connected. */
bool container_resumed(const struct container *c);

/* What is seen of it, NULL before hello. */
const struct observer *container_observer(const struct container *c);

/* While the event loop waits: takes a sample if one is due, and does nothing else. In how many ns the next one is. */
int64_t container_sample_due(struct container *c, int64_t now_ns);

/* Whether a core of it is being unwound or compressed. */
bool container_keeps_core(const struct container *c);

/* Whether its runtime calls it so: by the names of its cgroups. */
bool container_has_id(const struct container *c, const char *container_id);
/* The node agent saw a signal to a process of it. */
void container_node_signal(struct container *c, const struct node_signal *s);
/* Until then (CLOCK_BOOTTIME) it would see one, so an end by a signal may wait a moment for its word. */
void container_node_watches(struct container *c, int64_t until_ns);
/* A process of it is dumping core, and the node would hand it over: whether it is wanted. -EBUSY, -ENOTSUP, -ENOSPC: not. */
int container_offer_core(const struct container *c, struct err *err);
/* That core's stream. Takes fd, which may be anything. */
void container_node_core(struct container *c, const struct node_message *offer, int fd);

/* Prints text on the container's stderr, as far as it is connected. */
void container_say(struct container *c, const char *text);

/* From now on an end by SIGTERM or SIGKILL is taken for the pod's own. */
void container_pod_terminating(struct container *c);

#endif
