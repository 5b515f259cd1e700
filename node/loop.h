/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node agent's event loop: poll(2) over a few sources. A source is a descriptor that becomes readable, a time, or both. Whoever
 * adds a source owns it and keeps it where it is while it is in the loop.
 */
#ifndef AFTERGLOW_NODE_LOOP_H
#define AFTERGLOW_NODE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define LOOP_SOURCES_MAX 64
#define LOOP_NEVER INT64_MAX

struct source {
	const char *name; /* for the log */
	int fd; /* -1: none now */
	int64_t due_ns; /* CLOCK_BOOTTIME; LOOP_NEVER: no time */
	void (*ready)(struct source *s); /* fd is readable, or its other end is gone */
	void (*due)(struct source *s, int64_t now_ns); /* due_ns has passed: has to set the next one */
	void *arg;
};

struct loop {
	struct source *sources[LOOP_SOURCES_MAX];
	size_t n;
	bool stopping;
};

/* -ENOBUFS: there are LOOP_SOURCES_MAX. */
int loop_add(struct loop *l, struct source *s, struct err *err);
/* Also from within ready() and due(), of whichever source. Nothing when it is not there. */
void loop_remove(struct loop *l, struct source *s);

/* Until loop_stop. */
int loop_run(struct loop *l, struct err *err);
void loop_stop(struct loop *l);

#endif
