/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle by a child: what it gathers lies on filesystems of the container, and disks take their time. The child stops
 * when the bundle has its name, until what has to happen before it becomes visible (postmortem_named) has happened here.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_KEEPING_H
#define AFTERGLOW_SIDECAR_RECORD_KEEPING_H

#include "lib/loop/errand.h"
#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"
#include "sidecar/spool/spool.h"

struct keeping_place {
	struct errand *errand; /* one bundle at a time */
	const struct record_options *options;
	const char *path; /* of the spool, or a store that is a directory */
	struct spool *spool; /* NULL: without bounds */
	errand_message_fn on_rest; /* hears what the errand before has to say yet, while its end is waited for */
	void *arg;
};

/*
 * As postmortem_keep. err must not be NULL. Waits some seconds for the errand before. -EBUSY: that disk is still at it.
 * -ETIMEDOUT: it does not answer. A disk that only takes its time to confirm a bundle is success: the child goes on.
 */
int keeping_write(const struct keeping_place *at, struct report *r, const struct observer *o, struct err *err);

#endif
