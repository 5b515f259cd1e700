/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node agent's event loop: poll(2) over a few sources. A source is a descriptor that becomes
 * readable, a time, or both. The caller owns each source that it adds, and must not move or free it
 * while it is in the loop.
 */
#pragma once

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
	/* called when fd is readable, or its other end is closed */
	void (*ready)(struct source *s);
	/* called when due_ns has passed; sets due_ns anew */
	void (*due)(struct source *s, int64_t now_ns);
	void *arg;
};

struct loop {
	struct source *sources[LOOP_SOURCES_MAX];
	size_t n;
	bool stopping;
};

/* -ENOBUFS: the loop has LOOP_SOURCES_MAX sources. */
int loop_add(struct loop *l, struct source *s, struct err *err);
/* May be called from ready() and due() of any source. Does nothing if s is not in the loop. */
void loop_remove(struct loop *l, struct source *s);

/* Runs until loop_stop is called, then returns 0; a negative error if poll(2) fails. */
int loop_run(struct loop *l, struct err *err);
void loop_stop(struct loop *l);
