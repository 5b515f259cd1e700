/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle in a child process, because it reads files on the container's filesystems, and
 * these and the spool's disk may be slow or never answer. When the bundle has its name, the child
 * waits until the parent has done what must precede the moment when the bundle becomes visible
 * (postmortem_named).
 */
#pragma once

#include "lib/loop/errand.h"
#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"
#include "sidecar/spool/spool.h"

struct keeping_place {
	struct errand *errand; /* writes one bundle at a time */
	const struct record_options *options;
	const char *path; /* the directory of the spool, or of a directory store */
	struct spool *spool; /* NULL: there are no limits */
	errand_message_fn on_rest; /* gets the remaining messages of the previous errand */
	void *arg;
	void (*meanwhile)(void *arg); /* called while keeping_write waits, and may itself wait for a moment; may be NULL */
	void *meanwhile_arg;
};

/*
 * Like postmortem_keep; err must not be NULL. Waits some seconds for the previous errand. -EBUSY:
 * the disk is still busy with that; -ETIMEDOUT: the disk does not answer. If the disk only takes
 * long to confirm the bundle, that is success, and the child goes on alone.
 */
int keeping_write(const struct keeping_place *at, struct report *r, const struct observer *o, struct err *err);
