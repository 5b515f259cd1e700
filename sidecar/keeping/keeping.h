/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle in a child process, because it reads files on the container's filesystems, and
 * these and the spool's disk may be slow or never answer. The event loop gets the child's messages.
 * When the bundle has its name, the child waits until the parent has done what must precede the
 * moment when the bundle becomes visible.
 */
#pragma once

#include "lib/loop/background.h"
#include "sidecar/ending/options.h"
#include "sidecar/spool/spool.h"
#include "sidecar/watch/observer.h"

/*
 * A bundle that is to be written, and the callbacks for it. What the members point to outlives the
 * writing.
 */
struct kept {
	struct report *report; /* changes only right before done is called */
	const struct observer *observer;
	/* The bundle of r, as it is so far, is about to become visible, or there will be none. */
	void (*named)(const struct report *r, void *arg);
	/*
	 * Called once; the report is as the bundle has it. err has code 0 if the bundle was
	 * written, and is valid during the call.
	 */
	void (*done)(const struct err *err, void *arg);
	void *arg;
	bool waits; /* the report is still being made: then what is behind it waits, too */
	struct kept *next; /* the keeper's own */
};

struct keeping_message {
	/*
	 * False: the bundle has its name, and the child waits for our permission to make it
	 * visible.
	 */
	bool done;
	int rc;
	struct err err;
	struct report report;
};

/* Writes one bundle after the other. */
struct keep_work {
	/* The owner sets these for each. */
	struct background *child;
	const struct record_options *options;
	const char *
		/*
		 * the directory of the spool, or of a directory store; NULL: bundles are not kept,
		 * which is no error
		 */
		path;
	struct spool *spool; /* NULL: there are no limits */
	errand_message_fn on_rest; /* gets the remaining messages of the errand before it */
	void *rest_arg;
	const struct kept *kept;
	/*
	 * Called instead of kept->done. -EBUSY: the disk is still busy with the errand before it;
	 * -ETIMEDOUT: the disk does not answer.
	 */
	void (*done)(int rc, struct err *err, void *arg);
	void *arg;
	/* Its own: */
	struct event_base *base;
	struct event
		*turn; /* waits for the errand before it, or for the disk to confirm the bundle */
	int64_t wait_until_ns; /* for the errand before it */
	unsigned int children; /* that were started */
	int fd; /* in the child: its socket */
	bool named;
	/* In the parent: the last message, which may be from a child that was killed. */
	struct keeping_message last;
	/* As they were before the first child; NULL: there are no bounds. */
	struct spool_counts *counts;
};

/* Negative if there is no memory. */
int keeping_init(struct keep_work *w, struct event_base *base, struct err *err);
/* The child is its owner's to end. */
void keeping_release(struct keep_work *w);

/*
 * Does what postmortem_keep does. Waits some seconds for the errand before it. The event loop
 * calls kept->named once or more, and then done. If the disk only takes long to confirm the bundle,
 * that is success, and the child goes on alone.
 */
void keeping_begin(struct keep_work *w);
